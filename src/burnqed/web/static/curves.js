// Curves of one quantity, as pictures with a description.

import { h, svg } from "./dom.js";
import { count } from "./words.js";

const WIDE = 420, HIGH = 190, LEFT = 52, RIGHT = 52, TOP = 12, BOTTOM = 40;

/** A curve through points [x, y]. `steps`: y holds until the next point. `x` and `y` write values. */
export function curve(title, points, { steps = false, log = false, most = null, x = count, y = count, across = "" } = {}) {
  const at = log ? (value) => Math.log10(Math.max(1, value)) : (value) => value;
  const [first, last] = [points[0], points.at(-1)];
  const low = log ? 0 : at(first[0]), high = Math.max(at(last[0]), low + 1e-9);
  const top = most ?? nice(Math.max(...points.map(([, value]) => value)));
  const toX = (value) => LEFT + (at(value) - low) / (high - low) * (WIDE - LEFT - RIGHT);
  const toY = (value) => HIGH - BOTTOM - value / top * (HIGH - BOTTOM - TOP);
  const path = points.map(([px, py], i) => i === 0 ? `M${toX(px)} ${toY(py)}` :
    steps ? `H${toX(px)}V${toY(py)}` : `L${toX(px)} ${toY(py)}`).join("");
  const said = `${title}: ${points.length > 1 ? `from ${y(first[1])} at ${x(first[0])} to ` : ""}${y(last[1])} at ${x(last[0])}`;
  return h("figure", { class: "curve" }, h("figcaption", {}, title),
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said },
      [0, top / 2, top].map((value) => [
        svg("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: toY(value), y2: toY(value) }),
        svg("text", { x: LEFT - 8, y: toY(value) + 4, class: "end" }, y(value))]),
      ticks(low, high, log).map((value) => svg("text", { x: toX(value), y: HIGH - BOTTOM + 17, class: "middle" }, x(value))),
      svg("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 5, class: "middle" }, across),
      svg("path", { d: path, class: "curve-line" }),
      points.length <= 30 && points.map(([px, py]) => svg("circle", { cx: toX(px), cy: toY(py), r: 3 },
        svg("title", {}, `${y(py)} at ${x(px)}`))),
      svg("text", { x: toX(last[0]) + 8, y: toY(last[1]) + 4, class: "value" }, y(last[1]))));
}

/** The next round number, an even one so that its half is whole. */
function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, 2)));
  return [2, 4, 6, 8, 10, 20].map((step) => step * (unit >= 10 ? unit : 1)).find((one) => one >= value) ?? value;
}

function ticks(low, high, log) {
  if (log) {
    const powers = Math.floor(high + 1e-9), step = Math.max(1, Math.ceil(powers / 4));
    const round = Array.from({ length: Math.floor(powers / step) + 1 }, (_, i) => 10 ** (i * step));
    return high > 1.15 * Math.log10(round.at(-1)) + 0.15 ? [...round, Math.round(10 ** high)] : round;
  }
  return high - low < 1e-6 ? [low] : [low, (low + high) / 2, high];
}

// Draws what of a tree is in sight. Text is drawn as text, with invisible characters written out.

import { visible } from "../dom.js";
import { STATUS, statusAt } from "./layout.js";

const READABLE = 0.45; // below this scale, text would be too small to read
const MONO = '"DejaVu Sans Mono", Menlo, Consolas, ui-monospace, monospace';
const clipped = new Map(); // texts as they fit into their boxes

export class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.scale = 1;
    this.left = 0; // of the canvas, in the tree's coordinates
    this.top = 0;
    this.colours = {};
    this.due = 0;
  }

  /** Colours come from the style sheet, so that they follow light and dark. */
  readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "ink", "muted", "line", "wash", "focus", "proved", "proved-wash", "match",
      "exhausted", "exhausted-wash", "error", "parts"]) this.colours[name] = style.getPropertyValue(`--${name}`).trim();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas, ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
  }

  /** Draw once before the next frame, however often it is asked for. */
  draw(scene) {
    this.scene = scene;
    if (!this.due) this.due = requestAnimationFrame(() => {
      this.due = 0;
      this.#paint();
    });
  }

  item(x, y) {
    const at = { x: x / this.scale + this.left, y: y / this.scale + this.top };
    return this.scene?.items.find((item) => item.seen <= this.scene.moment &&
      at.x >= item.x && at.x <= item.x + item.size.width && Math.abs(at.y - item.y) <= item.size.height / 2);
  }

  #paint() {
    const { context: c, canvas, scale, left, top, colours, scene } = this;
    const ratio = devicePixelRatio || 1;
    const right = left + canvas.clientWidth / scale, bottom = top + canvas.clientHeight / scale;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colours.paper;
    c.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    c.setTransform(ratio * scale, 0, 0, ratio * scale, -left * ratio * scale, -top * ratio * scale);
    const there = (item) => item.seen <= scene.moment;
    const inSight = (item) => item.x + item.size.width >= left && item.x <= right &&
      item.y + item.size.height >= top && item.y - item.size.height <= bottom;
    const readable = scale >= READABLE;
    this.#links(scene, there, readable, left, right, top, bottom);
    c.direction = "ltr";
    c.textBaseline = "middle";
    const seen = scene.items.filter((item) => there(item) && inSight(item));
    if (!readable) return this.#outlines(seen, scene);
    for (const item of seen) {
      if (item.edge === null) this.#state(item, scene);
      else this.#tactic(item, scene);
    }
  }

  /** Boxes without text, as many as there are: those that look alike are drawn at once. */
  #outlines(items, scene) {
    const { context: c } = this, looks = new Map();
    for (const item of items) {
      const status = item.edge === null ? statusAt(item.node, scene.moment) : isLit(item, scene) ? "lit" : "tactic";
      if (!looks.has(status)) looks.set(status, new Path2D());
      const { width, height } = item.size;
      looks.get(status).rect(item.x, item.y - height / 2, width, height);
    }
    for (const [status, path] of looks) {
      this.#look(status);
      c.fill(path);
      c.stroke(path);
      c.setLineDash([]);
    }
    for (const item of items) {
      const { width, height } = item.size;
      this.#rings(item, scene, item.x, item.y - height / 2, width, height);
      if (item.folded) this.#more(item, item.x + width, item.y);
    }
  }

  /** The style of a box, by what became of its state; `lit` and `tactic` are those of tactics. */
  #look(status) {
    const { context: c, colours } = this;
    const good = status === "proof" || status === "closed" || status === "lit";
    c.fillStyle = { proof: colours["proved-wash"], failed: colours.wash, lit: colours.wash, tactic: colours.wash }[status] ?? colours.paper;
    c.lineWidth = status === "proof" || status === "lit" ? 2 : 1;
    c.strokeStyle = good ? colours.proved : status === "tactic" ? colours.line : colours.muted;
    if (status === "open") c.setLineDash([3, 3]);
  }

  #links(scene, there, readable, left, right, top, bottom) {
    const { context: c, colours } = this;
    const plain = new Path2D(), proof = new Path2D(), again = new Path2D();
    const link = (path, from, to) => {
      const x = from.x + from.size.width, middle = (x + to.x) / 2;
      if (Math.max(x, to.x) < left || Math.min(x, to.x) > right) return;
      if (Math.max(from.y, to.y) < top || Math.min(from.y, to.y) > bottom) return;
      path.moveTo(x, from.y);
      if (!readable) path.lineTo(to.x, to.y);
      else path.bezierCurveTo(middle, from.y, middle, to.y, to.x, to.y);
    };
    for (const item of scene.items) {
      if (!item.parent || !there(item)) continue;
      link(isLit(item, scene) ? proof : plain, item.parent, item);
    }
    for (const [from, to] of scene.links) if (there(from) && there(to)) link(again, from, to);
    c.lineWidth = 1;
    c.strokeStyle = colours.line;
    c.stroke(plain);
    c.setLineDash([3, 4]);
    c.stroke(again);
    c.setLineDash([]);
    c.lineWidth = 2.5;
    c.strokeStyle = colours.proved;
    c.stroke(proof);
  }

  #state(item, scene) {
    const { context: c, colours } = this;
    const status = statusAt(item.node, scene.moment);
    const { width, height } = item.size, x = item.x, y = item.y - height / 2;
    c.beginPath();
    c.roundRect(x, y, width, height, 6);
    this.#look(status);
    c.fill();
    c.stroke();
    c.setLineDash([]);
    const { node } = item;
    c.fillStyle = status === "proof" || status === "closed" ? colours.proved : colours.muted;
    c.font = "11px system-ui, sans-serif";
    const facts = [`${STATUS[status][0]} ${node.id}`];
    if (node.goals > 1) facts.push(`${node.goals} goals`);
    if (node.energy !== null) facts.push(`E ${node.energy.toFixed(2)}`);
    if (node.score !== null) facts.push(`score ${node.score.toFixed(2)}`);
    if (status !== "open" && node.tried > node.worked) facts.push(`${node.tried - node.worked} of ${node.tried} refused`);
    c.fillText(fit(c, facts.join("  "), width - 16), x + 8, y + 12);
    c.fillStyle = status === "open" ? colours.muted : colours.ink;
    c.font = `12px ${MONO}`;
    c.fillText(fit(c, visible(node.line) || "not expanded", width - 16), x + 8, y + 28);
    this.#rings(item, scene, x, y, width, height);
    if (item.folded) this.#more(item, x + width, item.y);
  }

  #tactic(item, scene) {
    const { context: c, colours } = this;
    const { edge } = item;
    const { width, height } = item.size, x = item.x, y = item.y - height / 2;
    const lit = isLit(item, scene);
    c.beginPath();
    c.roundRect(x, y, width, height, height / 2);
    this.#look(lit ? "lit" : "tactic");
    c.fill();
    c.stroke();
    const closes = edge.children.length === 0, all = edge.children.length > 1;
    c.fillStyle = lit || closes ? colours.proved : colours.ink;
    c.font = `12px ${MONO}`;
    const mark = closes ? "✓ " : all ? `∧${edge.children.length} ` : "";
    c.fillText(fit(c, mark + visible(edge.tactic.replace(/\s+/g, " ")), width - 62), x + 12, item.y);
    c.fillStyle = colours.muted;
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "right";
    c.fillText(edge.logprob === null ? "" : edge.logprob.toFixed(2), x + width - 10, item.y);
    c.textAlign = "left";
    this.#rings(item, scene, x, y, width, height);
    if (item.folded) this.#more(item, x + width, item.y);
  }

  #rings(item, scene, x, y, width, height) {
    const { context: c, colours } = this;
    const ring = (colour, by, wide = 2.5) => {
      c.beginPath();
      c.roundRect(x - by, y - by, width + 2 * by, height + 2 * by, 8 + by);
      c.lineWidth = wide;
      c.strokeStyle = colour;
      c.stroke();
    };
    if (item.edge === null && scene.matches.has(item.node.id)) ring(colours.match, 3);
    if (item === scene.selected) ring(colours.focus, 6);
    if (item.edge === null && item.node.id === scene.parts) {
      ring(colours.parts, 10, Math.max(3, 3 / this.scale)); // seen from afar, too
      c.fillStyle = colours.parts;
      c.font = "bold 11px system-ui, sans-serif";
      c.fillText("≠ they part here", x, y - 20);
    }
  }

  /** A folded item ends in a sign that there is more. */
  #more(item, x, y) {
    const { context: c, colours } = this;
    c.beginPath();
    c.arc(x + 12, y, 9, 0, 7);
    c.fillStyle = colours.muted;
    c.fill();
    c.fillStyle = colours.paper;
    c.font = "bold 13px system-ui, sans-serif";
    c.textAlign = "center";
    c.fillText("+", x + 12, y);
    c.textAlign = "left";
  }
}

/** Whether an item is on the path of a judged proof that the search had found by then. */
function isLit(item, scene) {
  const lit = (node) => statusAt(node, scene.moment) === "proof";
  if (item.edge !== null) return item.edge.on_proof && lit(item.node);
  return Boolean(item.parent?.edge.on_proof) && lit(item.node) && lit(item.parent.node);
}

/** The text, cut to a width. Widths are looked up: to measure text is slow. */
function fit(c, text, width) {
  const key = `${c.font}|${width}|${text}`;
  let found = clipped.get(key);
  if (found === undefined) {
    found = text;
    if (c.measureText(text).width > width) {
      let low = 0, high = text.length;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (c.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
        else high = middle - 1;
      }
      found = `${text.slice(0, low)}…`;
    }
    if (clipped.size > 20000) clipped.clear();
    clipped.set(key, found);
  }
  return found;
}

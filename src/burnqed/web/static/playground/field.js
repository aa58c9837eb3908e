// Colours behind what is typed: the same text lies over the field, letter on letter, and is only looked at.

import { fill, h, inColour, visible } from "../dom.js";
import { coloured, plain } from "./colours.js";

const STILL = 120; // milliseconds without a key until colours are asked for
const MOST = 20_000; // letters; a longer text is plain

/** A box with the field in it. Call it after other listeners that change what is typed. */
export function colourField(field) {
  const over = h("pre", { class: "lean", dir: "ltr", "aria-hidden": "true" }), box = h("div", { class: "lit-field" });
  let shown = [], due = 0;
  const show = (pieces) => {
    shown = pieces;
    fill(over, inColour(pieces), "\n"); // a last line that is empty has a height, too
    place();
  };
  const place = () => {
    over.style.width = `${field.clientWidth + 2}px`; // the field's scroll bar takes room
    over.scrollTop = field.scrollTop;
  };
  const typed = () => {
    const { value } = field;
    // Invisible characters are written out elsewhere: then it would not be the same text.
    const same = value.length <= MOST && visible(value) === value;
    box.classList.toggle("on", same);
    clearTimeout(due);
    if (!same) return;
    show(changed(shown, value));
    due = setTimeout(async () => {
      const pieces = await coloured(value);
      if (field.value === value) show(pieces);
    }, STILL);
  };
  field.before(box);
  box.append(field, over);
  new ResizeObserver(place).observe(field);
  field.addEventListener("scroll", place);
  field.addEventListener("input", typed);
  addEventListener("pageshow", typed); // the browser may have kept what was typed
  typed();
  return box;
}

/** The pieces with a new text: what is before and behind the change keeps its colours. */
function changed(pieces, text) {
  const old = pieces.map(([, part]) => part).join(""), most = Math.min(old.length, text.length);
  let begin = 0, end = 0;
  while (begin < most && old[begin] === text[begin]) begin++;
  while (end < most - begin && old.at(-1 - end) === text.at(-1 - end)) end++;
  return [...within(pieces, 0, begin), ...plain(text.slice(begin, text.length - end)), ...within(pieces, old.length - end, old.length)];
}

function within(pieces, from, to) {
  let at = 0;
  return pieces.map(([kind, part]) => {
    const start = at;
    at += part.length;
    return [kind, part.slice(Math.max(0, from - start), Math.max(0, to - start))];
  }).filter(([, part]) => part);
}

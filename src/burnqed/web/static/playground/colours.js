// Lean text in colours. The server finds the pieces; a text is plain until then, and where it is refused.

import { sendQuietly } from "../api.js";
import { block } from "../block.js";
import { fill, h, inColour } from "../dom.js";

const KEPT = 500; // texts whose pieces are known
const AT_ONCE = 100; // texts of a request
const SOON = 400; // milliseconds that something may wait for colours
const known = new Map();
let waiting = new Map();

export const plain = (text) => [["", text]];

/** The pieces of a text. What is asked for at the same time is one request. */
export function coloured(text) {
  const found = known.get(text) ?? waiting.get(text)?.promise;
  if (found) return Promise.resolve(found);
  if (waiting.size >= AT_ONCE) request();
  if (!waiting.size) queueMicrotask(request);
  waiting.set(text, Promise.withResolvers());
  return waiting.get(text).promise;
}

async function request() {
  const asked = waiting;
  waiting = new Map();
  if (!asked.size) return;
  const texts = [...asked.keys()];
  try {
    const { pieces } = await sendQuietly("POST", "/highlight", { texts });
    if (known.size > KEPT) known.clear();
    texts.forEach((text, i) => known.set(text, pieces[i]));
  } catch {
    // it is read without colours
  }
  for (const [text, { resolve }] of asked) resolve(known.get(text) ?? plain(text));
}

/** The same, but not for longer than somebody likes to wait. */
export function soon(text) {
  return Promise.race([coloured(text), new Promise((passed) => setTimeout(() => passed(plain(text)), SOON))]);
}

/** An element with the text, which gets its colours as soon as they are known. */
export function leanText(text, name = "code", attributes = {}) {
  return recolour(h(name, { class: "lean", dir: "ltr", ...attributes }, text), text);
}

/** A section with the text, to be copied. */
export function leanBlock(title, text) {
  const made = block(title, plain(text));
  recolour(made.querySelector("pre"), text);
  return made;
}

function recolour(element, text) {
  coloured(text).then((pieces) => fill(element, inColour(pieces)));
  return element;
}

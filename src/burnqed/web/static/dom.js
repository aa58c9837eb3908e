// Elements made from data. Text only ever becomes text: nothing here reads markup.

// Characters that would act on what is around them (control and format characters, line separators,
// halves of pairs) are written as escapes, in a style of their own. Line breaks and tabs stay.
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const HIDDEN_RUNS = /((?:(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}])+)/u;

function escaped(text) {
  let written = "";
  for (let i = 0; i < text.length; i++) {
    written += "\\u" + text.charCodeAt(i).toString(16).padStart(4, "0");
  }
  return written;
}

/** The text with its invisible characters written out. */
export function visible(text) {
  return HIDDEN.test(text)
    ? text.split(HIDDEN_RUNS).map((part, i) => (i % 2 ? escaped(part) : part)).join("")
    : text;
}

/** Nodes for a text from a file or from Lean. */
export function words(text) {
  if (!HIDDEN.test(text)) return [document.createTextNode(text)];
  return text.split(HIDDEN_RUNS).filter(Boolean).map((part) =>
    HIDDEN.test(part) ? h("span", { class: "escape" }, escaped(part)) : document.createTextNode(part));
}

/** An element: `h("a", {class: "x", href: "#"}, "text", child, …)`. Functions are event listeners. */
export function h(name, attributes = {}, ...children) {
  return made(document.createElement(name), attributes, children);
}

/** The same for pictures. */
export function svg(name, attributes = {}, ...children) {
  return made(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function made(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) element.append(child);
    else element.append(...words(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const named = (one) => `${one.tagName} ${one.getAttribute("href") ?? (one.id || one.getAttribute("aria-label") || one.textContent)}`;

/** Fill anew what somebody may be using: focus, open details and scrolled tables stay as they are. */
export function refill(element, ...children) {
  const all = (what) => [...element.querySelectorAll(what)];
  const focused = element.contains(document.activeElement) ? named(document.activeElement) : null;
  const open = new Set(all("details[open] > summary").map(named));
  const scrolled = new Map(all(".scroll").map((one) => [named(one), one.scrollLeft]));
  fill(element, ...children);
  for (const one of all("summary")) one.parentElement.open ||= open.has(named(one));
  for (const one of all(".scroll")) one.scrollLeft = scrolled.get(named(one)) ?? 0;
  if (focused) all("a, button, select, summary, [tabindex]").find((one) => named(one) === focused)?.focus({ preventScroll: true });
}

/** Lean text in coloured pieces, as the server sends it: [kind, text]. */
export function lean(pieces, name = "code") {
  return h(name, { class: "lean", dir: "ltr" }, inColour(pieces));
}

/** The same without an element around it. */
export function inColour(pieces) {
  return pieces.map(([kind, text]) => (kind ? h("span", { class: `lean-${kind}` }, text) : words(text)));
}

/** A table with a caption that is read out; columns are [title, class]. */
export function table(caption, columns, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)))),
      h("tbody", {}, rows)));
}

/** Figures at a glance: [name, value, what to add in small letters]. */
export function tiles(facts) {
  return h("dl", { class: "figures" }, facts.filter(Boolean).map(([name, value, more]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value, more && h("small", {}, ` ${more}`)))));
}

/** What is said to those who listen instead of looking. */
export function say(text) {
  document.getElementById("said").textContent = visible(text);
}

// Lean text that can be copied.

import { h, lean, say } from "./dom.js";

/** A section with a heading; the text comes in pieces, as `lean` takes them. */
export function block(title, pieces) {
  const text = pieces.map(([, part]) => part).join("");
  const copy = h("button", { type: "button", click: async () => {
    try {
      await navigator.clipboard.writeText(text);
      say(`${title} copied`);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      say(`the browser does not let this page copy; the ${title.toLowerCase()} is selected`);
      copy.textContent = "Selected";
    }
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  } }, "Copy");
  const code = lean(pieces, "pre");
  code.setAttribute("tabindex", "0");
  code.setAttribute("role", "region");
  code.setAttribute("aria-label", title);
  return h("section", { class: "block" }, h("div", { class: "bar" }, h("h2", {}, title), copy), code);
}

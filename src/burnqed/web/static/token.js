// Asks for the token of a server that wants one.

import { h } from "./dom.js";

const POSSIBLE = /^[\x21-\x7e]+$/;

/** The token that somebody gives, or null if they give none. */
export function askToken(wrong) {
  return new Promise((given) => {
    const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const told = h("p", { class: "problem", role: "alert", hidden: !wrong }, "This token is wrong.");
    const dialog = h("dialog", { "aria-labelledby": "token-title", close: () => { dialog.remove(); given(null); } },
      h("form", { submit: (event) => {
        event.preventDefault();
        const token = input.value.trim();
        told.hidden = POSSIBLE.test(token);
        if (!told.hidden) return;
        given(token);
        dialog.close();
      } },
      h("h2", { id: "token-title" }, "This server wants its token"), told,
      h("p", {}, h("label", { for: "token" }, "Token, as the server has it in BURN_QED_TOKEN "), input),
      h("p", { class: "note" }, "It is kept until this page is closed or loaded again."),
      h("div", { class: "buttons" }, h("button", { type: "submit", class: "first" }, "Go on"),
        h("button", { type: "button", click: () => dialog.close() }, "Cancel"))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

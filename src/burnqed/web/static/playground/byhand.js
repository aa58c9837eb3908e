// A proof by hand: tactics on the left, the goals that remain on the right.

import { send } from "../api.js";
import { fill, h, say } from "../dom.js";
import { several } from "../words.js";
import { axioms } from "./answer.js";
import { leanBlock, leanText } from "./colours.js";
import { colourField } from "./field.js";
import { writeSymbols } from "./symbols.js";

export class ByHand {
  #text; #id; #path = []; #asking = null;

  /** Starts a proof. Raises what the server refuses. */
  static async of(text) {
    return new ByHand(text, await send("POST", "/step", { text }));
  }

  constructor(text, first) {
    this.#text = text;
    this.#id = first.proof;
    this.#path = [{ tactic: null, state: first.state, goals: first.goals }];
    this.steps = h("ol", { class: "steps", "aria-label": "Steps" });
    this.goals = h("section", { class: "panel", "aria-label": "Goals", tabindex: "0" });
    this.told = h("div", {});
    this.tactic = h("textarea", { id: "tactic", rows: "2", spellcheck: "false", autocapitalize: "off", autocomplete: "off", dir: "ltr", keydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#apply(this.tactic.value);
    } });
    writeSymbols(this.tactic);
    this.go = h("button", { type: "submit", class: "first" }, "Apply");
    this.stop = h("button", { type: "button", disabled: true, click: () => this.#asking?.abort() }, "Stop the tactic");
    this.form = h("form", { submit: (event) => { event.preventDefault(); this.#apply(this.tactic.value); } },
      h("label", { for: "tactic" }, "Tactic"), this.tactic,
      h("div", { class: "buttons" }, this.go, this.stop),
      h("p", { class: "note" }, "Enter applies it, Shift+Enter begins a line."));
    colourField(this.tactic);
    this.content = h("section", { "aria-label": "By hand" }, h("h2", {}, "By hand"),
      h("div", { class: "hand" }, h("div", {}, this.steps, this.form, this.told), this.goals));
    this.#show();
  }

  /** The server may forget it. */
  end() {
    this.#asking?.abort();
    send("DELETE", `/step/${this.#id}`).catch(() => {}); // it forgets idle ones anyway
  }

  async #apply(tactic) {
    if (this.#asking || !tactic.trim()) return;
    this.#asking = new AbortController();
    this.#busy(true);
    fill(this.told);
    try {
      const from = this.#path.at(-1);
      this.#answered(tactic, await send("POST", `/step/${this.#id}`, { state: from.state, tactic }, this.#asking.signal));
    } catch (error) {
      this.#problem(error.name === "AbortError" ? "The tactic was stopped." : error.message, error.hint);
    } finally {
      this.#asking = null;
      this.#busy(false);
      if (!this.form.hidden) this.tactic.focus();
    }
  }

  #answered(tactic, answer) {
    switch (answer.outcome) {
      case "goals":
        this.#path.push({ tactic, state: answer.state, goals: answer.goals });
        this.#clear();
        this.#show(answer);
        return say(`${several(answer.goals.length, "goal")} left`);
      case "proved":
        this.#path.push({ tactic, state: null, goals: [], proved: answer });
        this.#clear();
        this.#show();
        return say("proved");
      case "refused":
        return this.#problem(`No goal is left, but the judge refused the proof: ${answer.verdict.reason}`);
      default:
        return this.#problem(answer.error);
    }
  }

  #clear() {
    this.tactic.value = "";
    this.tactic.dispatchEvent(new Event("input"));
  }

  #problem(text, hint) {
    fill(this.told, h("div", { class: "problem", role: "alert" }, h("p", {}, text), hint && h("p", {}, `Fix: ${hint}`)));
  }

  #busy(busy) {
    this.go.disabled = busy;
    this.stop.disabled = !busy;
    this.goals.setAttribute("aria-busy", String(busy));
    for (const one of this.steps.querySelectorAll("button")) one.disabled = busy;
  }

  /** Undo what came after a step. */
  #back(length) {
    this.#path.length = length;
    fill(this.told);
    this.#show();
    this.tactic.focus();
  }

  #show(answer = { messages: [], suggestions: [] }) {
    const last = this.#path.at(-1), { proved } = last;
    this.form.hidden = Boolean(proved);
    fill(this.steps, this.#path.map(({ tactic }, i) => h("li", {},
      leanText(tactic ?? this.#text),
      i < this.#path.length - 1 && h("button", { type: "button", class: "link", click: () => this.#back(i + 1),
        "aria-label": i ? `Go back to step ${i}` : "Go back to the statement" }, "back to here"))));
    fill(this.goals, proved
      ? [h("p", {}, h("span", { class: "mark proved" }, h("span", { "aria-hidden": "true" }, "✓ "), "proved")),
        leanBlock("Proof by hand", proved.source),
        h("p", { class: "note" }, axioms(proved.verdict), " The judge accepted this proof.")]
      : last.goals.map((goal, i) => [
        h("h3", {}, last.goals.length > 1 ? `Goal ${i + 1} of ${last.goals.length}` : "Goal"),
        leanText(goal.text, "pre", { tabindex: "0", role: "region", "aria-label": `Goal ${i + 1}` })]));
    fill(this.told,
      answer.messages.map((text) => h("pre", { class: "message", dir: "ltr" }, text)),
      answer.suggestions.length > 0 && h("p", {}, "Lean suggests ", answer.suggestions.map((one) =>
        [h("button", { type: "button", click: () => this.#instead(one) }, leanText(one)), " "])));
  }

  /** What Lean suggests takes the place of the tactic that asked for it. */
  #instead(tactic) {
    this.#path.pop();
    this.#show();
    this.#apply(tactic);
  }
}

// The playground: a text is proved, or stepped through by hand, by the prover that serves this page.

import { send } from "../api.js";
import { fill, h, say } from "../dom.js";
import { TreeView } from "../tree/view.js";
import { seconds, several } from "../words.js";
import { described } from "./answer.js";
import { ByHand } from "./byhand.js";
import { colourField } from "./field.js";
import { Growing } from "./growing.js";
import { health, prove } from "./prover.js";
import { writeSymbols } from "./symbols.js";

const EXAMPLES = [
  ["a statement", "∀ n : Nat, 2 ∣ n * (n + 1)"],
  ["a theorem", "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p"],
  ["a false one", "∀ n : Nat, n * n = 2 * n"],
  ["a text", "theorem zero_add' (n : Nat) : 0 + n = n := by\n  sorry\n\ntheorem both (p q : Prop) (hp : p) (hq : q) : q ∧ p := by\n  constructor\n  · sorry\n  · exact hp"],
];
const DRAW = 100; // milliseconds between two pictures of a tree that grows
const LOOK = 2000; // milliseconds until a prover that starts is asked again

const [form, text, nodes, limit, proveButton, stopButton, handButton, going, changed, outcome, treePlace, handPlace] =
  ["ask", "text", "nodes", "seconds", "prove", "stop", "by-hand", "going", "changed", "outcome", "tree", "hand"]
    .map((id) => document.getElementById(id));
let ready = false, run = null, latest = null, hand = null;
let asked = ""; // the text whose outcome and tree are shown

// ------------------------------------------------------------------------------------- the prover

async function look() {
  const about = await health();
  ready = about?.status === "ok";
  const known = { loading: "the prover starts …", ending: "the prover stops" }[about?.status];
  fill(document.getElementById("about"), ready
    ? [h("span", {}, about.toolchain), h("span", {}, `import ${about.modules.join(", ")}`), h("span", {}, `policy ${about.policy}`),
      about.model && h("span", {}, `model ${about.model}`)]
    : known ?? "the prover does not answer: is `burn-qed serve prove` still running?");
  if (ready) {
    for (const [field, most] of [[nodes, about.most_nodes], [limit, about.most_seconds]]) {
      field.max = field.placeholder = most;
    }
  } else setTimeout(look, LOOK);
  buttons();
}

function buttons() {
  proveButton.disabled = !ready || run !== null;
  stopButton.disabled = run === null || run.stopping;
  handButton.disabled = !ready;
}

function problem(error) {
  return h("div", { class: "problem", role: "alert" }, h("p", {}, error.message), error.hint && h("p", {}, `Fix: ${error.hint}`));
}

// --------------------------------------------------------------------------------------- searches

/** A request for a proof, and the trees that it grows. */
class Run {
  stopping = false;
  #left = new AbortController(); #stream = new AbortController(); #job = null; #searches = []; #views = []; #shown = -1; #chosen = false; #due = 0;
  #began = performance.now(); #state = "waiting for its turn";

  async go(asked) {
    this.clock = setInterval(() => this.#tell(), 250);
    this.#tell();
    let last = null;
    try {
      await prove(asked, this.#stream.signal, (job) => { this.#job = job; if (this.stopping) this.#end(); }, (event) => {
        last = event;
        this.#take(event);
      });
    } catch (error) {
      if (!this.stopping) fill(outcome, problem(error));
    }
    clearInterval(this.clock);
    this.#draw();
    this.#views[this.#shown]?.grown();
    fill(going);
    if (last?.event === "answer") this.#answer(last);
    else if (this.stopping) this.#told("stopped: nothing is known of the text");
    else if (last?.event === "refusal") fill(outcome, problem({ message: last.refusal.error, hint: last.refusal.hint }));
  }

  /** Its Lean is free again once the stream has ended. */
  stop() {
    this.stopping = true;
    this.#state = "stopping";
    this.#tell();
    if (this.#job !== null) this.#end();
  }

  /** The page needs its trees no more. */
  leave() {
    this.#left.abort();
    this.#stream.abort();
  }

  async #end() {
    try {
      await send("DELETE", this.#job);
    } catch {
      this.#stream.abort(); // the job was done already, or nobody answers: leaving stops it, too
    }
  }

  #answer({ answer, left_out: left }) {
    fill(outcome, described(answer),
      left > 0 && h("p", { class: "note" }, `The tree is not whole: ${several(left, "event")} found no room.`));
    say(outcome.querySelector("h2").textContent);
  }

  #told(text) {
    fill(going, h("span", {}, text));
    say(text);
  }

  #take(event) {
    if (event.event === "begun") this.#state = "compiling the text";
    else if (event.event === "searching") this.#begin(event);
    else if (event.event === "expanded" || event.event === "accepted") {
      const search = this.#searches[event.search];
      search.take(event);
      if (!this.stopping) this.#state = this.#searches.every((one) => one.found) ? "the judge checks what was found" : "searching";
      this.#due ||= setTimeout(() => this.#draw(), DRAW);
    }
  }

  #begin(event) {
    this.#searches[event.search] = new Growing(event);
    if (!this.stopping) this.#state = "searching";
    if (!this.#chosen) this.#choose(event.search);
    else this.#offer();
  }

  #choose(number) {
    this.#shown = number;
    const known = this.#searches[number];
    const view = this.#views[number] ??= new TreeView(known, known.tree, this.#left.signal);
    this.place ??= h("div", {});
    this.choice ??= h("div", { class: "filters" });
    if (!this.place.isConnected) fill(treePlace, this.choice, this.place);
    this.#offer();
    const isNew = !this.place.contains(view.content);
    if (isNew) {
      fill(this.place, view.content);
      view.shown();
    }
  }

  /** A text with several `sorry`s has a search for each. */
  #offer() {
    if (this.#searches.length < 2) return;
    const options = this.#searches.map((one, i) => h("option", { value: i, selected: i === this.#shown }, `${i + 1}: ${one.theorem}`));
    if (!this.choice.firstChild) {
      this.select = h("select", { change: () => { this.#chosen = true; this.#choose(Number(this.select.value)); } });
      fill(this.choice, h("label", {}, "Search ", this.select));
    }
    fill(this.select, options);
  }

  #draw() {
    clearTimeout(this.#due);
    this.#due = 0;
    this.#views[this.#shown]?.grow();
  }

  #tell() {
    const spent = this.#searches.reduce((sum, one) => sum + one.spent, 0);
    fill(going, h("span", { class: "mark running" }, this.#state),
      h("span", {}, seconds((performance.now() - this.#began) / 1000)), h("span", {}, several(spent, "node")));
  }
}

async function start() {
  if (!ready || run !== null || !form.reportValidity()) return;
  if (!text.value.trim()) return text.focus();
  const number = (field) => (field.value === "" ? null : Number(field.value));
  clear();
  treePlace.after(handPlace); // what is asked for last stands first
  asked = text.value;
  run = latest = new Run();
  buttons();
  say("searching");
  await run.go({ text: asked, nodes: number(nodes), seconds: number(limit) });
  run = null;
  buttons();
}

function clear() {
  latest?.leave();
  latest = null;
  asked = "";
  for (const place of [going, outcome, treePlace]) fill(place);
  changed.hidden = true;
}

/** An outcome must not be read as that of another text. */
function compare() {
  changed.hidden = latest === null || text.value === asked;
}

async function byHand() {
  if (!text.value.trim()) return text.focus();
  if (run === null && text.value !== asked) clear();
  hand?.end();
  hand = null;
  form.after(handPlace);
  fill(handPlace, h("p", { class: "note" }, "Lean reads the statement …"));
  handButton.disabled = true;
  try {
    hand = await ByHand.of(text.value);
    fill(handPlace, hand.content);
    hand.tactic.focus();
  } catch (error) {
    fill(handPlace, problem(error));
  }
  buttons();
}

form.addEventListener("submit", (event) => { event.preventDefault(); start(); });
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); start(); }
});
stopButton.addEventListener("click", () => { run?.stop(); buttons(); });
handButton.addEventListener("click", byHand);
fill(document.getElementById("examples"), h("span", {}, "Try"), EXAMPLES.map(([name, example]) =>
  h("button", { type: "button", class: "link", click: () => { text.value = example; text.dispatchEvent(new Event("input")); text.focus(); } }, name)));
writeSymbols(text);
text.addEventListener("input", compare);
colourField(text);
look();

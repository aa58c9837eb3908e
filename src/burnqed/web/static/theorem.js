// One theorem: its statement, its proof, and the tree of the attempt.

import { ask } from "./api.js";
import { h, lean, say } from "./dom.js";
import { outcomeMark } from "./theorems.js";
import { treeView } from "./tree/view.js";
import { count, seconds } from "./words.js";

export async function theoremView(run, theorem, attempt, { signal }) {
  const path = `/api/runs/${run}/theorems/${theorem}`;
  const [about, tree, of] = await Promise.all([
    ask(path, { attempt }, signal), ask(`${path}/tree`, { attempt }, signal), ask(`/api/runs/${run}`, {}, signal),
  ]);
  const link = `#/run/${run}/theorem/${theorem}`;
  const shown = tree.nodes.length > 0 && treeView(path, about.attempt, tree, signal);
  return {
    title: about.theorem,
    trail: [[of.name, `#/run/${run}`], [about.theorem, link]],
    shown: shown ? shown.shown : undefined,
    content: [
      h("h1", {}, h("bdi", {}, about.theorem)),
      h("p", { class: "about" }, outcomeMark(about.outcome, about.reason),
        about.group && h("span", {}, h("bdi", {}, about.group)),
        h("span", {}, `${count(about.nodes)} nodes`), h("span", {}, `${count(about.steps)} tactics tried`),
        h("span", {}, `search ${seconds(about.seconds)}, judge ${seconds(about.judge_seconds)}`),
        about.leak_rule && h("span", {}, `leak rule: ${about.leak_rule}`)),
      about.attempts.length > 1 && attempts(about, link),
      about.detail && h("p", { class: "problem" }, about.detail),
      about.statement.length > 0 && block(about.stated ? "Statement" : "First goal", about.statement),
      about.proof.length > 0 && [block("Proof", about.proof), axioms(about)],
      shown ? shown.content : h("p", {}, "No step of this attempt was recorded."),
    ],
  };
}

function attempts(about, link) {
  return h("nav", { class: "choices", "aria-label": "Attempts" }, about.attempts.map((one) =>
    h("a", { href: `${link}/attempt/${one}`, "aria-current": one === about.attempt ? "page" : null }, `attempt ${one}`)));
}

function block(title, pieces) {
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

function axioms(about) {
  const known = about.axioms ?? about.axioms_seen;
  const list = known.length ? known.join(", ") : "none";
  return h("p", { class: "note" }, about.axioms === null ? `Axioms seen: ${list}` : `Axioms: ${list}`,
    `; ${count(about.proof_steps)} ${about.proof_steps === 1 ? "step" : "steps"}. The judge accepted this proof.`);
}

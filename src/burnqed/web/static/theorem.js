// One theorem: its statement, its proof, and the tree of the attempt.

import { ask } from "./api.js";
import { block } from "./block.js";
import { h } from "./dom.js";
import { besideLink } from "./links.js";
import { trailOf } from "./runs.js";
import { outcomeMark } from "./theorems.js";
import { TreeView } from "./tree/view.js";
import { seconds, several } from "./words.js";

export async function theoremView(run, theorem, attempt, { signal }) {
  const path = `/api/runs/${run}/theorems/${theorem}`;
  const [about, tree, of] = await Promise.all([
    ask(path, { attempt }, signal), ask(`${path}/tree`, { attempt }, signal), ask(`/api/runs/${run}`, {}, signal),
  ]);
  const link = `#/run/${run}/theorem/${theorem}`;
  tree.edges.forEach((edge, number) => (edge.number = number));
  const source = {
    state: (node, wanted) => ask(`${path}/state`, { attempt: about.attempt, node }, wanted),
    find: async (q, wanted) => (await ask(`${path}/find`, { attempt: about.attempt, q }, wanted)).nodes,
  };
  const shown = tree.nodes.length > 0 && new TreeView(source, tree, signal);
  return {
    title: about.theorem,
    trail: [...trailOf(of), [about.theorem, link]],
    shown: () => {
      const proof = document.querySelector("section.block:has(+ .judged) pre");
      if (proof) proof.scrollTop = proof.scrollHeight; // the theorem stands at the end of its text
      if (shown) shown.shown();
    },
    content: [
      h("h1", {}, h("bdi", {}, about.theorem)),
      h("p", { class: "about" }, outcomeMark(about.outcome, about.reason),
        about.group && h("span", {}, h("bdi", {}, about.group)),
        h("span", {}, several(about.nodes, "node")), h("span", {}, `${several(about.steps, "tactic")} tried`),
        h("span", {}, `search ${seconds(about.seconds)}, judge ${seconds(about.judge_seconds)}`),
        about.leak_rule && h("span", {}, `leak rule: ${about.leak_rule}`)),
      about.attempts.length > 1 && attempts(about, run, theorem),
      about.detail && h("p", { class: "problem" }, about.detail),
      about.statement.length > 0 && block(about.stated ? "Statement" : "First goal", about.statement),
      about.proof.length > 0 && [block("Proof", about.proof), axioms(about)],
      shown ? shown.content : h("p", {}, "No step of this attempt was recorded."),
    ],
  };
}

function attempts(about, run, theorem) {
  const other = about.attempts.find((one) => one !== about.attempt);
  return h("nav", { class: "choices", "aria-label": "Attempts" }, about.attempts.map((one) =>
    h("a", { href: `#/run/${run}/theorem/${theorem}/attempt/${one}`, "aria-current": one === about.attempt ? "page" : null }, `attempt ${one}`)),
  h("a", { href: besideLink(run, theorem, run, { attempt: about.attempt, there: other }) }, "two attempts side by side"));
}

function axioms(about) {
  const known = about.axioms ?? about.axioms_seen;
  const list = known.length ? known.join(", ") : "none";
  return h("p", { class: "note judged" }, about.axioms === null ? `Axioms seen: ${list}` : `Axioms: ${list}`,
    `; ${several(about.proof_steps, "step")}. The judge accepted this proof.`);
}

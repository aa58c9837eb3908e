// What is known of one state: its goals, and every tactic that was tried with Lean's answer.

import { h, lean, refill } from "../dom.js";
import { count, decimal, seconds, several } from "../words.js";
import { STATUS, statusAt } from "./layout.js";

export const RESULTS = {
  closed: ["✓", "closed"], advanced: ["→", "goals remain"], rejected: ["✗", "rejected"],
  timeout: ["◔", "timed out"], lost: ["?", "Lean was lost"],
};

/** Fills the panel. `go` shows another node; `tactic` is the one that was chosen, if one was; `where` ends the
 * names of parts that two panels on a page both have. */
export async function showNode(panel, source, { node, tactic, moment, where }, go, signal) {
  panel.setAttribute("aria-busy", "true");
  let content;
  try {
    const state = await source.state(node.id, signal);
    if (signal.aborted) return;
    content = described(state, node, tactic, moment, where, go);
  } catch (error) {
    if (error.name === "AbortError") return;
    content = h("p", { class: "problem", role: "alert" }, error.message);
  }
  refill(panel, content);
  panel.removeAttribute("aria-busy");
}

function described(state, node, tactic, moment, where, go) {
  const [mark, meaning] = STATUS[statusAt(node, moment)];
  const facts = [
    ["depth", count(node.depth)],
    node.score !== null && ["score", decimal(node.score, 3)],
    node.energy !== null && ["energy", decimal(node.energy, 3)],
    node.expanded !== null && ["expanded after", seconds(node.expanded)],
  ].filter(Boolean);
  const to = (id) => h("button", { type: "button", class: "link", click: () => go(id) }, `state ${id}`);
  return [
    h("h3", {}, `State ${node.id}`),
    h("p", {}, h("span", { "aria-hidden": "true" }, `${mark} `), meaning),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    state.goals.length > 0
      ? state.goals.map((goal, i) => [
        state.goals.length > 1 && h("h4", {}, `Goal ${i + 1} of ${state.goals.length}`),
        goalBlock(goal, (state.goals.length > 1 ? `Goal ${i + 1}` : "Goal") + where)])
      : h("p", { class: "note" }, "A search keeps the goals of the states that it expanded, and this is none of them."),
    state.ways.length > 0 && h("p", { class: "ways" }, node.parent === null ? "Reached again from " : "Reached from ", state.ways.map((way, i) =>
      [i > 0 && ", ", to(way.node), " by ", h("code", { dir: "ltr" }, way.tactic)])),
    state.tried.length > 0 && [
      h("h4", {}, `${several(state.tried.length, "tactic")} tried, ${count(state.tried.filter(worked).length)} worked`),
      tried(state.tried, tactic, where, to),
    ],
  ];
}

function goalBlock(goal, name) {
  const block = lean(goal, "pre");
  block.setAttribute("tabindex", "0");
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", name);
  return block;
}

const worked = (row) => row.outcome === "closed" || row.outcome === "advanced";

/** Those that worked stand first, each kind in the order in which it was tried. */
function tried(rows, tactic, where, to) {
  const sorted = [...rows.filter(worked), ...rows.filter((row) => !worked(row))];
  return h("ol", { class: "tried" }, sorted.map((row) => {
    const [mark, word] = RESULTS[row.outcome];
    const text = row.tactic.map(([, part]) => part).join("");
    return h("li", { class: [row.on_proof && "lit", text === tactic && "chosen"].filter(Boolean).join(" ") || null },
      lean(row.tactic),
      h("p", {}, h("span", { class: `mark ${row.outcome}` }, h("span", { "aria-hidden": "true" }, `${mark} `), word),
        row.children.length > 0 && h("span", {}, row.children.map((id, i) => [
          i > 0 && ", ", to(id), row.child_energies.length > 0 && ` energy ${decimal(row.child_energies[i])}`])),
        row.on_proof && h("span", {}, "in the proof"),
        h("span", {}, `log-probability ${decimal(row.logprob)}`),
        row.seconds !== null && h("span", {}, seconds(row.seconds)),
        row.heartbeats !== null && h("span", {}, several(row.heartbeats, "heartbeat"))),
      row.answer && h("pre", { class: "answer", dir: "ltr", tabindex: "0", role: "region", "aria-label": `Lean's answer to ${text}${where}` }, row.answer));
  }));
}

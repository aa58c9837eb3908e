// The list of runs.

import { ask } from "./api.js";
import { h, table } from "./dom.js";
import { COMMANDS, ago, count, several } from "./words.js";

export async function runsView(signal) {
  const { runs, problems } = await ask("/api/runs", {}, signal);
  const top = runs.filter((run) => run.parent === null);
  return {
    title: "burn-qed",
    trail: [],
    content: [
      h("h1", {}, "Runs"),
      problemsOf(problems),
      runs.length ? runTable(top, runs) : empty(),
    ],
  };
}

/** Runs as a table; those inside of them are counted. */
export function runTable(runs, all = []) {
  const inside = (run) => all.filter((one) => one.parent === run.id).length;
  return table("Runs", [["Run", ""], ["Kind", ""], ["State", ""], ["Theorems", ""], ["Nodes", "n"], ["Last written", ""]],
    runs.map((run) => h("tr", {},
      h("th", { scope: "row" }, h("a", { href: `#/run/${run.id}` }, h("bdi", {}, run.name)),
        inside(run) > 0 && h("small", {}, ` ${several(inside(run), "run")} inside`)),
      h("td", {}, COMMANDS[run.command]),
      h("td", {}, stateMark(run.state)),
      h("td", {}, typeof run.theorems === "string" ? h("bdi", {}, run.theorems) : "–"),
      h("td", { class: "n" }, typeof run.nodes === "number" ? count(run.nodes) : "–"),
      h("td", {}, ago(run.changed)))));
}

export function stateMark(state) {
  const marks = { running: "▶", done: "✓", unfinished: "■" };
  return h("span", { class: `mark ${state}` }, h("span", { "aria-hidden": "true" }, `${marks[state]} `), state);
}

export function problemsOf(problems) {
  return problems.length > 0 && h("ul", { class: "problem", "aria-label": "Problems" },
    problems.map((one) => h("li", {}, one)));
}

const empty = () => h("p", {}, "There is no run in this folder. ", h("code", {}, "burn-qed search"), " or ",
  h("code", {}, "burn-qed eval"), " makes one; then load this page again.");

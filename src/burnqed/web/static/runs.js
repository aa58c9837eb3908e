// The list of runs, and of reports on embeddings.

import { ask, follow } from "./api.js";
import { h, refill, table } from "./dom.js";
import { COMMANDS, ago, count, several } from "./words.js";

export async function runsView({ signal }) {
  const place = h("div", {});
  const show = ({ runs, looks, problems }) => refill(place, problemsOf(problems),
    runs.length ? runTable(runs.filter((run) => run.parent === null), runs) : looks.length === 0 && empty(),
    lookTable(looks.filter((look) => look.parent === null)));
  show(await ask("/api/runs", {}, signal));
  return {
    title: "burn-qed",
    trail: [],
    content: [h("h1", {}, "Runs"), place],
    shown: () => follow("/api/live", signal, show),
  };
}

/** A run's name as it is inside of another. */
export const inside = (name, outer) => (name.startsWith(`${outer}/`) ? name.slice(outer.length + 1) : name);

/** The way to a run: those that it lies in, and itself. */
export function trailOf(run) {
  const all = [...run.around, [run.id, run.name]];
  return all.map(([id, name], i) => [i ? inside(name, all[i - 1][1]) : name, `#/run/${id}`]);
}

/** Runs as a table; those inside of them are counted. `outer` is the name of the run that they lie in. */
export function runTable(runs, all = [], outer = "") {
  const within = (run) => all.filter((one) => one.parent === run.id).length;
  return table("Runs", [["Run", ""], ["Kind", ""], ["State", ""], ["Proved", "n"], ["Theorems", ""], ["Most nodes", "n"], ["Last written", ""]],
    runs.map((run) => h("tr", {},
      h("th", { scope: "row" }, h("a", { href: `#/run/${run.id}` }, h("bdi", {}, inside(run.name, outer))),
        within(run) > 0 && h("small", {}, ` ${several(within(run), "run")} inside`)),
      h("td", {}, COMMANDS[run.command]),
      h("td", {}, stateMark(run.state), run.at_work && h("small", {}, ` ${run.at_work.label}: ${run.at_work.name}`)),
      h("td", { class: "n" }, run.so_far ? `${count(run.so_far.proved)} of ${count(run.so_far.searched)}` : "–"),
      h("td", {}, run.theorems ? h("bdi", {}, run.theorems) : "–"),
      h("td", { class: "n" }, typeof run.nodes === "number" ? count(run.nodes) : "–"),
      h("td", {}, ago(run.changed)))));
}

/** Reports on embeddings. `outer` is the name of the run that they lie in. */
export function lookTable(looks, outer = "") {
  return looks.length > 0 && [h("h2", {}, "Embeddings"), table("Embeddings", [["Report", ""], ["Encoders", ""], ["States", "n"], ["Last written", ""]],
    looks.map((look) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: `#/look/${look.id}` }, h("bdi", {}, inside(look.name, outer)))),
      h("td", {}, look.encoders.map((label, i) => [i > 0 && ", ", h("bdi", {}, label)])),
      h("td", { class: "n" }, count(look.states)), h("td", {}, ago(look.changed)))))];
}

export function stateMark(state) {
  const marks = { running: "▶", done: "✓", unfinished: "■" };
  return h("span", { class: `mark ${state}` }, h("span", { "aria-hidden": "true" }, `${marks[state]} `), state);
}

export function problemsOf(problems) {
  return problems.length > 0 && h("ul", { class: "problem", "aria-label": "Problems" },
    problems.map((one) => h("li", {}, one)));
}

const empty = () => h("p", {}, "There is no run in this folder yet. ", h("code", {}, "burn-qed search"), " or ",
  h("code", {}, "burn-qed eval"), " makes one, and it appears here.");

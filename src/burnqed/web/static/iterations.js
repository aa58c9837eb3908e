// What expert iteration has come to: rates, cost, gates, stages.

import { curve } from "./curves.js";
import { h, table, tiles } from "./dom.js";
import { count, percent, seconds } from "./words.js";

const GATES = { pass: "✓", warn: "!", stop: "✗" };

export function iterations(history) {
  const done = history.iterations;
  return [
    history.ended && h("p", {}, `Ended: ${history.ended}.`),
    tiles([
      ["training theorems proved", `${count(all(done, (one) => one.newly_proved))} of ${count(history.train_theorems)}`],
      ["nodes searched for training", count(all(done, (one) => sum(one.searches, "nodes")))],
      ["time in Lean for training", seconds(all(done, (one) => sum(one.searches, "lean_seconds")))],
      ["time of all stages", seconds(history.seconds)],
    ]),
    h("h2", {}, "Iterations"),
    rates(done),
    table("Iterations", [["Iteration", ""], ["Held-out theorems proved", ""], ["Newly proved", "n"], ["Nodes searched", "n"],
      ["Time in Lean", "n"], ["Time", "n"]], done.map((one) => h("tr", {}, h("th", { scope: "row" }, one.label),
      h("td", {}, sets(one).map(([set, budget, result]) =>
        h("div", {}, h("bdi", {}, set), `: ${count(result.solved)} of ${count(result.total)} within ${count(budget)} nodes`))),
      h("td", { class: "n" }, count(one.newly_proved)),
      h("td", { class: "n" }, count(sum(one.searches, "nodes"))),
      h("td", { class: "n" }, seconds(sum(one.searches, "lean_seconds"))),
      h("td", { class: "n" }, seconds(one.seconds))))),
    done.some((one) => one.gates.length > 0) && [h("h2", {}, "Gates"),
    table("Gates", [["Iteration", ""], ["Gate", ""], ["Verdict", ""], ["Figures", ""]],
      done.flatMap((one) => one.gates.map((gate) => h("tr", {}, h("td", { class: "mark" }, one.label),
        h("th", { scope: "row" }, gate.name, h("small", {}, ` ${gate.rule}`)),
        h("td", {}, h("span", { class: `mark ${gate.verdict}` }, `${GATES[gate.verdict]} ${gate.verdict}`)),
        h("td", { class: "wide" }, gate.told, gate.hint && h("small", {}, ` ${gate.hint}`))))))],
    h("details", {}, h("summary", {}, "Stages"),
      table("Stages", [["Iteration", ""], ["Stage", ""], ["State", ""], ["Begun", "n"], ["Time", "n"]],
        done.flatMap((one) => one.stages.map((stage) => h("tr", {}, h("td", {}, one.label),
          h("th", { scope: "row" }, stage.name),
          h("td", {}, stage.skipped ? "skipped" : stage.done ? "done" : "begun"),
          h("td", { class: "n" }, stage.runs === 1 ? "once" : `${count(stage.runs)} times`),
          h("td", { class: "n" }, seconds(stage.seconds))))))),
  ];
}

/** Each held-out set with the largest budget and what was proved within it, without a value model. */
function sets(one) {
  return Object.entries(one.evaluated).flatMap(([set, arms]) => {
    const largest = Math.max(...Object.keys(arms.without_value.budgets).map(Number));
    return Number.isFinite(largest) ? [[set, largest, arms.without_value.budgets[largest]]] : [];
  });
}

/** A curve for each set, from the baseline on. */
function rates(done) {
  const bySet = new Map();
  for (const one of done) {
    for (const [set, budget, result] of sets(one)) {
      if (!bySet.has(set)) bySet.set(set, { budget, points: [] });
      bySet.get(set).points.push([one.iteration, result.rate]);
    }
  }
  const label = (number) => Number.isInteger(number) ? (number < 0 ? "baseline" : String(number)) : "";
  return h("div", { class: "curves" }, [...bySet].filter(([, { points }]) => points.length > 1).map(([set, { budget, points }]) =>
    curve(`${set}: proved within ${count(budget)} nodes`, points, { most: 1, x: label, y: percent, across: "iteration" })));
}

const all = (done, figure) => done.reduce((total, one) => total + (figure(one) ?? 0), 0);

function sum(searches, what) {
  return searches ? searches.reduce((all, one) => all + one[what], 0) : null;
}

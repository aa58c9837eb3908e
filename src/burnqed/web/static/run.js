// One run: its figures, and its theorems.

import { ask } from "./api.js";
import { h, table } from "./dom.js";
import { problemsOf, runTable, stateMark } from "./runs.js";
import { COMMANDS, ago, count, percent, seconds, several } from "./words.js";

const AT_ONCE = 200; // theorems; a button shows more

export async function runView(id, signal) {
  const [run, listing] = await Promise.all([
    ask(`/api/runs/${id}`, {}, signal), ask(`/api/runs/${id}/theorems`, {}, signal),
  ]);
  return {
    title: run.name,
    trail: [[run.name, `#/run/${id}`]],
    content: [
      h("h1", {}, h("bdi", {}, run.name)),
      h("p", { class: "about" }, stateMark(run.state), h("span", {}, COMMANDS[run.command]),
        h("span", {}, `last written ${ago(run.changed)}`)),
      problemsOf([...new Set([...run.problems, ...listing.problems])]),
      run.search && run.search.searched > 0 && figures(run.search),
      run.budgets.length > 0 && budgets(run.budgets),
      run.iterations && iterations(run.iterations),
      run.runs.length > 0 && [h("h2", {}, "Runs inside"), runTable(run.runs)],
      listing.lines.length > 0 && theorems(id, listing.lines),
      settings(run.settings),
    ],
  };
}

function figures(search) {
  const reasons = (counts) => Object.entries(counts).map(([why, n]) => `${why} ${count(n)}`).join(", ");
  const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
  const facts = [
    ["searches that found a proof", `${count(search.proved)} of ${count(search.searched)}`],
    ["not found", `${count(sum(search.exhausted))} ${reasons(search.exhausted) && `(${reasons(search.exhausted)})`}`],
    ["errors", `${count(sum(search.errors))} ${reasons(search.errors) && `(${reasons(search.errors)})`}`],
    ["nodes", count(search.nodes)],
    ["tactics tried", count(search.steps)],
    ["time of the searches", `${seconds(search.seconds)}, in Lean ${seconds(search.lean_seconds)}`],
    ["time of the judge", seconds(search.judge_seconds)],
  ];
  return h("dl", { class: "figures" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function budgets(found) {
  return [
    h("h2", {}, "Budgets"),
    table("Proved within each budget", [["Nodes", "n"], ["Proved", "n"], ["Of", "n"], ["Rate", "n"], ["95% interval", "n"]],
      found.map((one) => h("tr", {}, h("th", { scope: "row", class: "n" }, count(one.nodes)),
        h("td", { class: "n" }, count(one.proved)), h("td", { class: "n" }, count(one.total)),
        h("td", { class: "n" }, percent(one.rate)),
        h("td", { class: "n" }, one.interval.map(percent).join(" to "))))),
  ];
}

const GATES = { pass: "✓", warn: "!", stop: "✗" };

function iterations(history) {
  const rates = (one) => Object.entries(one.evaluated).map(([set, arms]) => {
    const last = Object.entries(arms.without_value.budgets).at(-1);
    return last && h("div", {}, h("bdi", {}, set), `: ${count(last[1].solved)} of ${count(last[1].total)} within ${count(+last[0])} nodes`);
  });
  return [
    h("p", {}, history.finished ? "Finished" : "Not finished", history.ended && ` (${history.ended})`,
      `; ${seconds(history.seconds)} so far`),
    h("h2", {}, "Iterations"),
    table("Iterations", [["Iteration", ""], ["Held-out theorems proved", ""], ["Newly proved", "n"], ["Time", "n"]],
      history.iterations.map((one) => h("tr", {}, h("th", { scope: "row" }, one.label), h("td", {}, rates(one)),
        h("td", { class: "n" }, count(one.newly_proved)), h("td", { class: "n" }, seconds(one.seconds))))),
    h("h2", {}, "Stages"),
    table("Stages", [["Iteration", ""], ["Stage", ""], ["State", ""], ["Time", "n"]],
      history.iterations.flatMap((one) => one.stages.map((stage) => h("tr", {}, h("td", {}, one.label),
        h("th", { scope: "row" }, stage.name),
        h("td", {}, stage.skipped ? "skipped" : stage.done ? "done" : "begun"),
        h("td", { class: "n" }, seconds(stage.seconds)))))),
    h("h2", {}, "Gates"),
    table("Gates", [["Iteration", ""], ["Gate", ""], ["Verdict", ""], ["Figures", ""]],
      history.iterations.flatMap((one) => one.gates.map((gate) => h("tr", {}, h("td", {}, one.label),
        h("th", { scope: "row" }, gate.name, h("small", {}, ` ${gate.rule}`)),
        h("td", {}, h("span", { class: `mark ${gate.verdict}` }, `${GATES[gate.verdict]} ${gate.verdict}`)),
        h("td", {}, gate.told, gate.hint && h("small", {}, ` ${gate.hint}`)))))),
  ];
}

function theorems(id, lines) {
  const grouped = lines.some((line) => line.group);
  const columns = [["Theorem", ""], ...(grouped ? [["Part", ""]] : []), ["Outcome", ""], ["Nodes", "n"],
    ["Tactics", "n"], ["Time", "n"], ["Steps of the proof", "n"]];
  const row = (line) => h("tr", {},
    h("th", { scope: "row" }, line.attempt === null
      ? h("bdi", { title: "no attempt at it was kept" }, line.name)
      : h("a", { href: `#/run/${id}/theorem/${line.id}` }, h("bdi", {}, line.name))),
    grouped && h("td", {}, h("bdi", {}, line.group)),
    h("td", {}, outcomeMark(line.outcome, line.reason),
      line.attempts > 1 && h("small", {}, ` in ${line.successes} of ${line.attempts} attempts`)),
    h("td", { class: "n" }, count(line.nodes)), h("td", { class: "n" }, count(line.steps)),
    h("td", { class: "n" }, seconds(line.seconds)),
    h("td", { class: "n" }, line.proof_steps ? count(line.proof_steps) : "–"));
  const found = table("Theorems", columns, lines.slice(0, AT_ONCE).map(row));
  const body = found.querySelector("tbody");
  const more = h("button", { type: "button", click: () => {
    const from = body.rows.length;
    body.append(...lines.slice(from, from + AT_ONCE).map(row));
    if (body.rows.length >= lines.length) more.remove();
    body.rows[from].querySelector("a")?.focus();
  } }, "Show more");
  return [h("h2", {}, several(lines.length, "theorem")), found, lines.length > AT_ONCE && more];
}

const OUTCOMES = { proved: ["✓", "proved"], exhausted: ["–", "not found"], error: ["!", "error"] };

/** Only what the judge accepted is proved. An error says nothing about the theorem. */
export function outcomeMark(outcome, reason) {
  const [mark, word] = OUTCOMES[outcome] ?? ["", outcome];
  return h("span", { class: `mark ${outcome}` }, h("span", { "aria-hidden": "true" }, `${mark} `), word,
    reason && h("small", {}, ` (${reason})`));
}

function settings(found) {
  return h("details", {}, h("summary", {}, "Settings"),
    h("dl", { class: "settings" }, Object.entries(found).map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, h("bdi", {}, value))))));
}

// One run: its figures and curves, as they grow, and its theorems.

import { ask, follow } from "./api.js";
import { curve } from "./curves.js";
import { h, refill, say, table, tiles } from "./dom.js";
import { iterations } from "./iterations.js";
import { inside, lookTable, problemsOf, runTable, stateMark, trailOf } from "./runs.js";
import { Theorems } from "./theorems.js";
import { COMMANDS, ago, count, decimal, percent, seconds } from "./words.js";

export async function runView(id, { query, signal }) {
  const run = await ask(`/api/runs/${id}`, {}, signal);
  const head = h("div", {}), theorems = new Theorems(id, query, signal);
  let now = run, asking = false, stale = false;
  /** The theorems as they are now; while they are asked for, only once more. */
  const list = async () => {
    stale = true;
    if (asking) return;
    asking = true;
    while (stale && !signal.aborted) {
      stale = false;
      try {
        const { runs } = await ask("/api/runs", {}, signal);
        const { lines, problems } = await ask(`/api/runs/${id}/theorems`, {}, signal);
        await theorems.show(lines, runs);
        show(now, problems);
      } catch (error) {
        if (!signal.aborted) show(now, [error.message]);
      }
    }
    asking = false;
  };
  const show = (current, problems = []) => {
    if (current.state !== now.state) say(`${current.name}: ${current.state}`);
    now = current;
    refill(head, about(current), problemsOf([...new Set([...current.problems, ...problems])]), figures(current));
  };
  await list();
  return {
    title: run.name,
    trail: trailOf(run),
    content: [h("h1", {}, h("bdi", {}, run.name)), head, theorems.content, settings(run.settings)],
    shown: () => {
      let before = JSON.stringify(now);
      follow(`/api/live/${id}`, signal, (current) => {
        const content = JSON.stringify(current);
        if (content === before) return;
        before = content;
        show(current);
        list();
      });
    },
  };
}

function about(run) {
  const at = run.at_work;
  return [
    h("p", { class: "about" }, stateMark(run.state), h("span", {}, COMMANDS[run.command]),
      run.theorems && h("span", {}, h("bdi", {}, run.theorems)), h("span", {}, `last written ${ago(run.changed)}`)),
    at && h("p", { class: "at-work" }, h("strong", {}, `${at.label}: ${at.name}`), ` since ${ago(at.since)}`,
      at.said && h("code", {}, at.said)),
  ];
}

function figures(run) {
  return [
    run.search && run.search.searched > 0 && [searches(run.search), curves(run.search)],
    run.budgets.length > 0 && budgets(run.budgets),
    run.searching.map((one) => one.search.searched > 0 && atWork(one, run.runs.find(({ id }) => id === one.id), run.name)),
    run.iterations && iterations(run.iterations),
    run.runs.length > 0 && [h("h2", {}, "Runs inside"), runTable(run.runs, [], run.name)],
    lookTable(run.looks, run.name),
  ];
}

/** A search that works for a stage of this run, as it has saved itself so far. */
function atWork({ id, search }, { name }, outer) {
  return h("section", { "aria-label": "The search at work" },
    h("h2", {}, "Search at work: ", h("a", { href: `#/run/${id}` }, h("bdi", {}, inside(name, outer)))),
    searches(search), curves(search));
}

const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);

function searches(search) {
  const reasons = (counts) => Object.entries(counts).map(([why, n]) => `${why} ${count(n)}`).join(", ");
  return tiles([
    ["proved", `${count(search.proved)} of ${count(search.searched)}`],
    ["not found", count(sum(search.exhausted)), reasons(search.exhausted)],
    ["errors", count(sum(search.errors)), reasons(search.errors)],
    ["nodes", count(search.nodes)],
    search.rate !== null && ["nodes a second", decimal(search.rate, 1)],
    ["tactics tried", count(search.steps)],
    ["time of the searches", seconds(search.seconds), `in Lean ${seconds(search.lean_seconds)}`],
    ["time of the judge", seconds(search.judge_seconds)],
  ]);
}

function curves(search) {
  const time = search.points.map(([passed, , proved]) => [passed, proved]);
  return h("div", { class: "curves" },
    search.within.length > 0 && search.within.at(-1)[0] > 1 && curve("Proofs found within so many nodes", [[1, 0], ...search.within], { steps: true, log: true, across: "nodes" }),
    time.length > 1 && time.at(-1)[0] > 0 && curve("Proofs found over time", time, { x: seconds, across: "time at work, by each save" }));
}

function budgets(found) {
  return [
    h("h2", {}, "Budgets"),
    table("Proved within each budget", [["Nodes", "n"], ["Proved", "n"], ["Not found", "n"], ["Errors", "n"], ["Of", "n"], ["Rate", "n"], ["95% interval", "n"]],
      found.map((one) => h("tr", {}, h("th", { scope: "row", class: "n" }, count(one.nodes)),
        h("td", { class: "n" }, count(one.proved)), h("td", { class: "n" }, count(sum(one.exhausted))),
        h("td", { class: "n" }, count(sum(one.errors))), h("td", { class: "n" }, count(one.total)),
        h("td", { class: "n" }, percent(one.rate)),
        h("td", { class: "n" }, one.interval.map(percent).join(" to "))))),
  ];
}

function settings(found) {
  return h("details", {}, h("summary", {}, "Settings"),
    h("dl", { class: "settings" }, Object.entries(found).map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, h("bdi", {}, value))))));
}

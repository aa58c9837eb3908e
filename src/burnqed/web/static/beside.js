// Two searches for one theorem, side by side: where they part, why, and both trees.

import { ask } from "./api.js";
import { fill, h, lean, table } from "./dom.js";
import { besideLink } from "./links.js";
import { trailOf } from "./runs.js";
import { outcomeMark } from "./theorems.js";
import { RESULTS } from "./tree/node.js";
import { TreeView } from "./tree/view.js";
import { count, decimal, seconds, several } from "./words.js";

export async function besideView(run, theorem, against, { query, signal }) {
  const sides = await Promise.all([[run, "here", "attempt"], [against, "there", "there"]].map(async ([id, where, key]) => {
    const path = `/api/runs/${id}/theorems/${theorem}`;
    const about = await ask(path, { attempt: query.get(key) }, signal);
    const { attempt } = about;
    const [tree, of] = await Promise.all([ask(`${path}/tree`, { attempt }, signal), ask(`/api/runs/${id}`, {}, signal)]);
    tree.edges.forEach((edge, number) => (edge.number = number));
    return { id, where, key, path, about, tree, of };
  }));
  const [here, there] = sides;
  const found = await ask(`${here.path}/parting`, { against, attempt: here.about.attempt, there: there.about.attempt }, signal);
  const same = [new Map(found.pairs), new Map(found.pairs.map(([one, other]) => [other, one]))];
  const told = h("p", { class: "note", role: "status" }, "Choose a state in one tree, and the same state is shown in the other.");
  const views = sides.map((side, i) => side.tree.nodes.length > 0 && new TreeView(sourceOf(side), side.tree, signal, {
    where: side.where,
    parts: found[side.where],
    chosen: (id) => {
      const other = same[i].get(id), across = sides[1 - i].where;
      fill(told, other === undefined ? `State ${id} ${side.where} is not in the tree ${across}.` : `State ${id} ${side.where} is state ${other} ${across}.`);
      if (other !== undefined) views[1 - i]?.point(other);
    },
  }));
  const chosen = { attempt: here.about.attempt, there: there.about.attempt };
  const swapped = besideLink(against, theorem, run, { attempt: chosen.there, there: chosen.attempt });
  return {
    title: `${here.about.theorem}, side by side`,
    trail: [...trailOf(here.of), [here.about.theorem, `#/run/${run}/theorem/${theorem}`],
      ["side by side", besideLink(run, theorem, against, Object.fromEntries(query))]],
    shown: () => views.forEach((view) => view && view.shown()),
    content: [
      h("h1", {}, h("bdi", {}, here.about.theorem)),
      h("p", { class: "about" }, h("span", {}, "here: ", h("bdi", {}, here.of.name)), h("span", {}, "there: ", h("bdi", {}, there.of.name)),
        h("a", { href: swapped }, "the other way round")),
      h("h2", {}, "Where they part"),
      found.why.map((pieces) => h("p", { class: "why" }, pieces.map(([kind, text]) => (kind ? h("code", { dir: "ltr" }, text) : text)))),
      found.tactics.length > 0 && tactics(found),
      found.choices.length > 0 && choices(found.choices),
      told,
      h("div", { class: "pair" }, sides.map((side, i) => half(side, views[i], theorem, sides, chosen))),
    ],
  };
}

function sourceOf({ path, about: { attempt } }) {
  return {
    state: (node, wanted) => ask(`${path}/state`, { attempt, node }, wanted),
    find: async (q, wanted) => (await ask(`${path}/find`, { attempt, q }, wanted)).nodes,
  };
}

function half({ id, where, key, about, of }, view, theorem, [here, there], chosen) {
  const link = `#/run/${id}/theorem/${theorem}/attempt/${about.attempt}`;
  return h("section", { "aria-label": `The run ${where}` },
    h("h2", {}, where === "here" ? "Here: " : "There: ", h("a", { href: link }, h("bdi", {}, of.name))),
    h("p", { class: "about" }, outcomeMark(about.outcome, about.reason), h("span", {}, several(about.nodes, "node")),
      h("span", {}, `${several(about.steps, "tactic")} tried`), h("span", {}, `search ${seconds(about.seconds)}`)),
    about.attempts.length > 1 && h("nav", { class: "choices", "aria-label": `Attempts ${where}` }, about.attempts.map((one) =>
      h("a", { href: besideLink(here.id, theorem, there.id, { ...chosen, [key]: one }), "aria-current": one === about.attempt ? "page" : null }, `attempt ${one}`))),
    view ? view.content : h("p", {}, "No step of this attempt was recorded."));
}

/** What was tried at the state where they part. */
function tactics({ here, there, tactics: rows }) {
  const name = here === there ? `state ${here}` : `state ${here} here, state ${there} there`;
  const cells = (one) => {
    if (!one) return [h("td", { class: "n" }, "–"), h("td", {}, "not tried"), h("td", { class: "n" }, "–")];
    const [mark, word] = RESULTS[one.outcome];
    return [h("td", { class: "n" }, count(one.place)),
      h("td", {}, h("span", { class: `mark ${one.outcome}` }, h("span", { "aria-hidden": "true" }, `${mark} `), word),
        one.states > 1 && h("small", {}, ` ${count(one.states)} states`)),
      h("td", { class: "n" }, decimal(one.logprob))];
  };
  return table(`Tactics at ${name}`, [["Tactic", ""], ["Here", "n"], ["Outcome here", ""], ["Log-probability", "n"], ["There", "n"], ["Outcome there", ""], ["Log-probability", "n"]],
    rows.map((row) => h("tr", { class: row.differs ? "differs" : null },
      h("th", { scope: "row" }, row.differs && h("span", { class: "parts", title: "differs" }, "≠ "), lean(row.tactic)), cells(row.here), cells(row.there))));
}

/** The states that each search could go on with. */
function choices(rows) {
  const energies = rows.some((row) => row.energies.some((one) => one !== null));
  return table("States that could be expanded", [["Goal", ""], ["State here", "n"], ["State there", "n"], ["Score here", "n"], ["Score there", "n"],
    ...(energies ? [["Energy here", "n"], ["Energy there", "n"]] : [])],
  rows.map((row) => h("tr", {}, h("th", { scope: "row" }, h("code", { dir: "ltr" }, row.line || "–")),
    h("td", { class: "n" }, count(row.here)), h("td", { class: "n" }, count(row.there)),
    row.scores.map((one) => h("td", { class: "n" }, decimal(one, 3))),
    energies && row.energies.map((one) => h("td", { class: "n" }, decimal(one, 3))))));
}

// A report on embeddings: maps of states, and the state that is pointed at.

import { ask } from "./api.js";
import { fill, h, lean, table } from "./dom.js";
import { WAYS, theorems } from "./map/colours.js";
import { MapView } from "./map/view.js";
import { count, percent, several } from "./words.js";

export async function lookView(id, { query, signal }) {
  const look = await ask(`/api/looks/${id}`, {}, signal);
  const shown = look.maps.length > 0 && new Maps(id, look, query, signal);
  return {
    title: look.name,
    trail: [[look.name, `#/look/${id}`]],
    shown: () => shown && shown.shown(),
    content: [
      h("h1", {}, h("bdi", {}, look.name)),
      h("p", { class: "about" }, h("span", {}, "embeddings by ", look.encoders.map((label, i) => [i > 0 && " and ", h("bdi", {}, label)])),
        h("span", {}, "states of ", look.runs.map((run, i) => [i > 0 && ", ", h("bdi", {}, run)]))),
      look.problem && h("p", { class: "problem" }, look.problem),
      shown ? shown.content : !look.problem && h("p", {}, look.drawn ? "There is no map: it takes five states."
        : ["This report has figures only. ", h("code", {}, "burn-qed embeddings report"), " with the same runs and models draws maps, too."]),
      h("h2", {}, "Figures"), h("p", { class: "note" }, look.figures_note),
      figures("Figures", look.encoders, look.figures),
      look.drift.length > 0 && [h("h2", {}, "Drift"), h("p", { class: "note" }, look.drift_note), figures("Drift", ["Value"], look.drift)],
    ],
  };
}

function figures(caption, values, rows) {
  return table(caption, [["Figure", ""], ...values.map((one) => [one, "n"]), ["Meaning", "wide"]], rows.map((row) =>
    h("tr", {}, h("th", { scope: "row" }, row[0]), row.slice(1, -1).map((value) => h("td", { class: "n" }, value)), h("td", {}, row.at(-1)))));
}

/** The maps of one kind, one for each encoder, with one choice of colours. What is chosen stands in the address. */
class Maps {
  #id; #look; #signal; #views = []; #hovered = null; #asked = new AbortController(); #siblings; #known = new Map();

  constructor(id, look, query, signal) {
    this.#id = id;
    this.#look = look;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#asked.abort());
    this.#siblings = look.states.map(() => []);
    for (const [one, other] of look.pairs) {
      this.#siblings[one].push(other);
      this.#siblings[other].push(one);
    }
    this.kinds = [...new Set(look.maps.map((one) => one.kind))];
    this.ways = Object.entries(WAYS).filter(([way]) => way !== "drift" || look.encoders.length > 1).map(([way, { title }]) => [way, title]);
    const names = theorems(look.states), state = Number(query.get("state") ?? NaN);
    const known = (value, among) => (among.includes(value) ? value : among[0]);
    this.chosen = {
      map: known(query.get("map"), this.kinds), colour: known(query.get("colour"), this.ways.map(([way]) => way)),
      theorem: known(query.get("theorem"), ["", ...names.map(([name]) => name)]), state: state in look.states ? state : null,
    };
    const choice = (key, title, options) => h("label", {}, `${title} `, h("select", { id: `by-${key}`, change: (event) => this.#choose(key, event.target.value) },
      options.map(([value, text]) => h("option", { value, selected: value === this.chosen[key] }, text))));
    this.place = h("div", {});
    this.legend = h("ul", { class: "legend", "aria-label": "Legend" });
    this.panel = h("section", { class: "panel", "aria-label": "State", tabindex: "0" });
    this.content = h("section", { class: "look", "aria-label": "Maps" },
      h("h2", {}, "Maps"),
      h("form", { class: "filters", "aria-label": "What the maps show", submit: (event) => event.preventDefault() },
        choice("map", "Map", this.kinds.map((kind) => [kind, kind])), choice("colour", "Colours by", this.ways),
        choice("theorem", "Theorem", [["", "all"], ...names.map(([name, own]) => [name, `${name} (${count(own)})`])]),
        h("div", { class: "buttons" }, [["−", "Zoom out", 1 / 1.4], ["+", "Zoom in", 1.4]].map(([sign, title, by]) =>
          h("button", { type: "button", title, "aria-label": title, click: () => this.#views.forEach((view) => view.zoom(by)) }, sign)))),
      this.place, this.legend,
      h("p", { class: "note", id: "map-keys" }, "Point at a dot to see its state; click or tap to keep it. Arrow keys go to the nearest state that way, ",
        "Page Up and Page Down through all, s to a sibling, Escape leaves it; + and − zoom, 0 shows all. Lines lead to siblings."));
    this.#make();
  }

  shown() {
    for (const view of this.#views) view.shown();
    this.#show();
  }

  #make() {
    const { encoders, states, maps } = this.#look, tell = { hovered: (number) => this.#hover(number), chose: (number) => this.#choose("state", number) };
    const two = encoders.length > 1;
    const own = maps.filter((one) => one.kind === this.chosen.map);
    this.#views = own.map((one) => new MapView(`${one.kind} map${two ? ` by ${one.encoder}` : ""}`, states, one.points, tell, this.#signal));
    const boxes = this.#views.map((view, i) => h("div", { class: "map-of" }, h("h3", {}, h("bdi", {}, own[i].encoder)), view.box));
    fill(this.place, two ? [h("div", { class: "pair" }, boxes), this.panel] : h("div", { class: "sides" }, boxes, this.panel));
  }

  #choose(key, value) {
    this.chosen[key] = value;
    const given = Object.entries(this.chosen).filter(([, one]) => one !== null && one !== "");
    history.replaceState(null, "", `#/look/${this.#id}?${new URLSearchParams(given)}`);
    if (key === "map") {
      this.#make();
      this.shown();
    } else this.#show();
    if (key === "state" && value !== null) this.#views.forEach((view) => view.bring(value));
  }

  #hover(number) {
    if (number === this.#hovered) return;
    this.#hovered = number;
    this.#show();
  }

  #show() {
    const { states } = this.#look, { colour, theorem, state: chosen } = this.chosen;
    const groups = WAYS[colour].of(states), current = this.#hovered ?? chosen;
    const dim = states.map((one) => theorem !== "" && one.theorem !== theorem);
    const siblings = current === null ? [] : this.#siblings[current];
    for (const view of this.#views) view.show({ groups, dim, current, chosen, siblings });
    const counted = groups.names.map((_, i) => groups.group.filter((one, number) => one === i && !dim[number]).length);
    fill(this.legend,
      colour !== "label" && [["full", "provable"], ["", "given up"]].map(([kind, name]) => h("li", {}, h("span", { class: `dot ${kind}`, "aria-hidden": "true" }), ` ${name}`)),
      groups.names.map((name, i) => h("li", {}, h("span", { class: `dot ${colour === "label" && i === 1 ? "" : "full"} ${groups.look(i)}`, "aria-hidden": "true" }), " ", h("bdi", {}, name), ` (${count(counted[i])})`)));
    this.#tell(current, siblings);
  }

  /** The state that is pointed at, or that is chosen. Its goals are asked for. */
  async #tell(number, siblings) {
    if (number === this.told) return;
    this.told = number;
    this.#asked.abort();
    this.#asked = new AbortController();
    if (number === null) {
      fill(this.panel, h("p", {}, "Point at a dot, or go through the states with the keyboard."));
      return;
    }
    const state = this.#look.states[number], goals = h("div", {});
    const share = (value) => (value === null ? "–" : percent(value));
    const facts = [
      ["depth", count(state.depth)],
      this.#look.encoders.length > 1 && ["nearest states kept", share(state.neighbours)],
      state.cosine !== null && ["cosine of both embeddings", state.cosine.toFixed(3)],
    ].filter(Boolean);
    fill(this.panel,
      h("h3", {}, `State ${number}, `, state.on_path ? "provable" : "given up"), h("p", {}, "of ", h("bdi", {}, state.theorem)),
      h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      goals,
      siblings.length > 0 && [h("h4", {}, several(siblings.length, "sibling")), h("ul", {}, siblings.map((one) => h("li", {},
        h("button", { type: "button", class: "link", click: () => this.#choose("state", one) }, `state ${one}`),
        ` ${this.#look.states[one].on_path ? "provable" : "given up"} `, h("code", { dir: "ltr" }, this.#look.states[one].line))))]);
    fill(goals, h("pre", { dir: "ltr" }, state.line));
    try {
      const found = this.#known.get(number) ?? await ask(`/api/looks/${this.#id}/state`, { number }, this.#asked.signal);
      this.#known.set(number, found);
      if (this.told === number) fill(goals, found.goals.map((goal) => lean(goal, "pre")));
    } catch (error) {
      if (error.name !== "AbortError") fill(goals, h("p", { class: "problem" }, error.message));
    }
  }
}

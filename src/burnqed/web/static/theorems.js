// The theorems of a run as a table: filtered, and compared with another run.

import { ask } from "./api.js";
import { fill, h, refill, table } from "./dom.js";
import { besideLink } from "./links.js";
import { inside } from "./runs.js";
import { count, seconds, several } from "./words.js";

const AT_ONCE = 200; // rows; a button shows more
const OUTCOMES = { proved: ["✓", "proved"], exhausted: ["–", "not found"], error: ["!", "error"] };
const CHANGES = {
  new: "proved here only", lost: "proved there only", cheaper: "cheaper here", dearer: "cheaper there",
  undecided: "undecided: an error", absent: "not in that run",
};

/** Only what the judge accepted is proved. An error says nothing about the theorem. */
export function outcomeMark(outcome, reason) {
  const [mark, word] = OUTCOMES[outcome] ?? ["", outcome];
  return h("span", { class: `mark ${outcome}` }, h("span", { "aria-hidden": "true" }, `${mark} `), word,
    reason && h("small", {}, ` (${reason})`));
}

/** Theorems of one run, or of several runs inside of it. What is chosen stands in the address. */
export class Theorems {
  #run; #runs; #others; #lines = []; #there = null; #asked = ""; #rows = AT_ONCE; #signal;

  constructor(run, query, signal) {
    this.#run = run;
    this.#signal = signal;
    this.chosen = Object.fromEntries(["name", "outcome", "set", "part", "against", "change"].map((key) => [key, query.get(key) ?? ""]));
    this.controls = h("form", { class: "filters", role: "search", "aria-label": "Filter theorems", submit: (event) => event.preventDefault() });
    this.told = h("p", { class: "note", role: "status" });
    this.place = h("div", {});
    this.content = h("div", { hidden: true }, h("h2", {}, "Theorems"),
      this.controls, this.told, this.place);
  }

  /** New lines and runs, from the server. What is typed and chosen stays. */
  async show(lines, runs) {
    this.#lines = lines;
    this.#others = runs.filter((one) => one.id !== this.#run && one.command !== "run");
    this.#runs = new Map(runs.map((one) => [one.id, one]));
    this.content.hidden = lines.length === 0;
    this.#offer();
    await this.#compare();
    this.#fill();
  }

  // ------------------------------------------------------------------------------------ controls

  #offer() {
    const { chosen } = this, counted = (key) => Map.groupBy(this.#lines, (line) => line[key]);
    const choice = (key, title, options, least = 2) => {
      if (options.length < least && !chosen[key]) return null;
      const known = options.some(([value]) => value === chosen[key]) || !chosen[key];
      if (!known) options.push([chosen[key], chosen[key]]);
      return h("label", {}, `${title} `, h("select", { id: `by-${key}`, change: (event) => this.#choose(key, event.target.value) },
        h("option", { value: "" }, key === "against" ? "no other run" : "all"),
        options.map(([value, text]) => h("option", { value, selected: value === chosen[key] }, text))));
    };
    const of = (key) => [...counted(key)].filter(([value]) => value).map(([value, own]) => [value, `${value} (${count(own.length)})`]);
    const outcomes = Object.entries(OUTCOMES).map(([value, [, word]]) =>
      [value, `${word} (${count(counted("outcome").get(value)?.length ?? 0)})`]);
    const others = this.#others.map((run) => [run.id, run.name]);
    if (!this.query) {
      this.query = h("input", { type: "search", id: "by-name", value: chosen.name, maxlength: "200", autocomplete: "off", spellcheck: "false",
        input: (event) => this.#choose("name", event.target.value) });
      this.nameLabel = h("label", {}, "Name ", this.query);
      fill(this.controls, this.nameLabel, this.choices = h("div", { class: "filters" }));
    }
    refill(this.choices, choice("outcome", "Outcome", outcomes), choice("set", "Set", of("set")), choice("part", "Part", of("group")),
      choice("against", "Compared with", others, 1),
      chosen.against && choice("change", "Difference", Object.entries(CHANGES)));
  }

  async #choose(key, value) {
    this.chosen[key] = value;
    if (key === "against" && !value) this.chosen.change = "";
    this.#rows = AT_ONCE;
    const query = new URLSearchParams(Object.entries(this.chosen).filter(([, one]) => one));
    history.replaceState(null, "", `#/run/${this.#run}${query.size ? `?${query}` : ""}`);
    if (key === "against") {
      this.#offer();
      await this.#compare();
    }
    this.#fill();
  }

  /** What the other run says, by the theorem's name. */
  async #compare() {
    const { against } = this.chosen;
    this.problem = "";
    if (!against) {
      this.#there = null;
      return;
    }
    try {
      const { lines } = await ask(`/api/runs/${against}/theorems`, {}, this.#signal);
      if (against === this.chosen.against) this.#there = new Map(lines.map((line) => [line.name, line]));
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#there = null;
      this.problem = `the other run cannot be read: ${error.message}`;
    }
  }

  // ---------------------------------------------------------------------------------------- rows

  #change(line) {
    const other = this.#there.get(line.name);
    if (!other) return "absent";
    if (line.outcome === "error" || other.outcome === "error") return "undecided";
    if (line.outcome !== other.outcome) return line.outcome === "proved" ? "new" : "lost";
    if (line.outcome !== "proved" || line.nodes === other.nodes) return "same";
    return line.nodes < other.nodes ? "cheaper" : "dearer";
  }

  #name(id) {
    return this.#runs.get(id)?.name ?? "";
  }

  #wanted(line) {
    const { name, outcome, set, part, change } = this.chosen;
    return (!name || line.name.toLowerCase().includes(name.toLowerCase())) && (!outcome || line.outcome === outcome) &&
      (!set || line.set === set) && (!part || line.group === part) &&
      (!change || !this.#there || this.#change(line) === change);
  }

  #fill() {
    const found = this.#lines.filter((line) => this.#wanted(line));
    const proved = found.filter((line) => line.outcome === "proved").length;
    const told = [found.length < this.#lines.length ? `${count(found.length)} of ${several(this.#lines.length, "theorem")}` :
      several(found.length, "theorem"), `${count(proved)} proved`];
    if (this.#there) {
      const here = new Set(this.#lines.map((line) => line.name));
      const changes = Object.groupBy(this.#lines, (line) => this.#change(line));
      told.push(...Object.entries(CHANGES).filter(([key]) => changes[key]).map(([key, text]) => `${count(changes[key].length)} ${text}`));
      const only = [...this.#there.keys()].filter((name) => !here.has(name)).length;
      if (only) told.push(`${count(only)} in that run only`);
      const sets = new Set([...this.#lines.map((line) => line.run), this.chosen.against].map((id) => this.#runs.get(id)?.checksum));
      if (sets.size > 1) told.push("the theorem sets differ, so theorems are matched by name");
      const [mine, yours] = [this.#run, this.chosen.against].map((id) => this.#runs.get(id)?.nodes);
      if (mine !== yours && [mine, yours].every(Number.isInteger)) told.push(`at most ${count(mine)} nodes here, ${count(yours)} there`);
    }
    if (this.problem) told.push(this.problem);
    const text = told.join("; ");
    if (this.told.textContent !== text) fill(this.told, text);
    const more = h("button", { type: "button", click: () => {
      const from = this.#rows;
      this.#rows += AT_ONCE;
      this.#fill();
      this.place.querySelectorAll("tbody tr")[from]?.querySelector("a")?.focus();
    } }, "Show more");
    refill(this.place, this.#table(found.slice(0, this.#rows)), found.length > this.#rows && more);
  }

  #table(lines) {
    const some = (key) => this.#lines.some((line) => line[key]);
    const parts = some("group"), runs = this.#lines.some((line) => line.run !== this.#run);
    const there = this.#there && this.#name(this.chosen.against);
    const columns = [["Theorem", ""], ["Outcome", ""], there && [`In ${there}`, ""], ["Nodes", "n"], there && ["Nodes there", "n"],
      ["Tactics", "n"], ["Time", "n"], ["Steps of the proof", "n"], parts && ["Part", ""], runs && ["Run", ""]].filter(Boolean);
    const name = (line) => line.attempt === null
      ? h("bdi", { title: "no attempt at it was kept" }, line.name)
      : h("a", { href: `#/run/${line.run}/theorem/${line.id}` }, h("bdi", {}, line.name));
    const other = (line) => {
      const one = this.#there.get(line.name), change = one && this.#change(line);
      if (!one) return "–";
      return [outcomeMark(one.outcome, one.reason), change in CHANGES && h("small", {}, ` ${CHANGES[change]}`),
        line.attempt !== null && one.attempt !== null && [" ", h("a", { href: besideLink(line.run, line.id, one.run) }, "both trees")]];
    };
    return table("Theorems", columns, lines.map((line) => h("tr", {},
      h("th", { scope: "row" }, name(line)),
      h("td", {}, outcomeMark(line.outcome, line.reason),
        line.attempts > 1 && h("small", {}, ` in ${line.successes} of ${line.attempts} attempts`)),
      there && h("td", {}, other(line)),
      h("td", { class: "n" }, count(line.nodes)),
      there && h("td", { class: "n" }, count(this.#there.get(line.name)?.nodes)), h("td", { class: "n" }, count(line.steps)),
      h("td", { class: "n" }, seconds(line.seconds)),
      h("td", { class: "n" }, line.proof_steps ? count(line.proof_steps) : "–"),
      parts && h("td", {}, h("bdi", {}, line.group)),
      runs && h("td", {}, h("bdi", {}, inside(this.#name(line.run), this.#name(this.#run)))))));
  }
}

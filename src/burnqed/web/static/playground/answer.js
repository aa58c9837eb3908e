// What came of a request. Only the judge's acceptance is called proved.

import { h, table } from "../dom.js";
import { count, seconds, several } from "../words.js";
import { leanBlock, leanText } from "./colours.js";

const OUTCOMES = {
  proved: ["proved", "✓", "proved"], not_found: ["exhausted", "–", "not found"],
  refuted: ["stop", "✗", "false"], failed: ["error", "!", "failed"],
};
const HOLES = {
  found: "tactics found", exhausted: "not found", false: "false", error: "error", skipped: "not searched",
};

export function described(answer) {
  const [kind, mark, word] = OUTCOMES[answer.outcome];
  return h("section", { "aria-label": "Outcome" },
    h("h2", {}, h("span", { class: `mark ${kind}` }, h("span", { "aria-hidden": "true" }, `${mark} `), word)),
    h("p", { class: "about" },
      answer.limit && h("span", {}, `the budget of ${answer.limit} ran out: nothing is known of the statement`),
      answer.nodes > 0 && h("span", {}, several(answer.nodes, "node")),
      answer.seconds > 0 && h("span", {}, `search ${seconds(answer.seconds)}${answer.judge_seconds ? `, judge ${seconds(answer.judge_seconds)}` : ""}`)),
    answer.outcome === "failed" && h("p", { class: "problem" }, answer.detail || answer.said),
    answer.outcome === "proved" && [leanBlock("Proof", answer.proof),
      h("p", { class: "note" }, axioms(answer), " The judge accepted this proof.")],
    answer.outcome === "refuted" && refuted(answer),
    answer.holes.length > 0 && holes(answer.holes),
    answer.outcome !== "proved" && answer.draft && leanBlock("Draft", answer.draft));
}

function refuted(answer) {
  const values = Object.entries(answer.counterexample ?? {}).map(([name, value]) => `${name} = ${value}`);
  return [
    values.length > 0 && h("p", {}, "It fails for ", h("code", { dir: "ltr" }, values.join(", ")), "."),
    answer.negation_proof && [leanBlock("Proof of the negation", answer.negation_proof),
      h("p", { class: "note" }, "The kernel accepted this proof.")],
  ];
}

function holes(found) {
  return [h("h2", {}, "Each sorry"),
    table("Each sorry", [["Line", "n"], ["In"], ["Goal", "wide"], ["Outcome"], ["Judge"]], found.map((one) => h("tr", {},
      h("th", { scope: "row", class: "n" }, count(one.line)), h("td", {}, h("bdi", {}, one.declaration ?? "")),
      h("td", {}, leanText(one.goal, "pre")),
      h("td", {}, HOLES[one.outcome], one.reason && h("small", {}, ` (${one.reason})`),
        one.tactics.map((tactic) => [h("br"), leanText(tactic)])),
      h("td", {}, one.accepted ? h("span", { class: "mark proved" }, h("span", { "aria-hidden": "true" }, "✓ "), "accepted")
        : one.verdict || "–"))))];
}

export function axioms({ axioms: all, axioms_seen: seen }) {
  const known = all ?? seen;
  return `${all === null ? "Axioms seen" : "Axioms"}: ${known.length ? known.join(", ") : "none"}.`;
}

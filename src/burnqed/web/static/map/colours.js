// What the dots of a map may be coloured by: for each state the number of its group.

const HUES = 7; // groups that have a colour of their own
const DEPTHS = [["1", 1], ["2", 2], ["3", 3], ["4 to 5", 5], ["6 and more", Infinity]];
const SHARES = [["less than 20%", 0.2], ["20% to 39%", 0.4], ["40% to 59%", 0.6], ["60% to 79%", 0.8], ["80% and more", Infinity]];

/** Each way has a title and makes groups of states: `of(states)` gives `names`, `group` by state, and a class by group. */
export const WAYS = {
  label: { title: "label", of: (states) => ({
    names: ["provable", "given up"], group: states.map((one) => (one.on_path ? 0 : 1)), look: (i) => `hue-${i}`,
  }) },
  depth: { title: "depth in the proof", of: (states) => ({
    names: DEPTHS.map(([name]) => name), group: states.map((one) => DEPTHS.findIndex(([, most]) => one.depth <= most)), look: (i) => `step-${i}`,
  }) },
  theorem: { title: "theorem", of: (states) => byTheorem(states) },
  drift: { title: "nearest states kept", of: (states) => ({
    names: SHARES.map(([name]) => name), group: states.map((one) => SHARES.findIndex(([, below]) => one.neighbours < below)), look: (i) => `step-${i}`,
  }) },
};

/** Theorems with the number of their states, those with most states first. */
export function theorems(states) {
  return [...Map.groupBy(states, (one) => one.theorem)].map(([name, own]) => [name, own.length])
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

function byTheorem(states) {
  const largest = theorems(states).slice(0, HUES).map(([name]) => name);
  const place = new Map(largest.map((name, i) => [name, i]));
  const group = states.map((one) => place.get(one.theorem) ?? HUES);
  return { names: group.includes(HUES) ? [...largest, "others"] : largest, group, look: (i) => `hue-${i}` };
}

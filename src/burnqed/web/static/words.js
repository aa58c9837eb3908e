// Numbers and times as people read them.

export const count = (value) => (value ?? null) === null ? "–" : value.toLocaleString("en");
export const several = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
export const percent = (rate) => `${(100 * rate).toFixed(1)}%`;

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  if (value < 0.00995) return `${(value * 1000).toFixed(1)} ms`;
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  const whole = Math.round(value), minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
  const two = (n) => String(n).padStart(2, "0");
  return hours ? `${hours} h ${two(minutes)} min` : `${minutes} min ${two(whole % 60)} s`;
}

export const decimal = (value, digits = 2) => (value ?? null) === null ? "–" : value.toFixed(digits);

export function ago(time) {
  if (!time) return "–";
  const passed = Math.max(0, Date.now() / 1000 - time);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  return new Date(time * 1000).toISOString().slice(0, 10);
}

export const COMMANDS = {
  search: "search", eval: "evaluation", negatives: "hard negatives", run: "expert iteration",
};

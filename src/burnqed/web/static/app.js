// The page: one view at a time, chosen by what follows # in the address.

import { besideView } from "./beside.js";
import { fill, h, say, visible } from "./dom.js";
import { lookView } from "./look.js";
import { runsView } from "./runs.js";
import { runView } from "./run.js";
import { theoremView } from "./theorem.js";

const VIEWS = [
  [/^$/, runsView],
  [/^run\/([0-9a-f]{16})$/, runView],
  [/^run\/([0-9a-f]{16})\/theorem\/([0-9a-f]{16})(?:\/attempt\/(\d{1,6}))?$/, theoremView],
  [/^run\/([0-9a-f]{16})\/theorem\/([0-9a-f]{16})\/beside\/([0-9a-f]{16})$/, besideView],
  [/^look\/([0-9a-f]{16})$/, lookView],
];

const place = document.getElementById("view");
let leave = new AbortController();

/** A view gets what the address names, what follows ? in it, and a signal that it is no longer wanted. */
async function show() {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const [wanted, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  place.setAttribute("aria-busy", "true");
  let made;
  try {
    const [pattern, view] = VIEWS.find(([one]) => one.test(wanted)) ?? [/^.*$/, nothing];
    made = await view(...pattern.exec(wanted).slice(1), { query: new URLSearchParams(query), signal });
  } catch (error) {
    if (signal.aborted) return;
    made = { title: "Error", trail: [], content: [problem(error)] };
  }
  if (signal.aborted) return;
  document.title = made.title === "burn-qed" ? "burn-qed" : `${visible(made.title)} · burn-qed`;
  const trail = [["burn-qed", "#/"], ...made.trail];
  fill(document.getElementById("trail"), trail.map(([title, link], i) =>
    h("li", {}, h("a", { href: link, "aria-current": i === trail.length - 1 ? "page" : null }, title))));
  fill(place, made.content);
  place.removeAttribute("aria-busy");
  made.shown?.();
  say(`${document.title}, loaded`);
}

function problem(error) {
  return h("div", { class: "problem", role: "alert" },
    h("h1", {}, "This cannot be shown"), h("p", {}, error.message), error.hint && h("p", {}, `Fix: ${error.hint}`));
}

async function nothing() {
  throw new Error("there is no such page");
}

addEventListener("hashchange", async () => {
  await show();
  scrollTo(0, 0);
  place.focus({ preventScroll: true });
});
show();

"""Is a large search tree smooth in the browser? First paint, and the longest task of what one does.

    python bench/web.py [--states N] [--rounds N] [--json]

Makes a search of so many states (by default 5,000; three tactics tried at each, one or two of them
refused), shows it with the page's own server, and drives Chromium: opens the theorem, unfolds and shows
everything, drags, zooms, walks, searches, and lets it grow. A task is what the browser does without
looking at the user in between; it tells of those over 50 ms. Of several rounds each figure is the
median. Needs Chromium: apt-get install chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from burnqed.core.files import publish_json
from burnqed.core.runs import MANIFEST, SUMMARY
from burnqed.trajectories.schema import TRAJECTORIES, StepRow, TheoremRecord
from burnqed.trajectories.store import open_writer
from burnqed.web.runs import id_of
from burnqed.web.server import WebServer
from burnqed.web.theorems import theorem_id

NAME = "large"
SETTLE_MS = 400  # after each thing that is done
# Collects what the browser tells of long tasks, and notes when the tree is first on the screen.
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: "longtask", buffered: true });
const look = new MutationObserver(() => {
  if (!document.querySelector("canvas")) return;
  look.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
});
look.observe(document, { childList: true, subtree: true });
"""
PAINTED = """new Promise((told) => {
  const look = () => (window.painted ? told(painted) : setTimeout(look, 20));
  look();
})"""
# What it must tell of.
BUSY = """setTimeout(() => {
  const end = performance.now() + 100;
  while (performance.now() < end);
})"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--states", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    path = next((p for name in ("chromium", "google-chrome") if (p := shutil.which(name))), None)
    if path is None:
        print("no Chromium on this machine: apt-get install chromium", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        write_run(run, asked.states)
        with WebServer(run) as server, sync_playwright() as playwright:
            # As root, which containers often are, Chromium has no sandbox of its own.
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            rounds = [measured(browser, server.url) for _ in range(asked.rounds)]
            version = browser.version
            browser.close()
    figures = {what: statistics.median(one[what] for one in rounds) for what in rounds[0]}
    if asked.json:
        print(json.dumps({"states": asked.states, "rounds": asked.rounds, "milliseconds": figures}))
        return 0
    print(f"{asked.states} states, {asked.rounds} rounds, Chromium {version}, in milliseconds")
    for what, value in figures.items():
        print(f"{what:<40}{f'{value:.0f}' if value else 'under 50':>10}")
    return 0


# -------------------------------------------------------------------------------- what is shown


def write_run(run: Path, states: int) -> None:
    publish_json(run / MANIFEST, {"command": "search", "theorems": "made up"})
    rows = list(steps(states))
    record = TheoremRecord(
        theorem=NAME, outcome="exhausted", reason="nodes", detail="", nodes=states, steps=len(rows),
        expansions=states, candidates_min=3, candidates_max=3, candidates_total=len(rows),
        seconds=states / 10, lean_seconds=states / 20, judge_seconds=0.0, proof="", proof_steps=0,
        axioms=None, axioms_seen=(), leak_rule=None, seed=0, statement_sha="0" * 16,
    )  # fmt: skip
    with open_writer(run / TRAJECTORIES) as writer:
        writer.add(record, rows)
    publish_json(run / SUMMARY, {})


def steps(states: int) -> Iterator[StepRow]:
    """A bushy tree: most states lead to two, some tactics need both of them."""
    for node in range(states):
        after = tuple(n for n in (2 * node + 1, 2 * node + 2) if n < states)
        depth = (node + 1).bit_length() - 1
        target = f"{node} + (a + b) * c ≤ {node + 1} * (c + b * a) + {node}"
        goal = f"a b c : Nat\nh : a + {node} ≤ b * c\n⊢ {target}"
        splits = node % 3 == 0
        worked = [("constructor", after)] if splits else [(f"rw [lemma_{n}]", (n,)) for n in after]
        refused = [(f"exact lemma_{node}_{k} h", ()) for k in range(3 - len(worked))]
        for tactic, children in [*worked, *refused]:
            yield StepRow(
                run=NAME, theorem=NAME, node=node, parent=(node - 1) // 2 if node else None,
                children=children, depth=depth, state=goal, root_goal=goal, tactic=tactic,
                logprob=-1.5, energy=0.25 * depth, score=-0.5 * depth,
                outcome="advanced" if children else "rejected",
                error="" if children else f"tactic: unknown identifier in '{tactic}'",
                label="unknown", on_proof_path=False, remaining_steps=None, origin="search",
                temperature=1.0, iteration=0, seconds=node / 10,
            )  # fmt: skip


# --------------------------------------------------------------------------------- what is done


def measured(browser: Browser, url: str) -> dict[str, float]:
    """Milliseconds by what was done: of the longest task, 0 if the browser told of none."""
    with browser.new_context(viewport={"width": 1280, "height": 900}, base_url=url) as context:
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.add_init_script(WATCH)
        page.goto(f"/#/run/{id_of(Path())}/theorem/{theorem_id(NAME)}")
        figures = {"from the address to the painted tree": float(page.evaluate(PAINTED))}
        page.wait_for_timeout(SETTLE_MS)
        figures["longest task: opening"] = longest(page)
        for what, act in ACTIONS.items():
            act(page)
            page.wait_for_timeout(SETTLE_MS)
            figures[f"longest task: {what}"] = longest(page)
        page.evaluate(BUSY)
        page.wait_for_timeout(SETTLE_MS)
        assert longest(page) >= 100, "the browser tells of no tasks"
    return figures


def longest(page: Page) -> float:
    """Since it was asked last."""
    return float(page.evaluate("Math.max(0, ...tasks.splice(0))"))


def drag(page: Page) -> None:
    box = page.locator("canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(x - 6 * step, y - 4 * step)
    page.mouse.up()


def zoom(page: Page) -> None:
    for step in range(30):
        page.mouse.wheel(0, -100 if step < 15 else 100)
        page.wait_for_timeout(20)


def walk(page: Page) -> None:
    page.get_by_role("tree").focus()
    for key in ["ArrowDown"] * 30 + ["ArrowLeft", "ArrowRight", "End", "Home"]:
        page.keyboard.press(key)


def find(page: Page) -> None:
    page.get_by_role("searchbox", name="Find").fill("lemma_4321")
    page.keyboard.press("Enter")
    page.locator("form output", has_text="1 of ").wait_for()


def grow(page: Page) -> None:
    page.get_by_role("button", name="Watch it grow").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Watch it grow").wait_for()


ACTIONS: dict[str, Callable[[Page], None]] = {
    "unfolding everything": lambda page: page.get_by_role("button", name="Unfold").click(),
    "showing all of it": lambda page: page.get_by_role("button", name="Show all").click(),
    "dragging": drag,
    "zooming": zoom,
    "walking by keyboard": walk,
    "searching in it": find,
    "watching it grow": grow,
}

if __name__ == "__main__":
    sys.exit(main())

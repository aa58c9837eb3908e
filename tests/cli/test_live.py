"""What is seen while a search runs: by events, without a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from burnqed.cli.live import SearchView
from burnqed.core.types import Goal, ProofState, Proposition, Theorem
from burnqed.lean.fake import FakeEnvironment
from burnqed.search.best_first import best_first
from burnqed.search.budget import Budget, Meter
from burnqed.search.events import Doing, Event, Started
from burnqed.search.keys import key_of
from burnqed.search.tree import Tree
from tests.search.problems import every_tactic
from tests.search.test_best_first import SPLIT


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(view: SearchView) -> str:
    out = Console(file=io.StringIO(), width=100)
    out.print(view.drawn())
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_it_says_what_is_done_before_the_search() -> None:
    clock = Clock()
    view = SearchView(clock=clock)
    view(Doing("t", "starting Lean"))
    clock.now = 3.0
    assert "starting Lean, 3 s" in drawn(view)
    view(Doing("t", "done"))
    assert drawn(view).strip() == ""


def test_loading_takes_time_as_well() -> None:
    clock = Clock()
    view = SearchView(quiet=True, clock=clock)
    with view.loading():
        clock.now = 2.0
    clock.now = 5.0
    assert view.times.activities == {"loading rules and lemmas": 2.0}


async def test_it_shows_the_goal_and_the_tactics_in_hand() -> None:
    view = SearchView()
    seen: list[str] = []

    def sink(event: Event) -> None:
        view(event)
        if isinstance(event, Doing) and event.activity == "trying tactics":
            seen.append(drawn(view))
            assert event.node is not None
            assert all(tactic in seen[-1] for tactic in event.tactics)
            assert event.node.text in seen[-1]

    await best_first(
        Theorem("t", Proposition("root")), FakeEnvironment(SPLIT), every_tactic(SPLIT), None,
        Budget(nodes=50, candidates=9, seconds=600), events=sink,
    )  # fmt: skip
    assert "t: 0 of 600 s, 1/50 nodes, 1 states" in seen[0]
    assert "trying tactics" in seen[0]


def test_a_long_tactic_takes_one_line() -> None:
    view = SearchView()
    view(Doing("t", "trying tactics", None, ["simp [" + "a, " * 100 + "b]\n  at h"]))
    assert len(drawn(view).splitlines()) == 3, "before a search, what is done is all that is said"
    view(Started(Theorem("t", Proposition("root")), _tree(), Meter(Budget())))
    lines = drawn(view).splitlines()
    assert len(lines) == 6
    assert "a, a, a" in lines[4]
    assert "…" in lines[4]


def _tree() -> Tree:
    tree = Tree()
    goals = (Goal("g", "root"),)
    tree.add_node(ProofState(0, goals), (0,), key_of(goals), None, 0.0, 0.0)
    return tree

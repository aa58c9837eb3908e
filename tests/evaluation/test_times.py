"""Where the time goes: by a clock that the test sets."""

from __future__ import annotations

import pytest

from burnqed.core.errors import LeanDied
from burnqed.core.types import Cost, Proposition, Rejected, Theorem, TimedOut
from burnqed.evaluation.times import Kind, Times, kind_of
from burnqed.lean.fake import FakeEnvironment
from burnqed.search.best_first import best_first
from burnqed.search.budget import Budget
from burnqed.search.events import Activity, Doing, Tried
from tests.search.problems import every_tactic
from tests.search.test_best_first import SPLIT


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_an_activity_lasts_until_the_next_one_of_the_theorem() -> None:
    clock = Clock()
    times = Times(clock)
    told: list[tuple[float, str, Activity]] = [
        (100.0, "a", "starting Lean"), (101.0, "b", "starting Lean"), (103.0, "a", "trying tactics"),
        (104.0, "b", "judging the proof"), (108.0, "a", "done"), (109.0, "a", "trying tactics"),
    ]  # fmt: skip
    for clock.now, name, activity in told:
        times(Doing(name, activity))
    clock.now = 110.0
    assert times.activities == {"trying tactics": 6.0, "starting Lean": 6.0, "judging the proof": 6.0}
    times(Doing("a", "done"))
    times(Doing("b", "done"))
    clock.now = 200.0
    assert sum(times.activities.values()) == 18.0, "what is done takes no more time"


def test_tactics_are_told_by_their_kind() -> None:
    """What Lean says that they took; a lost one is counted, and nothing is known of its time."""
    times = Times(Clock())
    rejected = Rejected("no", "tactic", Cost(0.5))
    times(Tried("a", ("simp [h]", "omega"), (rejected, TimedOut(2.0, True, Cost(2.0)))))
    times(Tried("a", ("simp at h ⊢", "decide", "· simp"), (rejected, LeanDied("gone"), rejected)))
    assert times.kinds == [Kind("omega", 1, 2.0), Kind("simp", 3, 1.5), Kind("decide", 1, 0.0)]


@pytest.mark.parametrize(
    ("tactic", "kind"),
    [("exact?", "exact?"), ("intro h; omega", "intro"), ("·  rfl", "rfl"), ("{ }", "{"), ("", "")],
)
def test_the_kind_of_a_tactic_is_its_first_word(tactic: str, kind: str) -> None:
    assert kind_of(tactic) == kind


async def test_a_search_tells_each_tactic_once() -> None:
    """As many as its edges: none of these is replaced by what it suggests."""
    times = Times()
    searched = await best_first(
        Theorem("t", Proposition("root")), FakeEnvironment(SPLIT), every_tactic(SPLIT), None,
        Budget(nodes=50, candidates=9), events=times,
    )  # fmt: skip
    edges = [edge for node in searched.tree.nodes for edge in node.edges]
    assert sum(kind.tried for kind in times.kinds) == len(edges) > 0
    assert set(times.activities) == {"choosing tactics", "trying tactics"}

"""What is said of a search is what it did: in its order, with the numbers that decided."""

from __future__ import annotations

from burnqed.core.types import Rejected, TimedOut
from burnqed.lean.fake import Script
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.search.explanation import Choice, choices
from burnqed.search.scoring import Scoring, score
from tests.search.problems import BySize, ScriptedPolicy, search

SCRIPT: Script = {
    "root": {
        "long": ("a very long goal",), "both": ("one", "another"), "no": Rejected("no", "tactic"),
        "slow": TimedOut(1.0, deterministic=True),
    },
    "one": {"close": (), "on": ("odd",)},
    "another": {},
}  # fmt: skip
SAID = {"long": -0.1, "both": -1.0, "no": -2.0, "slow": -3.0}
WEIGHED = Scoring(policy_weight=0.5, energy_weight=1.0)


async def explained(nodes: int, value: BySize | None = None) -> list[Choice]:
    policy = ScriptedPolicy({"root": SAID, "another": {}}, {"close": -0.5, "on": -0.7})
    settings = Settings(scoring=WEIGHED if value else Scoring())
    budget = Budget(nodes=nodes, candidates=9)
    searched, _ = await search(SCRIPT, "root", policy, budget, settings, value=value)
    return choices(searched.tree)


async def test_the_best_score_is_expanded_next() -> None:
    first, second, third = await explained(3, BySize())
    assert [choice.order for choice in (first, second, third)] == [1, 2, 3]
    assert (first.state, second.state, third.state) == ("⊢ root", "⊢ one", "⊢ another")
    assert [(one.tactic, one.states, one.energy) for one in first.led] == [
        ("both", 2, 3.0), ("both", 2, 7.0), ("long", 1, 16.0),
    ]  # fmt: skip
    assert [one.status for one in first.led] == ["proved", "failed", "open"]
    assert first.others == {"rejected": 1, "timeout": 1}
    for one in first.led:
        assert one.path_logprob is not None
        assert one.path_length == 1
        assert one.score == score(WEIGHED, one.path_logprob, 1, one.energy)


async def test_a_closed_goal_comes_first_and_has_no_figures() -> None:
    _, second = await explained(2, BySize())
    close, on = second.led
    assert (close.tactic, close.logprob, close.states, close.node) == ("close", -0.5, 0, None)
    assert (close.energy, close.score, close.status) == (None, None, "proved")
    assert (on.tactic, on.energy, on.path_logprob, on.path_length) == ("on", 3.0, -1.7, 2)


async def test_without_a_value_model_there_is_no_energy() -> None:
    first, second = await explained(2)
    assert second.state == "⊢ a very long goal"
    assert [one.energy for one in first.led] == [None, None, None]
    assert [one.score for one in first.led] == [-0.1, -1.0, -1.0]


async def test_a_state_without_tactics_has_its_place_in_the_order() -> None:
    """No tactic says when it was expanded."""
    _, _, third = await explained(3, BySize())
    assert (third.state, third.led, third.others, third.status) == ("⊢ another", (), {}, "failed")

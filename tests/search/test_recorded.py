"""Where a proof has the state, its tactic and nothing else; the policy's word on it is kept."""

from __future__ import annotations

import pytest

from burnqed.core.types import Candidate, Goal, Hypothesis, Proposition, Theorem
from burnqed.search.recorded import Recorded, RecordedProof
from tests.search.problems import ScriptedPolicy

HERE, THERE = Goal("g", "here"), Goal("h", "there")
FREE = [Candidate("a", -1.0), Candidate("b", -2.0), Candidate("c", -4.0)]


def policy(proof: RecordedProof) -> Recorded:
    free = ScriptedPolicy({}, {c.tactic: c.logprob for c in FREE})
    return Recorded(free, {"t": proof}).about(Theorem("t", Proposition("1 = 1")))


async def test_recorded_states_have_their_tactics_and_the_others_the_policys() -> None:
    proof = RecordedProof([(["⊢ here"], "b"), (["⊢ there"], "mine")])
    states = [[HERE], [THERE], [Goal("g", "elsewhere")]]
    found = await policy(proof).propose(states, 8, 0.0, 0)
    assert found == [[Candidate("b", -2.0)], [Candidate("mine", -2.0)], FREE]
    other = policy(proof).about(Theorem("u", Proposition("1 = 1")))
    assert await other.propose([[HERE]], 8, 0.0, 0) == [FREE]


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ([(["⊢ here", "⊢ there"], "x")], ["x"]),  # the search works on them one by one
        ([(["⊢ there", "⊢ here"], "case' tag => skip"), (["⊢ here"], "x")], ["x"]),
        ([(["⊢ there", "⊢ here"], "case' tag => skip")], ["case' tag => skip"]),
        ([(["⊢ here", "⊢ there"], "x"), (["⊢ here", "⊢ more"], "y")], ["x", "y"]),
    ],
)
def test_a_goal_is_found_where_it_stood_with_others(
    recorded: list[tuple[list[str], str]], told: list[str]
) -> None:
    assert RecordedProof(recorded).at([HERE]) == told


def test_a_statement_is_opened_as_the_record_begins() -> None:
    proof = RecordedProof([(["n : Nat\n⊢ n = n"], "rfl")], ["n"])
    assert proof.at([Goal("g", "∀ n : Nat, n = n")]) == ["intro n"]
    assert proof.at([Goal("g", "n = n", (Hypothesis("n", "Nat"),))]) == ["rfl"]
    assert proof.at([Goal("g", "m = m", (Hypothesis("m", "Nat"),))]) == []

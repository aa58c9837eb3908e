"""Proofs as text: bullets, alternatives, and goals that are coupled."""

from __future__ import annotations

import pytest

from burnqed.core.types import Advanced, Closed, Goal, Proposition, Theorem
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.search.script import Script, tactics_of
from burnqed.search.split import independent


def leaf(tactic: str) -> Script:
    return Script(tactic)


def test_a_chain_has_no_bullets() -> None:
    chain = Script("intro h", ((0,),), (Script("simp", ((0,),), (leaf("omega"),)),))
    assert tactics_of(chain) == ["intro h", "simp", "omega"]
    assert chain.steps == 3


def test_branches_are_bullets() -> None:
    second = Script("intro x", ((0,),), (leaf("omega"),))
    proof = Script("constructor", ((0,), (1,)), (leaf("rfl"), second))
    assert tactics_of(proof) == ["constructor", "· rfl", "· intro x\n  omega"]


def test_alternatives_are_filled_in() -> None:
    step = "induction n with\n| zero => ?_\n| succ n ih => ?_"
    proof = Script(step, ((0,), (1,)), (leaf("rfl"), Script("simp", ((0,),), (leaf("omega"),))))
    assert tactics_of(proof) == ["induction n with\n| zero => rfl\n| succ n ih =>\n  simp\n  omega"]


def test_coupled_goals_wait_behind_the_others_in_their_order() -> None:
    # Goals 0 and 2 share a metavariable; 1 and 3 are on their own.
    proof = Script("t", ((0, 2), (1,), (3,)), (leaf("both"), leaf("one"), leaf("three")))
    assert tactics_of(proof) == ["t", "rotate_left", "· one", "rotate_left", "· three", "both"]
    last = Script("t", ((0,), (1, 2)), (leaf("one"), leaf("both")))
    assert tactics_of(last) == ["t", "· one", "both"]


def test_goals_with_a_common_metavariable_stay_together() -> None:
    free, witness = Goal("a", "p", holes=()), Goal("w", "Nat", holes=())
    about = Goal("b", "q ?w", holes=("w",))
    assert independent([free, about, witness]) == ((0,), (1, 2))
    assert independent([free, free]) == ((0,), (1,))
    assert independent([Goal("a", "p"), Goal("b", "q")]) == ((0, 1),), "Lean did not say"


@pytest.mark.lean
async def test_coupled_goals_in_lean(lean_pool: Pool) -> None:
    """What is proved apart in the session is a proof when written in one block."""
    statement = Proposition("(∃ n : Nat, n = 3) ∧ True")
    step = "apply And.intro (Exists.intro ?w ?h) ?t"
    async with open_session(lean_pool) as session:
        root = await session.start(Theorem("t", statement))
        after = await session.apply(root, step)
        assert isinstance(after, Advanced)
        parts = independent(after.state.goals)
        assert sorted(map(len, parts)) == [1, 2]
        tactics = {1: "exact True.intro", 2: "case' h => exact rfl"}
        for part in parts:
            outcome = await session.apply(after.state, tactics[len(part)], part)
            assert isinstance(outcome, Closed), outcome
    proofs = tuple(leaf(tactics[len(part)]) for part in parts)
    text = tactics_of(Script(step, parts, proofs))
    verdict = await judge_proof(lean_pool, statement, text)
    assert verdict.accepted, (text, verdict.reason)

"""Steps on some of a state's goals, in Lean: what they see, what they leave, what is refused."""

from collections.abc import Sequence

import pytest

from burnqed.core.errors import LeanLost
from burnqed.core.types import (
    Advanced,
    Closed,
    ProofState,
    Proposition,
    Rejected,
    Theorem,
    TheoremText,
    TimedOut,
)
from burnqed.lean import protocol, requests
from burnqed.lean.pool import Pool
from burnqed.lean.session import Session, open_session
from tests.lean.lines import request_line

pytestmark = pytest.mark.lean

THREE = Theorem("t", Proposition("∀ (p q : Prop) (n : Nat), p → q → p ∧ q ∧ ∃ k, k = n"))


async def step(
    session: Session, state: ProofState, tactic: str, goals: Sequence[int] | None = None
) -> ProofState:
    outcome = await session.apply(state, tactic, goals)
    assert isinstance(outcome, Advanced | Closed), outcome
    return outcome.state


async def three_goals(session: Session) -> ProofState:
    state = await session.start(THREE)
    return await step(session, state, "intro p q n hp hq; refine ⟨?_, ?_, ?_⟩")


def targets(state: ProofState) -> list[str]:
    return [goal.target for goal in state.goals]


async def test_each_tactic_of_a_batch_has_its_own_cost(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition("∀ n : Nat, n < 40 → n * n < 1601")))
        tactics = ["decide", "intro n", "simp at nothing", "not a tactic at all ((", "exact 5"]
        before = session.lean_seconds
        results = await session.apply_batch(state, tactics)
        costs = [None if isinstance(result, LeanLost) else result.cost for result in results]
        assert all(cost is not None and cost.seconds > 0 for cost in costs), results
        decide, *others = (cost for cost in costs if cost is not None)
        assert decide.seconds > max(cost.seconds for cost in others), "not that of all together"
        assert (decide.heartbeats or 0) > max(cost.heartbeats or 0 for cost in others)
        assert [cost.heartbeats is None for cost in others] == [False, False, True, False]
        total = decide.seconds + sum(cost.seconds for cost in others)
        assert session.lean_seconds - before == pytest.approx(total)
        alone = await session.apply(state, "intro n")
        assert isinstance(alone, Advanced)
        assert alone.cost is not None


async def test_each_goal_in_a_line_of_its_own(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await three_goals(session)
        assert targets(state) == ["p", "q", "∃ k, k = n"]
        for goal, tactic in ((0, "exact hp"), (1, "exact hq"), (2, "exact ⟨n, rfl⟩")):
            outcome = await session.apply(state, tactic, [goal])
            # Closed, though the rest of the proof is open.
            assert isinstance(outcome, Closed), outcome
        line = await step(session, state, "have h := hq", [1])
        assert targets(line) == ["q"]
        two = await step(session, line, "have k : p := hp; refine (And.intro ?_ ?_ : q ∧ p).1", [0])
        assert targets(two) == ["q", "p"]
        assert isinstance(await session.apply(two, "exact k", [1]), Closed)
        assert isinstance(await session.apply(two, "exact h", [0]), Closed)
        assert targets(await step(session, two, "exact h")) == ["p"]


async def test_a_step_sees_the_goals_it_is_given_in_their_order(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await three_goals(session)
        assert targets(await step(session, state, "skip", [2, 0])) == ["∃ k, k = n", "p"]
        assert isinstance(await session.apply(state, "all_goals assumption", [1, 0]), Closed)
        assert isinstance(await session.apply(state, "all_goals assumption"), Rejected)
        assert targets(await step(session, state, "rotate_left", [0, 1])) == ["q", "p"]


async def test_the_lines_together_are_a_proof(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await three_goals(session)
        for tactic in ("exact hp", "exact hq", "exact ⟨n, rfl⟩"):
            state = await step(session, state, tactic)
        assert (await session.certify(state)).ok
        alone = await step(session, await three_goals(session), "exact hq", [1])
        certificate = await session.certify(alone)
        assert not certificate.ok
        assert "metavariables" in certificate.desc


async def test_holes(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await three_goals(session)
        assert [goal.holes for goal in state.goals] == [(), (), ()]
        split = await step(session, state, "apply Exists.intro", [2])
        equation, witness = split.goals
        assert (equation.target, witness.target) == ("?refine_3.w = n", "Nat")
        assert equation.holes == (witness.name,)
        assert witness.holes == ()
        chain = await step(session, split, "apply Eq.trans; apply Eq.trans")
        named = {hole for goal in chain.goals for hole in goal.holes or ()}
        # Whatever is open in a goal is a goal itself, so that who shares one is seen to.
        assert witness.name in named
        assert named <= {goal.name for goal in chain.goals}
        # Below a binder there is a delayed assignment between the hole and its goal.
        below = await step(session, split, "have : ∀ x : Nat, x = x := by intro x; rfl")
        assert below.goals[0].holes == (witness.name,)


async def test_a_hypothesis_and_a_let_with_holes(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition("∀ f : Nat → Nat, ∃ k, f k = f 0")))
        split = await step(session, state, "intro f; apply Exists.intro")
        witness = split.goals[1].name
        for tactic in (
            "have h := Eq.refl (f ?w); clear h; let m := ?w; skip",
            "have h : f ?w = f ?w := rfl",
        ):
            goal = (await step(session, split, tactic)).goals[0]
            assert goal.holes == (witness,)


async def test_what_waits_for_a_goal_left_out_is_refused(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition("(∀ k : Nat, k = k) → ∃ k : Nat, k = k")))
        split = await step(session, state, "intro h; apply Exists.intro")
        assert targets(split) == ["?w = ?w", "Nat"]
        alone = await session.apply(split, "exact h ?w", [0])
        assert isinstance(alone, Rejected)
        assert "metavariables" in alone.error
        assert targets(await step(session, split, "exact h ?w")) == ["Nat"]
        assert isinstance(await session.apply(split, "exact 1", [1]), Closed)


async def test_a_hole_that_is_no_goal_is_refused(lean_pool: Pool) -> None:
    """`let rec` leaves one for what is lifted out at the end of a theorem: it comes to nothing here."""
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition("∀ a b : Nat, a ≤ a + b")))
        state = await step(session, state, "intro a b")
        outcome = await session.apply(state, "let rec f : Nat → Nat := fun x => x")
        assert isinstance(outcome, Rejected)
        assert "metavariables" in outcome.error
        assert len((await step(session, state, "apply Nat.le_trans")).goals) == 3


async def test_a_budget_for_each_tactic(lean_pool: Pool) -> None:
    slow = "(intro n; (iterate 40 (have : n + 0 = n := by omega)); rfl)"
    goal = Theorem("t", Proposition("∀ n : Nat, n = n"))
    async with open_session(lean_pool, heartbeats=20) as session:
        state = await session.start(goal)
        results = await session.apply_batch(state, [slow, "intro n", slow, "intro n; rfl"])
        assert [type(result) for result in results] == [TimedOut, Advanced, TimedOut, Closed]
        assert isinstance(results[0], TimedOut)
        assert results[0].deterministic
        assert 0 < session.lean_seconds < 10
    async with open_session(lean_pool) as session:
        assert isinstance(await session.apply(await session.start(goal), slow), Closed)


async def test_the_kernel_has_the_same_budget(lean_pool: Pool) -> None:
    goal = Theorem("t", Proposition("∀ n : Nat, n < 400 → n * n < 160000"))
    small = Theorem("t", Proposition("∀ n : Nat, n < 20 → n * n < 400"))
    async with open_session(lean_pool) as session:
        state, other = await session.start(goal), await session.start(small)
        many = ["decide +kernel", "skip; decide +kernel", "decide +kernel; skip"]
        for outcome in await session.apply_batch(state, many, heartbeats=100):
            assert isinstance(outcome, TimedOut)
            assert outcome.deterministic
            assert outcome.cost is not None
            assert 100 <= (outcome.cost.heartbeats or 0) < 450, "it was stopped long before its end"
        # What this process did before is no part of it.
        again = await session.apply_batch(other, many[:2], heartbeats=100)
        assert [type(outcome) for outcome in again] == [Closed, Closed]
        assert isinstance(await session.apply(state, "decide +kernel"), Closed)


async def test_a_failure_is_told_without_traces(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", Proposition("∀ a b : Nat, a + b = a * b")))
        (outcome,) = await session.apply_batch(state, ["grind"])
        assert isinstance(outcome, Rejected)
        assert "`grind` failed" in outcome.error
        assert "⊢ False" in outcome.error
        assert "[grind]" not in outcome.error


async def test_a_theorem_with_binders(lean_pool: Pool) -> None:
    source = "theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry"
    async with open_session(lean_pool) as session:
        state = await session.start(Theorem("t", TheoremText(source)))
        assert [goal.holes for goal in state.goals] == [()]
        both = await step(session, state, "constructor")
        assert isinstance(await session.apply(both, "exact h.1", [1]), Closed)


async def test_the_commands_themselves(lean_pool: Pool) -> None:
    async with lean_pool.lease() as worker:
        start = await worker.request(protocol.start(Proposition("∀ p q : Prop, p → q → p ∧ q")))
        assert [goal["target"]["pp"] for goal in start["goals"]] == ["∀ (p q : Prop), p → q → p ∧ q"]
        split = requests.Batch(start["stateId"], ["intro p q hp hq; constructor"]).line
        state = (await worker.request(split))["results"][0]["nextStateId"]
        for strange in ([2], [0, 0], []):
            reply = await worker.request(requests.Batch(state, ["skip"], strange).line)
            assert reply["error"] == "index"
        # Pantograph's command asks about the whole proof, as it always did.
        line = requests.GoalTactic(state, 1, "exact hq", auto_resume=False).line
        assert (await worker.request(line))["rootHasMVar"] is True
        line = request_line("qed.batch", stateId=state, goalIds=[1], tactics=["exact hq"], print=False)
        (entry,) = (await worker.request(line))["results"]
        assert entry["nGoals"] == 0
        assert not {"goals", "rootHasMVar", "hasHoles"} & entry.keys()


async def test_terms_are_unified_as_in_a_file(lean_pool: Pool) -> None:
    """`?r ?a ?b` with `le x y`: Lean's commands take the first that fits, and so must a step."""
    total = "(∀ {r : Nat → Nat → Bool} {a b : Nat}, r a b = true)"
    async with open_session(lean_pool) as session:
        said = Proposition(f"∀ (le : Nat → Nat → Bool), {total} → ∀ x y, le x y = true")
        state = await session.start(Theorem("t", said))
        state = await step(session, state, "intro le total x y")
        assert isinstance(await session.apply(state, "exact total"), Closed)

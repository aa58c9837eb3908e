"""The leak rule in Lean: at each step of a search, and once more by the judge, with the same answer."""

from __future__ import annotations

from typing import Any

import pytest

from burnqed.core.types import (
    Advanced,
    Closed,
    LeakRule,
    LibraryConstant,
    ProofState,
    Rejected,
    StepOutcome,
    Theorem,
)
from burnqed.lean import protocol, requests
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.session import Session, open_session
from tests.lean.lines import request_line, stat

pytestmark = pytest.mark.lean
ADD = "Nat.add_comm"


async def start(session: Session, name: str, rule: LeakRule) -> ProofState:
    return await session.start(Theorem(name, LibraryConstant(name, rule)))


def leaks(outcome: StepOutcome) -> bool:
    assert isinstance(outcome, Advanced | Closed | Rejected), outcome
    return isinstance(outcome, Rejected) and outcome.kind == "leak"


@pytest.mark.parametrize(
    ("tactic", "itself", "module"),
    [
        ("exact Nat.add_comm", True, True),
        ("exact fun n m => _root_.Nat.add_comm n m", True, True),
        ("intro n m; rw [Nat.add_comm]", True, True),
        ("have h := Nat.add_comm", True, True),
        ("have h := @Nat.add_comm; clear h", True, True),
        ("have h : ∀ n m : Nat, n + m = m + n := by intro n m; simp [Nat.add_comm]", True, True),
        ("intro n m; omega", False, True),
        ("intro n m; grind", False, True),
        ("have h := Nat.add_assoc", False, True),
        ("have h : ∀ n : Nat, n.gcd n = n.gcd n := fun _ => rfl", False, True),
        ("intro n m; refine (match n, m with | 0, m => ?_ | n + 1, m => ?_)", False, False),
        ("intro n m", False, False),
        ("intro n m; induction n", False, False),
        ("intro n m; cases n <;> cases m", False, False),
        ("intro n; refine fun m => Eq.symm ?_", False, False),
        ("have h : ∀ p : Prop, p → p := fun p hp => hp", False, False),
    ],
)
async def test_a_step(lean_pool: Pool, tactic: str, itself: bool, module: bool) -> None:
    async with open_session(lean_pool) as session:
        for state, expected in (
            (await start(session, ADD, "self"), itself),
            (await start(session, ADD, "module"), module),
        ):
            outcome = await session.apply(state, tactic)
            assert leaks(outcome) == expected == isinstance(outcome, Rejected), outcome


@pytest.mark.parametrize(
    ("tactic", "leaked"),
    [
        ("intro n m h; omega", False),
        ("have d := fun n => Nat.decidableBallLT n (fun _ _ => True)", True),
        ("have h : ∀ k, k < 3 → k < 5 := by decide", True),
        ("have h : 3 < 5 := by decide", False),
    ],
)
async def test_what_is_seen_to_rest_on_it_is_not_used_either(
    lean_pool: Pool, tactic: str, leaked: bool
) -> None:
    """Of library proofs nothing is seen here; this instance is data, and its body has the theorem."""
    name = "Nat.lt_succ_of_lt"
    async with open_session(lean_pool) as session:
        outcome = await session.apply(await start(session, name, "self"), tactic)
    assert leaks(outcome) == leaked == isinstance(outcome, Rejected), outcome
    if leaked:
        assert isinstance(outcome, Rejected)
        assert "Nat.decidableBallLT" in outcome.error
        rest = [tactic, "intro n m h; omega"]
        verdict = await judge_proof(lean_pool, LibraryConstant(name, "self"), rest)
        assert "Nat.decidableBallLT" in verdict.reason


async def test_the_rule_goes_with_the_state(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        state = await start(session, ADD, "module")
        for tactic in ("intro n m", "induction n"):
            outcome = await session.apply(state, tactic)
            assert isinstance(outcome, Advanced)
            state = outcome.state
        results = await session.apply_batch(state, ["exact Nat.add_comm _ _", "skip", "omega"], [1])
        leaked, kept, later = results
        assert isinstance(leaked, Rejected)
        assert leaked.error.startswith("it uses Nat.add_comm, ")
        assert isinstance(kept, Advanced)
        assert isinstance(later, Rejected)
        assert (leaked.kind, later.kind) == ("leak", "leak")
        again = await session.apply(kept.state, "rw [Nat.add_comm]")
        assert leaks(again)


async def test_a_leak_leaves_no_state_and_says_what_it_cost(lean_pool: Pool) -> None:
    async with lean_pool.lease() as worker:
        goal = LibraryConstant(ADD)
        state = (await worker.request(protocol.start(goal)))["stateId"]
        before = await worker.request(stat())
        reply = await worker.request(requests.Batch(state, ["exact Nat.add_comm"]).line)
        (entry,) = reply["results"]
        assert entry["leak"] == ADD
        assert entry["messages"] == []
        assert {"heartbeats", "us"} <= entry.keys()
        assert "nextStateId" not in entry
        assert await worker.request(stat()) == before


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"copyFrom": ADD, "leak": "none"}, "arguments"),
        ({"copyFrom": "Nat.nothing", "leak": "self"}, "index"),
    ],
)
async def test_requests_that_make_no_sense(lean_pool: Pool, fields: dict[str, Any], error: str) -> None:
    async with lean_pool.lease() as worker:
        assert (await worker.request(request_line("goal.start", **fields)))["error"] == error


PROOFS = [
    (ADD, ("exact Nat.add_comm",)),
    (ADD, ("intro n m", "omega")),
    (ADD, ("intro n m", "exact h n m\nwhere h (n m : Nat) : n + m = m + n := by omega")),
    ("Nat.succ_le_of_lt", ("intro n m h", "exact h")),
    ("List.append_nil", ("intro α as", "induction as", "rfl", "exact congrArg _ (by assumption)")),
    ("and_comm", ("intro a b", "exact And.comm")),
    ("and_comm", ("intro a b", "exact ⟨fun h => ⟨h.2, h.1⟩, fun h => ⟨h.2, h.1⟩⟩")),
]  # fmt: skip


@pytest.mark.parametrize("rule", ["self", "module"])
@pytest.mark.parametrize(("name", "tactics"), PROOFS)
async def test_the_judge_says_the_same_as_the_steps(
    lean_pool: Pool, name: str, tactics: tuple[str, ...], rule: LeakRule
) -> None:
    goal = LibraryConstant(name, rule)
    leaked = False
    if not any("where" in tactic for tactic in tactics):
        async with open_session(lean_pool) as session:
            state = await start(session, name, rule)
            for tactic in tactics:
                outcome = await session.apply(state, tactic)
                leaked = leaked or leaks(outcome)
                state = getattr(outcome, "state", state)
    else:
        leaked = rule == "module"
    verdict = await judge_proof(lean_pool, goal, tactics)
    assert verdict.accepted == (not leaked), verdict.reason
    assert verdict.leak_rule == rule
    if leaked:
        assert "itself" in verdict.reason or "may rest on" in verdict.reason


async def imported_by(worker: Worker, module: str) -> set[str]:
    """Modules that this one imports, directly or not, asked one by one."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        reply = await worker.request(requests.ReadModule(todo.pop()).line)
        new = [name for name in reply["imports"] if name not in seen]
        seen.update(new)
        todo += new
    return seen


async def test_earlier_is_what_is_imported_and_nothing_else(lean_pool: Pool) -> None:
    """A theorem of each of many modules, used in a step on a theorem of one of them."""
    target = "List.reverse_reverse"
    async with lean_pool.lease() as worker:
        told = await worker.request(request_line("env.inspect", name=target, dependency=True))
        earlier = await imported_by(worker, told["module"])
        line = request_line("qed.theorems", modules=["Init"], stride=97, limit=300, print=False)
        found = (await worker.request(line))["theorems"]
        state = (await worker.request(protocol.start(LibraryConstant(target))))["stateId"]
        tactics = [f"have h := @{theorem['name']}" for theorem in found]
        results = (await worker.request(requests.Batch(state, tactics).line))["results"]
        both: list[bool] = []
        for theorem, entry in zip(found, results, strict=True):
            if "leak" not in entry and "nextStateId" not in entry:
                continue  # a name that cannot be said like this
            inspected = await worker.request(
                request_line("env.inspect", name=theorem["name"], dependency=True)
            )
            mentioned = [theorem["name"], *inspected["typeDependency"]]
            allowed = True
            for name in mentioned:
                what = await worker.request(requests.Inspect(name).line)
                data = {"inductInfo", "constructorInfo", "recursorInfo"} & what.keys()
                needed = name in told["typeDependency"]
                allowed = allowed and (what["module"] in earlier or needed or bool(data))
            both.append(allowed)
            assert allowed == ("leak" not in entry), (theorem, entry)
        assert len(both) > 100
        assert set(both) == {True, False}

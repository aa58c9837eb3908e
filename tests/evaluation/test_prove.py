"""One theorem from its statement to a judged proof, in Lean; or why there is none."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

import pytest

from burnqed.core.errors import LeanDied, PromptRefused, RequestTimeout, ServerError
from burnqed.core.types import (
    Candidate,
    Goal,
    LibraryConstant,
    Proposition,
    Statement,
    Theorem,
    TheoremText,
)
from burnqed.evaluation import doubt
from burnqed.evaluation import prove as module
from burnqed.evaluation.prove import HEARTBEATS, Attempt, Prover, find, lean_source, prove
from burnqed.evaluation.reading import read_off
from burnqed.evaluation.run import record_of
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.refute import Refutation
from burnqed.lean.session import Session, open_session
from burnqed.lean.verdict import Verdict
from burnqed.policy.portfolio import Portfolio
from burnqed.search.best_first import SearchResult, best_first
from burnqed.search.budget import Budget
from burnqed.search.script import tactics_of, way_to
from burnqed.trajectories.schema import PathStep
from tests.search.problems import assert_way_leads_to

pytestmark = pytest.mark.lean

SHIFT = "def shift : Nat → Nat → Nat\n  | 0, m => m\n  | n + 1, m => shift n (m + 1)\n\n"


class Says:
    """A policy that a function answers for: from the first goal to tactics, the likeliest first."""

    def __init__(self, tactics: Callable[[Goal], Sequence[str]]) -> None:
        self._tactics = tactics

    def about(self, theorem: Theorem) -> Says:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        said = [self._tactics(goals[0])[:n] for goals in states]
        return [[Candidate(t, -1.0 - i) for i, t in enumerate(tactics)] for tactics in said]


@pytest.fixture(scope="module")
async def prover(lean_pool: Pool, lean_launch: LaunchSpec) -> AsyncIterator[Prover]:
    async with Pool(lean_launch, 2) as judges:
        yield Prover(lean_pool, judges, Portfolio(), Budget(nodes=20, candidates=32))


def saying(prover: Prover, tactics: Callable[[Goal], Sequence[str]]) -> Prover:
    return replace(prover, policy=Says(tactics))


def theorem(statement: str | Statement) -> Theorem:
    return Theorem("t", Proposition(statement) if isinstance(statement, str) else statement)


# ----------------------------------------------------------------------------- proved

PROVABLE = {
    "arithmetic": "∀ a b : Nat, (a + b) * (a + b) = a * a + 2 * a * b + b * b",
    "lists": "∀ (xs ys : List Nat), (xs ++ ys).length = ys.length + xs.length",
    "logic": "∀ p q r : Prop, p ∧ (q ∨ r) ↔ p ∧ q ∨ p ∧ r",
    "a search of the kernel": "∀ n : Nat, n < 40 → n * n % 41 = 4 → n = 2 ∨ n = 39",
    "induction": TheoremText(f"{SHIFT}theorem shift_eq (n m : Nat) : shift n m = n + m"),
    "with a sorry": TheoremText("theorem left (p q : Prop) (h : p ∧ q) : p := by\n  sorry"),
}


def check(attempt: Attempt) -> None:
    """A proof is what the judge has accepted, and it holds nothing that searches."""
    assert attempt.outcome == "proved", (attempt.reason, attempt.detail)
    assert attempt.proof is not None
    assert attempt.searched is not None
    assert attempt.proof.verdict.accepted
    assert attempt.proof.verdict.level == "judged"
    assert attempt.judge_seconds > 0
    text = lean_source(attempt.proof)
    assert all(line.strip() in text for t in attempt.proof.tactics for line in t.split("\n"))
    assert not re.search(r"\w\?|\bsorry\b", "\n".join(attempt.proof.tactics))
    assert attempt.searched.limit is None
    assert tactics_of(attempt.proof.script) == list(attempt.proof.tactics)
    steps = [script.tactic for script in attempt.proof.script.walk() if not script.bridge]
    assert sorted(step.tactic for step in attempt.proof.path) == sorted(steps)
    assert attempt.proof.path[0].state == attempt.searched.tree.root.text


@pytest.mark.parametrize("statement", PROVABLE.values(), ids=PROVABLE)
async def test_a_proof_is_found_and_judged(prover: Prover, statement: str | Statement) -> None:
    check(await prove(prover, theorem(statement), seed=0))


async def test_a_suggestion_stands_in_the_place_of_what_searched(prover: Prover) -> None:
    statement = "∀ a b c : Nat, a ∣ b → b ∣ c → a ∣ c"
    attempt = await prove(saying(prover, lambda goal: ["exact?"]), theorem(statement), seed=0)
    check(attempt)
    assert attempt.proof is not None
    assert attempt.proof.tactics == ("exact fun a b c a_1 a_2 => Nat.dvd_trans a_1 a_2",)


async def test_a_proof_with_branches(prover: Prover) -> None:
    """Steps at several goals, each proved in a line of its own, make one text that compiles."""

    def tactics(goal: Goal) -> list[str]:
        if goal.target.startswith("∀"):
            return ["intro n"]
        if "∧" in goal.target:
            return ["constructor"]
        known = [h.name for h in goal.hypotheses]
        step = ["induction n with\n| zero => ?_\n| succ n ih => ?_"] if "ih" not in known else []
        return [*step, "exact Nat.le_refl 0", "rw [Nat.add_comm]", "exact Nat.le_succ_of_le ih"]

    weak = replace(saying(prover, tactics), budget=Budget(nodes=40))
    attempt = await prove(weak, theorem("∀ n : Nat, 0 ≤ n ∧ n + 1 = 1 + n"), seed=0)
    check(attempt)
    assert attempt.proof is not None
    assert attempt.proof.tactics == (
        "intro n",
        "constructor",
        "· induction n with\n"
        "  | zero => exact Nat.le_refl 0\n  | succ n ih => exact Nat.le_succ_of_le ih",
        "· rw [Nat.add_comm]",
    )


async def test_a_library_theorem_without_itself(prover: Prover) -> None:
    """Under the rule `self` all of the library may be used but the theorem, which cannot be found."""
    name = "List.length_append"
    attempt = await prove(prover, theorem(LibraryConstant(name, "self")), seed=0)
    check(attempt)
    assert attempt.proof is not None
    assert attempt.proof.verdict.leak_rule == "self"
    assert not any(re.search(rf"(?<![\w.]){name}(?![\w.])", t) for t in attempt.proof.tactics)


async def test_the_same_seed_gives_the_same_search(prover: Prover) -> None:
    sampling = replace(
        prover,
        settings=replace(prover.settings, temperature=1.0),
        budget=Budget(nodes=4, candidates=3),  # fewer than there are, so that there is a choice
    )
    statement = theorem("∀ p q r : Prop, (p → q) → (q → r) → p → r ∧ q")
    one, two, other = [await find(sampling, statement, seed) for seed in (3, 3, 4)]
    assert one.script == two.script
    assert one.searched.nodes == two.searched.nodes
    assert steps(one.searched) == steps(two.searched)
    assert steps(one.searched) != steps(other.searched)


def steps(searched: SearchResult) -> list[tuple[str, str, str]]:
    """All that was tried, at which state, and what came of it."""
    return [
        (node.text, edge.candidate.tactic, edge.result)
        for node in searched.tree.nodes
        for edge in node.edges
    ]


async def test_killed_workers_do_not_change_the_result(prover: Prover, lean_launch: LaunchSpec) -> None:
    """Killed between two nodes and in the middle of a tactic: replayed, and nobody sees it."""
    statement = theorem(f"∀ n : Nat, {' ∧ '.join(f'n + {k} = {k} + n' for k in range(1, 7))}")

    def tactics(goal: Goal) -> list[str]:
        return ["constructor", "intro n", "rw [Nat.add_comm]"]

    async with Pool(lean_launch, 1, spares=0) as pool:
        calm = await find(replace(saying(prover, tactics), pool=pool), statement, seed=0)
        killers: list[asyncio.Task[None]] = []
        expanded = 0

        async def kill(delay: float) -> None:
            await asyncio.sleep(delay)
            process = pool._slots[0].process
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)

        def killing(goal: Goal) -> list[str]:
            nonlocal expanded
            expanded += 1
            if expanded in (2, 4):
                killers.append(asyncio.create_task(kill(0.0 if expanded == 2 else 0.02)))
            return tactics(goal)

        stormy = await prove(replace(saying(prover, killing), pool=pool), statement, seed=0)
        await asyncio.gather(*killers)
        assert len(killers) == 2
        assert pool.stats().died + pool.stats().recycled >= 1
    check(stormy)
    assert stormy.searched is not None
    assert steps(stormy.searched) == steps(calm.searched)
    assert stormy.proof is not None
    assert stormy.proof.script == calm.script


# ------------------------------------------------------------------------- not proved


async def test_what_is_false_spends_the_budget(prover: Prover) -> None:
    false = theorem("∀ n : Nat, n < 3")
    few = replace(prover, budget=Budget(nodes=2, candidates=8))
    attempt = await prove(few, false, seed=0)
    assert (attempt.outcome, attempt.reason, attempt.proof) == ("exhausted", "nodes", None)
    assert attempt.searched is not None
    assert attempt.searched.nodes == 2
    hurried = replace(prover, budget=Budget(seconds=1e-6))
    assert (await prove(hurried, false, seed=0)).reason == "seconds"

    def intro(goal: Goal) -> list[str]:
        return ["intro n", "exact Nat.le_refl n"]

    assert (await prove(saying(prover, intro), false, seed=0)).reason == "candidates"
    shallow = replace(saying(prover, intro), budget=Budget(depth=1))
    assert (await prove(shallow, false, seed=0)).reason == "depth"


async def test_a_bug_met_by_one_theorem_is_told_with_its_place(prover: Prover) -> None:
    def broken(_goal: Goal) -> Sequence[str]:
        raise ZeroDivisionError("of ours")

    attempt = await prove(saying(prover, broken), theorem("True"), 0)
    assert (attempt.outcome, attempt.reason) == ("error", "internal")
    assert "of ours" in attempt.detail
    assert "in broken" in attempt.detail


@pytest.mark.parametrize(
    "statement",
    [
        Proposition("∀ n : Nat, m = n"),
        Proposition("∀ n : , ="),
        Proposition("3"),
        TheoremText("theorem t (n : Nat) : n = nobody n"),
        TheoremText("theorem t : 1 = 1 := rfl"),
        LibraryConstant("Nat.no_such_theorem"),
    ],
    ids=["unknown name", "no syntax", "no proposition", "a theorem", "a proof", "not in the library"],
)
async def test_a_bad_statement_is_no_failed_search(prover: Prover, statement: Statement) -> None:
    attempt = await prove(prover, theorem(statement), seed=0)
    assert (attempt.outcome, attempt.reason) == ("error", "statement")
    assert attempt.detail
    assert attempt.searched is None


# -------------------------------------------------------------------------- the judge


class FakeJudge:
    """Refuses as often as it is told, and keeps what it was shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refusals: int) -> None:
        self.shown: list[list[str]] = []
        self.merged: list[bool] = []
        self._refusals = refusals
        monkeypatch.setattr(module, "judge_proof", self)
        monkeypatch.setattr(module, "best_first", self._search)

    async def __call__(self, pool: Pool, goal: Statement, tactics: Sequence[str]) -> Verdict:
        self.shown.append(list(tactics))
        refused = len(self.shown) <= self._refusals
        reason = f"refusal {len(self.shown)}" if refused else ""
        return Verdict("t", not refused, reason, "kernel")

    async def _search(self, *arguments: object) -> SearchResult:
        settings = arguments[-1]
        self.merged.append(settings.merge)  # type: ignore[attr-defined]
        return await best_first(*arguments)  # type: ignore[arg-type]


def needless(goal: Goal) -> list[str]:
    """A way to prove that begins with a step that is not needed."""
    return ["omega"] if goal.hypotheses else ["have needless := Nat.le_refl 0"]


ONE = theorem("1 + 1 = 2")
LONG = ["have needless := Nat.le_refl 0", "omega"]


async def test_shortened_proofs_are_tried_first_then_the_whole(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = FakeJudge(monkeypatch, refusals=1)
    attempt = await prove(saying(prover, needless), ONE, seed=0)
    assert judge.shown == [["omega"], LONG]
    assert judge.merged == [True]
    assert attempt.outcome == "proved"
    assert attempt.proof is not None
    assert list(attempt.proof.tactics) == LONG


@pytest.mark.parametrize("refusals", [0, 1])
async def test_the_path_that_is_kept_is_that_of_the_accepted_script(
    prover: Prover, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    FakeJudge(monkeypatch, refusals)
    path = record_of(await prove(saying(prover, needless), ONE, seed=0), 0).path
    whole = [(LONG[0], "⊢ 1 + 1 = 2"), (LONG[1], "needless : 0 ≤ 0\n⊢ 1 + 1 = 2")]
    told = [(step.tactic, step.state) for step in path]
    assert told == (whole if refusals else [("omega", "⊢ 1 + 1 = 2")])
    assert [step.depth for step in path] == list(range(len(path)))


async def test_lean_that_is_lost_on_the_last_walk_costs_no_proof(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dead(*_: object) -> None:
        raise LeanDied("killed", returncode=-9)

    monkeypatch.setattr(module, "walk", dead)
    attempt = await prove(saying(prover, needless), ONE, seed=0)
    assert attempt.proof is not None
    assert attempt.proof.tactics == ("omega",)
    assert [step.tactic for step in record_of(attempt, 0).path] == LONG


async def test_a_proof_that_stays_as_it_was_found_has_the_path_of_the_search(prover: Prover) -> None:
    steps = saying(prover, lambda goal: ["intro p q h", "exact ⟨h.2, h.1⟩"])
    attempt = await prove(steps, theorem("∀ p q : Prop, p ∧ q → q ∧ p"), seed=0)
    check(attempt)
    assert attempt.searched is not None
    edges = attempt.searched.tree.proof_edges()
    told = [PathStep(edge.source.text, edge.candidate.tactic, edge.source.depth) for edge in edges]
    assert record_of(attempt, 0).path == tuple(told)
    assert record_of(replace(attempt, outcome="error", proof=None), 0).path == ()


async def test_a_refused_proof_is_looked_for_again_without_merging(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = FakeJudge(monkeypatch, refusals=2)
    attempt = await prove(saying(prover, needless), ONE, seed=0)
    assert judge.merged == [True, False]
    assert judge.shown == [["omega"], LONG, ["omega"]]
    assert attempt.outcome == "proved"


async def test_what_the_judge_refuses_is_not_proved(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = FakeJudge(monkeypatch, refusals=100)
    attempt = await prove(saying(prover, needless), ONE, seed=0)
    assert (attempt.outcome, attempt.reason, attempt.proof) == ("error", "refused", None)
    assert attempt.detail == "refusal 3", "the first of the second try"
    assert judge.merged == [True, False]
    unmerged = replace(prover.settings, merge=False)
    await prove(replace(saying(prover, needless), settings=unmerged), ONE, seed=0)
    assert judge.merged == [True, False, False], "no third try"


async def test_a_second_try_has_the_nodes_that_are_left(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no theorem costs more nodes than it may, and every smaller budget can be read off."""
    FakeJudge(monkeypatch, refusals=2)
    saying_so = saying(prover, needless)
    outcomes = {}
    for nodes in (2, 3, 4):
        budget = replace(prover.budget, nodes=nodes)
        attempt = await prove(replace(saying_so, budget=budget), ONE, seed=0)
        record = record_of(attempt, 0)
        outcomes[nodes] = (attempt.outcome, record.nodes)
        FakeJudge(monkeypatch, refusals=2)
    assert outcomes == {2: ("exhausted", 2), 3: ("exhausted", 3), 4: ("proved", 4)}
    read = {n: read_off(record, (), n) for n in (2, 3, 4)}
    assert {n: (it.outcome, it.nodes) for n, it in read.items()} == outcomes


async def test_a_judge_that_dies_takes_no_search_along(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dead(*_: object) -> Verdict:
        raise LeanDied("killed", returncode=-9)

    monkeypatch.setattr(module, "judge_proof", dead)
    attempt = await prove(saying(prover, needless), ONE, seed=0)
    assert (attempt.outcome, attempt.reason) == ("error", "LeanDied")
    record = record_of(attempt, 0)
    assert record.nodes == 2
    assert read_off(record, (), 1).outcome == "exhausted", "one node never came to the judge"
    assert read_off(record, (), 2).outcome == "error"


async def test_a_proof_that_takes_too_long_to_check_is_not_the_only_one(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(pool: Pool, goal: Statement, tactics: Sequence[str]) -> Verdict:
        if "omega" in tactics:
            raise RequestTimeout("no reply within 60 s", seconds=60.0)
        return await judge_proof(pool, goal, tactics)

    monkeypatch.setattr(module, "judge_proof", slow)
    attempt = await prove(saying(prover, lambda _: ["omega", "decide"]), ONE, seed=0)
    assert attempt.proof is not None
    assert attempt.proof.tactics == ("decide",)
    assert record_of(attempt, 0).nodes == 2, "both searches"
    attempt = await prove(saying(prover, lambda _: ["omega"]), ONE, seed=0)
    assert (attempt.outcome, attempt.proof) == ("exhausted", None)
    assert attempt.detail == "a proof was refused: its check took more than 60 s"


class Refused:
    """A policy whose server takes no state, or is gone."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def about(self, theorem: Theorem) -> Refused:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        raise self.error


async def test_a_state_that_a_server_refuses_makes_an_error_and_not_an_unproved_theorem(
    prover: Prover,
) -> None:
    attempt = await prove(replace(prover, policy=Refused(PromptRefused("too long"))), ONE, seed=0)
    assert (attempt.outcome, attempt.reason, attempt.detail) == ("error", "PromptRefused", "too long")


async def test_a_server_that_is_gone_ends_the_run(prover: Prover) -> None:
    with pytest.raises(ServerError, match="gone"):
        await prove(replace(prover, policy=Refused(ServerError("gone"))), ONE, seed=0)


# ------------------------------------------------------------------------- not proved


async def test_the_way_to_each_state_replays(prover: Prover) -> None:
    """Loops, states that are equal up to names, goals apart: Lean comes to each by the way told."""
    told = theorem("∀ (p q : Prop), p ∧ q ↔ (q ∧ p) ∧ (p ∨ q)")

    def tactics(goal: Goal) -> list[str]:
        known = [hypothesis.name for hypothesis in goal.hypotheses]
        match known:  # the same state in three steps, and then in two under other names
            case []:
                return ["intro p", "have h : True := trivial"]
            case ["p"]:
                return ["intro q", "revert p"]
            case ["p", "q"]:
                return ["have k : True := trivial"]
            case ["h"]:
                return ["intro a b"]
        return ["constructor", "apply Iff.symm", "intro x", "apply And.symm", "revert x"]

    async with open_session(prover.pool, HEARTBEATS) as session:
        budget = Budget(nodes=25, candidates=16)
        searched = await best_first(told, session, Says(tactics), None, budget)
        nodes = searched.tree.nodes
        for node in nodes:
            await assert_way_leads_to(node, session, told)
    steps = [step for node in nodes for step in way_to(node)[0]]
    assert any(step.bridge for step in steps)
    assert any(step.goals[0] for step in steps)
    assert searched.tree.root.parents, "a loop"


# ------------------------------------------------------------------------------ false


def refuting(prover: Prover) -> Prover:
    return replace(prover, refutes=True, policy=Says(lambda _: ["intro n", "rfl", "skip"]))


@pytest.mark.parametrize(
    ("statement", "told", "nodes"),
    [
        ("∀ n : Nat, n < 500", "n = 500", 0),
        ("2 + 2 = 5", "its negation is proved", 1),
        ("∀ xs : List Nat, xs.length < 2", "xs = [0, 1]", 1),
    ],
)
async def test_a_false_statement_costs_a_node_at_most(
    prover: Prover, statement: str, told: str, nodes: int
) -> None:
    """None, if numbers against it are found without Lean."""
    attempt = await prove(refuting(prover), theorem(statement), 0)
    assert (attempt.outcome, attempt.detail) == ("false", told)
    assert attempt.refutation is not None
    assert attempt.searched is not None
    assert attempt.searched.nodes == nodes
    assert attempt.proof is None


async def test_sets_are_searched_without_it(prover: Prover) -> None:
    attempt = await prove(replace(refuting(prover), refutes=False), theorem("∀ n : Nat, n < 5"), 0)
    assert attempt.outcome == "exhausted"
    false = await prove(refuting(prover), theorem("∀ n : Nat, n < 5"), 0)
    with pytest.raises(ValueError, match="without refutations"):
        record_of(false, 0)


async def test_what_is_proved_at_once_is_not_doubted(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a failure to refute say anything; one that is not proved is looked at once."""
    looked: list[str] = []

    async def fails(session: Session, theorem: Theorem, *_: object) -> Refutation | None:
        looked.append(theorem.name)
        raise LeanDied("it died")

    monkeypatch.setattr(doubt, "refute", fails)
    assert (await prove(refuting(prover), theorem("1 + 1 = 2"), 0)).outcome == "proved"
    assert looked == []
    assert (await prove(refuting(prover), theorem("∀ n : Nat, n < 5"), 0)).outcome == "exhausted"
    assert looked == ["t"]

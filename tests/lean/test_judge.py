"""The judge on real Lean: every cheat refused for its reason, every honest proof accepted."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from burnqed.core.errors import StatementError
from burnqed.core.types import LibraryConstant, Proposition, TheoremText
from burnqed.lean import protocol, rules
from burnqed.lean.judge import Verdict, judge_file, judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.statement import split_header
from tests.lean.cheats import CHEAT_FILES, CHEAT_PROOFS, CheatFile, CheatProof
from tests.lean.honest import HONEST, HONEST_PROOFS, HonestFile, HonestProof

pytestmark = pytest.mark.lean


@pytest.fixture(scope="module")
async def judge_pool(lean_launch: LaunchSpec) -> AsyncIterator[Pool]:
    """Every verdict uses up a worker: more slots, so that the next ones start meanwhile."""
    async with Pool(lean_launch, 4, spares=3) as pool:
        yield pool


# A file costs two processes. Files of nothing but theorems are judged as one, each a namespace of it.
TOGETHER = {case.name: f"Honest{i}" for i, case in enumerate(HONEST) if case.only_theorems}


@pytest.fixture(scope="module")
async def together(judge_pool: Pool) -> list[Verdict]:
    cases = {case.name: case.source for case in HONEST}
    spaces = [f"namespace {space}\n{cases[name]}\nend {space}\n" for name, space in TOGETHER.items()]
    return await judge_file(judge_pool, "\n".join(spaces))


def accepted(verdicts: list[Verdict], case: HonestFile) -> None:
    refused = {v.theorem: v.reason for v in verdicts if not v.accepted}
    assert not refused
    assert len(verdicts) == case.theorems
    assert all(v.level == "judged" for v in verdicts)


@pytest.mark.parametrize(
    "case", [case for case in HONEST if case.name in TOGETHER], ids=lambda case: case.name
)
def test_honest_theorems_are_accepted(together: list[Verdict], case: HonestFile) -> None:
    prefix = f"{TOGETHER[case.name]}."
    accepted([v for v in together if v.theorem.startswith(prefix)], case)


@pytest.mark.parametrize(
    "case", [case for case in HONEST if case.name not in TOGETHER], ids=lambda case: case.name
)
async def test_honest_files_are_accepted(judge_pool: Pool, case: HonestFile) -> None:
    accepted(await judge_file(judge_pool, case.source, case.reference), case)


@pytest.mark.parametrize("case", HONEST_PROOFS, ids=lambda case: case.name)
async def test_honest_proofs_are_accepted(judge_pool: Pool, case: HonestProof) -> None:
    verdict = await judge_proof(judge_pool, case.statement, case.tactics)
    assert verdict.reason == ""
    assert verdict.accepted


@pytest.mark.parametrize("case", CHEAT_FILES, ids=lambda case: case.name)
async def test_cheating_files_are_refused(judge_pool: Pool, case: CheatFile) -> None:
    verdicts = await judge_file(judge_pool, case.submission, case.reference)
    verdict = next(v for v in verdicts if v.theorem in (case.theorem, "(file)"))
    assert not verdict.accepted
    assert re.search(case.reason, verdict.reason), verdict.reason


@pytest.mark.parametrize("case", CHEAT_PROOFS, ids=lambda case: case.name)
async def test_cheating_proofs_are_refused(judge_pool: Pool, case: CheatProof) -> None:
    verdict = await judge_proof(judge_pool, case.statement, case.tactics)
    assert not verdict.accepted
    assert re.search(case.reason, verdict.reason), verdict.reason


def test_there_are_enough_of_both() -> None:
    assert len(CHEAT_FILES) + len(CHEAT_PROOFS) >= 60
    assert len(HONEST) + len(HONEST_PROOFS) >= 60


async def test_a_verdict_says_what_it_rests_on(judge_pool: Pool) -> None:
    goal = Proposition("∀ p : Prop, p ∨ ¬p")
    verdict = await judge_proof(judge_pool, goal, ["intro p", "exact Classical.em p"])
    assert verdict.accepted
    assert "Classical.choice" in verdict.axioms or verdict.axioms == ()
    assert verdict.source.startswith("theorem qed_goal : ∀ p : Prop, p ∨ ¬p := by\n  intro p\n")
    assert verdict.leak_rule is None


async def test_the_leak_rules_differ(judge_pool: Pool) -> None:
    goal = LibraryConstant("Nat.add_comm", "self")
    itself = await judge_proof(judge_pool, goal, ["exact Nat.add_comm"])
    assert "itself" in itself.reason
    sibling = ["intro n m", "omega"]
    loose = await judge_proof(judge_pool, goal, sibling)
    strict = await judge_proof(judge_pool, LibraryConstant("Nat.add_comm"), sibling)
    assert (loose.accepted, loose.leak_rule) == (True, "self")
    assert (strict.accepted, strict.leak_rule) == (False, "module")
    assert "may rest on" in strict.reason


TABLE = "∀ i : Fin {}, ∀ j : Fin 8, i.val * j.val = j.val * i.val := by decide"


async def test_a_proof_of_many_steps_has_a_budget_for_all_of_them(judge_pool: Pool) -> None:
    """Each step of a search has its own; the theorem that they make is one command to Lean."""
    goal = Proposition("∀ n : Nat, n + 0 = n")
    steps = [f"have h : {TABLE.format(size)}" for size in range(20, 24)]
    verdict = await judge_proof(judge_pool, goal, [*steps, "intro n", "rfl"])
    one = await judge_proof(judge_pool, goal, [*steps[:1], "intro n", "rfl"])
    assert verdict.accepted
    assert verdict.heartbeats > 3 * one.heartbeats > 0
    budget = 2 * one.heartbeats
    async with judge_pool.lease() as worker:
        worker.retire()
        await worker.ready()
        tight = protocol.qed_compile(verdict.source, rules.gate(), None, None, budget)
        said = (await worker.request(tight))["messages"]
        assert any("maximum number of heartbeats" in message["data"] for message in said)
        # What a caller who prints the proof is to put above it.
        above = f"set_option maxHeartbeats {verdict.heartbeats + 1} in\n"
        told = protocol.qed_compile(above + verdict.source, rules.gate(), None, None, budget)
        assert (await worker.request(told))["messages"] == []
        worker.retire()


async def test_a_file_has_the_budget_that_it_says(judge_pool: Pool) -> None:
    a_and_b = f"theorem a : {TABLE.format(20)}", f"theorem b : {TABLE.format(21)}"
    source = "\n\nset_option maxHeartbeats 20 in\n".join(a_and_b)
    a, b = await judge_file(judge_pool, source)
    assert a.accepted
    assert a.heartbeats > 20
    assert "heartbeats" in b.reason


async def test_a_verifying_process_is_used_again(lean_launch: LaunchSpec) -> None:
    async with Pool(lean_launch, 2, spares=0) as pool:
        for _ in range(3):
            verdict = await judge_proof(pool, Proposition("1 + 1 = 2"), ["rfl"])
            assert verdict.accepted
        # Two at first, and then one for each text that was compiled.
        assert pool.stats().started <= 2 + 3


async def test_a_statement_that_is_none_is_the_callers_mistake(judge_pool: Pool) -> None:
    for goal in (Proposition("no such thing"), Proposition("1 + "), LibraryConstant("Nat.nothing")):
        with pytest.raises(StatementError):
            await judge_proof(judge_pool, goal, ["rfl"])
    with pytest.raises(StatementError):
        await judge_proof(judge_pool, TheoremText("def x := 1"), ["rfl"])
    with pytest.raises(StatementError, match="reference"):
        await judge_file(judge_pool, "theorem a : True := trivial", "theorem a : Tru := sorry")


async def test_a_whole_theorem_with_its_context(judge_pool: Pool) -> None:
    goal = TheoremText(
        "namespace Foo\nvariable (n : Nat)\ndef double := n + n\nopen Nat in\n"
        "theorem even_double : double n % 2 = 0 := by sorry"
    )
    verdict = await judge_proof(judge_pool, goal, ["unfold double", "omega"])
    assert verdict.reason == ""
    assert verdict.theorem == "Foo.even_double"


def test_imports_are_told_apart_from_the_rest() -> None:
    source = split_header("-- why\nimport Init.Data.List\nimport Std\n\ntheorem a : True := trivial\n")
    assert source.imports == ("Init.Data.List", "Std")
    assert source.body.splitlines()[4] == "theorem a : True := trivial"
    assert "import" not in source.body

"""The judge on real Lean: every cheat refused for its reason, every honest proof accepted.

One case in six in `make test`, the others in `make soak`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from burnqed.core.errors import StatementError
from burnqed.core.types import LibraryConstant, Proposition, TheoremText
from burnqed.lean import requests, rules
from burnqed.lean.judge import judge_file, judge_proof
from burnqed.lean.pool import Kind, Pool, Worker
from burnqed.lean.process import LaunchSpec
from burnqed.lean.statement import split_header
from burnqed.lean.toolchain import Toolchain
from burnqed.lean.verdict import Verdict
from tests.lanes import some
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
    "case", some([case for case in HONEST if case.name not in TOGETHER], 6), ids=lambda case: case.name
)
async def test_honest_files_are_accepted(judge_pool: Pool, case: HonestFile) -> None:
    accepted(await judge_file(judge_pool, case.source, case.reference), case)


@pytest.mark.parametrize("case", some(HONEST_PROOFS, 6), ids=lambda case: case.name)
async def test_honest_proofs_are_accepted(judge_pool: Pool, case: HonestProof) -> None:
    verdict = await judge_proof(judge_pool, case.statement, case.tactics)
    assert verdict.reason == ""
    assert verdict.accepted


@pytest.mark.parametrize("case", some(CHEAT_FILES, 6), ids=lambda case: case.name)
async def test_cheating_files_are_refused(judge_pool: Pool, case: CheatFile) -> None:
    verdicts = await judge_file(judge_pool, case.submission, case.reference)
    verdict = next(v for v in verdicts if v.theorem in (case.theorem, "(file)"))
    assert not verdict.accepted
    assert re.search(case.reason, verdict.reason), verdict.reason


@pytest.mark.parametrize(
    "tactic",
    [
        "simp (contextual := k)", "simp (maxSteps := n)", "simp (config := { contextual := k })",
        "simp +contextual (maxSteps := n + 1)", "grind (splits := n)", "decide (kernel := k)",
        "intros <;> (try simp (contextual := k))",
    ],
)  # fmt: skip
async def test_a_configuration_is_never_a_program(judge_pool: Pool, tactic: str) -> None:
    """Lean evaluates it while it elaborates. Every lane tries this, whatever the cheats are."""
    own = "def k : Bool := true\ndef n : Nat := 5\n"
    source = f"{own}theorem t (x : Nat) : x + 0 = x := by\n  {tactic}\n"
    verdicts = await judge_file(judge_pool, source, None)
    assert verdicts
    for verdict in verdicts:
        assert not verdict.accepted
        assert "plain literal" in verdict.reason, verdict.reason


@pytest.mark.parametrize("case", some(CHEAT_PROOFS, 6), ids=lambda case: case.name)
async def test_cheating_proofs_are_refused(judge_pool: Pool, case: CheatProof) -> None:
    verdict = await judge_proof(judge_pool, case.statement, case.tactics)
    assert not verdict.accepted
    assert re.search(case.reason, verdict.reason), verdict.reason


def test_there_are_enough_of_both() -> None:
    assert len(CHEAT_FILES) + len(CHEAT_PROOFS) >= 60
    assert len(HONEST) + len(HONEST_PROOFS) >= 60


async def test_a_verdict_says_what_it_rests_on(judge_pool: Pool, toolchain: Toolchain) -> None:
    goal = Proposition("∀ p : Prop, p ∨ ¬p")
    verdict = await judge_proof(judge_pool, goal, ["intro p", "exact Classical.em p"])
    assert verdict.accepted
    if toolchain.kind == "embedded":
        assert (verdict.axioms, verdict.axioms_seen) == (None, ()), "the library's proof is not there"
        assert verdict.rests_on == "not known"
    else:
        assert verdict.axioms == verdict.axioms_seen == ("propext", "Classical.choice", "Quot.sound")
        assert verdict.rests_on == "propext, Classical.choice, Quot.sound"
    assert verdict.source.startswith("theorem qed_goal : ∀ p : Prop, p ∨ ¬p := by\n  intro p\n")
    assert verdict.leak_rule is None


# What can be known in a library without proofs: all axioms (or None), and those that are seen.
RESTS_ON: dict[str, tuple[tuple[str, ...] | None, tuple[str, ...], str]] = {
    "theorem t (p : Prop) : p → p := fun h => h": ((), (), "none"),
    "theorem t : 2 + 2 = 4 := rfl": ((), (), "none"),
    "theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩": ((), (), "none"),
    "theorem t (p q : Prop) (h : p ↔ q) : p = q := propext h": (("propext",), ("propext",), "propext"),
    "mutual\ninductive E : Nat → Prop | z : E 0 | s n : O n → E (n + 1)\n"
    "inductive O : Nat → Prop | s n : E n → O (n + 1)\nend\ntheorem t : E 2 := .s 1 (.s 0 .z)": (
        (), (), "none",
    ),
    "noncomputable def c : Nat := Classical.choice ⟨0⟩\ntheorem t : c = c := rfl": (
        ("Classical.choice",), ("Classical.choice",), "Classical.choice",
    ),
    # Through a theorem, by whatever way: nobody can say what it rests on.
    "theorem t (p : Prop) : p ∨ ¬p := Classical.em p": (None, (), "not known"),
    "theorem t (a b : Nat) : a + b = b + a := by omega": (None, (), "not known"),
    "theorem t : 2 + 2 = 4 := by decide": (None, (), "not known"),
    "theorem u (p : Prop) : p ∨ ¬p := Classical.em p\ntheorem t : True ∨ ¬True := u True": (
        None, (), "not known",
    ),
    "theorem t : (fun n : Nat => n) = (fun n => 0 + n) := funext fun n => (Nat.zero_add n).symm": (
        None, (), "not known",
    ),
    "theorem t (p q : Prop) (h : p ↔ q) : (p = q) ∨ ¬True := .inl (Eq.symm (propext h.symm))": (
        None, ("propext",), "at least propext",
    ),
    # Through the body of a definition of the library, which names no theorem directly.
    "theorem t (p : Prop) : Classical.propDecidable p = Classical.propDecidable p := rfl": (
        None, ("Classical.choice",), "at least Classical.choice",
    ),
}  # fmt: skip
# A native library has its proofs: then these are known in the same order.
IN_FULL = (
    ("propext", "Classical.choice", "Quot.sound"), ("propext", "Quot.sound"), (),
    ("propext", "Classical.choice", "Quot.sound"), ("Quot.sound",), ("propext",),
    ("propext", "Classical.choice", "Quot.sound"),
)  # fmt: skip


@pytest.mark.parametrize("source", RESTS_ON)
async def test_axioms_are_told_as_far_as_they_are_known(
    judge_pool: Pool, toolchain: Toolchain, source: str
) -> None:
    verdict = next(v for v in await judge_file(judge_pool, source) if v.theorem == "t")
    assert verdict.accepted, verdict.reason
    expected = RESTS_ON[source]
    if toolchain.kind == "native" and expected[0] is None:
        unknown = [text for text, (axioms, _, _) in RESTS_ON.items() if axioms is None]
        full = dict(zip(unknown, IN_FULL, strict=True))[source]
        expected = (full, full, ", ".join(full) or "none")
    assert (verdict.axioms, verdict.axioms_seen, verdict.rests_on) == expected


async def test_the_axioms_of_what_is_refused_are_not_told_as_known(judge_pool: Pool) -> None:
    text = "theorem t : 1 = 2 := by\n  sorry\n\ntheorem u : no.such := rfl\n"
    verdicts = {v.theorem: v for v in await judge_file(judge_pool, text)}
    assert verdicts["t"].axioms_seen == ("sorryAx",)
    assert (verdicts["u"].axioms, verdicts["u"].rests_on) == (None, "not known")


async def test_the_library_has_no_other_axioms(lean_pool: Pool) -> None:
    """A library theorem may rest on these unseen, and docs/judge.md says on which."""
    async with lean_pool.lease() as worker:
        symbols = (await worker.request("env.catalog {}"))["symbols"]
    found = {symbol[1:] for symbol in symbols if symbol.startswith("a")}
    machinery = {"sorryAx", "Lean.trustCompiler", "Lean.ofReduceBool", "Lean.ofReduceNat"}
    assert found == rules.ALLOWED_AXIOMS | machinery


async def test_the_leak_rules_differ(judge_pool: Pool, toolchain: Toolchain) -> None:
    goal = LibraryConstant("Nat.add_comm", "self")
    itself = await judge_proof(judge_pool, goal, ["exact Nat.add_comm"])
    assert "itself" in itself.reason
    sibling = ["intro n m", "omega"]
    loose = await judge_proof(judge_pool, goal, sibling)
    strict = await judge_proof(judge_pool, LibraryConstant("Nat.add_comm"), sibling)
    # With the library's proofs to look into, what omega uses is seen to rest on it.
    assert (loose.accepted, loose.leak_rule) == (toolchain.kind == "embedded", "self")
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
        tight = requests.Compile(verdict.source, rules.gate(), max_heartbeats=budget).line
        said = (await worker.request(tight))["messages"]
        assert any("maximum number of heartbeats" in message["data"] for message in said)
        # What a caller who prints the proof is to put above it.
        above = f"set_option maxHeartbeats {verdict.heartbeats + 1} in\n"
        told = requests.Compile(above + verdict.source, rules.gate(), max_heartbeats=budget).line
        assert (await worker.request(told))["messages"] == []
        worker.retire()


async def test_a_file_has_the_budget_that_it_says(judge_pool: Pool) -> None:
    a_and_b = f"theorem a : {TABLE.format(20)}", f"theorem b : {TABLE.format(21)}"
    source = "\n\nset_option maxHeartbeats 20 in\n".join(a_and_b)
    a, b = await judge_file(judge_pool, source)
    assert a.accepted
    assert a.heartbeats > 20
    assert "heartbeats" in b.reason


async def test_both_processes_are_used_again(lean_launch: LaunchSpec) -> None:
    async with Pool(lean_launch, 2, spares=0) as pool:
        for _ in range(3):
            verdict = await judge_proof(pool, Proposition("1 + 1 = 2"), ["rfl"])
            assert verdict.accepted
        assert pool.stats().started == 2
        # A stranger's file is compiled by a process that nobody else will ask.
        for _ in range(2):
            assert (await judge_file(pool, "theorem a : 1 + 1 = 2 := rfl\n"))[0].accepted
        assert pool.stats().started == 2 + 2


class Poisoned(Pool):
    """Whoever has compiled something lies about the next text, and the lie is `forged`."""

    def __init__(self, spec: LaunchSpec, forged: dict[str, Any]) -> None:
        super().__init__(spec, 2, spares=0)
        self.forged = forged

    @asynccontextmanager
    async def lease(self, kind: Kind = "any") -> AsyncIterator[Worker]:
        async with super().lease(kind) as worker:
            ask = worker.request

            async def request(line: str, *args: Any, **rest: Any) -> dict[str, Any]:
                reply = await ask(line, *args, **rest)
                return {**reply, **self.forged} if kind == "any" else reply

            worker.request = request  # type: ignore[method-assign]
            yield worker


ERROR = {"severity": "error", "data": "no", "pos": {"line": 1, "column": 0}}
TRUE = {"exprs": [["c", ["True"], []], ["c", ["True", "intro"], []]]}
CONSTANT = {"name": ["qed_goal"], "kind": "theorem", "levels": [], "type": 0, "value": 1}


@pytest.mark.parametrize(
    "forged",
    [{"messages": [ERROR]}, {"referenceMessages": [ERROR]}, {"commands": []},
     {"export": {"exprs": [], "constants": []}}, {"export": {**TRUE, "constants": [CONSTANT]}},
     {"error": "command", "desc": "no"}],
)  # fmt: skip
async def test_a_poisoned_process_is_noticed(lean_launch: LaunchSpec, forged: dict[str, Any]) -> None:
    """It can neither keep an honest proof from being accepted nor have another one accepted."""
    async with Poisoned(lean_launch, forged) as pool:
        for statement, accepted in (("1 + 1 = 2", True), ("1 + 1 = 2", True), ("1 + 1 = 3", False)):
            verdict = await judge_proof(pool, Proposition(statement), ["rfl"])
            assert verdict.accepted is accepted


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


async def test_an_open_example_of_a_reference_is_a_mistake(judge_pool: Pool) -> None:
    """Nothing can be asked for without a name, so nobody could say whether it was proved."""
    reference = "theorem t : 1 = 1 := sorry\nexample : 2 = 3 := sorry\n"
    with pytest.raises(StatementError, match="leaves an `example` open"):
        await judge_file(judge_pool, "theorem t : 1 = 1 := rfl\n", reference)

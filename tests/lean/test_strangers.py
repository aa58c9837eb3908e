"""A stranger's file runs no code: not where its holes are found, nor where it is the reference."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from burnqed.core.errors import StatementError
from burnqed.core.types import Closed, FileHole, Theorem, TheoremText
from burnqed.lean import requests, rules
from burnqed.lean.holes import find_holes
from burnqed.lean.judge import judge_file, judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.session import open_session
from burnqed.lean.strangers import first_danger, forbidden_import

MACRO = 'macro "easy" : tactic => `(tactic| sorry)\n'
HELD = "theorem t (n : Nat) : n + 0 = n := by sorry\n"
# Commands that would run code, or change what the text means, and the word that says so.
HOSTILE = {
    "macro": MACRO,
    "#eval": "#eval (IO.println 1 : IO Unit)\n",
    "run_cmd": "run_cmd pure ()\n",
    "notation": 'notation "False" => True\n',
    "extern": '@[extern "dlopen"] opaque f (n : Nat) : Nat\n',
    "export": "@[export dlopen] def f (n : Nat) : Nat := n\n",
    "implemented_by": "def g (n : Nat) := n\n@[implemented_by g] def f (n : Nat) : Nat := n\n",
    "initialize": "initialize pure ()\n",
    "set_option": "set_option debug.skipKernelTC true\n",
    "syntax": 'syntax "easy" : tactic\n',
}


def test_the_first_danger_has_a_line() -> None:
    assert first_danger(HELD) is None
    assert first_danger(f"-- macro\n{HELD}\n{MACRO}") == (4, "`macro` runs code or changes the syntax")
    assert first_danger(MACRO, trusted=MACRO) is None
    assert forbidden_import(["Std", "Lean.Elab"], None).startswith("it imports Lean.Elab")


@pytest.mark.parametrize("word", HOSTILE)
def test_python_refuses_each(word: str) -> None:
    assert first_danger(HOSTILE[word] + HELD) is not None


@pytest.fixture(scope="module")
async def strangers(lean_launch: LaunchSpec) -> AsyncIterator[Pool]:
    async with Pool(lean_launch, 2, gate=rules.gate()) as pool:
        yield pool


@pytest.mark.lean
async def test_lean_refuses_each_by_itself(strangers: Pool) -> None:
    """Python's look at the text is left out here."""
    for text in HOSTILE.values():
        for where in (text + HELD, HELD + "\n" + text):
            with pytest.raises(
                StatementError, match=r"the file may not contain this: \d+:\d+: "
            ) as told:
                await find_holes(strangers, where)
            assert "--trust" in told.value.hint
    assert [hole.declaration for hole in await find_holes(strangers, HELD)] == ["t"]


@pytest.mark.lean
async def test_the_place_is_the_commands(strangers: Pool) -> None:
    with pytest.raises(StatementError, match=r"4:2: "):
        await find_holes(strangers, f"{HELD}\n\n  #eval 1\n")


@pytest.mark.lean
async def test_a_proof_starts_behind_the_gate(strangers: Pool, lean_pool: Pool) -> None:
    text = f"{HOSTILE['notation']}theorem t : False"
    for statement in (TheoremText(text), FileHole(f"{text} := by sorry\n", 0)):
        async with open_session(strangers) as session:
            with pytest.raises(StatementError, match="notation"):
                await session.start(Theorem("t", statement))
        async with open_session(lean_pool) as session:
            state = await session.start(Theorem("t", statement))
            assert isinstance(await session.apply(state, "exact trivial"), Closed)


@pytest.mark.lean
async def test_what_was_let_in_without_a_gate_is_not_let_through_one(lean_pool: Pool) -> None:
    """Texts that begin alike are not elaborated twice: but then they have passed the same gate."""
    text = MACRO + HELD
    async with lean_pool.lease() as worker:
        free = await worker.request(requests.FindHoles(text).line)
        held = await worker.request(requests.FindHoles(f"{text}\n", rules.gate()).line)
        again = await worker.request(requests.FindHoles(text).line)
    assert "holes" in free
    assert held["error"] == "gate"
    assert "holes" in again


CONFIGURED = """\
theorem open_still : 1 = 2 := by sorry
theorem a (n : Nat) : n + 0 = n := by simp (config := { decide := true }) (maxSteps := 1000)
theorem t (n : Nat) : n + 0 = n := by sorry
"""


@pytest.mark.lean
async def test_a_draft_may_configure_its_tactics(strangers: Pool) -> None:
    """But not where an instance of its own could be what the configuration is made of."""
    assert len(await find_holes(strangers, CONFIGURED)) == 2
    own = "instance : OfNat Nat 1000 := ⟨cast (by sorry : Nat = Nat) 7⟩\n"
    with pytest.raises(StatementError, match="a configuration is not evaluated behind"):
        await find_holes(strangers, own + CONFIGURED)
    before = (
        "instance : Inhabited Nat := ⟨7⟩\ntheorem b (n : Nat) : n = n := by simp (maxSteps := 99)\n"
    )
    assert len(await find_holes(strangers, before + HELD)) == 1, "before anything is left open"


@pytest.mark.lean
async def test_code_of_a_reference_does_not_run_where_it_is_verified(strangers: Pool) -> None:
    """The verifying process reads the reference; of a stranger's, only what passes the gate."""
    reference = 'macro "two" : term => `(1)\ntheorem t : 1 = two := by sorry\n'
    async with strangers.lease() as worker:
        line = requests.Compile("theorem t : 1 = 1 := rfl\n", rules.gate()).line
        export = (await worker.request(line))["export"]
        said = []
        for gate in (None, rules.gate()):
            line = requests.Verify(export, ["t"], reference, gate).line
            (theorem,) = (await worker.request(line))["theorems"]
            said.append(theorem["reference"])
    assert said == ["same", "differs"], "without the macro `two` is any number"


@pytest.mark.lean
async def test_no_verdict_on_a_file_that_is_its_own_reference(strangers: Pool, lean_pool: Pool) -> None:
    """What a file changes the meaning of by itself is not a proof of what it seems to say."""
    file, reference = (f"{HOSTILE['notation']}theorem t : False := {p}\n" for p in ("trivial", "sorry"))
    (mine,) = await judge_file(lean_pool, file, reference)
    assert mine.accepted, "as with --against, where the reference is trusted"
    (theirs,) = await judge_file(strangers, file, reference)
    assert not theirs.accepted
    assert "notation" in theirs.reason
    stated = TheoremText(f"{HOSTILE['notation']}theorem t : False")
    with pytest.raises(StatementError, match="notation"):
        await judge_proof(strangers, stated, ["trivial"])
    verdict = await judge_proof(strangers, TheoremText("theorem t : 1 = 1"), ["rfl"])
    assert verdict.accepted

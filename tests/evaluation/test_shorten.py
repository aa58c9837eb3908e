"""A proof loses what it does not need, and nothing else."""

from __future__ import annotations

import pytest

from burnqed.core.types import (
    Theorem,
    TheoremText,
)
from burnqed.evaluation.shorten import shorten, walk
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.search.script import Script, tactics_of
from tests.evaluation.test_prove import SHIFT, theorem

pytestmark = pytest.mark.lean
OMEGA = Script("omega")


def chain(*tactics: str) -> Script:
    """Steps one after the other, each with one goal left but for the last."""
    script = Script(tactics[-1])
    for tactic in reversed(tactics[:-1]):
        script = Script(tactic, ((0,),), (script,))
    return script


def branching(tactic: str, *rest: Script) -> Script:
    return Script(tactic, tuple((i,) for i in range(len(rest))), rest)


SWAP = theorem("∀ a b : Nat, a + b = b + a")
BOTH = theorem("∀ p q : Prop, p → q → p ∧ q")
SHORTENED = {
    "a needless step": (
        SWAP,
        chain("intro a b", "have h := Nat.le_refl a", "clear h", "exact Nat.add_comm a b"),
        ["intro a b", "exact Nat.add_comm a b"],
    ),
    "a needless split": (
        SWAP,
        Script(
            "intro a b", ((0,),), (branching("by_cases h : a = 0", chain("subst h", "simp"), OMEGA),)
        ),
        ["omega"],
    ),
    "in one of two branches": (
        BOTH,
        Script(
            "intro p q hp hq",
            ((0,),),
            (branching("constructor", chain("have h := hq", "exact hp"), Script("exact hq")),),
        ),
        ["intro p q hp hq", "constructor", "· exact hp", "· exact hq"],
    ),
    "lemmas": (
        theorem(TheoremText(f"{SHIFT}theorem t (m : Nat) : shift 0 m = m")),
        Script("simp [shift, Nat.add_comm, Nat.mul_comm]"),
        ["simp [shift]"],
    ),
    "alternatives": (
        theorem(TheoremText("theorem t (a b : Nat) : a + b = b + a")),
        Script("first | exact Nat.mul_comm .. | exact Nat.add_comm .. | omega"),
        ["exact Nat.add_comm .."],
    ),
    "alternatives behind names": (
        SWAP,
        Script("intros; first | exact Nat.mul_comm .. | exact Nat.add_comm .. | omega"),
        ["intros; exact Nat.add_comm .."],
    ),
    "alternatives and the names before them": (
        SWAP,
        Script("intros; first | exact Nat.mul_comm .. | exact Nat.add_comm"),
        ["exact Nat.add_comm"],
    ),
    "alternatives behind a step": (
        BOTH,
        chain("intro p q hp hq", "first | exact hp | exact ⟨hp, hq⟩"),
        ["intro p q hp hq", "exact ⟨hp, hq⟩"],
    ),
    "alternatives and then lemmas": (
        theorem(TheoremText(f"{SHIFT}theorem t (m : Nat) : shift 0 m = m")),
        Script("first | exact rfl' | simp [shift, Nat.add_comm]"),
        ["simp [shift]"],
    ),
    "alternatives behind something else": (
        SWAP,
        Script("intro a b; first | exact Nat.mul_comm .. | exact Nat.add_comm .."),
        ["intro a b; first | exact Nat.mul_comm .. | exact Nat.add_comm .."],
    ),
    "nothing": (
        BOTH,
        chain("intro p q hp hq", "exact ⟨hp, hq⟩"),
        ["intro p q hp hq", "exact ⟨hp, hq⟩"],
    ),
}


@pytest.mark.parametrize(("what", "script", "tactics"), SHORTENED.values(), ids=SHORTENED)
async def test_what_is_not_needed_goes(
    lean_pool: Pool, what: Theorem, script: Script, tactics: list[str]
) -> None:
    async with open_session(lean_pool) as session:
        assert tactics_of(await shorten(session, what, script)) == tactics


async def test_shortening_has_a_limit(lean_pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it may cost is bounded; where that ends, the rest of the proof stays as it was."""
    script = SHORTENED["a needless step"][1]
    whole = script.steps
    for most in range(8):
        monkeypatch.setattr("burnqed.evaluation.shorten._MOST_TACTICS", most)
        async with open_session(lean_pool) as session:
            shorter = await shorten(session, SWAP, script)
        assert shorter == script if most == 0 else shorter.steps <= whole
        assert tactics_of(shorter)[-1] == "exact Nat.add_comm a b"
        whole = shorter.steps
    assert whole == 2


async def test_grind_is_asked_what_it_used(lean_pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run says it of all lemmas, dotted or not; to leave out one after the other takes six."""
    monkeypatch.setattr("burnqed.evaluation.shorten._MOST_TACTICS", 4)
    known = "def up (n : Nat) : Nat := n + 1\n\ntheorem up_eq (n : Nat) : up n = n + 1 := rfl\n\n"
    statement = theorem(TheoremText(f"{known}theorem t (m : Nat) : up m = 1 + m"))
    others = ("gcd_assoc", "gcd_self", "lcm_comm", "gcd_dvd_left", "gcd_mul_left")
    for dot in ("", ". "):
        listed = ", ".join(f"{dot}{name}" for name in ("up_eq", *(f"Nat.{one}" for one in others)))
        async with open_session(lean_pool) as session:
            shorter = await shorten(session, statement, Script(f"grind [{listed}]"))
        assert tactics_of(shorter) == [f"grind [{dot}up_eq]"]


async def test_alternatives_are_tried_as_long_as_the_limit_allows(
    lean_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, script, (shorter,) = SHORTENED["alternatives behind names"]
    for most, left in ((0, script.tactic), (3, script.tactic), (4, shorter)):
        monkeypatch.setattr("burnqed.evaluation.shorten._MOST_TACTICS", most)
        async with open_session(lean_pool) as session:
            assert (await shorten(session, SWAP, script)).tactic == left, most


# ------------------------------------------------------------------------------- what is left

RENAMED = Script("revert q hq\nintro r hr", ((0,),), (Script("exact hr"),), bridge=True)
WALKED = {
    "in a row": (SWAP, chain("intro a b", "exact Nat.add_comm a b"), [(0, "∀"), (1, "a b : Nat")]),
    "in branches": (
        BOTH,
        Script("intro p q hp hq", ((0,),), (branching("constructor", Script("exact hp"), RENAMED),)),
        [(0, "∀"), (1, "p q : Prop"), (2, "case left\np q : Prop"), (2, "case right\np : Prop")],
    ),
}


@pytest.mark.parametrize(("what", "script", "states"), WALKED.values(), ids=WALKED)
async def test_each_step_is_told_with_its_state(
    lean_pool: Pool, what: Theorem, script: Script, states: list[tuple[int, str]]
) -> None:
    """What only renames is not a step: the one behind it is told at the state with the new names."""
    async with open_session(lean_pool) as session:
        path = await walk(session, what, script)
    assert path is not None
    assert [step.tactic for step in path] == [s.tactic for s in script.walk() if not s.bridge]
    for step, (depth, begins) in zip(path, states, strict=True):
        assert step.depth == depth
        assert step.state.removeprefix("⊢ ").startswith(begins)


@pytest.mark.parametrize(
    "script",
    [
        chain("intro p q hp hq", "exact hp"),
        chain("intro p q hp hq", "exact ⟨hp, hq⟩", "rfl"),
        Script("intro p q hp hq"),
        Script("intro p q hp hq", ((0,),), (Script("constructor", ((0,),), (Script("exact hp"),)),)),
    ],
    ids=["refused", "done before its end", "not done", "a goal without a proof"],
)
async def test_a_script_that_does_not_prove_it_has_no_path(lean_pool: Pool, script: Script) -> None:
    async with open_session(lean_pool) as session:
        assert await walk(session, BOTH, script) is None

"""The theorems of a file as Lean tells them: places, statements, and what is wrong with some."""

from __future__ import annotations

import pytest

from burnqed.core.types import Closed, Theorem, TheoremText
from burnqed.lean.outline import Outline, OutlinedTheorem, outline
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

pytestmark = pytest.mark.lean

GOOD = """/-! ∀ ü -/
/-- doc → -/
@[simp] theorem a (n : Nat) : n + 0 = n := rfl
namespace A.B
variable {α : Type u} (xs : List α)
theorem len : (xs ++ xs).length = xs.length + xs.length := by simp
open Nat in
/-- doc -/ @[simp, grind =]
protected theorem opened (n : Nat) : succ n = n + 1 := rfl
private theorem hidden : 1 = 1 := rfl
theorem eqs : ∀ n : Nat, 0 ≤ n
  | 0 => Nat.le_refl 0
  | n + 1 => Nat.zero_le (n + 1)
theorem auto (n : Nat) (h : n = n := by simp) : n = n -- why
  := h
theorem _root_.rooted (n : Nat) : n = n := aux n
where aux (m : Nat) : m = m := rfl
theorem inj : True := trivial
theorem unproved : 1 < 2 := by sorry
theorem uses : 1 < 2 := unproved
mutual
theorem m : True := trivial
theorem n : True := trivial
end
"""


def named(found: Outline, name: str) -> OutlinedTheorem:
    (theorem,) = [t for t in found.theorems if t.name == name]
    return theorem


async def test_places_and_statements(lean_pool: Pool) -> None:
    found = await outline(lean_pool, GOOD)
    assert found.bad == ()
    heads = {
        t.name: (
            GOOD[t.start : t.cut[0]],
            GOOD[t.cut[0] : t.cut[1]],
            GOOD[t.cut[1] : t.signature_end].strip(),
        )
        for t in found.theorems
    }
    assert heads["a"] == ("", "/-- doc → -/\n@[simp]", "theorem a (n : Nat) : n + 0 = n")
    opened = "protected theorem opened (n : Nat) : succ n = n + 1"
    assert heads["A.B.opened"] == ("open Nat in\n", "/-- doc -/ @[simp, grind =]", opened)
    assert heads["A.B.eqs"] == ("", "", "theorem eqs : ∀ n : Nat, 0 ≤ n")
    assert heads["A.B.auto"][2] == "theorem auto (n : Nat) (h : n = n := by simp) : n = n"
    assert heads["rooted"][2] == "theorem _root_.rooted (n : Nat) : n = n"
    length = named(found, "A.B.len")
    assert length.statement == "∀ {α : Type u} (xs : List α), (xs ++ xs).length = xs.length + xs.length"
    assert length.size > named(found, "A.B.inj").size == 1
    assert GOOD[length.signature_end : length.end] == " := by simp"


async def test_what_is_said_of_theorems(lean_pool: Pool) -> None:
    found = await outline(lean_pool, GOOD)
    assert [t.name for t in found.theorems if t.private] == ["A.B.hidden"]
    assert [t.name for t in found.theorems if t.sorry] == ["A.B.unproved"]
    assert [t.name for t in found.theorems if t.mutual] == ["A.B.m", "A.B.n"]
    assert [t.name for t in found.theorems if t.error] == ["A.B.m", "A.B.n"]


BAD = """theorem a : 1 = 2 := by rfl
theorem b : 1 = 2 := a
theorem c : 1 = := rfl
  rubbish
theorem d : 2 = 2 := by rfl
lemma e : 1 = 1 := rfl
theorem f : 3 = 3 := rfl
theorem f : 3 = 3 := rfl
def x : Nat := sorry
theorem g : x = x := rfl
def y.z : Nat := "no"
theorem h : y.z = 1 := rfl
theorem i : 1 = 1 := by
  simp at
"""


async def test_a_bad_command_costs_itself_and_what_rests_on_it(lean_pool: Pool) -> None:
    found = await outline(lean_pool, BAD)
    errors = [(t.name, t.error.split("\n")[0]) for t in found.theorems]
    assert [name for name, error in errors if not error] == ["d", "f"]
    told = [error for _, error in errors if error]
    assert told[0].startswith("1:24: Tactic `rfl` failed")
    assert told[1] == "2:21: Unknown identifier `a`"
    assert told[2].startswith("3:15: unexpected token")
    assert told[3] == "8:8: `f` has already been declared"
    assert told[4] == "its statement rests on sorry"
    assert told[5] == "12:12: Unknown identifier `y.z`"
    lines = BAD.splitlines()
    stretches = [BAD[bad.start : bad.end].split("\n")[0] for bad in found.bad]
    assert stretches == [lines[k] for k in (0, 1, 2, 5, 7, 10, 11, 12)]
    assert "rubbish" in BAD[found.bad[2].start : found.bad[2].end]


async def test_the_file_without_the_bad_stretches_is_good(lean_pool: Pool) -> None:
    body = BAD
    for bad in (await outline(lean_pool, BAD)).bad:
        body = body[: bad.start] + " " * (bad.end - bad.start) + body[bad.end :]
    found = await outline(lean_pool, body)
    assert found.bad == ()
    assert [t.name for t in found.theorems] == ["d", "f", "g"]


async def test_carriage_returns_are_counted(lean_pool: Pool) -> None:
    source = GOOD.replace("\n", "\r\n")
    for theorem in (await outline(lean_pool, source)).theorems:
        text = source[theorem.cut[1] : theorem.signature_end]
        assert text.strip().startswith(("theorem", "protected", "private"))
        assert source[theorem.signature_end :].lstrip().startswith((":=", "|", "--", "end", "theorem"))


# Lean keeps what it made of the text before, for one that begins like it.
LIKE_THE_ONE_BEFORE = [
    "def f := 1\ndef g := f\ndef k := g\ntheorem t : k = 1",
    "def f := 1\ndef g := f\ndef k := g + 1\ntheorem t : k = 2",
    "def f := 1\ndef g := f +\n  2\ndef k := g\ntheorem t : k = 3",
    "def f := 2\ndef g := f\ndef k := g\ntheorem t : k = 2",
    "def f := 2\n-- def g\ndef g := f\ndef k := g\ntheorem t : k = 2",
    "def f := 2\nnamespace A\ndef g := f\nend A\ndef k := A.g\ntheorem t : k = 2",
    "def f := 2\nnamespace A\ndef g := f\nend A\nopen A\ndef k := g\ntheorem t : k = 2",
]


async def test_what_two_texts_share_and_what_not(lean_pool: Pool) -> None:
    async with open_session(lean_pool) as session:
        for text in LIKE_THE_ONE_BEFORE:
            state = await session.start(Theorem("t", TheoremText(text)))
            assert isinstance(await session.apply(state, "rfl"), Closed), text

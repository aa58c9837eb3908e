"""Who has Mathlib in mind is told that it is not there; who has not is left alone."""

from __future__ import annotations

import pytest

from burnqed.lean.mathlib_words import mathlib_hint
from tests.lean.honest import HONEST


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("theorem t (x : ℝ) : x + 0 = x := by simp", "ℝ"),
        ("∀ z : ℂ, z = z", "ℂ"),
        ("lemma t : 1 = 1 := rfl", "lemma"),
        ("theorem t : 1 + 1 = 2 := by norm_num", "norm_num"),
        ("theorem t (s : Finset Nat) : s = s := rfl", "Finset"),
        ("theorem t : ∑ i, i = 0 := rfl", "∑"),
        ("theorem t (a b : Int) : (a + b) ^ 2 = a * a := by\n  ring_nf", "ring_nf"),
        ("theorem t : Real.sqrt 4 = 2 := sorry", "Real.sqrt"),
        ("theorem t : Nat.Prime 2 := by decide", "Nat.Prime"),
        ("open BigOperators Finset", "BigOperators"),
    ],
)
def test_what_only_mathlib_has(text: str, word: str) -> None:
    hint = mathlib_hint(text, failed=True)
    assert hint.startswith(f"`{word}` is from Mathlib")
    assert "`import Mathlib` and --project" in hint
    assert mathlib_hint(f"import Mathlib\n{text}", failed=True) == ""
    assert mathlib_hint(text, True, ["Init", "Mathlib.Tactic"]) == ""


def test_a_letter_that_stands_for_any_type_is_told_without_an_error() -> None:
    assert "any type" in mathlib_hint("theorem t (x : ℝ) : x = x := rfl", failed=False)
    assert mathlib_hint("theorem t : 1 = 1 := by ring", failed=False) == ""


@pytest.mark.parametrize(
    "text",
    [
        "structure Set where\n  ring : Nat\n\ntheorem t (s : Set) : s.ring = 1 := rfl",
        "-- ℝ, by linarith\ntheorem t : 1 = 2 := rfl",
        'theorem t : "ℝ" = "" := rfl',
        "theorem t (use : Nat) : use = 1 := by omega",
        "import «--x»",
    ],
)
def test_what_is_none_of_mathlibs(text: str) -> None:
    assert mathlib_hint(text, failed=True) == ""


def test_honest_files_need_none_of_it() -> None:
    told = {case.name: mathlib_hint(case.source, failed=False) for case in HONEST}
    assert not any(told.values())

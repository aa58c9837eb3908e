"""Which tactics of a text are Mathlib's: wherever they stand, and only where a tactic stands."""

from __future__ import annotations

import pytest

from burnqed.lean.pool import Pool
from burnqed.lean.tactic_words import CORE, MATHLIB, beginnings, mathlib_tactics
from burnqed.lean.toolchain import Toolchain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("linarith [h]", ["linarith"]),
        ("cases' h with x y", ["cases'"]),
        ("by_contra! h", ["by_contra!"]),
        ("sz_positivity", ["sz_positivity"]),  # one that nobody has listed
        ("simp <;> ring_nf", ["ring_nf"]),
        ("constructor <;> (intro x; nlinarith)", ["nlinarith"]),
        ("have h : a = b := by positivity", ["positivity"]),
        ("exact f (by my_macro) (by simp)", ["my_macro"]),
        ("first | omega | linarith | norm_num", ["linarith", "norm_num"]),
        ("· linarith", ["linarith"]),
        (". ring", ["ring"]),
        ("have h : a := by\n  simp\n  linarith", ["linarith"]),
        ("obtain ⟨x, hx⟩ := h\n· use x\n  ring", ["use", "ring"]),
        ("calc\n  a = b := by ring\n  _ = c := by gcongr", ["ring", "gcongr"]),
        ("case inl h => field_simp", ["field_simp"]),
        ("try (push_neg)", ["push_neg"]),
        ("all_goals my_macro", ["my_macro"]),
        ("iterate 3 my_macro", ["my_macro"]),
        ("(norm_num; simp)", ["norm_num"]),
        ("simp -- as linarith\n  ring", ["ring"]),
        ("by -- why\n  my_macro", ["my_macro"]),
    ],
)
def test_mathlibs_tactics_are_found(text: str, found: list[str]) -> None:
    assert list(mathlib_tactics(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "simp [ring, linarith] at *",
        "rcases h with ⟨x, hx⟩ | h",
        "obtain ⟨use, group⟩ := h",
        "rintro x ⟨y, rfl⟩",
        "exact Nat.choose_symm (set := s)",
        "refine ⟨fun h => h.trans ?_, fun group => group.1⟩",
        "refine fun group => group",
        "have : P :=\n  .comp h (g.mono hx)",
        "cases h with\n| rel a b => simp\n| z => rfl",
        "rw [iterate f a, (f.iterate _).symm]",
        "induction n with\n| zero => simp\n| f «by» ny => rfl",
        'exact foo "by linarith"',
        "simp only [\n  group,\n  set]",
        "exact h (· + 1) |bound a|",
        "constructor <;> first | omega | grind",
        "show x = y from by simp",
        "",
    ],
)
def test_what_core_lean_can_say_is_left_alone(text: str) -> None:
    assert mathlib_tactics(text) == ()


@pytest.mark.lean
async def test_lean_knows_the_same_words(toolchain: Toolchain) -> None:
    """Each word of the table, and none of Mathlib's."""
    async with (
        Pool(toolchain.launch(["Init", "Std", "Lean"]), 1) as pool,
        pool.lease() as worker,
    ):
        found = await beginnings(worker, sorted(CORE | MATHLIB))
    assert found == CORE

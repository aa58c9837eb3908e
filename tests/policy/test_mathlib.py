# ruff: noqa: E501 (a goal is a line)
"""Rules that speak of Mathlib's tactics: what they propose where, and that they do so nowhere else."""

from __future__ import annotations

import pytest

from burnqed.core.facts import Data, Facts, Form, Known, Stated
from burnqed.core.types import Goal, Hypothesis
from burnqed.lean.tactic_words import mathlib_tactics
from burnqed.policy.candidates import candidates_of
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.portfolio.mathlib import TACTICS
from burnqed.policy.portfolio.mathlib.inequalities import known_of, products_of, squares_of
from burnqed.policy.portfolio.portfolio import rate
from burnqed.policy.portfolio.reading import Reading, on_one_line

FEW = 14  # candidates, of which one is to be the one that is looked for


def goal(target: str, **hypotheses: str) -> Goal:
    return Goal("g", target, tuple(Hypothesis(name, type) for name, type in hypotheses.items()))


XY = {"x": "ℝ", "y": "ℝ"}
ABC = {"a": "ℝ", "b": "ℝ", "c": "ℝ", "ha": "0 < a", "hb": "0 < b", "hc": "0 < c"}
CASES: dict[str, tuple[Goal, str]] = {
    "an identity": (goal("(x + y) ^ 2 = x ^ 2 + 2 * x * y + y ^ 2", **XY), "ring"),
    "a number": (goal("(2 : ℝ) / 4 = 1 / 2"), "norm_num"),
    "linear": (goal("x ≤ 3", **XY, h="x + y ≤ 3", g="0 ≤ y"), "linarith"),
    "a system": (goal("x = 4", **XY, h="x + y = 7", g="x - y = 1"), "linarith"),
    "a combination": (goal("x * y = 12", **XY, h="x * y = 10 + 2"), "linear_combination h"),
    "squares": (
        goal("2 * x * y ≤ x ^ 2 + y ^ 2", **XY),
        "nlinarith [sq_nonneg (x - y), sq_nonneg (x - 1), sq_nonneg (y - 1), sq_nonneg (x + y)]",
    ),
    "products": (
        goal("0 < a * b * c", **ABC),
        "nlinarith [mul_pos hc hb, mul_pos hc ha, mul_pos hb ha, mul_pos (mul_pos hc hb) ha]",
    ),
    "a sign": (goal("0 ≤ x ^ 2 + y ^ 2", **XY), "positivity"),
    "quotients": (goal("x / y + y / x = (x ^ 2 + y ^ 2) / (x * y)", **XY), "field_simp\nring"),
    "multiplied out": (
        goal("x / y ≤ 1", **XY, h="0 < y", g="x ≤ y"), "rw [div_le_iff₀ (by positivity)]\nlinarith"
    ),
    "monotone": (goal("x ^ 3 + 1 ≤ y ^ 3 + 1", **XY, h="x ≤ y", g="0 ≤ x"), "gcongr"),
    "an absolute value": (
        goal("|x - 1| ≤ 2", **XY, h="-1 ≤ x", g="x ≤ 3"), "rw [abs_le]\nconstructor <;> linarith"
    ),
    "roots": (goal("x = 2 ∨ x = 3", **XY, h="(x - 2) * (x - 3) = 0"), "rcases mul_eq_zero.mp h with h1 | h1"),
    "cases": (
        goal("n = 3 ∨ n = 5", n="ℕ", h="2 < n", g="n < 6", i="n % 2 = 1"), "interval_cases n <;> simp_all"
    ),
    "values of a type": (goal("k * k = k", k="Fin 2"), "fin_cases k <;> simp_all"),
    "a cast": (goal("(↑(m + n) : ℝ) = ↑m + ↑n", m="ℕ", n="ℕ"), "push_cast\nring"),
    "back from a cast": (goal("m < n", m="ℕ", n="ℕ", h="(↑m : ℝ) < ↑n"), "exact_mod_cast h"),
    "a negation": (goal("∃ k, f k ≠ 0", f="ℕ → ℕ", h="¬∀ k, f k = 0"), "push_neg at h"),
    "both": (goal("x ≤ 2 ∧ 0 ≤ x ^ 2", **XY, h="x ≤ 1"), "refine ⟨?_, ?_⟩ <;> linarith"),
    "a witness": (goal("∃ z : ℝ, z ^ 2 = 4 ∧ 0 < z"), "exact ⟨2, by norm_num⟩"),
    "between": (
        goal("∃ z : ℝ, x < z ∧ z < y", **XY, h="x < y"), "exact ⟨((x + y) / 2), by constructor <;> linarith⟩"
    ),
    "a sum": (
        goal("∑ i ∈ Finset.range (n + 1), (2 * i + 1) = (n + 1) ^ 2", n="ℕ"),
        "induction n with\n| zero => simp\n| succ n ih =>\n  rw [Finset.sum_range_succ, ih]\n  ring",
    ),
    "sets": (goal("s ∩ t = t ∩ s", s="Set α", t="Set α"), "ext x\naesop"),
    "an inclusion": (goal("s ∩ t ⊆ s", s="Set α", t="Set α"), "intro x h"),
    "continuity": (goal("Continuous fun x => x + 1"), "fun_prop"),
    "logic": (goal("p ∧ q → q ∧ p", p="Prop", q="Prop"), "tauto"),
    "a factorial": (goal("Nat.factorial 4 = 24"), "norm_num [Nat.factorial]"),
    "complex numbers": (goal("z = w", z="ℂ", w="ℂ", h="z.re = w.re"), "apply Complex.ext <;> simp"),
}  # fmt: skip
MORE = (
    goal("a * b = b * a", a="G", b="G"), goal("MeasurableSet s", s="Set ℝ"), goal("Continuous f", f="ℝ → ℝ"),
    goal("x < y", **XY, h="¬y ≤ x"), goal("m ≤ n", m="ℕ", n="ℕ", h="(↑m : ℤ) ≤ ↑n"),
    goal("∃ n, n > m", m="ℕ"),
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_there_for_a_goal(name: str) -> None:
    about, wanted = CASES[name]
    tactics = [one.tactic for one in candidates_of(rate(about, TACTICS), FEW, 0.0, 0)]
    assert wanted in tactics


@pytest.mark.parametrize("name", CASES)
def test_without_mathlib_nothing_of_it(name: str) -> None:
    """And with it, what the other rules say stays as it is."""
    about, _ = CASES[name]
    plain = rate(about)
    assert not {word for tactic, _ in plain for word in mathlib_tactics(tactic)}
    assert rate(about, TACTICS)[: len(plain)] == plain


def test_only_what_lean_has_is_said() -> None:
    about, _ = CASES["squares"]
    more = {tactic for tactic, _ in rate(about, {"norm_num"})} - {tactic for tactic, _ in rate(about)}
    assert "norm_num" in more
    assert {word for tactic in more for word in mathlib_tactics(tactic)} == {"norm_num"}


def test_lean_is_asked_for_what_is_said_and_for_nothing_else() -> None:
    every = TACTICS | {"unheard_of"}
    about = [*(one for one, _ in CASES.values()), *MORE]
    said = {word for one in about for tactic, _ in rate(one, every) for word in mathlib_tactics(tactic)}
    assert said == TACTICS


def test_what_lean_says_of_types_counts() -> None:
    """By the head of a type, whatever it prints as: here as an abbreviation of somebody's."""
    form = Form("le", 0, 11, (Form("term", 0, 1), Form("term", 4, 11)))
    facts = Facts(Stated(form), (Known(data=Data("Real", True)),))
    told = Goal("g", "t ≤ t ^ 2+1", (Hypothesis("t", "Time"),), facts=facts)
    assert squares_of(Reading(told))[0] == "sq_nonneg (t)"
    untold = Goal("g", "t ≤ t ^ 2+1", (Hypothesis("t", "Time"),))
    assert squares_of(Reading(untold)) == []


def test_natural_numbers_have_no_differences() -> None:
    r = Reading(goal("2 * m * n ≤ m ^ 2 + n ^ 2", m="ℕ", n="ℕ", h="0 < m", k="0 < n"))
    assert squares_of(r) == []
    assert products_of(r) == ["mul_pos k h"]


def test_hints_of_each_kind() -> None:
    r = Reading(goal("√x * |y| ≤ π", **XY, h="0 ≤ x", g="1 ≤ y", k="y < 2"))
    assert "Real.sqrt_nonneg x" in known_of(r)
    assert "Real.pi_gt_three" in known_of(r)
    assert "abs_nonneg (y)" in known_of(r)
    assert "mul_nonneg (sub_nonneg.mpr k.le) (sub_nonneg.mpr g)" in products_of(r)
    assert "mul_nonneg h (sub_nonneg.mpr g)" in products_of(r)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ℕ → ℤ", "Nat → Int"), ("(q : ℚ)", "(q : Rat)"), ("ℝ", "ℝ"), ("List ℕ", "List Nat"),
        ("ℕ∞", "ℕ∞"), ("ℕ+", "ℕ+"), ("ℚ≥0", "ℚ≥0"), ("ℤ√2", "ℤ√2"), ("ℤ_[p]", "ℤ_[p]"), ("xℕ", "xℕ"),
    ],
)  # fmt: skip
def test_letters_of_types(text: str, read: str) -> None:
    assert on_one_line(text) == read


async def test_the_policy_says_what_the_rules_do() -> None:
    about, wanted = CASES["an identity"]
    (found,) = await Portfolio(TACTICS).propose([[about]], FEW, 0.0, 0)
    assert wanted in [one.tactic for one in found]
    (found,) = await Portfolio().propose([[about]], 1000, 0.0, 0)
    assert wanted not in [one.tactic for one in found]

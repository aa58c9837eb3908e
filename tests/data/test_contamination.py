"""Cheats are words, and a statement is known again in the state that its proof begins with."""

from __future__ import annotations

import pytest

from burnqed.data.cheats import cheats
from burnqed.data.contamination import held_out, state_keys, statement_key
from burnqed.data.index import parse_index


@pytest.mark.parametrize(
    "tactic",
    [
        "sorry", "admit", "cheat", "exact sorry", "first | simp | sorry", "· sorry",
        "cases h <;> (try simp) <;> admit", "have h : p := by sorry", "refine ⟨?_, sorry⟩",
        "exact (sorry : p)", "exact @sorryAx _ true",
        "simp [foo]; sorry -- done", "all_goals { sorry }", "exact s!\"{sorry}\"",
    ],
)  # fmt: skip
def test_a_cheat_is_found_wherever_it_stands(tactic: str) -> None:
    assert cheats(tactic)


@pytest.mark.parametrize(
    "tactic",
    [
        "exact sorry_free", "simp [not_sorry, admits]", "rw [Foo.sorry]", "exact admitted h",
        "simp -- sorry", "/- sorry -/ rfl", 'exact "sorry"', "exact «sorry»", "exact sorry'",
        "apply cheating", "exact h.admit",
    ],
)  # fmt: skip
def test_other_words_are_no_cheats(tactic: str) -> None:
    assert not cheats(tactic)


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("theorem t (n : ℕ) (h : 0 < n) : n ≠ 0 := by sorry", "n : ℕ\nh : 0 < n\n⊢ n ≠ 0"),
        ("theorem t (n : ℕ) (h : 0 < n) :\n  n ≠ 0 := by", "m : ℕ\nh₀ : 0 < m\n⊢ m ≠ 0"),
        ("∀ n : Nat, 0 < n → n ≠ 0", "n : Nat\nh : 0 < n\n⊢ n ≠ 0"),
        ("∀ (n m : Nat), n + m = m + n", "⊢ ∀ (n m : Nat), n + m = m + n"),
        ("forall n m : Nat, n <= m -> n < m + 1", "n m : ℕ\n⊢ n ≤ m → n < m + 1"),
        (
            "lemma t.{u} {G : Type u} [Group G] (a b : G) : (a * b)⁻¹ = b⁻¹ * a⁻¹",
            "G : Type u\ninst✝ : Group G\na b : G\n⊢ (a * b)⁻¹ = b⁻¹ * a⁻¹",
        ),
        (
            "theorem t (x : ℝ) (n : ℕ) (h : (n : ℝ) = x) : x = (2:ℝ) * x / 2",
            "x : ℝ\nn : ℕ\nh : ↑n = x\n⊢ x = 2 * x / 2",
        ),
        (
            "theorem t (f : ℕ → ℕ) (h : ∀ n, ∀ m ∈ s, f n < f m) : ∃ x ∈ s, f x = 0",
            "s : Set ℕ\nf : ℕ → ℕ\nh : ∀ (n m : ℕ), m ∈ s → f n < f m\n⊢ ∃ x, x ∈ s ∧ f x = 0",
        ),
        ("theorem t : ∃ x : ℕ, ∃ (y : ℕ), x < y", "⊢ ∃ a b, a < b"),
        ("theorem t (xs : List α) : xs ++ [] = xs", "α : Type u_1\nxs : List α\n⊢ xs ++ [] = xs"),
        (
            "theorem t (a b : G) : a * b = b * a",
            "G : Type u_1\ninst✝ : CommGroup G\na b : G\n⊢ a * b = b * a",
        ),
        ("theorem t {α : Type*} (x : α) : x = x", "α : Type u_3\nx : α\n⊢ x = x"),
        ("theorem t (p q : Prop) : p → (p ↔ q) → q", "p q : Prop\nhp : p\nh : p ↔ q\n⊢ q"),
        (
            "/-- A theorem. -/ @[simp] theorem t (f : ℕ → ℕ) : f = fun x => f x",
            "f : ℕ → ℕ\n⊢ f = fun x ↦ f x",
        ),
        (
            "theorem t (s : Finset ℕ) : ∀ x ∈ s, x ≥ 0 := by\n  intro x hx\n  omega",
            "case a\ns : Finset ℕ\n⊢ ∀ x ∈ s,\n    x ≥ 0\n\ncase b\n⊢ True",
        ),
    ],
)  # fmt: skip
def test_a_statement_is_known_in_its_first_state(statement: str, state: str) -> None:
    assert statement_key(statement) in state_keys(state)


@pytest.mark.parametrize(
    ("statement", "state"),
    [
        ("theorem t (a b c : ℕ) : a * (b + c) = 1", "a b c : ℕ\n⊢ a * b + c = 1"),
        ("theorem t (n : ℕ) : n = n", "n : ℤ\n⊢ n = n"),
        ("theorem t (n m : ℕ) : n - m = 0", "n m : ℕ\n⊢ m - n = 0"),
        ("theorem t (n : ℕ) (h : 0 < n) : n ≠ 0", "n : ℕ\n⊢ n ≠ 0"),
        ("theorem t : sin π = 0", "⊢ sin e = 0"),
        ("theorem t (h : p) : q", "p q : Prop\n⊢ q"),
        ("theorem t (p q : Prop) : (p → q) → p", "p q : Prop\n⊢ p → q → p"),
    ],
)
def test_other_statements_are_other_ones(statement: str, state: str) -> None:
    assert statement_key(statement) not in state_keys(state)


def test_no_text_is_too_odd() -> None:
    for text in (
        "",
        "theorem",
        "theorem t",
        "⊢",
        "((((",
        "∀",
        "∀ x",
        ")" * 5,
        "(" * 5000,
        "∃ (",
        "fun",
    ):
        assert statement_key(text) == statement_key(text)
        assert state_keys(text) == state_keys(text)


def test_every_set_is_known_by_name_and_statement() -> None:
    given = {
        "name": "s",
        "theorems": [
            {"name": "a", "statement": "∀ n : Nat, n = n"},
            {"name": "b", "error": "it cannot be read"},
            {"name": "Nat.c", "constant": "Nat.c", "statement": "∀ (n : Nat), n ≤ n"},
        ],
    }
    held = held_out([parse_index("s", "s", given)])
    assert set(held.names) == {"a", "b", "Nat.c"}
    assert held.has_state("k : Nat\n⊢ k ≤ k") == ("s", "Nat.c")
    assert held.has_statement("theorem other (k : ℕ) : k = k := rfl") == ("s", "a")
    assert held.has_state("k : Nat\n⊢ k < k") is None

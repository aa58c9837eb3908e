"""What propositions about numbers come to, and how much is computed for them."""

from __future__ import annotations

import time

import pytest

from burnqed.policy.portfolio.arithmetic import Kind
from burnqed.policy.portfolio.fitting import claim_of, counterexample, numbers_for, terms_for
from burnqed.policy.portfolio.truth import Effort, truth_of
from tests.policy.test_reading import read, said

KINDS: dict[str, Kind] = {"n": "Nat", "m": "Nat"}


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("n < m ∧ m ∣ 12", True),
        ("n < m ∧ m ∣ 13", False),
        ("m < n ∨ n % 2 = 1", True),
        ("¬ n = 3", False),
        ("n = 3 ↔ m = 4", True),
        ("n = 3 → m = 5", False),
        ("n - m = 0", True),
        ("n ∈ [1, n, 7]", True),
        ("m ∈ [1, 2]", False),
        ("n < m ∧ p n", None),
        ("m < n ∧ p n", False),
        ("n < m ∨ p n", True),
        ("p n", None),
    ],
)
def test_a_proposition_holds_or_not_or_cannot_be_told(text: str, truth: bool | None) -> None:
    assert truth_of(said(text), KINDS, Effort())({"n": 3, "m": 4}) is truth


def test_what_is_spent_says_nothing() -> None:
    effort = Effort(left=1)
    test = truth_of(said("n = n"), KINDS, effort)
    assert test({"n": 1}) is True
    assert test({"n": 1}) is None


@pytest.mark.parametrize(
    ("target", "hypotheses", "found"),
    [
        ("∀ (n : Nat), n * n + n + 41 ≠ 1681", [], {"n": 40}),
        ("n * n < 2000", ["n : Nat", "h : n % 2 = 1"], {"n": 45}),
        ("∀ (a : Nat), a > 5 → ¬ a = 6", [], {"a": 6}),
        ("∀ (n : Nat), n < n + 1", [], None),
        ("∀ (n : Nat), p n → n < 5", [], None),  # the premise may be false
        ("∀ (n : Nat) (s : String), n < 5", [], None),  # nothing is known of the string
    ],
)
def test_values_against_a_statement(
    target: str, hypotheses: list[str], found: dict[str, int] | None
) -> None:
    assert counterexample(read(target, *hypotheses)) == found


@pytest.mark.parametrize(
    "target",
    [
        "∃ a b c d, a * b * c * d = 5039 ∧ 1 < a ∧ a < b ∧ b < c ∧ c < d",
        "∃ x, ∀ (z : Nat), ∀ (w : Nat), ∀ (v : Nat), ∀ (u : Nat), x * z + w * v * u = z",
        "∃ x y z, x * a + y * b + z * c = a * b * c + 1 ∧ x * y = z + 5",
    ],
)
def test_a_search_that_finds_nothing_ends_soon(target: str) -> None:
    """13 values for each of five quantifiers would be 371,293 comparisons, a minute and more."""
    found = claim_of(read(target, "a b c : Nat"))
    assert found is not None
    begun = time.process_time()
    assert not list(numbers_for(found[1]))
    assert not list(terms_for(found[1]))
    assert time.process_time() - begun < 3

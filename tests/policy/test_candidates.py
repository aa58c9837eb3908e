"""Ratings into a distribution: what a search adds up as log-probabilities must be ones."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.types import Candidate
from burnqed.policy.candidates import Rated, Sample, candidates_from, candidates_of
from burnqed.policy.prompt import FORMATS

RATED = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.floats(-50, 50, allow_nan=False)), max_size=30
)
EVEN: list[Rated] = [(f"t{i}", 0.0) for i in range(12)]


def everything(rated: list[Rated]) -> list[Candidate]:
    return candidates_of(rated, len(rated), 0.0, 0)


@given(RATED)
def test_the_whole_sums_to_one(rated: list[Rated]) -> None:
    found = everything(rated)
    assert [c.tactic for c in found] == list(dict.fromkeys(c.tactic for c in found)), "distinct"
    assert {c.tactic for c in found} == {tactic for tactic, _ in rated}
    assert all(c.logprob <= 0 and c.length == 1 for c in found)
    if rated:
        assert math.fsum(math.exp(c.logprob) for c in found) == pytest.approx(1)


@given(RATED, st.integers(1, 12))
def test_cutting_does_not_change_the_probabilities(rated: list[Rated], n: int) -> None:
    assert candidates_of(rated, n, 0.0, 0) == everything(rated)[:n]


@given(RATED, st.integers(1, 12), st.sampled_from([0.0, 0.5, 1.0, 20.0]), st.integers())
def test_the_likeliest_come_first(rated: list[Rated], n: int, temperature: float, seed: int) -> None:
    """Also of a sample, whose probabilities are those of the whole: nothing is made up for it."""
    found = candidates_of(rated, n, temperature, seed)
    assert found == sorted(found, key=lambda c: (-c.logprob, c.tactic))
    assert set(found) <= set(everything(rated))
    assert len(found) == len(set(found)) == min(n, len({tactic for tactic, _ in rated}))


@given(RATED, st.floats(-30, 30))
def test_only_differences_of_weights_count(rated: list[Rated], shift: float) -> None:
    moved = {c.tactic: c.logprob for c in everything([(t, w + shift) for t, w in rated])}
    assert moved == pytest.approx({c.tactic: c.logprob for c in everything(rated)}, abs=1e-6)


@given(RATED)
def test_the_order_of_the_rules_does_not_matter(rated: list[Rated]) -> None:
    again = {c.tactic: c.logprob for c in everything(rated[::-1])}
    assert again == pytest.approx({c.tactic: c.logprob for c in everything(rated)}, abs=1e-9)


def test_a_tactic_that_two_rules_have_gets_both_weights() -> None:
    found = everything([("simp", math.log(1)), ("omega", math.log(2)), ("simp", math.log(5))])
    assert [c.tactic for c in found] == ["simp", "omega"]
    assert [math.exp(c.logprob) for c in found] == pytest.approx([6 / 8, 2 / 8])


def test_nothing_rated_is_nothing_proposed() -> None:
    assert candidates_of([], 5, 0.0, 0) == candidates_of([], 5, 1.0, 0) == []


def test_without_temperature_the_seed_is_not_used() -> None:
    assert candidates_of(EVEN, 5, 0.0, 1) == candidates_of(EVEN, 5, 0.0, 2)


@given(st.integers())
def test_the_same_seed_gives_the_same_sample(seed: int) -> None:
    assert candidates_of(EVEN, 5, 1.0, seed) == candidates_of(EVEN, 5, 1.0, seed)


def test_seeds_give_other_samples() -> None:
    samples = {tuple(candidates_of(EVEN, 4, 1.0, seed)) for seed in range(30)}
    assert len(samples) > 20


def test_a_sample_follows_the_weights_and_the_temperature() -> None:
    """Of two tactics one is 9 times as likely; a high temperature makes them alike."""
    rated = [("likely", math.log(9)), ("seldom", 0.0)]

    def share(temperature: float) -> float:
        drawn = [candidates_of(rated, 1, temperature, seed)[0].tactic for seed in range(600)]
        return drawn.count("likely") / len(drawn)

    assert share(1.0) == pytest.approx(0.9, abs=0.05)
    assert share(1000.0) == pytest.approx(0.5, abs=0.08)
    assert share(0.05) == 1.0


def test_samples_become_candidates_that_sum_to_one() -> None:
    said = [
        Sample("simp", math.log(0.2), 2),
        Sample("omega", math.log(0.1), 3),
        Sample("simp", math.log(0.2), 2),  # drawn once more: the same event
        Sample(" omega\n", math.log(0.1), 4),  # other tokens, the same tactic
        Sample("rw [Nat.add_comm", math.log(0.5), 64, ended=False),
        Sample("  ", math.log(0.3), 1),
    ]
    found = candidates_from(FORMATS["deepseek"], said, 8)
    assert [(c.tactic, c.length) for c in found] == [("omega", 3), ("simp", 2)]
    assert [c.logprob for c in found] == pytest.approx([math.log(0.5), math.log(0.5)])
    assert [c.tactic for c in candidates_from(FORMATS["deepseek"], said, 1)] == ["omega"]
    assert candidates_from(FORMATS["deepseek"], said[4:], 8) == []


def test_a_sample_ends_where_its_format_says() -> None:
    said = [Sample("simp\n```\nmore", -1.0, 9), Sample("simp", -2.0, 2)]
    found = candidates_from(FORMATS["deepseek"], said, 8)
    assert found == [Candidate("simp", 0.0, 2)]

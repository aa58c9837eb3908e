"""Splits: where a theorem falls is decided by its name alone."""

from __future__ import annotations

from collections import Counter

import pytest

from burnqed.core.errors import InputError
from burnqed.data.splits import SHARES, SPLITS, read_shares, split_of

NAMES = [f"Mathlib.Group{i % 97}.theorem_{i}" for i in range(20_000)]


def test_the_shares_come_out() -> None:
    """Three standard deviations of 20,000 throws are 0.6 of a hundred."""
    counts = Counter(split_of(name) for name in NAMES)
    for split, share in zip(SPLITS, SHARES, strict=True):
        assert 100 * counts[split] / len(NAMES) == pytest.approx(share, abs=0.6)


def test_names_that_differ_by_little_fall_apart() -> None:
    """Else a family of theorems, numbered through, would be in one split as a whole."""
    for family in ("aime_1983_p{}", "Nat.add_{}", "{}"):
        halves = Counter(split_of(family.format(i), (50, 25, 25)) for i in range(400))
        assert halves["train"] == pytest.approx(200, abs=40)
        assert set(halves) == set(SPLITS)


def test_a_split_is_the_same_tomorrow() -> None:
    """What one version of burn-qed trains on must not be another version's test."""
    found = [split_of(name) for name in ("Nat.add_comm", "∀ ü", "t11", "t14", "t60", "t104")]
    assert found == ["train", "train", "test", "test", "val", "val"]


def test_growing_the_first_share_moves_none_out_of_it() -> None:
    """The larger training set holds the smaller one; what was looked at becomes no test."""
    last = [split_of(name, (0, 50, 50)) for name in NAMES]
    assert "train" not in last
    for train in (10.0, 60.0, 90.0, 99.0, 100.0):
        rest = (100 - train) / 2
        now = [split_of(name, (train, rest, rest)) for name in NAMES]
        moved = {(a, b) for a, b in zip(last, now, strict=True) if a != b}
        assert moved <= {("val", "train"), ("test", "train"), ("test", "val")}
        last = now
    assert set(last) == {"train"}


def test_shares_are_parts_and_need_not_be_a_hundred() -> None:
    for name in NAMES[:500]:
        assert split_of(name, (18, 1, 1)) == split_of(name)
        assert split_of(name, (0.9, 0.05, 0.05)) == split_of(name)


@pytest.mark.parametrize("only", range(3))
def test_a_share_of_nothing_gets_nothing(only: int) -> None:
    shares = tuple(float(i == only) for i in range(3))
    assert {split_of(name, shares) for name in NAMES[:2000]} == {SPLITS[only]}


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("90/5/5", (90, 5, 5)),
        (" 80 / 10 / 10 ", (80, 10, 10)),
        ("1/0/0", (1, 0, 0)),
        ("99.5/.25/.25", (99.5, 0.25, 0.25)),
    ],
)
def test_shares_as_people_write_them(text: str, shares: tuple[float, ...]) -> None:
    assert read_shares(text) == shares


@pytest.mark.parametrize(
    "text",
    ["", "90", "90/10", "90/5/5/0", "90,5,5", "a/b/c", "90//5", "0/0/0", "-1/50/51", "nan/5/5",
     "5/nan/5", "inf/1/1", "1e308/1e308/1e308"],
)  # fmt: skip
def test_shares_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="no shares") as caught:
        read_shares(text)
    assert "90/5/5" in caught.value.hint

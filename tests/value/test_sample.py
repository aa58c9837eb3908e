"""The states that an encoder is looked at with: whole theorems, each state once."""

from __future__ import annotations

from dataclasses import replace

from burnqed.value.groups import contrasts
from burnqed.value.sample import sample
from tests.training.searches import search

RUNS = [search(number) for number in range(12)]


def test_every_state_is_there_once_with_its_label() -> None:
    found = contrasts(*RUNS)
    states = sample(found, 10_000, 0)
    assert len(set(states.texts)) == len(states) == len(states.on_path)
    assert [("near" in text) for text in states.texts] == list(states.on_path)
    assert {text for text in states.texts if "near" in text} == {g.positive.text for g in found.groups}
    assert set(states.depths) == {1, 2}
    for positive, sibling in states.pairs:
        assert states.on_path[positive]
        assert not states.on_path[sibling]
        assert states.theorems[positive] == states.theorems[sibling]
        assert states.depths[positive] == states.depths[sibling]
    assert len(states.pairs) == sum(len(group.siblings) for group in found.groups)


def test_theorems_are_drawn_whole() -> None:
    found = contrasts(*RUNS)
    whole = sample(found, 10_000, 0)
    size = {name: whole.theorems.count(name) for name in whole.theorems}
    for most in (1, 20, 40):
        some = sample(found, most, 0)
        assert all(some.theorems.count(name) == size[name] for name in some.theorems)
        assert len(some) <= max(most, max(size.values()))
        assert some == sample(found, most, 0)
    assert len(set(sample(found, 1, 0).theorems)) == 1
    assert len({sample(found, 20, seed).texts for seed in range(4)}) > 1


def test_a_state_with_both_labels_is_counted_and_not_given_up() -> None:
    failed = [row for row in RUNS[0] if not row.on_proof_path and row.label == "negative"]
    lost = next(row.state for row in failed if row.outcome == "rejected")
    proof = [row for row in search(0, steps=2) if row.on_proof_path]
    elsewhere = [
        replace(row, run="other", state=lost if row.depth == 1 else row.state) for row in proof
    ]
    states = sample(contrasts(RUNS[0], elsewhere), 10_000, 0)
    assert states.both == 1
    assert not [i for i, t in enumerate(states.texts) if t == lost and not states.on_path[i]]

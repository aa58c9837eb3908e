"""The order of examples, how steps are cut, and that the loss is on tactics alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from burnqed.policy.models.load import load
from burnqed.policy.prompt import Example, PromptSettings
from burnqed.training.baseline import baseline_loss
from burnqed.training.batches import Order, collate, encode, micro_batches, rows, tactic_tokens
from burnqed.training.loss import TacticLoss
from tests.policy.tiny import Kind, tiny_llama, tiny_tokenizer
from tests.training.samples import pairs

ENDS = ("", "\n/- a remark -/", " ::: x", " ``` y")
LENGTHS = [(i * 37) % 91 + 5 for i in range(203)]


def test_every_example_comes_as_often_as_asked_in_each_epoch() -> None:
    repeats = [3 if i % 10 == 0 else 1 for i in range(203)]
    order = Order(repeats, 8, seed=0)
    assert order.per_epoch == math.ceil(sum(repeats) / 8)
    epochs = [
        [order.step(epoch * order.per_epoch + i) for i in range(order.per_epoch)] for epoch in range(2)
    ]
    for epoch in epochs:
        assert Counter(place for step in epoch for place in step) == Counter(dict(enumerate(repeats)))
        assert sorted(map(len, epoch))[1:] == [8] * (order.per_epoch - 1)
    assert epochs[0] != epochs[1]


def test_the_order_is_a_function_of_seed_and_step() -> None:
    once = [Order([1] * 203, 8, seed=3).step(i) for i in range(60)]
    assert [Order([1] * 203, 8, seed=3).step(i) for i in reversed(range(60))] == once[::-1]
    assert [Order([1] * 203, 8, seed=4).step(i) for i in range(60)] != once


@pytest.mark.parametrize("room", [96, 200, 1000, 10**6])
def test_a_row_has_room_for_its_examples_and_rows_are_alike(room: int) -> None:
    cut = rows(range(203), LENGTHS, room)
    assert sorted(place for row in cut for place in row) == list(range(203))
    filled = [sum(LENGTHS[place] for place in row) for row in cut]
    assert max(filled) <= room
    assert len(cut) <= 1.3 * -(-sum(LENGTHS) // room)
    assert min(filled) >= max(filled) - max(LENGTHS)


def test_an_example_that_is_longer_than_a_row_has_one_of_its_own() -> None:
    assert rows([0, 1, 2], [50, 5, 5], 10) == [[0], [1], [2]]


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_processes_share_a_step(world: int) -> None:
    step, room = tuple(range(10)), 3 * max(LENGTHS)
    cut = [list(micro_batches(step, LENGTHS, room, rank, world)) for rank in range(world)]
    seen = [batch for mine in cut for batch in mine]
    counted = [place for batch, counts in seen if counts for place in batch]
    assert sorted(counted) == list(step)
    # Everybody has something to do, or gradients could not be added up.
    assert all(cut)


def test_long_tactics_are_dropped_and_counted() -> None:
    given = pairs(20)
    encoded = encode(tiny_tokenizer(), PromptSettings("colons", 100, 6), given)
    assert encoded.dropped == 10
    assert [given[place].tactic for place in encoded.places] == ["omega"] * 10


def test_each_pair_is_shown_its_own_tag() -> None:
    """Where the model is shown one at all."""
    one, tokenizer = pairs(1)[0], tiny_tokenizer()
    given = [replace(one, dialect=tag) for tag in ("core", "mathlib", "")]

    def shown(settings: PromptSettings) -> list[str]:
        encoded = encode(tokenizer, settings, given)
        return [str(tokenizer.decode(list(it.ids[: it.prompt_length]))) for it in encoded.examples]

    assert len(set(shown(PromptSettings("colons", 300, 60)))) == 1
    tagged = shown(PromptSettings("colons", 300, 60, "core"))
    assert ["tactics: core" in text for text in tagged] == [True, False, True]
    assert "tactics: mathlib" in tagged[1]


def test_tactics_that_could_never_come_back_are_dropped_and_counted() -> None:
    given = [replace(pair, tactic=f"omega{end}") for pair, end in zip(pairs(4), ENDS, strict=True)]
    for name, kept in (("colons", [0, 1, 3]), ("deepseek", [0, 2]), ("proofstep", [0, 1, 2, 3])):
        encoded = encode(tiny_tokenizer(), PromptSettings(name, 300, 60), given)
        assert (list(encoded.places), encoded.dropped) == (kept, 4 - len(kept))


@pytest.mark.parametrize("kind", ["bytes", "metaspace", "both"])
def test_a_batch_has_the_loss_of_its_examples_one_by_one(tmp_path: Path, kind: Kind) -> None:
    """None sees another, and no token of a prompt is in the loss."""
    loaded = load(tiny_llama(tmp_path / "model", kind=kind), "cpu", "float32")
    encoded = encode(loaded.tokenizer, PromptSettings("deepseek", 300, 40), pairs(9))
    plain = load(tmp_path / "model", "cpu", "float32").model
    module = TacticLoss(loaded.model, torch.float32, 340)
    together, correct = module(collate(encoded.examples, 340))
    expected, right = 0.0, 0
    for one in encoded.examples:
        logits = plain(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        for place in range(one.prompt_length, len(one.ids)):
            expected -= float(logits[place - 1, one.ids[place]])
            right += int(logits[place - 1].argmax()) == one.ids[place]
    assert float(together) == pytest.approx(expected, rel=1e-5)
    assert int(correct) == right
    assert tactic_tokens(encoded.examples) == len(collate(encoded.examples, 340).targets)


def test_the_baseline_is_a_distribution_and_copies() -> None:
    """Over a vocabulary of 8: what is copied is cheap, and all probabilities of a token sum to one."""
    train = [Example((1, 2, 3, 2, 3, 0), 3), Example((4, 5, 5, 4, 5, 0), 3)] * 20
    probabilities = [
        math.exp(-baseline_loss(train, [Example((2, 3, token), 2)], 8)) for token in range(8)
    ]
    assert sum(probabilities) == pytest.approx(1.0)
    copied, common, strange = probabilities[2], probabilities[4], probabilities[7]
    assert copied > common > strange > 0
    # The mean per token, of examples of different lengths.
    mixed = baseline_loss(train, [Example((2, 3, 2, 0), 2), Example((2, 3, 7), 2)], 8)
    single = [-math.log(probabilities[token]) for token in (2, 0, 7)]
    assert mixed == pytest.approx(sum(single) / 3)

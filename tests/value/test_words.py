"""Embeddings of words, and the linear head on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from burnqed.core.errors import InfrastructureError
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import read_head, write_head
from burnqed.value.words import WIDTH, WORDS, WordsEncoder

PLACE_OF_THE_TURNSTILE = 2
STATE = "n : Nat\nh : n < 3\n⊢ n * n < 9"


def embedding(state: str) -> NDArray[np.float32]:
    (row,) = WordsEncoder().encode([state])
    return np.asarray(row)


def test_a_state_is_its_words_wherever_they_stand() -> None:
    assert np.array_equal(embedding("⊢ a = b"), embedding("b ⊢   =\n a"))
    assert not np.array_equal(embedding("⊢ a = b"), embedding("⊢ a ≠ b"))
    assert not np.array_equal(embedding("⊢ a = a"), embedding("⊢ a = a ∧ a = a ∧ a = b"))


def test_names_keep_their_dots_and_daggers() -> None:
    assert not np.array_equal(embedding("⊢ List.map f xs"), embedding("⊢ map List f xs"))
    assert not np.array_equal(embedding("x✝ : Nat"), embedding("x : Nat"))


def test_it_is_the_same_everywhere_and_in_any_company() -> None:
    together = WordsEncoder().encode([STATE, "⊢ True"])
    assert np.array_equal(together[0], embedding(STATE))
    # Pinned: a head that was trained elsewhere means these dimensions. Hash of the word, and no seed.
    assert np.flatnonzero(embedding("⊢")).tolist() == [int(np.argmax(embedding("⊢")))]
    assert int(np.argmax(embedding("⊢"))) == PLACE_OF_THE_TURNSTILE


def test_all_states_weigh_the_same() -> None:
    for state in ("⊢ True", STATE, STATE * 50):
        assert np.linalg.norm(embedding(state)) == pytest.approx(WIDTH**0.5, rel=1e-4)


def test_nothing_to_read_is_an_error() -> None:
    with pytest.raises(InfrastructureError, match="are zero"):
        embedding("  \n")


@pytest.fixture
def linear() -> EnergyHead:
    torch.manual_seed(0)
    return EnergyHead(HeadConfig(WIDTH, conditioned=False, linear=True))


def test_a_linear_head_has_one_layer_of_norm_one(linear: EnergyHead) -> None:
    (layer,) = linear.layers
    weight = layer.get_parameter("parametrizations.weight.original")
    assert weight.shape == (1, WIDTH)
    linear.eval()
    rows = torch.from_numpy(WordsEncoder().encode([STATE]))
    step = torch.autograd.functional.jacobian(lambda row: layer(row), rows)
    assert step.norm().item() == pytest.approx(1, rel=1e-3)
    rows = torch.from_numpy(WordsEncoder().encode([STATE, "⊢ True", "⊢ False"]))
    energies = linear(rows, rows)
    both = linear((rows[1:2] + rows[2:]) / 2, rows[:1])
    assert both.item() == pytest.approx(energies[1:].mean().item(), rel=1e-4)  # so it is linear


def test_a_head_on_words_is_read_back(linear: EnergyHead, tmp_path: Path) -> None:
    write_head(tmp_path, linear, WordsEncoder().name)
    saved = read_head(tmp_path)
    assert (saved.encoder.model, saved.head.config.linear) == (WORDS, True)
    rows = torch.from_numpy(WordsEncoder().encode([STATE]))
    assert torch.equal(saved.head(rows, rows), linear.eval()(rows, rows))

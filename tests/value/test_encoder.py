"""Embeddings against the model's plain forward pass, one state at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.policy.models.load import Loaded, load
from burnqed.policy.prompt import PromptSettings, prompt_ids
from burnqed.value import encoder as module
from burnqed.value.encoder import LocalEncoder, Pooling, checked
from tests.policy.tiny import tiny_llama

STATES = [f"n : Nat\nh : n < {i}\n⊢ " + "n + " * (i % 7) + f"0 < {i}" for i in range(20)]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    found = load(tiny_llama(tmp_path_factory.mktemp("encoder")), "cpu")
    return replace(found, settings=PromptSettings("colons", 96, 8))


def plainly(loaded: Loaded, state: str, pooling: Pooling, layer: int) -> Any:
    ids = torch.tensor([prompt_ids(loaded.tokenizer, loaded.settings, state)])
    with torch.inference_mode():
        hidden = loaded.model.base_model(ids, output_hidden_states=True).hidden_states[layer][0]
    return (hidden.mean(0) if pooling == "mean" else hidden[-1]).numpy()


@pytest.mark.parametrize("pooling", ["mean", "last"])
@pytest.mark.parametrize("layer", [-1, 1])
@pytest.mark.parametrize("room", [1, 4096])
def test_embeddings_are_those_of_each_state_alone(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, pooling: Pooling, layer: int, room: int
) -> None:
    monkeypatch.setitem(module._TOKENS, "cpu", room)
    rows = LocalEncoder(loaded, pooling, layer).encode(STATES)
    assert rows.shape == (len(STATES), 32)
    for row, state in zip(rows, STATES, strict=True):
        assert row == pytest.approx(plainly(loaded, state, pooling, layer), abs=1e-5)
    assert len({row.tobytes() for row in rows}) == len(STATES), "and each is its own"


def test_a_name_changes_with_whatever_changes_an_embedding(loaded: Loaded) -> None:
    others = [
        LocalEncoder(loaded, "last"),
        LocalEncoder(loaded, layer=1),
        LocalEncoder(replace(loaded, identity="another")),
        LocalEncoder(replace(loaded, dtype="bfloat16")),
        LocalEncoder(replace(loaded, settings=PromptSettings("proofstep", 96, 8))),
        LocalEncoder(replace(loaded, settings=PromptSettings("colons", 64, 8))),
        LocalEncoder(replace(loaded, settings=PromptSettings("colons", 96, 8, "core"))),
    ]
    keys = {encoder.name.key for encoder in [LocalEncoder(loaded), *others]}
    assert len(keys) == 8
    asked = [encoder.name.settings for encoder in others[-2:]]
    assert [one.dialect for one in asked] == ["", "core"], "a search shows what the head has learned"
    with pytest.raises(InputError, match="no layer 2"):
        LocalEncoder(loaded, layer=2)
    longer = LocalEncoder(replace(loaded, settings=PromptSettings("colons", 96, 16)))
    assert longer.name == LocalEncoder(loaded).name, "how long a tactic may be decides nothing here"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (np.ones((2, 5), np.float32), "shape"),
        (np.array([[1, 2, 3, np.nan]], np.float32), "not numbers"),
        (np.array([[1, 2, 3, np.inf], [1, 1, 1, 1]], np.float32), "1 of 2 embeddings are not numbers"),
        (np.array([[0, 0, 0, 0], [1, 0, 0, 0]], np.float32), "1 of 2 embeddings are zero"),
    ],
)
def test_an_embedding_that_says_nothing_is_an_error(rows: Any, told: str) -> None:
    with pytest.raises(InfrastructureError, match=told):
        checked(rows, 4)


def test_a_model_that_overflows_is_noticed(loaded: Loaded) -> None:
    encoder = LocalEncoder(loaded)
    norm: Any = loaded.model.base_model.norm
    weight = norm.weight.clone()
    try:
        for value, told in ((float("nan"), "not numbers"), (0.0, "zero")):
            norm.weight.fill_(value)
            with pytest.raises(InfrastructureError, match=told):
                encoder.encode(STATES)
    finally:
        norm.weight.copy_(weight)

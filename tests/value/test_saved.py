"""A head comes back from the disk as it was, and for its own encoder only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import BurnQedError, CorruptError, InputError
from burnqed.value.encoder import EncoderName, LocalEncoder
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.saved import check_encoder, read_head, write_head
from tests.policy.tiny import tiny_llama

NAME = EncoderName("a" * 64, "deepseek 1920", "mean", "bfloat16", 48)


def trained(conditioned: bool = True) -> EnergyHead:
    torch.manual_seed(1)
    head = EnergyHead(HeadConfig(48, conditioned))
    head.standardise(100 + 7 * torch.randn(64, 48))
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(5):  # the vectors of the spectral norms move, too
        head(torch.randn(8, 48), torch.randn(8, 48)).sum().backward()
        optimizer.step()
    return head


@pytest.mark.parametrize("conditioned", [True, False])
def test_energies_are_the_same_to_the_bit(tmp_path: Path, conditioned: bool) -> None:
    head = trained(conditioned)
    write_head(tmp_path, head, NAME, "models/a")
    state, goal = torch.randn(20, 48), torch.randn(20, 48)
    before = torch.get_rng_state()
    saved = read_head(tmp_path)
    assert torch.equal(torch.get_rng_state(), before), "reading draws nothing"
    assert torch.equal(saved.head(state, goal), head.eval()(state, goal))
    assert (saved.encoder, saved.head.config, saved.head.training) == (NAME, head.config, False)
    assert saved.source == "models/a"


def test_the_directory_of_a_training_has_its_best(tmp_path: Path) -> None:
    write_head(tmp_path / "best", trained(), NAME)
    assert read_head(tmp_path).directory == tmp_path / "best"
    assert read_head(tmp_path).identity == read_head(tmp_path / "best").identity


@pytest.mark.parametrize(
    ("other", "said", "fix"),
    [
        ({"dtype": "float16"}, "its dtype is bfloat16, here float16", "--dtype bfloat16, or train"),
        ({"pooling": "last"}, "its pooling is mean, here last", "--pooling mean, or train"),
        ({"prompt": "colons 9"}, "its prompt is deepseek 1920, here colons 9", "--prompt deepseek, or"),
        ({"model": "b" * 64}, "its model is aaaaaaaaaaaa…, here bbbbbbbbbbbb…", "train a head"),
        ({"width": 64}, "its width is 48, here 64", "train a head"),
        ({"dtype": "float16", "model": "b" * 64}, "its dtype is bfloat16, here", "train a head"),
    ],
)
def test_another_encoder_is_refused(tmp_path: Path, other: Any, said: str, fix: str) -> None:
    """Embeddings in another precision, or of another model, once made energies worse than chance."""
    write_head(tmp_path, trained(), NAME)
    saved = read_head(tmp_path)
    check_encoder(saved, NAME)
    with pytest.raises(InputError) as refused:
        check_encoder(saved, replace(NAME, **other))
    assert said in refused.value.message
    assert refused.value.hint.startswith(fix)


def test_a_model_that_was_trained_further_is_another(tmp_path: Path) -> None:
    """A LoRA update once moved the embeddings under a frozen head, and nobody noticed."""
    from burnqed.policy.models.load import load

    model = tiny_llama(tmp_path / "model")
    name = LocalEncoder(load(model, "cpu", "float32")).name
    write_head(tmp_path / "head", EnergyHead(HeadConfig(name.width)), name)
    loaded = load(model, "cpu", "float32")
    check_encoder(read_head(tmp_path / "head"), LocalEncoder(loaded).name)
    with torch.no_grad():
        next(iter(loaded.model.parameters())).add_(1e-3)
    loaded.model.save_pretrained(model)
    with pytest.raises(InputError, match="its model is"):
        check_encoder(read_head(tmp_path / "head"), LocalEncoder(load(model, "cpu", "float32")).name)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def edited(**changes: Any) -> Any:
    def edit(path: Path) -> None:
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, **changes}))

    return edit


@pytest.mark.parametrize(
    ("file", "damage", "kind", "said"),
    [
        ("model.safetensors", cut_off, CorruptError, "not a whole safetensors file"),
        ("model.safetensors", Path.unlink, CorruptError, "is missing"),
        ("config.json", cut_off, CorruptError, "cannot read"),
        ("config.json", Path.unlink, InputError, "there is no config.json"),
        ("config.json", edited(kind="llama"), InputError, "is not a value model"),
        ("config.json", edited(format=99), InputError, "has format 99, but only 1 can be read"),
        ("config.json", edited(head={"width": 48, "more": 1}), CorruptError, "cannot read"),
        ("config.json", edited(head={"width": 40}), CorruptError, "contradict each other"),
        ("config.json", edited(encoder={}), CorruptError, "cannot read"),
        ("config.json", edited(head={"width": 48, "conditioned": False}), CorruptError, "cannot read"),
    ],
)
def test_what_is_damaged_is_told(
    tmp_path: Path, file: str, damage: Any, kind: type[BurnQedError], said: str
) -> None:
    write_head(tmp_path, trained(), NAME)
    damage(tmp_path / file)
    with pytest.raises(kind) as refused:
        read_head(tmp_path)
    assert said in refused.value.message
    assert refused.value.hint


def test_weights_that_are_no_numbers_are_damage(tmp_path: Path) -> None:
    head = trained()
    with torch.no_grad():
        head.log_gain.fill_(float("nan"))
    write_head(tmp_path, head, NAME)
    with pytest.raises(CorruptError, match="not numbers"):
        read_head(tmp_path)
    with pytest.raises(InputError, match="there is no value model"):
        read_head(tmp_path / "absent")

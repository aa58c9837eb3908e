"""Models that start from nothing: of the size that is said, the same for a seed, ready to be asked."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from burnqed.core.errors import InputError
from burnqed.policy.models.load import load
from burnqed.policy.prompt import FORMATS, PromptSettings, prompt_ids
from burnqed.training.nano import SETTINGS, SIZES, NanoSize, create
from tests.policy.tiny import TEXTS

TINY = NanoSize("tiny", layers=3, hidden=128, inner=192, heads=2, shared_heads=1)


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_fresh_model_can_be_asked(tmp_path: Path) -> None:
    loaded = load(create(tmp_path / "model", TINY, TEXTS, seed=1, vocab=700))
    assert loaded.settings == SETTINGS == PromptSettings("proofstep", 448, 64)
    tokenizer = loaded.tokenizer
    ids = prompt_ids(tokenizer, loaded.settings, "n : Nat\n⊢ n ≤ n")
    assert tokenizer.convert_ids_to_tokens([ids[0], ids[-1]]) == ["[GOAL]", "[PROOFSTEP]"]
    with torch.no_grad():
        logits = loaded.model(input_ids=torch.tensor([ids])).logits
    assert logits.shape == (1, len(ids), len(tokenizer))
    scores = torch.log_softmax(logits[0, -1], 0)
    assert -(scores.exp() * scores).sum().item() == pytest.approx(math.log(len(tokenizer)), rel=0.05), (
        "it knows nothing yet"
    )


def test_the_same_arguments_give_the_same_files(tmp_path: Path) -> None:
    torch.manual_seed(0)
    first = content(create(tmp_path / "a", TINY, TEXTS, seed=1, vocab=700))
    torch.rand(5)  # whatever else draws numbers
    assert content(create(tmp_path / "b", TINY, TEXTS, seed=1, vocab=700)) == first
    other = content(create(tmp_path / "c", TINY, TEXTS, seed=2, vocab=700))
    assert {name for name in first if first[name] != other[name]} == {"model.safetensors"}
    state = torch.random.get_rng_state()
    create(tmp_path / "d", TINY, TEXTS, seed=3, vocab=700)
    assert torch.equal(torch.random.get_rng_state(), state), "others' numbers are left alone"


def test_others_may_read_it(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    made = create(tmp_path / "a", TINY, TEXTS, seed=1, vocab=700)
    assert {path.stat().st_mode for path in made.iterdir()} == {usual.stat().st_mode}


def test_what_adds_to_the_stream_is_scaled(tmp_path: Path) -> None:
    model = load(create(tmp_path / "model", TINY, TEXTS, seed=1, vocab=700)).model
    for name, weight in model.named_parameters():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            assert weight.std().item() == pytest.approx(0.02 / math.sqrt(2 * TINY.layers), rel=0.05), (
                name
            )
        elif "norm" not in name:
            assert weight.std().item() == pytest.approx(0.02, rel=0.05), name
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight


@pytest.mark.parametrize(("name", "millions"), [("6m", 6), ("15m", 15), ("30m", 30)])
def test_sizes_are_what_their_names_say(name: str, millions: int) -> None:
    size = SIZES[name]
    assert size.hidden == 64 * size.heads
    shared = 64 * size.shared_heads
    attention = 2 * size.hidden * (size.hidden + shared)
    weights = 4096 * size.hidden + size.layers * (attention + 3 * size.hidden * size.inner)
    assert weights / 1e6 == pytest.approx(millions, rel=0.08)


def test_the_smallest_has_the_weights_of_its_name(tmp_path: Path) -> None:
    model = load(create(tmp_path / "model", "6m", TEXTS, seed=0)).model
    vocabulary = model.config.vocab_size * model.config.hidden_size
    assert sum(p.numel() for p in model.parameters()) - vocabulary == pytest.approx(5.2e6, rel=0.02)


@pytest.mark.parametrize("format", FORMATS)
def test_any_format_has_its_frame_as_tokens(format: str, tmp_path: Path) -> None:
    directory = create(tmp_path / "m", TINY, TEXTS, 0, PromptSettings(format, 100, 20), vocab=700)
    loaded = load(directory)
    frame = [text for text in (FORMATS[format].before, FORMATS[format].after) if text]
    ids = prompt_ids(loaded.tokenizer, loaded.settings, "⊢ x")
    assert len(ids) == len(loaded.tokenizer("⊢ x")["input_ids"]) + len(frame)
    assert loaded.tokenizer.decode(ids) == f"{FORMATS[format].before}⊢ x{FORMATS[format].after}"


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(InputError, match="not empty"):
        create(tmp_path / "full", TINY, TEXTS, 0)
    with pytest.raises(InputError, match="no size 7b"):
        create(tmp_path / "m", "7b", TEXTS, 0)
    with pytest.raises(InputError, match="no texts"):
        create(tmp_path / "m", TINY, [], 0)
    with pytest.raises(InputError, match="2048"):
        create(tmp_path / "m", TINY, TEXTS, 0, PromptSettings("proofstep", 2000, 64))
    assert {path.name for path in tmp_path.iterdir()} == {"full"}, "nothing half made is left"

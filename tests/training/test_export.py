"""Export: the model that was trained, in a directory that needs nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from burnqed.core.errors import BurnQedError, CorruptError, InfrastructureError, InputError
from burnqed.policy.models.load import attach, load
from burnqed.policy.prompt import PromptSettings, prompt_ids
from burnqed.training import export as exporting
from burnqed.training.export import STATES, export, greedy, logits_of
from burnqed.training.plans import Adapting, Mixture, PolicyPlan
from burnqed.training.policy import Job, train_policy
from tests.policy.tiny import tiny_llama
from tests.training.samples import Watcher, pairs, write_jsonl

SETTINGS = PromptSettings("colons", 224, 32)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training whose adapter says something else than its base."""
    here = tmp_path_factory.mktemp("export")
    asked = Job(
        data=(write_jsonl(here / "pairs.jsonl", pairs(160)),),
        base=str(tiny_llama(here / "base")),
        mixture=Mixture(val_share=0.2),
        adapting=Adapting(dropout=0.0),
        plan=PolicyPlan(batch=16, accumulate=1, steps=100, lr=1e-2, eval_every=30),
        dtype="fp32",
        prompt="colons",
        max_length=256,
        tactic_tokens=32,
    )
    assert train_policy(asked, here / "out", Watcher(), resume=False) is not None
    return here / "out"


def adapter_logits(trained: Path) -> tuple[list[Any], list[torch.Tensor]]:
    base = load(trained.parent / "base", "cpu", "float32")
    prompts = [prompt_ids(base.tokenizer, SETTINGS, state) for state in STATES]
    model = attach(base.model, trained / "best")
    model.eval()
    return prompts, logits_of(model, prompts)


def test_a_merged_adapter_is_the_model_that_was_trained(tmp_path: Path, trained: Path) -> None:
    asked = pairs(1)[0]
    verified = export(
        trained, tmp_path / "model", dtype="fp32", shard="5GB", verify=True, state=asked.state
    )
    assert verified is not None
    loaded = load(tmp_path / "model", "cpu", "float32")
    prompts, expected = adapter_logits(trained)
    for ours, theirs in zip(logits_of(loaded.model, prompts), expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-3)
    untrained = load(trained.parent / "base", "cpu", "float32").model
    assert not torch.allclose(logits_of(untrained, prompts)[0], expected[0], atol=0.1)
    assert verified.merge_difference < 1e-3
    assert verified.saved_difference < 1e-3
    assert loaded.settings == SETTINGS
    assert verified.tactic == greedy(loaded, SETTINGS, asked.state) == asked.tactic
    assert not list((tmp_path / "model").glob("adapter*"))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_others_may_read_it(tmp_path: Path, trained: Path) -> None:
    """Every file of an export and of a training, as the umask of who made it says."""
    usual = tmp_path / "usual"
    usual.touch()
    export(trained, tmp_path / "model", dtype="fp32", shard="5GB", verify=False)
    folders = (tmp_path / "model", trained)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} > {"model.safetensors", "adapter_model.safetensors"}
    assert {path.name for path in files if path.stat().st_mode != usual.stat().st_mode} == set()


def test_weights_come_in_shards_and_in_half_the_size(tmp_path: Path, trained: Path) -> None:
    verified = export(trained / "best", tmp_path / "model", dtype="bf16", shard="30KB", verify=True)
    assert verified is not None
    assert 0 < verified.saved_difference < 0.1 * verified.largest_logit
    files = list((tmp_path / "model").glob("*.safetensors"))
    assert len(files) > 1
    whole = trained.parent / "base" / "model.safetensors"
    assert sum(file.stat().st_size for file in files) < 0.7 * whole.stat().st_size
    assert load(tmp_path / "model", "cpu", "float32").settings == SETTINGS


def test_a_whole_model_is_exported_too(tmp_path: Path, trained: Path) -> None:
    verified = export(trained.parent / "base", tmp_path / "m", dtype="fp32", shard="5GB", verify=True)
    assert verified is not None
    assert verified.saved_difference == 0.0


def test_the_card_says_what_it_is(tmp_path: Path, trained: Path) -> None:
    assert export(trained, tmp_path / "model", dtype="fp32", shard="5GB", verify=False) is None
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    result = json.loads((trained / "result.json").read_text())
    assert card.startswith("---\nlibrary_name: transformers\n")
    assert f"{result['best_val_loss']:.4f}" in card
    assert f"{result['baseline_val_loss']:.4f}" in card
    assert "pairs.jsonl | 160" in card
    assert "Format `colons`" in card
    assert "--model model" in card
    assert str(trained.parent) not in card  # nobody else has this directory


def test_what_is_there_is_not_touched(tmp_path: Path, trained: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").touch()
    with pytest.raises(InputError, match="not empty"):
        export(trained, tmp_path / "model", dtype="fp32", shard="5GB", verify=False)
    with pytest.raises(InputError, match="not a training's directory"):
        export(tmp_path / "nowhere", tmp_path / "other", dtype="fp32", shard="5GB", verify=False)
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["mine"]
    # An empty directory is as good as none.
    (tmp_path / "empty").mkdir()
    export(trained, tmp_path / "empty", dtype="fp32", shard="5GB", verify=False)
    assert load(tmp_path / "empty", "cpu", "float32")


def test_a_model_that_is_not_the_same_is_not_written(
    tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adapter's weights change between the look at them and the merge."""
    whole = exporting.logits_of

    def wrong(model: Any, prompts: Any) -> Any:
        logits = whole(model, prompts)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "lora_B" in name:
                    weight.mul_(1.5)
        return logits

    monkeypatch.setattr(exporting, "logits_of", wrong)
    with pytest.raises(InfrastructureError, match="not the one that was trained"):
        export(trained, tmp_path / "model", dtype="fp32", shard="5GB", verify=True)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def adapter(tmp_path: Path, trained: Path) -> Path:
    return Path(shutil.copytree(trained / "best", tmp_path / "adapter"))


def refused(adapter: Path, how: type[BurnQedError], said: str) -> BurnQedError:
    """By export, and by a training that would go on from it, in the same words."""
    with pytest.raises(how, match=said) as caught:
        export(adapter, adapter.parent / "model", dtype="fp32", shard="5GB", verify=True)
    assert not (adapter.parent / "model").exists()
    data = write_jsonl(adapter.parent / "pairs.jsonl", pairs(40))
    job = Job(data=(data,), base=str(adapter), mixture=Mixture(val_share=0.2))
    with pytest.raises(how, match=said):
        train_policy(job, adapter.parent / "out", Watcher(), resume=False)
    return caught.value


@pytest.mark.parametrize("recorded", ["/nowhere", "nowhere/../gone"])
def test_an_adapter_without_its_base_is_refused(adapter: Path, recorded: str) -> None:
    path = adapter / "adapter_config.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"base_model_name_or_path": recorded}))
    error = refused(adapter, InputError, f"{adapter} was trained on {recorded}, which is not there")
    assert error.hint.startswith(f"put the path of that model into {path}")


def test_an_adapter_that_is_not_whole_is_refused(adapter: Path) -> None:
    file = adapter / "adapter_model.safetensors"
    weights = load_file(file)
    save_file({name: weights[name] for name in sorted(weights)[2:]}, file)
    refused(adapter, InputError, "2 missing")
    file.write_bytes(file.read_bytes()[:-50])
    refused(adapter, CorruptError, "not a whole safetensors file")


def test_an_adapters_own_tokenizer_goes_with_it(tmp_path: Path, adapter: Path) -> None:
    path = adapter / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": 77}))
    export(adapter, tmp_path / "model", dtype="fp32", shard="5GB", verify=False)
    assert load(tmp_path / "model").tokenizer.model_max_length == 77


def test_a_model_that_says_nothing_fails_its_check(
    tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "greedy", lambda *_: "")
    with pytest.raises(InfrastructureError, match="says no tactic") as caught:
        export(trained, tmp_path / "model", dtype="fp32", shard="5GB", verify=True)
    assert "--state" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_here_is_a_directory_too(
    tmp_path: Path, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="not empty"):
        export(trained, Path(), dtype="fp32", shard="5GB", verify=False)

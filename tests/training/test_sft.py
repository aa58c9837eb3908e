"""Training: it learns, and however it is cut up, stopped or resumed it is the same training."""

from __future__ import annotations

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import CorruptError, InfrastructureError, InputError, SetupError
from burnqed.policy.models.load import load
from burnqed.policy.prompt import PromptSettings, read_settings
from burnqed.training import packing
from burnqed.training.checkpoints import read_progress
from burnqed.training.log import read_log
from burnqed.training.loop import lr_at
from burnqed.training.lora import find_model, prepare
from burnqed.training.loss import TacticLoss
from burnqed.training.plans import Adapting, Mixture, PolicyPlan, Sweep
from burnqed.training.policy import Job, train_policy
from burnqed.training.sft import Progress
from burnqed.training.speed import Work
from burnqed.training.sweep import SWEEP
from tests.policy.tiny import tiny_llama
from tests.training.samples import Watcher, pairs, write_jsonl, write_run

FULL = Adapting("full")
SMALL = {"prompt": "colons", "max_length": 256, "tactic_tokens": 32}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jsonl(tmp_path_factory.mktemp("data") / "pairs.jsonl", pairs(160))


def job(model: Path, data: Path, plan: PolicyPlan, **more: Any) -> Job:
    settings: dict[str, Any] = {
        "adapting": FULL, "mixture": Mixture(val_share=0.2), **SMALL, **more,
    }  # fmt: skip
    return Job(data=(data,), base=str(model), plan=plan, dtype="fp32", **settings)


def run(asked: Job, out: Path, **more: Any) -> dict[str, Any]:
    result = train_policy(asked, out, Watcher(), resume=more.get("resume", False))
    assert result is not None
    return result


def losses(out: Path, kind: str = "train", key: str = "loss") -> list[float]:
    return [entry[key] for entry in read_log(out / "log.jsonl") if entry["kind"] == kind]


def test_it_learns_and_beats_the_baseline(tmp_path: Path, model: Path, data: Path) -> None:
    plan = PolicyPlan(batch=16, accumulate=1, steps=80, lr=1e-2, eval_every=20)
    result = run(job(model, data, plan), tmp_path / "out")
    assert result["val_loss"] < 0.5 * result["baseline_val_loss"] < 0.5 * result["first_val_loss"]
    assert result["val_accuracy"] > 0.8
    assert result["best_val_loss"] == min(losses(tmp_path / "out", "eval", "val_loss")[1:])
    assert (result["steps"], result["dropped"], result["duplicates"]) == (80, 0, 0)
    assert result["train_examples"] + result["val_examples"] == 160
    names = {path.name for path in (tmp_path / "out").iterdir()}
    files = {"manifest.json", "log.jsonl", "curve.png", "curve.svg", "result.json"}
    assert names == {*files, "checkpoint", "best"}
    # What is left behind can be asked, in the way it was trained.
    best = load(tmp_path / "out" / "best", "cpu", "float32")
    assert best.settings == PromptSettings("colons", 224, 32)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["data"][0]["pairs"] == 160
    assert len(manifest["base_identity"]) == 64


def test_what_is_told_of_a_step_is_its_own_evaluation(tmp_path: Path, model: Path, data: Path) -> None:
    """The last that was told was once the evaluation before the last."""
    watcher = Watcher()
    plan = PolicyPlan(batch=16, accumulate=1, steps=10, lr=1e-2, eval_every=3)
    result = train_policy(job(model, data, plan), tmp_path / "out", watcher, resume=False)
    assert result is not None
    logged = {
        entry["step"]: entry["val_loss"]
        for entry in read_log(tmp_path / "out" / "log.jsonl")
        if entry["kind"] == "eval"
    }
    told = {told.step: told.val_loss for told in watcher.heard}
    assert [told[step] for step in (3, 6, 9, 10)] == [logged[step] for step in (3, 6, 9, 10)]
    assert told[10] == result["val_loss"] != told[9]


def test_accumulation_changes_nothing(tmp_path: Path, model: Path, data: Path) -> None:
    curves = []
    for batch, accumulate in ((8, 1), (1, 8), (3, 1)):
        out = tmp_path / f"{batch}"
        plan = PolicyPlan(batch=batch, accumulate=accumulate, steps=12, lr=3e-3, eval_every=6)
        run(job(model, data, plan), out)
        curves.append((losses(out), losses(out, "eval", "val_loss")))
    for ours, theirs in zip(curves[0], curves[1], strict=True):
        assert ours == pytest.approx(theirs, abs=2e-4)
    assert curves[0][0] != pytest.approx(curves[2][0], abs=2e-2)


@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_stopped_training_goes_on_as_if_nothing_had_been(
    tmp_path: Path, model: Path, data: Path, method: Any
) -> None:
    adapting = Adapting(method, dropout=0.3)
    plan = PolicyPlan(batch=4, accumulate=2, steps=15, lr=3e-3, eval_every=4, save_every=6)
    asked = job(model, data, plan, adapting=adapting)
    whole = run(asked, tmp_path / "whole")
    out = tmp_path / "stopped"
    # Asked after steps and between the batches of evaluations: in the first one, and in two later.
    assert train_policy(asked, out, Watcher(stop_after=1), resume=False) is None
    assert not (out / "checkpoint").exists()
    for after, step in ((6, 4), (6, 8), (3, 10)):
        assert train_policy(asked, out, Watcher(stop_after=after), resume=True) is None
        assert read_progress(out / "checkpoint", Progress).step == step
    assert not (out / "result.json").exists()
    with pytest.raises(InputError, match="holds a run already"):
        run(asked, out)
    with pytest.raises(InputError, match="lr was"):
        run(replace(asked, plan=replace(plan, lr=1e-3)), out, resume=True)
    # Carried elsewhere, with all that it is made from: what is there counts, and not where.
    there = tmp_path / "there"
    shutil.copytree(model, there / "model")
    shutil.copy(data, there / "copied.jsonl")
    out = out.rename(there / "out")
    asked = replace(asked, base=str(there / "model"), data=(there / "copied.jsonl",))
    other = write_jsonl(there / "other.jsonl", pairs(80))
    with pytest.raises(InputError, match=r"data was .*checksum"):
        run(replace(asked, data=(other,)), out, resume=True)
    # As a process leaves it that was killed three steps later, in the middle of a line.
    with (out / "log.jsonl").open("a") as file:
        file.write('{"kind": "train", "step": 11, "loss": 9.0}\n{"kind": "train", "st')
    again = run(asked, out, resume=True)
    assert again["val_loss"] == whole["val_loss"]
    assert losses(out) == losses(tmp_path / "whole")
    steps = [(e["kind"], e["step"]) for e in read_log(out / "log.jsonl")]
    assert len(steps) == len(set(steps)) == 15 + 5
    assert run(asked, out, resume=True) == again  # done is done


def test_an_adapter_is_trained_and_continued(tmp_path: Path, model: Path, data: Path) -> None:
    plan = PolicyPlan(batch=8, accumulate=1, steps=10, lr=1e-2, eval_every=10)
    first = run(job(model, data, plan, adapting=Adapting(rank=4)), tmp_path / "first")
    assert first["trained_parameters"] < 0.3 * first["parameters"]
    best = tmp_path / "first" / "best"
    assert json.loads((best / "adapter_config.json").read_text())["base_model_name_or_path"] == str(
        model
    )
    assert read_settings(best) == PromptSettings("colons", 224, 32)
    # Nothing is said about prompts: the adapter's own.
    asked = replace(
        job(tmp_path / "first", data, plan, adapting=Adapting(rank=4)),
        prompt=None, max_length=None, tactic_tokens=None,
    )  # fmt: skip
    second = run(replace(asked, adapting=Adapting(rank=8, alpha=64)), tmp_path / "second")
    manifest = json.loads((tmp_path / "second" / "manifest.json").read_text())
    assert (manifest["rank"], manifest["alpha"]) == (4, 32)  # the adapter's, whatever was asked
    assert second["prompt"] == first["prompt"]
    assert second["first_val_loss"] == pytest.approx(first["best_val_loss"], abs=1e-5)
    assert second["val_loss"] < first["val_loss"]
    with pytest.raises(InputError, match="only --method lora"):
        run(replace(asked, adapting=FULL), tmp_path / "third")
    # The search reads it merged: the same model.
    loaded = load(tmp_path / "second" / "best", "cpu", "float32")
    assert loaded.settings == PromptSettings("colons", 224, 32)


def test_what_was_found_has_a_loss_of_its_own(tmp_path: Path, model: Path, data: Path) -> None:
    found = write_run(tmp_path / "run", range(60))
    plan = PolicyPlan(batch=8, accumulate=1, steps=4, eval_every=2)
    mixture = Mixture(extra_weight=3, base_sample=40, val_share=0.2)
    result = run(job(model, data, plan, extra=(found,), mixture=mixture), tmp_path / "out")
    assert result["val_trajectory_examples"] > 0
    assert result["val_trajectory_loss"] != result["val_loss"]
    entry = read_log(tmp_path / "out" / "log.jsonl")[-1]
    assert entry["val_trajectory_loss"] == result["val_trajectory_loss"]


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x02]q\x00."])
def test_a_spoilt_checkpoint_is_told(tmp_path: Path, model: Path, data: Path, content: bytes) -> None:
    plan = PolicyPlan(batch=8, accumulate=1, steps=2, eval_every=5)
    asked, out = job(model, data, plan), tmp_path / "out"
    run(asked, out)
    (out / "result.json").write_text('{"val_')
    with pytest.raises(CorruptError, match=r"result\.json") as caught:
        run(asked, out, resume=True)
    assert caught.value.hint.startswith("remove it")
    (out / "result.json").unlink()
    assert run(asked, out, resume=True)["steps"] == 2
    (out / "result.json").unlink()
    (out / "checkpoint" / "optimizer.pt").write_bytes(content)
    with pytest.raises(CorruptError, match=r"optimizer\.pt"):
        run(asked, out, resume=True)


def test_without_validation_the_last_is_the_best(tmp_path: Path, model: Path, data: Path) -> None:
    plan = PolicyPlan(batch=8, accumulate=1, steps=3)
    result = run(job(model, data, plan, mixture=Mixture(val_share=0.0)), tmp_path / "out")
    assert (result["val_loss"], result["baseline_val_loss"], result["best_step"]) == (None, None, 3)
    assert load(tmp_path / "out" / "best", "cpu", "float32")


def test_a_loss_that_is_no_number_ends_it(
    tmp_path: Path, model: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    whole = TacticLoss.forward

    def breaks(self: TacticLoss, batch: Any) -> Any:
        nonlocal calls
        loss, correct = whole(self, batch)
        calls += self.training
        return loss * (math.nan if calls > 5 and self.training else 1.0), correct

    monkeypatch.setattr(TacticLoss, "forward", breaks)
    plan = PolicyPlan(batch=8, accumulate=1, steps=12, eval_every=12, save_every=2)
    with pytest.raises(InfrastructureError, match="step 6: the loss is nan"):
        run(job(model, data, plan), tmp_path / "out")
    assert read_progress(tmp_path / "out" / "checkpoint", Progress).step == 4
    kept = load(tmp_path / "out" / "checkpoint", "cpu", "float32").model
    assert all(bool(p.isfinite().all()) for p in kept.parameters())


@pytest.mark.parametrize(("steps", "warmup"), [(100, 0.1), (1, 0.03), (10, 0.0), (5, 1.0)])
def test_the_learning_rate_rises_and_falls(steps: int, warmup: float) -> None:
    rates = [lr_at(step, steps, 2.0, warmup) for step in range(steps)]
    top = rates.index(max(rates))
    assert max(rates) == pytest.approx(2.0)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert all(rate > 0 for rate in rates)
    if steps == 100:
        assert rates[0] == pytest.approx(0.2)
        assert rates[55] == pytest.approx(1.0)


def test_a_model_too_short_for_the_prompts_is_refused(tmp_path: Path, data: Path) -> None:
    short = tiny_llama(tmp_path / "short", positions=128)
    with pytest.raises(InputError, match="reads 128 tokens") as caught:
        run(job(short, data, PolicyPlan(steps=1)), tmp_path / "out")
    assert caught.value.hint == "--max-length 128"
    with pytest.raises(InputError, match="leaves no room"):
        run(job(short, data, PolicyPlan(steps=1), max_length=32), tmp_path / "out")
    # Nothing was begun, so the next try may be another one.
    assert run(job(short, data, PolicyPlan(steps=1), max_length=128), tmp_path / "out")["steps"] == 1


def test_four_bits_need_their_package(
    tmp_path: Path, model: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(SetupError, match="bitsandbytes") as caught:
        run(job(model, data, PolicyPlan(steps=1), adapting=Adapting(nf4=True)), tmp_path / "out")
    assert "pip install bitsandbytes" in caught.value.hint


def test_gradients_are_the_same_with_activations_made_twice(
    tmp_path: Path, model: Path, data: Path
) -> None:
    plan = PolicyPlan(batch=8, accumulate=1, steps=5, lr=3e-3)
    for method in ("full", "lora"):
        for twice in (False, True):
            adapting = Adapting(method, dropout=0.0, checkpointing=twice)
            run(job(model, data, plan, adapting=adapting), tmp_path / f"{method}{twice}")
        once, again = (losses(tmp_path / f"{method}{twice}") for twice in (False, True))
        assert once == pytest.approx(again, abs=1e-5)


def test_bfloat16_learns_too(tmp_path: Path, model: Path, data: Path) -> None:
    plan = PolicyPlan(batch=16, accumulate=1, steps=20, lr=1e-2, eval_every=10)
    asked = replace(job(model, data, plan), dtype="bf16")
    result = run(asked, tmp_path / "out")
    assert result["dtype"] == "bfloat16"
    assert result["val_loss"] < 0.7 * result["first_val_loss"]
    kept = load(tmp_path / "out" / "checkpoint", "cpu", "float32").model
    weights = torch.cat([p.flatten() for p in kept.parameters()])
    assert not torch.equal(weights, weights.bfloat16().float())  # the weights are float32


def test_it_ends_when_nothing_gets_better(tmp_path: Path, model: Path, data: Path) -> None:
    """A training that was stopped while it waited waits no longer than an undisturbed one."""
    plan = PolicyPlan(batch=8, accumulate=1, steps=60, lr=0.5, eval_every=2, patience=2, save_every=2)
    asked = job(model, data, plan)
    whole = run(asked, tmp_path / "whole")
    assert whole["ended_by"] == "patience"
    assert whole["steps"] == whole["best_step"] + 2 * 2 < 60
    assert train_policy(asked, tmp_path / "out", Watcher(stop_after=9), resume=False) is None
    assert run(asked, tmp_path / "out", resume=True)["steps"] == whole["steps"]


def test_the_best_of_some_learning_rates_is_trained_with(
    tmp_path: Path, model: Path, data: Path
) -> None:
    plan = PolicyPlan(batch=16, accumulate=1, steps=6, eval_every=6)
    asked = replace(job(model, data, plan), sweep=Sweep((1e-6, 1e-2, 1e6), 5))
    result = run(asked, tmp_path / "out")
    tried = json.loads((tmp_path / "out" / SWEEP).read_text())
    assert result["lr"] == 1e-2
    assert tried["0.01"] == min(loss for loss in tried.values() if loss is not None)
    # Nothing of what was tried is left in the weights.
    plain = run(job(model, data, replace(plan, lr=1e-2)), tmp_path / "plain")
    assert losses(tmp_path / "out") == losses(tmp_path / "plain")
    assert result["val_loss"] == plain["val_loss"]
    # A training that goes on does not try again.
    (tmp_path / "out" / "result.json").unlink()
    assert run(asked, tmp_path / "out", resume=True)["lr"] == 1e-2
    with pytest.raises(InputError, match="no validation data"):
        run(replace(asked, mixture=Mixture(val_share=0.0)), tmp_path / "none")


@pytest.mark.parametrize("method", ["full", "lora"])
def test_the_work_of_a_token(model: Path, method: Any) -> None:
    """By hand: of a Llama's seven matrices a layer, and those of an adapter of rank 2."""
    base = find_model(model)
    loaded = prepare(base, Adapting(method, rank=2), "cpu", torch.float32, None)
    config = loaded.model.config
    width, inner = config.hidden_size, config.intermediate_size
    keys = config.num_key_value_heads * (width // config.num_attention_heads)
    shapes = [(width, width)] * 2 + [(width, keys)] * 2 + [(width, inner)] * 3
    plain = config.num_hidden_layers * sum(a * b for a, b in shapes)
    adapter = config.num_hidden_layers * sum(2 * (a + b) for a, b in shapes)
    work = Work.of(loaded.model)
    if method == "full":
        assert (work.per_token, work.per_prediction) == (6 * plain, 6 * width * config.vocab_size)
    else:
        expected = (4 * plain + 6 * adapter, 4 * width * config.vocab_size)
        assert (work.per_token, work.per_prediction) == expected


def test_a_model_that_looks_back_too_little_is_refused(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is trained: one with a window, and one whose attention is not asked."""
    base = tiny_llama(tmp_path / "model")
    loaded = load(base, "cpu", "float32")
    loaded.model.config.sliding_window = 64
    with pytest.raises(SetupError, match="sees 64 tokens back, and 256 are needed"):
        TacticLoss(loaded.model, torch.float32, 256)
    forgets = lambda *given, **more: (torch.zeros_like(given[1]).transpose(1, 2), None)  # noqa: E731
    monkeypatch.setattr(packing, "attend", forgets)
    with pytest.raises(SetupError, match="log-probabilities differ"):
        run(job(base, data, PolicyPlan(steps=1)), tmp_path / "out")

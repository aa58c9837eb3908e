"""Both trained at once: one pass is both, each learns, and each red line ends it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.data.splits import split_of
from burnqed.policy.models.load import load
from burnqed.policy.prompt import Example, PromptSettings
from burnqed.training import trial
from burnqed.training.batches import collate
from burnqed.training.checkpoints import read_progress
from burnqed.training.ebm import WATCH_STEPS
from burnqed.training.hard_negatives import GroupRows
from burnqed.training.joint import Job, train_joint
from burnqed.training.joint_loop import Progress
from burnqed.training.log import read_log
from burnqed.training.loss import TacticLoss
from burnqed.training.one_pass import OnePass, Part, prompts
from burnqed.training.pairs import is_validation
from burnqed.training.plans import Adapting, JointPlan, Mixture
from burnqed.value.encoder import LocalEncoder, Pooling
from burnqed.value.energy import COLDEST, EnergyHead, HeadConfig
from burnqed.value.losses import info_nce
from burnqed.value.saved import read_head
from tests.policy.tiny import tiny_llama
from tests.training.samples import Watcher, pairs, write_jsonl
from tests.training.searches import write_searches
from tests.trajectories.samples import name

SHAPE = PromptSettings("colons", 96, 32)
ASKED: dict[str, Any] = {"prompt": "colons", "max_length": 128, "tactic_tokens": 32}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("joint")
    tiny_llama(here / "model")
    write_searches(here / "run", range(60))
    write_jsonl(here / "pairs.jsonl", pairs(120))
    return here


def job(inputs: Path, *, method: Any = "full", **plan: Any) -> Job:
    usual: dict[str, Any] = {
        "batch": 8, "positives": 8, "accumulate": 1, "steps": 60, "lr": 3e-3, "head_lr": 3e-3,
        "eval_every": 20,
    }  # fmt: skip
    return Job(
        data=(inputs / "pairs.jsonl",), runs=(inputs / "run",), base=str(inputs / "model"),
        adapting=Adapting(method, rank=8, alpha=16), mixture=Mixture(val_share=0.3), dtype="fp32",
        plan=JointPlan(**{**usual, **plan}), **ASKED,
    )  # fmt: skip


def run(asked: Job, out: Path, *, resume: bool = False) -> dict[str, Any]:
    result = train_joint(asked, out, Watcher(), resume=resume)
    assert result is not None
    return result


def entries(out: Path, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in read_log(out / "log.jsonl") if entry["kind"] == kind]


# ------------------------------------------------------------------------------------- one pass


@pytest.mark.parametrize(("pooling", "layer"), [("mean", -1), ("last", -1), ("mean", 1)])
@pytest.mark.parametrize("conditioned", [True, False])
def test_one_pass_has_the_loss_of_pairs_alone_and_the_energies_of_a_search(
    inputs: Path, pooling: Pooling, layer: int, conditioned: bool
) -> None:
    loaded = replace(load(inputs / "model", "cpu", "float32"), settings=SHAPE)
    states = [f"h : n < {i}\n⊢ n + {i} = {i} + n" for i in range(6)]
    encoder = LocalEncoder(loaded, pooling, layer)
    z = torch.from_numpy(encoder.encode(states))
    module = TacticLoss(load(inputs / "model", "cpu", "float32").model, torch.float32, 128)
    head = EnergyHead(HeadConfig(32, conditioned, dropout=0.0)).eval()
    asked = prompts(loaded.tokenizer, SHAPE, states, lambda: None)
    both = OnePass(module, head, asked, pooling, layer)
    examples = (Example((5, 300, 17, 42), 2), Example((9, 8, 7), 1))
    groups = tuple(GroupRows("t", 0, 1, positive, (), (), 1) for positive in (1, 2))
    part = Part(examples, groups, ((3, 4), (5,)))
    tactics, contrast = both.losses(part)
    alone, _ = module(collate(examples, 128))
    assert tactics.item() == pytest.approx(alone.item(), rel=1e-5)
    energies = head(z[[1, 3, 4, 2, 5]], z[:1].expand(5, -1))
    losses = [
        info_nce(energies[:1], energies[None, 1:3], torch.ones(1, 2, dtype=torch.bool)),
        info_nce(energies[3:4], energies[None, 4:], torch.ones(1, 1, dtype=torch.bool)),
    ]
    assert contrast.item() == pytest.approx(sum(one.item() for one in losses), rel=1e-4)
    found = both.embed([4, 1], 16, lambda: False)
    assert found is not None
    assert torch.allclose(found, z[[4, 1]], atol=1e-4)


# ------------------------------------------------------------------------------------- learning


METHODS = [pytest.param("full", marks=pytest.mark.soak), "lora"]


@pytest.mark.parametrize("method", METHODS)
def test_both_learn_and_are_left_as_a_search_takes_them(
    tmp_path: Path, inputs: Path, method: Any
) -> None:
    out = tmp_path / "out"
    asked = replace(job(inputs, method=method), mixture=Mixture(val_share=0.5))
    result = run(asked, out)
    assert result["stopped"] == "steps"
    assert result["best_val_loss"] < 0.7 * result["first_val_loss"]
    assert result["best_val_loss"] < result["baseline_val_loss"], "which has no network"
    assert result["best_val_rank1"] > 0.9 > result["first_val_rank1"]
    assert (result["verdict"], result["test_logprob_rank1"] < 0.7) == ("better", True)
    # The verdict is about both as they lie there, and a search takes them by the same name.
    saved = read_head(out)
    assert saved.directory == out / "best" / "value"
    loaded = load(out, "cpu", "float32")
    assert LocalEncoder(loaded).name == saved.encoder
    assert loaded.settings == SHAPE
    assert saved.source == str(out / "best" / "policy")
    names = {path.name for path in out.iterdir()}
    files = {"manifest.json", "log.jsonl", "curve.png", "curve.svg", "result.json"}
    assert names == {*files, "checkpoint", "best"}
    assert json.loads((out / "result.json").read_text()) == result
    assert train_joint(asked, out, Watcher(), resume=True) == result


def test_the_largest_batch_is_tried_before_the_first_step(tmp_path: Path, inputs: Path) -> None:
    watcher = Watcher()
    asked = job(inputs, steps=4, eval_every=4, accumulate=2)
    assert train_joint(asked, tmp_path / "out", watcher, resume=False)
    tried: Any = watcher.heard[0]
    assert isinstance(tried, trial.Trial)
    assert (tried.step, tried.pairs, tried.states > 16) == (0, 8, True)
    assert tried.memory > 2**20
    assert min(tried.tactic_norm, tried.contrast_norm, tried.head_norm) > 0
    (logged,) = entries(tmp_path / "out", "trial")
    assert (logged["tokens"], logged["step"]) == (tried.tokens, 0)
    # A step has two such batches, and here only its pairs are counted.
    assert tried.tokens > max(e["tokens"] for e in entries(tmp_path / "out", "train")) / 2


def test_a_loss_that_teaches_nothing_is_refused_at_once(
    tmp_path: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = OnePass.losses

    def cut_off(self: OnePass, part: Part) -> Any:
        tactics, contrast = whole(self, part)
        return tactics, contrast.detach() + 0 * self.head.log_gain

    monkeypatch.setattr(OnePass, "losses", cut_off)
    with pytest.raises(InfrastructureError, match="loss of siblings has a gradient of norm 0"):
        run(job(inputs), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_no_theorem_that_judges_is_in_either_stream(tmp_path: Path, inputs: Path) -> None:
    given = [replace(pair, theorem=f"T.t{i}") for i, pair in enumerate(pairs(120))]
    data = write_jsonl(tmp_path / "pairs.jsonl", given)
    result = run(replace(job(inputs, steps=1), data=(data,)), tmp_path / "out")
    held = sum(is_validation(pair.theorem, 0.3) for pair in given)
    assert 0 < held == result["val_examples"]
    assert result["train_examples"] == 120 - held
    judged = sum(is_validation(name(number), 0.3) for number in range(60))
    assert 0 < judged == result["val_theorems"] + result["test_theorems"]


def test_theorems_that_the_base_has_learnt_from_choose_and_do_not_judge(
    tmp_path: Path, inputs: Path
) -> None:
    asked = replace(job(inputs, steps=1), mixture=Mixture(val_share=0.5))
    plain = run(asked, tmp_path / "plain")
    result = run(replace(asked, policy_val_share=0.3), tmp_path / "out")
    half = {n for n in map(name, range(60)) if split_of(f"judges {n}", (0.0, 0.5, 0.5)) == "test"}
    judge = {n for n in half if is_validation(n, 0.3)}
    assert plain["test_theorems"] == sum(is_validation(n, 0.5) for n in half) > len(judge)
    assert result["test_theorems"] == len(judge) > 2
    whole = ("val_theorems", "test_theorems")
    assert sum(result[key] for key in whole) == sum(plain[key] for key in whole)
    with pytest.raises(InputError, match=r"policy_val_share was 0\.3, now None"):
        run(asked, tmp_path / "out", resume=True)


# ------------------------------------------------------------------------------------- red lines


def test_a_temperature_at_its_bound_ends_it(tmp_path: Path, inputs: Path) -> None:
    result = run(job(inputs, head_lr=3.0, steps=200, eval_every=100), tmp_path / "out")
    assert (result["stopped"], result["steps"]) == ("temperature", WATCH_STEPS)
    assert result["best_step"] == 0, "what was before is kept"
    assert read_head(tmp_path / "out").head.temperature.item() == pytest.approx(1.0)
    assert result["temperature"] > COLDEST


def test_positives_and_negatives_that_come_together_end_it(tmp_path: Path, inputs: Path) -> None:
    """Steps of this size leave hardly anything of what the states differed in."""
    out = tmp_path / "out"
    result = run(job(inputs, lr=0.3, steps=60), out)
    assert (result["stopped"], result["steps"], result["best_step"]) == ("collapse", 20, 0)
    before, after = entries(out, "eval")
    assert after["centroid_l2"] < 0.5 * before["centroid_l2"]
    assert before["distance"] == pytest.approx(5.0)
    assert after["distance"] < 3.0
    # A later step was worse for the head, and better for tactics: neither of the two is kept.
    begin = load(inputs / "model", "cpu", "float32").model.state_dict()
    kept = load(out, "cpu", "float32").model.state_dict()
    assert all(torch.equal(kept[key], begin[key]) for key in begin)
    # On another scale, or with another line, it is not a collapse.
    there = run(job(inputs, lr=0.3, steps=20, least_distance=0.2), tmp_path / "low")
    assert there["stopped"] == "steps"
    own = run(job(inputs, steps=20, scale="own"), tmp_path / "own")
    assert (own["stopped"], own["last_distance"]) == ("collapse", own["last_centroid_l2"])


def test_tactics_that_are_unlearnt_end_it(tmp_path: Path, inputs: Path) -> None:
    wild: dict[str, Any] = {"lr": 1.0, "least_distance": 0.0, "steps": 40}
    out = tmp_path / "out"
    result = run(job(inputs, loss_after=10, **wild), out)
    assert (result["stopped"], result["steps"], result["best_step"]) == ("tactics", 20, 0)
    before, after = entries(out, "eval")
    assert after["val_loss"] > 1.25 * before["val_loss"]
    assert after["scaled_loss"] == pytest.approx(0.4 * after["val_loss"] / before["val_loss"])
    early = run(job(inputs, loss_after=20, **wild), tmp_path / "early")
    assert early["steps"] > 20, "at first a loss is only watched"


def weights(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*.safetensors"))
    }


@pytest.mark.parametrize("method", METHODS)
def test_stopped_and_resumed_it_is_the_same_training(tmp_path: Path, inputs: Path, method: Any) -> None:
    asked = job(inputs, method=method, steps=12, eval_every=5, save_every=4, accumulate=2)
    whole = run(asked, tmp_path / "whole")
    out, resume = tmp_path / "stopped", False
    # While the head's inputs are measured, in an evaluation, after a step, in a later evaluation.
    for after in (1, 9, 26, 8):
        assert train_joint(asked, out, Watcher(stop_after=after), resume=resume) is None
        resume = True
        torch.manual_seed(after)  # another process draws other noise
    assert 0 < read_progress(out / "checkpoint", Progress).step <= 12
    with (out / "log.jsonl").open("a") as file:  # as a process leaves it that was killed later
        file.write('{"kind": "train", "step": 999, "loss": 9.0}\n{"kind": "tr')
    again = run(asked, out, resume=True)
    assert weights(out) == weights(tmp_path / "whole")
    assert {**again, "seconds": 0} == {**whole, "seconds": 0}
    assert entries(out, "train") == entries(tmp_path / "whole", "train")
    assert entries(out, "eval") == entries(tmp_path / "whole", "eval")
    with pytest.raises(InputError, match=r"plan|contrast_weight was"):
        run(replace(asked, plan=replace(asked.plan, contrast_weight=0.5)), out, resume=True)

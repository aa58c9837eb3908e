"""Training a head: it learns what is there and nothing else, and goes on as if never stopped."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import CorruptError, InfrastructureError
from burnqed.training import ebm
from burnqed.training.ebm import Loop, Material, StepMetrics, evaluate
from burnqed.training.hard_negatives import GroupRows
from burnqed.training.log import read_log
from burnqed.training.plans import ValuePlan
from burnqed.value.encoder import EncoderName
from burnqed.value.energy import COLDEST, EnergyHead, HeadConfig
from burnqed.value.saved import read_head
from tests.training.searches import Onlooker

WIDTH = 32
NAME = EncoderName("m" * 64, "colons 64", "mean", "float32", WIDTH)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def planted(
    theorems: int, *, shuffled: bool = False, by_goal: bool = False, far: bool = True
) -> Material:
    """Positives lie along a direction, which the goal may turn round; a fifth is validated on."""
    noise, chance = torch.Generator().manual_seed(0), random.Random(0)
    rows: list[torch.Tensor] = []

    def add(row: torch.Tensor) -> int:
        rows.append(row)
        return len(rows) - 1

    groups = []
    for theorem in range(theorems):
        goal = torch.randn(WIDTH, generator=noise)
        at = add(goal)
        side = 1.0 if not by_goal else float(goal[0].sign())
        for depth in range(1, 5):
            base = goal + torch.randn(WIDTH, generator=noise)
            pulls = [side] + [-side] * chance.randint(1, 4)
            if shuffled:
                chance.shuffle(pulls)
            states = []
            for pull in pulls:
                row = base + torch.randn(WIDTH, generator=noise)
                row[0] += 2.5 * pull if far else 0.0
                states.append(add(row))
            groups.append(
                GroupRows(f"t{theorem}", at, depth, states[0], tuple(states[1:]), (), 5 - depth)
            )
    border = len(groups) // 5 * 4
    return Material(torch.stack(rows), tuple(groups[:border]), tuple(groups[border:]))


def loop(material: Material, out: Path, conditioned: bool = True, **plan: Any) -> Loop:
    torch.manual_seed(0)
    head = EnergyHead(HeadConfig(WIDTH, conditioned))
    head.standardise(material.embeddings)
    out.mkdir(exist_ok=True)
    return Loop(head, NAME, "models/a", material, ValuePlan(**plan), out)


def run(made: Loop) -> list[dict[str, Any]]:
    """To the end; the evaluations."""
    assert made.run(lambda: False, lambda _told: None)
    return [entry for entry in read_log(made.out / "log.jsonl") if entry["kind"] == "eval"]


# ------------------------------------------------------------------------------------- learning


def test_what_can_be_learnt_is(tmp_path: Path) -> None:
    found = run(loop(planted(100), tmp_path, steps=300))
    assert abs(found[0]["val_rank1"] - found[0]["val_chance"]) < 0.25, "it knows nothing at first"
    last = found[-1]
    assert last["val_rank1"] > 0.9 > 0.5 > last["val_chance"]
    assert last["val_discrimination"] > 0.95
    assert last["val_energy_gap"] > 1.0
    assert 0.5 < last["temperature"] < 3.0
    assert set(last["val_by_depth"]) == {"1", "2", "3", "4"}
    assert sum(depth["groups"] for depth in last["val_by_depth"].values()) == 80


def test_labels_that_mean_nothing_are_not_learnt(tmp_path: Path) -> None:
    found = run(loop(planted(100, shuffled=True), tmp_path, epochs=10))
    assert found[-1]["val_rank1"] == pytest.approx(found[-1]["val_chance"], abs=0.15)


def test_only_a_head_that_sees_the_goal_learns_what_it_decides(tmp_path: Path) -> None:
    material = planted(150, by_goal=True)
    seeing = run(loop(material, tmp_path / "seeing", epochs=40))
    blind = run(loop(material, tmp_path / "blind", conditioned=False, epochs=10))
    best = max(entry["val_rank1"] for entry in seeing)
    assert best > 0.75
    assert best > max(entry["val_rank1"] for entry in blind) + 0.2


def test_without_a_gain_that_is_learnt_energies_stay_small(tmp_path: Path) -> None:
    """Layers of slope 1 and a tenth at the door: the temperature would have to do it all."""
    fixed = loop(planted(40), tmp_path / "fixed", steps=150)
    fixed.head.log_gain.requires_grad_(False)
    free = loop(planted(40), tmp_path / "free", steps=150)
    gaps = [run(made)[-1]["val_energy_gap"] for made in (fixed, free)]
    assert gaps[1] > 0.4 > 8 * gaps[0]


def test_the_other_losses_are_added_with_their_weights(tmp_path: Path) -> None:
    settings: dict[str, dict[str, Any]] = {
        "plain": {}, "wide": {"margin_weight": 3.0}, "steps": {"steps_weight": 3.0},
    }  # fmt: skip
    made = {
        name: loop(planted(40), tmp_path / name, steps=100, **how) for name, how in settings.items()
    }
    for one in made.values():
        run(one)
    first = {name: read_log(one.out / "log.jsonl")[1]["loss"] for name, one in made.items()}
    # Energies begin near 0: a whole margin is missing, and the logarithms of 1 to 4 steps.
    assert first["wide"] - first["plain"] == pytest.approx(3.0, abs=0.2)
    assert first["steps"] - first["plain"] == pytest.approx(3.0 * 0.43, abs=0.3)

    def off(one: Loop) -> float:
        ranked = evaluate(one.head, one.material.embeddings, one.material.train).groups
        pairs = zip(ranked, one.material.train, strict=True)
        return sum(abs(g.positive - math.log(p.remaining)) for g, p in pairs) / len(ranked)

    assert off(made["steps"]) < 0.8 * off(made["plain"])


# ---------------------------------------------------------------------------------- how it ends


def weights(head: EnergyHead) -> dict[str, Any]:
    return {name: value.tolist() for name, value in head.state_dict().items()}


@pytest.mark.parametrize("stops", [(1,), (7, 20, 1), (25, 25)])
def test_stopped_and_resumed_it_is_the_same_training(tmp_path: Path, stops: tuple[int, ...]) -> None:
    material = planted(40)
    plan: dict[str, Any] = {"epochs": 30, "eval_every": 10, "seed": 3}
    whole = loop(material, tmp_path / "whole", **plan)
    run(whole)
    out = tmp_path / "stopped"
    made = loop(material, out, **plan)
    for after in stops:
        assert not made.run(Onlooker(stop_after=after).stop, lambda _told: None)
        with (out / "log.jsonl").open("a") as file:  # as a process leaves it that was killed later
            file.write('{"kind": "train", "step": 999, "loss": 9.0}\n{"kind": "tr')
        torch.manual_seed(after)  # another process draws other noise
        head = read_head(out / "checkpoint").head.requires_grad_(True)
        made = Loop(head, NAME, "models/a", material, ValuePlan(**plan), out, out / "checkpoint")
    run(made)
    assert weights(made.head) == weights(whole.head)
    assert weights(read_head(out / "best").head) == weights(read_head(whole.out / "best").head)
    assert read_log(out / "log.jsonl") == read_log(whole.out / "log.jsonl")
    assert replace(made.progress, seconds=0) == replace(whole.progress, seconds=0)


def test_it_ends_when_it_gets_no_better_and_keeps_the_best(tmp_path: Path) -> None:
    made = loop(planted(30, far=False), tmp_path, steps=1000, eval_every=5, patience=4)
    found = run(made)
    assert (made.progress.ended, made.progress.waited) == ("patience", 4)
    assert made.progress.step < 1000
    ranks = [(entry["val_rank1"], -entry["val_loss"], entry["step"]) for entry in found[1:]]
    best = max(ranks, key=lambda rank: rank[:2])
    assert made.progress.best_step == best[2] == found[-5]["step"]
    kept = evaluate(read_head(tmp_path / "best").head, made.material.embeddings, made.material.val)
    assert (kept.overall.rank1, -kept.loss) == best[:2]


def test_a_temperature_at_its_bound_ends_it(tmp_path: Path) -> None:
    made = loop(planted(30), tmp_path, steps=1000, eval_every=400)
    with torch.no_grad():
        made.head.log_temperature.fill_(math.log(COLDEST * 1.02))
    run(made)
    assert made.progress.ended == "temperature"
    assert made.progress.step == ebm.WATCH_STEPS
    assert read_head(tmp_path / "best").head.temperature.item() == pytest.approx(COLDEST)


def test_a_loss_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    made = loop(planted(10), tmp_path, steps=100)
    with torch.no_grad():
        made.head.log_gain.fill_(math.nan)
    with pytest.raises(InfrastructureError, match="step 1: the loss is nan"):
        run(made)


def test_whoever_watches_is_told(tmp_path: Path) -> None:
    heard: list[StepMetrics] = []
    assert loop(planted(20), tmp_path, steps=120, eval_every=60).run(lambda: False, heard.append)
    assert [told.step for told in heard] == [50, 60, 100, 120]
    assert heard[-1].steps == 120
    logged = {
        e["step"]: e["val_rank1"] for e in read_log(tmp_path / "log.jsonl") if e["kind"] == "eval"
    }
    # Each with the evaluation at its own step, or the last before it.
    assert [told.val_rank1 for told in heard] == [logged[step] for step in (0, 60, 60, 120)]
    assert len({*logged.values()}) > 1


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    made = loop(planted(10), tmp_path, steps=5)
    run(made)
    (tmp_path / "checkpoint" / "state.json").write_text("{")
    with pytest.raises(CorruptError, match=r"state\.json"):
        Loop(made.head, NAME, "", made.material, made.plan, tmp_path, tmp_path / "checkpoint")

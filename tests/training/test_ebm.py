"""Training a head: it learns what is there and nothing else, and goes on as if never stopped."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import CorruptError, InfrastructureError, InputError
from burnqed.training import ebm
from burnqed.training.ebm import Loop, Material, Plan, Told, evaluate
from burnqed.training.log import read_log
from burnqed.training.rivals import Negatives, Places
from burnqed.training.value import Job, split_groups, train_value
from burnqed.trajectories.store import iter_rows
from burnqed.value.calibration import read_calibration
from burnqed.value.encoder import EncoderName
from burnqed.value.energy import COLDEST, EnergyHead, HeadConfig
from burnqed.value.groups import Contrast, Contrasts, State, contrasts
from burnqed.value.saved import read_head
from tests.training.searches import Onlooker, Planted, write_searches
from tests.trajectories.samples import name

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
            groups.append(Places(f"t{theorem}", at, depth, states[0], tuple(states[1:]), (), 5 - depth))
    border = len(groups) // 5 * 4
    return Material(torch.stack(rows), tuple(groups[:border]), tuple(groups[border:]))


def loop(material: Material, out: Path, conditioned: bool = True, **plan: Any) -> Loop:
    torch.manual_seed(0)
    head = EnergyHead(HeadConfig(WIDTH, conditioned))
    head.standardise(material.embeddings)
    out.mkdir(exist_ok=True)
    return Loop(head, NAME, "models/a", material, Plan(**plan), out)


def run(made: Loop) -> list[dict[str, Any]]:
    """To the end; the evaluations."""
    assert made.run(lambda: False, lambda _told: None)
    return [entry for entry in read_log(made.out / "log.jsonl") if entry["kind"] == "eval"]


# --------------------------------------------------------------------------------- learning


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


# -------------------------------------------------------------------------------- negatives


def group(theorem: str, positive: int, siblings: Sequence[int], others: Sequence[int] = ()) -> Places:
    return Places(theorem, 1000 + ord(theorem[0]), 1, positive, tuple(siblings), tuple(others), 1)


def choose(groups: list[Places], k: int, seed: int = 0, **how: bool) -> list[list[int]]:
    settings = {"in_batch": True, "conditioned": True, **how}
    return Negatives(groups, k, **settings).choose(groups, random.Random(seed))


def test_siblings_come_first_then_others_then_other_theorems() -> None:
    groups = [group("a", 0, [1, 2], [3, 4, 5]), group("b", 10, [11, 12, 13, 14])]
    for seed in range(30):
        assert set(choose(groups, 2, seed)[0]) == {1, 2}
        four = choose(groups, 4, seed)[0]
        assert len(four) == 4
        assert {1, 2} < set(four) <= {1, 2, 3, 4, 5}
        seven = choose(groups, 7, seed)
        assert {1, 2, 3, 4, 5} < set(seven[0]) <= {1, 2, 3, 4, 5, 10, 11, 12, 13, 14}
        assert len(seven[0]) == 7
        assert set(choose(groups, 7, seed, in_batch=False)[0]) == {1, 2, 3, 4, 5}


def test_slower_siblings_stand_behind_those_that_were_given_up() -> None:
    groups = [replace(group("a", 0, [1, 2], [3]), slower=(7, 8))]
    for seed in range(30):
        assert set(choose(groups, 2, seed)[0]) == {1, 2}
        assert set(choose(groups, 4, seed)[0]) == {1, 2, 7, 8}
        assert set(choose(groups, 9, seed)[0]) == {1, 2, 7, 8, 3}


def test_slower_siblings_are_learnt_from_if_asked_and_never_judged_by() -> None:
    names = [f"t{n}" for n in range(80)]
    given_up = found(names)
    paced = tuple(
        replace(g, positive=State(f"quick {g.theorem}", -1.0), siblings=(), slower=("slow",))
        for g in given_up.groups
    )
    both = replace(given_up, paced=paced)
    assert split_groups(both, 0.4) == split_groups(given_up, 0.4)
    split = split_groups(both, 0.4, slower=True)
    assert any(not g.siblings for g in split.train)
    assert all(g.siblings for g in (*split.val, *split.test))


def test_more_siblings_than_wanted_take_turns() -> None:
    groups = [group("a", 0, range(1, 9))]
    drawn = Counter(row for seed in range(200) for row in choose(groups, 3, seed)[0])
    assert set(drawn) == set(range(1, 9))
    assert all(len(choose(groups, 3, seed)[0]) == 3 for seed in range(20))
    assert max(drawn.values()) < 2 * min(drawn.values())


def test_what_is_on_a_path_to_the_same_goal_is_never_a_negative() -> None:
    first, second = group("a", 0, [1]), group("b", 2, [3, 0])
    twin = replace(group("c", 4, [5]), goal=first.goal)  # the same theorem under another name
    for seed in range(30):
        chosen = choose([first, second, twin], 6, seed)
        assert not {0, 4} & {*chosen[0], *chosen[2]}
        assert 4 in choose([second, twin], 6, seed)[0], "a state about another goal is one"
        blind = choose([first, second, twin], 6, seed, conditioned=False)
        assert not {0, 2, 4} & set(blind[0]), "without a goal nothing on any path is"


# ------------------------------------------------------------------------------ how it ends


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
        made = Loop(head, NAME, "models/a", material, Plan(**plan), out, out / "checkpoint")
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
    heard: list[Told] = []
    assert loop(planted(20), tmp_path, steps=120, eval_every=60).run(lambda: False, heard.append)
    assert [told.step for told in heard] == [50, 60, 100, 120]
    assert heard[-1].val_rank1 is not None
    assert heard[-1].steps == 120


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    made = loop(planted(10), tmp_path, steps=5)
    run(made)
    (tmp_path / "checkpoint" / "state.json").write_text("{")
    with pytest.raises(CorruptError, match=r"state\.json"):
        Loop(made.head, NAME, "", made.material, made.plan, tmp_path, tmp_path / "checkpoint")


# ------------------------------------------------------------------------- from runs to a head


def job(*data: Path, **more: Any) -> Job:
    plan = Plan(**{"epochs": 30, "batch": 16, "eval_every": 20, **more.pop("plan", {})})
    return Job(data=data, plan=plan, **more)


def train(asked: Job, out: Path, **more: Any) -> dict[str, Any]:
    result = train_value(asked, more.pop("encoder", None) or Planted(), out, Onlooker(), resume=False)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_searches(tmp_path_factory.mktemp("searches"), range(60))


def test_from_trajectories_to_a_head_and_a_verdict(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "out"
    result = train(job(data, val_share=0.5), out)
    assert result["test_rank1"] > 0.9 > result["test_logprob_rank1"]
    assert result["verdict"] == "better"
    assert result["calibration"]["rank1_energy"] == result["test_rank1"]
    sides = ("train", "val", "test")
    assert sum(result[f"{side}_groups"] for side in sides) == result["data"]["groups"] == 120
    assert sum(result[f"{side}_theorems"] for side in sides) == 60
    assert result["data"]["groups by depth"] == "1: 60, 2: 60"
    names = {path.name for path in out.iterdir()}
    files = {"manifest.json", "log.jsonl", "curve.png", "curve.svg", "result.json"}
    assert names == {*files, "checkpoint", "best", "embeddings"}
    assert {path.name for path in (out / "best").iterdir()} == {
        "model.safetensors", "config.json", "calibration.json",
    }  # fmt: skip
    assert read_calibration(out / "best").verdict == "better"
    assert read_head(out).encoder == Planted().name
    assert json.loads((out / "result.json").read_text()) == result
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["encoder"]["dtype"] == "float32"


def test_embeddings_that_say_nothing_get_a_verdict_of_no(tmp_path: Path, data: Path) -> None:
    result = train(job(data, plan={"epochs": 5}), tmp_path / "out", encoder=Planted(blind=True))
    assert result["verdict"] == "no better"
    assert result["test_rank1"] < 0.8


class Forgetful(Planted):
    """Sees the word, but not in the theorems with these names."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self._names = names

    def _row(self, state: str) -> Any:
        number = state.split()[-1 if "goal" in state else -2]
        hidden = name(int(number)) in self._names
        return super()._row(state.replace("near", "…").replace("lost", "…") if hidden else state)


def test_what_judges_had_no_part_in_choosing(tmp_path: Path, data: Path) -> None:
    """The best of many looks at a few groups is above chance by itself: it must not be the verdict."""
    groups = contrasts(iter_rows(data / "trajectories"))
    judges = {group.theorem for group in split_groups(groups, 0.3).test}
    asked = job(data, val_share=0.3)
    result = train(asked, tmp_path / "out", encoder=Forgetful(judges))
    assert result["val_rank1"] > 0.9 > 0.8 > result["test_rank1"]
    assert result["verdict"] == "no better"
    assert result["calibration"]["theorems"] == len(judges)


def test_stopped_anywhere_it_goes_on(tmp_path: Path, data: Path) -> None:
    asked = job(data, plan={"epochs": 10, "eval_every": 7})
    whole = train(asked, tmp_path / "whole")
    out, resume = tmp_path / "stopped", False
    for after in (1, 2, 9):  # before the first embedding, after one step, later
        stopped = train_value(asked, Planted(), out, Onlooker(stop_after=after), resume=resume)
        assert stopped is None
        resume = True
    encoder = Planted()
    again = train_value(asked, encoder, out, Onlooker(), resume=True)
    assert encoder.encoded == 0, "embeddings were kept"
    assert again is not None
    assert {**again, "seconds": 0} == {**whole, "seconds": 0}
    assert train_value(asked, Planted(), out, Onlooker(), resume=True) == again
    with pytest.raises(InputError, match="holds a run already"):
        train(asked, out)
    with pytest.raises(InputError, match="lr was"):
        train_value(
            replace(asked, plan=replace(asked.plan, lr=1.0)), Planted(), out, Onlooker(), resume=True
        )
    with pytest.raises(InputError, match="encoder was"):
        train_value(asked, Planted("bfloat16"), out, Onlooker(), resume=True)


def test_a_head_is_trained_further_but_not_for_another_encoder(tmp_path: Path, data: Path) -> None:
    first = train(job(data), tmp_path / "first")
    more = job(data, resume_from=tmp_path / "first", plan={"epochs": 1})
    again = train(more, tmp_path / "again")
    assert again["first_val_rank1"] == first["val_rank1"], "it begins where the other ended"
    with pytest.raises(InputError, match="its dtype is float32, here bfloat16") as refused:
        train(more, tmp_path / "other", encoder=Planted("bfloat16"))
    assert "--dtype float32" in refused.value.hint
    with pytest.raises(InputError, match="its model is mmmmmmmmmmmm…, here xxxxxxxxxxxx…") as refused:
        train(more, tmp_path / "other", encoder=Planted(model="x" * 64))  # trained further, say
    assert "train a head for this encoder" in refused.value.hint
    with pytest.raises(InputError, match="sees the goal"):
        train(replace(more, conditioned=False), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_an_unconditioned_head(tmp_path: Path, data: Path) -> None:
    result = train(job(data, conditioned=False), tmp_path / "out")
    assert result["test_rank1"] > 0.9
    assert not read_head(tmp_path / "out").head.config.conditioned


def found(names: Sequence[str], depth: int = 1) -> Contrasts:
    groups = tuple(
        Contrast(
            name, f"goal {name}", depth, State(f"near {name}", -1.0), (State(f"lost {name}", -1.0),),
            (), 1,
        )
        for name in names
    )  # fmt: skip
    return Contrasts(groups, len(names), 0, 0)


def test_a_theorem_is_on_one_side_whatever_else_there_is() -> None:
    names = [f"t{n % 50}" for n in range(100)]
    split = split_groups(found(names), 0.4)
    sides = [{g.theorem for g in side} for side in (split.train, split.val, split.test)]
    assert set.union(*sides) == set(names)
    assert sum(map(len, sides)) == 50, "none is on two sides"
    assert all(len(side) > 5 for side in sides)
    more = split_groups(found([*names, *(f"u{n}" for n in range(50))]), 0.4)
    assert sides[1] < {group.theorem for group in more.val}
    assert sides[2] < {group.theorem for group in more.test}


def test_what_a_library_says_twice_is_not_held_out(tmp_path: Path) -> None:
    """An alias has another name and the same states: a head that knows them by heart must not shine."""
    names = [f"t{n}" for n in range(80)]
    same = found(["t"] * 80).groups[0]
    copies = tuple(replace(same, theorem=name) for name in names)
    with pytest.raises(InputError, match="learn, 0 choose"):
        split_groups(Contrasts(copies, 80, 0, 0), 0.4)
    split = split_groups(Contrasts((*found(names).groups, *copies), 160, 0, 0), 0.4)
    learnt = {g.root_goal for g in split.train}
    assert same.root_goal in learnt
    assert all(g.root_goal not in learnt for g in (*split.val, *split.test))


def test_too_little_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of 7 states on the paths of proofs, none") as refused:
        split_groups(Contrasts((), 7, 7, 0), 0.2)
    assert "burn-qed negatives" in refused.value.hint
    with pytest.raises(InputError, match="5 groups of 1 theorems are too few: ") as refused:
        split_groups(found(["t"] * 5), 0.2)
    assert "burn-qed negatives" in refused.value.hint
    one_step = write_searches(tmp_path / "run", range(5), steps=1)
    with pytest.raises(InputError, match="nothing to learn from"):
        train(job(one_step), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_data_of_short_proofs_gets_a_warning(tmp_path: Path, data: Path) -> None:
    watcher = Onlooker()
    shallow = write_searches(tmp_path / "run", range(60), steps=2)
    train_value(job(shallow, plan={"steps": 1}), Planted(), tmp_path / "a", watcher, resume=False)
    assert any("60 at depth 1" in warning for warning in watcher.warnings)
    watcher = Onlooker()
    train_value(job(data, plan={"steps": 1}), Planted(), tmp_path / "b", watcher, resume=False)
    assert watcher.warnings == []

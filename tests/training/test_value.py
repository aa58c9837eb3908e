"""From runs to a head and a verdict: split by theorem, judged apart, resumed, refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import InputError
from burnqed.training.plans import ValuePlan
from burnqed.training.siblings import Split, split_groups
from burnqed.training.value import Job, train_value
from burnqed.trajectories.store import iter_rows
from burnqed.value.calibration import read_calibration
from burnqed.value.groups import Contrast, Contrasts, State, contrasts
from burnqed.value.saved import read_head
from tests.training.searches import Onlooker, Planted, write_searches
from tests.trajectories.samples import name


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def job(*data: Path, **more: Any) -> Job:
    plan = ValuePlan(**{"epochs": 30, "batch": 16, "eval_every": 20, **more.pop("plan", {})})
    return Job(data=data, plan=plan, **{"folds": 1, **more})


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


def test_embeddings_that_say_nothing_decide_nothing(tmp_path: Path, data: Path) -> None:
    result = train(job(data, plan={"epochs": 5}), tmp_path / "out", encoder=Planted(blind=True))
    assert result["verdict"] == "undecided"
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
    assert result["verdict"] == "undecided"
    assert result["calibration"]["theorems"] == len(judges)


def test_stopped_anywhere_it_goes_on(tmp_path: Path, data: Path) -> None:
    asked = job(data, plan={"epochs": 10, "eval_every": 7})
    whole = train(asked, tmp_path / "whole")
    out, resume = tmp_path / "stopped", False
    for after in (1, 2, 9):  # before the first embedding, after one step, later
        stopped = train_value(asked, Planted(), out, Onlooker(stop_after=after), resume=resume)
        assert stopped is None
        resume = True
    # Carried elsewhere, with the runs that it learns from.
    shutil.copytree(data, tmp_path / "there" / "searches")
    out = out.rename(tmp_path / "there" / "out")
    asked = replace(asked, data=(tmp_path / "there" / "searches",))
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
    with pytest.raises(InputError, match=r"encoder\.dtype was"):
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


def test_what_is_learnt_from_elsewhere_is_not_held_out() -> None:
    """By its policy, from pairs: a goal, a state on a path, or a state beside it."""
    groups = found([f"t{n}" for n in range(80)])
    before = split_groups(groups, 0.4)
    one, two, three = before.test[:3]
    learnt = [one.root_goal, two.positive.text, three.siblings[0].text]
    after = split_groups(groups, 0.4, learnt=[*learnt, before.train[0].root_goal])
    assert set(before.test) - set(after.test) == {one, two, three}
    assert (after.train, after.val) == (before.train, before.val)
    assert after.left_out == 3


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


def test_slower_siblings_are_rivals_only_if_asked_for() -> None:
    names = [f"t{n}" for n in range(80)]
    given_up = found(names)
    paced = tuple(
        replace(g, positive=State(f"quick {g.theorem}", -1.0), siblings=(), slower=(slow(g),))
        for g in given_up.groups
    )
    both = replace(given_up, paced=paced)
    assert split_groups(both, 0.4) == split_groups(given_up, 0.4)
    split = split_groups(both, 0.4, slower=True)
    for side, without in zip(
        (split.train, split.val, split.test), sides(split_groups(given_up, 0.4)), strict=True
    ):
        assert len(side) == 2 * len(without)
        assert {g.siblings for g in side if g.positive.text.startswith("quick")} == {
            (slow(g),) for g in without
        }


def test_slower_siblings_alone_are_enough_if_asked_for() -> None:
    paced = tuple(
        replace(g, siblings=(), slower=(slow(g),)) for g in found([f"t{n}" for n in range(80)]).groups
    )
    only = Contrasts((), 80, 80, 0, paced)
    with pytest.raises(InputError, match="nothing to learn from") as refused:
        split_groups(only, 0.4)
    assert refused.value.hint.endswith("; 80 have a slower one: --slower")
    assert {g.siblings for g in split_groups(only, 0.4, slower=True).train} <= {
        (slow(g),) for g in paced
    }


def slow(group: Contrast) -> State:
    return State(f"slow {group.theorem}", -2.0)


def sides(split: Split) -> tuple[tuple[Contrast, ...], ...]:
    return split.train, split.val, split.test


def test_figures_without_slower_siblings_stand_beside_those_with_them(
    data: Path, tmp_path: Path
) -> None:
    told = train(job(data, plan={"steps": 1}, slower=True, val_share=0.5), tmp_path / "out")
    alone = told["test_given_up"]
    assert 0 < alone["groups"] <= told["test_groups"]
    assert {"rank1", "chance", "logprob_rank1"} < set(alone)

"""All theorems judge, and each a head that had no part of it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnqed.core.errors import InputError
from burnqed.training.folds import place_of
from burnqed.training.log import read_log
from burnqed.training.pairs import is_validation
from burnqed.training.plans import ValuePlan
from burnqed.training.siblings import fold_of, split_groups, split_in_folds
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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_searches(tmp_path_factory.mktemp("searches"), range(60))


def job(data: Path, *, folds: int = 3, share: float = 0.3, **plan: Any) -> Job:
    usual = {"epochs": 15, "batch": 16, "eval_every": 20, **plan}
    return Job(data=(data,), folds=folds, val_share=share, plan=ValuePlan(**usual))


def train(asked: Job, out: Path, encoder: Any = None) -> dict[str, Any]:
    result = train_value(asked, encoder or Planted(), out, Onlooker(), resume=False)
    assert result is not None
    return result


def found(count: int) -> Contrasts:
    groups = tuple(
        Contrast(f"t{n}", f"goal {n}", 1, State(f"near {n}", -1.0), (State(f"lost {n}", -1.0),), (), 1)
        for n in range(count)
    )
    return Contrasts(groups, count, 0, 0)


# ------------------------------------------------------------------------------------- divided


def test_each_theorem_judges_once_and_what_it_had_no_part_in() -> None:
    whole, folds = split_in_folds(found(200), 0.3, 5)
    assert sorted(folds) == [1, 2, 3, 4, 5]
    judged = Counter(group.theorem for split in folds.values() for group in split.test)
    assert judged == Counter(f"t{n}" for n in range(200)) == Counter(g.theorem for g in whole.test)
    for number, split in folds.items():
        sides = [{g.theorem for g in side} for side in (split.train, split.val, split.test)]
        assert sum(map(len, sides)) == len(set.union(*sides)) == 200
        assert {fold_of(theorem, 5) for theorem in sides[2]} == {number}
    # The head that is kept learns what it would if no other were trained, and more theorems choose.
    alone = split_groups(found(200), 0.3)
    assert whole.train == alone.train
    assert set(whole.val) == {*alone.val, *alone.test}


def test_more_theorems_move_none_to_another_fold() -> None:
    few, many = (split_in_folds(found(count), 0.3, 4)[1] for count in (100, 300))
    for number, split in few.items():
        assert set(split.test) < set(many[number].test)


def test_what_equals_a_state_that_is_learnt_from_does_not_judge() -> None:
    some = found(100)
    same = replace(some.groups[0], theorem="alias")
    while fold_of(same.theorem, 2) == fold_of(some.groups[0].theorem, 2):
        same = replace(same, theorem=same.theorem + "'")
    whole, folds = split_in_folds(replace(some, groups=(*some.groups, same)), 0.3, 2)
    judged = {g.theorem for split in folds.values() for g in split.test}
    assert judged == {f"t{n}" for n in range(1, 100)}
    assert whole.left_out == 2


def test_folds_in_which_nobody_would_learn_are_left_out_until_nothing_is_left() -> None:
    some = found(12)
    whole, folds = split_in_folds(some, 0.4, 20)
    assert 1 < len(folds) < 13
    assert all(split.train and split.val and split.test for split in folds.values())
    assert len(whole.test) == sum(len(split.test) for split in folds.values())
    with pytest.raises(InputError, match=r"2 groups of 2 theorems are too few: .* judge it") as refused:
        split_in_folds(found(2), 0.4, 5)
    assert "burn-qed negatives" in refused.value.hint


def test_what_the_encoder_has_learnt_from_judges_nothing() -> None:
    whole, folds = split_in_folds(found(300), 0.3, 4, unlearnt=0.2)
    unlearnt = {f"t{n}" for n in range(300) if is_validation(f"t{n}", 0.2)}
    assert 30 < len(unlearnt) < 90
    assert {g.theorem for g in whole.test} == unlearnt
    assert whole.left_out == 0
    for split in folds.values():
        judges = {g.theorem for g in split.test}
        assert {g.theorem for g in (*split.train, *split.val)} == {
            f"t{n}" for n in range(300)
        } - judges, "the others of its names learn, too"
    alone = split_groups(found(300), 0.3, unlearnt=0.2)
    assert {g.theorem for g in alone.test} < unlearnt
    assert len(alone.val) > len(split_groups(found(300), 0.3).val)


def test_searches_of_a_theorem_are_in_one_fold_whatever_run_they_are_of(tmp_path: Path) -> None:
    """`search` finds a proof, `negatives` what is beside it: both are about one theorem."""
    runs = [write_searches(tmp_path / place, range(30), steps=steps) for place, steps in RUNS.items()]
    groups = contrasts(*(iter_rows(run / "trajectories") for run in runs))
    assert max(Counter(group.theorem for group in groups.groups).values()) > 2
    _, folds = split_in_folds(groups, 0.3, 3)
    for split in folds.values():
        assert {g.theorem for g in split.test}.isdisjoint(g.theorem for g in (*split.train, *split.val))


RUNS = {"search": 3, "negatives": 4}


# -------------------------------------------------------------------------------------- judged


def test_the_verdict_is_about_all_theorems(tmp_path: Path, data: Path) -> None:
    out = tmp_path / "out"
    result = train(job(data), out)
    assert result["verdict"] == "better"
    assert result["test_theorems"] == result["calibration"]["theorems"] == 60
    assert result["calibration"]["rank1_energy"] == result["test_rank1"] > 0.9
    assert result["train_theorems"] + result["val_theorems"] == 60
    assert sorted(result["folds"]) == ["1", "2", "3"]
    assert sum(fold["test_theorems"] for fold in result["folds"].values()) == 60
    weighed = sum(f["test_rank1"] * f["test_groups"] for f in result["folds"].values())
    assert weighed / result["test_groups"] == pytest.approx(result["test_rank1"])
    calibration = read_calibration(out / "best")
    assert calibration.heads == 3
    assert calibration.told.endswith("; 3 heads judged, each the theorems that it did not learn from")
    assert calibration.gained > calibration.lost  # type: ignore[operator]
    for number in (1, 2, 3):
        assert read_head(out / "folds" / str(number)).encoder == Planted().name
    assert json.loads((out / "result.json").read_text()) == result


class Turned(Planted):
    """Sees the words of one fold's theorems the wrong way round."""

    def _row(self, state: str) -> Any:
        number = int(state.split()[-1 if "goal" in state else -2])
        turned = fold_of(name(number), 3) == 1
        swap = {"near": "lost", "lost": "near"}
        words = [swap.get(word, word) if turned else word for word in state.split(" ")]
        return super()._row(" ".join(words))


def test_what_a_fold_alone_has_its_head_cannot_know(tmp_path: Path, data: Path) -> None:
    """A head that had seen these theorems would know better than to be always wrong about them."""
    result = train(job(data), tmp_path / "out", Turned())
    ranks = {number: fold["test_rank1"] for number, fold in result["folds"].items()}
    assert ranks["1"] < 0.2
    assert min(ranks["2"], ranks["3"]) > ranks["1"]


def test_what_is_known_by_heart_earns_nothing(tmp_path: Path, data: Path) -> None:
    result = train(job(data, folds=2, steps=500, eval_every=500), tmp_path / "out", Planted(blind=True))
    last = [e for e in read_log(tmp_path / "out" / "log.jsonl") if e["kind"] == "eval"][-1]
    assert last["train_rank1"] > 0.9, "there is something to know by heart"
    assert result["verdict"] == "undecided"
    assert result["test_rank1"] < 0.75


# ------------------------------------------------------------------------ stopped, and gone on


def test_stopped_anywhere_it_goes_on(tmp_path: Path, data: Path) -> None:
    asked = job(data, epochs=6, eval_every=7)
    whole = train(asked, tmp_path / "whole")
    out, resume, steps = tmp_path / "stopped", False, []
    for after in (12, 15, 1, 30):
        assert train_value(asked, Planted(), out, Onlooker(stop_after=after), resume=resume) is None
        resume = True
        steps.append(sum(place_of(out, n).joinpath("checkpoint").is_dir() for n in range(4)))
    assert steps[0] == 1 < steps[-1], "it was stopped in the first training and in a fold's"
    again = train_value(asked, Planted(), out, Onlooker(), resume=True)
    assert again is not None
    assert {**again, "seconds": 0} == {**whole, "seconds": 0}
    for number in range(4):
        mine, theirs = (place_of(at, number) for at in (out, tmp_path / "whole"))
        assert read_log(mine / "log.jsonl") == read_log(theirs / "log.jsonl")
    with pytest.raises(InputError, match="folds was 3, now 2"):
        train_value(replace(asked, folds=2), Planted(), out, Onlooker(), resume=True)


def test_whoever_watches_sees_one_training_that_only_goes_forward(tmp_path: Path, data: Path) -> None:
    watcher = Onlooker()
    asked = job(data, epochs=4, eval_every=5, patience=1000)
    assert train_value(asked, Planted(), tmp_path / "out", watcher, resume=False)
    heard: list[Any] = watcher.heard
    steps = [told.step for told in heard]
    assert steps == sorted(steps)
    assert {told.steps for told in heard} == {heard[-1].step}
    assert list(dict.fromkeys(told.fold for told in heard)) == [None, 1, 2, 3]


def test_a_fold_is_trained_further_from_the_head_of_the_same_fold(tmp_path: Path, data: Path) -> None:
    first = train(job(data), tmp_path / "first")
    more = replace(job(data, epochs=1), resume_from=tmp_path / "first")
    train(more, tmp_path / "more")
    for number in range(4):
        at = [place_of(tmp_path / place, number) / "log.jsonl" for place in ("first", "more")]
        kept = {e["step"]: e["val_rank1"] for e in read_log(at[0]) if e["kind"] == "eval"}
        best = first["folds"][str(number)]["best_step"] if number else first["best_step"]
        begun = next(e["val_rank1"] for e in read_log(at[1]) if e["kind"] == "eval")
        assert begun == kept[best]
    for folds in (1, 2):
        with pytest.raises(InputError, match="was trained with --folds 3, and here it is") as refused:
            train(replace(more, folds=folds), tmp_path / "other")
        assert refused.value.hint == "--folds 3"
    with pytest.raises(InputError, match="may know theorems") as refused:
        train(replace(more, policy_val_share=0.1), tmp_path / "other")
    assert refused.value.hint == "--policy-val-share 0.0"
    (tmp_path / "first" / "folds" / "2" / "best").rename(tmp_path / "gone")
    with pytest.raises(InputError, match="no head of fold 2:"):
        train(more, tmp_path / "other")
    shutil.copytree(tmp_path / "first" / "best", tmp_path / "alone")
    with pytest.raises(InputError, match="none of its folds"):
        train(replace(more, resume_from=tmp_path / "alone"), tmp_path / "other")
    train(replace(more, resume_from=tmp_path / "alone", folds=1), tmp_path / "once")
    assert not (tmp_path / "other").exists()

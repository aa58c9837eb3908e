"""What became of a run's stages, with value models that a red line drops: read off its files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.training.searches import write_searches

from burnqed.core.errors import InputError
from burnqed.iteration import rounds
from burnqed.iteration.config import Config
from burnqed.iteration.directory import freeze, locked, read_done, write_record
from burnqed.iteration.made import JOINT, VALUE, value_training
from burnqed.iteration.plan import due
from burnqed.iteration.runner import run_stage
from burnqed.iteration.sections import Embeddings, Eval, Joint, Theorems, Value
from burnqed.iteration.specs import Search, Stage, TrainValue
from burnqed.iteration.standing import read_standing, read_value
from burnqed.prover.config import EncoderConfig
from burnqed.training.settings import ValueTraining

SEEN = {"encoders": [
    {"centroid_l2": distance, "probe": 0.9, "states": 90, "theorems": 30, "encoder": {"width": 64}}
    for distance in (1.0, 0.5)
]}  # fmt: skip
HEAD: dict[str, Any] = {"verdict": "better", "test_by_depth": {}}


def config(joint: int | None = None, **settings: Any) -> Config:
    return Config(
        eval=Eval(sets=("qed-core",)), theorems=Theorems(set="qed-core"), value=Value(model="policy"),
        joint=Joint(first=joint), embeddings=Embeddings(**settings),
    )  # fmt: skip


def walked(run: Path, config: Config, seen: Any = SEEN) -> None:
    """A run that is about to search in iteration 1, as far as its files say."""
    freeze(run, rounds.manifest(config, "embedded"))
    for number in (-1, 0, 1):
        while (following := due(config, number, read_standing(run, config))) is not None:
            stage = following.stage
            if (number, stage.name) == (1, "search-1-theorems"):
                return
            out = run / stage.out
            if number == 1 and stage.name in (VALUE, JOINT):
                out.mkdir(parents=True)
                (out / "result.json").write_text(json.dumps(HEAD))
            if stage.name == "embeddings":
                out.mkdir(parents=True)
                (out / "embeddings.json").write_text(json.dumps(seen))
            write_record(run, stage, "done")


def followed(run: Path, config: Config) -> Path | None:
    """The value model that the next search follows."""
    done = {**read_standing(run, config), (1, "search-1-theorems"): "done"}
    following = due(config, 1, done)
    assert following is not None
    assert isinstance(following.stage.spec, Search)
    return following.stage.spec.config.value


@pytest.mark.parametrize(("joint", "stage", "place"), [(None, VALUE, "ebm"), (1, JOINT, "joint")])
def test_a_red_line_drops_the_head_before_the_search(
    tmp_path: Path, joint: int | None, stage: str, place: str
) -> None:
    asked = config(joint)
    walked(tmp_path, asked)
    assert read_standing(tmp_path, asked)[1, stage] == "dropped"
    assert followed(tmp_path, asked) is None
    lower = config(joint, least_distance=2.4)
    assert read_standing(tmp_path, lower)[1, stage] == "done"
    assert followed(tmp_path, lower) == Path(f"checkpoints/{place}/iter_1/best")
    assert read_standing(tmp_path, config(joint, red_line="warn"))[1, stage] == "done"


def test_figures_that_are_damaged_are_named(tmp_path: Path) -> None:
    asked = config()
    walked(tmp_path, asked)
    (tmp_path / "embeddings/iter_1/embeddings.json").write_text("{")
    with pytest.raises(InputError, match=r"cannot read .*iter_1/embeddings\.json") as caught:
        read_standing(tmp_path, asked)
    assert "remove it, stages/iter_1/embeddings.json and outcomes/iter_1/emb" in caught.value.hint


class Onlooker:
    def begun(self, stage: Stage, log: Path) -> None: ...

    def looked(self, stage: Stage, last_line: str) -> None: ...

    def ended(self, stage: Stage, how: str, why: str) -> None: ...


def test_a_stage_whose_result_is_damaged_is_done_again_as_the_hint_says(tmp_path: Path) -> None:
    write_searches(tmp_path / "searches", range(30))
    asked = ValueTraining(data=(Path("searches"),), model="words", folds=2, steps=2)
    spec = TrainValue(config=asked, encoding=EncoderConfig(), out=Path(value_training(1)))
    stage = Stage(1, VALUE, spec)

    def train() -> None:
        with locked(tmp_path, lambda _: None) as lock:
            run_stage(tmp_path, stage, lock, Onlooker(), lambda: None)

    train()
    before = read_value(tmp_path, 1, read_done(tmp_path))
    assert before is not None
    result = tmp_path / value_training(1) / "result.json"
    result.write_text("{")
    with pytest.raises(InputError, match="cannot read") as caught:
        read_value(tmp_path, 1, read_done(tmp_path))
    result.unlink()
    for named in re.findall(r"\S+\.json", caught.value.hint):
        (tmp_path / named).unlink()
    train()
    assert read_value(tmp_path, 1, read_done(tmp_path)) == before

"""What became of a run's stages, with value models that a red line drops: read off its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.iteration import rounds
from burnqed.iteration.config import Config
from burnqed.iteration.directory import freeze, write_record
from burnqed.iteration.made import JOINT, VALUE
from burnqed.iteration.plan import due
from burnqed.iteration.sections import Embeddings, Eval, Joint, Theorems, Value
from burnqed.iteration.specs import Search
from burnqed.iteration.standing import read_standing

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
    assert "the stage embeddings wrote it; remove its record" in (caught.value.hint or "")

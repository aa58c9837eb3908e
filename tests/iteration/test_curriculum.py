"""Held-out theorems are never searched for training, by whatever way they come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.data.benchmarks import theorem_set
from burnqed.iteration.config import Config, Eval
from burnqed.iteration.curriculum import refuse_held_out

CONFIG = Config(eval=Eval(sets=("qed-core",)))
MINE = {"name": "mine", "statement": "∀ n : Nat, n + 0 = n"}


def index(tmp_path: Path, *entries: dict[str, str]) -> Path:
    path = tmp_path / "train.json"
    path.write_text(json.dumps({"theorems": [MINE, *entries]}, ensure_ascii=False))
    return path


def test_one_without_them_is_searched(tmp_path: Path) -> None:
    refuse_held_out(CONFIG, index(tmp_path))


def test_one_by_its_name_is_refused(tmp_path: Path) -> None:
    held = theorem_set("qed-core", None, None).theorems[17].name
    with pytest.raises(InputError, match=f"{held}, which is held out in qed-core"):
        refuse_held_out(CONFIG, index(tmp_path, {"name": held, "statement": "1 = 1"}))


def test_one_by_what_it_states_is_refused_under_another_name(tmp_path: Path) -> None:
    entry = next(
        e
        for e in theorem_set("qed-core", None, None).entries
        if isinstance(e.fields.get("statement"), str)
    )
    with pytest.raises(InputError, match=f"harmless, which is held out in .*{entry.theorem.name}"):
        refuse_held_out(
            CONFIG, index(tmp_path, {"name": "harmless", "statement": entry.fields["statement"]})
        )

"""Held-out theorems are never searched for training, by whatever way they come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.data.benchmarks import theorem_set
from burnqed.iteration.config import Config
from burnqed.iteration.curriculum import refuse_held_out, refuse_held_out_pairs
from burnqed.iteration.sections import Data, Eval

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


def based_on(tmp_path: Path, *pairs: dict[str, object]) -> Config:
    mine = {"theorem": "mine", "state": "n : Nat\n⊢ n + 0 = n", "tactic": "rfl", "depth": 0}
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({**mine, **pair}) + "\n" for pair in ({}, *pairs)))
    return Config(eval=CONFIG.eval, data=Data(base=(str(path),)))


def test_pairs_to_begin_with_are_looked_at(tmp_path: Path) -> None:
    refuse_held_out_pairs(CONFIG)
    refuse_held_out_pairs(based_on(tmp_path))
    held = theorem_set("qed-core", None, None).theorems[17].name
    with pytest.raises(InputError, match=f"a proof of {held}, which is held out in qed-core"):
        refuse_held_out_pairs(based_on(tmp_path, {"theorem": held, "depth": 3}))


def test_pairs_are_known_by_what_they_state(tmp_path: Path) -> None:
    """At the state that a proof begins with; the same state within another proof is another thing."""
    path = tmp_path / "held.json"
    stated = {"name": "add_two", "statement": "theorem add_two (k : Nat) : k + 2 = 2 + k"}
    path.write_text(json.dumps({"theorems": [stated]}))
    sets = Eval(sets=(str(path),))
    pair: dict[str, object] = {"theorem": "other", "state": "m : Nat\n⊢ m + 2 = 2 + m"}
    config = based_on(tmp_path, {**pair, "depth": 1})
    refuse_held_out_pairs(Config(eval=sets, data=config.data))
    config = based_on(tmp_path, pair)
    with pytest.raises(InputError, match="a proof of other, which is held out in held as add_two"):
        refuse_held_out_pairs(Config(eval=sets, data=config.data))

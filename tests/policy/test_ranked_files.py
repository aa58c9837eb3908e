"""Rankers and libraries on disk: what is read is what was written, and what is neither is told."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from burnqed.core.errors import CorruptError, InputError
from burnqed.policy.models.checks import weight_files
from burnqed.policy.ranked.files import CARD, CORE, WEIGHTS, find_ranker, is_ranker
from burnqed.policy.ranked.library import Library, read_library, write_library
from burnqed.policy.ranked.shapes import shape_row
from burnqed.policy.ranked.weights import Weights, as_saved, load, save, untrained


def learnt(seed: int = 0) -> Weights:
    chance = np.random.default_rng(seed)
    tables = {one.name: getattr(untrained(), one.name) for one in fields(Weights)}
    return Weights(**{k: chance.normal(size=t.shape).astype(np.float32) for k, t in tables.items()})


@pytest.fixture
def ranker(tmp_path: Path) -> Path:
    save(tmp_path / "ranker", untrained(), {"seed": 3})
    return tmp_path / "ranker"


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    weights = learnt()
    save(tmp_path, weights, {"seed": 3})
    again = load(tmp_path)
    for one in fields(Weights):
        assert getattr(again, one.name).dtype == np.float32
        np.testing.assert_allclose(
            getattr(again, one.name), getattr(weights, one.name), rtol=1e-3, atol=1e-6
        )
    assert again.identity == as_saved(weights).identity, "known before it is written"
    assert as_saved(again).identity == again.identity
    assert json.loads((tmp_path / CARD).read_text())["seed"] == 3
    assert is_ranker(tmp_path)


def test_an_identity_is_that_of_the_numbers(ranker: Path) -> None:
    plain = untrained()
    assert load(ranker).identity == plain.identity == untrained().identity
    for one in fields(Weights):
        table = getattr(plain, one.name).copy()
        table.flat[-1] += 1
        assert replace(plain, **{one.name: table}).identity != plain.identity, one.name


def test_the_ranker_that_comes_along() -> None:
    """It has learnt something, and nothing of the theorems that it is evaluated on."""
    found = find_ranker(CORE)
    weights = load(found)
    assert weights.identity != untrained().identity
    quick, slow = (weights.cost[shape_row(tactic)] for tactic in ("rfl", "grind [a, b, c, d]"))
    assert quick < 0 < slow, "in how much more or less than the average a tactic costs"
    card = json.loads((found / CARD).read_text())
    assert {"core-300", "qed-core"} <= set(card["without"])
    assert (found / WEIGHTS).stat().st_size < 5_000_000


def test_a_ranker_of_ones_own_goes_before_it(
    ranker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_ranker(CORE) != Path(CORE)
    ranker.rename(tmp_path / CORE)
    assert find_ranker(CORE) == Path(CORE)


def changed(ranker: Path, name: str, table: np.ndarray | None) -> None:
    tables = {key: own.copy() for key, own in load_file(ranker / WEIGHTS).items()}
    if table is None:
        del tables[name]
    else:
        tables[name] = table
    save_file(tables, ranker / WEIGHTS)


def test_an_older_ranker_knows_of_no_costs(ranker: Path) -> None:
    before = load(ranker).identity
    changed(ranker, "cost", None)
    assert not load(ranker).cost.any()
    assert load(ranker).identity == before, "it searches as it did"


def test_without_costs_a_ranker_is_as_if_it_had_learnt_none(tmp_path: Path) -> None:
    save(tmp_path, learnt(), {"seed": 3})
    known = load(tmp_path)
    changed(tmp_path, "cost", None)
    assert known.costless.identity == load(tmp_path).identity != known.identity


@pytest.mark.parametrize(
    ("name", "table", "told"),
    [
        ("trust", None, "the ranker's trust is missing"),
        ("cost", np.zeros(3, np.float16), "the ranker's cost is missing or of another size"),
        ("bias", np.zeros(3, np.float16), "the ranker's bias is missing or of another size"),
        ("scale", np.full(1, np.nan, np.float16), "the ranker's scale has numbers that are none"),
        ("rules", np.full(1, np.inf, np.float16), "the ranker's rules has numbers that are none"),
    ],
)
def test_tables_that_are_wrong(ranker: Path, name: str, table: np.ndarray | None, told: str) -> None:
    changed(ranker, name, table)
    with pytest.raises(InputError, match=told) as refusal:
        load(ranker)
    assert str(ranker) in refusal.value.message


def test_another_version(ranker: Path) -> None:
    card = json.loads((ranker / CARD).read_text())
    (ranker / CARD).write_text(json.dumps({**card, "format": 99}))
    with pytest.raises(InputError, match="is a ranker of another version"):
        load(ranker)


@pytest.mark.parametrize("card", [None, "{", "[]", "3", '{"model_type": "llama"}', "\ud800"])
def test_a_card_of_something_else(ranker: Path, card: str | None) -> None:
    """A language model has a config.json as well, and any file may be broken."""
    (ranker / CARD).unlink()
    if card is not None:
        (ranker / CARD).write_text(card, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(InputError, match="holds no ranker") as refusal:
        load(ranker)
    assert "train ranker" in refusal.value.hint


def test_what_is_no_ranker(ranker: Path, tmp_path: Path) -> None:
    for nothing in (tmp_path, tmp_path / "absent", ranker / CARD):
        assert not is_ranker(nothing)
        with pytest.raises(InputError, match="holds no ranker"):
            load(nothing)
    whole = (ranker / WEIGHTS).read_bytes()
    for broken in (b"", b"text", whole[: len(whole) // 2]):
        (ranker / WEIGHTS).write_bytes(broken)
        with pytest.raises(InputError, match="holds no ranker"):
            load(ranker)


LIBRARY = Library(
    ("a", "b'"), ("M", "N"), ("∀ n, n = n", "⊢ α"), {"N": ("M",), "M": ()}, frozenset({"b'"})
)


def test_a_library_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "library.parquet"
    write_library(path, LIBRARY)
    assert read_library(path) == LIBRARY
    write_library(path, Library((), (), ()))
    assert read_library(path) == Library((), (), ())
    assert [one.name for one in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [b"", b"text", None])
def test_a_broken_library_says_what_to_remove(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "library.parquet"
    write_library(path, LIBRARY)
    path.write_bytes(path.read_bytes()[:-50] if content is None else content)
    with pytest.raises(CorruptError, match="cannot read the library") as told:
        read_library(path)
    assert str(path) in told.value.message
    assert "remove it" in told.value.hint


def test_a_ranker_is_no_language_model(ranker: Path) -> None:
    with pytest.raises(InputError, match="is a ranker, and no language model") as refusal:
        weight_files(ranker)
    assert "--policy ranked" in refusal.value.hint


def test_a_training_is_as_good_as_the_ranker_in_it(ranker: Path, tmp_path: Path) -> None:
    assert find_ranker(str(ranker)) == ranker
    (tmp_path / "training").mkdir()
    ranker.rename(tmp_path / "training" / "best")
    assert find_ranker(str(tmp_path / "training")) == tmp_path / "training" / "best"
    assert find_ranker(str(tmp_path / "none")) == tmp_path / "none"

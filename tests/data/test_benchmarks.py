"""Benchmarks by name: what pins them holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError
from burnqed.core.types import LibraryConstant
from burnqed.data.benchmarks import (
    BENCHMARKS,
    LibrarySample,
    Packaged,
    Repository,
    is_here,
    load,
    theorem_set,
)
from burnqed.data.fetch import build, fetch
from burnqed.data.index import read_index
from burnqed.lean.pool import Pool
from burnqed.lean.toolchain import Toolchain
from tests.data.repositories import (
    names,
    put,
)

pytestmark = pytest.mark.usefixtures("folder")


# ----------------------------------------------------------------------------- those we know


def test_qed_core_is_the_set_that_is_pinned() -> None:
    benchmark = BENCHMARKS["qed-core"]
    assert isinstance(benchmark.origin, Packaged)
    index = load(benchmark)
    assert index.checksum == benchmark.origin.checksum
    assert (index.name, index.revision, len(index.entries)) == ("qed-core", benchmark.pin, 150)
    assert is_here(benchmark)
    assert fetch(benchmark, None) == index


def test_every_benchmark_has_a_pin() -> None:
    for name, benchmark in BENCHMARKS.items():
        assert name == benchmark.name
        assert re.fullmatch("commit [0-9a-f]{40}|(checksum|sha256) [0-9a-f]{64}", benchmark.pin)
        assert benchmark.about
        assert benchmark.licence
        if isinstance(benchmark.origin, Repository):
            assert benchmark.origin.url.startswith("https://")
        assert is_here(benchmark) == (name == "qed-core"), "the cache is empty"


@pytest.mark.lean
@pytest.mark.soak
async def test_core_300_is_the_set_that_is_pinned(toolchain: Toolchain) -> None:
    """Made of the embedded Lean's library; a set that comes out otherwise is not kept."""
    benchmark = BENCHMARKS["core-300"]
    assert isinstance(benchmark.origin, LibrarySample)
    async with Pool(toolchain.launch(benchmark.origin.modules), 1) as pool:
        with pytest.raises(CorruptError, match="core-300 comes out as another set") as caught:
            await build(benchmark, replace(benchmark.origin, modules=("Init.Core",), count=9), pool)
        assert "burn-qed data index --module" in caught.value.hint
        assert not is_here(benchmark)
        index = await build(benchmark, benchmark.origin, pool)
    assert index.checksum == benchmark.origin.checksum
    assert (len(index.entries), index.imports, index.leak_rules) == (300, ("Init", "Std"), ("self",))
    assert theorem_set("core-300") == index


# --------------------------------------------------------------------------------- by name


def test_a_set_is_named_or_is_a_file(folder: Path) -> None:
    assert theorem_set("qed-core").name == "qed-core"
    path = folder / "mine.json"
    put(folder, {"mine.json": json.dumps([{"name": "a", "statement": "1 = 1"}])})
    assert theorem_set(str(path)) == read_index(path)


def test_a_name_is_not_looked_for_in_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What qed-core is does not depend on where one stands."""
    put(folder, {"qed-core": "[]", "other": "[]"})
    monkeypatch.chdir(folder)
    assert len(theorem_set("qed-core").entries) == 150
    assert theorem_set("other").entries == ()


@pytest.mark.parametrize("given", ["qed-cor", "minif2f", "no/such/file"])
def test_a_name_that_nobody_knows(given: str) -> None:
    with pytest.raises(InputError, match=f"there is no benchmark and no file {given}") as caught:
        theorem_set(given)
    assert "burn-qed data benchmarks" in caught.value.hint


def test_a_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent\.json: No such file"):
        theorem_set(str(folder / "absent.json"))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("minif2f-test", "burn-qed data fetch minif2f-test"),
        ("core-300", "burn-qed data fetch core-300"),
        ("minif2f-core-valid", "burn-qed data fetch minif2f-core-valid --from FILE"),
    ],
)
def test_a_benchmark_that_is_not_here_yet(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"{name} is not on this machine yet") as caught:
        theorem_set(name)
    assert caught.value.hint == hint


def test_one_split_of_a_set(folder: Path) -> None:
    entries = [{"name": n, "statement": "1 = 1", "split": s} for n, s in [("a", "test"), ("b", "val")]]
    put(folder, {"mine.json": json.dumps(entries)})
    assert names(theorem_set(str(folder / "mine.json"), split="val")) == ["b"]
    parts = [theorem_set("qed-core", split=split) for split in ("train", "val", "test")]
    assert sum(len(part.entries) for part in parts) == 150
    assert [part.name for part in parts] == ["qed-core/train", "qed-core/val", "qed-core/test"]
    with pytest.raises(InputError, match="no theorem of qed-core is in the split tset"):
        theorem_set("qed-core", split="tset")


def test_the_leak_rule_of_a_set_can_be_replaced(folder: Path) -> None:
    entries = [{"name": "a", "constant": "Nat.add_comm", "leak_rule": "self"}]
    put(folder, {"mine.json": json.dumps(entries)})
    (theorem,) = theorem_set(str(folder / "mine.json"), "module").theorems
    assert theorem.statement == LibraryConstant("Nat.add_comm", "module")

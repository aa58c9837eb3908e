"""A part that was cut or damaged gives whole theorems, unchanged, or nothing; and it says so."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path

import pytest

from burnqed.core.errors import CorruptError, InputError
from burnqed.trajectories import part, store
from burnqed.trajectories.part import open_whole
from burnqed.trajectories.schema import StepRow
from burnqed.trajectories.store import iter_rows, open_writer, read_records
from burnqed.trajectories.tables import SCHEMA, VERSION_KEY
from tests.lanes import few_and
from tests.trajectories.samples import name, record, rows, steps_of, write

THEOREMS = range(24)


def read(directory: Path) -> tuple[dict[str, list[StepRow]], list[str]]:
    """The rows that can be read, by theorem, and the problems met."""
    problems: list[str] = []
    found = list(iter_rows(directory, problems.append))
    return {
        theorem: list(group) for theorem, group in groupby(found, lambda row: row.theorem)
    }, problems


def originals() -> dict[str, list[StepRow]]:
    return {name(n): rows(n, steps_of(n)) for n in THEOREMS if steps_of(n)}


def test_of_a_truncated_part_come_the_theorems_before_the_cut(tmp_path: Path) -> None:
    path = write(tmp_path, THEOREMS)
    data, whole = path.read_bytes(), originals()
    counts = []
    for cut in [len(data) * twentieth // 20 for twentieth in range(20)] + [len(data) - 1]:
        path.write_bytes(data[:cut])
        found, (problem,) = read(tmp_path)
        assert str(path) in problem
        assert f"{sum(map(len, found.values()))} rows" in problem
        assert list(found.items()) == list(whole.items())[: len(found)]
        problems: list[str] = []
        assert read_records(tmp_path, problems.append) == []
        assert len(problems) == 1
        counts.append(len(found))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == len(whole)
    assert len(set(counts)) > 5


@pytest.mark.parametrize("times", few_and(10, 100))
def test_a_flipped_bit_costs_one_group_at_most(tmp_path: Path, times: int) -> None:
    path = write(tmp_path, THEOREMS)
    data, whole = path.read_bytes(), originals()
    records = read_records(tmp_path)
    chance = random.Random(11)
    for place in [0, 4, 5, len(data) - 1, *(chance.randrange(len(data)) for _ in range(times))]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        found, problems = read(tmp_path)
        assert len(problems) == 1, place
        assert found.items() <= whole.items(), place
        assert sum(map(len, found.values())) > sum(map(len, whole.values())) - 1200, place
        assert read_records(tmp_path, lambda _: None) in (records, []), place


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    data = write(tmp_path, range(4)).read_bytes()
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(CorruptError):
            open_whole(bytes(damaged))
    for bit in range(100 * 8):  # the end, where lengths and checksums are
        damaged = bytearray(data)
        damaged[-1 - bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptError):
            open_whole(bytes(damaged))


@pytest.mark.parametrize("times", few_and(15, 150))
def test_cut_and_flipped(tmp_path: Path, times: int) -> None:
    path = write(tmp_path, THEOREMS)
    data, whole = path.read_bytes(), originals()
    chance = random.Random(13)
    for _ in range(times):
        damaged = bytearray(data[: chance.randrange(1, len(data))])
        for _ in range(chance.randrange(1, 5)):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        found, problems = read(tmp_path)
        assert len(problems) == 1
        assert found.items() <= whole.items()


def test_what_is_no_part_at_all_is_a_problem(tmp_path: Path) -> None:
    for content in (b"", b"PAR1", b"PAR1PAR1", b"\0" * 1000, b"PAR1" * 1000):
        (tmp_path / "part-000000.parquet").write_bytes(content)
        found, problems = read(tmp_path)
        assert found == {}
        assert len(problems) == 1


def test_a_theorem_of_many_pages_comes_back(tmp_path: Path) -> None:
    many = rows(1, 45_000)
    with open_writer(tmp_path) as writer:
        writer.add(record(1, len(many)), many)
        path = writer.save()
    assert path is not None
    path.write_bytes(path.read_bytes()[:-1])
    found, problems = read(tmp_path)
    assert len(problems) == 1
    assert found == {name(1): many}


def test_the_index_of_many_groups_is_there_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "GROUP_ROWS", 1)
    with open_writer(tmp_path) as writer:
        for number in range(300):
            writer.add(record(number, 2), rows(number, 2))
        path = writer.save()
    assert path is not None
    path.write_bytes(path.read_bytes()[:-10])
    found, _ = read(tmp_path)
    assert len(found) == 300


def test_a_newer_part_that_lost_its_end_is_refused_and_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(part, "SCHEMA", SCHEMA.with_metadata({VERSION_KEY: b"99"}))
        path = write(tmp_path, range(5))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="format 99"):
        read(tmp_path)

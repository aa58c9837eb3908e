"""What is written is read, whole, once, and whatever happens meanwhile."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.trajectories import part
from burnqed.trajectories.schema import StepRow, TheoremRecord, records_to_json
from burnqed.trajectories.store import (
    DamagedPart,
    iter_rows,
    iter_steps,
    open_writer,
    read_records,
    theorem_rows,
)
from burnqed.trajectories.tables import SCHEMA, VERSION_KEY
from tests.lanes import few_and
from tests.trajectories.samples import name, record, rows, steps_of, write

ROOT = Path(__file__).parent.parent.parent


def expected(numbers: range) -> tuple[list[object], list[object]]:
    return (
        [record(number, steps_of(number)) for number in numbers],
        [row for number in numbers for row in rows(number, steps_of(number))],
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path, range(10))
    write(tmp_path, range(10, 12))
    records, steps = expected(range(12))
    assert read_records(tmp_path) == records
    assert list(iter_rows(tmp_path)) == steps
    assert sorted(p.name for p in tmp_path.glob("p*")) == ["part-000000.parquet", "part-000001.parquet"]


def test_columns_are_read_alone(tmp_path: Path) -> None:
    write(tmp_path, range(10))
    states = [row.state for number in range(10) for row in rows(number, steps_of(number))]
    batches = list(iter_steps(tmp_path, columns=["state", "children"]))
    assert batches[0].schema.names == ["state", "children"]
    assert [state for batch in batches for state in batch.column("state").to_pylist()] == states
    with pytest.raises(ValueError, match="unknown column: stat"):
        list(iter_steps(tmp_path, columns=["stat"]))


def test_a_part_is_parquet_for_everybody(tmp_path: Path) -> None:
    path = write(tmp_path, range(10))
    table = pq.read_table(path, page_checksum_verification=True)
    assert table.num_rows == sum(steps_of(number) for number in range(10))
    assert table.column("theorem").to_pylist()[-1] == name(9)


def test_nothing_to_save_is_no_part(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        assert writer.save() is None
    assert read_records(tmp_path) == []
    assert list(iter_steps(tmp_path)) == []


def test_theorems_without_steps_are_kept(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        writer.add(record(1, 0), [])
    assert read_records(tmp_path) == [record(1, 0)]
    assert list(iter_steps(tmp_path)) == []


def test_what_was_added_is_saved_when_the_body_fails(tmp_path: Path) -> None:
    def stopped() -> None:
        with open_writer(tmp_path) as writer:
            writer.add(record(1, 8), rows(1, 8))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert read_records(tmp_path) == [record(1, 8)]


def test_rows_that_do_not_fit_are_refused_when_added(tmp_path: Path) -> None:
    bad = rows(1, 8)
    object.__setattr__(bad[3], "label", "perhaps")
    with open_writer(tmp_path) as writer:
        with pytest.raises(ValueError, match="column label: unknown value: perhaps"):
            writer.add(record(1, 8), bad)
        object.__setattr__(bad[3], "label", "unknown")
        object.__setattr__(bad[3], "node", None)
        with pytest.raises(ValueError, match="column node"):
            writer.add(record(1, 8), bad)
        assert writer.pending == 0


def test_halves_of_surrogates_do_not_lose_a_search(tmp_path: Path) -> None:
    strange = rows(1, 8)
    object.__setattr__(strange[3], "state", "x \ud835 y")
    object.__setattr__(strange[4], "tactic", "\udfff")
    with open_writer(tmp_path) as writer:
        writer.add(record(1, 8), strange)
    back = list(iter_rows(tmp_path))
    assert (back[3].state, back[4].tactic) == ("x ? y", "?")
    assert back[5] == strange[5]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        writer.add(record(1, 8), rows(1, 8))
        with pytest.raises(InputError, match="being written by another"), open_writer(tmp_path):
            pass
    with open_writer(tmp_path) as writer:
        assert writer.earlier == (record(1, 8),)


@pytest.mark.parametrize("anew", [{3}, {0, 2, 6, 11}, {6, 7, 8, 9, 10, 11}, set(range(12))])
def test_what_is_to_be_made_again_leaves_with_its_rows(tmp_path: Path, anew: set[int]) -> None:
    paths = [write(tmp_path, range(6)), write(tmp_path, range(6, 12))]
    before = [path.read_bytes() for path in paths]
    names = {name(number) for number in anew}
    with open_writer(tmp_path, again=lambda record: record.theorem in names) as writer:
        earlier = writer.earlier
    staying = [number for number in range(12) if number not in anew]
    records = [record(number, steps_of(number)) for number in staying]
    assert list(earlier) == read_records(tmp_path) == records
    assert list(iter_rows(tmp_path)) == [
        r for number in staying for r in rows(number, steps_of(number))
    ]
    for part_anew, path, old in zip(
        (anew & set(range(6)), anew - set(range(6))), paths, before, strict=True
    ):
        assert (path.read_bytes() == old) == (not part_anew), "what stays whole is not touched"
    assert write(tmp_path, range(12, 13)).name == "part-000002.parquet"


def test_what_cannot_be_taken_out_is_moved_aside(tmp_path: Path) -> None:
    """The footer is whole and the rows are not: they cannot be written anew."""
    path = write(tmp_path, range(6))
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    told: list[str] = []
    with open_writer(tmp_path, told.append, again=lambda record: record.theorem == name(3)) as writer:
        assert writer.earlier == ()
    assert "moved to part-000000.parquet.damaged, its theorems count as not searched" in told[0]


def test_a_newer_format_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(part, "SCHEMA", SCHEMA.with_metadata({VERSION_KEY: b"99"}))
        path = write(tmp_path, range(5))
    with pytest.raises(InputError, match=r"part-000000\.parquet cannot be read: it has .* format 99"):
        read_records(tmp_path)
    with pytest.raises(InputError, match="format 99") as refusal:
        list(iter_steps(tmp_path))
    assert "upgrade" in refusal.value.hint
    with pytest.raises(InputError, match="format 99"), open_writer(tmp_path):
        pass
    assert path.exists()


def test_an_older_format_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(part, "SCHEMA", SCHEMA.with_metadata({VERSION_KEY: b"1"}))
        patch.setattr(part, "records_to_json", _without("lost_at", "lost_kind", "path"))
        write(tmp_path, range(5))
    write(tmp_path, range(5, 7))
    records, steps = expected(range(7))
    assert read_records(tmp_path) == records
    assert list(iter_rows(tmp_path)) == steps


# What `samples` made of these theorems (number, rows), written by the code that wrote format 3.
OLD = Path(__file__).parent.parent / "golden" / "format-3.parquet"
OLD_ROWS = {0: 4, 1: 20, 2: 0, 3: 9}


def unspent(*numbers: int) -> list[StepRow]:
    """As they are read from format 6, where it was not kept how much of the budget was spent."""
    every = [row for number in numbers for row in rows(number, OLD_ROWS[number])]
    return [replace(row, spent=None) for row in every]


def childless(*numbers: int) -> list[StepRow]:
    """As they are read from formats 4 and 5, where also figures of children were not kept."""
    return [replace(row, child_energies=None, child_scores=None) for row in unspent(*numbers)]


def old_rows(*numbers: int) -> list[StepRow]:
    """As they are read from format 3, where also what a tactic took was not kept."""
    return [replace(row, lean_seconds=None, heartbeats=None) for row in childless(*numbers)]


def test_rows_of_before_the_budget_was_kept_are_read(tmp_path: Path) -> None:
    shutil.copy(OLD.with_name("format-6.parquet"), tmp_path / "part-000000.parquet")
    write(tmp_path, range(5, 7))
    _, steps = expected(range(5, 7))
    assert list(iter_rows(tmp_path)) == unspent(*OLD_ROWS) + steps


def test_rows_of_before_children_had_figures_are_read(tmp_path: Path) -> None:
    shutil.copy(OLD.with_name("format-5.parquet"), tmp_path / "part-000000.parquet")
    write(tmp_path, range(5, 7))
    _, steps = expected(range(5, 7))
    assert list(iter_rows(tmp_path)) == childless(*OLD_ROWS) + steps
    assert theorem_rows(tmp_path, name(1)) == childless(1)


def test_rows_of_before_tactics_had_a_cost_are_read(tmp_path: Path) -> None:
    shutil.copy(OLD, tmp_path / "part-000000.parquet")
    write(tmp_path, range(5, 7))
    _, steps = expected(range(5, 7))
    assert list(iter_rows(tmp_path)) == old_rows(*OLD_ROWS) + steps
    assert [r.steps for r in read_records(tmp_path)[:4]] == list(OLD_ROWS.values())
    columns = ("heartbeats", "tactic")
    batches = list(iter_steps(tmp_path, columns))
    assert all(set(batch.schema.names) == set(columns) for batch in batches)
    assert batches[0].column("heartbeats").null_count == 33
    only = next(iter_steps(tmp_path, ("lean_seconds",)))
    assert (only.num_rows, only.column("lean_seconds").null_count) == (33, 33)


def test_a_file_of_before_that_lost_its_index_gives_no_rows_and_says_so(tmp_path: Path) -> None:
    """The index was at its end only."""
    (tmp_path / "part-000000.parquet").write_bytes(OLD.read_bytes()[:-3000])
    told: list[str] = []
    assert list(iter_rows(tmp_path, told.append)) == []
    assert "0 rows of whole theorems can be read" in told[0]


def test_of_a_file_of_before_with_damaged_rows_the_others_are_read(tmp_path: Path) -> None:
    """Format 4 as it was before the index was there twice; each theorem is a group of its own."""
    data = OLD.with_name("format-4.parquet").read_bytes()
    path = tmp_path / "part-000000.parquet"
    path.write_bytes(data)
    every = {number: childless(number) for number in OLD_ROWS}
    assert list(iter_rows(tmp_path)) == [row for found in every.values() for row in found]
    assert read_records(tmp_path) == [record(number, count) for number, count in OLD_ROWS.items()]
    path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    told: list[str] = []
    assert list(iter_rows(tmp_path, told.append)) == every[1] + every[3]
    assert "29 rows of whole theorems can be read" in told[0]


def test_a_file_of_before_is_written_anew_without_what_is_searched_again(tmp_path: Path) -> None:
    shutil.copy(OLD, tmp_path / "part-000000.parquet")
    with open_writer(tmp_path, again=lambda record: record.theorem == name(1)) as writer:
        assert [record.theorem for record in writer.earlier] == [name(0), name(2), name(3)]
    assert list(iter_rows(tmp_path)) == old_rows(0, 2, 3)


def _without(*keys: str) -> Callable[[Iterable[TheoremRecord]], str]:
    def dump(records: Iterable[TheoremRecord]) -> str:
        told = json.loads(records_to_json(records))
        return json.dumps([{k: v for k, v in entry.items() if k not in keys} for entry in told])

    return dump


def test_no_directory_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a directory of trajectories"):
        read_records(tmp_path / "nowhere")


def test_saving_looks_at_nothing_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the old parts gone and listing forbidden, a save does what it always does."""

    def forbidden(*_: object) -> None:
        raise AssertionError("a save lists a directory")

    with open_writer(tmp_path) as writer:
        for number in range(5):
            writer.add(record(number, 8), rows(number, 8))
            writer.save()
        for old in tmp_path.glob("part-*"):
            old.unlink()
        writer.add(record(5, 8), rows(5, 8))
        with monkeypatch.context() as patch:
            patch.setattr("os.listdir", forbidden)
            patch.setattr("os.scandir", forbidden)
            path = writer.save()
    assert path == tmp_path / "part-000005.parquet"
    assert read_records(tmp_path) == [record(5, 8)]


def test_a_truncated_part_is_moved_aside_by_the_next_writer(tmp_path: Path) -> None:
    first = write(tmp_path, range(6))
    second = write(tmp_path, range(6, 9))
    first.write_bytes(first.read_bytes()[:-100])
    problems: list[str] = []
    with open_writer(tmp_path, problems.append) as writer:
        assert [entry.theorem for entry in writer.earlier] == [name(number) for number in range(6, 9)]
        for number in range(6):
            writer.add(record(number, steps_of(number)), rows(number, steps_of(number)))
    (problem,) = problems
    assert f"{first} is damaged" in problem
    assert "moved to part-000000.parquet.damaged" in problem
    assert sorted(p.name for p in tmp_path.glob("part*")) == [
        "part-000000.parquet.damaged",
        second.name,
        "part-000002.parquet",
    ]
    found = sorted(iter_rows(tmp_path), key=lambda row: int(row.theorem.split("_")[1]))
    assert found == expected(range(9))[1]


def test_damage_is_a_warning_unless_the_caller_takes_it(tmp_path: Path) -> None:
    path = write(tmp_path, range(6))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(DamagedPart, match=re.escape(str(path))):
        assert read_records(tmp_path) == []
    with pytest.warns(DamagedPart, match="rows of whole theorems can be read"):
        assert list(iter_rows(tmp_path)) == expected(range(6))[1]


@pytest.mark.parametrize("times", few_and(4, 30))
def test_a_killed_writer_leaves_whole_parts(tmp_path: Path, times: int) -> None:
    """kill -9 at random moments: what it said to be saved is there, all of it, once, and no warning."""
    chance = random.Random(7)
    for _ in range(times):
        command = [sys.executable, "-m", "tests.trajectories.busy_writer", str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = process.stdout.readline()
        time.sleep(chance.random() * 0.08)
        process.kill()
        said = (said + process.communicate()[0]).split()[-1]
        found = read_records(tmp_path)
        assert len(found) >= int(said)
        assert found == expected(range(len(found)))[0]
    assert list(iter_rows(tmp_path)) == expected(range(len(found)))[1]
    with open_writer(tmp_path):
        assert not list(tmp_path.glob("*.tmp"))


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The system refuses to write on (a limit on file sizes); with room again, the same save works."""
    code = f"""
import resource
from pathlib import Path
from burnqed.core.errors import InfrastructureError
from burnqed.trajectories.store import open_writer
from tests.trajectories.samples import record, rows

directory = Path({str(tmp_path)!r})
with open_writer(directory) as writer:
    writer.add(record(0, 8), rows(0, 8))
    writer.save()
    for number in range(1, 9):
        writer.add(record(number, 300), rows(number, 300))
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (0, 100, 20_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, room[1]))
        try:
            writer.save()
        except InfrastructureError as error:
            print(error.message, "|", error.hint)
        else:
            raise SystemExit("there was room")
        assert [path.name for path in directory.glob("part*")] == ["part-000000.parquet"]
        assert writer.pending == 8
    resource.setrlimit(resource.RLIMIT_FSIZE, room)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(
        f"cannot write {tmp_path}/part-000001.parquet: File too large | the file is too large" in s
        for s in lines
    )
    assert read_records(tmp_path) == [record(0, 8), *(record(number, 300) for number in range(1, 9))]
    assert len(list(iter_rows(tmp_path))) == 8 + 8 * 300


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InfrastructureError, match="cannot write to"),
        open_writer(tmp_path / "file" / "x"),
    ):
        pass

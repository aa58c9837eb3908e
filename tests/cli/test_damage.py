"""A part of trajectories with flipped bytes, or cut: whoever reads it says so, and which file it is."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnqed.cli import tables
from burnqed.prover.evaluating import read_attempt
from burnqed.training.decisions import read_lessons
from burnqed.training.harvest import Rules, harvest
from burnqed.trajectories.proofs import read_proofs
from burnqed.trajectories.store import iter_rows, open_writer, read_records
from tests.cli.in_process import burn_qed
from tests.trajectories.samples import name, record, rows, steps_of

THEOREMS = range(12)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A run of two parts, one of several row groups."""
    with open_writer(tmp_path / "run" / "trajectories") as writer:
        for number in THEOREMS:
            writer.add(record(number, steps_of(number)), rows(number, steps_of(number)))
            if number == 8:
                writer.save()
    return tmp_path / "run" / "trajectories"


def flipped(data: bytes, chance: random.Random) -> bytes:
    """Some bytes of a few neighbours changed, as a bad block changes them."""
    damaged = bytearray(data)
    begin, length = chance.randrange(len(data)), chance.choice([1, 1, 4, 64])
    for place in range(begin, min(begin + length, len(data))):
        damaged[place] ^= chance.randrange(1, 256)
    return bytes(damaged)


def test_a_summary_is_never_of_less_in_silence(parts: Path) -> None:
    path = parts / "part-000000.parquet"
    data, chance = path.read_bytes(), random.Random(3)
    whole = json.loads(burn_qed("summary", parts, "--json").stdout)
    assert (whole["damage"], sum(whole["step_counts"]["by_label"].values())) == ([], whole["steps"])
    cases = [flipped(data, chance) for _ in range(40)]
    cases += [data[: len(data) * tenth // 10] for tenth in range(10)] + [data[:-1], data + b"\0"]
    for damaged in cases:
        path.write_bytes(damaged)
        done = burn_qed("summary", parts, "--json", code=3)
        assert f"warning: {path} is damaged" in done.stderr
        assert "error: 1 part is damaged" in done.stderr
        assert str(path) in json.loads(done.stdout)["damage"][0]
    shown = burn_qed("summary", parts.parent, code=3)
    assert "searched" in shown.stdout, "what can be read is shown"
    path.write_bytes(data)
    assert json.loads(burn_qed("summary", parts, "--json").stdout) == whole


def _harvested(run: Path, told: Callable[[str], None]) -> Any:
    return harvest([run], [], Rules(), told)


READERS: dict[str, Callable[[Path, Callable[[str], None]], Any]] = {
    "rows": lambda run, told: list(iter_rows(run / "trajectories", told)),
    "proofs": lambda run, told: read_proofs(run / "trajectories", told),
    "pairs": _harvested,
    "ranker": lambda run, told: read_lessons([run], [], told),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_rows_tells(parts: Path, reader: str) -> None:
    """Rows and footer each: the record of a proof does not make up for its steps."""
    path = parts / "part-000000.parquet"
    data = path.read_bytes()
    READERS[reader](parts.parent, pytest.fail)
    for place in (200, len(data) // 2, len(data) - 40):
        damaged = bytearray(data)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        told: list[str] = []
        READERS[reader](parts.parent, told.append)
        assert [str(path) in problem for problem in told] == [True], place


def test_an_evaluation_tells(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only its times are read off the rows."""
    run = parts.parent
    attempt = run / "attempt-1" / "trajectories"
    attempt.parent.mkdir()
    shutil.move(parts, attempt)
    path = attempt / "part-000001.parquet"
    damaged = bytearray(path.read_bytes())
    damaged[300] ^= 4
    path.write_bytes(damaged)
    found = read_attempt(run, 1, tables.warn)
    assert len(found.records) == len(THEOREMS)
    assert f"warning: {path} is damaged" in capsys.readouterr().err


def test_a_resumed_run_sets_it_aside(parts: Path) -> None:
    """Also where only rows are damaged and the footer still has its theorems."""
    path = parts / "part-000000.parquet"
    damaged = bytearray(path.read_bytes())
    damaged[200] ^= 1
    path.write_bytes(damaged)
    told: list[str] = []
    with open_writer(parts, told.append) as writer:
        assert [one.theorem for one in writer.earlier] == [name(number) for number in range(9, 12)]
    assert "moved to part-000000.parquet.damaged" in told[0]
    assert read_records(parts, pytest.fail) == [record(n, steps_of(n)) for n in range(9, 12)]
    burn_qed("summary", parts)

"""Of a directory of trajectories, the proofs that the judge accepted and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from burnqed.trajectories.proofs import read_proofs
from burnqed.trajectories.schema import PathStep
from burnqed.trajectories.store import open_writer
from tests.trajectories.samples import record, rows

PATH = (PathStep("⊢ goal 3", "intro n", 0), PathStep("n : Nat\n⊢ n = n", "rfl", 1))


def silent(problem: str) -> None:
    raise AssertionError(problem)


def test_the_path_is_that_of_the_record_or_else_that_of_the_rows(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        for number in range(4):  # 0 and 3 are proved
            writer.add(replace(record(number, 16), path=PATH if number == 3 else ()), rows(number, 16))
    older, shortened = read_proofs(tmp_path, silent)
    found = [row for row in rows(0, 16) if row.on_proof_path]
    assert older.path == tuple(PathStep(row.state, row.tactic, row.depth) for row in found)
    assert len(older.path) == 2
    assert (shortened.record.theorem, shortened.path) == ("theorem_3", PATH)
    assert shortened.origins == {"search"}
    assert (older.found_steps, shortened.found_steps) == (2, 2)


def test_who_found_it_is_told(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        first, second = rows(0, 16)[:8], rows(0, 16)[8:]
        both = [replace(row, origin="probe") for row in first]
        writer.add(record(0, 16), both + [replace(row, origin="walk") for row in second])
    (proof,) = read_proofs(tmp_path, silent)
    assert proof.origins == {"probe", "walk"}


def test_a_damaged_part_is_told_once_and_its_proofs_are_left_out(tmp_path: Path) -> None:
    with open_writer(tmp_path) as writer:
        for number in (0, 3):
            writer.add(record(number, 16), rows(number, 16))
            writer.save()
    part = tmp_path / "part-000000.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    told: list[str] = []
    (proof,) = read_proofs(tmp_path, told.append)
    assert proof.record.theorem == "theorem_3"
    assert len(told) == 1

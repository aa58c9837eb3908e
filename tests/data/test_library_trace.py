"""Files of the library itself: theorems proved again as constants, and trouble costs what has it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from burnqed.core.types import LibraryConstant
from burnqed.data.contamination import held_out
from burnqed.data.index import read_index
from burnqed.data.lean_sources import sources
from burnqed.data.library_trace import LibraryTracer, judge_library
from burnqed.data.sources.open import read_steps
from burnqed.data.trace import trace_files
from burnqed.data.trace_leans import SharedLeans
from burnqed.data.trace_report import report
from burnqed.data.trace_store import FileTrace, TraceRow, open_trace, read_files, read_rows
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.statement import split_header

LISTS = """\
/- As a file of the library begins. -/
module

prelude
public import Init.Data.List.Lemmas
meta import Init.Meta
import all Init.Data.Nowhere

@[expose] public section

namespace List
open Nat

variable {α : Type u} {β : Type v} {γ : Type w}

/-- It is there already, and is not declared again. -/
inductive Cursor' where
  | here | there (c : Cursor')
  deriving DecidableEq, Repr

mutual
def isEven : Nat → Bool
  | 0 => true
  | n + 1 => isOdd n
def isOdd : Nat → Bool
  | 0 => false
  | n + 1 => isEven n
end

@[simp] theorem map_map {g : β → γ} {f : α → β} {l : List α} :
    map g (map f l) = map (g ∘ f) l := by
  induction l with
  | nil => rfl
  | cons a l ih =>
    simp only [map_cons, ih]
    rfl

private theorem helper (l : List α) : l ++ [] = l := append_nil l

protected theorem append_nil (l : List α) : l ++ [] = l := by
  rw [helper]

theorem map_append {f : α → β} {l₁ l₂ : List α} : map f (l₁ ++ l₂) = map f l₁ ++ map f l₂ := by
  rw [List.map_append]

private theorem hidden (l : List α) : l = l := by rfl

theorem never_heard_of (l : List α) : l = l := by rfl

mutual
theorem length_nil : length ([] : List α) = 0 := by rfl
end

theorem length_singleton {a : α} : length [a] = 1 := rfl

end List

namespace Nat
theorem le_of_lt_succ {m n : Nat} : m < succ n → m ≤ n := by
  intro h
  exact le_of_succ_le_succ h
end Nat
"""
HELD_OUT = """\
theorem Bool.and_or_distrib_right (x y z : Bool) : ((x || y) && z) = (x && z || y && z) := by
  cases x <;> cases y <;> cases z <;> rfl
"""
BROKEN = "this is no Lean\n"
PARTLY = f"{BROKEN}\ntheorem Nat.add_zero (n : Nat) : n + 0 = n := by\n  rfl\n"


def no_warning(problem: str) -> None:
    raise AssertionError(problem)


async def traced(
    pool: Pool, paths: Sequence[Path], out: Path
) -> tuple[list[FileTrace], list[TraceRow]]:
    tracer = LibraryTracer(frozenset({"List.map_cons", "Nat.le_of_succ_le_succ"}))
    with open_trace(out, no_warning) as writer:
        found = list(sources(paths))
        await trace_files(
            SharedLeans(pool), found, 120.0, writer, lambda _: None, asyncio.Event(), tracer
        )
    return read_files(out, no_warning), list(read_rows(out, no_warning))


@pytest.fixture(scope="module")
async def lists(
    lean_pool: Pool, tmp_path_factory: pytest.TempPathFactory
) -> tuple[FileTrace, list[TraceRow]]:
    folder = tmp_path_factory.mktemp("library")
    (folder / "Lists.lean").write_text(LISTS)
    files, rows = await traced(lean_pool, [folder / "Lists.lean"], folder / "out")
    return files[0], rows


def test_every_kind_of_import_belongs_to_the_header() -> None:
    found = split_header(LISTS)
    assert found.imports == ("Init.Data.List.Lemmas", "Init.Meta", "Init.Data.Nowhere")
    assert found.body.lstrip().startswith("@[expose] public section")
    assert found.body.index("namespace") == LISTS.index("namespace")


@pytest.mark.lean
async def test_each_theorem_is_recorded_or_listed(lists: tuple[FileTrace, list[TraceRow]]) -> None:
    file, _ = lists
    assert file.problem == ""
    told = {t.name: t.reason for t in file.theorems if t.outcome != "steps"}
    assert told == {
        "List.helper": "is private",
        "List.append_nil": "needs a private name",
        "List.map_append": "proved by recursion, or by itself",
        "List.hidden": "is private",
        "List.never_heard_of": "is not in this Lean's library",
        "List.length_nil": "in a `mutual` block",
        "List.length_singleton": "proved by a term",
    }
    assert [t.name for t in file.theorems if t.outcome == "steps"] == [
        "List.map_map",
        "Nat.le_of_lt_succ",
    ]


@pytest.mark.lean
async def test_names_are_written_out_and_premises_kept(
    lists: tuple[FileTrace, list[TraceRow]],
) -> None:
    file, rows = lists
    steps = {name: list(group) for name, group in groupby(rows, lambda row: row.theorem)}
    assert [row.tactic for row in steps["List.map_map"]] == [
        "intro β γ α g f l",
        "induction l with\n| nil => ?_\n| cons a l ih =>\n  ?_",
        "rfl",
        "simp only [List.map_cons, ih]",
        "rfl",
    ]
    assert [row.premises for row in steps["List.map_map"]][3] == ("List.map_cons",)
    assert "List.map" in steps["List.map_map"][3].constants
    exact = steps["Nat.le_of_lt_succ"][2]
    assert exact.tactic == "exact Nat.le_of_succ_le_succ h"
    assert exact.premises == ("Nat.le_of_succ_le_succ",)
    # Where it stands in the file, which says it shorter.
    text = LISTS.splitlines()[exact.line - 1]
    assert text[exact.column : exact.end_column] == "exact le_of_succ_le_succ h"
    assert steps["List.map_map"][0].state.startswith("⊢ ∀ {")
    assert file.theorem(file.theorems[0]).statement == LibraryConstant("List.map_map", "self")


@pytest.mark.lean
async def test_what_the_judge_refuses_is_taken_out(
    lean_pool: Pool, lean_launch: LaunchSpec, tmp_path: Path
) -> None:
    (tmp_path / "Lists.lean").write_text(LISTS)
    (tmp_path / "Held.lean").write_text(HELD_OUT)
    out = tmp_path / "out"
    files, rows = await traced(lean_pool, [tmp_path / "Lists.lean", tmp_path / "Held.lean"], out)
    wrong = [row for row in rows if row.source.endswith("Lists.lean")]
    with open_trace(out, no_warning) as writer:  # steps that prove nothing
        lists = next(file for file in files if file.path.endswith("Lists.lean"))
        writer.add(lists, [row for row in wrong if row.tactic != "rfl"])
    seen: list[FileTrace] = []
    with open_trace(out, no_warning) as writer:
        stop = asyncio.Event()
        await judge_library(lean_launch, out, writer, seen.append, no_warning, stop)
    told = report(read_files(out, no_warning))
    assert told["judged"] == {"asked": 2, "accepted": 2, "refused": []}
    assert told["theorems"]["not_recorded"]["the judge does not accept it"] == 1
    kept = {row.theorem for row in read_rows(out, no_warning)}
    assert kept == {"Bool.and_or_distrib_right", "Nat.le_of_lt_succ"}
    # Again: all of it is judged, and nothing is written.
    parts = sorted((out / "parts").iterdir())
    with open_trace(out, no_warning) as writer:
        await judge_library(lean_launch, out, writer, seen.append, no_warning, asyncio.Event())
    assert sorted((out / "parts").iterdir()) == parts


@pytest.mark.lean
async def test_a_proof_may_not_choose_the_universes_of_the_library(lean_pool: Pool) -> None:
    # Of two type variables `rw` makes one universe, unless they have names.
    goal = LibraryConstant("List.countP_flatMap", "self")
    tactics = ["intro α β p l f", "rw [List.flatMap, List.countP_flatten, List.map_map]"]
    verdict = await judge_proof(lean_pool, goal, tactics)
    assert verdict.accepted, verdict.reason
    assert "theorem qed_goal.{" in verdict.source


@pytest.mark.lean
async def test_held_out_theorems_are_known_by_name_and_by_statement(
    lean_pool: Pool, tmp_path: Path
) -> None:
    (tmp_path / "Held.lean").write_text(HELD_OUT)
    await traced(lean_pool, [tmp_path / "Held.lean"], tmp_path / "out")
    # As an index of the library's theorems has it, core-300 for one.
    name = "Bool.and_or_distrib_right"
    statement = "∀ (x y z : Bool), ((x || y) && z) = (x && z || y && z)"
    entry = {"name": name, "statement": statement, "constant": name, "leak_rule": "self"}
    index = tmp_path / "held.json"
    index.write_text(json.dumps({"name": "held", "theorems": [entry]}), encoding="utf-8")
    held = held_out([read_index(index)])
    steps = list(read_steps(f"trace={tmp_path / 'out'}"))
    assert {step.theorem for step in steps} <= held.names.keys()
    first = next(step for step in steps if step.depth == 0)
    assert held.has_state(first.state) == ("held", name)


@pytest.mark.lean
async def test_bad_files_are_skipped_and_a_bad_command_costs_itself(
    lean_pool: Pool, tmp_path: Path
) -> None:
    (tmp_path / "Broken.lean").write_text(BROKEN)
    (tmp_path / "Partly.lean").write_text(PARTLY)
    (tmp_path / "Bytes.lean").write_bytes(b"theorem \xff")
    files, rows = await traced(lean_pool, [tmp_path], tmp_path / "out")
    assert {Path(file.path).name: file.problem for file in files} == {
        "Broken.lean": "does not elaborate",
        "Bytes.lean": "not UTF-8",
        "Partly.lean": "",
    }
    assert [(row.theorem, row.tactic) for row in rows] == [
        ("Nat.add_zero", "intro n"),
        ("Nat.add_zero", "rfl"),
    ]


@pytest.mark.lean
@pytest.mark.soak
def test_kill_9_loses_no_file_and_nothing_comes_twice(tmp_path: Path) -> None:
    source, out = tmp_path / "src", tmp_path / "out"
    source.mkdir()
    for number in range(6):
        (source / f"F{number}.lean").write_text(LISTS if number % 2 else HELD_OUT)
    command = [sys.executable, "-m", "burnqed", "data", "trace", str(source), "--library", "--judge"]
    command += ["--out", str(out), "--workers", "1", "--json"]
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 300
    while not list((out / "parts").glob("part-*.parquet")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait(30)
    done = {file.path for file in read_files(out, no_warning)}
    assert done
    subprocess.run([*command, "--resume"], check=True, timeout=600, stdout=subprocess.DEVNULL)
    files = read_files(out, no_warning)
    assert len(files) == 6
    assert done <= {file.path for file in files}
    told = report(files)
    assert told["judged"]["asked"] == told["judged"]["accepted"] == told["theorems"]["recorded"] == 9
    rows = [(row.source, row.theorem, row.depth) for row in read_rows(out, no_warning)]
    assert len(rows) == len(set(rows)) == told["steps"]

"""Tracing: what is recorded replays to a judged proof, and trouble costs the file that has it."""

from __future__ import annotations

import asyncio
from itertools import groupby
from pathlib import Path

import pytest

from burnqed.core.types import Advanced, Closed, TheoremText, state_text
from burnqed.data import trace
from burnqed.data.lean_sources import sources
from burnqed.data.overshadowed import BEHIND
from burnqed.data.trace import trace_files
from burnqed.data.trace_leans import SharedLeans
from burnqed.data.trace_report import report
from burnqed.data.trace_store import FileTrace, TraceRow, open_trace, read_files, read_rows
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

pytestmark = pytest.mark.lean

CORPUS = Path(__file__).with_name("traced")


def no_warning(problem: str) -> None:
    raise AssertionError(problem)


async def traced(
    pool: Pool, paths: list[Path], out: Path, seconds: float = 120.0, judges: Pool | None = None
) -> tuple[list[FileTrace], list[TraceRow]]:
    with open_trace(out, no_warning) as writer:
        seen: list[FileTrace] = []
        await trace_files(
            SharedLeans(pool, judges),
            list(sources(paths)),
            seconds,
            writer,
            seen.append,
            asyncio.Event(),
        )
    return read_files(out, no_warning), list(read_rows(out, no_warning))


@pytest.fixture(scope="module")
async def corpus(
    lean_pool: Pool, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[FileTrace], list[TraceRow]]:
    return await traced(lean_pool, [CORPUS], tmp_path_factory.mktemp("trace"), judges=lean_pool)


def proofs(rows: list[TraceRow]) -> dict[tuple[str, str], list[TraceRow]]:
    return {key: list(group) for key, group in groupby(rows, lambda r: (r.source, r.theorem))}


def steps_of(rows: list[TraceRow], theorem: str) -> list[str]:
    return [row.tactic for row in rows if row.theorem == theorem]


async def test_every_proof_of_the_corpus_is_recorded_or_listed(
    corpus: tuple[list[FileTrace], list[TraceRow]],
) -> None:
    files, rows = corpus
    told = report(files)
    assert told["files"] == {"found": 4, "traced": 4, "skipped": {}}
    listed = {t.name: t.reason for f in files for t in f.theorems if t.outcome != "steps"}
    assert listed == {
        "Trace.by_term": "proved by a term",
        "chain_of_terms": "proved by a term",
        "Trace.recursion": "proved by recursion",
        "Trace.well_founded": "proved by recursion",
        "Trace.even_or": "in a `mutual` block",
        "Trace.odd_or": "in a `mutual` block",
    }
    assert told["theorems"]["recorded"] == len(proofs(rows)) >= 80
    # Each was cut as finely as there is a way to.
    assert told["theorems"]["grain"] == {"fine": told["theorems"]["recorded"]}
    assert told["judged"]["refused"] == []
    assert told["judged"]["accepted"] == told["theorems"]["recorded"]


async def test_the_recorded_steps_replay_one_by_one(
    corpus: tuple[list[FileTrace], list[TraceRow]], lean_pool: Pool
) -> None:
    files, rows = corpus
    by_proof = proofs(rows)
    async with open_session(lean_pool) as session:
        for file in files:
            for theorem in file.theorems:
                if theorem.outcome != "steps":
                    continue
                state = await session.start(file.theorem(theorem))
                for row in by_proof[file.path, theorem.name]:
                    about = len(state.goals) - row.waiting
                    assert state_text(state.goals[:about]) == row.state, row
                    outcome = await session.apply(state, row.tactic)
                    assert isinstance(outcome, Advanced | Closed), (row, outcome)
                    state = outcome.state
                assert isinstance(outcome, Closed), theorem.name


@pytest.mark.parametrize(
    ("theorem", "steps"),
    [
        ("both", ["constructor", "assumption", "assumption"]),
        ("both_in_a_bullet", ["constructor", "cases h", "simp [*]", "simp [*]", "exact hr"]),
        ("first_of", ["omega"]),
        ("tried", ["symm", "exact h"]),
        ("by_case", ["cases h", "rename_i hp", "exact Or.inr hp", "rename_i hq", "exact Or.inl hq"]),
        ("case_out_of_order", ["cases h", "case' inr hq => skip", "left", "exact hq", "rename_i hp",
                               "right", "exact hp"]),
        ("induction_with", ["induction n with\n| zero => ?_\n| succ n ih => ?_", "rfl",
                            "rw [Nat.add_succ, ih]"]),
        ("stated_twice", ["refine have h2 : 3 ≤ n := ?_; ?_", "refine have h3 : n = n := ?_; ?_", "rfl",
                          "omega", "refine have : 2 ≤ 3 := ?_; ?_", "decide", "omega"]),
        ("chain", ["calc a = b := h₁\n  _ ≤ c := ?_\n  _ = d := ?_", "exact h₂", "rw [h₃]"]),
        ("rotated_in_a_bullet", [
            "constructor", "· constructor\n  rotate_left\n  · exact hq\n  · exact hp", "exact hr"]),
        ("Trace.by_equations", ["refine fun\n  | 0 => ?_\n  | n + 1 => ?_", "left", "rfl", "right",
                                "exact Nat.succ_pos n"]),
        ("Trace.where_clause", ["refine have aux (m : Nat) : m = m := ?_; ?_", "rfl", "exact aux n"]),
        ("Trace.term_with_by", ["refine ⟨?_, ?_⟩", "omega", "intro e", "omega"]),
    ],
)  # fmt: skip
async def test_wrappers_are_cut_into_what_they_run(
    corpus: tuple[list[FileTrace], list[TraceRow]], theorem: str, steps: list[str]
) -> None:
    assert steps_of(corpus[1], theorem) == steps


async def test_a_row_says_where_and_what(corpus: tuple[list[FileTrace], list[TraceRow]]) -> None:
    rows = [row for row in corpus[1] if row.theorem == "nested_bullets"]
    first = rows[1]
    assert (first.tactic, first.depth, first.waiting) == ("cases h", 1, 1)
    lines = (CORPUS / "Structured.lean").read_text(encoding="utf-8").split("\n")
    assert lines[first.line - 1][first.column : first.end_column] == "cases h"
    assert "Or.casesOn" in first.constants
    assert first.state.startswith("case left\n")
    assert rows[3].after == "no goals"
    assert [row.depth for row in rows] == list(range(len(rows)))


async def test_a_private_theorem_and_an_example_start_elsewhere(
    corpus: tuple[list[FileTrace], list[TraceRow]],
) -> None:
    (file,) = [f for f in corpus[0] if f.path.endswith("Contexts.lean")]
    known = {t.name: t for t in file.theorems}
    hidden = known["Trace.hidden"]
    assert hidden.statement == "theorem hidden (n : Nat) : double n = n + n"
    statement = file.theorem(hidden).statement
    assert isinstance(statement, TheoremText)
    assert "def double" in statement.source
    examples = [t for t in file.theorems if "example" in t.name]
    assert examples[0].statement.startswith(f"theorem example_{examples[0].line} (n : Nat)")


async def test_trouble_costs_the_file_that_has_it(lean_pool: Pool, tmp_path: Path) -> None:
    files = {
        "Good.lean": b"theorem good : 1 = 1 := by rfl",
        "Wrong.lean": b"theorem fine : 1 = 1 := by rfl\ntheorem wrong : 1 = 2 := by rfl",
        "Worse.lean": b"theorem worse : 1 = 2 := by rfl",
        "Endless.lean": b"theorem long : True := by\n  have : 10 ^ 30 % 7 < 100 ^ 9 := by"
        b" decide +kernel\n  trivial\nset_option maxRecDepth 100000 in\nset_option maxHeartbeats 0 in\n"
        b"theorem endless : (List.range 100000000).length = 3 := by decide +kernel",
        "Binary.lean": b"theorem x : 1 = 1 := by rfl -- \xff\xfe",
        "Absent.lean": b"import Mathlib.Tactic\ntheorem y : 1 = 1 := by rfl",
        "Open.lean": b"theorem z : 1 = 1 := by sorry",
        "Empty.lean": b"",
        "Imports.lean": b"import Init\n\n-- nothing else\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    # What took too long is not tried again.
    await traced(lean_pool, [tmp_path / "Endless.lean"], tmp_path / "out", seconds=2.0)
    found, rows = await traced(lean_pool, [tmp_path], tmp_path / "out")
    problems = {Path(f.path).name: f.problem for f in found}
    assert problems == {
        "Good.lean": "",
        "Wrong.lean": "",
        "Worse.lean": trace.ERRORS,
        "Endless.lean": trace.TOO_LONG,
        "Binary.lean": trace.NOT_TEXT,
        "Absent.lean": trace.NOT_LOADED,
        "Open.lean": "",
        "Empty.lean": "",
        "Imports.lean": "",
    }
    assert [row.theorem for row in rows] == ["good", "fine"]
    assert report(found)["theorems"]["not_recorded"] == {"left open": 1, trace.ERRORS: 1}
    details = [f.detail for f in found if Path(f.path).name in ("Wrong.lean", "Worse.lean")]
    assert [detail[:2] for detail in details] == ["1:", "2:"]


async def test_a_bad_command_costs_what_rests_on_it(lean_pool: Pool, tmp_path: Path) -> None:
    """What it would have made may be missed, and a theorem then say something else."""
    (tmp_path / "Mixed.lean").write_text(
        "theorem before : 1 = 1 := by rfl\n"
        "theorem wrong : 1 = 2 := by rfl\n"
        "example : 1 = 2 := by rfl\n"
        "#eval (nobody : Nat)\n"
        "theorem after : 2 = 2 := by rfl\n"
        "theorem by_it (h : 1 = 1) : 3 = 3 := by\n  have := wrong\n  rfl\n"
        "def Number : Type := Nowhere\n"
        "theorem none (x : Number) : x = x := by rfl\n"
        "theorem late : 4 = 4 := by rfl\n"
    )
    found, rows = await traced(lean_pool, [tmp_path], tmp_path / "out", judges=lean_pool)
    assert [row.theorem for row in rows] == ["before", "after"]
    (file,) = found
    assert not file.problem
    assert [line[:2] for line in file.detail.splitlines() if line[1:2] == ":"][:3] == ["2:", "3:", "4:"]
    reasons = {t.name: t.reason for t in file.theorems if t.outcome != "steps"}
    assert reasons == {
        "wrong": trace.ERRORS, "example_3": trace.ERRORS, "by_it": trace.ERRORS,
        "none": BEHIND, "late": BEHIND,
    }  # fmt: skip
    assert {t.judged for t in file.theorems if t.outcome == "steps"} == {"accepted"}
    for theorem in file.theorems:
        if theorem.outcome == "steps":
            async with open_session(lean_pool) as session:
                await session.start(file.theorem(theorem))


async def test_an_interrupted_run_goes_on(lean_pool: Pool, tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.lean").write_text(f"theorem {name} : 1 = 1 := by rfl")
    out, paths = tmp_path / "out", list(sources([tmp_path]))
    stop = asyncio.Event()
    with open_trace(out, no_warning) as writer:
        await trace_files(SharedLeans(lean_pool), paths, 60.0, writer, lambda _: stop.set(), stop)
    before = read_files(out, no_warning)
    assert 1 <= len(before) < 4
    (tmp_path / "b.lean").write_text("theorem b' : 2 = 2 := by rfl")
    files, rows = await traced(lean_pool, [tmp_path], out)
    assert [Path(f.path).name for f in files] == ["a.lean", "b.lean", "c.lean", "d.lean"]
    assert [row.theorem for row in rows] == ["a", "b'", "c", "d"]
    parts = sorted((out / "parts").glob("*.parquet"))
    again, _ = await traced(lean_pool, [tmp_path], out)
    assert again == files
    assert sorted((out / "parts").glob("*.parquet")) == parts  # nothing was traced twice


async def test_a_damaged_part_is_traced_again(lean_pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "a.lean").write_text("theorem a : 1 = 1 := by rfl")
    out = tmp_path / "out"
    await traced(lean_pool, [tmp_path], out)
    (part,) = (out / "parts").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    said: list[str] = []
    with open_trace(out, said.append) as writer:
        assert writer.earlier == {}
        await trace_files(
            SharedLeans(lean_pool),
            list(sources([tmp_path])),
            60.0,
            writer,
            lambda _: None,
            asyncio.Event(),
        )
    assert "damaged" in said[0]
    assert [row.theorem for row in read_rows(out, no_warning)] == ["a"]


async def test_files_of_a_project_import_each_other(lean_pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "lakefile.toml").write_text('name = "p"\n')
    (tmp_path / "P").mkdir()
    (tmp_path / "P" / "Basic.lean").write_text(
        "universe u\nnamespace P\nvariable (n : Nat)\ndef three : Nat := 3\n"
        "theorem basic : three = 3 := by rfl\nend P\n"
    )
    (tmp_path / "P" / "More.lean").write_text(
        "import P.Basic\n\nuniverse u\n\nexample : P.three = 3 := by exact P.basic\n"
        "theorem more : P.three + 1 = 4 := by\n  rw [P.basic]\n"
    )
    found, rows = await traced(lean_pool, [tmp_path], tmp_path / "out", judges=lean_pool)
    assert [(f.problem, f.detail) for f in found] == [("", ""), ("", "")]
    assert [(r.theorem, r.line) for r in rows] == [("P.basic", 5), ("example_5", 5), ("more", 7)]
    assert {t.judged for f in found for t in f.theorems} == {"accepted"}


async def test_a_proof_over_a_hundred_tactics_is_counted(lean_pool: Pool, tmp_path: Path) -> None:
    skips = "  skip\n" * 120
    (tmp_path / "long.lean").write_text(f"theorem long : 1 = 1 := by\n{skips}  rfl\n")
    found, rows = await traced(lean_pool, [tmp_path], tmp_path / "out")
    assert len(rows) == 121
    assert report(found)["theorems"]["over_100_tactics"] == 1

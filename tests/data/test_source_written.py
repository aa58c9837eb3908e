"""Rows of our own formats: what is read, whose it is, what is told of a bad one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnqed.core.errors import InputError
from burnqed.data.sources.open import open_source, read_proofs, read_steps
from burnqed.data.sources.rows import Notes
from burnqed.data.steps import Step, WholeProof, write_steps
from burnqed.data.trace_store import FileTrace, TraceRow, open_trace
from tests.data.rows import proof_of, row, write_rows


def test_a_step_is_what_its_row_says(tmp_path: Path) -> None:
    given = [row("a", tactic="  simp\n"), row("a", 1, after="no goals", source="elsewhere", more=[1])]
    path = write_rows(tmp_path / "mine.jsonl", given)
    first, second = read_steps(str(path))
    assert first == Step("mine", "a", given[0]["state"], "simp", 0)
    assert (second.source, second.after, second.depth) == ("elsewhere", "no goals", 1)
    assert {step.source for step in read_steps(f"named={path}")} == {"named"}


def test_premises_are_names_and_older_files_have_none(tmp_path: Path) -> None:
    given = [row("a", premises=["Nat.add_comm", "foo"]), row("b", premises=None), row("c")]
    path = write_rows(tmp_path / "mine.jsonl", given)
    assert [step.premises for step in read_steps(str(path))] == [("Nat.add_comm", "foo"), (), ()]
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "x.parquet")
    first = next(read_steps(str(tmp_path / "x.parquet")))
    assert first.premises == ("Nat.add_comm", "foo")
    write_steps(tmp_path / "again.jsonl", read_steps(f"mine={path}"))
    assert list(read_steps(f"mine={tmp_path / 'again.jsonl'}")) == list(read_steps(f"mine={path}"))
    bad = write_rows(tmp_path / "bad.jsonl", [row("a", premises=["fine", 3])])
    with pytest.raises(InputError, match=r"line 1: `premises` is not a list of names"):
        list(read_steps(str(bad)))


def test_parquet_says_the_same_as_json_lines(tmp_path: Path) -> None:
    given = [{**one, "source": None, "used": ["Nat"]} for one in proof_of("a", 3000)]
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "x.parquet")
    write_rows(tmp_path / "x.jsonl", given)
    read = [list(read_steps(str(tmp_path / f"x.{kind}"))) for kind in ("parquet", "jsonl")]
    assert read[0] == read[1]
    assert len(read[0]) == 3000
    pq.write_table(pa.table({"state": ["⊢ p"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="lacks `tactic`"):
        list(read_steps(str(tmp_path / "x.parquet")))
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=r"x\.parquet cannot be read"):
        list(read_steps(str(tmp_path / "x.parquet")))


def test_a_folder_is_one_source_and_hidden_files_are_none_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "traced"
    (folder / "deep").mkdir(parents=True)
    (folder / ".work").mkdir()
    write_rows(folder / "b.jsonl", [row("second")])
    write_rows(folder / "a.jsonl", [row("first")])
    write_rows(folder / "deep" / "c.jsonl", [row("third")])
    write_rows(folder / ".work" / "d.jsonl", [row("never")])
    (folder / "notes.txt").write_text("not rows")
    steps = list(read_steps(str(folder)))
    assert [(step.source, step.theorem) for step in steps] == [
        ("traced", "first"), ("traced", "second"), ("traced", "third"),
    ]  # fmt: skip


def test_bad_rows_are_told_by_file_and_line_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mixed.jsonl", [row("a"), "", "{", row("b", tactic=" "), row("c")])
    path.write_bytes(path.read_bytes() + b'{"state": "\xff"}\n' + b'{"state": "s", "depth": 0}\n')
    bad: list[InputError] = []
    steps = list(read_steps(str(path), Notes(on_bad=bad.append)))
    assert [step.theorem for step in steps] == ["a", "c"]
    said = [error.message for error in bad]
    assert [one.split(" line ")[1][0] for one in said] == ["3", "4", "6", "7"]
    for message, what in zip(said, ("not JSON", "`tactic`", "UTF-8", "`tactic`"), strict=True):
        assert what in message
    with pytest.raises(InputError, match=r"mixed\.jsonl, line 3"):
        list(read_steps(str(path)))


def test_whole_proofs_may_be_empty_and_a_step_is_none(tmp_path: Path) -> None:
    proof = {"theorem": "t", "statement": "theorem t : True", "proof": None, "ground_truth_type": "x"}
    path = write_rows(tmp_path / "w.jsonl", [proof, row("a"), {"theorem": "u", "proof": "rfl"}])
    bad: list[InputError] = []
    seen: list[object] = []
    notes = Notes(on_bad=bad.append, on_row=lambda one: seen.append(dict(one)))
    (found,) = read_proofs(str(path), notes)
    assert found == WholeProof("w", "t", "theorem t : True", "")
    assert seen == [proof]
    for error, line in zip(bad, (2, 3), strict=True):
        assert error.message.startswith(f"{path}, line {line} lacks `statement`")


def traced_row(file: str, theorem: str, depth: int, tactic: str) -> TraceRow:
    return TraceRow(file, theorem, depth, "⊢ p", tactic, "no goals", 0, 1, 0, 1, 3, ("Nat",))


def test_a_trace_is_read_as_what_was_traced_last(tmp_path: Path) -> None:
    out = tmp_path / "mine"
    with open_trace(out, lambda _: None) as writer:
        writer.add(FileTrace("A.lean", "0"), [traced_row("A.lean", "t", 0, "old")])
        writer.add(FileTrace("B.lean", "1"), [traced_row("B.lean", "t", 0, "rfl")])
        writer.add(FileTrace("A.lean", "2"), [traced_row("A.lean", "t", d, "simp") for d in (0, 1)])
    (out / "report.json").write_text("{}")
    steps = list(read_steps(str(out)))
    assert [(step.source, step.theorem, step.depth, step.tactic) for step in steps] == [
        ("mine", "t", 0, "simp"), ("mine", "t", 1, "simp"), ("mine", "t#2", 0, "rfl"),
    ]  # fmt: skip
    assert steps[0].after == "no goals"
    assert list(read_steps(f"trace={out}")) == steps
    assert {step.source for step in read_steps(f"named={out}")} == {"named"}
    before = open_source(str(out)).checksum()
    with open_trace(out, lambda _: None) as writer:
        writer.add(FileTrace("C.lean", "3"), [traced_row("C.lean", "u", 0, "rfl")])
    assert open_source(str(out)).checksum() != before
    with pytest.raises(InputError, match="nothing of trace"):
        read_steps(f"trace={tmp_path}")


def test_a_file_of_nothing_does_no_harm_to_those_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    write_rows(tmp_path / "b.jsonl", [row("t")])
    assert [step.theorem for step in read_steps(str(tmp_path))] == ["t"]


@pytest.mark.parametrize(
    "given", ["nowhere.jsonl", "name=nowhere.jsonl", "=x", "x=", "empty", "a" * 5000]
)
def test_what_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        open_source(given)


def test_the_checksum_is_of_the_content(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write_rows(tmp_path / name, [row("t")])
    first, second = (open_source(str(tmp_path / name)).checksum() for name in ("a.jsonl", "b.jsonl"))
    assert first == second
    write_rows(tmp_path / "b.jsonl", [row("u")])
    assert open_source(str(tmp_path / "b.jsonl")).checksum() != first

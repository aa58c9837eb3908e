"""Rows from files: what is read, whose it is, what is told of a bad one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnqed.core.errors import InputError
from burnqed.data.steps import Step, WholeProof
from burnqed.data.steps_files import Input, OnBad, Row, find_input, open_rows, open_steps, refuse
from tests.data.rows import proof_of, row, write_rows


def test_a_step_is_what_its_row_says(tmp_path: Path) -> None:
    given = [row("a", tactic="  simp\n"), row("a", 1, after="no goals", source="elsewhere", more=[1])]
    path = write_rows(tmp_path / "mine.jsonl", given)
    first, second = open_steps(str(path), refuse)
    assert first == Step("mine", "a", given[0]["state"], "simp", 0)
    assert (second.source, second.after, second.depth) == ("elsewhere", "no goals", 1)
    assert {step.source for step in open_steps(f"named={path}", refuse)} == {"named"}


def test_parquet_says_the_same_as_json_lines(tmp_path: Path) -> None:
    given = [{**one, "source": None, "used": ["Nat"]} for one in proof_of("a", 3000)]
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "x.parquet")
    write_rows(tmp_path / "x.jsonl", given)
    read = [list(open_steps(str(tmp_path / f"x.{kind}"), refuse)) for kind in ("parquet", "jsonl")]
    assert read[0] == read[1]
    assert len(read[0]) == 3000
    pq.write_table(pa.table({"state": ["⊢ p"]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="no column 'tactic'"):
        list(open_steps(str(tmp_path / "x.parquet"), refuse))
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=r"cannot read .*x\.parquet"):
        list(open_steps(str(tmp_path / "x.parquet"), refuse))


def test_a_folder_is_one_source_and_hidden_files_are_none_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "traced"
    (folder / "deep").mkdir(parents=True)
    (folder / ".work").mkdir()
    write_rows(folder / "b.jsonl", [row("second")])
    write_rows(folder / "a.jsonl", [row("first")])
    write_rows(folder / "deep" / "c.jsonl", [row("third")])
    write_rows(folder / ".work" / "d.jsonl", [row("never")])
    (folder / "notes.txt").write_text("not rows")
    steps = list(open_steps(str(folder), refuse))
    assert [(step.source, step.theorem) for step in steps] == [
        ("traced", "first"), ("traced", "second"), ("traced", "third"),
    ]  # fmt: skip


def test_bad_rows_are_told_by_file_and_line_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mixed.jsonl", [row("a"), "", "{", row("b", tactic=" "), row("c")])
    path.write_bytes(path.read_bytes() + b'{"state": "\xff"}\n' + b'{"state": "s", "depth": 0}\n')
    bad: list[InputError] = []
    steps = list(open_steps(str(path), bad.append))
    assert [step.theorem for step in steps] == ["a", "c"]
    said = [error.message for error in bad]
    assert [one.split(" line ")[1][0] for one in said] == ["3", "4", "6", "7"]
    for message, what in zip(said, ("no JSON", "'tactic'", "UTF-8", "'tactic'"), strict=True):
        assert what in message
    with pytest.raises(InputError, match=r"mixed\.jsonl, line 3"):
        list(open_steps(str(path), refuse))


def test_whole_proofs_are_told_from_steps(tmp_path: Path) -> None:
    proof = {"theorem": "t", "statement": "theorem t : True", "proof": None, "ground_truth_type": "x"}
    path = write_rows(tmp_path / "w.jsonl", [proof, row("a"), {"theorem": "u", "proof": "rfl"}])
    bad: list[InputError] = []
    first, second = open_rows(str(path), bad.append)
    assert first.record == WholeProof("w", "t", "theorem t : True", "")
    assert first.columns["ground_truth_type"] == "x"
    assert isinstance(second.record, Step)
    assert [error.message for error in bad] == [f"{path}, line 3 has no 'statement'"]


def test_an_input_of_another_form_reads_itself() -> None:
    rows = [Row(Step("s", "t", "⊢ p", "rfl", 0), {}), Row(WholeProof("s", "t", "theorem t", "rfl"), {})]

    def read(on_bad: OnBad) -> Iterator[Row]:
        on_bad(InputError("the third"))
        yield from rows

    bad: list[InputError] = []
    given = Input("elsewhere", (), "s", reader=read)
    assert list(open_rows(given, bad.append)) == rows
    assert list(open_steps(given, bad.append)) == [rows[0].record]
    assert len(bad) == 2


@pytest.mark.parametrize(
    "given", ["nowhere.jsonl", "name=nowhere.jsonl", "=x", "x=", "empty", "a" * 5000]
)
def test_what_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        find_input(given)


def test_the_checksum_is_of_the_content(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write_rows(tmp_path / name, [row("t")])
    first, second = (find_input(str(tmp_path / name)).checksum() for name in ("a.jsonl", "b.jsonl"))
    assert first == second
    write_rows(tmp_path / "b.jsonl", [row("u")])
    assert find_input(str(tmp_path / "b.jsonl")).checksum() != first

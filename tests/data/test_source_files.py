"""Files of sources: found, told apart by their columns, and refused for what is wrong with them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnqed.core.errors import InputError
from burnqed.data import json_stream
from burnqed.data.sources.open import open_source, read_proofs, read_statements, read_steps
from burnqed.data.sources.rows import Notes
from tests.data.published import (
    FILES,
    LEAN_GITHUB,
    LEANDOJO,
    STEPS,
    archive,
    published,
    write,
)


def refused(given: str, read: Any = read_steps) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read(given))
    return caught.value


# ------------------------------------------------------------------------------------- columns


@pytest.mark.parametrize("suffix", ["parquet", "json", "jsonl", "jsonl.gz"])
def test_every_format_of_one_set_is_the_same_set(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"x.{suffix}", LEAN_GITHUB)
    expected = list(read_steps(str(published(tmp_path, "lean-github"))))
    assert list(read_steps(str(path))) == expected


@pytest.mark.parametrize("suffix", ["parquet", "json", "jsonl"])
def test_a_missing_and_an_unknown_column_are_named(tmp_path: Path, suffix: str) -> None:
    without = [{k: v for k, v in row.items() if k != "tactic"} for row in LEAN_GITHUB]
    path = write(tmp_path / f"without.{suffix}", without)
    error = refused(f"lean-github={path}")
    assert "lacks `tactic`" in error.message
    assert str(path) in error.message
    assert "state_before" in error.hint
    path = write(tmp_path / f"more.{suffix}", [{**row, "input": "x"} for row in LEAN_GITHUB])
    error = refused(f"lean-github={path}")
    assert "has unknown `input`" in error.message
    assert str(path) in error.message


def test_a_column_that_only_a_later_row_lacks(tmp_path: Path) -> None:
    rows = [*LEANDOJO, {k: v for k, v in LEANDOJO[0].items() if k != "commit"}]
    error = refused(f"leandojo={write(tmp_path / 'train.json', rows)}")
    assert "row 4 lacks `commit`" in error.message


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("tactic", 3, "line 2: `tactic` is number, and should be text"),
        ("tactic", None, "line 2: `tactic` has no value"),
        ("tactic", ["simp"], "`tactic` is list, and should be text"),
        ("tactic", True, "`tactic` is bool, and should be text"),
        ("tactic", "", "line 2: `tactic` is empty"),
        ("state_before", " \n", "line 2: `state_before` is empty"),
        ("tactic", "\ud83d", "line 2: `tactic` is not valid Unicode"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(tmp_path: Path, column: str, value: Any, said: str) -> None:
    rows = [LEAN_GITHUB[0], {**LEAN_GITHUB[1], column: value}]
    path = write(tmp_path / "x.jsonl", rows)
    error = refused(f"lean-github={path}")
    assert said in error.message
    assert str(path) in error.message


def test_a_parquet_column_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [{**row, "tactic": 3} for row in LEAN_GITHUB])
    assert "column `tactic` is int64, and should be text" in refused(f"lean-github={path}").message
    path = write(tmp_path / "y.parquet", [LEAN_GITHUB[0], {**LEAN_GITHUB[1], "tactic": None}])
    assert f"{path}, row 2: `tactic` has no value" in refused(f"lean-github={path}").message


def test_numbers_are_not_truth_values(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{**STEPS[0], "depth": True}])
    assert "`depth` is bool, and should be number" in refused(str(path)).message


# --------------------------------------------------------------------------------- broken files


def test_broken_files_are_named(tmp_path: Path) -> None:
    def told(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        error = refused(f"lean-github={path}")
        assert str(path) in error.message
        return error.message

    whole = json.dumps(LEAN_GITHUB).encode()
    parquet = published(tmp_path, "lean-github").read_bytes()
    assert "is empty" in told("empty.json", b"")
    assert "is empty" in told("empty.json.gz", gzip.compress(b""))
    assert "has no rows" in told("none.json", b"[]")
    assert "is not JSON: row 4: it ends too early" in told("short.json", whole[:-20])
    assert "is not JSON: after row 4" in told("open.json", whole[:-1])
    assert "is not JSON" in told("text.json", b"hello")
    assert "row 1 is not a JSON object" in told("numbers.json", b"[1, 2]")
    assert "is not UTF-8" in told(
        "latin.json", json.dumps(LEAN_GITHUB, ensure_ascii=False).encode("utf-16")
    )
    latin = json.dumps([{**LEAN_GITHUB[0], "tactic": "é"}], ensure_ascii=False).encode(
        "latin-1", "replace"
    )
    assert "is not UTF-8" in told("latin.jsonl", latin[1:-1])
    assert "is a broken archive" in told("short.json.gz", gzip.compress(whole)[:-30])
    assert "cannot be read" in told("short.parquet", parquet[:-30])
    assert "cannot be read" in told("magic.parquet", b"PAR1")


def test_parquet_that_is_not_utf8(tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: ["a"] for name in LEAN_GITHUB[0]}
    raw = pa.array([b"\xff\xfe"], pa.binary())
    columns["tactic"] = pa.Array.from_buffers(pa.string(), 1, raw.buffers())
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    error = refused(f"lean-github={tmp_path / 'x.parquet'}")
    assert "UTF-8" in error.message
    assert "x.parquet" in error.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot read" in refused(f"lean-github={tmp_path / 'absent.json'}").message
    assert "there is no source and no file nowhere" in refused("nowhere").message
    assert refused("lean-github=").message == "lean-github= names no path"
    assert refused("nonsense=here").message == "there is no file here to read as nonsense"
    assert "there is no source and no file" in refused("x" * 5000).message


# ---------------------------------------------------------------------------------- recognising


@pytest.mark.parametrize("name", FILES)
def test_a_path_alone_is_told_by_its_columns(tmp_path: Path, name: str) -> None:
    assert open_source(str(published(tmp_path, name))).info.name == name
    assert open_source(str(tmp_path)).info.name == name


def test_two_sources_that_fit_are_told(tmp_path: Path) -> None:
    row = {**STEPS[0], "statement": "theorem t : 1 = 1", "proof": "rfl"}
    path = write(tmp_path / "both.jsonl", [row])
    error = refused(str(path))
    assert error.message == f"{path} can be read as steps and as proofs"
    assert f"steps={path} or proofs={path}" in error.hint
    assert len(list(read_steps(f"steps={path}"))) == len(list(read_proofs(f"proofs={path}"))) == 1
    folder = tmp_path / "Lean-Workbook"
    published(folder, "lean-workbook")
    published(folder, "lean-workbook-steps")
    assert "lean-workbook-steps and as lean-workbook" in refused(str(folder)).message
    assert len(list(read_steps(f"lean-workbook-steps={folder}"))) == 3


def test_what_no_source_fits(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{k: v for k, v in STEPS[0].items() if k != "depth"}])
    error = refused(str(path))
    assert "the nearest is steps: it lacks `depth`" in error.message
    (tmp_path / "empty").mkdir()
    assert "there is nothing" in refused(str(tmp_path / "empty")).message


def test_folders_as_they_are_published(tmp_path: Path) -> None:
    """The whole download, the folder in it, or what holds it; the other split is not read as well."""
    for split in ("random", "novel_premises"):
        for part in ("train", "val", "test"):
            write(tmp_path / "x" / "leandojo_benchmark_4" / split / f"{part}.json", LEANDOJO[:1])
    for folder in ("x", "x/leandojo_benchmark_4", "x/leandojo_benchmark_4/random"):
        opened = open_source(str(tmp_path / folder))
        assert [p.path.name for p in opened.parts] == ["train.json", "val.json", "test.json"]
        assert {p.path.parent.name for p in opened.parts} == {"random"}
    shards = tmp_path / "NuminaMath-LEAN"
    for k in range(2):
        write(shards / "data" / f"train-0000{k}-of-00002.parquet", FILES["numinamath-lean"][1])
    found = list(read_statements(str(shards)))
    assert len(found) == len({one.theorem for one in found}) == 8
    (shards / ".cache").mkdir()
    assert len(list(read_statements(str(shards)))) == 8


def test_an_archive_is_read_where_it_is(tmp_path: Path) -> None:
    members = {
        f"leandojo_benchmark_4/random/{part}.json": LEANDOJO for part in ("train", "val", "test")
    }
    path = archive(
        tmp_path / "leandojo_benchmark_4.tar.gz", {"leandojo_benchmark_4/corpus.json": [], **members}
    )
    assert len(list(read_steps(str(path)))) == 9
    assert len(list(read_steps(f"leandojo={path}"))) == 9
    path.write_bytes(path.read_bytes()[:200])
    assert str(path) in refused(f"leandojo={path}").message


def test_what_a_source_does_not_give_is_said_at_once(tmp_path: Path) -> None:
    given = f"goedel-workbook={published(tmp_path, 'goedel-workbook')}"
    with pytest.raises(InputError, match="goedel-workbook has no steps: it is a source of proofs"):
        read_steps(given)
    with pytest.raises(InputError, match="qed-core has no proofs"):
        read_proofs("qed-core")


# ------------------------------------------------------------------------------------- streaming


def test_rows_come_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is here before the last is looked at: a fault at the end shows at the end."""
    monkeypatch.setattr(json_stream, "BLOCK", 256)
    for name in ("x.json", "x.jsonl"):
        path = write(tmp_path / name, LEAN_GITHUB * 50)
        path.write_bytes(path.read_bytes()[:-40])
        notes = Notes()
        found = read_steps(f"lean-github={path}", notes)
        assert next(found).tactic == "constructor"
        assert notes.counts["rows"] == 1
        with pytest.raises(InputError):
            list(found)
        assert notes.counts["rows"] == (199 if name == "x.json" else 200)
    path = write(tmp_path / "x.parquet", LEAN_GITHUB * 2000)
    notes = Notes()
    next(read_steps(str(path), notes))
    assert notes.counts["rows"] == 1


def test_a_number_of_rows_that_is_not_all_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    notes = Notes(told.append)
    path = published(tmp_path, "lean-github")
    for _ in range(2):  # one book for two readings
        list(read_steps(str(path), notes))
    assert told == [f"{path} has 4 rows; all of lean-github is 218866"] * 2
    assert notes.counts["rows"] == 8

"""LeanDojo's benchmark files: theorems of a library, told by what a trace of it recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.core.types import LibraryConstant, Theorem
from burnqed.data.index import parse_index
from burnqed.data.leandojo import module_of, read_leandojo

MATHLIB = {
    "url": "https://github.com/leanprover-community/mathlib4",
    "commit": "29dcec074de168ac2bf835a77ef68bbe069194c5",
}
FILTER = {
    "annotated_tactic": [
        "rw [<a>Multiset.filter_add</a>, hs]",
        [{"full_name": "Multiset.filter_add", "def_path": "Mathlib/Data/Multiset/Basic.lean",
          "def_pos": [2062, 9], "def_end_pos": [2062, 19]}],
    ],
    "tactic": "rw [Multiset.filter_add, hs]",
    "state_before": "α : Type u_1\np : α → Prop\ns t : Multiset α\n⊢ filter p (s + t) = filter p t",
    "state_after": "no goals",
}  # fmt: skip


def theorem(name: str, file_path: str = "Mathlib/Data/Nat/Basic.lean", **more: Any) -> dict[str, Any]:
    """A record as LeanDojo writes it."""
    place = {"full_name": name, "file_path": file_path, "start": [12, 1], "end": [14, 8]}
    return {**MATHLIB, **place, "traced_tactics": [], **more}


def file_of(folder: Path, content: Any, name: str = "train.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_record_becomes_a_theorem_of_the_library(tmp_path: Path) -> None:
    """The statement is only for reading: what is proved is what the constant says in that library."""
    tactics = [FILTER, {**FILTER, "tactic": "simp", "state_before": "⊢ 0 = 0"}]
    told = theorem("Multiset.filter_x", "Mathlib/Data/Multiset/Basic.lean", traced_tactics=tactics)
    (entry,) = read_leandojo([file_of(tmp_path, [told])], "module").entries
    assert entry == {
        "name": "Multiset.filter_x",
        "statement": FILTER["state_before"],
        "file_path": "Mathlib/Data/Multiset/Basic.lean",
        "module": "Mathlib.Data.Multiset.Basic",
        "constant": "Multiset.filter_x",
        "leak_rule": "module",
        "difficulty": 2,
        **MATHLIB,
        "start": [12, 1],
        "end": [14, 8],
    }


def test_a_statement_as_it_is_written_is_taken_before_a_goal(tmp_path: Path) -> None:
    text = "theorem add_zero (n : ℕ) : n + 0 = n"
    records = [
        theorem("a", theorem_statement=text, traced_tactics=[FILTER]),
        theorem("b", theorem_statement=None, traced_tactics=[FILTER]),
        theorem("c", theorem_statement=""),
    ]
    read = read_leandojo([file_of(tmp_path, records)], "module")
    statements = [entry["statement"] for entry in read.entries]
    assert statements == [text, FILTER["state_before"], ""]


@pytest.mark.parametrize("traced", [None, [], [{}], ["simp"], "simp", [{"state_before": None}]])
def test_a_record_without_tactics_is_a_theorem_too(tmp_path: Path, traced: Any) -> None:
    """Most short proofs are terms: there is nothing to trace in them."""
    (entry,) = read_leandojo([file_of(tmp_path, [theorem("a", traced_tactics=traced)])], "self").entries
    assert (entry["statement"], entry["constant"], entry["leak_rule"]) == ("", "a", "self")


def test_the_entries_make_an_index(tmp_path: Path) -> None:
    path = file_of(tmp_path, [theorem("Nat.a", traced_tactics=[FILTER]), theorem("Nat.b")])
    for rule in ("module", "self"):
        index = parse_index("here", "here", read_leandojo([path], rule).entries)
        assert index.theorems == [Theorem(n, LibraryConstant(n, rule)) for n in ("Nat.a", "Nat.b")]


def test_what_is_private_or_there_twice_is_left_out_and_named(tmp_path: Path) -> None:
    """No other file could say a private name; and results are filed under names."""
    first = file_of(
        tmp_path,
        [
            theorem("b", theorem_statement="first"),
            theorem("_private.Mathlib.Data.Nat.Basic.0.Nat.aux"),
            theorem("a"),
            theorem("b", theorem_statement="second"),
        ],
    )
    second = file_of(tmp_path, [theorem("a"), theorem("c")], "val.json")
    read = read_leandojo([first, second], "module")
    assert [entry["name"] for entry in read.entries] == ["b", "a", "c"]
    assert read.entries[0]["statement"] == "first"
    assert read.left_out == ["_private.Mathlib.Data.Nat.Basic.0.Nat.aux", "b", "a"]


@pytest.mark.parametrize(
    ("file_path", "module"),
    [
        ("Mathlib/Data/Nat/Basic.lean", "Mathlib.Data.Nat.Basic"),
        (".lake/packages/std/Std/Data/List/Lemmas.lean", "Std.Data.List.Lemmas"),
        ("lake-packages/aesop/Aesop/Tree/Data.lean", "Aesop.Tree.Data"),
        (".lake/packages/batteries/Batteries.lean", "Batteries"),
        (".lake/packages/lean4/src/lean/Init/Core.lean", "Init.Core"),
        (".lake/packages/lean4/src/lean/lake/Lake/Build/Job.lean", "Lake.Build.Job"),
        ("src/Foo/Bar.lean", "Foo.Bar"),
        ("./Foo/Bar.lean", "Foo.Bar"),
        ("Foo/lean/src/Bar.lean", "Foo.lean.src.Bar"),
        ("Foo/V1.2.lean", "Foo.V1.2"),
    ],
)
def test_the_module_of_a_file(file_path: str, module: str) -> None:
    """Also inside of a lake package, and in Lean's own sources."""
    assert module_of(file_path) == module


@pytest.mark.parametrize(
    "record",
    [
        None,
        "Nat.add_comm",
        {},
        {"full_name": "a"},
        {"file_path": "A.lean"},
        {"full_name": "", "file_path": "A.lean"},
        {"full_name": "a", "file_path": ""},
        {"full_name": "a", "file_path": None},
        {"full_name": ["a"], "file_path": "A.lean"},
    ],
)
def test_a_record_that_is_no_theorem_is_named(tmp_path: Path, record: Any) -> None:
    path = file_of(tmp_path, [theorem("a"), record])
    with pytest.raises(InputError, match="theorem 2 has no `full_name` and `file_path`") as caught:
        read_leandojo([path], "module")
    assert str(path) in caught.value.message


@pytest.mark.parametrize("content", [{}, {"theorems": []}, "text", 3, None])
def test_a_file_that_is_no_benchmark(tmp_path: Path, content: Any) -> None:
    """Such as its corpus.jsonl or metadata.json, which lie beside it."""
    path = file_of(tmp_path, content)
    with pytest.raises(InputError, match=f"{path} is not a LeanDojo benchmark") as caught:
        read_leandojo([path], "module")
    assert "random/test.json" in caught.value.hint


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent\.json: No such file"):
        read_leandojo([tmp_path / "absent.json"], "module")
    broken = tmp_path / "broken.json"
    broken.write_text('[{"full_name": "a"', encoding="utf-8")
    with pytest.raises(InputError, match=f"{broken} is not JSON"):
        read_leandojo([broken], "module")


def test_what_has_no_name_is_left_out(tmp_path: Path) -> None:
    read = read_leandojo(
        [file_of(tmp_path, [theorem("a"), {**theorem("b"), "full_name": None}])], "module"
    )
    assert [entry["name"] for entry in read.entries] == ["a"]
    assert read.left_out == ["theorem 2"]

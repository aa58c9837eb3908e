"""Theorem indexes: what an entry may look like, and what is said of one that is wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.types import FileHole, LibraryConstant, Proposition, Statement, Theorem, TheoremText
from burnqed.data.index import TheoremIndex, read_index, statement_sha, write_index

GOOD = {"name": "good", "statement": "1 = 1"}


def written(folder: Path, content: Any) -> Path:
    path = folder / "index.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def index_of(folder: Path, *entries: Any) -> TheoremIndex:
    return read_index(written(folder, {"theorems": entries}))


def only(folder: Path, **entry: Any) -> Statement:
    (theorem,) = index_of(folder, {"name": "t", **entry}).theorems
    assert theorem.name == "t"
    return theorem.statement


# ---------------------------------------------------------------------------------- forms


def test_a_proposition(tmp_path: Path) -> None:
    text = "∀ n : Nat, n + 0 = n"
    assert only(tmp_path, statement=text) == Proposition(text)
    text = "∀ (α : Type u) (a : α), a = a"
    assert only(tmp_path, statement=text, levels=["u"]) == Proposition(text, ("u",))


@pytest.mark.parametrize(
    "text",
    [
        "theorem t (n : Nat) : n + 0 = n",
        "lemma t : 1 = 1",
        "  theorem t :\n    1 = 1 := by sorry",
        "@[simp] theorem t : 1 = 1",
        "@[simp, grind =]\ntheorem t : 1 = 1",
        "private theorem t : 1 = 1",
        "protected theorem t : 1 = 1",
        "noncomputable def f := 1\n\ntheorem t : f = 1",
        "open Nat in\ntheorem t : 1 = 1",
        "variable (n : Nat)\n\ntheorem t : n = n",
    ],
)
def test_a_whole_theorem_is_known_by_its_keyword(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, statement=text) == TheoremText(text)


@pytest.mark.parametrize("text", ["theorems = 1", "∀ theorem_count : Nat, theorem_count = 1"])
def test_a_word_that_begins_like_the_keyword_does_not_make_a_theorem(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, statement=text) == Proposition(text)


def test_the_context_stands_before_the_theorem(tmp_path: Path) -> None:
    found = only(tmp_path, context="def f := 1\n", statement="theorem t : f = 1")
    assert found == TheoremText("def f := 1\n\ntheorem t : f = 1")
    assert only(tmp_path, context="", statement="1 = 1") == Proposition("1 = 1")
    assert only(tmp_path, context=None, statement="1 = 1") == Proposition("1 = 1")


def test_a_constant_of_the_library(tmp_path: Path) -> None:
    """Its statement is for reading; what is proved is what the constant says."""
    assert only(tmp_path, constant="Nat.add_comm") == LibraryConstant("Nat.add_comm", "module")
    found = only(tmp_path, constant="Nat.add_comm", leak_rule="self", statement="for reading")
    assert found == LibraryConstant("Nat.add_comm", "self")


def test_the_leak_rule_can_be_replaced(tmp_path: Path) -> None:
    entries = [
        GOOD,
        {"name": "a", "constant": "a"},
        {"name": "b", "constant": "b", "leak_rule": "self"},
    ]
    path = written(tmp_path, {"theorems": entries})
    rules = [getattr(t.statement, "leak_rule", None) for t in read_index(path).theorems]
    assert rules == [None, "module", "self"]
    for rule in ("self", "module"):
        changed = read_index(path, rule).theorems
        assert [getattr(t.statement, "leak_rule", None) for t in changed] == [None, rule, rule]


def test_a_bare_list_will_do(tmp_path: Path) -> None:
    index = read_index(written(tmp_path, [GOOD]))
    assert index.theorems == [Theorem("good", Proposition("1 = 1"))]
    assert index.name == "index"


def test_no_theorems_are_an_index_too(tmp_path: Path) -> None:
    assert index_of(tmp_path).theorems == []


def test_order_name_and_digest_are_the_files(tmp_path: Path) -> None:
    names = ["z", "a", "m"]
    content = {"name": "mine", "theorems": [{"name": n, "statement": "1 = 1"} for n in names]}
    path = written(tmp_path, content)
    index = read_index(path)
    assert [theorem.name for theorem in index.theorems] == names
    assert index.name == "mine"
    assert index.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_what_nobody_here_knows_is_kept(tmp_path: Path) -> None:
    fields = {**GOOD, "file_path": "Mathlib/X.lean", "difficulty": 3, "tags": ["a"], "proof": None}
    (entry,) = index_of(tmp_path, fields).entries
    assert entry.fields == fields


def test_an_index_comes_back_as_it_was_written(tmp_path: Path) -> None:
    entries = [{**GOOD, "note": "∀ ü"}, {"name": "b", "constant": "b", "leak_rule": "self"}]
    path = tmp_path / "made" / "other.json"
    write_index(path, "mine", entries)
    index = read_index(path)
    assert index.name == "mine"
    assert [entry.fields for entry in index.entries] == entries
    assert "∀ ü" in path.read_text(encoding="utf-8"), "people read it"


# --------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("1 = 1", "theorem 2 is not a JSON object"),
        (None, "theorem 2 is not a JSON object"),
        ({"statement": "1 = 1"}, "theorem 2 has no name"),
        ({"name": "", "statement": "1 = 1"}, "theorem 2 has no name"),
        ({"name": 7, "statement": "1 = 1"}, "theorem 2 has no name"),
        ({"name": "bad"}, r"theorem 2 \(bad\) has no statement"),
        ({"name": "bad", "statement": "  \n"}, r"theorem 2 \(bad\) has no statement"),
        ({"name": "bad", "statement": ["1 = 1"]}, r"theorem 2 \(bad\) has no statement"),
        ({"name": "bad", "statement": "1 = 1", "context": ["x"]}, r"\(bad\) has a context"),
        ({"name": "bad", "statement": "1 = 1", "levels": 3}, r"\(bad\) has bad `levels`"),
        ({"name": "bad", "statement": "1 = 1", "levels": "uv"}, r"\(bad\) has bad `levels`"),
        ({"name": "bad", "statement": "1 = 1", "levels": [1]}, r"\(bad\) has bad `levels`"),
        ({"name": "bad", "constant": 7}, r"\(bad\) has a bad `constant`"),
        ({"name": "bad", "constant": ""}, r"\(bad\) has a bad `constant`"),
        ({"name": "bad", "constant": "a", "leak_rule": "none"}, r"\(bad\) has a bad .*`leak_rule`"),
        ({"name": "bad", "constant": "a", "leak_rule": ["self"]}, r"\(bad\) has a bad .*`leak_rule`"),
        ({"name": "bad\ud800", "statement": "1 = 1"}, "theorem 2 .*not valid Unicode"),
        ({"name": "bad", "statement": "\udfff = 1"}, "theorem 2 .*not valid Unicode"),
        (GOOD, "the name good comes twice"),
    ],
)
def test_the_wrong_entry_is_named(tmp_path: Path, entry: Any, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        index_of(tmp_path, GOOD, entry)
    assert str(tmp_path / "index.json") in caught.value.message


@pytest.mark.parametrize("content", [{"theorem": []}, {"theorems": {"name": "a"}}, 3, "text", None])
def test_an_index_without_a_list(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match="has no list of theorems") as caught:
        read_index(written(tmp_path, content))
    assert '{"theorems": [' in caught.value.hint


@pytest.mark.parametrize("raw", [b"", b"{", b"theorem a : 1 = 1 := rfl", b"\xff\xfe\x00", b"PAR1" * 9])
def test_a_file_that_is_not_json(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "index.json"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=f"{path} is not JSON"):
        read_index(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*absent\.json: No such file"):
        read_index(tmp_path / "absent.json")
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        read_index(tmp_path)


def test_an_index_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_index(tmp_path / "file" / "index.json", "mine", [])


# --------------------------------------------------------------------------------- digest


def test_statements_are_told_apart_by_their_digest() -> None:
    """Also where the texts agree: what is done with them does not."""
    statements: list[Statement] = [
        Proposition("a"), Proposition("a "), Proposition("a", ("u",)), TheoremText("a"),
        LibraryConstant("a"), LibraryConstant("a", "self"), FileHole("a", 0), FileHole("a", 1),
    ]  # fmt: skip
    assert len({statement_sha(statement) for statement in statements}) == len(statements)


def test_the_digest_is_the_same_tomorrow() -> None:
    """A run that was begun with another version of burn-qed is resumed by it."""
    assert statement_sha(Proposition("∀ n : Nat, n = n")) == "5f90424e2535cf6a"

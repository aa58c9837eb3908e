"""Theorem indexes: what an entry may look like, and what is said of one that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.types import (
    FileHole,
    LibraryConstant,
    Negation,
    Proposition,
    Statement,
    Theorem,
    TheoremText,
    Unreadable,
)
from burnqed.data.index import TheoremIndex, parse_index, read_index, statement_sha, write_index
from burnqed.data.splits import split_of

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
        "/-- All on one line. -/ theorem t : 1 = 1",
        "open Nat in theorem t : 1 = 1",
        "set_option maxRecDepth 1000 in lemma t : 1 = 1",
        "@[aesop safe apply (rule_sets := [A])] nonrec theorem t : 1 = 1",
    ],
)
def test_a_whole_theorem_is_known_by_its_keyword(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, statement=text) == TheoremText(text)


@pytest.mark.parametrize(
    "text",
    [
        "theorems = 1",
        "∀ theorem_count : Nat, theorem_count = 1",
        "∀ lemma : Nat, lemma = lemma",
        "1 = 1 -- as theorem t says",
        '"theorem t" = ""',
    ],
)
def test_the_word_alone_does_not_make_a_theorem(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, statement=text) == Proposition(text)


def test_the_context_stands_before_the_theorem(tmp_path: Path) -> None:
    found = only(tmp_path, context="def f := 1\n", statement="theorem t : f = 1")
    assert found == TheoremText("def f := 1\n\ntheorem t : f = 1")
    assert only(tmp_path, context="", statement="1 = 1") == Proposition("1 = 1")
    assert only(tmp_path, context=None, statement="1 = 1") == Proposition("1 = 1")
    assert only(tmp_path, context=" \n", statement="1 = 1") == Proposition("1 = 1")


def test_a_context_can_be_the_beginning_of_a_file(tmp_path: Path) -> None:
    """It is the same theorem as with the text spelled out, in characters, not bytes."""
    file = "def α := 1\n\ntheorem a : α = 1 := rfl\n\ntheorem b : α = 1 := rfl\n"
    texts = {"a": file[: file.index("theorem a")], "b": file[: file.index("theorem b")]}
    stated = [{"name": n, "statement": f"theorem {n} : α = 1"} for n in texts]
    parts = [{**e, "context": {"file": "A.lean", "length": len(texts[e["name"]])}} for e in stated]
    index = read_index(written(tmp_path, {"files": {"A.lean": file}, "theorems": parts}))
    spelled = index_of(tmp_path, *({**e, "context": texts[e["name"]]} for e in stated))
    assert index.theorems == spelled.theorems
    assert index.checksum == spelled.checksum
    first, second = (t.statement for t in index.theorems)
    assert first == TheoremText("def α := 1\n\n\ntheorem a : α = 1")
    assert isinstance(second, TheoremText)
    assert "theorem a : α = 1 := rfl" in second.source


@pytest.mark.parametrize(
    "context",
    [
        {"file": "B.lean", "length": 3},
        {"file": "A.lean", "length": 11},
        {"file": "A.lean", "length": -1},
        {"file": "A.lean", "length": "3"},
        {"file": "A.lean"},
        {"file": "Bad.lean", "length": 0},
        7,
    ],
)
def test_a_context_that_is_the_beginning_of_no_file(tmp_path: Path, context: Any) -> None:
    """Half of a context would be another theorem, so nothing is made of it."""
    entry = {"name": "t", "statement": "theorem t : 1 = 1", "context": context}
    files = {"A.lean": "def f := 1", "Bad.lean": ["no", "text"]}
    with pytest.raises(InputError, match=r"\(t\) has a context that is no text"):
        read_index(written(tmp_path, {"files": files, "theorems": [entry]}))
    with pytest.raises(InputError, match=r"\(t\) has a context that is no text"):
        read_index(written(tmp_path, {"theorems": [entry]}))


def test_a_theorem_that_could_not_be_read_stays(tmp_path: Path) -> None:
    """So that it is counted; what else the entry has is not looked at."""
    assert only(tmp_path, error="unknown identifier 'ℝ'") == Unreadable("unknown identifier 'ℝ'")
    assert only(tmp_path, error="why", statement=3, context=[], constant="a") == Unreadable("why")
    assert only(tmp_path, error=None, statement="1 = 1") == Proposition("1 = 1")


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


def test_order_name_imports_and_revision_are_the_files(tmp_path: Path) -> None:
    names = ["z", "a", "m"]
    content = {
        "name": "mine",
        "revision": "commit 1",
        "imports": ["Mathlib", "Aesop"],
        "theorems": [{"name": n, "statement": "1 = 1"} for n in names],
    }
    index = read_index(written(tmp_path, content))
    assert [theorem.name for theorem in index.theorems] == names
    assert (index.name, index.revision, index.imports) == ("mine", "commit 1", ("Mathlib", "Aesop"))
    assert (index_of(tmp_path).revision, index_of(tmp_path).imports) == ("", ())


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


def test_what_stands_beside_the_theorems_comes_back_too(tmp_path: Path) -> None:
    entry = {
        "name": "t",
        "statement": "theorem t : f = 1",
        "context": {"file": "A.lean", "length": 10},
    }
    more = {"imports": ["Std"], "revision": "commit 1", "files": {"A.lean": "def f := 1\n"}}
    write_index(tmp_path / "index.json", "mine", [entry], more)
    index = read_index(tmp_path / "index.json")
    assert (index.imports, index.revision) == (("Std",), "commit 1")
    assert index.theorems == [Theorem("t", TheoremText("def f := 1\ntheorem t : f = 1"))]


# --------------------------------------------------------------------------------- splits


def test_a_part_is_one_split_of_it(tmp_path: Path) -> None:
    """An entry's own split counts; where it has none, its name decides."""
    names = [f"t{i}" for i in range(60)]
    entries: list[dict[str, Any]] = [{"name": n, "statement": "1 = 1"} for n in names]
    entries += [{"name": "set", "statement": "1 = 1", "split": "valid"}]
    entries += [{"name": "unset", "statement": "1 = 1", "split": None}]
    content = {"name": "mine", "imports": ["Std"], "revision": "r", "theorems": entries}
    index = read_index(written(tmp_path, content))
    train = index.part("train")
    by_name = [n for n in [*names, "unset"] if split_of(n) == "train"]
    assert [t.name for t in train.theorems] == by_name
    assert (train.name, train.imports, train.revision) == ("mine/train", ("Std",), "r")
    assert [t.name for t in index.part("valid").theorems] == ["set"]
    with pytest.raises(InputError, match="no theorem of mine is in the split tset"):
        index.part("tset")


def test_the_parts_are_all_of_it(tmp_path: Path) -> None:
    index = index_of(tmp_path, *({"name": f"t{i}", "statement": "1 = 1"} for i in range(200)))
    parts = [index.part(split).theorems for split in ("train", "val", "test")]
    assert sorted(t.name for part in parts for t in part) == sorted(t.name for t in index.theorems)


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
        ({"name": "bad", "error": "\udfff"}, "theorem 2 .*not valid Unicode"),
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


@pytest.mark.parametrize("imports", ["Mathlib", ["Mathlib", 3], {"Mathlib": 1}])
def test_imports_that_are_no_modules(tmp_path: Path, imports: Any) -> None:
    with pytest.raises(InputError, match="`imports` is not a list of modules"):
        read_index(written(tmp_path, {"imports": imports, "theorems": [GOOD]}))


@pytest.mark.parametrize(
    "more", [{"name": "\ud800"}, {"files": {"A.lean": "\ud800"}}, {"imports": ["\ud800"]}]
)
def test_half_a_character_beside_the_theorems(tmp_path: Path, more: Any) -> None:
    """It would be in a theorem's context, and nothing could write it."""
    with pytest.raises(InputError, match="is not valid Unicode"):
        read_index(written(tmp_path, {**more, "theorems": [GOOD]}))


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


# ------------------------------------------------------------------------------- checksum


ENTRIES: list[dict[str, Any]] = [
    {"name": "a", "statement": "1 = 1"},
    {"name": "b", "statement": "theorem b : f = 1", "context": "def f := 1"},
    {"name": "c", "constant": "Nat.add_comm", "leak_rule": "self", "statement": "for reading"},
    {"name": "d", "error": "does not parse"},
]


def checksum(*entries: dict[str, Any], **more: Any) -> str:
    return parse_index("here", "here", {**more, "theorems": list(entries)}).checksum


def test_the_checksum_is_of_what_is_to_be_proved() -> None:
    """Neither the order, nor the names of the set, nor what is only for reading."""
    a, b, c, d = ENTRIES
    same = checksum(*ENTRIES)
    assert checksum(*reversed(ENTRIES)) == same
    assert checksum(*ENTRIES, name="other", revision="r", imports=["Std"]) == same
    assert checksum({**a, "file_path": "A.lean", "difficulty": 3, "split": "test"}, b, c, d) == same
    assert checksum(a, b, {**c, "statement": "otherwise put"}, d) == same
    assert checksum(a, {**b, "context": "", "statement": "def f := 1\ntheorem b : f = 1"}, c, d) == same
    assert len(same) == 64


@pytest.mark.parametrize(
    ("which", "change"),
    [
        (0, {"name": "z"}),
        (0, {"statement": "1 = 2"}),
        (0, {"levels": ["u"]}),
        (0, {"statement": "theorem a : 1 = 1"}),
        (1, {"context": "def f := 2"}),
        (1, {"statement": "theorem b : 1 = f"}),
        (2, {"constant": "Nat.mul_comm"}),
        (2, {"leak_rule": "module"}),
        (3, {"error": "something else"}),
    ],
)
def test_another_set_has_another_checksum(which: int, change: dict[str, Any]) -> None:
    changed = [{**entry, **change} if i == which else entry for i, entry in enumerate(ENTRIES)]
    assert checksum(*changed) != checksum(*ENTRIES)


def test_every_theorem_counts_in_the_checksum() -> None:
    """Also the leak rule that a run asks for instead of the set's own."""
    sums = {checksum(*(e for e in ENTRIES if e is not gone)) for gone in [None, *ENTRIES]}
    assert len(sums) == 5
    swapped = checksum({"name": "a", "statement": "2 = 2"}, {"name": "b", "statement": "1 = 1"})
    assert swapped != checksum({"name": "a", "statement": "1 = 1"}, {"name": "b", "statement": "2 = 2"})
    module = parse_index("here", "here", ENTRIES, "module")
    assert module.checksum != checksum(*ENTRIES)
    assert (module.leak_rules, parse_index("h", "h", ENTRIES).leak_rules) == (("module",), ("self",))


def test_statements_are_told_apart_by_their_digest() -> None:
    """Also where the texts agree: what is done with them does not."""
    plain: list[Proposition | TheoremText | LibraryConstant] = [
        Proposition("a"), Proposition("a "), Proposition("a", ("u",)), Proposition("a", ("u", "v")),
        TheoremText("a"), LibraryConstant("a"), LibraryConstant("a", "self"),
    ]  # fmt: skip
    statements: list[Statement] = [*plain, FileHole("a", 0), FileHole("a", 1), Unreadable("a")]
    statements += [Negation(statement) for statement in plain]
    assert len({statement_sha(statement) for statement in statements}) == len(statements)


def test_the_digests_are_the_same_tomorrow() -> None:
    """A run that was begun with another version of burn-qed is resumed by it."""
    assert statement_sha(Proposition("∀ n : Nat, n = n")) == "c1b7ce46afcbe0c5"
    assert checksum(*ENTRIES) == "697e8a2a2a3543d03b024336b035063f7b5ca20407f5007c7e863134c053824f"

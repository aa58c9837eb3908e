"""JSON lines with a header and a statement: what becomes of them, and that a theorem is left open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.core.types import TheoremText
from burnqed.data.index import parse_index
from burnqed.data.prover_jsonl import parse_prover_jsonl, read_prover_jsonl
from burnqed.lean.statement import declarations, header, with_sorry
from burnqed.lean.tokens import tokenize

HEADER = (
    "import Mathlib\nimport Aesop\n\nset_option maxHeartbeats 400000\n\n"
    "open BigOperators Real Nat Topology Rat\n\n"
)
OPENS = "set_option maxHeartbeats 400000\n\nopen BigOperators Real Nat Topology Rat"
CONE = (
    "theorem mathd_algebra_478 (b h v : ℝ) (h₀ : 0 < b ∧ 0 < h ∧ 0 < v)\n"
    "  (h₁ : v = 1 / 3 * (b * h)) : v = 65"
)
SOLUTION = "abbrev imo_1960_p2_solution : Set ℝ := sorry"


def line(name: str, statement: str, **more: Any) -> str:
    told = {"name": name, "split": "valid", "informal_prefix": "/-- The volume of a cone. -/\n"}
    return json.dumps({**told, "formal_statement": statement, "header": HEADER, **more})


def only(text: str) -> tuple[dict[str, Any], TheoremText]:
    """The entry of a line, and the statement that it is."""
    read = parse_prover_jsonl("set.jsonl", [text])
    (entry,) = read.entries
    (theorem,) = parse_index("set", "set", {"theorems": read.entries}).theorems
    assert isinstance(theorem.statement, TheoremText)
    return entry, theorem.statement


def test_a_line_is_a_theorem_behind_its_header() -> None:
    """The imports are modules to load; what is opened and set stands before the theorem."""
    read = parse_prover_jsonl("set.jsonl", [line("mathd_algebra_478", f"{CONE} := by")])
    assert read.imports == ["Mathlib", "Aesop"]
    assert read.entries == [
        {
            "name": "mathd_algebra_478",
            "statement": f"{CONE} := by",
            "context": OPENS,
            "file_path": "set.jsonl:1",
            "split": "valid",
        }
    ]


@pytest.mark.parametrize("end", ["", " :=", " := by", " := by\n", " := by sorry", " := by\n  sorry\n",
                                 " := sorry", ":=by", " := by -- here"])  # fmt: skip
def test_one_theorem_is_left_open_however_the_line_ends(end: str) -> None:
    _, statement = only(line("cone", CONE + end))
    assert header(statement) == f"{OPENS}\n{CONE}"
    text = with_sorry(statement)
    assert [d.name for d in declarations(text)] == ["mathd_algebra_478"]
    assert [t.text for t in tokenize(text)][-3:] == [":=", "by", "sorry"]
    assert text.count("sorry") == 1
    assert "import" not in text


@pytest.mark.parametrize("end", [" :=", " := by", " := by sorry", " := sorry"])
def test_an_answer_that_is_asked_for_stands_before_the_theorem(end: str) -> None:
    """As in miniF2F-v2c: the `sorry` of the answer stays, and only the theorem is left open."""
    asked = "theorem imo_1960_p2 (x : ℝ) (h₀ : 0 ≤ 1 + 2 * x) :\n  x < 3 ↔ x ∈ imo_1960_p2_solution"
    _, statement = only(line("imo_1960_p2", f"{SOLUTION}\n\n{asked}{end}"))
    assert header(statement) == f"{OPENS}\n{SOLUTION}\n\n{asked}"
    text = with_sorry(statement)
    assert [d.name for d in declarations(text)] == ["imo_1960_p2"]
    assert text.endswith(f"{asked} := by sorry\n")


def test_a_let_in_the_type_is_no_proof() -> None:
    lets = "theorem t (p q : ℝ) :\n  let a := dist p q\n  let b := dist q p\n  a = b"
    assert header(only(line("t", f"{lets} := by"))[1]) == f"{OPENS}\n{lets}"


def test_a_comment_before_the_theorem_stays() -> None:
    prefix = "/-- Find $x$. Show that a theorem holds. -/\n"
    _, statement = only(line("t", f"{prefix}theorem t : 1 = 1 := by"))
    assert header(statement) == f"{OPENS}\n{prefix}theorem t : 1 = 1"


@pytest.mark.parametrize("more", [{"header": ""}, {"header": None}, {"header": "import Mathlib\n"}])
def test_a_line_without_a_context(more: dict[str, Any]) -> None:
    entry, statement = only(line("cone", f"{CONE} := by", **more))
    assert entry["context"] == ""
    assert with_sorry(statement) == f"{CONE} := by sorry\n"


def test_a_header_inside_of_the_statement() -> None:
    """Some sets have no header of their own, and it before each theorem."""
    read = parse_prover_jsonl("set.jsonl", [line("cone", f"{HEADER}{CONE} := by sorry", header="")])
    assert read.imports == ["Mathlib", "Aesop"]
    (theorem,) = parse_index("set", "set", read.entries).theorems
    assert header(theorem.statement) == f"{OPENS}\n\n{CONE}"


def test_imports_are_those_of_all_lines_each_once() -> None:
    lines = [line(n, CONE, header=f"import {m}\n") for n, m in [("a", "B"), ("b", "A"), ("c", "B")]]
    assert parse_prover_jsonl("set.jsonl", lines).imports == ["B", "A"]


def test_names_that_come_twice_are_numbered() -> None:
    """ProofNet names exercises of different books alike; each of them is to be proved."""
    books = ["theorem exercise_1_4 (x y : ℕ) : x ≤ y :=", "theorem exercise_1_4 (a : ℂ) : a = 0 :="]
    lines = [line("exercise_1_4", book) for book in [*books, books[0]]]
    entries = parse_prover_jsonl("proofnet.jsonl", lines).entries
    assert [e["name"] for e in entries] == ["exercise_1_4", "exercise_1_4#2", "exercise_1_4#3"]
    assert [e["statement"] for e in entries] == [*books, books[0]]
    assert len(parse_index("set", "set", entries).theorems) == 3


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    """An editor's line number is what people look for."""
    path = tmp_path / "set.jsonl"
    text = f"\n{line('a', CONE)}\r\n  \n{line('b', CONE, split=None)}\n\n"
    path.write_bytes(text.encode())
    entries = read_prover_jsonl(path).entries
    assert [e["file_path"] for e in entries] == [f"{path}:2", f"{path}:4"]
    assert [e.get("split") for e in entries] == ["valid", None]
    assert "split" not in entries[1]


def test_a_line_is_what_a_newline_ends() -> None:
    """JSON may hold other characters that Python would take for the end of a line."""
    comment = "-- a\u2028b\x85c\n"
    text = json.dumps({"name": "t", "formal_statement": f"{comment}{CONE}"}, ensure_ascii=False)
    (entry,) = parse_prover_jsonl("set.jsonl", text.split("\n")).entries
    assert entry["statement"] == f"{comment}{CONE}"


# --------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("{", "is not JSON"),
        ("theorem t : 1 = 1 := by", "is not JSON"),
        ("[]", "has no `name` and `formal_statement`"),
        ("{}", "has no `name` and `formal_statement`"),
        ('{"name": "t"}', "has no `name` and `formal_statement`"),
        ('{"name": "", "formal_statement": "theorem t : 1 = 1"}', "has no `name`"),
        ('{"name": "t", "formal_statement": " \\n"}', "has no `name` and `formal_statement`"),
        ('{"name": "t", "formal_statement": ["theorem"]}', "has no `name` and `formal_statement`"),
        (line("t", CONE, header=["import Mathlib"]), "has a `header` that is no text"),
        (line("t", CONE, header="import"), "`import ` in line 1 does not name a module"),
    ],
)
def test_the_wrong_line_is_named(bad: str, told: str) -> None:
    with pytest.raises(InputError, match=f"^set.jsonl:3:? {told}"):
        parse_prover_jsonl("set.jsonl", [line("a", CONE), "", bad])


def test_files_that_have_nothing(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    with pytest.raises(InputError, match=f"cannot read {path}"):
        read_prover_jsonl(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=f"cannot read {path}"):
        read_prover_jsonl(path)
    path.write_text("\n \n")
    with pytest.raises(InputError, match=f"{path} has no theorems"):
        read_prover_jsonl(path)

"""Statements into source, and source into statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.errors import StatementError
from burnqed.core.types import LibraryConstant, Proposition, TheoremText
from burnqed.lean.statement import (
    Proved,
    header,
    split_header,
    split_proof,
    strip_proof,
    with_proof,
    with_sorry,
)
from tests.lean.honest import HONEST_PROOFS, HonestProof

ENDINGS = (
    " := by sorry", " := sorry", " :=", " := by", " := by\n  sorry", "", " := by sorry -- to do",
    " := sorry\n\n/- later -/\n",
)  # fmt: skip
TYPES = st.sampled_from(
    ["1 = 1", "∀ n : Nat, n = n", "let x := 1; x = 1", "(fun x => x) 1 = 1", "{ x := 1 : P }.x = 1",
     "f (x := 2) = 2", '"a := b" = "c"', "have h := 1; h = 1"]
)  # fmt: skip
NAMES = st.sampled_from(["t", "Foo.bar", "x'", "«a b»"])
BINDERS = st.sampled_from(["", "(n : Nat)", "{α : Type u} [Inhabited α]", "(h : x = 1 := by rfl)"])
PREFIX = st.sampled_from(
    ["", "open Nat\n", "def f := 1\n\n", "/-- doc -/\n", "variable (n : Nat) in\n"]
)


@pytest.mark.parametrize(
    "name",
    [
        "«--maxHeartbeats=0»", "«-x»", "«»", "«../Init»", "«a.b»", "«a b»", "«Init", "«a\nb»", "1",
        '"Init"', "",
    ],
)  # fmt: skip
def test_an_import_that_names_no_module_is_told(name: str) -> None:
    with pytest.raises(StatementError, match=r"`import (.|\n)*` in line 3 does not name a module"):
        split_header(f"import Init\n\nimport {name}")


def test_imports_may_be_quoted() -> None:
    source = split_header("import «Init».Data.Nat\nimport «doc-gen4»")
    assert source.imports == ("Init.Data.Nat", "doc-gen4")


@given(PREFIX, NAMES, BINDERS, TYPES, st.sampled_from(ENDINGS))
def test_the_open_proof_is_taken_off(
    prefix: str, name: str, binders: str, type_: str, ending: str
) -> None:
    text = f"{prefix}theorem {name} {binders} : {type_}"
    assert strip_proof(TheoremText(text + ending)) == text


@given(PREFIX, NAMES, BINDERS, TYPES)
def test_taking_off_and_putting_on(prefix: str, name: str, binders: str, type_: str) -> None:
    statement = TheoremText(f"{prefix}theorem {name} {binders} : {type_} := by sorry")
    again = TheoremText(with_sorry(statement))
    assert strip_proof(again) == strip_proof(statement)
    assert with_sorry(again) == with_sorry(statement)


@given(
    TYPES,
    st.lists(st.sampled_from(["rfl", "intro n", "· simp", "cases h with\n| a => b"]), min_size=1),
)
def test_a_proof_follows_its_header(type_: str, tactics: list[str]) -> None:
    goal = Proposition(type_)
    text = with_proof(goal, tactics)
    assert text.startswith(header(goal) + " := by\n")
    body = text.removeprefix(header(goal) + " := by\n")
    assert [line[2:] for line in body.splitlines()] == "\n".join(tactics).splitlines()


@pytest.mark.parametrize("proof", [" := rfl", " := by\n  rfl", " := by\n  have h := sorry\n  rfl"])
def test_a_finished_proof_is_refused(proof: str) -> None:
    with pytest.raises(StatementError):
        strip_proof(TheoremText("theorem t : 1 = 1" + proof))


@pytest.mark.parametrize("text", ["", "1 = 1", "def f := 1", "-- theorem t : 1 = 1", '"theorem"'])
def test_no_theorem_is_refused(text: str) -> None:
    with pytest.raises(StatementError):
        strip_proof(TheoremText(text))


@given(st.text(max_size=80))
def test_any_text_is_a_statement_or_an_error(source: str) -> None:
    try:
        text = strip_proof(TheoremText(source))
    except StatementError:
        return
    assert source.startswith(text)


def test_universes_and_constants() -> None:
    assert header(Proposition("P", ("u", "v"))) == "theorem qed_goal.{u, v} : P"
    assert header(LibraryConstant("Nat.add_comm")) == "theorem qed_goal : type_of% @Nat.add_comm"


def test_indentation_of_a_tactic_is_kept() -> None:
    text = with_proof(Proposition("P"), ["constructor\n· intro x\n  rfl", "    exact y"])
    assert text.splitlines()[1:] == ["  constructor", "  · intro x", "    rfl", "  exact y"]


def test_a_comment_behind_a_proposition_does_not_swallow_the_proof() -> None:
    text = with_proof(Proposition("1 = 1 -- easy"), ["rfl"])
    assert ":= by" not in next(line for line in text.splitlines() if "--" in line).split("--")[1]


@given(
    st.lists(st.sampled_from(["Init", "Std.Data", "A.B.C"]), max_size=4),
    st.sampled_from(["", "\n", "-- import X\n", "/- import Y -/\n"]),
    st.sampled_from(["theorem t : 1 = 1 := rfl\n", "", "def f := import_\n"]),
)
def test_imports_are_separated(modules: list[str], comment: str, body: str) -> None:
    source = comment + "".join(f"import {m}\n" for m in modules) + body
    split = split_header(source)
    assert split.imports == tuple(modules)
    assert split.body.count("\n") == source.count("\n")
    assert split.body.endswith(body)
    assert len(split.body) == len(source)


def test_the_header_of_a_module() -> None:
    split = split_header(
        "module\n\npublic import A\nmeta import all B\nimport C\n\ntheorem t : 1 = 1\n"
    )
    assert split.imports == ("A", "B", "C")
    assert split.body.strip() == "theorem t : 1 = 1"


def test_an_import_of_nothing() -> None:
    with pytest.raises(StatementError):
        split_header("import")


def test_the_word_import_in_the_middle_is_no_header() -> None:
    assert split_header("theorem t : 1 = 1 := rfl\nimport A\n").imports == ()


@pytest.mark.parametrize("entry", HONEST_PROOFS, ids=lambda e: e.name)
def test_honest_proofs_are_written_out(entry: HonestProof) -> None:
    text = with_proof(entry.statement, entry.tactics)
    assert text.startswith(header(entry.statement))
    assert text.endswith("\n")


@pytest.mark.parametrize(
    "before", ["", "import Init\nopen Nat\n\n", "lemma a : 1 = 1 := rfl\n\n/-- a theorem -/\n"]
)
@pytest.mark.parametrize(
    "stated",
    [
        "theorem t : 1 = 1",
        "lemma t (n : Nat := 0) (h : let m := n; m = n) : n = n",
        "theorem t : let x := 1; have := x; x = 1",
        "theorem A.t -- := is not meant here\n  : 1 = 1",
        "theorem t (h : " + " ∧ ".join(f"(let x := {k}; x = {k})" for k in range(12)) + ") : 1 = 1",
    ],
)
@pytest.mark.parametrize("proof", ["rfl", "by\n  have h := 1\n  -- by a theorem\n  rfl", "by sorry"])
def test_a_theorem_and_its_proof_are_taken_apart(before: str, stated: str, proof: str) -> None:
    name = stated.split()[1]
    assert split_proof(f"{before}{stated} := {proof}\n") == Proved(name, before.strip(), stated, proof)


@pytest.mark.parametrize(
    "text", ["", "def f := 1", "-- theorem t : 1 = 1 := rfl", "theorem t : P\n  | 0 => rfl"]
)
def test_what_has_no_theorem_with_a_proof(text: str) -> None:
    with pytest.raises(StatementError):
        split_proof(text)

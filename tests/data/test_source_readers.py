"""Each published data set as steps, whole proofs or statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.data.sources.declared import Stated
from burnqed.data.sources.open import read_proofs, read_statements, read_steps, sources
from burnqed.data.sources.rows import Notes
from burnqed.data.steps import Step, WholeProof
from tests.data.published import (
    FILES,
    GOEDEL,
    LEANDOJO,
    WORKBOOK,
    dojo,
    numina,
    published,
    tactic,
    write,
)


def test_leandojo_gives_the_tactics_of_each_theorem(tmp_path: Path) -> None:
    """Depths count within a theorem; two theorems of one name are told apart; terms are counted."""
    notes = Notes()
    found = list(read_steps(f"leandojo={published(tmp_path, 'leandojo')}", notes))
    assert found == [
        Step("leandojo", "Nat.a", "⊢ ∀ n, P n", "intro n", 0, "n : ℕ\n⊢ P n", ("a",)),
        Step("leandojo", "Nat.a", "n : ℕ\n⊢ P n", "simp", 1, "no goals", ("a",)),
        Step("leandojo", "Nat.a#2", "⊢ 1 = 1", "rfl", 0, "no goals", ("a",)),
    ]
    assert notes.counts == {"rows": 3, "term proofs": 1}


def test_leandojo_says_which_premises_a_tactic_names(tmp_path: Path) -> None:
    """By their whole names, each once, in the order of the text; a tactic may name none."""
    rw, simp = tactic("rw [comm, comm, zero]", "⊢ a"), tactic("simp", "⊢ b")
    rw["annotated_tactic"][1] = [{"full_name": n} for n in ("mul_comm", "mul_comm", "Nat.zero")]
    simp["annotated_tactic"][1] = []
    path = write(tmp_path / "train.json", [dojo("t", rw, simp)])
    found = list(read_steps(f"leandojo={path}"))
    assert [step.premises for step in found] == [("mul_comm", "Nat.zero"), ()]


def test_a_theorem_of_leandojo_may_be_without_a_name_if_it_has_no_tactics(tmp_path: Path) -> None:
    """As five of the published file are."""
    nameless = {**dojo(""), "full_name": None}
    notes = Notes()
    read = list(read_steps(f"leandojo={write(tmp_path / 'a.json', [nameless, *LEANDOJO])}", notes))
    assert len(read) == 3
    assert notes.counts == {"rows": 4, "term proofs": 2}
    path = write(tmp_path / "b.json", [{**dojo("", tactic("simp", "⊢ a")), "full_name": None}])
    with pytest.raises(InputError, match=r"row 1: `full_name` has no value, and there are tactics"):
        list(read_steps(f"leandojo={path}"))


def test_leandojo_may_say_the_statement(tmp_path: Path) -> None:
    rows = [
        {**row, "theorem_statement": statement} for row in LEANDOJO for statement in ("theorem …", None)
    ]
    assert len(list(read_steps(f"leandojo={write(tmp_path / 'train.json', rows)}"))) == 6


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("simp", "tactic 2 of `traced_tactics` is not an object"),
        ({"tactic": "simp", "state_before": "⊢ a", "state_after": ""}, "lacks `annotated_tactic`"),
        ({**tactic("simp", "⊢ a"), "time": 3}, "has unknown `time`"),
        (tactic("", "⊢ a"), "has a `tactic` that is not text, or is empty"),
        ({**tactic("simp", "⊢ a"), "state_before": None}, "has a `state_before` that is not text"),
        (
            {**tactic("simp", "⊢ a"), "annotated_tactic": ["simp"]},
            "has an `annotated_tactic` that is not",
        ),
        ({**tactic("simp", "⊢ a"), "annotated_tactic": ["a", [{"name": "a"}]]}, "a list of premises"),
        (
            {**tactic("simp", "⊢ a"), "annotated_tactic": ["a", [{"full_name": 3}]]},
            "a list of premises",
        ),
    ],
)
def test_a_bad_tactic_of_leandojo_is_named(tmp_path: Path, wrong: Any, said: str) -> None:
    path = write(tmp_path / "train.json", [dojo("a"), dojo("b", tactic("simp", "⊢ a"), wrong)])
    with pytest.raises(InputError, match=said) as caught:
        list(read_steps(f"leandojo={path}"))
    assert f"{path}, row 2" in caught.value.message


def test_lean_github_gives_each_row(tmp_path: Path) -> None:
    """Rows of a theorem need not follow each other; two of one name are told apart."""
    found = read_steps(str(published(tmp_path, "lean-github")))
    assert [(s.source, s.theorem, s.tactic, s.depth) for s in found] == [
        ("lean-github", "foo", "constructor", 0),
        ("lean-github", "foo", "simp", 1),
        ("lean-github", "foo#2", "omega", 0),
        ("lean-github", "foo", "exact h", 2),
    ]


def test_steps_of_lean_workbook(tmp_path: Path) -> None:
    """A refutation proves another theorem."""
    notes = Notes()
    found = read_steps(str(published(tmp_path, "lean-workbook-steps")), notes)
    assert [(s.theorem, s.depth) for s in found] == [
        ("lean_workbook_1", 0), ("lean_workbook_1", 1), ("lean_workbook_1#disproved", 0),
    ]  # fmt: skip
    assert notes.counts == {"rows": 3, "status proved": 2, "status disproved": 1}


def test_problems_of_lean_workbook(tmp_path: Path) -> None:
    path = published(tmp_path, "lean-workbook")
    statement = "theorem lean_workbook_plus_1 (a : ℝ) : a ^ 2 ≥ 0"
    stated = list(read_statements(str(path)))
    assert [s.theorem for s in stated] == ["lean_workbook_0", "lean_workbook_plus_1"]
    assert stated[1] == Stated("lean-workbook", "lean_workbook_plus_1", statement, "import Mathlib")
    notes = Notes()
    found = list(read_proofs(str(path), notes))
    assert [p.proof for p in found] == ["by\n  nlinarith [sq_nonneg a]", "by\n  positivity"]
    assert {(p.theorem, p.statement, p.context) for p in found} == {
        ("lean_workbook_plus_1", statement, "import Mathlib")
    }
    assert notes.counts == {"rows": 2, "no proof": 1}


def test_a_statement_that_is_none_is_told_and_counted(tmp_path: Path) -> None:
    rows = [*WORKBOOK, {**WORKBOOK[0], "formal_statement": "def f := 1"}]
    told: list[str] = []
    notes = Notes(told.append)
    path = write(tmp_path / "lean_workbook.json", rows)
    assert len(list(read_statements(f"lean-workbook={path}", notes))) == 2
    assert notes.counts["unreadable"] == 1
    assert f"{path}, row 3" in told[0]


def test_proofs_of_goedel(tmp_path: Path) -> None:
    """In three: what stands before, the theorem, the proof; together they are the file again."""
    first, second = read_proofs(str(published(tmp_path, "goedel-workbook")))
    assert first == WholeProof(
        "goedel-workbook",
        "lean_workbook_10",
        "theorem lean_workbook_10 (a : ℝ)\n    (h : let b := a; b = 1) : a = 1",
        "by\n  have c := 2\n  simpa using h",
        "import Mathlib\nimport Aesop\nopen Real",
    )
    assert (second.statement, second.proof) == ("theorem lean_workbook_11 : 1 = 1", "rfl")
    whole = f"{first.context}\n{first.statement} := {first.proof}"
    assert whole.split() == GOEDEL[0]["full_proof"].split()


def test_proofs_of_numina(tmp_path: Path) -> None:
    """A person's and a prover's are two proofs of one theorem; what is empty or open is counted."""
    notes = Notes()
    path = published(tmp_path, "numinamath-lean")
    found = list(read_proofs(f"numinamath-lean={path}", notes))
    assert [(p.theorem, p.statement, p.proof) for p in found] == [
        ("a1", "theorem a1 : 1 = 1", "by\n  rfl"), ("a1", "theorem a1 : 1 = 1", "by\n  norm_num"),
    ]  # fmt: skip
    assert found[0].context == "import Mathlib\n\nlemma helper : 2 = 2 := rfl"
    assert notes.counts == {
        "rows": 4, "no proof": 3, "ground truth complete": 1, "ground truth with_sorry": 1,
        "ground truth statement": 1,
    }  # fmt: skip
    stated = list(read_statements(f"numinamath-lean={path}"))
    assert stated[3] == Stated("numinamath-lean", "a4", "theorem a4 : 1 = 1", "import Mathlib")


def test_a_ground_truth_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "n.parquet", [numina("a", ground_truth_type="partial")])
    with pytest.raises(InputError, match="`ground_truth_type` is 'partial'"):
        list(read_proofs(f"numinamath-lean={path}"))


def test_a_proof_that_cannot_be_taken_apart_is_told_and_counted(tmp_path: Path) -> None:
    rows = [
        {"problem_id": "a", "full_proof": text}
        for text in ("#eval 1", "theorem a : ∀ n, P n\n  | 0 => x")
    ]
    told: list[str] = []
    notes = Notes(told.append)
    assert not list(read_proofs(str(write(tmp_path / "g.parquet", rows)), notes))
    assert notes.counts["unreadable"] == 2
    assert "no theorem" in told[0]
    assert "does not begin with `:=`" in told[1]


def test_what_was_written_here(tmp_path: Path) -> None:
    """More columns than are read do no harm: a trace says more about each step."""
    rows = [
        {
            "state": "⊢ a",
            "tactic": "simp",
            "theorem": "t",
            "depth": 2,
            "position": [1, 2],
            "uses": ["x"],
        },
        {
            "state": "⊢ a",
            "tactic": "simp",
            "theorem": "t",
            "depth": 0,
            "source": "mine",
            "after": "⊢ b",
        },
    ]
    for name in ("s.jsonl", "s.json", "s.jsonl.gz"):
        assert list(read_steps(str(write(tmp_path / name, rows)))) == [
            Step("s", "t", "⊢ a", "simp", 2), Step("mine", "t", "⊢ a", "simp", 0, "⊢ b"),
        ]  # fmt: skip
    found = list(read_proofs(str(published(tmp_path, "proofs"))))
    assert found == [WholeProof("proofs", "t", "theorem t : 1 = 1", "rfl")]
    for depth in (-1, 0.5):
        path = write(tmp_path / "bad.jsonl", [{**rows[0], "depth": depth}])
        with pytest.raises(InputError, match="not a number of steps"):
            list(read_steps(str(path)))


def test_benchmarks_and_indexes_are_statements(tmp_path: Path) -> None:
    lines = [
        {
            "name": "a",
            "header": "import Mathlib\nopen Real\n",
            "formal_statement": "theorem a : 1 = 1 := by",
        }
    ]
    assert list(read_statements(str(write(tmp_path / "b.jsonl", lines)))) == [
        Stated("b", "a", "theorem a : 1 = 1", "import Mathlib\nopen Real")
    ]
    index = tmp_path / "i.json"
    index.write_text(
        '{"theorems": [{"name": "p", "statement": "1 = 1"}, {"name": "c", "constant": "c"}]}'
    )
    notes = Notes()
    assert list(read_statements(str(index), notes)) == [Stated("i", "p", "1 = 1")]
    assert notes.counts == {"rows": 2, "library theorems": 1}
    told: list[str] = []
    given = f"minif2f-test={tmp_path / 'i.json'}"
    assert list(read_statements(given, Notes(told.append))) == [Stated("minif2f-test", "p", "1 = 1")]
    assert told == ["minif2f-test has 2 theorems, not 244"]
    core = list(read_statements("qed-core"))
    assert len(core) == 150
    assert not any(stated.statement.endswith("sorry") for stated in core)


def test_every_source_says_what_it_is() -> None:
    """And names are of one source only. What is not pinned has no revision, and no made-up one."""
    known = sources()
    assert len({info.name for info in known}) == len(known)
    assert {info.name for info in known} > FILES.keys() - {"steps", "proofs"}
    for info in known:
        assert info.about
        assert info.gives
        assert info.licence
        assert info.lean
        assert info.repository
    unpinned = {info.name for info in known if not info.revision}
    assert unpinned == {"goedel-workbook", "numinamath-lean"}


@pytest.mark.parametrize("name", FILES)
def test_reading_twice_gives_the_same(tmp_path: Path, name: str) -> None:
    path = published(tmp_path, name)
    read = next(r for r in (read_steps, read_proofs, read_statements) if _gives(r, f"{name}={path}"))
    assert list(read(f"{name}={path}")) == list(read(f"{name}={path}"))


def _gives(read: Any, given: str) -> bool:
    try:
        return bool(list(read(given)))
    except InputError:
        return False

"""Lean files as an index: each theorem starts where it stands, and is judged there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.core.types import Closed, Rejected, Theorem, Unreadable
from burnqed.data.index import parse_index
from burnqed.data.lean_files import Indexed, file_entries
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

pytestmark = pytest.mark.lean

# Each with a proof that works in its place.
FORMS = {
    "twice_zero": "/-- doc -/\n@[simp] theorem twice_zero : twice 0 = 0 := rfl\n/ rfl",
    "A.B.len": "namespace A.B\nsection\nvariable {α : Type u} (xs : List α) (n : Nat)\n"
    "theorem len : (xs ++ xs).length = xs.length + xs.length := by simp\n/ simp",
    "A.B.ne": "theorem ne : n ≠ n + 1 := by omega\n/ omega",
    "A.B.opened": "open Nat in\n/-- d -/ @[simp, grind =]\ntheorem opened : succ n = n + 1 := rfl\n"
    "end\n/ rfl",
    "A.B.one_line": "open Nat in theorem one_line (n : Nat) : succ n = n + 1 := rfl\n/ rfl",
    "A.B.prot": "protected theorem prot (p : Prop) : p → p := fun h => h\n/ exact fun h => h",
    "A.B.eqs": "theorem eqs : ∀ n : Nat, 0 ≤ n\n  | 0 => Nat.le_refl 0\n"
    "  | n + 1 => Nat.zero_le (n + 1)\n/ exact Nat.zero_le",
    "A.B.auto": "theorem auto (n : Nat) (h : n = n := by simp) : n = n := h\n/ exact h",
    "A.B.lets": "theorem lets : let x := 3; have y := x; y + 1 = 4 := by intro x y; rfl\n/ rfl",
    "A.B.inst": "theorem inst : letI x := 3; x = 3 := rfl\n/ rfl",
    "A.B.aux": "theorem aux (n : Nat) : n = n := sub n\nwhere sub (m : Nat) : m = m := rfl\n/ rfl",
    "A.B.«a name»": "instance : Inhabited Nat := ⟨7⟩\ntheorem «a name» : True := trivial\n/ trivial",
    "rooted": "theorem _root_.rooted : True := trivial -- why\n/ trivial",
    "A.B.cases": "theorem cases (n : Nat) : (match n with | 0 => True | _ + 1 => True) := by"
    " split <;> trivial\n/ split <;> trivial",
    "A.B.proofs": "theorem proofs : (⟨0, by omega⟩ : Fin 3) = ⟨0, by omega⟩ := rfl\n/ rfl",
    "A.B.S.other": "structure S where\n  a : Nat\n"
    "@[ext] theorem S.other (x y : S) (h : x.a = y.a) : x = y := by"
    " cases x; cases y; simp_all\n/ cases x; cases y; simp_all",
    "A.nota": 'end B\nnotation "⟪" x "⟫" => twice x\n@[simp]\ntheorem nota : ⟪0⟫ = 0 := rfl\n/ simp',
    "C.last": "namespace B.C\nend B.C\nend A\nnamespace C\nset_option maxHeartbeats 4000 in\n"
    "theorem last\n    (a b : Nat) -- c\n    : a + b = b + a -- ∀\n    := by omega\n/ omega",
}
SOURCE = "import Init\n\nuniverse u\ndef twice (n : Nat) : Nat := n + n\n" + "".join(
    form.rpartition("/ ")[0] for form in FORMS.values()
)


def written(folder: Path, **files: str | bytes) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.lean"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def proof_of(name: str) -> str:
    return FORMS[name].rpartition("/ ")[2]


def theorems(found: Indexed) -> dict[str, Theorem]:
    content = json.loads(json.dumps({"theorems": found.entries, "files": found.files}))
    return {theorem.name: theorem for theorem in parse_index("here", "here", content).theorems}


async def test_every_form_starts_in_its_place(tmp_path: Path, lean_pool: Pool) -> None:
    found = await file_entries(lean_pool, [written(tmp_path, forms=SOURCE)], tmp_path)
    assert (found.problems, found.left_out) == ((), ())
    assert list(theorems(found)) == list(FORMS)
    for name, theorem in theorems(found).items():
        async with open_session(lean_pool) as session:
            outcome = await session.apply(await session.start(theorem), proof_of(name))
            assert isinstance(outcome, Closed), (name, outcome)
            assert (await session.certify(outcome.state)).ok, name


@pytest.mark.timeout(900)
@pytest.mark.parametrize("one_in", [10, pytest.param(1, marks=pytest.mark.soak)])
async def test_every_form_is_judged_in_its_place(tmp_path: Path, lean_pool: Pool, one_in: int) -> None:
    found = await file_entries(lean_pool, [written(tmp_path, forms=SOURCE)], tmp_path)
    for name, theorem in list(theorems(found).items())[::one_in]:
        verdict = await judge_proof(lean_pool, theorem.statement, [proof_of(name)])
        assert (verdict.theorem, verdict.reason) == (name, "")


async def test_carriage_returns_make_no_difference(tmp_path: Path, lean_pool: Pool) -> None:
    plain, dos = tmp_path / "a", tmp_path / "b"
    first = await file_entries(lean_pool, [written(plain, f=SOURCE)], plain)
    second = await file_entries(lean_pool, [written(dos, f=SOURCE.replace("\n", "\r\n"))], dos)
    assert first == second


async def test_what_an_entry_says(tmp_path: Path, lean_pool: Pool) -> None:
    source = "/-- d -/ @[simp]\ntheorem a : 1 = 1 := rfl\n\ntheorem b (n : Nat) : n = n := by sorry\n"
    found = await file_entries(lean_pool, [written(tmp_path, x__f=source)], tmp_path)
    a, b = found.entries
    assert a == {
        "name": "a", "statement": "theorem a : 1 = 1", "file_path": "x/f.lean", "imports": [],
        "context": {"file": "x/f.lean", "length": 0}, "difficulty": 23, "has_sorry": False,
    }  # fmt: skip
    assert b["has_sorry"]
    assert found.files["x/f.lean"][: b["context"]["length"]] == source[: source.index("theorem b")]


async def test_what_a_proof_may_use(tmp_path: Path, lean_pool: Pool) -> None:
    """Earlier theorems, if they are proved; neither itself nor later ones."""
    source = (
        "theorem a (p : Prop) (h : p) : p := h\ntheorem z (p : Prop) (h : p) : p := by sorry\n"
        "@[simp] theorem b (p : Prop) (h : p) : p := h\ntheorem c (p : Prop) (h : p) : p := h\n"
    )
    found = await file_entries(lean_pool, [written(tmp_path, f=source)], tmp_path)
    async with open_session(lean_pool) as session:
        state = await session.start(theorems(found)["b"])
        outcomes = await session.apply_batch(state, [f"exact {name} p h" for name in "azbc"])
    assert [type(outcome) for outcome in outcomes] == [Closed, Rejected, Rejected, Rejected]
    assert isinstance(outcomes[1], Rejected)
    assert outcomes[1].kind == "sorry"


async def test_nothing_is_dropped_silently(tmp_path: Path, lean_pool: Pool) -> None:
    folder = written(
        tmp_path / "all",
        a="theorem a : 1 = 2 := rfl\ntheorem b : 1 = 1 := by rfl\nlemma c : 1 = 1 := rfl\n"
        "def x : Nat := 1 +\ntheorem d : 2 = 2 := rfl\n",
        b="theorem b : 1 = 1 := rfl\ntheorem b : 1 = 1 := rfl\n",
        imports="import Init\nimport Mathlib\ntheorem e : 1 = 1 := rfl\n",
        latin="-- ü".encode("latin-1"),
        quiet="private theorem p : 1 = 1 := rfl\nmutual\ntheorem q : True := trivial\nend\n",
        build__f="theorem no : 1 = 1 := rfl",
    )
    (folder / ".lake").mkdir()
    (folder / ".lake" / "g.lean").write_text("theorem no : 1 = 1 := rfl")
    (folder / "broken.lean").symlink_to(folder / "nowhere")
    missing = tmp_path / "missing"
    found = await file_entries(lean_pool, [folder, missing, folder / "a.lean"], folder)
    assert [(e["name"], e["error"].split("\n")[0] if "error" in e else "") for e in found.entries] == [
        ("a", ""),
        ("b", ""),
        ("c", "3:0: unexpected identifier; expected command"),
        (
            "d",
            "it stands behind a command with errors: 4:18: unexpected token 'theorem'; expected term",
        ),
        ("b (b.lean)", ""),
        ("b (b.lean) 2", "2:8: `b` has already been declared"),
        ("broken.lean", "cannot be read: No such file or directory"),
        ("imports.lean", "it imports Mathlib, which is not loaded"),
        ("latin.lean", "is not UTF-8 text, from byte 3 on"),
        (missing.as_posix(), "cannot be read: No such file or directory"),
    ]
    assert any("unexpected token 'theorem'; expected term" in line for line in found.problems)
    assert found.left_out == ("quiet.lean: p is private", "quiet.lean: q is in a `mutual` block")
    unread = [t.name for t in theorems(found).values() if isinstance(t.statement, Unreadable)]
    assert len(unread) == 7
    assert found.entries[0]["proof_error"] == found.problems[0].removeprefix("a.lean: ")
    async with open_session(lean_pool) as session:
        await session.start(theorems(found)["a"])  # only its proof is wrong
        await session.start(theorems(found)["b"])  # what is bad before it is not in its context


OVERSHADOWED = {
    "a definition": "def y : Nat := true\ntheorem t : y = y := rfl",
    "a variable": 'variable (n : Int) (h : no "such" n)\ntheorem t : n - 1 + 1 = n := by omega',
    "a theorem's name": "theorem y : 1 = 2 := rfl\ntheorem t : y = y := rfl",
    "a type that breaks off": "theorem t (n : Nat) : 0 ≤ n < n := by omega",
}


@pytest.mark.parametrize("source", OVERSHADOWED.values(), ids=OVERSHADOWED.keys())
async def test_a_statement_that_would_say_something_else_is_an_error(
    tmp_path: Path, lean_pool: Pool, source: str
) -> None:
    """Without what is bad before it, or as far as it parses, Lean takes it, as something else."""
    found = await file_entries(lean_pool, [written(tmp_path, f=source)], tmp_path)
    assert isinstance(theorems(found)["t"].statement, Unreadable)


async def test_a_theorem_that_lean_does_not_tell_of_is_named(tmp_path: Path, lean_pool: Pool) -> None:
    source = "#guard_msgs in theorem t : 1 = 1 := rfl\ntheorem u : 1 = 1 := rfl"
    found = await file_entries(lean_pool, [written(tmp_path, f=source)], tmp_path)
    assert list(theorems(found)) == ["u"]
    assert found.left_out == ("f.lean: t: Lean names no theorem where it stands",)


async def test_a_folder_without_sources(tmp_path: Path, lean_pool: Pool) -> None:
    found = await file_entries(lean_pool, [tmp_path], tmp_path.parent)
    assert found.problems == (f"{tmp_path.name}: there is no .lean file in it",)
    assert [entry["name"] for entry in found.entries] == [tmp_path.name]

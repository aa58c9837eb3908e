"""Tiny files in the true schemas of published data sets, written by the tests themselves."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = Sequence[dict[str, Any]]


def tactic(text: str, before: str, after: str = "no goals") -> dict[str, Any]:
    premise = {"full_name": "a", "def_path": "A.lean", "def_pos": [1, 2], "def_end_pos": [1, 3]}
    return {
        "tactic": text, "annotated_tactic": [f"<a>{text}</a>", [premise]],
        "state_before": before, "state_after": after,
    }  # fmt: skip


def dojo(name: str, *tactics: dict[str, Any], file_path: str = "Mathlib/A.lean") -> dict[str, Any]:
    return {
        "url": "https://github.com/leanprover-community/mathlib4", "commit": "29dcec0",
        "file_path": file_path, "full_name": name, "start": [1, 1], "end": [3, 9],
        "traced_tactics": list(tactics),
    }  # fmt: skip


LEANDOJO = [
    dojo("Nat.a", tactic("intro n", "⊢ ∀ n, P n", "n : ℕ\n⊢ P n"), tactic("simp", "n : ℕ\n⊢ P n")),
    dojo("Nat.term"),
    dojo("Nat.a", tactic("rfl", "⊢ 1 = 1"), file_path="Mathlib/B.lean"),
]
LEAN_GITHUB = [
    {
        "url": url, "commit": "c0", "file_path": "A.lean", "full_name": name, "start": "(1, 0)",
        "end": "(2, 5)", "tactic": text, "state_before": before, "state_after": "no goals",
    }
    for url, name, text, before in (
        ("https://github.com/o/a", "foo", "constructor", "⊢ a ∧ b"),
        ("https://github.com/o/a", "foo", "simp", "⊢ a"),
        ("https://github.com/o/b", "foo", "omega", "⊢ 1 < 2"),
        ("https://github.com/o/a", "foo", "exact h", "⊢ b"),
    )
]  # fmt: skip
WORKBOOK_STEPS = [
    {
        "id": name, "status": status, "tactic": text, "state_before": before, "state_after": "no goals",
        "natural_language_statement": "Prove it.", "answer": "", "formal_statement": f"theorem {name}",
    }
    for name, status, text, before in (
        ("lean_workbook_1", "proved", "intro x", "⊢ ∀ x, x = x"),
        ("lean_workbook_1", "proved", "rfl", "x : ℝ\n⊢ x = x"),
        ("lean_workbook_1", "disproved", "simp", "⊢ ¬ ∀ x, x = x"),
    )
]  # fmt: skip
WORKBOOK = [
    {
        "natural_language_statement": "Show $a \\ge 0$.", "answer": "", "tags": ["inequality"],
        "formal_statement": f"theorem {name} (a : ℝ) : a ^ 2 ≥ 0  :=  by sorry", "split": split,
        "proof": proofs,
    }
    for name, split, proofs in (
        ("lean_workbook_0", "lean_workbook", []),
        ("lean_workbook_plus_1", "lean_workbook_plus", ["nlinarith [sq_nonneg a]", "by\n  positivity"]),
    )
]  # fmt: skip
GOEDEL = [
    {
        "problem_id": "lean_workbook_10",
        "full_proof": "import Mathlib\nimport Aesop\nopen Real\n\ntheorem lean_workbook_10 (a : ℝ)\n"
        "    (h : let b := a; b = 1) : a = 1  :=  by\n  have c := 2\n  simpa using h\n",
    },
    {"problem_id": "lean_workbook_11", "full_proof": "theorem lean_workbook_11 : 1 = 1 := rfl"},
]


def numina(name: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"uuid-{name}", "problem": "Prove it.", "question_type": "proof", "answer": "proof",
        "author": "human", "formal_statement": f"import Mathlib\n\ntheorem {name} : 1 = 1 := by sorry",
        "formal_ground_truth": None, "ground_truth_type": None, "formal_proof": None,
        "rl_data": {"n_correct_proofs": 0, "n_proofs": 2, "win_rate": 0.0}, "source": "olympiads",
        "problem_type": "Algebra", "exam": None, **more,
    }  # fmt: skip


def _proof(name: str, text: str) -> str:
    return f"import Mathlib\n\nlemma helper : 2 = 2 := rfl\n\ntheorem {name} : 1 = 1 := by\n  {text}"


NUMINA = [
    numina("a1", formal_ground_truth=_proof("a1", "rfl"), ground_truth_type="complete",
           formal_proof=_proof("a1", "norm_num")),
    numina("a2", formal_ground_truth=_proof("a2", "sorry"), ground_truth_type="with_sorry"),
    numina("a3", ground_truth_type="statement", formal_ground_truth="theorem a3 : 1 = 1 := by sorry"),
    numina("a4", author="autoformalizer", formal_proof=""),
]  # fmt: skip
STEPS = [{"state": "⊢ 1 = 1", "tactic": "rfl", "theorem": "t", "depth": 0}]
PROOFS = [{"theorem": "t", "statement": "theorem t : 1 = 1", "proof": "rfl"}]
# A file of each, as it is published.
FILES: dict[str, tuple[str, Rows]] = {
    "leandojo": ("train.json", LEANDOJO),
    "lean-github": ("lean-github.parquet", LEAN_GITHUB),
    "lean-workbook-steps": ("wkbk_1009.parquet", WORKBOOK_STEPS),
    "lean-workbook": ("lean_workbook.json", WORKBOOK),
    "goedel-workbook": ("train-00000-of-00001.parquet", GOEDEL),
    "numinamath-lean": ("train-00000-of-00001.parquet", NUMINA),
    "steps": ("train.jsonl", STEPS),
    "proofs": ("proofs.jsonl", PROOFS),
}


def write(path: Path, rows: Rows) -> Path:
    """The rows in the format that the name asks for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=2)
        return path
    name = path.name.removesuffix(".gz")
    text = json.dumps(rows) if name.endswith(".json") else "".join(f"{json.dumps(r)}\n" for r in rows)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def published(folder: Path, source: str) -> Path:
    name, rows = FILES[source]
    return write(folder / name, rows)


def archive(path: Path, members: Mapping[str, Rows]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, rows in members.items():
            data = json.dumps(rows).encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, BytesIO(data))
    return path

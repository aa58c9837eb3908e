"""Benchmarks as their repositories hold them, made on the spot."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from burnqed.data.benchmarks import (
    Benchmark,
    Repository,
)
from burnqed.data.index import TheoremIndex

ABSENT = "0123456789abcdef0123456789abcdef01234567"
HEADER = "set_option maxHeartbeats 0\n\nopen BigOperators Real Nat Topology Rat"
AIME = "theorem aime_1983_p9 (x : ℝ) (h₀ : 0 < x ∧ x < Real.pi) :\n  12 ≤ (9 * x + 4) / x"
ALGEBRA = "theorem mathd_algebra_44 (s t : ℝ) (h₀ : s = 9 - 2 * t) : s = 1 ∧ t = 4"
FILES = {
    "MiniF2F/Test/aime_1983_p9.lean": f"import Mathlib\n\n{HEADER}\n\n{AIME} := by sorry",
    "MiniF2F/Test/mathd_algebra_44.lean": f"import Mathlib\n\n{HEADER}\n\n{ALGEBRA} := by\n  sorry\n",
    "MiniF2F/Valid/other.lean": "import Mathlib\n\ntheorem other : 1 = 1 := by sorry\n",
    "MiniF2F/Test/README.md": "A theorem a file. Each theorem is left open.\n",
    "MiniF2F/Test.lean": "import MiniF2F.Test.aime_1983_p9\n",
}
LINES = "".join(
    json.dumps(
        {
            "name": name,
            "split": split,
            "informal_prefix": "/-- Show that it is so. -/\n",
            "formal_statement": f"theorem {name} (n : ℕ) : n = n :=",
            "header": "import Mathlib\n\nopen Nat\n\n",
        }
    )
    + "\n"
    for name, split in [("a", "valid"), ("b", "test"), ("b", "test"), ("c", "valid")]
)


def git(repository: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    command = ["git", "-C", str(repository), *who, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def committed(repository: Path, files: Mapping[str, str]) -> str:
    """A commit with these files on top of what is there, and its name."""
    put(repository, files)
    if not (repository / ".git").is_dir():
        git(repository, "init", "--quiet")
        git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "the files")
    return git(repository, "rev-parse", "HEAD")


def of_lean_files(repository: Path, commit: str, path: str = "MiniF2F/Test") -> Benchmark:
    return Benchmark("mini", "a test", Repository(str(repository), commit, path, "lean"), "MIT")


def of_lines(repository: Path, commit: str, split: Literal["valid", "test", ""] = "test") -> Benchmark:
    origin = Repository(str(repository), commit, "datasets/lines.jsonl", "jsonl", split)
    return Benchmark("lines", "a test", origin, "MIT")


def names(index: TheoremIndex) -> list[str]:
    return [theorem.name for theorem in index.theorems]

"""Steps on disk, as tests plant them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Plain = dict[str, Any]


def row(theorem: str, depth: int = 0, state: str = "", tactic: str = "", **more: Any) -> Plain:
    """A step; by itself its state and tactic are like those of no other."""
    return {
        "state": state or f"x : Nat\n⊢ f_{theorem} x = {depth}",
        "tactic": tactic or f"exact lemma_{theorem}_{depth} x",
        "theorem": theorem,
        "depth": depth,
        **more,
    }


def proof_of(theorem: str, steps: int) -> list[Plain]:
    return [row(theorem, depth) for depth in range(steps)]


def write_rows(path: Path, rows: Iterable[Plain | str]) -> Path:
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[Plain]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_index(path: Path, statements: dict[str, str]) -> Path:
    entries = [{"name": name, "statement": text} for name, text in statements.items()]
    path.write_text(json.dumps({"theorems": entries}), encoding="utf-8")
    return path

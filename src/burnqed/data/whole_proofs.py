"""Whole proofs, which are texts, as steps: each becomes a Lean file, and the tracer does the rest.

    OUT/lean/000000-NAME.lean   the proofs, one to a file
    OUT/parts, OUT/report.json  a trace as of any Lean files; steps are filed under the proofs' names

What does not compile on this Lean costs only itself, and is listed by what is against it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError, StatementError
from burnqed.core.files import publish
from burnqed.data.cheats import cheats
from burnqed.data.contamination import Held
from burnqed.data.drift import Scene, Sorter
from burnqed.data.migration import CHEAT
from burnqed.data.replay import STRICT
from burnqed.data.sources.places import Places
from burnqed.data.spill import key_of
from burnqed.data.steps import WholeProof
from burnqed.data.trace import ERRORS, trace_files
from burnqed.data.trace_leans import SharedLeans
from burnqed.data.trace_report import report
from burnqed.data.trace_store import (
    REPORT,
    FileTrace,
    TraceRow,
    TraceWriter,
    open_trace,
    read_files,
)
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations, split_header

LEAN = "lean"
NO_PROOF, AGAIN, NO_THEOREM = "no proof", "another proof of the same statement", "no theorem"
_EXAMPLES = 5
_UNSAFE = re.compile(r"[^\w.-]")


@dataclass(frozen=True, slots=True)
class LaidOut:
    """The files of proofs, the name of the theorem that each is about, and what has none, by why."""

    files: Mapping[Path, str]
    imports: tuple[str, ...]
    left_out: Mapping[str, int]


def lay_out(proofs: Iterable[WholeProof], folder: Path, held: Held | None = None) -> LaidOut:
    """Write each proof as a Lean file. What is there already, as it should be, is left alone.

    Of two proofs of one statement the first is taken: under two names they could be trained on and
    tested on. Theorems of `held` are left out.
    """
    files: dict[Path, str] = {}
    imports: dict[str, None] = {}
    left_out: Counter[str] = Counter()
    seen: set[int] = set()
    places = Places()
    folder.mkdir(parents=True, exist_ok=True)
    for number, proof in enumerate(proofs):
        why = _against(proof, seen, held or Held())
        if why:
            left_out[why] += 1
            continue
        seen.add(key_of(proof.context, proof.statement))
        name = places.name(number, proof.theorem)
        path = folder / f"{number:06d}-{_UNSAFE.sub('_', name)[:80]}.lean"
        modules, text = _text(proof)
        if not path.is_file() or path.read_bytes() != text.encode():
            publish(path, text)
        files[path] = name
        imports |= dict.fromkeys(modules)
    return LaidOut(files, tuple(imports), dict(left_out))


def refuse_nothing(laid: LaidOut) -> None:
    """Nothing to trace is a mistake where it was asked for."""
    if not laid.files:
        said = ", ".join(f"{why} {count}" for why, count in laid.left_out.items()) or "it is empty"
        raise InputError(f"there is no whole proof to trace: {said}")


def _against(proof: WholeProof, seen: set[int], held: Held) -> str:
    if not proof.proof.strip():
        return NO_PROOF
    if cheats(proof.proof):
        return CHEAT
    named = declarations(proof.statement)
    if not named:
        return NO_THEOREM
    if proof.theorem in held.names or named[-1].name in held.names:
        return "held out by name"
    if held.has_statement(proof.statement):
        return "held out by statement"
    return AGAIN if key_of(proof.context, proof.statement) in seen else ""


def _text(proof: WholeProof) -> tuple[tuple[str, ...], str]:
    """A Lean file with the modules that it imports. Names that nobody declares are no variables."""
    try:
        header = split_header(proof.context)
        modules, context = header.imports, header.body.strip()
    except StatementError:  # Lean will say what is wrong with it
        modules, context = (), proof.context
    imports = "".join(f"import {module}\n" for module in modules)
    between = " :=\n  " if "--" in proof.statement.rsplit("\n", 1)[-1] else " := "
    return modules, f"{imports}{STRICT}{context}\n\n{proof.statement}{between}{proof.proof.strip()}\n"


async def trace_proofs(
    out: Path,
    laid: LaidOut,
    pool: Pool,
    judges: Pool | None,
    sorter: Sorter,
    seconds: float,
    warn: Callable[[str], None],
    on_file: Callable[[FileTrace], None],
    stop: asyncio.Event,
) -> dict[str, Any] | None:
    """Trace what is not traced yet, and give the report that is written; None if stopped."""
    with open_trace(out, warn) as writer:
        sources = [(path, "") for path in laid.files]
        named = _Named(writer, {path.stem: name for path, name in laid.files.items()})
        await trace_files(SharedLeans(pool, judges), sources, seconds, named, on_file, stop)
    if stop.is_set():
        return None
    files = read_files(out, warn) if laid.files else []
    told = report(files) | {
        "proofs": {
            "in": len(laid.files) + sum(laid.left_out.values()),
            "left_out": dict(laid.left_out),
            "compile": sum(not file.problem for file in files),
        },
        "does_not_compile": await _by_kind(files, laid, sorter),
    }
    publish(out / REPORT, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    return told


class _Named(TraceWriter):
    """Another writer, with the proofs' own names for their theorems: the last one of each file."""

    def __init__(self, writer: TraceWriter, names: Mapping[str, str]) -> None:
        self._writer, self._names = writer, names
        self.earlier = writer.earlier

    def add(self, record: FileTrace, rows: Iterable[TraceRow]) -> None:
        name = self._names[Path(record.path).stem]
        if record.theorems:
            *before, last = record.theorems
            record = replace(record, theorems=(*before, replace(last, name=name)))
            rows = [replace(row, theorem=name) if row.theorem == last.name else row for row in rows]
        self._writer.add(record, rows)


async def _by_kind(
    files: Sequence[FileTrace], laid: LaidOut, sorter: Sorter
) -> dict[str, dict[str, Any]]:
    """The proofs that are not traced, by the kind of what is against them."""

    async def no_namespace_helps(_: str) -> str:
        return "it was not tried"

    names = {path.stem: (path, name) for path, name in laid.files.items()}
    found: dict[str, list[dict[str, str]]] = {}
    for file in files:
        if not file.problem:
            continue
        path, name = names[Path(file.path).stem]
        kind = file.problem
        if kind == ERRORS:
            scene = Scene(path.read_text(encoding="utf-8"))
            kind = (await sorter.sort(file.detail, scene, no_namespace_helps)).category
        found.setdefault(kind, []).append({"theorem": name, "file": file.path, "why": file.detail})
    return {
        kind: {"proofs": len(some), "examples": some[:_EXAMPLES]}
        for kind, some in sorted(found.items())
    }

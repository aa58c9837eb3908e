"""What `prove` prints: Lean on stdout, words or a table on stderr, or JSON; and its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.live import SearchView
from burnqed.cli.rewriting import rewrite
from burnqed.core import screen
from burnqed.core.errors import BurnQedError
from burnqed.evaluation.file import FileResult, HoleResult
from burnqed.evaluation.prove import Attempt, lean_source
from burnqed.lean.refute import Refutation
from burnqed.lean.verdict import Verdict
from burnqed.prover.assembly import Assembled
from burnqed.prover.suggesting import suggestions
from burnqed.prover.task import Task

Json = Mapping[str, Any]

# --------------------------------------------------------------------- one statement


def end_statement(
    attempt: Attempt, prover: Assembled, view: SearchView, as_json: bool, more: Json
) -> int:
    """`more` goes into the JSON."""
    if as_json:
        typer.echo(json.dumps({**_attempt_json(attempt, prover), **more}, ensure_ascii=False))
    elif attempt.proof is not None:
        screen.write_exactly(lean_source(attempt.proof))
    if not as_json:
        print(_sentence(attempt, view), file=sys.stderr)
    return _exit_code(attempt.outcome, attempt.reason)


def _exit_code(outcome: str, reason: str) -> int:
    match outcome, reason:
        case "proved" | "found", _:
            return 0
        case "error", "statement":
            return 2
        case "error", reason if reason != "refused":
            return 3
        case _:
            return 1


def _sentence(attempt: Attempt, view: SearchView) -> str:
    searched = attempt.searched
    spent = f"{searched.nodes} nodes, {searched.seconds:.1f} s" if searched else ""
    match attempt.outcome:
        case "proved":
            assert attempt.proof is not None
            verdict = attempt.proof.verdict
            axioms = verdict.rests_on
            if verdict.axioms is None:
                axioms += " (library proofs not inspected)"
            return f"proved: {spent}; judged in {attempt.judge_seconds:.1f} s; axioms: {axioms}"
        case "exhausted":
            return f"not found: the budget of {attempt.reason} ran out ({spent})\n{view.learnt()}"
        case "false":
            assert attempt.refutation is not None
            return f"false: {attempt.detail}\nthis proves its negation: {attempt.refutation.tactic}"
        case _:
            return f"error ({attempt.reason}): {attempt.detail}"


def _attempt_json(attempt: Attempt, prover: Assembled) -> dict[str, Any]:
    searched, proof = attempt.searched, attempt.proof
    return {
        "theorem": attempt.theorem.name,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
        "detail": attempt.detail,
        "proof": lean_source(proof) if proof else None,
        "tactics": list(proof.tactics) if proof else [],
        **_axioms(proof.verdict if proof else None),
        **_refuted(attempt.refutation),
        "nodes": searched.nodes if searched else 0,
        "states": len(searched.tree.nodes) if searched else 0,
        "seconds": searched.seconds if searched else 0.0,
        "lean_seconds": searched.lean_seconds if searched else 0.0,
        "judge_seconds": attempt.judge_seconds,
        **_machinery(prover),
    }


def _axioms(verdict: Verdict | None) -> dict[str, Any]:
    """All axioms that a proof uses, null if not known, and those that were seen."""
    known = None if verdict is None else verdict.axioms
    seen = () if verdict is None else verdict.axioms_seen
    return {"axioms": known if known is None else list(known), "axioms_seen": list(seen)}


def _refuted(found: Refutation | None) -> dict[str, Any]:
    """For a false statement: values that falsify it, if any, and what proves the negation."""
    values = dict(found.values) if found else {}
    return {"counterexample": values or None, "negation_proof": found.tactic if found else None}


def _machinery(prover: Assembled) -> dict[str, Any]:
    """The policy, the model and the Lean of the search."""
    chosen = prover.policy.choice
    return {"policy": chosen.kind, "model": chosen.model, "toolchain": prover.lean.toolchain.label}


# ---------------------------------------------------------------------------- a file


def end_file(
    result: FileResult,
    task: Task,
    original: bytes | None,
    prover: Assembled,
    as_json: bool,
    more: Json,
    *,
    only: bool,
) -> int:
    """`original` is the content of the file if it is to be rewritten; `more` goes into the JSON.

    `only`: the result is about one `sorry`.
    """
    filled = task.filled(result.source)
    unwritten: BurnQedError | None = None
    if original is not None and task.path is not None and filled != task.text:
        try:
            rewrite(task.path, original, filled)
        except BurnQedError as error:
            unwritten = error
    if as_json:
        told = {**_file_json(result, filled, task.path, prover), **more}
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        if original is None or unwritten:
            screen.write_exactly(filled)
        _print_holes(result)
    if unwritten:  # after printing the proofs, so that they are not lost
        raise unwritten
    return _code_of_file(result, only)


def end_suggesting(result: FileResult, task: Task, *, only: bool) -> int:
    told = {
        "file": str(task.path) if task.path else None,
        "suggestions": suggestions(result, task.text),
    }
    typer.echo(msgspec.json.encode(told).decode())
    return _code_of_file(result, only)


def _code_of_file(result: FileResult, only: bool) -> int:
    if any(_exit_code(hole.outcome, hole.reason) == 3 for hole in result.holes):
        return 3
    return 0 if (result.fills if only else result.proved) else 1


def _file_json(result: FileResult, filled: str, path: Path | None, prover: Assembled) -> dict[str, Any]:
    return {
        "file": str(path) if path else None,
        "proved": result.proved,
        "holes": [_hole_json(hole) for hole in result.holes],
        "refused": [{"theorem": v.theorem, "reason": v.reason} for v in result.refused],
        "source": filled,
        **_machinery(prover),
    }


def _hole_json(result: HoleResult) -> dict[str, Any]:
    return {
        "line": result.hole.line,
        "column": result.hole.column,
        "declaration": result.hole.declaration,
        "goal": result.hole.goal,
        "outcome": result.outcome,
        "reason": result.reason,
        "tactics": list(result.tactics),
        "nodes": result.nodes,
        "seconds": result.seconds,
        "accepted": result.verdict is not None and result.verdict.accepted,
        "verdict": result.verdict.reason if result.verdict else "",
        **_axioms(result.verdict),
        **_refuted(result.refutation),
    }


def _print_holes(result: FileResult) -> None:
    if not result.holes:
        print("nothing was proved: no `sorry` of this file stands for a proof", file=sys.stderr)
        return
    table = tables.folding("line", "in", "outcome", "nodes", "s", "the judge on its theorem")
    for found in result.holes:
        hole, verdict = found.hole, found.verdict
        judged = "not judged" if verdict is None else verdict.reason or "accepted"
        style = {"found": "green", "false": "red"}.get(found.outcome, "yellow")
        colon = ":" if found.outcome == "false" else ""
        outcome = Text(f"{found.outcome}{colon} {found.reason}".strip(), style=style)
        place = f"{hole.line}:{hole.column}"
        table.add_row(
            Text(place), Text(hole.declaration or "example"), outcome, str(found.nodes),
            f"{found.seconds:.1f}", Text(judged.split("\n")[0][:200]),
        )  # fmt: skip
    screen.console(stderr=True).print(table)
    for verdict in result.refused:
        print(f"refused: {verdict.theorem}: {verdict.reason.splitlines()[0]}", file=sys.stderr)

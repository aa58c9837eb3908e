"""`burn-qed prove`: a statement, or the `sorry`s of a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.live import SearchView
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.rewriting import check_rewritable, rewrite
from burnqed.core import screen
from burnqed.core.errors import BurnQedError, InputError
from burnqed.evaluation.file import FileResult, HoleResult
from burnqed.evaluation.prove import Attempt, lean_source
from burnqed.lean.pool import run_sync
from burnqed.lean.refute import Refutation
from burnqed.lean.source_file import read_standard_input
from burnqed.lean.verdict import Verdict
from burnqed.prover.assembly import Assembled, assemble, modules_of
from burnqed.prover.config import Config
from burnqed.prover.task import Task, attempt, gate_of, refuse_danger, task_of

T = TypeVar("T")


@configured(Config)
def prove_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENT|FILE.lean|-",
            help="A proposition, a `theorem … : …`, a Lean file with sorrys, or - for standard input.",
        ),
    ],
    config: Config,
    write: Annotated[
        bool, typer.Option("--write", help="Rewrite FILE.lean, with the proofs that were found.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Prove a statement, or each `sorry` of a file in its place, and print the finished Lean.

    A proof is judged before it is called one: compiled as a whole, checked by the kernel of a second
    Lean that never sees its text, its axioms looked at. What is refused is not printed. A `sorry` of a
    theorem that has others still open is filled, and the table says so. The Lean goes to standard
    output, all else to stderr.

    The text's own commands may define and prove, and run no code, as in `check`: with --trust they may,
    and then a verdict is worth what the text is.

    Tactics come from rules and from lemmas of the library, in the order that a ranker has learnt; with
    imports of other libraries these are read first, once. --policy portfolio is the rules alone.

    What small values or automation refute is not searched for long: "false: n = 5" is said when the
    kernel has accepted a proof of the negation.

    Examples:

        burn-qed prove '∀ n : Nat, 2 ∣ n * (n + 1)'

        burn-qed prove Draft.lean --nodes 1000 --write

    With --write a file that cannot be rewritten is refused before the search; if writing fails all the
    same, the proofs are printed.

    Exit codes: 0 proved, 1 false or not found within the budget, 2 bad input, 3 Lean failed, 130
    interrupted.
    """
    task = _read(what)
    if write and (task.path is None or not task.has_holes):
        raise InputError("--write needs a file with a `sorry` to rewrite")
    refuse_danger(task, trust=config.trust)
    original = check_rewritable(task.path) if write and task.path is not None else None
    if not task.has_holes:
        _ = task.theorem  # it refuses what is no statement
    prover = assemble(config, modules_of(config, task.source.imports), config.nodes, tables.warn)
    view = SearchView()
    found = _watched(view, _attempt(prover, config, task, view))
    if isinstance(found, FileResult):
        raise typer.Exit(_end_file(found, task, original, prover, as_json))
    raise typer.Exit(_end_statement(found, prover, view, as_json))


def _read(what: str) -> Task:
    if what == "-":
        return Task(read_standard_input())
    # `Path.exists` raises for a statement that is longer than the name of a file can be.
    is_file = what.endswith(".lean") or os.path.exists(what)  # noqa: PTH110
    return task_of(Path(what) if is_file else what)


async def _attempt(
    prover: Assembled, config: Config, task: Task, view: SearchView
) -> Attempt | FileResult:
    workers = config.workers if task.has_holes else 1
    async with prover.opened(gate_of(trust=config.trust), workers) as opened:
        return await attempt(opened, task, config.seed, view)


def _watched(view: SearchView, work: Coroutine[Any, Any, T]) -> T:
    """Run with the live view on; Ctrl-C says what was learnt."""
    try:
        with view.shown():
            return run_sync(work)
    except KeyboardInterrupt:
        print(view.learnt() or "stopped before the search began", file=sys.stderr)
        raise


# --------------------------------------------------------------------- one statement


def _end_statement(attempt: Attempt, prover: Assembled, view: SearchView, as_json: bool) -> int:
    if as_json:
        typer.echo(json.dumps(_attempt_json(attempt, prover), ensure_ascii=False))
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
            return f"not found: the budget of {attempt.reason} is spent ({spent})\n{view.learnt()}"
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
    """All that a proof rests on, null where that is not known, and those that were seen."""
    known = None if verdict is None else verdict.axioms
    seen = () if verdict is None else verdict.axioms_seen
    return {"axioms": known if known is None else list(known), "axioms_seen": list(seen)}


def _refuted(found: Refutation | None) -> dict[str, Any]:
    """Of what is false: values at which it is, if there are any, and what proves the negation."""
    values = dict(found.values) if found else {}
    return {"counterexample": values or None, "negation_proof": found.tactic if found else None}


def _machinery(prover: Assembled) -> dict[str, Any]:
    """What looked for the proof."""
    chosen = prover.policy.choice
    return {"policy": chosen.kind, "model": chosen.model, "toolchain": prover.lean.toolchain.label}


# ---------------------------------------------------------------------------- a file


def _end_file(
    result: FileResult, task: Task, original: bytes | None, prover: Assembled, as_json: bool
) -> int:
    """`original` is what the file holds, if it is to be rewritten."""
    filled = task.filled(result.source)
    unwritten: BurnQedError | None = None
    if original is not None and task.path is not None and filled != task.text:
        try:
            rewrite(task.path, original, filled)
        except BurnQedError as error:
            unwritten = error
    if as_json:
        typer.echo(json.dumps(_file_json(result, filled, task.path, prover), ensure_ascii=False))
    else:
        if original is None or unwritten:
            screen.write_exactly(filled)
        _print_holes(result)
    if unwritten:  # after the proofs: they were not found to be lost
        raise unwritten
    codes = [_exit_code(h.outcome, h.reason) for h in result.holes]
    if 3 in codes:
        return 3
    return 0 if result.proved else 1


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
        said = "not judged" if verdict is None else verdict.reason or "accepted"
        style = {"found": "green", "false": "red"}.get(found.outcome, "yellow")
        colon = ":" if found.outcome == "false" else ""
        outcome = Text(f"{found.outcome}{colon} {found.reason}".strip(), style=style)
        place = f"{hole.line}:{hole.column}"
        table.add_row(
            Text(place), Text(hole.declaration or "example"), outcome, str(found.nodes),
            f"{found.seconds:.1f}", Text(said.split("\n")[0][:200]),
        )  # fmt: skip
    screen.console(stderr=True).print(table)
    for verdict in result.refused:
        print(f"refused: {verdict.theorem}: {verdict.reason.splitlines()[0]}", file=sys.stderr)

"""`burn-qed check`: the judge on a file."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from burnqed.cli import compose, tables
from burnqed.core.errors import InputError
from burnqed.lean import judge, statement
from burnqed.lean.embedded.snapshot import WHOLE
from burnqed.lean.mathlib_words import mathlib_hint
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.process import Limits
from burnqed.lean.source_file import read_source
from burnqed.lean.strangers import forbidden_import
from burnqed.lean.verdict import Verdict

MEMORY_BYTES = 8 * 2**30
SHOWN = 10  # errors beside the verdicts


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE.lean", help="Lean source with theorems.")],
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="STATEMENT.lean",
            help="Trusted source whose theorems end in sorry: FILE must prove exactly those.",
        ),
    ] = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="The whole time, but for setting Lean up the first time.")
    ] = judge.JUDGE_SECONDS,
    as_json: compose.JsonOption = False,
) -> None:
    """Judge the theorems of a file: which are proved, and what do they rest on?

    A theorem is accepted when its text says nothing forbidden, it compiles in a fresh Lean, the
    kernel accepts it and every declaration it needs again, its axioms are among propext,
    Classical.choice and Quot.sound, and (with --against) it states what the trusted file states.

    Verdicts are about theorems. A file with an error elsewhere, in a definition or an example, may have
    all its theorems accepted; its errors are told as well, and it does not exit with 0. Places are
    LINE:COLUMN as Lean counts them: lines from 1, columns from 0.

    Exit codes: 0 all accepted and the file compiles, 1 something refused or an error, 2 bad input,
    3 Lean could not be asked, or had no verdict within --seconds.
    """
    begun = time.monotonic()
    source, reference = _source(file), _source(against) if against else None
    unfit = forbidden_import(source.imports, reference.imports if reference else None)
    # Init comes unasked, as in any Lean file. The reference, if any, says what else.
    modules = ("Init", *(source.imports if reference is None else reference.imports))
    wanted = () if unfit else tuple(dict.fromkeys(modules))
    found, spec = compose.lean(toolchain, project, wanted, seconds=seconds)
    if WHOLE.issuperset(wanted):
        begun = time.monotonic()  # what Lean itself had to be set up is nothing of this file's

    async def work() -> judge.FileVerdict:
        if unfit:
            return judge.FileVerdict(judge.refuse_all(source.body, unfit))
        async with Pool(spec, 1, Limits(memory_bytes=MEMORY_BYTES)) as pool:
            trusted = reference.body if reference else None
            left = seconds - (time.monotonic() - begun)
            return await judge.examine_file(pool, source.body, trusted, left)

    judged = run_sync(work())
    if not judged.verdicts:
        raise InputError(f"{file} has no theorem", hint="the judge looks at `theorem` and `lemma`")
    fine = not judged.errors and all(verdict.accepted for verdict in judged.verdicts)
    hint = mathlib_hint(source.body, not fine, wanted)
    if as_json:
        typer.echo(json.dumps(_json(file, found.label, judged, hint), ensure_ascii=False))
    else:
        _print(judged.verdicts)
        _warn(judged, hint)
    if not fine:
        raise typer.Exit(1)


def _source(path: Path) -> statement.Source:
    return statement.split_header(read_source(path).replace("\r\n", "\n"))  # as Lean reads it


def _print(verdicts: list[Verdict]) -> None:
    table = tables.folding("theorem", "verdict", "axioms", "why", "s")
    if any(verdict.accepted and verdict.axioms is None for verdict in verdicts):
        table.caption = "not known, at least: this Lean has no proofs of library theorems to look into"
    for verdict in verdicts:
        style = "green" if verdict.accepted else "red"
        word = Text("accepted" if verdict.accepted else "refused", style=style)
        axioms = verdict.rests_on if verdict.accepted or verdict.axioms_seen else "-"
        reason = Text(verdict.reason.strip().split("\n\n")[0][:400])
        table.add_row(Text(verdict.theorem), word, axioms, reason, f"{verdict.seconds:.1f}")
    tables.console().print(table)


def _json(file: Path, toolchain: str, judged: judge.FileVerdict, hint: str) -> dict[str, Any]:
    rows = [{k: v for k, v in asdict(one).items() if k != "source"} for one in judged.verdicts]
    errors = [{"line": e.line, "column": e.column, "message": e.text} for e in judged.errors]
    told = {"file": str(file), "toolchain": toolchain, "theorems": rows}
    return {**told, "errors": errors, "hint": hint}


def _warn(judged: judge.FileVerdict, hint: str) -> None:
    """Errors of the file that no verdict has told, and what may be behind them."""
    said = " ".join(verdict.reason for verdict in judged.verdicts)
    told = {error.command for error in judged.errors if error.said in said}
    untold = [error for error in judged.errors if error.command not in told]
    for error in untold[:SHOWN]:
        tables.warn(f"the file does not compile: {error.said[:400]}")
    if len(untold) > SHOWN:
        tables.warn(f"and {len(untold) - SHOWN} more errors; --json has all of them")
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)

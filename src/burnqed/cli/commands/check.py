"""`burn-qed check`: the judge on a file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from burnqed.cli import compose, tables
from burnqed.core.errors import InputError
from burnqed.lean import judge, statement
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.process import Limits

MEMORY_BYTES = 8 * 2**30


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
    seconds: Annotated[float, typer.Option(min=1, help="Time limit for Lean.")] = judge.JUDGE_SECONDS,
    as_json: compose.JsonOption = False,
) -> None:
    """Judge the theorems of a file: which are proved, and what do they rest on?

    A theorem is accepted when its text says nothing forbidden, it compiles in a fresh Lean, the
    kernel accepts it and every declaration it needs again, its axioms are among propext,
    Classical.choice and Quot.sound, and (with --against) it states what the trusted file states.

    Exit codes: 0 all accepted, 1 something refused, 2 bad input, 3 Lean could not be asked.
    """
    source = statement.split_header(_read(file))
    reference = statement.split_header(_read(against)) if against else None
    unfit = judge.forbidden_import(source.imports, reference.imports if reference else None)
    # Init comes unasked, as in any Lean file. The reference, if any, says what else.
    modules = ("Init", *(source.imports if reference is None else reference.imports))
    found, spec = compose.lean(toolchain, project, () if unfit else tuple(dict.fromkeys(modules)))

    async def work() -> list[judge.Verdict]:
        if unfit:
            return judge.refuse_all(source.body, unfit)
        async with Pool(spec, 1, Limits(memory_bytes=MEMORY_BYTES)) as pool:
            trusted = reference.body if reference else None
            return await judge.judge_file(pool, source.body, trusted, seconds=seconds)

    verdicts = run_sync(work())
    if not verdicts:
        raise InputError(f"{file} has no theorem", hint="the judge looks at `theorem` and `lemma`")
    if as_json:
        rows = [{k: v for k, v in asdict(verdict).items() if k != "source"} for verdict in verdicts]
        report = {"file": str(file), "toolchain": found.label, "theorems": rows}
        typer.echo(json.dumps(report, ensure_ascii=False))
    else:
        _print(verdicts, found.kind == "embedded")
    if not all(verdict.accepted for verdict in verdicts):
        raise typer.Exit(1)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def _print(verdicts: list[judge.Verdict], embedded: bool) -> None:
    table = tables.folding("theorem", "verdict", "axioms", "why", "s")
    if embedded:
        table.caption = "axioms named here; those of the library's own proofs are not in this Lean"
    for verdict in verdicts:
        style = "green" if verdict.accepted else "red"
        word = Text("accepted" if verdict.accepted else "refused", style=style)
        axioms = ", ".join(verdict.axioms) or "-"
        reason = Text(verdict.reason.strip().split("\n\n")[0][:400])
        table.add_row(Text(verdict.theorem), word, axioms, reason, f"{verdict.seconds:.1f}")
    tables.console().print(table)

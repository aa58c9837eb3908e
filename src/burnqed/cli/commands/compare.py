"""`burn-qed compare`: evaluations beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli.comparison_tables import print_comparison
from burnqed.cli.labels import labels_of
from burnqed.cli.options import JsonOption
from burnqed.core.errors import InputError
from burnqed.core.runs import publish
from burnqed.evaluation import compare
from burnqed.evaluation.results import RESULT, read_result


def compare_command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT",
            help="A result.json, or a run of `burn-qed eval`; two or more, oldest first.",
        ),
    ],
    allow_different: Annotated[
        bool,
        typer.Option(
            "--allow-different", help="Also on different benchmarks: compare what they have in common."
        ),
    ] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print GitHub Markdown.")] = False,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write it there, too: FILE.md or FILE.json."),
    ] = None,
) -> None:
    """Compare evaluations: which run solves more, and is it more than chance?

    A row for each result, a column for each budget that all of them have, and what changed from the
    first to the last. Then each result against the one before it, theorem by theorem: what it gained
    and lost, by name, with an exact McNemar test (p below 0.05: better or worse). A theorem that either
    run had an error on is left out of the test and listed: an error says nothing about a theorem.

    Examples:

        burn-qed compare runs/baseline runs/iter_0 runs/iter_1

        burn-qed compare before/result.json after/result.json --out comparison.md

    Exit codes: 0 compared (whatever came out), 2 bad input, such as results on different theorems,
    3 FILE could not be written.
    """
    if as_markdown and as_json:
        raise InputError(
            "--markdown and --json cannot both be printed", hint="--out writes one of them"
        )
    if out is not None:
        _check_out(out, results)
    labels = labels_of(results)
    read = [read_result(path) for path in results]
    found = compare.compare(list(zip(labels, read, strict=True)), allow_different=allow_different)
    if out is not None:
        publish(out, compare.markdown(found) if out.suffix == ".md" else found.to_json() + "\n")
    if as_json:
        typer.echo(found.to_json())
    elif as_markdown:
        typer.echo(compare.markdown(found), nl=False)
    else:
        print_comparison(found)


def _check_out(out: Path, results: Sequence[Path]) -> None:
    if out.suffix not in {".md", ".json"}:
        raise InputError(f"--out {out}: what should be written?", hint="name it FILE.md or FILE.json")
    if any(out.resolve() in {path.resolve(), (path / RESULT).resolve()} for path in results):
        raise InputError(f"--out {out} is one of the results", hint="give another file")

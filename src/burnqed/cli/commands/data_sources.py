"""`burn-qed data sources`, and how `burn-qed data fetch` brings one of them here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from rich.table import Column, Table

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.cli.progress import timed_bar
from burnqed.core import screen
from burnqed.data.benchmarks import BENCHMARKS, is_here
from burnqed.data.sources.declared import Named, SourceInfo
from burnqed.data.sources.fetch import fetch_source
from burnqed.data.sources.open import source, sources
from burnqed.data.sources.rows import Notes
from burnqed.data.sources.stored import is_stored


def sources_command(as_json: JsonOption = False) -> None:
    """List the sources of data: what they are, how many rows, which Lean, whose licence, if here.

    Every source can also be read from a file or folder, as SOURCE=PATH, wherever a command takes one.

    Exit codes: 0.
    """
    known = [_told(info) for info in sources()]
    if as_json:
        typer.echo(json.dumps(known, ensure_ascii=False))
        return
    table = Table(
        Column("name", no_wrap=True), "what it is", "gives", Column("rows", justify="right"), "Lean",
        "licence", Column("revision", no_wrap=True), "here",
    )  # fmt: skip
    for told in known:
        rows = "?" if told["rows"] is None else f"{told['rows']:,}"
        revision = f"{told['revision']:.16}…" if told["revision"] else "unpinned"
        table.add_row(
            told["name"], told["about"], ", ".join(told["gives"]), rows, told["lean"], told["licence"],
            revision, "yes" if told["here"] else "fetch",
        )  # fmt: skip
    tables.console().print(table)


def _told(info: SourceInfo) -> dict[str, Any]:
    here = is_here(BENCHMARKS[info.name]) if isinstance(info.origin, Named) else is_stored(info)
    return {
        "name": info.name, "about": info.about, "gives": list(info.gives), "rows": info.rows,
        "lean": info.lean, "licence": info.licence, "repository": info.repository,
        "revision": info.revision, "pinned": bool(info.revision), "here": here,
    }  # fmt: skip


def is_source(name: str) -> bool:
    return any(info.name == name and not isinstance(info.origin, Named) for info in sources())


def fetch(name: str, local: Path | None, revision: str | None, again: bool, as_json: bool) -> None:
    """Bring a source here, with bars for the bytes and for the rows that are checked."""
    info = source(name)
    notes = Notes(on_problem=tables.warn)
    with timed_bar(screen.console(stderr=True), shown=not as_json) as bar:
        loaded = bar.add_task("bytes", total=None, visible=False)
        checked = bar.add_task("rows", total=info.rows, visible=False)
        record = fetch_source(
            info, local, revision, notes, again=again,
            on_bytes=lambda count: bar.update(loaded, advance=count, visible=True),
            on_rows=lambda count: bar.update(checked, advance=count, visible=True),
        )  # fmt: skip
    if as_json:
        told = {
            "name": record.name, "rows": record.rows, "revision": record.revision,
            "pinned": record.pinned, "licence": info.licence, "sha256": record.sha256,
        }  # fmt: skip
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    what = "Lean files" if "files" in info.gives else "rows"
    typer.echo(f"{record.name}: {record.rows} {what}, from {record.revision}")
    typer.echo(f"licence: {info.licence}")

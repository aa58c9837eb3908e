"""`burn-qed data trace`: the proofs of Lean files as steps that replay."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from burnqed.cli import stopping, tables
from burnqed.cli.commands.data_trace_proofs import print_proofs, trace_whole_proofs
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.progress import CountedProgress
from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.core.runs import check_out, open_run
from burnqed.core.stopping import Stopping
from burnqed.data.lean_files import imports_of
from burnqed.data.lean_sources import sources
from burnqed.data.sources.lean_library import lean_path
from burnqed.lean.pool import Pool, run_sync
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

_SECONDS = 300.0


@configured(LeanConfig)
def trace_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=".lean files, folders of them, lake projects; `lean-library`, once it was fetched; or "
            "one source of whole proofs, as other `burn-qed data` commands take it.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory of the trace.")],
    config: LeanConfig,
    seconds: Annotated[
        float, typer.Option("--file-seconds", min=1.0, help="A file that takes longer is skipped.")
    ] = _SECONDS,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have the judge look at every recorded proof as well.")
    ] = False,
    library: Annotated[
        bool,
        typer.Option(
            "--library", help="The files are this Lean's own library: prove its theorems again."
        ),
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", metavar="FILE.jsonl", help="Write the steps as JSON lines, too."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the trace that is in --out.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Trace Lean files: for each tactic of a proof the state before, the state after, where it stands.

    Every step is applied to the theorem's statement, one after the other, before it is recorded: what
    is recorded replays. `·`, `case`, `<;>`, `first`, `have … := by` and the like are cut into the steps
    that they run; where that does not do the same, they stay one step. Proofs by terms are counted;
    recursive ones, and those in `mutual` blocks, are listed. A file that does not elaborate, takes too
    long or is no text is skipped and listed.

    With --library the files are sources of Lean's own Init and Std, with their `module` and `prelude`.
    Their theorems are there already, so each is proved again as the library's, with itself hidden, and
    names are written out. --judge then drops the proofs that the judge does not accept.

    Whole proofs (JSON lines, Parquet, a published set) are texts: each becomes a Lean file in DIR/lean.
    Those that do not compile on this Lean are listed by the kind of what is against them.

    DIR gets manifest.json, a Parquet file for each Lean file, and report.json with what was left out.
    Ctrl-C keeps what is done, and --resume goes on; a file that has changed is traced again.

    Examples:

        burn-qed data trace src/ --out traces/mine

        burn-qed data trace Basic.lean --out traces/basic --judge --pairs basic.jsonl

        burn-qed data trace lean-library --library --judge --out traces/library

        burn-qed data trace proofs.jsonl --out traces/proofs --pairs proofs-steps.jsonl

    Exit codes: 0 traced, with what was skipped in the report, 2 bad input, or no file could be traced,
    3 Lean failed on some files, 130 or 143 stopped by a signal.
    """
    from burnqed.data.library_trace import LIBRARY, judge_library, trace_library
    from burnqed.data.trace import trace_files
    from burnqed.data.trace_report import report
    from burnqed.data.trace_store import REPORT, FileTrace, open_trace, read_files

    paths = [lean_path(path) for path in paths]
    if len(paths) == 1 and paths[0].suffix != ".lean" and not paths[0].is_dir():
        told = trace_whole_proofs(str(paths[0]), out, config, seconds, judge, resume, shown=not as_json)
        _finish(told, out, pairs, as_json, print_proofs)
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no {path}", hint="give .lean files, or folders that hold some")
    check_out(out)
    found = list(sources(paths))
    if all(trouble for _, trouble in found):
        raise InputError(
            f"{found[0][0]}: {found[0][1]}", hint="give .lean files, or folders that hold some"
        )
    modules = list(LIBRARY) if library else leans.loadable(config, imports_of(paths))
    modules = list(dict.fromkeys(["Init", *config.imports, *modules]))
    lean = leans.set_up(config, modules)
    asked = {
        "command": "data trace", "paths": [str(path.resolve()) for path in paths],
        "file_seconds": seconds, "modules": modules, "toolchain": lean.toolchain.label,
        **({"library": True} if library else {"judge": judge}),
    }  # fmt: skip
    open_run(out, asked, resume=resume)

    def counting(bar: CountedProgress) -> Callable[[FileTrace], None]:
        def count(file: FileTrace) -> None:
            steps = sum(theorem.steps for theorem in file.theorems)
            bar.add({"steps": steps, "skipped": bool(file.problem)})

        return count

    async def work() -> signal.Signals | None:
        stop = Stopping()
        enough = stop.event()
        bar = CountedProgress("files", len(found), shown=not as_json)
        with open_trace(out, tables.warn) as writer, bar.shown():
            if library:
                await trace_library(
                    lean.spec, config.workers, found, seconds, writer, counting(bar), enough
                )
            else:
                async with Pool(lean.spec, config.workers) as pool, Pool(lean.spec, 2) as judges:
                    await trace_files(
                        pool, judges if judge else None, found, seconds, writer, counting(bar), enough
                    )
        if library and judge and not enough.is_set():
            bar = CountedProgress("judged files", len(found), shown=not as_json)
            with open_trace(out, tables.warn) as writer, bar.shown():
                await judge_library(lean.spec, out, writer, counting(bar), tables.warn, enough)
        return stop.signal

    stopped = run_sync(work())
    if stopped is not None:
        raise stopping.stopped(stopped)
    files = read_files(out, tables.warn)
    told = report(files)
    publish(out / REPORT, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    _finish(told, out, pairs, as_json, _print)


def _finish(
    told: dict[str, Any],
    out: Path,
    pairs: Path | None,
    as_json: bool,
    show: Callable[[dict[str, Any], Path], None],
) -> NoReturn:
    from burnqed.data.sources.open import read_steps
    from burnqed.data.steps import write_steps
    from burnqed.data.trace import LOST

    if pairs is not None:
        write_steps(pairs, read_steps(f"trace={out}"))
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        show(told, out)
    if told["files"]["skipped"].get(LOST):
        raise typer.Exit(3)
    raise typer.Exit(0 if told["files"]["traced"] else 2)


def _print(told: dict[str, Any], out: Path) -> None:
    files, theorems, judged = told["files"], told["theorems"], told["judged"]
    facts = {
        "files": f"{files['traced']} of {files['found']}",
        **{f"skipped, {reason}": count for reason, count in files["skipped"].items()},
        "theorems": theorems["found"],
        "recorded": f"{theorems['recorded']} of {theorems['with_tactics']} with tactics",
        "steps": told["steps"],
        "over 100 tactics": theorems["over_100_tactics"],
        "proved by terms": theorems["proved_by_terms"],
        **{f"not recorded, {why}": count for why, count in theorems["not_recorded"].items()},
        "accepted by the judge": f"{judged['accepted']} of {judged['asked']}"
        if judged["asked"]
        else None,
    }
    tables.print_facts(str(out), facts)
    listed = [(f["file"], "", f["reason"], f["detail"]) for f in told["skipped_files"]]
    listed += [
        (f"{t['file']}:{t['line']}", t["theorem"], t["reason"], t["detail"])
        for t in told["not_recorded"]
        if t["reason"] != "proved by a term"
    ]
    if listed:
        table = tables.folding("where", "theorem", "reason", "detail", title="not recorded")
        for row in listed[:20]:
            table.add_row(*(cell.split("\n")[0][:200] for cell in row))
        tables.console().print(table)
    if len(listed) > 20:
        typer.echo(f"and {len(listed) - 20} more: see {out / 'report.json'}")

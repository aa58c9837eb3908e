"""`burn-qed data trace`: the proofs of Lean files as steps that replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import stopping, trace_tables
from burnqed.cli.options import JsonOption, OutOption, ResumeOption, configured
from burnqed.cli.watch import Watch
from burnqed.prover.data_config import TraceConfig


@configured(TraceConfig)
def trace_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=".lean files, folders of them, lake projects; `lean-library`, once it was fetched; or "
            "one source of whole proofs, as other `burn-qed data` commands take it.",
        ),
    ],
    out: OutOption,
    config: TraceConfig,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", metavar="FILE.jsonl", help="Write the steps as JSON lines, too."),
    ] = None,
    resume: ResumeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Trace Lean files: for each tactic of a proof the state before, the state after, where it stands.

    Every step is applied to the theorem's statement, one after the other, before it is recorded: what
    is recorded replays. `·`, `case`, `<;>`, `first`, `have … := by` and the like are cut into the steps
    that they run; where that does not do the same, they stay one step. Proofs by terms are counted;
    recursive ones, and those in `mutual` blocks, are listed. A file that does not elaborate, takes too
    long or is not text is skipped and listed.

    Files of a lake project are elaborated each as a module of its own, by the project's own Lean
    (docs/projects.md): build it first. --project names a project that is not around the files.

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
    from burnqed.data.sources.open import read_steps
    from burnqed.data.steps import write_steps
    from burnqed.data.trace import LOST
    from burnqed.prover.tracing import trace  # it loads pyarrow

    watch = Watch(shown=not as_json)
    told = trace(paths, out, config, watch, resume=resume)
    if told is None:
        raise stopping.stopped(watch.signal)
    if pairs is not None:
        write_steps(pairs, read_steps(f"trace={out}"))
    if as_json:
        typer.echo(json.dumps(told, ensure_ascii=False))
    elif "proofs" in told:
        trace_tables.print_traced_proofs(told, out)
    else:
        trace_tables.print_traced(told, out)
    if told["files"]["skipped"].get(LOST):
        raise typer.Exit(3)
    raise typer.Exit(0 if told["files"]["traced"] else 2)

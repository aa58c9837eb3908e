"""`burn-qed export`: a trained model as a directory of its own."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.prover.config import ExportConfig
from burnqed.prover.exporting import export


@configured(ExportConfig)
def export_command(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A training's directory, an adapter, or a model."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model goes.")],
    config: ExportConfig,
    as_json: JsonOption = False,
) -> None:
    """Write a trained model so that anything can load it: one directory, no adapter, no training state.

    An adapter is merged into its base in float32. DIR gets safetensors in files of at most --shard, the
    tokenizer, burn_qed.json (how the model is asked) and a model card. It is there whole or not at
    all; a directory that is not empty is not touched.

    Examples:

        burn-qed export models/nano --out exported/nano --verify

        burn-qed export models/7b/best --out exported/7b --dtype bf16 --shard 5GB

    Exit codes: 0 written (and, with --verify, the same model), 2 the input is wrong, 3 a package or the
    comparison failed.
    """
    verified = export(source, out, config)
    if as_json:
        content = {"out": str(out), "verified": verified and dataclasses.asdict(verified)}
        typer.echo(json.dumps(content, ensure_ascii=False))
        return
    typer.echo(f"wrote {out}")
    if verified is not None:
        tables.print_facts("verified", dataclasses.asdict(verified))

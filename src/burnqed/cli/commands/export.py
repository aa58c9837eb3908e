"""`burn-qed export`: a trained model as a directory of its own."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.core.errors import InputError
from burnqed.policy.models.strict import need_libraries


def export_command(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="A training's directory, an adapter, or a model."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model goes.")],
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Compare logits with the adapter's, and say one tactic."),
    ] = False,
    shard: Annotated[str, typer.Option(help="The largest file of weights, such as 5GB.")] = "5GB",
    dtype: Annotated[str, typer.Option(help="What weights are kept in: bf16 or fp32.")] = "bf16",
    state: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The state that --verify asks about.")
    ] = None,
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
    size = re.fullmatch(r"(\d+(?:\.\d+)?)(KB|MB|GB)", shard)
    if size is None or float(size[1]) < 0.1:
        raise InputError(f"no size: {shard}", hint="--shard is a size such as 500MB or 5GB")
    kept = _dtype(dtype)
    need_libraries("peft")
    from burnqed.training.export import STATE, export

    verified = export(source, out, dtype=kept, shard=shard, verify=verify, state=state or STATE)
    if as_json:
        content = {"out": str(out), "verified": verified and dataclasses.asdict(verified)}
        typer.echo(json.dumps(content, ensure_ascii=False))
        return
    typer.echo(f"wrote {out}")
    if verified is not None:
        tables.print_facts("verified", dataclasses.asdict(verified))


def _dtype(given: str) -> Literal["bf16", "fp32"]:
    match given:
        case "bf16" | "fp32":
            return given
        case _:
            raise InputError(f"no dtype {given}", hint="--dtype is bf16 or fp32")

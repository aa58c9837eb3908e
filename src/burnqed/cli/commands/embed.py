"""`burn-qed embed`: the states of a run as embeddings, each computed once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from burnqed.cli import compose, policies, tables
from burnqed.cli.progress import counted
from burnqed.cli.stopping import Stopping
from burnqed.core.errors import InputError


def embed_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of `burn-qed search`.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where embeddings are kept.")],
    model: Annotated[
        str, typer.Option("--model", metavar="DIR", help="The policy's model, which encodes.")
    ],
    pooling: Annotated[
        str, typer.Option(help="mean of the hidden states of a state's tokens, or the last one.")
    ] = "mean",
    prompt: policies.PromptOption = None,
    device: policies.DeviceOption = "auto",
    dtype: policies.DtypeOption = "auto",
    as_json: compose.JsonOption = False,
) -> None:
    """Compute the embeddings of all states of some runs, and of the goals they began with.

    DIR has a directory for each encoder (model, prompt, pooling, precision), of Parquet files that only
    get more: what is there is not computed again. Saved every 20,000 states and when it is stopped.

    Example:

        burn-qed embed runs/teacher --model models/nano --out embeddings

    Exit codes: 0 all are there, 2 bad input, 3 the model failed, 130 or 143 stopped by a signal.
    """
    how = _pooling(pooling)
    from burnqed.value.embeddings import EmbeddingCache, embed
    from burnqed.value.encoder import LocalEncoder

    states = list(dict.fromkeys(state for run in runs for state in _states(run)))
    choice = policies.choice("local", model, device=device, dtype=dtype, prompt=prompt)
    encoder = LocalEncoder(policies.load_model(choice), how)
    cache = EmbeddingCache(out, encoder.name)
    todo = len(cache.missing(states))
    with Stopping() as stopping, counted("embedding", todo, shown=not as_json) as done:
        finished = embed(states, encoder, cache, done, stopping.asked)
    content = {
        "states": len(states), "computed": todo - len(cache.missing(states)), "kept": len(cache),
        "width": encoder.name.width, "directory": str(cache.directory),
    }  # fmt: skip
    if as_json:
        typer.echo(json.dumps(content))
    else:
        tables.print_facts("embedded", content)
    if not finished and stopping.signal is not None:
        typer.echo("stopped; the same command goes on", err=True)
        raise typer.Exit(128 + stopping.signal)


def _pooling(given: str) -> Literal["mean", "last"]:
    match given:
        case "mean" | "last":
            return given
        case _:
            raise InputError(f"no pooling {given}", hint="--pooling is mean or last")


def _states(run: Path) -> Iterator[str]:
    """Each state at which something was tried, and what its search began with."""
    from burnqed.trajectories.store import find_trajectories, iter_steps

    columns = ("root_goal", "state")
    for batch in iter_steps(find_trajectories(run), columns=columns, on_problem=tables.warn):
        for name in columns:
            yield from batch.column(name).to_pylist()

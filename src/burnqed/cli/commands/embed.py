"""`burn-qed embed`: embeddings of a run's states, each computed once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.progress import counted
from burnqed.core.errors import InputError
from burnqed.core.runs import check_out
from burnqed.core.stopping import Stopping
from burnqed.policy.models.strict import need_libraries
from burnqed.prover import policies
from burnqed.prover.config import EncoderConfig

if TYPE_CHECKING:  # it loads torch
    from burnqed.value.embeddings import Encoder


@configured(EncoderConfig)
def embed_command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Directories of `burn-qed search` or `negatives`."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory of embeddings.")],
    config: EncoderConfig,
    model: Annotated[
        str | None, typer.Option("--model", metavar="DIR", help="The model that encodes states.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", help="The address of a `burn-qed serve encode`, instead of --model."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the embeddings of all states in some runs.

    DIR gets a directory of Parquet files for each encoder (model, prompt, pooling, precision).
    Embeddings that are there already are not computed again. Progress is saved every 20,000 states and
    when a signal stops the command.

    Example:

        burn-qed embed runs/teacher --model models/nano --out embeddings

    Exit codes: 0 done, 2 bad input, 3 the model failed, 130 or 143 stopped by a signal.
    """
    check_out(out)
    if (model is None) == (url is None):
        raise InputError(
            "embeddings come from either a model or a server", hint="give --model DIR or --url URL"
        )
    if url is not None and config != EncoderConfig():
        raise InputError(
            "the settings of the encoder cannot be changed with --url: the server has its own",
            hint="leave out --pooling, --layer, --prompt, --device, --dtype",
        )
    need_libraries()
    from burnqed.value.embeddings import EmbeddingCache, embed

    states = list(dict.fromkeys(state for run in runs for state in _states(run)))
    with ExitStack() as stack:
        encoder: Encoder
        if url is not None:
            from burnqed.value.served import ServedEncoder

            encoder = stack.enter_context(ServedEncoder(url))
        else:
            encoder = policies.encoder(policies.local(model, config), config, tables.warn)
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
        typer.echo("stopped; run the same command again to continue", err=True)
        raise typer.Exit(128 + stopping.signal)


def _states(run: Path) -> Iterator[str]:
    """Each state at which a tactic was tried, and the goal its search began with."""
    from burnqed.trajectories.store import find_trajectories, iter_steps

    columns = ("root_goal", "state")
    for batch in iter_steps(find_trajectories(run), columns=columns, on_problem=tables.warn):
        for name in columns:
            yield from batch.column(name).to_pylist()

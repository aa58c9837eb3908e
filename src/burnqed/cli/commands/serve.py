"""`burn-qed serve`: the prover, and parts of it, as servers."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.commands.serve_prove import prove_command
from burnqed.cli.options import JsonOption, configured
from burnqed.core.stopping import Stopping
from burnqed.policy.models.strict import need_libraries
from burnqed.prover import policies
from burnqed.prover.config import EncoderConfig

app = typer.Typer(no_args_is_help=True, help="Serve the prover or a model to other programs.")
app.command("prove")(prove_command)

_LOOK_SECONDS = 0.2  # between two checks whether to stop


@app.callback()
def options() -> None:
    """Serve the prover or a model to other programs."""


@app.command("encode")
@configured(EncoderConfig)
def encode_command(
    model: Annotated[
        str, typer.Option("--model", metavar="DIR", help="The model that encodes states.")
    ],
    config: EncoderConfig,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 accepts every machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 takes a free one.")
    ] = 8100,
    as_json: JsonOption = False,
) -> None:
    """Serve the embeddings of proof states over HTTP. Waiting requests are encoded in batches.

    POST /encode {"text": ["⊢ True"]} returns {"embeddings": [[…]]}, or [[…]] if the request has
    "shape": "array". GET /info describes the encoder. GET /health returns 503 until the model is
    loaded, and then the address is printed. There is no password.

    Example:

        burn-qed serve encode --model models/nano

        curl localhost:8100/encode -d '{"text": "⊢ True"}'

    Exit codes: 2 bad input, 3 the model failed, 130 or 143 stopped by a signal. Requests that arrived
    before the signal are answered first.
    """
    choice = policies.local(model, config)
    need_libraries()
    from burnqed.value.server import EncodeServer

    with EncodeServer(host, port) as server:
        encoder = policies.encoder(choice, config, tables.warn)
        server.use(encoder)
        with Stopping() as stopping:
            about = {"url": server.url, **asdict(encoder.name), "version": version("burn-qed")}
            line = f"{server.url} encodes with {model} ({encoder.name.width} numbers for a state)"
            print(json.dumps(about) if as_json else line, flush=True)
            while not stopping.asked():
                time.sleep(_LOOK_SECONDS)
    if stopping.signal is not None:
        raise typer.Exit(128 + stopping.signal)

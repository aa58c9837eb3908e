"""`burn-qed serve`: parts of the prover as servers of their own."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.cli.stopping import Stopping
from burnqed.policy.models.strict import need_libraries
from burnqed.prover import policies
from burnqed.prover.config import EncoderConfig

app = typer.Typer(no_args_is_help=True, help="Serve a model to other processes and machines.")

_LOOK_SECONDS = 0.2  # between two looks whether to stop


@app.callback()
def options() -> None:
    """Serve a model to other processes and machines."""


@app.command("encode")
@configured(EncoderConfig)
def encode_command(
    model: Annotated[
        str, typer.Option("--model", metavar="DIR", help="The policy's model, which encodes.")
    ],
    config: EncoderConfig,
    host: Annotated[
        str, typer.Option(help="Whom to listen to; 0.0.0.0 is everybody who can reach this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free.")] = 8100,
    as_json: JsonOption = False,
) -> None:
    """Answer with the embeddings of states, over HTTP; states that wait are encoded together.

    POST /encode {"text": ["⊢ True"]} is answered by {"embeddings": [[…]]}, or by [[…]] if the request
    says "shape": "array". GET /info says which encoder it is, GET /health whether it works (503 until
    the model is loaded). A line with the address is printed when it does. There is no password.

    Example:

        burn-qed serve encode --model models/nano

        curl localhost:8100/encode -d '{"text": "⊢ True"}'

    Exit codes: 2 bad input, 3 the model failed, 130 or 143 stopped by a signal, after what was asked
    before it has been answered.
    """
    choice = policies.local(model, config)
    need_libraries()
    from burnqed.value.server import EncodeServer

    with EncodeServer(host, port) as server:
        encoder = policies.encoder(choice, config, tables.warn)
        server.use(encoder)
        with Stopping() as stopping:
            about = {"url": server.url, **asdict(encoder.name), "version": version("burn-qed")}
            said = f"{server.url} encodes with {model} ({encoder.name.width} numbers for a state)"
            print(json.dumps(about) if as_json else said, flush=True)
            while not stopping.asked():
                time.sleep(_LOOK_SECONDS)
    if stopping.signal is not None:
        raise typer.Exit(128 + stopping.signal)

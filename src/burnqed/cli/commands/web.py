"""`burn-qed web`: runs, theorems and search trees in the browser."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli.options import JsonOption
from burnqed.core.guard import token_from_environment
from burnqed.core.listening import is_local, listen
from burnqed.core.stopping import Stopping

_LOOK_SECONDS = 0.2  # between two checks whether to stop


def web_command(
    folder: Annotated[
        Path, typer.Argument(metavar="[RUN|DIR]", help="A run, or a folder of runs.")
    ] = Path(),
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 lets every machine ask.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 takes a free one.")
    ] = 8300,
    as_json: JsonOption = False,
) -> None:
    """Look at runs in the browser: theorems, proofs, and the search tree of each attempt.

    The page shows the runs of `search`, `negatives`, `eval` and `run` in a folder and below it, by
    default the current one. It shows what a run has saved so far, and more as soon as the run saves
    more. Reports of `embeddings report` are there as maps, with the state of each dot. It changes no
    file, and loads nothing from a network.

    Other machines are refused. With a --host that they reach, who looks must give the token in
    BURN_QED_TOKEN, for which the page asks.

    Examples:

        burn-qed web runs

        burn-qed web runs/first --port 9000

        export BURN_QED_TOKEN=$(openssl rand -hex 32)

        burn-qed web runs --host 0.0.0.0

    Exit codes: 2 the folder or the address is wrong, 130 or 143 stopped by a signal.
    """
    from burnqed.web.server import WebServer

    with listen(host, port) as listening:
        token = token_from_environment(needed=not is_local(listening))
        with WebServer(folder, listening, token) as server, Stopping(shown=False) as stopping:
            about = {"url": server.url, "runs": server.runs, "version": version("burn-qed")}
            found = f"{server.runs} run{'' if server.runs == 1 else 's'} in {folder}"
            print(json.dumps(about) if as_json else f"{server.url} shows {found}", flush=True)
            while not stopping.asked():
                time.sleep(_LOOK_SECONDS)
    if stopping.signal is not None:
        raise typer.Exit(128 + stopping.signal)

"""`burn-qed web`: runs, theorems and search trees in the browser."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption
from burnqed.core.stopping import Stopping

_LOOK_SECONDS = 0.2  # between two checks whether to stop


def web_command(
    folder: Annotated[
        Path, typer.Argument(metavar="[RUN|DIR]", help="A run, or a folder of runs.")
    ] = Path(),
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 lets every machine look.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 takes a free one.")
    ] = 8300,
    as_json: JsonOption = False,
) -> None:
    """Look at runs in the browser: theorems, proofs, and the search tree of each attempt.

    The page shows the runs of `search`, `negatives`, `eval` and `run` in a folder and below it, by
    default the current one. It shows what a run has saved so far, and more as soon as the run saves
    more. It changes no file, and loads nothing from a network.

    With a --host that other machines reach, everybody there can read the runs: there is no password.

    Examples:

        burn-qed web runs

        burn-qed web runs/first --port 9000

    Exit codes: 2 the folder or the address is wrong, 130 or 143 stopped by a signal.
    """
    from burnqed.web.server import WebServer

    with WebServer(folder, host, port) as server, Stopping(shown=False) as stopping:
        if not server.is_local:
            tables.warn(
                f"every machine that reaches {server.url} can read these runs: there is no password. "
                "Without --host only this machine can"
            )
        about = {"url": server.url, "runs": server.runs, "version": version("burn-qed")}
        found = f"{server.runs} run{'' if server.runs == 1 else 's'} in {folder}"
        print(json.dumps(about) if as_json else f"{server.url} shows {found}", flush=True)
        while not stopping.asked():
            time.sleep(_LOOK_SECONDS)
    if stopping.signal is not None:
        raise typer.Exit(128 + stopping.signal)

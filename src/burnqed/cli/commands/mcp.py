"""`burn-qed mcp`: the prover as tools of an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from burnqed.cli.options import configured
from burnqed.core.errors import InputError, SetupError
from burnqed.core.guard import token_from_environment
from burnqed.core.listening import is_local, listen
from burnqed.core.stopping import Stopping
from burnqed.lean.pool import run_sync
from burnqed.prover import leans
from burnqed.serve.answers import Health
from burnqed.serve.config import McpConfig

PORT = 8400


@configured(McpConfig, without=("trust",))
def mcp_command(
    config: McpConfig,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP instead of stdin and stdout.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            help="With --http: the address to listen on, by default 127.0.0.1; 0.0.0.0 accepts every "
            "machine."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help=f"With --http: the port to listen on, by default {PORT}; 0 takes a free one.",
        ),
    ] = None,
) -> None:
    """Offer the prover and the judge to an agent: a server of the Model Context Protocol.

    Its tools are prove, check, start and step (a proof by hand), and lemmas. A tool says "proved" only
    where the judge accepted. Where Lean fails, the tool has an error, which says nothing of a theorem.

    An agent's client starts the command and talks to it over stdin and stdout. With --http, clients
    connect to http://localhost:8400/mcp, and the address is printed when the prover is ready. With a
    --host that other machines reach, they must send a token: `Authorization: Bearer TOKEN`, as
    BURN_QED_TOKEN has it.

    Texts may define and prove things, but not run code, and may import only what --import loads. As
    many calls run as there are --workers, and --queue of them wait.

    Run `burn-qed doctor` once before: it fetches Lean. docs/mcp.md has the lines for common clients.

    Examples:

        burn-qed mcp

        burn-qed mcp --http --workers 2

    Exit codes: 0 the client closed stdin, 2 bad input, 3 Lean failed, 130 or 143 stopped by a signal.
    """
    if not http and not (host is None and port is None):
        raise InputError("--host and --port are for HTTP", hint="give --http as well")
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"the protocol needs a package: {error}", hint="pip install 'burn-qed[mcp]'"
        ) from error
    stopping = Stopping()
    if http:
        _over_http(config, host or "127.0.0.1", PORT if port is None else port, stopping)
    else:
        _over_stdio(config, stopping)
    if stopping.signal is not None:
        raise typer.Exit(128 + stopping.signal)


def _over_http(config: McpConfig, host: str, port: int, stopping: Stopping) -> None:
    from burnqed.serve.mcp.http import serve  # it loads starlette and uvicorn

    with listen(host, port) as listening:
        token = token_from_environment(needed=not is_local(listening))
        leans.set_up(
            config, leans.modules_of(config)
        )  # its progress is shown, and Ctrl-C ends it at once

        def ready(url: str, health: Health) -> None:
            print(
                f"{url}: {health.toolchain}, policy {health.policy}, workers {health.workers}",
                flush=True,
            )

        async def work() -> None:
            await serve(config, listening, token, ready, stopping.event())

        run_sync(work())


def _over_stdio(config: McpConfig, stopping: Stopping) -> None:
    from burnqed.serve.mcp.stdio import Wire, claimed, serve

    with claimed() as (source, sink):
        leans.set_up(config, leans.modules_of(config))

        async def work() -> None:
            await serve(config, Wire(source, sink), stopping.event())

        run_sync(work())

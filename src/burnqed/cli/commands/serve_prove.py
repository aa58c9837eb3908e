"""`burn-qed serve prove`: the prover behind HTTP."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from burnqed.cli.options import JsonOption, configured
from burnqed.core.guard import token_from_environment
from burnqed.core.listening import is_local, listen
from burnqed.core.stopping import Stopping
from burnqed.lean.pool import run_sync
from burnqed.prover import leans
from burnqed.serve.answers import Health
from burnqed.serve.config import ServeConfig
from burnqed.web.pages import pages

PORT = 8200


@configured(ServeConfig, without=("trust",))
def prove_command(
    config: ServeConfig,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 accepts every machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 takes a free one.")
    ] = PORT,
    as_json: JsonOption = False,
) -> None:
    """Serve the prover and the judge over HTTP. Its Leans stay warm, so no request waits for a start.

    POST /prove {"text": "∀ n : Nat, n + 0 = n"} returns {"outcome": "proved", "proof": …}. The outcome
    is proved (the judge accepted it), not_found, refuted or failed. POST /check {"text": …} returns the
    judge's verdicts. POST /step proves by hand, tactic by tactic, and POST /lemmas searches the
    library. GET /docs describes every request in a browser, also a proof that is followed as a stream
    of events, or asked for later. GET /health returns 503 until the prover has proved something, and
    then the address is printed.

    That address is also a page for people: type a theorem, watch the search tree grow, stop it, copy
    the judged proof, or prove it by hand.

    As many requests run as there are --workers, and --queue of them wait. A request that finds no room
    gets 429, and Retry-After says when to ask again. When a client leaves, its search stops.

    Texts may define and prove things, but not run code, and may import only what --import loads. Other
    machines, and pages of other sites in a browser, are refused. With a --host that other machines
    reach, clients must send a token: `Authorization: Bearer TOKEN`, as BURN_QED_TOKEN has it.

    Example:

        burn-qed serve prove --workers 2

        curl localhost:8200/prove -d '{"text": "∀ n : Nat, 2 ∣ n * (n + 1)"}'

    Exit codes: 2 bad input, 3 Lean failed, 130 or 143 stopped by a signal. What runs then is stopped,
    and its clients get 503.
    """
    from burnqed.serve.server import serve  # it loads starlette and uvicorn

    with listen(host, port) as listening:
        token = token_from_environment(needed=not is_local(listening))
        leans.set_up(
            config, leans.modules_of(config)
        )  # its progress is shown, and Ctrl-C ends it at once
        stopping = Stopping()

        def ready(url: str, health: Health) -> None:
            about = msgspec.to_builtins(health)
            by = f"{about['toolchain']}, policy {about['policy']}, workers {about['workers']}"
            said = msgspec.json.encode({"url": url, **about}).decode() if as_json else f"{url}: {by}"
            print(said, flush=True)

        async def work() -> None:
            await serve(config, listening, token, ready, stopping.event(), pages("playground"))

        run_sync(work())
    if stopping.signal is not None:
        raise typer.Exit(128 + stopping.signal)

"""The page's server: files of the page, and what it asks for as JSON. Everything only reads.

    GET /api/runs                              the runs, with their state
    GET /api/runs/RUN                          one run: settings and figures
    GET /api/runs/RUN/theorems                 its theorems, and those of the runs inside of it
    GET /api/runs/RUN/theorems/THEOREM         one of them: statement, outcome, proof
    GET …/THEOREM/tree                         its search tree
    GET …/THEOREM/state?node=N                 a state of it, and what was tried there
    GET …/THEOREM/find?q=TEXT                  the states where a text occurs
    GET …/THEOREM/parting?against=RUN          where the tree parts from that of another run
    GET /api/looks/LOOK                        a report on embeddings: figures, and maps of states
    GET /api/looks/LOOK/state?number=N         a state on the maps

`/api/live` and `/api/live/RUN` are the first two as server-sent events: the same answer again whenever
it changes. RUN, THEOREM and LOOK are ids from the lists; no path is ever taken from a URL. `?attempt=K`
chooses one of several attempts, `?there=K` one of the other run's. A request that gets no answer gets
{"error": …, "hint": …}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from burnqed.core.errors import BurnQedError, InputError
from burnqed.core.guard import HEADERS, Guard, NotWelcome
from burnqed.web import attempts, looks
from burnqed.web.attempts import Attempt
from burnqed.web.live import stream
from burnqed.web.looks import FoundLook
from burnqed.web.overview import overview
from burnqed.web.pages import pages
from burnqed.web.parting import parting
from burnqed.web.progress import so_far, stage_at_work
from burnqed.web.runs import Found, Run, find_runs
from burnqed.web.sides import Side
from burnqed.web.theorems import list_theorems, set_of

LONGEST_QUERY = 200  # characters that are searched for


def app_of(root: Path, guard: Guard) -> Starlette:
    """The application that shows the runs at a folder."""
    shown = _Shown(root)
    files = pages("runs")
    theorem = "/api/runs/{run}/theorems/{theorem}"
    routes = [
        Route("/api/runs", lambda _: _json(shown.runs())),
        Route("/api/runs/{run}", lambda asked: _json(shown.run(_wanted(asked)))),
        Route("/api/live", lambda _: stream(lambda: _encoded(shown.runs()))),
        Route("/api/live/{run}", lambda asked: _live(shown, _wanted(asked))),
        Route("/api/runs/{run}/theorems", shown.theorems),
        Route(theorem, shown.of_attempt(lambda attempt, _: attempts.about(attempt))),
        Route(f"{theorem}/tree", shown.of_attempt(lambda attempt, _: attempts.tree(attempt))),
        Route(f"{theorem}/state", shown.of_attempt(_state)),
        Route(f"{theorem}/find", shown.of_attempt(_matches)),
        Route(f"{theorem}/parting", shown.of_attempt(shown.parting)),
        Route("/api/looks/{look}", lambda asked: _json(looks.about(shown.look(asked)))),
        Route(
            "/api/looks/{look}/state",
            lambda asked: _json(looks.state(shown.look(asked), _number(asked, "number"))),
        ),
        *(Route(path, _serving(content, kind)) for path, (content, kind) in files.items()),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_Door, guard=guard, pages=files.keys())],
        exception_handlers={BurnQedError: _refused, HTTPException: _missing, Exception: _failed},
    )
    app.router.redirect_slashes = False
    return app


class _Shown:
    """The runs at a folder. They are looked for again whenever the list is asked for.

    Its functions run in threads; what was found is replaced as a whole.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found = Found({})

    def runs(self) -> dict[str, Any]:
        self._found = find_runs(self._root)
        runs = [_line(run) for run in self._found.runs.values()]
        problems = list(self._found.problems)
        found = looks.lines(tuple(self._found.looks.values()), problems)
        return {"runs": runs, "looks": found, "problems": problems}

    def run(self, wanted: str) -> dict[str, Any]:
        run = self.find(wanted)
        inside = self._inside(run)
        inner = [_line(one) for one in inside]
        content = overview(run)
        at_work = [one for one in inside if run.is_iteration and one.state == "running"]
        content["searching"] = [{"id": one.id, **overview(one)} for one in at_work]
        own = [one for one in self._found.looks.values() if one.parent == run.id]
        found = looks.lines(own, content["problems"])
        return {**_line(run), **content, "around": self._around(run), "runs": inner, "looks": found}

    def theorems(self, request: Request) -> Response:
        run = self.find(_wanted(request))
        return _json(asdict(list_theorems(run, self._inside(run))))

    def of_attempt(self, answer: Callable[[Attempt, Request], Any]) -> Callable[[Request], Response]:
        """An answer about the attempt that a request names."""

        def answered(request: Request) -> Response:
            return _json(answer(self._attempt(_wanted(request), "attempt", request), request))

        return answered

    def parting(self, here: Attempt, request: Request) -> dict[str, Any]:
        there = self._attempt(request.query_params.get("against", ""), "there", request)
        return asdict(parting(Side(here.record, here.rows), Side(there.record, there.rows)))

    def _attempt(self, run: str, key: str, request: Request) -> Attempt:
        """The attempt of a run at the theorem of a request; `key` says where its number stands."""
        number = _number(request, key) if key in request.query_params else None
        attempt = attempts.find_attempt(self.find(run), request.path_params["theorem"], number)
        if attempt is None:
            raise HTTPException(404, "the run has no such theorem, or no such attempt at it")
        return attempt

    def find(self, wanted: str) -> Run:
        run = self._found.runs.get(wanted)
        if run is None or (run.is_iteration and run.state == "running"):
            self._found = find_runs(self._root)  # it may be new, or have new ones inside of it
            run = self._found.runs.get(wanted)
        if run is None or not run.path.is_dir():
            raise HTTPException(404, "there is no such run")
        return run

    def look(self, request: Request) -> FoundLook:
        wanted = request.path_params["look"]
        if wanted not in self._found.looks:
            self._found = find_runs(self._root)
        found = self._found.looks.get(wanted)
        if found is None or not found.path.is_dir():
            raise HTTPException(404, "there is no such report on embeddings")
        return found

    def _around(self, run: Run) -> list[tuple[str, str]]:
        """Id and name of each run that a run lies in, the outermost first."""
        found: list[tuple[str, str]] = []
        while run.parent is not None:
            run = self._found.runs[run.parent]
            found.insert(0, (run.id, run.name))
        return found

    def _inside(self, run: Run) -> list[Run]:
        """The runs inside of a run, in the order in which they began."""
        own = (one for one in self._found.runs.values() if one.parent == run.id)
        return sorted(own, key=lambda one: one.begun)


def _wanted(request: Request) -> str:
    return str(request.path_params["run"])


def _live(shown: _Shown, wanted: str) -> Response:
    shown.find(wanted)  # a stream that has begun could not say that there is no such run
    return stream(lambda: _encoded(shown.run(wanted)))


def _line(run: Run) -> dict[str, Any]:
    state = run.state
    return {
        "id": run.id,
        "name": run.name,
        "command": run.command,
        "state": state,
        "so_far": None if run.is_iteration else so_far(run),
        "at_work": stage_at_work(run),
        "parent": run.parent,
        "theorems": set_of(run),
        "checksum": run.manifest.get("theorems_checksum"),
        "nodes": run.manifest.get("nodes"),
        "changed": run.changed,
    }


def _state(attempt: Attempt, request: Request) -> Any:
    return attempts.state(attempt, _number(request, "node"))


def _matches(attempt: Attempt, request: Request) -> Any:
    text = request.query_params.get("q", "")
    if not 0 < len(text) <= LONGEST_QUERY:
        raise InputError(f"q must be a text of 1 to {LONGEST_QUERY} characters")
    return {"nodes": attempts.matches(attempt, text)}


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InputError(f"{name} must be a number")
    return int(text)


# ------------------------------------------------------------------------------------- answers


def _json(content: Any, status: int = 200) -> Response:
    return Response(_encoded(content), status, media_type="application/json")


def _encoded(content: Any) -> bytes:
    """In one line, and in ASCII: names may hold characters that UTF-8 does not have."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, BurnQedError)
    status = 400 if isinstance(error, InputError) else 500
    return _json({"error": error.message, "hint": error.hint}, status)


def _missing(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"error": error.detail, "hint": ""}, error.status_code)


def _failed(_request: Request, error: Exception) -> Response:
    return _json({"error": f"{type(error).__name__}: {error}", "hint": ""}, 500)


class _Door:
    """Lets in whom the guard lets in, and adds its headers to all answers."""

    def __init__(self, app: ASGIApp, guard: Guard, pages: Collection[str]) -> None:
        self._app, self._guard, self._pages = app, guard, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the server's own beginning and end
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app = self._app
        try:
            self._guard.meet(Headers(scope=scope), open=scope["path"] in self._pages)
        except NotWelcome as why:
            app = _json({"error": why.error, "hint": why.hint}, why.status)
        return await app(scope, receive, with_headers)


def _serving(content: bytes, kind: str) -> Callable[[Request], Response]:
    return lambda _request: Response(content, media_type=kind)

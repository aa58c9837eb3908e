"""What can be asked, as an OpenAPI document. It is made from the structs, so it cannot be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import msgspec

from burnqed.serve.answers import (
    CheckAnswer,
    Health,
    HighlightAnswer,
    LemmasAnswer,
    ProveAnswer,
    Refusal,
)
from burnqed.serve.byhand import StepAnswer
from burnqed.serve.events import JobEvent
from burnqed.serve.jobs import JobAnswer
from burnqed.serve.requests import (
    CheckRequest,
    HighlightRequest,
    LemmasRequest,
    ProveRequest,
    StartRequest,
    StepRequest,
)

JSON, EVENTS, HTML = "application/json", "text/event-stream", "text/html"
_ABOUT = (
    "A theorem prover for Lean 4. An outcome has the status 200, and is `proved` only if the judge "
    "accepted it. A request without an outcome has another status, which says nothing of the theorem."
)
_WHY = {
    400: "The body does not fit.",
    401: "The token is missing or wrong.",
    403: "Another site's page asks, or for another host.",
    404: "There is no such job or proof, or it was forgotten.",
    408: "The body took too long.",
    413: "The body is too large.",
    422: "The text or a number cannot be worked on.",
    429: "There is no room; ask again after `Retry-After` seconds.",
    503: "Lean failed, or the server starts or stops.",
    504: "No verdict in time.",
}
_BODY = (400, 408, 413, 422, 429, 503)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method at a path. `gives` is what is answered, by status and media type."""

    method: str
    path: str
    name: str
    about: str
    gives: dict[int, dict[str, Any]]
    takes: Any = None
    refuses: tuple[int, ...] = ()
    example: str = ""
    open: bool = False  # to those without a token


ENDPOINTS = (
    Endpoint(
        "POST", "/prove", "prove",
        "Prove a statement, or the `sorry`s of a text. When the client leaves, its work stops, but for "
        "a job in the background. `Location` is the job's address, also of a stream.",
        {200: {JSON: ProveAnswer, EVENTS: JobEvent}, 202: {JSON: JobAnswer}},
        ProveRequest, (*_BODY, 504), '{"text": "∀ n : Nat, 2 ∣ n * (n + 1)"}',
    ),
    Endpoint(
        "POST", "/check", "check", "The judge's verdicts on the theorems of a text.",
        {200: {JSON: CheckAnswer}}, CheckRequest, (*_BODY, 504),
        '{"text": "theorem a : 1 + 1 = 2 := rfl"}',
    ),
    Endpoint(
        "POST", "/step", "start",
        "Start a proof by hand: its id, and its first goals. Between steps it holds no Lean.",
        {200: {JSON: StepAnswer}}, StartRequest, (*_BODY, 504),
        '{"text": "theorem a (p q : Prop) (h : p ∧ q) : q ∧ p"}',
    ),
    Endpoint(
        "POST", "/step/{id}", "step",
        "Apply a tactic to any state of a proof by hand. Where no goal is left, the judge is asked.",
        {200: {JSON: StepAnswer}}, StepRequest, (*_BODY, 404, 504),
        '{"state": 0, "tactic": "constructor"}',
    ),
    Endpoint(
        "DELETE", "/step/{id}", "forget", "End a proof by hand.", {204: {}}, refuses=(404, 503),
    ),
    Endpoint(
        "POST", "/lemmas", "lemmas", "Lemmas of the library that a proof of a goal may need.",
        {200: {JSON: LemmasAnswer}}, LemmasRequest, _BODY, '{"text": "⊢ a + b = b + a", "count": 5}',
    ),
    Endpoint(
        "POST", "/highlight", "highlight",
        "Lean texts in pieces, each with a kind to colour it by. It needs no Lean and waits for none.",
        {200: {JSON: HighlightAnswer}}, HighlightRequest, (400, 408, 413, 422, 429),
        '{"texts": ["theorem a : 1 + 1 = 2 := by simp"]}',
    ),
    Endpoint(
        "GET", "/jobs/{id}", "job", "How far a job is, and its outcome.",
        {200: {JSON: JobAnswer}}, refuses=(404,),
    ),
    Endpoint(
        "DELETE", "/jobs/{id}", "end_job", "Stop a job and forget it.",
        {200: {JSON: JobAnswer}}, refuses=(404,),
    ),
    Endpoint(
        "GET", "/jobs/{id}/events", "follow_job",
        "A job's events from the first, or after the one in `Last-Event-ID`. 204: there are no more.",
        {200: {EVENTS: JobEvent}, 204: {}}, refuses=(400, 404),
    ),
    Endpoint(
        "GET", "/health", "health",
        "200 once the prover has proved something; 503 before that and while it stops. It needs no "
        "token.",
        {200: {JSON: Health}, 503: {JSON: Health}}, open=True,
    ),
    Endpoint(
        "GET", "/openapi.json", "openapi", "This description. It needs no token.",
        {200: {JSON: dict[str, Any]}}, open=True,
    ),
    Endpoint(
        "GET", "/docs", "docs", "This description, to be read in a browser.", {200: {HTML: str}},
        open=True,
    ),
)  # fmt: skip


def document() -> dict[str, Any]:
    """The description as an OpenAPI 3.1 document."""
    given = [kind for e in ENDPOINTS for by in e.gives.values() for kind in by.values()]
    kinds = [*given, *(e.takes for e in ENDPOINTS if e.takes is not None), Refusal]
    schemas, named = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schema_of = list(zip(kinds, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "burn-qed", "version": version("burn-qed"), "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": named,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],  # a server of this machine may have none
    }


def _operation(endpoint: Endpoint, schema_of: list[tuple[Any, dict[str, Any]]]) -> dict[str, Any]:
    def content(kinds: dict[str, Any]) -> dict[str, Any]:
        return {
            media: {"schema": next(schema for known, schema in schema_of if known is kind)}
            for media, kind in kinds.items()
        }

    refusals = {
        status: {"description": _WHY[status], "content": content({JSON: Refusal})}
        for status in (*endpoint.refuses, *([] if endpoint.open else [401]), 403)
    }
    answers = {
        status: {"description": _said(kinds), **({"content": content(kinds)} if kinds else {})}
        for status, kinds in endpoint.gives.items()
    }
    made: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "responses": {str(s): one for s, one in sorted({**refusals, **answers}.items())},
    }
    if "{id}" in endpoint.path:
        made["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    if EVENTS in endpoint.gives.get(200, {}) and "parameters" in made:
        whole = {"type": "integer", "minimum": 0}
        made["parameters"].append({"name": "Last-Event-ID", "in": "header", "schema": whole})
    if endpoint.takes is not None:
        body = content({JSON: endpoint.takes})
        body[JSON]["example"] = msgspec.json.decode(endpoint.example)
        made["requestBody"] = {"required": True, "content": body}
    return made


def _said(kinds: dict[str, Any]) -> str:
    names = [getattr(kind, "__name__", "events") for kind in kinds.values()]
    return ", or ".join(dict.fromkeys(names)) or "Nothing"

"""The tools: what each takes and gives, and a call of one.

Requests and answers are the structs of the engine. An answer is a tool's result, whatever the outcome.
What has no outcome (a wrong argument, no room, Lean lost) is a tool's error, which says nothing of a
theorem.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from msgspec import Meta

from burnqed.core.errors import BurnQedError
from burnqed.core.screen import visible
from burnqed.serve.answers import CheckAnswer, LemmasAnswer, ProveAnswer
from burnqed.serve.byhand import StepAnswer
from burnqed.serve.config import ServeConfig
from burnqed.serve.engine import Engine
from burnqed.serve.events import Expanded, Progress
from burnqed.serve.mcp.words import words
from burnqed.serve.refusal import Refused, of_error
from burnqed.serve.requests import (
    CheckRequest,
    LemmasRequest,
    ProofRequest,
    StartRequest,
    StepRequest,
)

Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "burn-qed proves theorems in Lean 4, and judges proofs. A theorem is proved only where the outcome "
    "is `proved`, or `check` accepts it: then the judge has compiled the proof and looked at its "
    "axioms. `not_found` means that the budget ran out; it says nothing of the statement. An error of "
    "a tool says nothing of it either. To prove by hand, `start` a theorem and `step` from any of its "
    "states."
)
_NOT_OF_THE_TEXT = 429  # from this status on, the trouble is ours
_TELL = 2.0  # seconds between two notices that a call is still at work


class StepCall(StepRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Apply a tactic to a state of a proof by hand."""

    proof: Annotated[str, Meta(min_length=1, description="The proof's id, which `start` gave.")]


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as it is listed."""

    title: str
    about: str
    takes: type[msgspec.Struct]
    gives: type[msgspec.Struct]


OFFERS = {
    "prove": Offer(
        "Prove",
        "Search for a proof of a Lean 4 statement, or of the `sorry`s of a text. The outcome is "
        "`proved` (the judge accepted `proof`), `not_found` (the budget ran out; nothing is known), "
        "`refuted` (the kernel accepted a proof of the negation) or `failed` (Lean does not accept the "
        "text, or the judge refused).",
        ProofRequest, ProveAnswer,
    ),
    "check": Offer(
        "Check",
        "Have the judge check Lean 4 source with proofs: a verdict and the axioms for each theorem, "
        "and Lean's errors. With `against`, the text must prove exactly these theorems.",
        CheckRequest, CheckAnswer,
    ),
    "start": Offer(
        "Start a proof by hand",
        "Start a proof of a Lean 4 theorem by hand. The answer has the id of the proof, its first "
        "state and its goals. Apply tactics with `step`.",
        StartRequest, StepAnswer,
    ),
    "step": Offer(
        "Apply a tactic",
        "Apply Lean 4 tactics to any state of a proof by hand. The answer has a new state and its "
        "goals, or Lean's error. When no goal is left, the judge is asked, and only its acceptance is "
        "`proved`.",
        StepCall, StepAnswer,
    ),
    "lemmas": Offer(
        "Search for lemmas",
        "Search Lean's loaded library for lemmas that a proof of a goal may need, the likeliest first.",
        LemmasRequest, LemmasAnswer,
    ),
}  # fmt: skip


class Tools:
    """The tools of an engine that may still be opening: a call then waits for it."""

    def __init__(self, engine: Awaitable[Engine]) -> None:
        self._engine = engine

    def server(self) -> Server[Any]:
        return Server(
            "burn-qed", version=version("burn-qed"), title="burn-qed", instructions=INSTRUCTIONS,
            description="A theorem prover for Lean 4, and a judge of proofs",
            on_list_tools=self._list, on_call_tool=self._call,
        )  # fmt: skip

    async def _list(self, _: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(name, offer) for name, offer in OFFERS.items()])

    async def _call(self, context: Context, call: CallToolRequestParams) -> CallToolResult:
        offer = OFFERS.get(call.name)
        if offer is None:
            raise MCPError(
                INVALID_PARAMS, f"there is no tool {call.name:.100}, only {', '.join(OFFERS)}"
            )
        try:
            asked = msgspec.convert(call.arguments or {}, offer.takes)
            told = _Told()
            async with _telling(context, told):
                answer = await self._answer(asked, told)
        except msgspec.ValidationError as error:
            return _without_outcome(
                Refused(400, f"the arguments do not fit: {error}", kind="BadRequest")
            )
        except Refused as why:
            return _without_outcome(why)
        except BurnQedError as error:
            return _without_outcome(of_error(error))
        except Exception as error:
            return _without_outcome(Refused(500, f"{type(error).__name__}: {error}", kind="Internal"))
        return CallToolResult(
            content=[TextContent(type="text", text=visible(words(answer)))],
            structured_content=msgspec.to_builtins(answer),
        )

    async def _answer(self, asked: msgspec.Struct, told: _Told) -> msgspec.Struct:
        # A call that is cancelled must leave the engine as it is: others wait for it as well.
        engine = await asyncio.shield(asyncio.ensure_future(self._engine))
        match asked:
            case ProofRequest():
                return await engine.prove(asked, told)
            case CheckRequest():
                return await engine.check(asked)
            case StartRequest():
                return await engine.start(asked)
            case StepCall(proof=proof):
                return await engine.step(proof, asked)
            case LemmasRequest():
                return await engine.lemmas(asked)
        raise TypeError(f"a request of an unknown kind: {type(asked).__name__}")


@asynccontextmanager
async def opened_meanwhile(config: ServeConfig) -> AsyncIterator[asyncio.Future[Engine]]:
    """An engine that opens while its clients are greeted, which takes some seconds."""
    opened: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()

    async def keep_open() -> None:
        try:
            async with Engine(config) as engine:
                opened.set_result(engine)
                await asyncio.Event().wait()
        except Exception as error:  # whatever it is, who waits must hear of it
            if opened.done():
                raise
            opened.set_exception(error)

    keeping = asyncio.create_task(keep_open())
    try:
        yield opened
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping
        opened.cancel()  # where it was never opened


class _Told:
    """How far a search is, in words."""

    def __init__(self) -> None:
        self.words = "at work"

    def __call__(self, event: Progress) -> None:
        if isinstance(event, Expanded):
            self.words = f"{event.spent} nodes"


@asynccontextmanager
async def _telling(context: Context, told: _Told) -> AsyncIterator[None]:
    """Tell a client that asked for it that its call is still at work: many then wait longer."""
    begun = time.monotonic()

    async def tell() -> None:
        while True:
            await asyncio.sleep(_TELL)
            await context.session.report_progress(time.monotonic() - begun, message=told.words)

    asking = asyncio.create_task(tell())
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def _without_outcome(why: Refused) -> CallToolResult:
    said = [words(why.answer)]
    if why.status >= _NOT_OF_THE_TEXT:
        said.append("This says nothing of the theorem.")
    if why.retry_after is not None:
        said.append(f"Ask again in {why.retry_after} s.")
    content = TextContent(type="text", text=visible("\n\n".join(said)))
    return CallToolResult(content=[content], is_error=True)


def _listed(name: str, offer: Offer) -> Tool:
    return Tool(
        name=name, title=offer.title, description=offer.about,
        input_schema=_schema(offer.takes), output_schema=_schema(offer.gives),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, open_world_hint=False
        ),
    )  # fmt: skip


def _schema(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a struct, with the object itself at its root, as the protocol wants it."""
    schema = msgspec.json.schema(kind)
    parts: dict[str, Any] = schema["$defs"]
    root: dict[str, Any] = parts.pop(schema["$ref"].rsplit("/", 1)[1])
    return {**root, "$defs": parts} if parts else root

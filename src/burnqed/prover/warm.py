"""A prover that keeps its Leans running: set up once, it proves many statements."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from burnqed.core.config import build, validated
from burnqed.core.errors import InputError, StatementError
from burnqed.core.watching import warn
from burnqed.evaluation.prove import DEFAULT_HEARTBEATS
from burnqed.evaluation.prove import Prover as Searcher
from burnqed.prover import checking
from burnqed.prover.assembly import Assembled, assemble
from burnqed.prover.checking import SECONDS, Checked
from burnqed.prover.config import Config
from burnqed.prover.leans import modules_of
from burnqed.prover.lemmas import Lemma, lemmas_for, retriever_of
from burnqed.prover.loops import Loop
from burnqed.prover.results import Result, refused, result_of
from burnqed.prover.stepping import ByHand
from burnqed.prover.task import Task, attempt, gate_of, refuse_danger, task_of
from burnqed.search.budget import Budget
from burnqed.search.events import EventSink, ignore

if TYPE_CHECKING:  # it loads numpy
    from burnqed.policy.ranked.retrieval import Retriever

Given = str | Path | Task


def configuration(config: Config | None, settings: dict[str, Any]) -> Config:
    """A configuration, or settings as keyword arguments, but not both."""
    if config is None:
        return build(Config, settings)
    if settings:
        raise InputError(
            "give a config or settings, not both",
            hint="change it with msgspec.structs.replace(config, …)",
        )
    return validated(config)


class Prover:
    """`with Prover(nodes=100) as prover: prover.prove("1 + 1 = 2")`; or `async with`.

    With `with`, it has an event loop in a thread of its own and works in a notebook. A statement is a
    proposition, a `theorem`, a text with `sorry`s to fill, or the `Path` of a file with such a text.
    It also checks texts, with the modules that it has loaded.
    """

    def __init__(self, config: Config | None = None, **settings: Any) -> None:
        self.config = configuration(config, settings)
        self._modules = modules_of(self.config)
        self._loop: Loop | None = None
        self._stack: AsyncExitStack | None = None
        self._parts: Assembled | None = None
        self._searcher: Searcher | None = None
        self._retriever: Retriever | None = None

    # ------------------------------------------------------------------------- with

    def __enter__(self) -> Self:
        self._refuse_open()
        self._loop = Loop()
        try:
            self._loop.call(self._open())
        except BaseException:
            self._end_loop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        try:
            self._loop.call(self._close())
        finally:
            self._end_loop()

    def prove(self, statement: Given) -> Result:
        """Prove one statement, or all holes of a text."""
        return self._thread.call(self._prove(statement))

    def prove_many(self, statements: Sequence[Given]) -> list[Result]:
        """Prove several, with as many searches in parallel as workers; results in the given order."""
        return self._thread.call(self._prove_many(statements))

    def check(self, text: str, against: str | None = None, seconds: float = SECONDS) -> Checked:
        """The judge's verdicts on the theorems of a text, as `burnqed.check` gives them.

        What it is checked `against` may not run code either, unless this prover has `trust`.
        """
        return self._thread.call(self._check(text, against, seconds))

    # ------------------------------------------------------------------- async with

    async def __aenter__(self) -> Self:
        self._refuse_open()
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def prove_async(
        self,
        statement: Given,
        *,
        budget: Budget | None = None,
        seed: int | None = None,
        events: EventSink = ignore,
        at: int | None = None,
    ) -> Result:
        """Like `prove`, in the event loop of `async with`.

        A budget and a seed are for this statement alone; `events` hears its searches. `at` is where the
        only `sorry` of a text that is wanted starts.
        """
        self._refuse_thread()
        return await self._prove(statement, budget, seed, events, at)

    async def prove_many_async(self, statements: Sequence[Given]) -> list[Result]:
        """Like `prove_many`, in the event loop of `async with`."""
        self._refuse_thread()
        return await self._prove_many(statements)

    async def check_async(
        self, text: str, against: str | None = None, seconds: float = SECONDS
    ) -> Checked:
        """Like `check`, in the event loop of `async with`."""
        self._refuse_thread()
        return await self._check(text, against, seconds)

    def by_hand(self, statement: str) -> ByHand:
        """A proof step by step, in the event loop of `async with`, by this prover's Leans."""
        self._refuse_thread()
        searcher = self._open_searcher
        return ByHand(searcher.pool, searcher.judges, statement, DEFAULT_HEARTBEATS)

    async def lemmas_async(self, goal: str, count: int) -> list[Lemma]:
        """Lemmas of the library that a proof of a goal may need, the likeliest first."""
        parts = self.parts
        if self._retriever is None:
            self._retriever = await asyncio.to_thread(retriever_of, parts)
        return await asyncio.to_thread(lemmas_for, self._retriever, goal, count)

    @property
    def parts(self) -> Assembled:
        """Its Lean, its policy and its budget, while it is open."""
        if self._parts is None:
            raise InputError("the prover is not open", hint="use it as `with Prover(…) as prover:`")
        return self._parts

    @property
    def workers(self) -> int:
        """How many searches run at once."""
        return self._open_searcher.pool.size

    @property
    def modules(self) -> tuple[str, ...]:
        """What a text may import."""
        return self._modules

    # ------------------------------------------------------------------------ inside

    async def _open(self) -> None:
        # Setting up takes long and may start event loops: so not in this thread.
        parts = await asyncio.to_thread(assemble, self.config, self._modules, self.config.nodes, warn)
        self._stack = AsyncExitStack()
        self._searcher = await self._stack.enter_async_context(
            parts.opened(gate_of(trust=self.config.trust))
        )
        self._parts = parts

    async def _close(self) -> None:
        stack, self._stack, self._searcher, self._parts = self._stack, None, None, None
        if stack is not None:
            await stack.aclose()

    async def _prove(
        self,
        given: Given,
        budget: Budget | None = None,
        seed: int | None = None,
        events: EventSink = ignore,
        at: int | None = None,
    ) -> Result:
        searcher = self._open_searcher
        if budget is not None:
            searcher = replace(searcher, budget=budget)
        task = given if isinstance(given, Task) else task_of(given)
        try:
            refuse_danger(task, trust=self.config.trust)
            checking.refuse_absent(task.source.imports, self._modules)
            seed = self.config.seed if seed is None else seed
            return result_of(task, await attempt(searcher, task, seed, events, at))
        except StatementError as error:
            return refused(task, error)

    async def _check(self, text: str, against: str | None, seconds: float) -> Checked:
        judges = self._open_searcher.judges
        about = (self.parts.lean.toolchain.label, self._modules)
        return await checking.check_in(judges, text, against, seconds, about)

    async def _prove_many(self, given: Sequence[Given]) -> list[Result]:
        if isinstance(given, str | Path):
            raise InputError("prove_many got a single statement", hint="give it a list")
        tasks = [one if isinstance(one, Task) else task_of(one) for one in given]
        for task in tasks:  # refuse bad input before anything is searched
            checking.refuse_absent(task.source.imports, self._modules)
        running = [asyncio.ensure_future(self._prove(task)) for task in tasks]
        try:
            return list(await asyncio.gather(*running))
        finally:  # if one raised, the others must not go on unseen
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    @property
    def _open_searcher(self) -> Searcher:
        if self._searcher is None:
            raise InputError("the prover is not open", hint="use it as `with Prover(…) as prover:`")
        return self._searcher

    @property
    def _thread(self) -> Loop:
        if self._loop is None:
            raise InputError(
                "the prover is not open, or was opened with `async with`",
                hint="`with Prover(…) as prover:`, or await prover.prove_async(…)",
            )
        return self._loop

    def _refuse_open(self) -> None:
        if self._loop is not None or self._searcher is not None:
            raise InputError("the prover is open already")

    def _refuse_thread(self) -> None:
        if self._loop is not None:
            raise InputError("the prover was opened with `with`", hint="call prover.prove(…)")

    def _end_loop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

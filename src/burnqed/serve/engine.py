"""The engine: requests as values in, answers as values out, over one prover that stays warm.

It knows nothing of HTTP. A request runs as a job, in a task of its own, so that whoever waits for it
can leave: cancelling a job kills the Lean that works for it, and the pool starts another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Self, TypeVar

from burnqed.core.errors import InfrastructureError, InputError, PoolClosed, RequestTimeout
from burnqed.lean.holes import sorry_at
from burnqed.lean.source_file import decoded
from burnqed.prover.results import Proved
from burnqed.prover.task import Task
from burnqed.prover.warm import Prover
from burnqed.serve.answers import (
    CheckAnswer,
    Health,
    LemmaAnswer,
    LemmasAnswer,
    ProveAnswer,
    of_checked,
    of_result,
)
from burnqed.serve.byhand import Proof, Proofs, StepAnswer
from burnqed.serve.config import ServeConfig
from burnqed.serve.events import Begun, Say
from burnqed.serve.growing import Growing
from burnqed.serve.requests import (
    CheckRequest,
    LemmasRequest,
    ProofRequest,
    StartRequest,
    StepRequest,
)
from burnqed.serve.turns import Turns

T = TypeVar("T")
Number = TypeVar("Number", int, float)

# What a request may take besides its search: its text is compiled, and its proof judged.
BESIDES_SEARCH = 60.0
_PROBE, _PROBE_SECONDS = "True", 120.0


class Engine:
    """`async with Engine(config) as engine: answer = await engine.prove(request)`."""

    def __init__(self, config: ServeConfig) -> None:
        if config.trust:
            raise InputError(
                "a server cannot trust its texts", hint="leave out trust: anybody may send one"
            )
        self.config = config
        self._prover = Prover(config)
        self._jobs: set[asyncio.Task[Any]] = set()
        self._proofs = Proofs()
        self._ending = False

    async def __aenter__(self) -> Self:
        """Start the Leans, and prove something with them: what is open works."""
        await self._prover.__aenter__()
        try:
            # However little a request may take: the first search of a Lean is slow.
            budget = replace(self._prover.parts.budget, seconds=_PROBE_SECONDS)
            found = await self._prover.prove_async(_PROBE, budget=budget)
            if not isinstance(found, Proved):
                raise InfrastructureError(
                    f"the prover does not even prove {_PROBE}: {found.said}",
                    hint="burn-qed doctor looks for what is wrong",
                )
        except BaseException:
            await self._prover.__aexit__()
            raise
        self._turns = Turns(self._prover.workers, self.config.queue)
        self._lookups = Turns(1, self.config.queue)  # in the library
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel what runs, and end the Leans."""
        self._ending = True
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self._prover.__aexit__()

    # ------------------------------------------------------------------------------ requests

    async def prove(self, asked: ProofRequest, say: Say | None = None) -> ProveAnswer:
        """Search and judge. Cancelling it frees its place and its Lean.

        Raises `Busy`, `InputError`, and `InfrastructureError` where nothing is known.
        """
        return await self._awaited(self.begin(asked, say))

    def begin(self, asked: ProofRequest, say: Say | None = None) -> asyncio.Task[ProveAnswer]:
        """The same as a task, which tells `say` how far it is. It is admitted, or this raises."""
        text = self._text(asked.text)
        nodes = _within("nodes", asked.nodes, self.config.nodes)
        seconds = _within("seconds", asked.seconds, self.config.seconds)
        # At most: each is searched for by a Lean of its own.
        places = text.count("sorry") if asked.line is None else 1
        rounds = max(1, -(-places // self._turns.places))

        async def work() -> ProveAnswer:
            if say is not None:
                say(Begun())
            task = await asyncio.to_thread(Task, text)  # reading long texts keeps a thread busy
            at = None
            if asked.line is not None:
                at = await asyncio.to_thread(sorry_at, task.source.body, asked.line, asked.column)
            # The `sorry`s of a text share the time.
            own = self._prover.parts.budget
            budget = replace(own, nodes=nodes, seconds=seconds / rounds)
            growing = Growing(say)
            try:
                async with asyncio.timeout(seconds + BESIDES_SEARCH):
                    found = await self._prover.prove_async(
                        task, budget=budget, seed=asked.seed, events=growing, at=at
                    )
            except TimeoutError:  # the search itself ends in time, so it is the rest that does not
                raise RequestTimeout(
                    f"no outcome within {seconds + BESIDES_SEARCH:g} s", seconds=seconds
                ) from None
            if isinstance(found, Proved):
                growing.accepted()
            return of_result(found, suggest=asked.suggest)

        return self._job(work, places)

    async def check(self, asked: CheckRequest) -> CheckAnswer:
        """The judge's verdicts. Raises as `prove` does, and `RequestTimeout` without a verdict."""
        text = self._text(asked.text)
        against = None if asked.against is None else self._text(asked.against)
        seconds = _within("seconds", asked.seconds, self.config.seconds)

        async def work() -> CheckAnswer:
            return of_checked(await self._prover.check_async(text, against, seconds))

        return await self._awaited(self._job(work))

    async def start(self, asked: StartRequest) -> StepAnswer:
        """Start a proof by hand. It holds a Lean only while a step runs."""
        text = self._text(asked.text)

        async def work() -> StepAnswer:
            proof = Proof(self._prover.by_hand(text), bytes=len(text.encode()))
            first = await self._in_time(proof.start())
            self._proofs.add(proof)
            return first

        return await self._awaited(self._job(work))

    async def step(self, id: str, asked: StepRequest) -> StepAnswer:
        """A tactic at a state of a proof by hand. Raises `Refused` if there is no such proof."""
        tactic, proof = self._text(asked.tactic), self._proofs.find(id)
        return await self._awaited(self._job(lambda: self._in_time(proof.step(asked.state, tactic))))

    def forget(self, id: str) -> None:
        """End a proof by hand. Raises `Refused` if there is no such proof."""
        self._proofs.end(id)

    async def lemmas(self, asked: LemmasRequest) -> LemmasAnswer:
        """Lemmas of the library for a goal. Raises `InputError` if the library was not read."""
        text = self._text(asked.text)
        async with self._lookups.turn():
            looking = asyncio.ensure_future(self._prover.lemmas_async(text, asked.count))
            try:
                found = await asyncio.shield(looking)
            except asyncio.CancelledError:
                await asyncio.wait({looking})  # its thread cannot be stopped, and keeps its turn
                raise
        return LemmasAnswer(
            lemmas=tuple(
                LemmaAnswer(name=one.name, module=one.module, statement=one.statement, share=one.share)
                for one in found
            )
        )

    def health(self) -> Health:
        parts, turns, config = self._prover.parts, self._turns, self.config
        return Health(
            status="ending" if self._ending else "ok", version=version("burn-qed"),
            toolchain=parts.lean.toolchain.label, modules=self._prover.modules,
            policy=parts.policy.choice.kind, model=parts.policy.choice.model,
            workers=self._prover.workers, running=turns.running, waiting=turns.waiting,
            most_waiting=turns.most_waiting, most_nodes=config.nodes, most_seconds=config.seconds,
            most_text_bytes=config.text_bytes,
        )  # fmt: skip

    # -------------------------------------------------------------------------------- inside

    def _job(self, work: Callable[[], Awaitable[T]], width: int = 1) -> asyncio.Task[T]:
        """Do the work in its turn, in a task that ends with the engine. Raises `Busy`."""
        if self._ending:
            raise PoolClosed("the server is stopping")
        turn = self._turns.turn(width)

        async def in_turn() -> T:
            async with turn:
                return await work()

        job = asyncio.create_task(in_turn())
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        job.add_done_callback(lambda _: turn.leave())  # it may end before it began
        return job

    async def _awaited(self, job: asyncio.Task[T]) -> T:
        """A job's answer. It also ends with whoever waits for it."""
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            job.cancel()
            await asyncio.wait({job})  # its place is free once its Lean is gone
            raise
        if job.cancelled():
            raise PoolClosed("the server is stopping")
        return job.result()

    async def _in_time(self, work: Awaitable[T]) -> T:
        seconds = self.config.seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise RequestTimeout(f"no answer within {seconds:g} s", seconds=seconds) from None

    def _text(self, given: str) -> str:
        size, most = len(given.encode()), self.config.text_bytes
        if size > most:
            raise InputError(
                f"the text has {size} bytes, at most {most} are allowed",
                hint="send less at once; --text-bytes of the server raises the limit",
            )
        try:
            return decoded(given.encode())
        except InputError as error:
            raise InputError(f"the text {error.message}", hint=error.hint) from error


def _within(name: str, asked: Number | None, most: Number) -> Number:
    if asked is None:
        return most
    if asked > most:
        raise InputError(
            f"{name} is {asked:g}, at most {most:g} are allowed",
            hint=f"ask for less; --{name} of the server raises the limit",
        )
    return asked

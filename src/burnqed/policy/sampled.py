"""A policy that samples from a model: what all models have in common, wherever they run.

Requests of all running searches are gathered into batches, a state that was asked before is not asked
again, and what comes back is cleaned and becomes candidates.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from burnqed.core.errors import BurnQedError, InfrastructureError, PromptRefused
from burnqed.core.types import Candidate, Goal, Theorem, state_text
from burnqed.policy.candidates import Sample, candidates_from
from burnqed.policy.prompt import FORMATS, PromptSettings

_REMEMBERED = 100_000  # states; one is a few kB


@dataclass(frozen=True, slots=True)
class Request:
    """`n` samples for a state, by its text. At temperature 0 the likeliest are asked for."""

    state: str
    n: int
    temperature: float
    seed: int


# What cannot be asked has its error in its place, so that the others keep their samples.
Answer = list[Sample] | PromptRefused


class Sampler(Protocol):
    """A model that can be asked."""

    settings: PromptSettings
    concurrency: int  # batches that it can be asked at once
    largest: int  # states in one batch

    async def sample(self, requests: Sequence[Request]) -> Sequence[Answer]:
        """The samples of each request. Raises `InfrastructureError` when there is no telling."""
        ...

    async def check(self) -> tuple[str, ...]:
        """Raises when it cannot be asked at all; what is only less than ideal is told."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


class SampledPolicy:
    """The `Policy` port over a sampler."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.asked = 0  # states that the model was asked about
        self.known = 0  # states that had been asked about before
        self._format = FORMATS[sampler.settings.format]
        self._answers: OrderedDict[Request, asyncio.Future[list[Candidate]]] = OrderedDict()
        self._waiting: list[Request] = []
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    def about(self, theorem: Theorem) -> SampledPolicy:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        # A goal that is not a tactic's (`conv`, `calc`) prints differently and is asked all the same.
        return await self.propose_for([state_text(goals) for goals in states], n, temperature, seed)

    async def propose_for(
        self, states: Sequence[str], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        """The same for states as they are shown."""
        # What is likeliest does not depend on a seed: one answer serves every theorem.
        seed = 0 if temperature <= 0 else seed
        requests = [Request(state, n, temperature, seed) for state in states]
        answers = [self._ask(request) for request in requests]
        # Shielded: a search that is cancelled must not take the answer from others that wait for it.
        return [list(await asyncio.shield(answer)) for answer in answers]

    async def close(self) -> None:
        """Whoever still waits is told. No call may follow but `close`."""
        self._closed = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        # Those that no batch had taken yet, and those of a batch that was stopped before it began.
        for request in [r for r, answer in self._answers.items() if not answer.done()]:
            self._fail(request, _was_closed())
        self._waiting.clear()
        await self.sampler.close()

    def _ask(self, request: Request) -> asyncio.Future[list[Candidate]]:
        if self._closed:
            raise _was_closed()
        answer = self._answers.get(request)
        if answer is not None:
            self.known += 1
            self._answers.move_to_end(request)
            return answer
        self.asked += 1
        answer = asyncio.get_running_loop().create_future()
        self._answers[request] = answer
        self._waiting.append(request)
        self._start()
        return answer

    def _start(self) -> None:
        """One more batch, if the sampler takes one. It collects what is waiting when it begins."""
        if len(self._running) < self.sampler.concurrency:
            task = asyncio.get_running_loop().create_task(self._batch())
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._waiting and not self._closed:
            self._start()

    async def _batch(self) -> None:
        await asyncio.sleep(0)  # searches that are ready to ask do so first
        batch, self._waiting = (
            self._waiting[: self.sampler.largest],
            self._waiting[self.sampler.largest :],
        )
        if not batch:
            return
        if self._waiting:
            self._start()
        try:
            answers = await self.sampler.sample(batch)
            found = [
                answer
                if isinstance(answer, PromptRefused)
                else candidates_from(self._format, answer, request.n)
                for request, answer in zip(batch, answers, strict=True)
            ]
        except asyncio.CancelledError:
            for request in batch:
                self._fail(request, _was_closed())
            raise
        except Exception as error:
            for request in batch:
                self._fail(request, error if isinstance(error, BurnQedError) else _failed(error))
            return
        for request, outcome in zip(batch, found, strict=True):
            if isinstance(outcome, PromptRefused):
                self._fail(request, outcome)
            else:
                self._answers[request].set_result(outcome)
        self._forget()

    def _fail(self, request: Request, error: Exception) -> None:
        """Tell whoever waits. It is not remembered: the next search that asks tries again."""
        answer = self._answers.pop(request)
        answer.set_exception(error)
        answer.exception()  # it may be that nobody waits any more

    def _forget(self) -> None:
        while len(self._answers) > _REMEMBERED:
            _, oldest = next(iter(self._answers.items()))
            if not oldest.done():
                return
            self._answers.popitem(last=False)


def _failed(error: Exception) -> InfrastructureError:
    """Trouble with the model says nothing about a theorem: it must stop a run, not be an outcome."""
    return InfrastructureError(
        f"the model failed: {type(error).__name__}: {error}",
        hint="fewer --candidates or --workers need less memory; what was finished is saved, --resume "
        "goes on",
    )


def _was_closed() -> InfrastructureError:
    return InfrastructureError("the policy was closed while it was asked for tactics")

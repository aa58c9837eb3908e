"""Several servers of one model, asked as one.

A batch goes to the server that has the fewest states to answer, of those that are well. One is not
well after it failed, or while it answers no question for its health: what it had is asked elsewhere,
and it is asked again once it answers. No state is given up while another server may answer: only if
none is well for `Pace.patience` seconds it is an error, of the servers and not of a theorem.

Each process that asks counts its own states. With several of them (the nodes of a cluster) the load is
that of all of them in the mean.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from burnqed.core.errors import BurnQedError, InputError, ServerError
from burnqed.core.tasks import together
from burnqed.policy.sampled import Answer, Request, Sampler

Warn = Callable[[str], None]
# Times that a batch may be what its servers fail on, before the failure is its own.
_TRIES = 6


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds: between two looks, for the answer to one, and until all are given up."""

    look: float = 5.0
    answer: float = 10.0
    patience: float = 300.0
    missed: int = 3  # looks in a row without an answer, until a busy server counts as lost


class Replica(Sampler, Protocol):
    """One of them."""

    serves: str | None  # which model, once that is known

    @property
    def url(self) -> str:
        """What it is called."""

    async def alive(self, seconds: float) -> bool:
        """Whether it answers a question that costs it nothing."""


@dataclass(eq=False, slots=True)
class _State:
    sampler: Replica
    well: bool = True
    busy: int = 0  # states that it has been asked about and has not answered
    missed: int = 0
    said: str = ""  # how it failed
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return self.sampler.url


class Replicas:
    """The `Sampler` over several servers."""

    def __init__(self, samplers: Sequence[Replica], warn: Warn, pace: Pace | None = None) -> None:
        self.settings = samplers[0].settings
        self.concurrency = sum(one.concurrency for one in samplers)
        self.largest = min(one.largest for one in samplers)
        self._all = [_State(one) for one in samplers]
        self._warn, self._pace = warn, pace or Pace()
        self._recovered = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._model: str | None = None

    async def check(self) -> tuple[str, ...]:
        """Raises if none can be asked, or if they serve different models. Those that are down may come
        later.
        """
        found = await asyncio.gather(
            *(one.sampler.check() for one in self._all), return_exceptions=True
        )
        notes: dict[str, None] = {}
        failed: list[ServerError] = []
        for one, told in zip(self._all, found, strict=True):
            if isinstance(told, ServerError):
                failed.append(told)
                one.well, one.said = False, told.message
            elif isinstance(told, BaseException):
                raise told
            else:
                notes |= dict.fromkeys(told)
                self._same_model(one)
        if len(failed) == len(self._all):
            raise failed[0]
        for error in failed:
            self._warn(f"{error.message}; the other servers are asked until it answers")
        return tuple(notes)

    async def sample(self, requests: Sequence[Request]) -> Sequence[Answer]:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        for _ in range(_TRIES):
            one = await self._least_busy()
            try:
                return await self._asked(one, requests)
            except ServerError as error:
                last = error
                self._fell_ill(one, error.message)
        raise ServerError(
            f"{_TRIES} servers in turn failed on a request; the last: {last.message}", hint=last.hint
        )

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await together(*(one.sampler.close() for one in self._all))

    async def _asked(self, one: _State, requests: Sequence[Request]) -> Sequence[Answer]:
        """Its answer. Raises as soon as it is found lost, however long it may be silent yet."""
        one.busy += len(requests)
        asking = asyncio.ensure_future(one.sampler.sample(requests))
        losing = asyncio.ensure_future(one.lost.wait())
        try:
            await asyncio.wait({asking, losing}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise ServerError(f"{one.url} does not answer any more", hint="its log says more")
            return asking.result()
        finally:
            one.busy -= len(requests)
            for task in (asking, losing):
                task.cancel()
            await asyncio.gather(asking, losing, return_exceptions=True)

    async def _least_busy(self) -> _State:
        end = time.monotonic() + self._pace.patience
        while True:
            well = [one for one in self._all if one.well]
            if well:
                return min(well, key=lambda one: one.busy)
            left = end - time.monotonic()
            if left <= 0:
                said = "; ".join(one.said for one in self._all)
                raise ServerError(
                    f"no server was well for {self._pace.patience:g} s: {said}",
                    hint="start one of them again; what was finished is saved, --resume goes on",
                )
            self._recovered.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._recovered.wait(), left)

    # ---------------------------------------------------------------------------------- health

    async def _look(self) -> None:
        """Ask the busy for their health, and the ill whether they are well again."""
        while True:
            await asyncio.sleep(self._pace.look)
            await together(*(self._look_at(one) for one in self._all if one.busy or not one.well))

    async def _look_at(self, one: _State) -> None:
        try:
            await self._see_to(one)
        except Exception as error:  # of whatever kind: the others are still to be looked at
            one.said = f"{one.url}: {error}"

    async def _see_to(self, one: _State) -> None:
        alive = await one.sampler.alive(self._pace.answer)
        if not one.well:
            if alive:
                await self._try_again(one)
            return
        one.missed = 0 if alive else one.missed + 1
        # Some servers answer nothing while they compute: where there is no other, it is waited for.
        others = any(other.well for other in self._all if other is not one)
        if one.missed >= self._pace.missed and others:
            self._fell_ill(one, f"{one.url} answered no question for its health")

    async def _try_again(self, one: _State) -> None:
        try:
            await one.sampler.check()
            self._same_model(one)
        except BurnQedError as error:
            one.said = error.message
            return
        one.well, one.missed, one.lost = True, 0, asyncio.Event()
        self._recovered.set()
        self._warn(f"{one.url} answers again")

    def _fell_ill(self, one: _State, why: str) -> None:
        if one.well:
            one.well, one.said = False, why
            one.lost.set()
            self._warn(f"{why}; its requests go to the other servers")

    def _same_model(self, one: _State) -> None:
        """Candidates of two models in one search would be of neither."""
        serves = one.sampler.serves
        if self._model is None:
            self._model = serves
        elif serves is not None and serves != self._model:
            raise InputError(
                f"{one.url} serves {serves}, and another server {self._model}",
                hint="give only servers of one model, or its name with --model",
            )

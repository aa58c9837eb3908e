"""Turns: their order, their bounds, and what a cancelled one leaves behind."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from burnqed.core.errors import Busy
from burnqed.serve.turns import Turns


class Clients:
    """Tasks that take a turn and keep it until they are told."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str, width: int = 1) -> None:
        for name in names:
            self._ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._take(name, width))
            await asyncio.sleep(0)
        await _settled()

    async def _take(self, name: str, width: int) -> None:
        async with self.turns.turn(width):
            self.began.append(name)
            await self._ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
            await self._tasks[name]
        await _settled()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        with suppress(asyncio.CancelledError):
            await self._tasks[name]
        await _settled()


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_they_come_in_order_and_no_more_at_once_than_there_are_places() -> None:
    clients = Clients(Turns(2, 10))
    await clients.come("a", "b", "c", "d")
    assert clients.began == ["a", "b"]
    assert (clients.turns.running, clients.turns.waiting) == (2, 2)
    await clients.end("b")
    assert clients.began == ["a", "b", "c"]
    await clients.end("a", "c", "d")
    assert clients.began == ["a", "b", "c", "d"]
    assert (clients.turns.running, clients.turns.waiting) == (0, 0)


async def test_who_finds_no_room_is_refused_at_once() -> None:
    clients = Clients(Turns(1, 2))
    await clients.come("a", "b", "c")
    with pytest.raises(Busy, match="1 requests run and 2 wait") as caught:
        async with clients.turns.turn():
            pytest.fail("there was no room")
    assert 1 <= caught.value.seconds <= 60
    await clients.end("a")
    await clients.come("d")
    await clients.end("b", "c", "d")
    assert clients.began == ["a", "b", "c", "d"]


async def test_without_a_queue_a_free_place_is_still_taken() -> None:
    clients = Clients(Turns(1, 0))
    await clients.come("a")
    with pytest.raises(Busy):
        async with clients.turns.turn():
            pytest.fail("there was no room")
    await clients.end("a")
    await clients.come("b")
    await clients.end("b")


async def test_places_are_taken_and_given_back_before_anything_is_awaited() -> None:
    turns = Turns(2, 0)
    first, second = turns.turn(), turns.turn()
    with pytest.raises(Busy, match="2 requests run and 0 wait"):
        turns.turn()
    first.leave()
    first.leave()
    assert turns.running == 1
    async with turns.turn():
        assert turns.running == 2
    second.leave()
    assert (turns.running, turns.waiting) == (0, 0)


async def test_a_wide_turn_waits_for_all_its_places_and_those_behind_it_wait() -> None:
    clients = Clients(Turns(3, 10))
    await clients.come("a", "b")
    await clients.come("wide", width=99)  # no wider than there are places
    await clients.come("c")
    assert clients.began == ["a", "b"], "c must not overtake, or a wide one may wait for ever"
    await clients.end("a")
    assert clients.began == ["a", "b"]
    await clients.end("b")
    assert clients.began == ["a", "b", "wide"]
    await clients.end("wide")
    await clients.come("d", "e")
    assert clients.began == ["a", "b", "wide", "c", "d", "e"]
    await clients.end("c", "d", "e")


async def test_who_leaves_gives_back_what_it_had() -> None:
    clients = Clients(Turns(2, 10))
    await clients.come("a")
    await clients.come("wide", width=2)
    await clients.come("b")
    assert clients.began == ["a"]
    await clients.cancel("wide")  # it had one of the two places
    assert clients.began == ["a", "b"]
    await clients.cancel("a")
    await clients.end("b")
    await clients.come("later", width=2)
    assert clients.began[-1] == "later"
    await clients.end("later")
    assert (clients.turns.running, clients.turns.waiting) == (0, 0)

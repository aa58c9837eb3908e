"""What many askers ask at once is one batch, and nobody fails for what another one asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from burnqed.policy.candidates import Sample
from burnqed.policy.gathered import Gathered
from burnqed.policy.prompt import PromptSettings
from burnqed.policy.sampled import Answer, Request


@dataclass
class Model:
    """A model whose memory holds so many states, and never a certain one."""

    room: int = 4
    heavy: str = "none"
    settings: PromptSettings = field(default_factory=PromptSettings)
    concurrency: int = 1
    largest: int = 8
    batches: list[list[str]] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def sample(self, requests: Sequence[Request]) -> Sequence[Answer]:
        states = [request.state for request in requests]
        self.batches.append(states)
        self.begun.set()
        await asyncio.sleep(0.01)
        if len(states) > self.room or self.heavy in states:
            raise MemoryError("too much")
        return [[Sample(state, -1.0, 1, True)] for state in states]

    async def check(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None: ...


def asked(*names: str) -> list[Request]:
    return [Request(name, 1, 1.0, 0) for name in names]


def texts(answers: Sequence[Answer]) -> list[str]:
    return [sample.text for answer in answers if isinstance(answer, list) for sample in answer]


async def test_what_is_asked_at_once_is_one_batch_and_each_gets_its_own() -> None:
    model = Model()
    gathered = Gathered(model)
    one, other = await asyncio.gather(
        gathered.sample(asked("a", "b")), gathered.sample(asked("c", "d"))
    )
    assert model.batches == [["a", "b", "c", "d"]]
    assert (texts(one), texts(other)) == (["a", "b"], ["c", "d"])


async def test_what_comes_in_meanwhile_is_the_next_batch() -> None:
    model = Model()
    gathered = Gathered(model)
    first = asyncio.create_task(gathered.sample(asked("a")))
    await model.begun.wait()
    later = [asyncio.create_task(gathered.sample(asked(name))) for name in "bcd"]
    await asyncio.gather(first, *later)
    assert model.batches == [["a"], ["b", "c", "d"]]


async def test_no_batch_is_larger_than_the_model_takes() -> None:
    model = Model(room=8)
    await Gathered(model).sample(asked(*"abcdefghijk"))
    assert [len(batch) for batch in model.batches] == [8, 3]


async def test_a_batch_that_is_too_much_is_halved() -> None:
    model = Model(room=2)
    assert texts(await Gathered(model).sample(asked(*"abcde"))) == list("abcde")


async def test_a_state_that_is_too_much_fails_alone() -> None:
    gathered = Gathered(Model(heavy="c"))
    found = await asyncio.gather(
        *(gathered.sample(asked(name)) for name in "abcd"), return_exceptions=True
    )
    assert [texts(one) for one in found if isinstance(one, list)] == [["a"], ["b"], ["d"]]
    assert isinstance(found[2], MemoryError)
    assert texts(await gathered.sample(asked("e"))) == ["e"], "it goes on"


async def test_an_asker_that_is_gone_is_not_answered() -> None:
    model = Model()
    gathered = Gathered(model)
    gone = asyncio.create_task(gathered.sample(asked("a")))
    stays = asyncio.create_task(gathered.sample(asked("b")))
    await model.begun.wait()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert texts(await stays) == ["b"]

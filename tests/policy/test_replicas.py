"""Several servers of one model: who is asked, what becomes of one that fails, hangs or comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from burnqed.core.errors import InputError, ServerError
from burnqed.policy.http import Limits
from burnqed.policy.openai import OpenAIConfig, OpenAISampler
from burnqed.policy.replicas import Pace, Replicas
from burnqed.policy.sampled import Request
from burnqed.policy.urls import urls_of
from burnqed.prover.policies import choice
from tests.policy import servers
from tests.policy.servers import Asked, Handler, Reply, Server

QUICK = Pace(look=0.02, answer=0.2, patience=2.0, missed=2)
LIMITS = Limits(attempts=1, silence=60.0, first_wait=0.0)


def tactics(asked: Asked) -> bool:
    """Whether it is a question for tactics, and not one for the server's health or its models."""
    return asked.path.endswith("/completions")


def asked_for(server: Server) -> int:
    return sum(tactics(asked) for asked in server.asked)


@asynccontextmanager
async def replicas(
    urls: Sequence[str], pace: Pace = QUICK
) -> AsyncIterator[tuple[Replicas, list[str]]]:
    told: list[str] = []
    made = [OpenAISampler(OpenAIConfig(url=url, limits=LIMITS)) for url in urls]
    them = Replicas(made, told.append, pace)
    try:
        yield them, told
    finally:
        await them.close()


class Switch:
    """A server that can be told how to behave from now on."""

    def __init__(self, how: Callable[[Asked], Reply] | None = None) -> None:
        self.how: Handler = how or servers.openai()

    def __call__(self, asked: Asked) -> Reply:
        return self.how(asked)


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not happened():  # noqa: ASYNC110 - of many kinds
            await asyncio.sleep(0.01)


def request(number: int) -> Request:
    return Request(f"⊢ {number} = {number}", 2, 1.0, 0)


async def test_the_least_busy_is_asked() -> None:
    def slow(asked: Asked) -> Reply:
        reply = servers.openai()(asked)
        return Reply(reply.body, after=0.3 if tactics(asked) else 0.0)

    async with (
        servers.serve(slow) as one,
        servers.serve(servers.openai()) as other,
        replicas([one.url, other.url]) as (them, _),
    ):
        await them.check()
        before = asked_for(one), asked_for(other)
        waiting = asyncio.create_task(them.sample([request(0)]))  # one has a state now
        await asyncio.sleep(0.05)
        for number in range(1, 4):
            await them.sample([request(number)])
        await waiting
        assert (asked_for(one) - before[0], asked_for(other) - before[1]) == (1, 3)


async def test_a_server_that_is_down_is_done_without_until_it_comes() -> None:
    late = Switch(lambda _: Reply({}, 503))
    async with (
        servers.serve(servers.openai()) as one,
        servers.serve(late) as other,
        replicas([one.url, other.url]) as (them, told),
    ):
        await them.check()
        assert [other.url in text for text in told] == [True]
        await them.sample([request(0), request(1)])
        late.how = servers.openai()
        await until(lambda: any("answers again" in text for text in told))
        before = asked_for(other)
        both = (them.sample([request(2)]), them.sample([request(3)]))
        await asyncio.gather(*both)
        assert asked_for(other) == before + 1


@pytest.mark.parametrize("manner", ["frozen", "stuck", "cut"])
async def test_what_a_lost_server_had_is_asked_elsewhere(manner: str) -> None:
    """It freezes with a request: nobody waits for the minutes that a server may take for one."""
    dying = Switch()

    def frozen(asked: Asked) -> Reply:
        return Reply({"data": []}, manner=manner)  # type: ignore[arg-type]

    async with (
        servers.serve(dying) as one,
        servers.serve(servers.openai()) as other,
        replicas([one.url, other.url]) as (them, told),
    ):
        await them.check()
        dying.how = frozen
        async with asyncio.timeout(10):
            (samples,) = await them.sample([request(0)])
        assert isinstance(samples, list)
        assert len(samples) == 2
        assert "its requests go to the other servers" in " ".join(told)
        assert asked_for(other) > 0


async def test_a_server_that_is_silent_while_it_computes_is_waited_for_if_it_is_the_only_one() -> None:
    busy = Switch()

    def computing(asked: Asked) -> Reply:
        return Reply(servers.openai()(asked).body, after=0.6)

    async with (
        servers.serve(busy) as one,
        servers.serve(servers.openai()) as other,
        replicas([one.url, servers.nobody()]) as (them, _),
    ):
        await them.check()
        busy.how = computing
        (samples,) = await them.sample([request(0)])
        assert isinstance(samples, list)
        assert not other.asked


async def test_if_none_is_well_it_is_an_error_of_the_servers() -> None:
    dying = Switch()
    async with (
        servers.serve(dying) as one,
        replicas([one.url, servers.nobody()], Pace(0.02, 0.1, 0.3, 2)) as (them, _),
    ):
        await them.check()
        dying.how = lambda _: Reply({}, 500)
        with pytest.raises(ServerError, match=r"no server was well for 0\.3 s"):
            await them.sample([request(0)])


async def test_all_of_them_restarted_are_waited_for() -> None:
    dying = Switch()
    async with (
        servers.serve(dying) as one,
        replicas([one.url, servers.nobody()], Pace(0.02, 0.1, 10.0, 2)) as (them, _),
    ):
        await them.check()
        dying.how = lambda _: Reply({}, 500)
        asking = asyncio.create_task(them.sample([request(0)]))
        await asyncio.sleep(0.2)
        assert not asking.done()
        dying.how = servers.openai()
        (samples,) = await asking
        assert isinstance(samples, list)


async def test_two_models_are_refused() -> None:
    other_model = servers.openai(models={"data": [{"id": "large"}]})

    def large(asked: Asked) -> Reply:
        body = asked.body and {**asked.body, "model": "tiny"}
        return other_model(Asked(asked.path, asked.headers, body))

    async with (
        servers.serve(servers.openai()) as one,
        servers.serve(large) as other,
        replicas([one.url, other.url]) as (them, _),
    ):
        with pytest.raises(InputError, match="serves large, and another server tiny"):
            await them.check()


async def test_what_one_refuses_another_is_not_asked() -> None:
    """A wrong key or a wrong name is of all of them."""
    refusing = Switch()
    async with (
        servers.serve(refusing) as one,
        servers.serve(servers.openai()) as other,
        replicas([one.url, other.url]) as (them, _),
    ):
        await them.check()
        before = asked_for(other)
        refusing.how = lambda _: Reply({"detail": "who are you?"}, 401)
        with pytest.raises(InputError, match="refuses the key"):
            await them.sample([request(0)])
        assert asked_for(other) == before


async def test_without_any_at_the_start_it_is_refused_at_once() -> None:
    async with replicas([servers.nobody(), servers.nobody()]) as (them, _):
        with pytest.raises(ServerError, match="gave no answer"):
            await them.check()


def test_addresses_with_commas() -> None:
    assert urls_of("http://a:1, http://b:2,,http://a:1") == ("http://a:1", "http://b:2")
    with pytest.raises(InputError, match="needs a server"):
        choice("openai", url=" ,")

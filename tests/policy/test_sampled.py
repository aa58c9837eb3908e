"""Many searches and one model: who asks with whom, what is remembered, and who is told of trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from burnqed.core.errors import InfrastructureError, PromptRefused, ServerError
from burnqed.core.types import Candidate, Goal
from burnqed.policy import sampled
from burnqed.policy.candidates import Sample
from burnqed.policy.prompt import PromptSettings
from burnqed.policy.sampled import Answer, Request, SampledPolicy

Says = Callable[[Request], list[Sample]]


def echo(request: Request) -> list[Sample]:
    """Tactics that say what was asked: the target, and a number."""
    target = request.state.split("⊢ ")[1]
    return [Sample(f"{target}_{i}", -float(i + 1), 2 + i) for i in range(request.n)]


class Model:
    """A sampler that answers when it is told to; `calls` are the batches that it got."""

    def __init__(self, answer: Says = echo, *, concurrency: int = 1, largest: int = 64) -> None:
        self.settings = PromptSettings()
        self.concurrency = concurrency
        self.largest = largest
        self.answer = answer
        self.calls: list[list[Request]] = []
        self.running = 0
        self.most = 0
        self.closed = False
        self.go = asyncio.Event()
        self.go.set()

    async def sample(self, requests: Sequence[Request]) -> list[list[Sample]]:
        self.calls.append(list(requests))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
            return [self.answer(request) for request in requests]
        finally:
            self.running -= 1

    async def check(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        self.closed = True

    @property
    def sizes(self) -> list[int]:
        return [len(call) for call in self.calls]


async def ask(policy: SampledPolicy, *targets: str, n: int = 1, seed: int = 0) -> list[list[Candidate]]:
    return await policy.propose([[Goal("g", target)] for target in targets], n, 1.0, seed)


async def soon() -> None:
    """Let everything that can run do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_searches_that_ask_together_share_a_batch() -> None:
    model = Model()
    policy = SampledPolicy(model)
    answers = await asyncio.gather(*(ask(policy, f"p{i}", f"q{i}") for i in range(10)))
    assert model.sizes == [20]
    for i, (p, q) in enumerate(answers):
        assert [c.tactic for c in p + q] == [f"p{i}_0", f"q{i}_0"]
    assert (policy.asked, policy.known) == (20, 0)


async def test_what_comes_meanwhile_is_one_batch_after_it() -> None:
    model = Model()
    model.go.clear()
    policy = SampledPolicy(model)
    tasks = [asyncio.create_task(ask(policy, "p"))]
    await soon()
    for i in range(5):
        tasks.append(asyncio.create_task(ask(policy, f"q{i}")))
        await soon()
    assert model.sizes == [1]
    model.go.set()
    await asyncio.gather(*tasks)
    assert model.sizes == [1, 5]
    assert model.most == 1


async def test_batches_have_a_size_and_there_are_only_so_many() -> None:
    model = Model(concurrency=3, largest=4)
    model.go.clear()
    policy = SampledPolicy(model)
    task = asyncio.create_task(ask(policy, *(f"p{i}" for i in range(30))))
    await soon()
    assert model.sizes == [4, 4, 4]
    model.go.set()
    answers = await task
    assert [c.tactic for (c,) in answers] == [f"p{i}_0" for i in range(30)]
    assert model.sizes == [4] * 7 + [2]
    assert model.most == 3


async def test_what_was_asked_before_is_known() -> None:
    model = Model()
    policy = SampledPolicy(model)
    first = await ask(policy, "p", "q", "p")
    assert first[0] == first[2]
    assert (await ask(policy, "q", "p")) == [first[1], first[0]]
    assert model.sizes == [2]
    assert (policy.asked, policy.known) == (2, 3)
    await ask(policy, "p", n=2)
    await ask(policy, "p", seed=1)
    await policy.propose([[Goal("g", "p")]], 1, 0.5, 0)
    assert model.sizes == [2, 1, 1, 1], "another question is another one"


async def test_an_answer_can_be_changed_by_who_got_it() -> None:
    policy = SampledPolicy(Model())
    (first,) = await ask(policy, "p", n=3)
    first.clear()
    (again,) = await ask(policy, "p", n=3)
    assert len(again) == 3


async def test_the_name_of_a_goal_is_no_part_of_the_question() -> None:
    """Lean names goals anew whenever a state is replayed."""
    model = Model()
    policy = SampledPolicy(model)
    await policy.propose([[Goal("_uniq.1", "p")]], 1, 1.0, 0)
    await policy.propose([[Goal("_uniq.2", "p")]], 1, 1.0, 0)
    assert model.sizes == [1]
    await policy.propose([[Goal("_uniq.1", "p"), Goal("_uniq.2", "p")]], 1, 1.0, 0)
    assert model.sizes == [1, 1]


async def test_a_question_under_way_is_shared() -> None:
    model = Model(concurrency=8)
    model.go.clear()
    policy = SampledPolicy(model)
    tasks = [asyncio.create_task(ask(policy, "p"))]
    await soon()
    tasks.append(asyncio.create_task(ask(policy, "p")))
    await soon()
    model.go.set()
    first, second = await asyncio.gather(*tasks)
    assert first == second
    assert model.sizes == [1]


async def test_samples_become_candidates() -> None:
    def answer(_: Request) -> list[Sample]:
        return [
            Sample(" simp\n", -1.0, 3),
            Sample("simp", -2.0, 2),
            Sample("simp", -2.0, 2),
            Sample("rfl```rest", -1.0, 4),
            Sample("cut", -0.1, 9, ended=False),
            Sample("  ", -0.1, 1),
        ]

    ((simp, rfl),) = await ask(SampledPolicy(Model(answer)), "p", n=6)
    assert (simp.tactic, simp.length) == ("simp", 2)
    assert (rfl.tactic, rfl.length) == ("rfl", 4)
    assert simp.logprob > rfl.logprob


async def test_only_so_much_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "_REMEMBERED", 2)
    model = Model()
    policy = SampledPolicy(model)
    for target in ("p", "q", "p", "r", "p", "q"):
        await ask(policy, target)
    assert [call[0].state for call in model.calls] == ["⊢ p", "⊢ q", "⊢ r", "⊢ q"], "the oldest goes"


# ------------------------------------------------------------------------------------ trouble


async def test_trouble_is_told_to_all_and_not_remembered() -> None:
    def broken(_: Request) -> list[Sample]:
        raise ServerError("out of order")

    model = Model(broken)
    policy = SampledPolicy(model)
    outcomes = await asyncio.gather(
        *(ask(policy, target) for target in ("p", "q", "p")), return_exceptions=True
    )
    assert all(isinstance(outcome, ServerError) for outcome in outcomes)
    assert model.sizes == [2]
    model.answer = echo
    ((found,),) = await ask(policy, "p")
    assert found.tactic == "p_0"


async def test_trouble_in_one_batch_is_no_trouble_in_another() -> None:
    def answer(request: Request) -> list[Sample]:
        if request.state == "⊢ bad":
            raise ServerError("out of order")
        return echo(request)

    policy = SampledPolicy(Model(answer, largest=1))
    bad, good = await asyncio.gather(ask(policy, "bad"), ask(policy, "good"), return_exceptions=True)
    assert isinstance(bad, ServerError)
    assert isinstance(good, list)
    assert good[0][0].tactic == "good_0"


class TooFew(Model):
    async def sample(self, requests: Sequence[Request]) -> list[list[Sample]]:
        return (await super().sample(requests))[1:]


async def test_a_sampler_that_loses_answers_leaves_nobody_waiting() -> None:
    policy = SampledPolicy(TooFew())
    async with asyncio.timeout(5):
        outcomes = await asyncio.gather(ask(policy, "p"), ask(policy, "q"), return_exceptions=True)
    assert all(isinstance(outcome, InfrastructureError) for outcome in outcomes)
    assert "ValueError" in str(outcomes[0])


async def test_a_search_that_is_cancelled_does_not_harm_another() -> None:
    model = Model()
    model.go.clear()
    policy = SampledPolicy(model)
    gone, stays = (asyncio.create_task(ask(policy, "p")) for _ in range(2))
    await soon()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    model.go.set()
    ((found,),) = await stays
    assert found.tactic == "p_0"


async def test_what_nobody_waits_for_any_more_is_still_remembered() -> None:
    model = Model()
    model.go.clear()
    policy = SampledPolicy(model)
    gone = asyncio.create_task(ask(policy, "p"))
    await soon()
    gone.cancel()
    await soon()
    model.go.set()
    await soon()
    await ask(policy, "p")
    assert model.sizes == [1]


async def test_trouble_that_nobody_waits_for_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Request) -> list[Sample]:
        raise ServerError("out of order")

    model = Model(broken)
    model.go.clear()
    policy = SampledPolicy(model)
    gone = asyncio.create_task(ask(policy, "p", "q"))
    await soon()
    gone.cancel()
    await soon()
    model.go.set()
    await soon()
    del policy
    assert not caplog.records


# ------------------------------------------------------------------------------------ the end


async def test_closing_tells_whoever_waits() -> None:
    """Those in a running batch, and those that wait for the next."""
    model = Model(largest=1)
    model.go.clear()
    policy = SampledPolicy(model)
    tasks = [asyncio.create_task(ask(policy, target)) for target in ("p", "q", "r")]
    await soon()
    assert model.sizes == [1]
    await policy.close()
    async with asyncio.timeout(5):
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, InfrastructureError) for outcome in outcomes), outcomes
    assert model.closed
    assert model.running == 0
    assert model.sizes == [1]


async def test_closing_before_a_batch_has_begun() -> None:
    model = Model()
    policy = SampledPolicy(model)
    task = asyncio.create_task(ask(policy, "p"))
    await asyncio.sleep(0)
    await policy.close()
    async with asyncio.timeout(5):
        with pytest.raises(InfrastructureError, match="closed"):
            await task
    assert not model.calls


async def test_nothing_can_be_asked_after_the_end() -> None:
    model = Model()
    policy = SampledPolicy(model)
    await ask(policy, "p")
    await policy.close()
    await policy.close()
    with pytest.raises(InfrastructureError, match="closed"):
        await ask(policy, "p")
    assert model.sizes == [1]


class Choosy(Model):
    """It takes no state with a `q` in it."""

    async def sample(self, requests: Sequence[Request]) -> Sequence[Answer]:  # type: ignore[override]
        return [
            PromptRefused("too long") if "q" in request.state else answer
            for request, answer in zip(requests, await super().sample(requests), strict=True)
        ]


async def test_a_refused_state_is_an_error_and_the_others_of_its_batch_are_not() -> None:
    """No candidates would be told as a theorem that is not provable."""
    policy = SampledPolicy(Choosy())
    fine, refused = await asyncio.gather(ask(policy, "p"), ask(policy, "q"), return_exceptions=True)
    assert isinstance(refused, PromptRefused)
    assert fine
    assert not isinstance(fine, BaseException)

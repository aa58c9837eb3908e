"""Language models in processes of their own, one on each GPU, asked by the searches of all nodes.

In a cluster without a GPU each node has one, on its processor. Ray starts a process again that died,
on another machine if need be. Meanwhile the others are asked (`policy.replicas`).
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from burnqed.cluster.machines import alive
from burnqed.core.errors import BurnQedError, InputError, PromptRefused, ServerError, SetupError
from burnqed.lean.pool import usable_cores
from burnqed.policy.gathered import Gathered
from burnqed.policy.replicas import Replicas, Warn
from burnqed.policy.sampled import Answer, Request
from burnqed.prover.hosted import Hosted
from burnqed.prover.policies import Choice, load_model

_AT_ONCE = 1000  # questions that a host takes; what it answers together is for it to say
_LOADED = 900.0  # seconds for a place on the cluster and for its weights
_CPU_SHARE = 4  # of a node's cores: the others are Lean's


@dataclass(frozen=True, slots=True)
class Weights:
    """A model for hosts: its name, and its files if they are to be carried there.

    `one` is the file of a model that is one, as a GGUF is.
    """

    choice: Choice
    files: Mapping[str, bytes]
    one: str = ""


class Host:
    """Our process beside a model. What goes wrong is an answer, as in `station`."""

    def __init__(self, weights: Weights) -> None:
        self._failed: BurnQedError | None = None
        try:
            self._load(weights)
        except BurnQedError as error:  # not as an exception, which Ray would tell as its own
            self._failed = error

    def _load(self, weights: Weights) -> None:
        from burnqed.policy.local.sampler import LocalSampler

        choice = weights.choice
        with tempfile.TemporaryDirectory(prefix="burn-qed-") as folder:
            if weights.files:
                for name, content in weights.files.items():
                    (Path(folder) / name).write_bytes(content)
                choice = replace(choice, model=str(Path(folder) / weights.one))
            loaded = load_model(choice, lambda _told_by_the_driver: None)
        if loaded.device == "cpu":
            import torch

            torch.set_num_threads(max(1, usable_cores() // _CPU_SHARE))
        self._identity = loaded.identity
        self._gathered = Gathered(LocalSampler(loaded))

    async def about(self) -> str | BurnQedError:
        """The model's identity."""
        return self._failed or self._identity

    async def process(self) -> int:
        """Its number on its machine."""
        return os.getpid()

    async def sample(self, requests: Sequence[Request]) -> list[Answer] | BurnQedError:
        if self._failed is not None:
            return self._failed
        found = await asyncio.gather(
            *(self._gathered.sample([request]) for request in requests), return_exceptions=True
        )
        answers: list[Answer] = []
        for answer in found:
            if isinstance(answer, BaseException):
                refused = _refused(answer)
                if isinstance(refused, PromptRefused):
                    answers.append(refused)
                    continue
                return refused
            answers += answer
        return answers


def _refused(error: BaseException) -> BurnQedError:
    """What a model's failure on one state means. A GPU that broke is left to a process started anew."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return PromptRefused(
            "the memory beside the model does not suffice for this state",
            hint="fewer --candidates, or a GPU with more memory",
        )
    if "CUDA error" in str(error):
        print(f"the GPU is of no more use to this process: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    if isinstance(error, BurnQedError):
        return error
    return ServerError(f"the model failed: {type(error).__name__}: {error}")


class There:
    """The `Sampler` over a host."""

    concurrency = 2  # a batch that is worked on, and the next
    largest = 64

    def __init__(self, host: Any, name: str, hosted: Hosted) -> None:
        self.settings = hosted.settings
        self.url = name
        self.serves: str | None = None
        self._host, self._wanted = host, hosted.identity

    async def check(self) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(_LOADED):
                identity = await self._identity()
        except TimeoutError:
            raise ServerError(
                f"{self.url} was not loaded within {_LOADED:g} s",
                hint="`ray status` says whether a GPU is free for it",
            ) from None
        if identity != self._wanted:
            raise InputError(
                f"{self.url} has another model: {identity[:12]}, and not {self._wanted[:12]}",
                hint="the same files have to be on every node",
            )
        self.serves = identity
        return ()

    async def _identity(self) -> str:
        """As soon as there is a process: one that died may be about to be started again."""
        from ray.exceptions import ActorUnavailableError

        while True:
            try:
                identity: str = await self._answer(self._host.about.remote())
                return identity
            except ServerError as error:
                if not isinstance(error.__cause__, ActorUnavailableError):
                    raise
                await asyncio.sleep(1.0)

    async def sample(self, requests: Sequence[Request]) -> Sequence[Answer]:
        answers: list[Answer] = await self._answer(self._host.sample.remote(list(requests)))
        return answers

    async def alive(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._answer(self._host.about.remote())
        except (TimeoutError, BurnQedError):
            return False
        return True

    async def close(self) -> None:
        pass

    async def _answer(self, asked: Awaitable[Any]) -> Any:
        from ray.exceptions import RayError, RayTaskError

        try:
            answer = await asked
        except RayTaskError:  # a mistake of ours
            raise
        except RayError as error:
            said = str(error).strip().splitlines()
            raise ServerError(
                f"{self.url} is lost: {said[0] if said else type(error).__name__}",
                hint="Ray's logs on its machine say more; go on with --resume",
            ) from error
        if isinstance(answer, BurnQedError):
            raise answer
        return answer


@dataclass(frozen=True, slots=True)
class Hosts:
    """Running hosts. Ray starts one again from the weights, as long as somebody holds them."""

    actors: list[Any]
    weights: Any


NONE = Hosts([], None)


def started(weights: Weights) -> Hosts:
    """A host on each GPU of the cluster; if it has none, on each of its nodes."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = alive(least_cores=0)
    gpus = int(sum(known.gpus for known in nodes.values()))
    there = ray.put(weights)
    make = ray.remote(Host)
    always: dict[str, Any] = {"max_restarts": -1, "max_concurrency": _AT_ONCE, "num_cpus": 0}
    if gpus:
        alike = make.options(num_gpus=1, **always)
        return Hosts([alike.remote(there) for _ in range(gpus)], there)
    places = [known.id for known in nodes.values() if known.cores >= 1]
    if not places:
        raise SetupError("the cluster has no node for a model", hint="`ray status` says what there is")
    on = [NodeAffinitySchedulingStrategy(id, soft=True) for id in places]
    made = [make.options(scheduling_strategy=place, **always).remote(there) for place in on]
    return Hosts(made, there)


def asked_there(actors: Sequence[Any], hosted: Hosted, warn: Warn) -> Replicas:
    """All of them as one model, which this process asks."""
    named = enumerate(actors, start=1)
    return Replicas([There(host, f"model {number}", hosted) for number, host in named], warn)

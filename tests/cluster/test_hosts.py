"""A model in processes of its own: asked from elsewhere it says what it says here, whoever is killed.

The GPU is one that Ray is told of: what is tried here is where a model runs, and not on what.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnqed.cluster.hosts import Hosts, There, Weights, asked_there, started
from burnqed.cluster.recipe import weights_of
from burnqed.core.errors import InputError
from burnqed.lean.process import LaunchSpec
from burnqed.policy.candidates import Sample
from burnqed.policy.local.sampler import LocalSampler
from burnqed.policy.models.load import load
from burnqed.policy.sampled import Answer, Request
from burnqed.prover.hosted import Hosted
from burnqed.prover.policies import choice, hosted_of, prepare
from tests.cluster.machines import machines
from tests.cluster.test_on_ray import EASY, finished, index, timeless
from tests.cluster.test_on_ray import started as begun
from tests.policy.tiny import tiny_llama

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'burn-qed[cluster]'")

pytestmark = [pytest.mark.torch, pytest.mark.soak, pytest.mark.timeout(1400)]

REQUESTS = [Request(f"n : Nat\n⊢ n + {i} = n", 4, 1.0, i) for i in range(5)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def gpu() -> Iterator[str]:
    """A cluster with one machine that has a GPU, as far as Ray knows."""
    with machines(0) as cluster:
        cluster.add_gpu()
        yield cluster.address


@pytest.fixture
def connected(gpu: str) -> Iterator[None]:
    ray.init(gpu, log_to_driver=False)
    yield
    ray.shutdown()


def no_library() -> Any:
    raise AssertionError("a model alone names no lemmas")


def made(model: Path) -> tuple[Weights, Hosted]:
    prepared = prepare(choice("local", str(model), device="cpu"), no_library, 1, pytest.fail)
    return weights_of(prepared), hosted_of(prepared)


def here(model: Path) -> list[list[Sample]]:
    return LocalSampler(load(model, "cpu")).sample_now(REQUESTS)


def said(answers: Sequence[Answer]) -> list[list[tuple[str, float]]]:
    """Texts, and log-probabilities as far as rounding in batches of another size leaves them."""
    lists = [answer for answer in answers if isinstance(answer, list)]
    assert len(lists) == len(answers), answers
    return [[(one.text, round(one.logprob, 3)) for one in answer] for answer in lists]


async def asked_twice(hosts: Hosts, hosted: Hosted) -> list[Sequence[Answer]]:
    """Before and after its process is killed."""
    told: list[str] = []
    them = asked_there(hosts.actors, hosted, told.append)
    try:
        await them.check()
        first = await them.sample(REQUESTS)
        os.kill(await hosts.actors[0].process.remote(), signal.SIGKILL)
        second = await them.sample(REQUESTS)
        third = await asked_there(hosts.actors, hosted, told.append).sample(REQUESTS[:1])
    finally:
        await them.close()
    assert "model 1 is lost" in told[0]
    assert "model 1 answers again" in told
    return [first, second, [*third, *first[1:]]]


def test_it_says_there_what_it_says_here_and_again_after_it_was_killed(
    model: Path, connected: None
) -> None:
    weights, hosted = made(model)
    assert "config.json" in weights.files, "it is carried there"
    hosts = started(weights)
    assert len(hosts.actors) == 1, "one for each GPU"
    wanted = said(here(model))
    for answers in asyncio.run(asked_twice(hosts, hosted)):
        assert said(answers) == wanted


def test_another_model_there_is_refused(model: Path, tmp_path: Path, connected: None) -> None:
    _, hosted = made(model)
    weights, _ = made(tiny_llama(tmp_path / "other", seed=1))
    hosts = started(weights)
    with pytest.raises(InputError, match="has another model"):
        asyncio.run(There(hosts.actors[0], "model 1", hosted).check())


def test_a_model_that_is_not_there_is_refused(model: Path, connected: None) -> None:
    weights, hosted = made(model)
    away = replace(weights, files={}, choice=replace(weights.choice, model="/nowhere/at/all"))
    hosts = started(away)
    with pytest.raises(InputError, match="there is no model /nowhere/at/all"):
        asyncio.run(There(hosts.actors[0], "model 1", hosted).check())


@pytest.mark.lean
def test_a_search_asks_a_model_on_another_machine(
    model: Path, gpu: str, tmp_path: Path, lean_launch: LaunchSpec
) -> None:
    theorems = index(tmp_path, EASY)
    mixed = ("--policy", "mix", "--model", str(model), "--budgets", "1", "--device", "cpu")
    finished(begun(theorems, tmp_path / "here", "local", *mixed))
    finished(begun(theorems, tmp_path / "there", gpu, *mixed))
    assert timeless(tmp_path / "there") == timeless(tmp_path / "here")

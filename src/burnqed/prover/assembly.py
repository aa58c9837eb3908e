"""Assembles a prover from a configuration: a Lean, a policy, a value model, a search and judges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from burnqed.core.errors import InputError
from burnqed.core.runs import MANIFEST, read_manifest
from burnqed.evaluation.prove import EFFORT, Prover
from burnqed.lean.pool import Pool
from burnqed.lean.requests import Gate
from burnqed.lean.tactic_words import own_tactics
from burnqed.policy.portfolio.mathlib import TACTICS
from burnqed.prover import leans, policies, values
from burnqed.prover.config import (
    NOISE,
    UNGUIDED,
    EvalConfig,
    GuidedConfig,
    PolicyConfig,
    SearchConfig,
    SetConfig,
)
from burnqed.prover.hosted import Asked
from burnqed.prover.leans import Lean
from burnqed.prover.policies import SAMPLING, Choice, Prepared, Warn
from burnqed.prover.values import Guide
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.search.trials import BUNCH

_JUDGES = 2  # at least: one compiles, one verifies


@dataclass(frozen=True, slots=True)
class Assembled:
    """All parts of a prover, loaded and checked. `opened` starts its Leans."""

    config: PolicyConfig
    lean: Lean
    policy: Prepared
    guide: Guide
    budget: Budget
    temperature: float
    at_once: bool = False  # all candidates of a state, because its run was begun so

    @property
    def about(self) -> dict[str, Any]:
        """For a run's manifest: all that decides its searches except the nodes."""
        return {
            "depth": self.budget.depth, "candidates": self.budget.candidates,
            "seconds": self.budget.seconds, "temperature": self.temperature, "seed": self.config.seed,
            "heartbeats": self.config.heartbeats, "effort": self.effort,
            "visit": BUNCH if self.by_visits else None,
            **self.policy.about, **self.guide.about,
            "modules": list(self.lean.modules), "toolchain": self.lean.label,
        }  # fmt: skip

    @property
    def by_visits(self) -> bool:
        """Not where failures are learnt from, nor along recorded proofs: there everything is tried."""
        if self.at_once:
            return False
        follows = isinstance(self.config, SearchConfig) and self.config.follow is not None
        return isinstance(self.config, GuidedConfig) and not follows

    @property
    def effort(self) -> int | None:
        """Of a first try; None where that has all heartbeats."""
        config = self.config
        if not (self.by_visits and isinstance(config, GuidedConfig)):
            return None
        return config.effort if config.effort < config.heartbeats else None

    @property
    def places(self) -> dict[str, Any]:
        """Where its models are, which decides nothing."""
        return {**self.policy.places, **self.guide.places}

    @asynccontextmanager
    async def opened(
        self, gate: Gate | None = None, workers: int | None = None
    ) -> AsyncIterator[Prover]:
        """Start the Leans of searchers and judges. The guide is closed with them."""
        spec, judging = self.lean.spec, self.lean.judging
        with closing(self.guide):
            async with (
                Pool(spec, workers or self.config.workers, gate=gate) as pool,
                # As many judges as searchers, or finished searches would queue for their verdicts.
                Pool(judging, max(_JUDGES, pool.size), gate=gate) as judges,
                self.policy.opened(await own_tactics(pool, self.lean.modules, TACTICS)) as proposer,
            ):
                settings = Settings(
                    self.temperature,
                    scoring=self.guide.scoring,
                    by_visits=self.by_visits,
                    effort=self.effort,
                )
                yield Prover(
                    pool, judges, proposer, self.budget, self.guide.value, settings,
                    self.config.heartbeats,
                )  # fmt: skip


def check(config: PolicyConfig) -> None:
    """Refuse settings that contradict each other, before anything is set up."""
    given = config.policy is not None or config.model is not None
    # The default policy depends on the toolchain, but its temperature is always the portfolio's.
    chosen = policies.chosen(config) if given else Choice("portfolio")
    _temperature(config, chosen, valued=False)
    if isinstance(config, EvalConfig) and config.ablate and config.value is None:
        raise InputError("--ablate needs a value model", hint="give --value DIR")
    if isinstance(config, SearchConfig) and config.noise and config.temperature == 0:
        raise InputError("temperature 0 has no noise", hint="leave out --temperature, or --noise")


def assemble(
    config: PolicyConfig,
    modules: Sequence[str],
    nodes: int,
    warn: Warn,
    begun: Path | None = None,
    file: Path | None = None,
) -> Assembled:
    """Set up, load and check all parts, so that errors and progress appear before the work.

    `begun` is the directory of a run that is resumed, if there is one yet. `file` is what is proved.
    """
    check(config)
    at_once = begun is not None and before_visits(begun, config)
    if at_once:
        warn(
            f"{begun} was begun before searches had visits, costs and a small effort: it goes on "
            "without them"
        )
    return put_together(config, modules, nodes, warn, at_once=at_once, file=file)


def put_together(
    config: PolicyConfig,
    modules: Sequence[str],
    nodes: int,
    warn: Warn,
    *,
    at_once: bool,
    file: Path | None = None,
    elsewhere: Asked | None = None,
) -> Assembled:
    """The parts of a prover, `at_once` as in `Assembled`. On a cluster each node does this, and a
    local model is `elsewhere`.
    """
    lean = leans.set_up(config, modules, file=file)
    _ = lean.judging  # what cannot judge is refused before anything is loaded or searched
    chosen = replace(policies.chosen(config, lean.toolchain), costs=not at_once)
    prepared = policies.prepare(
        chosen, lambda: lean.library(config.workers), config.workers, warn, elsewhere
    )
    guide = values.guide(config, prepared, warn) if isinstance(config, GuidedConfig) else Guide()
    candidates = chosen.candidates if config.candidates is None else config.candidates
    return Assembled(
        config=config,
        lean=lean,
        policy=prepared,
        guide=guide,
        budget=Budget(nodes, config.depth, candidates, config.seconds),
        temperature=_temperature(config, chosen, guide.value is not None),
        at_once=at_once,
    )


def before_visits(directory: Path, config: PolicyConfig) -> bool:
    """Whether a run began before there were visits, with costs and a small effort.

    With an effort of somebody's own it would be another run, which is refused where all else is.
    """
    if not (directory / MANIFEST).exists() or "visit" in read_manifest(directory):
        return False
    return not isinstance(config, GuidedConfig) or (
        config.effort == EFFORT or config.effort >= config.heartbeats
    )


def unguided(assembled: Assembled) -> Assembled:
    """The prover without its value model. Its temperature stays, so that nothing else differs."""
    assert isinstance(assembled.config, SetConfig)
    config = msgspec.structs.replace(assembled.config, **UNGUIDED)
    return replace(assembled, config=config, guide=Guide())


def _temperature(config: PolicyConfig, chosen: Choice, valued: bool) -> float:
    given = config.temperature
    attempts = config.pass_n if isinstance(config, EvalConfig) else 1
    if given is None and isinstance(config, SearchConfig) and config.noise:
        return chosen.temperature(NOISE)
    if given is None:
        return chosen.temperature(None, valued) if attempts == 1 else SAMPLING
    if given == 0 and attempts > 1:
        raise InputError(
            f"{attempts} attempts at temperature 0 would all be equal",
            hint=f"leave out --temperature, or give one above 0; the default is {SAMPLING:g}",
        )
    return chosen.temperature(given)

"""One theorem: search, rebuild the proof, judge it. Only this module may say "proved"."""

from __future__ import annotations

import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from burnqed.core.errors import (
    BurnQedError,
    LeanError,
    PromptRefused,
    RequestTimeout,
    StatementError,
    is_own_fault,
)
from burnqed.core.ports import Environment, Policy, Value
from burnqed.core.types import Theorem, Unreadable
from burnqed.evaluation.doubt import Doubting, Refuted
from burnqed.evaluation.shorten import shorten, walk
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.refute import Refutation
from burnqed.lean.session import Session, open_session
from burnqed.lean.verdict import Verdict
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.events import Doing, EventSink, ignore
from burnqed.search.script import Script, script_of, tactics_of
from burnqed.search.without import Without
from burnqed.trajectories.record import path_of
from burnqed.trajectories.schema import PathStep, TheoremOutcome

# The limit of one tactic in a search, in units of Lean's `maxHeartbeats`, whose default is 200,000.
# Tactics that succeed mostly need a hundredth of that.
HEARTBEATS = 4_000
# The limit of a tactic's first try. Most steps of proofs need less; what needs more takes most of the
# time.
EFFORT = 500
DEFAULT_HEARTBEATS = 200_000
# The time limit for a refutation: in seconds, and as a share of a budget in seconds.
_DOUBT_SECONDS, _DOUBT_SHARE = 6.0, 0.05


@dataclass(frozen=True, slots=True)
class Prover:
    """All that it takes to attempt a theorem, except the theorem.

    Judging has its own pool, so that a process that ran tactics never judges. `refutes`: look for a
    refutation of a statement that is not proved at the first node.
    """

    pool: Pool
    judges: Pool
    policy: Policy
    budget: Budget
    value: Value | None = None
    settings: Settings = field(default_factory=Settings)
    heartbeats: int = HEARTBEATS
    refutes: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """An accepted proof: the tactics of its block, their script, the verdict.

    `path` are the script's steps with their states. If Lean was lost before the states of a shortened
    script were known, they are the steps before shortening.
    """

    tactics: tuple[str, ...]
    script: Script
    verdict: Verdict
    path: tuple[PathStep, ...] = ()


def lean_source(proof: Proof) -> str:
    """The theorem and its proof as Lean source.

    If the proof needs more heartbeats than Lean's default, a `set_option` before it raises the limit.
    """
    used = proof.verdict.heartbeats
    if used <= DEFAULT_HEARTBEATS:
        return proof.verdict.source
    needed = -(-used * 5 // 4 // DEFAULT_HEARTBEATS) * DEFAULT_HEARTBEATS
    return f"set_option maxHeartbeats {needed} in\n{proof.verdict.source}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of a theorem. `reason` is the budget that ran out, or the kind of error.

    `earlier` is a first search whose proof the judge refused. It counts as spent. Only a prover that
    refutes has the outcome "false", with a `refutation`.
    """

    theorem: Theorem
    outcome: TheoremOutcome | Literal["false"]
    reason: str = ""
    detail: str = ""
    searched: SearchResult | None = None
    proof: Proof | None = None
    judge_seconds: float = 0.0
    earlier: SearchResult | None = None
    refutation: Refutation | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search, and its candidate proof, if any: the script and its steps."""

    searched: SearchResult
    script: Script | None
    path: tuple[PathStep, ...] = ()


async def find(prover: Prover, theorem: Theorem, seed: int, events: EventSink = ignore) -> Found:
    """Search, and shorten what is found. The script is only a candidate for the judge.

    Raises `Refuted` if the prover refutes, and `LeanError` if the search cannot begin.
    """
    policy = prover.policy.about(theorem)
    async with started(prover, theorem, events) as session:
        doubting = None
        if prover.refutes:
            seconds = doubt_seconds(prover.budget)
            policy = doubting = Doubting(policy, session, theorem, seconds, events)
            events = doubting.hear
        searched = await best_first(
            theorem, session, policy, prover.value, prover.budget, seed, events, prover.settings
        )
        if searched.tree.proved:
            events(Doing(theorem.name, "shortening the proof"))
            return await _shortened(session, theorem, searched)
        if doubting is not None:
            await doubting.look()
        return Found(searched, None)


@asynccontextmanager
async def started(prover: Prover, theorem: Theorem, events: EventSink) -> AsyncIterator[Session]:
    """A session in which Lean runs, for a theorem that is read next."""
    events(Doing(theorem.name, "starting Lean"))
    async with open_session(prover.pool, prover.heartbeats) as session:
        await session.ready()
        events(Doing(theorem.name, "reading the statement"))
        yield session


def doubt_seconds(budget: Budget) -> float:
    return _DOUBT_SECONDS if budget.seconds is None else _DOUBT_SHARE * budget.seconds


async def prove(prover: Prover, theorem: Theorem, seed: int, events: EventSink = ignore) -> Attempt:
    """Attempt a theorem. A problem with this theorem alone is an outcome, not an exception."""
    if isinstance(theorem.statement, Unreadable):
        return Attempt(theorem, "error", "unreadable", theorem.statement.why)
    try:
        found = await find(prover, theorem, seed, events)
        attempt = await _judged(prover, theorem, found, events)
        other = _other(prover, found, attempt)
        if other is not None:
            return await _again(other, theorem, seed, events, attempt)
        return attempt
    except Refuted as refuted:
        found_false = refuted.refutation
        detail = found_false.sentence
        return Attempt(theorem, "false", "", detail, refuted.searched, refutation=found_false)
    except Exception as error:
        return failed(theorem, error)
    finally:
        events(Doing(theorem.name, "done"))


def failed(theorem: Theorem, error: Exception) -> Attempt:
    """The outcome of a theorem that raised an exception. Raises it again if it concerns them all."""
    match error:
        case StatementError():
            return Attempt(theorem, "error", "statement", error.message)
        case LeanError() | PromptRefused():
            return Attempt(theorem, "error", type(error).__name__, error.message)
        case BurnQedError():
            raise error
        case _:
            # A bug of ours, hit by one theorem of thousands: record where, and let the others continue.
            place = "".join(traceback.format_exception(error, limit=-3))
            return Attempt(theorem, "error", "internal", place)


def _other(prover: Prover, found: Found, attempt: Attempt) -> Prover | None:
    """A prover that may find another proof than the one that the judge refused.

    Two states that print alike may differ for Lean, so it does not merge states. If the judge ran out
    of time, it avoids the tactics that closed a goal, because these make kernels compute.
    """
    if attempt.reason == "unchecked" and found.script is not None:
        closing = {script.tactic for script in found.script.walk() if not script.rest}
        return replace(prover, policy=Without(prover.policy, closing))
    if attempt.reason == "refused" and prover.settings.merge:
        return replace(prover, settings=replace(prover.settings, merge=False))
    return None


async def _again(
    prover: Prover, theorem: Theorem, seed: int, events: EventSink, refused: Attempt
) -> Attempt:
    """Search again for a theorem whose proof the judge refused.

    It uses the rest of the budget, so that a theorem never costs more, and results for smaller budgets
    can still be derived.
    """
    first = refused.searched
    assert first is not None
    left = _left(prover.budget, first)
    if left is None:
        attempt = replace(refused, outcome="exhausted", reason="nodes")
        return attempt if first.lost_at is None else _lost(theorem, first)
    try:
        again = await find(replace(prover, budget=left), theorem, seed, events)
        attempt = await _judged(prover, theorem, again, events)
    except LeanError as error:
        attempt = Attempt(theorem, "error", type(error).__name__, error.message)
    if attempt.outcome == "exhausted" and first.lost_at is not None:
        # A tactic lost in the first search might have been the proof, so nothing is known.
        attempt = replace(_lost(theorem, first), searched=attempt.searched)
    if attempt.outcome == "exhausted":
        attempt = replace(attempt, detail=f"a proof was refused: {refused.detail}")
    seconds = refused.judge_seconds + attempt.judge_seconds
    return replace(attempt, earlier=first, judge_seconds=seconds)


def _lost(theorem: Theorem, searched: SearchResult) -> Attempt:
    """An inconclusive search: a step that could not be tried might have led to a proof."""
    if searched.failure is not None:
        failure = searched.failure
        return Attempt(theorem, "error", type(failure).__name__, failure.message, searched)
    lost = [(t, e) for t, e in searched.lost if not is_own_fault(e)] or searched.lost
    tactic, error = lost[0]
    detail = f"{len(searched.lost)} tactics, such as {tactic!r}: {error.message}"
    return Attempt(theorem, "error", type(error).__name__, detail, searched)


def _left(budget: Budget, spent: SearchResult) -> Budget | None:
    """The rest of a budget after a search; None if no nodes are left."""
    nodes = budget.nodes - spent.nodes
    if nodes < 1:
        return None
    seconds = None if budget.seconds is None else max(budget.seconds - spent.seconds, 0.0)
    return replace(budget, nodes=nodes, seconds=seconds)


async def _shortened(environment: Environment, theorem: Theorem, searched: SearchResult) -> Found:
    """Shorten the proof. If Lean dies, keep the proof as it is."""
    script, path = script_of(searched.tree), path_of(searched.tree)
    try:
        shorter = await shorten(environment, theorem, script)
    except LeanError:
        return Found(searched, script, path)
    if shorter != script:
        with suppress(LeanError):
            path = await walk(environment, theorem, shorter) or path
    return Found(searched, shorter, path)


async def _judged(prover: Prover, theorem: Theorem, found: Found, events: EventSink) -> Attempt:
    searched = found.searched
    if found.script is None:
        if not searched.conclusive:
            return _lost(theorem, searched)
        return Attempt(theorem, "exhausted", searched.limit or "", "", searched)
    events(Doing(theorem.name, "judging the proof"))
    begun = time.monotonic()
    refusal = ""
    for script in dict.fromkeys((found.script, script_of(searched.tree))):
        tactics = tactics_of(script)
        try:
            verdict = await judge_proof(prover.judges, theorem.statement, tactics)
        except RequestTimeout as error:
            detail = f"its check took more than {error.seconds:g} s"
            seconds = time.monotonic() - begun
            return Attempt(theorem, "error", "unchecked", detail, searched, None, seconds)
        except LeanError as error:
            # The search is known; only its verdict is missing.
            detail = f"while the proof was judged: {error.message}"
            seconds = time.monotonic() - begun
            return Attempt(theorem, "error", type(error).__name__, detail, searched, None, seconds)
        if verdict.accepted:
            path = found.path if script == found.script else path_of(searched.tree)
            proof = Proof(tuple(tactics), script, verdict, path)
            return Attempt(theorem, "proved", "", "", searched, proof, time.monotonic() - begun)
        refusal = refusal or verdict.reason
    return Attempt(theorem, "error", "refused", refusal, searched, None, time.monotonic() - begun)

"""One theorem: search, rebuild the proof, judge it. Nothing else here or above says "proved"."""

from __future__ import annotations

import time
import traceback
from contextlib import suppress
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
from burnqed.lean.session import open_session
from burnqed.lean.verdict import Verdict
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.events import EventSink, ignore
from burnqed.search.script import Script, script_of, tactics_of
from burnqed.search.without import Without
from burnqed.trajectories.record import path_of
from burnqed.trajectories.schema import PathStep, TheoremOutcome

# What one tactic of a search may use, in the units of Lean's `maxHeartbeats`, whose default is
# 200,000: what succeeds at all mostly does so with a hundredth of it.
HEARTBEATS = 4_000
DEFAULT_HEARTBEATS = 200_000
# What looking for a refutation may take: seconds, and the share of a budget of seconds.
_DOUBT_SECONDS, _DOUBT_SHARE = 6.0, 0.05


@dataclass(frozen=True, slots=True)
class Prover:
    """All that it takes to attempt a theorem, but for the theorem.

    Judging has a pool of its own, so that no process that ran a tactic ever judges one. `refutes`: a
    statement that is not proved at once is looked at, whether it is false.
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
    """An accepted proof: the tactics of its block, the script they are written from, the verdict.

    `path` are the script's steps with their states; as they were found, where Lean was lost before it
    could say what the states of a shorter script are.
    """

    tactics: tuple[str, ...]
    script: Script
    verdict: Verdict
    path: tuple[PathStep, ...] = ()


def lean_source(proof: Proof) -> str:
    """The theorem and its proof as they go into a file.

    A proof that needs more than Lean grants a theorem by default says so in front.
    """
    used = proof.verdict.heartbeats
    if used <= DEFAULT_HEARTBEATS:
        return proof.verdict.source
    needed = -(-used * 5 // 4 // DEFAULT_HEARTBEATS) * DEFAULT_HEARTBEATS
    return f"set_option maxHeartbeats {needed} in\n{proof.verdict.source}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of a theorem. `reason` is the spent budget, or the kind of error.

    `earlier` is a first search whose find the judge refused; it is part of what was spent. "false", and
    its `refutation`, only come of a prover that refutes.
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
    """A search's end, and the script of what it takes for a proof, if it found one, with its steps."""

    searched: SearchResult
    script: Script | None
    path: tuple[PathStep, ...] = ()


async def find(prover: Prover, theorem: Theorem, seed: int, events: EventSink = ignore) -> Found:
    """Search, and shorten what is found. A script is a candidate: only the judge makes it a proof.

    Raises `Refuted` where the prover refutes, and `LeanError` when the search cannot even begin.
    """
    policy = prover.policy.about(theorem)
    async with open_session(prover.pool, prover.heartbeats) as session:
        doubting = None
        if prover.refutes:
            seconds = _doubt_seconds(prover.budget)
            policy = doubting = Doubting(policy, session, theorem, seconds, events)
            events = doubting.hear
        searched = await best_first(
            theorem, session, policy, prover.value, prover.budget, seed, events, prover.settings
        )
        if searched.tree.proved:
            return await _shortened(session, theorem, searched)
        if doubting is not None:
            await doubting.look()
        return Found(searched, None)


def _doubt_seconds(budget: Budget) -> float:
    return _DOUBT_SECONDS if budget.seconds is None else _DOUBT_SHARE * budget.seconds


async def prove(prover: Prover, theorem: Theorem, seed: int, events: EventSink = ignore) -> Attempt:
    """Attempt a theorem. Whatever goes wrong with it alone is an outcome, not an exception."""
    if isinstance(theorem.statement, Unreadable):
        return Attempt(theorem, "error", "unreadable", theorem.statement.why)
    try:
        found = await find(prover, theorem, seed, events)
        attempt = await _judged(prover, theorem, found)
        other = _other(prover, found, attempt)
        if other is not None:
            return await _again(other, theorem, seed, events, attempt)
        return attempt
    except Refuted as refuted:
        said = refuted.refutation
        return Attempt(theorem, "false", "", said.sentence, refuted.searched, refutation=said)
    except Exception as error:
        return failed(theorem, error)


def failed(theorem: Theorem, error: Exception) -> Attempt:
    """What an exception says about one theorem; raises it again if it concerns all of them."""
    match error:
        case StatementError():
            return Attempt(theorem, "error", "statement", error.message)
        case LeanError() | PromptRefused():
            return Attempt(theorem, "error", type(error).__name__, error.message)
        case BurnQedError():
            raise error
        case _:
            # A bug of ours met by one theorem of thousands: told with its place, and the others go on.
            place = "".join(traceback.format_exception(error, limit=-3))
            return Attempt(theorem, "error", "internal", place)


def _other(prover: Prover, found: Found, attempt: Attempt) -> Prover | None:
    """Who may find another proof than the one that did not pass the judge.

    Two states that print alike need not be the same to Lean: one that does not rely on it. Where the
    judge ran out of time, one without the tactics that closed a goal, for kernels compute with those.
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
    """Search once more for a theorem whose find did not pass the judge.

    With what is left of the budget, so that a theorem costs no more nodes than it may, and what a
    smaller budget would have found can still be told.
    """
    first = refused.searched
    assert first is not None
    left = _left(prover.budget, first)
    if left is None:
        attempt = replace(refused, outcome="exhausted", reason="nodes")
        return attempt if first.lost_at is None else _lost(theorem, first)
    try:
        again = await find(replace(prover, budget=left), theorem, seed, events)
        attempt = await _judged(prover, theorem, again)
    except LeanError as error:
        attempt = Attempt(theorem, "error", type(error).__name__, error.message)
    if attempt.outcome == "exhausted" and first.lost_at is not None:
        # What was lost in the first search might have been the proof, in this one as well.
        attempt = replace(_lost(theorem, first), searched=attempt.searched)
    if attempt.outcome == "exhausted":
        attempt = replace(attempt, detail=f"a find was refused: {refused.detail}")
    seconds = refused.judge_seconds + attempt.judge_seconds
    return replace(attempt, earlier=first, judge_seconds=seconds)


def _lost(theorem: Theorem, searched: SearchResult) -> Attempt:
    """A search that says nothing, because a step that nobody could try might have been the one."""
    if searched.failure is not None:
        failure = searched.failure
        return Attempt(theorem, "error", type(failure).__name__, failure.message, searched)
    told = [(t, e) for t, e in searched.lost if not is_own_fault(e)] or searched.lost
    tactic, error = told[0]
    detail = f"{len(searched.lost)} tactics, such as {tactic!r}: {error.message}"
    return Attempt(theorem, "error", type(error).__name__, detail, searched)


def _left(budget: Budget, spent: SearchResult) -> Budget | None:
    """What a search left of a budget; None when it has no nodes left."""
    nodes = budget.nodes - spent.nodes
    if nodes < 1:
        return None
    seconds = None if budget.seconds is None else max(budget.seconds - spent.seconds, 0.0)
    return replace(budget, nodes=nodes, seconds=seconds)


async def _shortened(environment: Environment, theorem: Theorem, searched: SearchResult) -> Found:
    """Shorter if Lean survives it: the proof is there already and must not be lost now."""
    script, path = script_of(searched.tree), path_of(searched.tree)
    try:
        shorter = await shorten(environment, theorem, script)
    except LeanError:
        return Found(searched, script, path)
    if shorter != script:
        with suppress(LeanError):
            path = await walk(environment, theorem, shorter) or path
    return Found(searched, shorter, path)


async def _judged(prover: Prover, theorem: Theorem, found: Found) -> Attempt:
    searched = found.searched
    if found.script is None:
        if not searched.conclusive:
            return _lost(theorem, searched)
        return Attempt(theorem, "exhausted", searched.limit or "", "", searched)
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
            # What was searched is known; only the last word on it is missing.
            detail = f"while the proof was judged: {error.message}"
            seconds = time.monotonic() - begun
            return Attempt(theorem, "error", type(error).__name__, detail, searched, None, seconds)
        if verdict.accepted:
            path = found.path if script == found.script else path_of(searched.tree)
            proof = Proof(tuple(tactics), script, verdict, path)
            return Attempt(theorem, "proved", "", "", searched, proof, time.monotonic() - begun)
        refusal = refusal or verdict.reason
    return Attempt(theorem, "error", "refused", refusal, searched, None, time.monotonic() - begun)

"""Works through a set of theorems in parallel. Each is recorded once; runs can be resumed."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from burnqed.core import errors
from burnqed.core.tasks import until_stopped
from burnqed.core.types import LibraryConstant, Theorem
from burnqed.data.index import statement_sha
from burnqed.evaluation.prove import Attempt, Prover, failed, prove
from burnqed.search.best_first import SearchResult
from burnqed.search.events import EventSink, ignore
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import StepRow, TheoremRecord

if TYPE_CHECKING:  # it loads pyarrow
    from burnqed.trajectories.store import TrajectoryWriter

SAVE_EVERY = 50
_SAVE_SECONDS = 60.0  # if theorems take minutes each, fifty are too many to lose
# Reasons of errors that are Lean's and not the theorem's.
LEAN_ERRORS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.LeanError)
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search, and how to record it."""

    theorems: Sequence[Theorem]
    seed: int
    provenance: Provenance
    save_every: int = SAVE_EVERY


OnRecord = Callable[[TheoremRecord], None]
Kept = tuple[TheoremRecord, list[StepRow]]


def without_lean(record: TheoremRecord) -> bool:
    """Whether Lean failed on the theorem. A resumed run searches it again."""
    return record.outcome == "error" and record.reason in LEAN_ERRORS


def unfinished(plan: Plan, finished: Sequence[TheoremRecord]) -> list[Theorem]:
    """The theorems without a record, in order."""
    done = {(record.theorem, record.statement_sha) for record in finished}
    return [t for t in plan.theorems if (t.name, statement_sha(t.statement)) not in done]


class Job(Protocol):
    """Work on one theorem. It is plain data, so that another machine can do it."""

    async def on(self, prover: Prover, events: EventSink = ignore) -> Kept: ...

    def failed(self, error: errors.LeanError) -> Kept:
        """What is recorded if it cannot be done."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search for a proof of one theorem, and the judge's verdict on it."""

    theorem: Theorem
    seed: int
    provenance: Provenance

    async def on(self, prover: Prover, events: EventSink = ignore) -> Kept:
        attempt = await prove(prover, self.theorem, self.seed, events)
        tree = attempt.searched.tree if attempt.searched else None
        verified = attempt.outcome == "proved"
        rows = rows_of(tree, self.theorem.name, verified, self.provenance) if tree else []
        return record_of(attempt, self.seed), rows

    def failed(self, error: errors.LeanError) -> Kept:
        return record_of(failed(self.theorem, error), self.seed), []


class Site(Protocol):
    """Where jobs are done: on this machine (`Here`), or on those of a cluster."""

    @property
    def at_once(self) -> int:
        """How many jobs may be given to it at once; those for which there is no room wait."""

    async def do(self, job: Job, events: EventSink) -> Kept: ...


@dataclass(frozen=True, slots=True)
class Here:
    """A prover of this process."""

    prover: Prover

    @property
    def at_once(self) -> int:
        return self.prover.pool.size

    async def do(self, job: Job, events: EventSink) -> Kept:
        return await job.on(self.prover, events)


async def run(
    site: Site,
    plan: Plan,
    writer: TrajectoryWriter,
    on_record: OnRecord,
    stop: asyncio.Event,
    events: EventSink = ignore,
) -> None:
    """Search the unfinished theorems, as many at once as the site takes."""

    async def one(theorem: Theorem) -> Kept:
        seed = seed_of(plan.seed, theorem.name)
        return await site.do(Search(theorem, seed, plan.provenance), events)

    await work_through(plan, one, site.at_once, writer, on_record, stop)


async def work_through(
    plan: Plan,
    one: Callable[[Theorem], Awaitable[Kept]],
    at_once: int,
    writer: TrajectoryWriter,
    on_record: OnRecord,
    stop: asyncio.Event,
) -> None:
    """Apply a function to each unfinished theorem, and save the results.

    Finished theorems are saved every `save_every` theorems, when a minute has passed, and at the end,
    even if `stop` is set or something raises. Theorems in progress are then dropped, and a resumed run
    starts them again.
    """
    left = unfinished(plan, writer.earlier)
    todo = iter(left)
    saved = time.monotonic()

    async def work() -> None:
        nonlocal saved
        for theorem in todo:
            record, rows = await one(theorem)
            writer.add(record, rows)
            on_record(record)
            if writer.pending >= plan.save_every or time.monotonic() - saved >= _SAVE_SECONDS:
                writer.save()
                saved = time.monotonic()

    try:
        await until_stopped([work() for _ in range(min(at_once, len(left)))], stop)
    finally:
        if writer.pending:
            writer.save()


def seed_of(seed: int, name: str) -> int:
    """A theorem's own seed, so that its search does not depend on the rest of the set."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def record_of(attempt: Attempt, seed: int) -> TheoremRecord:
    if attempt.outcome == "false":
        raise ValueError(f"{attempt.theorem.name}: sets are searched without refutations")
    searches = [s for s in (attempt.earlier, attempt.searched) if s is not None]
    proof, statement = attempt.proof, attempt.theorem.statement
    counts = [len(node.edges) for s in searches for node in s.tree.nodes if node.edges]
    lost_at, lost_kind = _first_loss(searches)
    return TheoremRecord(
        theorem=attempt.theorem.name,
        outcome=attempt.outcome,
        reason=attempt.reason,
        detail=attempt.detail[:2000],
        nodes=sum(s.nodes for s in searches),
        steps=sum(counts),
        expansions=len(counts),
        candidates_min=min(counts, default=0),
        candidates_max=max(counts, default=0),
        candidates_total=sum(counts),
        seconds=sum(s.seconds for s in searches),
        lean_seconds=sum(s.lean_seconds for s in searches),
        judge_seconds=attempt.judge_seconds,
        proof=proof.verdict.source if proof else "",
        proof_steps=proof.script.steps if proof else 0,
        axioms=proof.verdict.axioms if proof else None,
        axioms_seen=proof.verdict.axioms_seen if proof else (),
        leak_rule=statement.leak_rule if isinstance(statement, LibraryConstant) else None,
        seed=seed,
        statement_sha=statement_sha(attempt.theorem.statement),
        lost_at=lost_at,
        lost_kind=lost_kind,
        path=proof.path if proof else (),
    )


def _first_loss(searches: Sequence[SearchResult]) -> tuple[int | None, str]:
    """The number of nodes after which Lean was first lost, and how."""
    before = 0
    for search in searches:
        if search.lost_at is not None:
            lost = [error for _, error in search.lost if not errors.is_own_fault(error)]
            error = lost[0] if lost else search.failure
            return before + search.lost_at, type(error).__name__
        before += search.nodes
    return None, ""

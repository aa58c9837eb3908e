"""The `Environment` of one theorem, on one leased worker, which survives lost processes.

A state is a handle that remembers how it was made (its parent, the goals, the tactic). If its process
died, was killed or recycled, the state is made again on the next process by replaying its path, but
only when it is needed. So a lost process only costs time.

How failures are attributed:

- Over the wall-clock limit: `TimedOut` at once, and the process is replaced.
- Process lost in another way: the tactic is tried again on a fresh process, because the cause may be
  memory filled by earlier tactics, or a kill from outside. If lost again: `LeanLost`.
- A batch that is lost or times out: each tactic runs separately, so that only the guilty one is
  stopped. If that one kills two more processes, its error becomes its result.

Steps use `qed.batch`. Pantograph's own REPL has no such command: there each tactic is a separate
request, and a step takes one or all of a state's goals.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import TypeVar

from burnqed.core.errors import (
    LeanLost,
    PoolClosed,
    ReplayDiverged,
    RequestRefused,
    RequestTimeout,
)
from burnqed.core.types import (
    Advanced,
    Certificate,
    Closed,
    Cost,
    Goal,
    ProofState,
    Rejected,
    StepOutcome,
    StepResult,
    Theorem,
    TimedOut,
)
from burnqed.lean import protocol, replies, requests, rules
from burnqed.lean.made import NOWHERE, Record, Step, one_or_all, shape_of
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.protocol import StepReply

T = TypeVar("T")

_DELETE_AT_ONCE = 200  # freed states that justify a request
_RESET_SECONDS = 5.0
START_SECONDS = 300.0
# Factor for a step's budget in replays: it worked once, and must not fail for a few allocations.
_REPLAY_BUDGET = 10


@asynccontextmanager
async def open_session(pool: Pool, heartbeats: int | None = None) -> AsyncIterator[Session]:
    """Lease a worker while the session is open.

    `heartbeats` is each tactic's budget, in units of Lean's option `maxHeartbeats`.
    """
    async with pool.lease() as worker:
        session = Session(worker, heartbeats)
        try:
            yield session
        finally:
            await session.close()


class Session:
    """See the module. Calls from several tasks are served in turn."""

    def __init__(self, worker: Worker, heartbeats: int | None = None) -> None:
        self._worker = worker
        self._heartbeats = heartbeats
        self._lean_seconds = 0.0
        self._records: dict[int, Record] = {}
        self._ids = count()
        self._garbage: list[tuple[int, int]] = []
        self._lock = asyncio.Lock()
        self._batches = True
        self._closed = False
        self._leased = True  # its worker

    @property
    def lean_seconds(self) -> float:
        return self._lean_seconds

    async def ready(self) -> None:
        """Wait for Lean to run. Whoever does not is kept waiting by the first request."""
        async with self._lock:
            self._begin()
            await self._twice(self._worker.ready)

    async def start(self, theorem: Theorem) -> ProofState:
        async with self._lock:
            self._begin()
            home, goals = await self._twice(lambda: self._make_root(theorem))
            return self._remember(Record(theorem, goals, home))

    async def apply(
        self, state: ProofState, tactic: str, goals: Sequence[int] | None = None
    ) -> StepOutcome:
        async with self._lock:
            self._begin(state)
            step = Step(state.id, self._selection(state, goals), tactic)
            return _refusal(tactic) or await self._apply(step, self._heartbeats)

    async def apply_batch(
        self,
        state: ProofState,
        tactics: Sequence[str],
        goals: Sequence[int] | None = None,
        heartbeats: int | None = None,
    ) -> list[StepResult]:
        limit = min(filter(None, (heartbeats, self._heartbeats)), default=None)
        async with self._lock:
            self._begin(state)
            selection = self._selection(state, goals)
            refused = [_refusal(tactic) for tactic in tactics]
            steps = [
                Step(state.id, selection, tactic)
                for tactic, refusal in zip(tactics, refused, strict=True)
                if refusal is None
            ]
            results = iter(await self._apply_all(state.id, steps, limit))
            return [refusal or next(results) for refusal in refused]

    async def free(self, states: Iterable[ProofState]) -> None:
        async with self._lock:
            for state in states:
                self._forget(state.id)
            await self._sweep()

    async def certify(self, state: ProofState) -> Certificate:
        async def attempt() -> Certificate:
            line = requests.Certify(await self._locate(state.id)).line
            return protocol.read_certificate(await self._worker.request(line))

        async with self._lock:
            self._begin(state)
            return await self._twice(attempt)

    async def close(self) -> None:
        """Leave the worker as it was found, for the next lease."""
        async with self._lock:
            if not self._closed:
                await self._leave()
            self._closed = True

    @asynccontextmanager
    async def at(self, worker: Worker) -> AsyncIterator[None]:
        """Go on with another worker meanwhile, and then with none, until `at` the next.

        States are made again there as they are needed.
        """
        async with self._lock:
            self._worker, self._leased = worker, True
            self._garbage.clear()
            for record in self._records.values():
                record.home = NOWHERE
        try:
            yield
        finally:
            async with self._lock:
                await self._leave()

    async def _leave(self) -> None:
        leased, self._leased = self._leased, False
        if leased and self._worker.alive:
            with suppress(LeanLost, PoolClosed):
                await self._worker.request(requests.Reset().line, _RESET_SECONDS)

    # ------------------------------------------------------------------- tactics

    async def _apply(self, step: Step, heartbeats: int | None) -> StepOutcome:
        async def attempt() -> StepOutcome:
            lean_id = await self._locate(step.parent)
            try:
                reply = await self._run(lean_id, step, heartbeats)
            except RequestTimeout as timeout:
                return TimedOut(timeout.seconds, False, Cost(timeout.seconds))
            return self._outcome(step, reply)

        return await self._twice(attempt)

    async def _apply_or_error(self, step: Step, heartbeats: int | None) -> StepResult:
        try:
            return await self._apply(step, heartbeats)
        except LeanLost as error:
            return error

    async def _apply_all(
        self, parent: int, steps: Sequence[Step], heartbeats: int | None
    ) -> list[StepResult]:
        """Steps from the same goals of one state: in one request if possible, else one by one."""
        if steps:
            # First make the state, so that failures in making it are not blamed on the tactics.
            await self._twice(lambda: self._locate(parent))
        if len(steps) > 1 and self._batches:
            try:
                return await self._apply_together(parent, steps, heartbeats)
            except LeanLost:
                self._worker.retire()
            except RequestRefused as refusal:
                self._no_batches(refusal)
        return [await self._apply_or_error(step, heartbeats) for step in steps]

    async def _apply_together(
        self, parent: int, steps: Sequence[Step], heartbeats: int | None
    ) -> list[StepResult]:
        """All steps in one request, without a second try."""
        lean_id = await self._locate(parent)
        replies = await self._run_batch(lean_id, steps, heartbeats)
        return [self._outcome(step, reply) for step, reply in zip(steps, replies, strict=True)]

    async def _run(self, lean_id: int, step: Step, heartbeats: int | None) -> StepReply:
        if self._batches:
            try:
                return (await self._run_batch(lean_id, [step], heartbeats))[0]
            except RequestRefused as refusal:
                self._no_batches(refusal)
        goal, resume = one_or_all(step.goals, len(self._records[step.parent].goals))
        line = requests.GoalTactic(lean_id, goal, step.tactic, resume).line
        return protocol.read_step(await self._worker.request(line))  # it does not report its time

    async def _run_batch(
        self, lean_id: int, steps: Sequence[Step], heartbeats: int | None
    ) -> list[StepReply]:
        tactics = [step.tactic for step in steps]
        line = requests.Batch(lean_id, tactics, steps[0].goals, heartbeats).line
        try:
            reply = await self._worker.request(line)
        except RequestTimeout as timeout:
            self._lean_seconds += timeout.seconds  # not reported, but that is what it took
            raise
        replies = protocol.read_batch(reply, len(steps))
        self._lean_seconds += sum(reply.cost.seconds for reply in replies if reply.cost)
        return replies

    def _no_batches(self, refusal: RequestRefused) -> None:
        """Pantograph's own REPL has no such command; any other refusal is an error."""
        if refusal.kind != "command":
            raise refusal
        self._batches = False

    def _outcome(self, step: Step, reply: StepReply) -> StepOutcome:
        home = None if reply.state is None else (self._worker.generation, reply.state)
        if reply.refusal is not None or home is None:
            if home is not None:
                self._garbage.append(home)
            assert reply.refusal is not None
            return replace(reply.refusal, cost=reply.cost)
        state = self._remember(Record(step, reply.goals, home))
        return (Advanced if reply.goals else Closed)(
            state, reply.messages, reply.suggestions, reply.cost
        )

    # -------------------------------------------------- where a state lives, and replay

    async def _twice(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try again on a fresh process if the first try lost its process."""
        try:
            return await attempt()
        except LeanLost:
            # A process that sent an unreadable reply still runs, but cannot be trusted.
            self._worker.retire()
        try:
            return await attempt()
        except LeanLost:
            self._worker.retire()
            raise

    async def _locate(self, id: int) -> int:
        """Lean's id of a state on the current process, where it is replayed if necessary."""
        generation = await self._worker.ready()
        path: list[Record] = []
        record = self._records[id]
        while record.home[0] != generation:
            path.append(record)
            if isinstance(record.origin, Theorem):
                break
            record = self._records[record.origin.parent]
        for record in reversed(path):
            await self._remake(record)
        for record in path:
            if record.freed:
                self._discard(record)
        return self._records[id].home[1]

    async def _remake(self, record: Record) -> None:
        origin = record.origin
        if isinstance(origin, Theorem):
            record.home, goals = await self._make_root(origin)
        else:
            parent = self._records[origin.parent].home[1]
            budget = None if self._heartbeats is None else _REPLAY_BUDGET * self._heartbeats
            reply = await self._run(parent, origin, budget)
            if reply.state is None or reply.refusal is not None:
                raise ReplayDiverged(f"{origin.tactic!r} worked before, but now: {reply.refusal}")
            record.home, goals = (self._worker.generation, reply.state), reply.goals
        if shape_of(goals) != shape_of(record.goals):
            raise ReplayDiverged(f"{origin} led to other goals than before: {shape_of(goals)}")

    async def _make_root(self, theorem: Theorem) -> tuple[tuple[int, int], tuple[Goal, ...]]:
        generation = await self._worker.ready()
        # The text of a theorem may contain a file, which takes longer than a tactic may.
        line = protocol.start(theorem.statement, gate=self._worker.gate)
        reply = await self._worker.request(line, timeout=START_SECONDS)
        started = protocol.read_start(reply, theorem.name)
        goals = started.goals
        if goals is None:
            reply = await self._worker.request(requests.PrintGoals(started.state, True).line)
            goals = protocol.read_goals(reply)
        return (generation, started.state), goals

    # ----------------------------------------------------------------- bookkeeping

    def _begin(self, state: ProofState | None = None) -> None:
        """Checks at the beginning of every call."""
        if self._closed:
            raise ValueError("the session is closed")
        if not self._leased:
            raise ValueError("the session is between two workers")
        if state is not None:
            record = self._records.get(state.id)
            if record is None or record.freed:
                raise ValueError(f"state {state.id} was freed, or belongs to another session")
        if self._worker.due:
            self._worker.retire()

    def _selection(self, state: ProofState, goals: Sequence[int] | None) -> tuple[int, ...] | None:
        """The goals of a step; None means all, in order."""
        there = range(len(self._records[state.id].goals))
        wanted = tuple(there if goals is None else goals)
        strange = [index for index in wanted if index not in there]
        if strange or not wanted:
            raise ValueError(f"no goal {strange[0] if strange else 0} in a state of {len(there)}")
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"a goal is given twice: {wanted}")
        return None if wanted == tuple(there) else wanted

    def _remember(self, record: Record) -> ProofState:
        id = next(self._ids)
        self._records[id] = record
        if isinstance(record.origin, Step):
            self._records[record.origin.parent].children += 1
        return ProofState(id, record.goals)

    def _forget(self, id: int) -> None:
        """Free a state. Its record stays while a descendant may be replayed through it."""
        record = self._records.get(id)
        if record is None or record.freed:
            return
        record.freed = True
        self._discard(record)
        while record.freed and not record.children:
            del self._records[id]
            if isinstance(record.origin, Theorem):
                break
            id = record.origin.parent
            record = self._records[id]
            record.children -= 1

    def _discard(self, record: Record) -> None:
        """Delete Lean's copy later. A replay through this state makes another."""
        self._garbage.append(record.home)
        record.home = NOWHERE

    async def _sweep(self) -> None:
        """Delete freed states in Lean, many at once, if they still exist."""
        if len(self._garbage) < _DELETE_AT_ONCE:
            return
        here = self._worker.generation
        ids = [lean_id for generation, lean_id in self._garbage if generation == here]
        self._garbage.clear()
        if ids and self._worker.alive:
            # If this loses the process, the states are gone as well.
            with suppress(LeanLost):
                reply = await self._worker.request(requests.DeleteStates(ids).line)
                replies.raise_if_refused(reply)


@lru_cache(4096)
def _refusal(tactic: str) -> Rejected | None:
    """Why a tactic is not sent to Lean: it is not valid text, or it would run code."""
    try:
        tactic.encode()
    except UnicodeEncodeError:
        return Rejected("the tactic is not valid Unicode text", "parse")
    danger = next((v.reason for v in rules.violations(tactic) if v.dangerous), None)
    return Rejected(danger, "forbidden") if danger else None

"""A proof step by step: start a statement, apply tactics to its states, judge the result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

from burnqed.core.config import build
from burnqed.core.errors import InputError
from burnqed.core.types import ProofState, StepOutcome, Theorem
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool
from burnqed.lean.session import Session, open_session
from burnqed.lean.verdict import Verdict
from burnqed.prover import leans
from burnqed.prover.config import StepConfig
from burnqed.prover.loops import Loop, outside
from burnqed.prover.task import Task, gate_of, refuse_danger

_JUDGES = 2  # one compiles, one verifies


class Lean:
    """`with Lean() as lean: state = lean.start("∀ n : Nat, n + 0 = n")`; then `lean.apply(state, …)`.

    States persist: tactics can be applied to any of them, in any order. The settings are those of
    `prover.config.StepConfig`.
    """

    def __init__(self, **settings: Any) -> None:
        self.config = build(StepConfig, settings)
        self._loop: Loop | None = None
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._judges: Pool | None = None

    def __enter__(self) -> Self:
        if self._loop is not None:
            raise InputError("this Lean is open already")
        lean = outside(lambda: leans.set_up(self.config, leans.modules_of(self.config)))
        self._loop = Loop()
        try:
            self._loop.call(self._open(lean))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        loop, self._loop = self._loop, None
        self._session = self._judges = None
        if loop is not None:
            try:
                loop.call(self._stack.aclose())
            finally:
                loop.close()

    async def _open(self, lean: leans.Lean) -> None:
        gate = gate_of(trust=self.config.trust)
        enter = self._stack.enter_async_context
        pool = await enter(Pool(lean.spec, 1, gate=gate))
        self._judges = await enter(Pool(lean.judging, _JUDGES, gate=gate))
        self._session = await enter(open_session(pool, self.config.heartbeats))

    def start(self, statement: str) -> ProofState:
        """The first state of a proposition, or of a `theorem`. Raises `StatementError`."""
        loop, session, _ = self._parts()
        return loop.call(session.start(self._theorem(statement)))

    def apply(self, state: ProofState, tactic: str, goals: Sequence[int] | None = None) -> StepOutcome:
        """Run a tactic on a state's goals, or on some of them, by index.

        A tactic that fails is a value: `Rejected` or `TimedOut`. `Closed` means that no goal is left,
        which is not yet a proof.
        """
        loop, session, _ = self._parts()
        return loop.call(session.apply(state, tactic, goals))

    def judge(self, statement: str, tactics: Sequence[str]) -> Verdict:
        """The judge's verdict on tactics as a proof of a statement."""
        loop, _, judges = self._parts()
        return loop.call(judge_proof(judges, self._theorem(statement).statement, list(tactics)))

    def _parts(self) -> tuple[Loop, Session, Pool]:
        if self._loop is None or self._session is None or self._judges is None:
            raise InputError("this Lean is not open", hint="use it as `with Lean() as lean:`")
        return self._loop, self._session, self._judges

    def _theorem(self, text: str) -> Theorem:
        return _stated(text, trust=self.config.trust)


class ByHand:
    """A proof whose steps go to whichever Lean of a pool is free. Between steps it holds none."""

    def __init__(self, pool: Pool, judges: Pool, statement: str, heartbeats: int) -> None:
        self.theorem = _stated(statement, trust=False)
        self._pool, self._judges, self._heartbeats = pool, judges, heartbeats
        self._session: Session | None = None

    async def start(self) -> ProofState:
        """Its first state. Raises `StatementError`."""
        async with self._somewhere() as session:
            return await session.start(self.theorem)

    async def apply(self, state: ProofState, tactic: str) -> StepOutcome:
        """Run a tactic on a state. The state is made again where this happens."""
        async with self._somewhere() as session:
            return await session.apply(state, tactic)

    async def judge(self, tactics: Sequence[str]) -> Verdict:
        """The judge's verdict on tactics as its proof."""
        return await judge_proof(self._judges, self.theorem.statement, list(tactics))

    @asynccontextmanager
    async def _somewhere(self) -> AsyncIterator[Session]:
        async with self._pool.lease() as worker:
            if self._session is None:
                self._session = Session(worker, self._heartbeats)
            async with self._session.at(worker):
                yield self._session


def _stated(text: str, *, trust: bool) -> Theorem:
    task = Task(text)
    if task.source.imports:
        raise InputError(
            "a statement cannot import anything", hint="modules are loaded when Lean is started"
        )
    refuse_danger(task, trust=trust)
    return task.theorem

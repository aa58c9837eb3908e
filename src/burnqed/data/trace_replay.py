"""A written proof replayed from its statement, cut as finely as it works.

Every step is applied to Lean's state before it is recorded, so what is recorded replays. Where the
steps of a tactic do not do what the tactic does, the tactic is one step; where the steps of a proof do
not come to its end, the proof is cut less.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from burnqed.core.errors import RequestRefused
from burnqed.core.types import Goal, Rejected, TimedOut, state_text
from burnqed.data import trace_cut as cuts
from burnqed.lean import protocol, requests, rules
from burnqed.lean.pool import Worker
from burnqed.lean.protocol import StepReply
from burnqed.lean.trace import Block, Tactic, TracedTheorem, WrittenProof

NO_GOALS = "no goals"
_ROUNDS = 100  # of a `repeat`


class Grain(IntEnum):
    """How finely a proof is cut."""

    FINE = 0  # also `have … := by`, `first`, `try`, `repeat`
    STRUCTURE = 1  # bullets, cases, alternatives, `<;>`
    LINES = 2  # the tactics of the outermost block
    WHOLE = 3


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """A tactic at the goals that it is about; `waiting` more stand behind them and are not shown."""

    state: str
    tactic: str
    after: str
    waiting: int
    start: int
    end: int
    constants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """A proof whose steps were applied one after the other, and how finely it was cut into them."""

    steps: tuple[ReplayedStep, ...]
    grain: Grain


class NotReplayed(Exception):
    """The steps of a proof do not lead to its end."""


@dataclass(frozen=True, slots=True)
class _Here:
    """A state of Lean's, and the steps that led to it. The goals called `waiting` are the last ones."""

    state: int
    goals: tuple[Goal, ...]
    waiting: tuple[str, ...] = ()
    steps: tuple[ReplayedStep, ...] = ()

    @property
    def open(self) -> tuple[Goal, ...]:
        """The goals that are worked on."""
        return self.goals[: len(self.goals) - len(self.waiting)]

    def at_first(self, count: int = 1) -> _Here:
        """With only the first goals to work on."""
        return replace(self, waiting=tuple(goal.name for goal in self.goals[count:]))

    def back(self, outer: _Here) -> _Here:
        """With all goals to work on that `outer` had, as far as they are there."""
        there = {goal.name for goal in self.goals}
        return replace(self, waiting=tuple(name for name in outer.waiting if name in there))


async def replay(worker: Worker, text: str, theorem: TracedTheorem) -> Replayed:
    """The steps of a theorem's proof, as fine as they replay. Raises `NotReplayed`, and `LeanLost`."""
    assert theorem.proof is not None
    assert theorem.state is not None
    return await replay_from(worker, text, theorem.proof, theorem.state, theorem.goals)


async def replay_from(
    worker: Worker,
    text: str,
    proof: WrittenProof,
    state: int,
    goals: tuple[Goal, ...],
    *,
    intro: str = "",
    opened: Sequence[str] = (),
) -> Replayed:
    """The same from any state. `intro` comes before the proof's own steps.

    A step that does not work as it is written is tried with the namespaces in `opened`.
    """
    return await _Replay(worker, text, opened).proof(proof, _Here(state, goals), intro)


class _Replay:
    def __init__(self, worker: Worker, text: str, opened: Sequence[str] = ()) -> None:
        self._worker = worker
        self._text = text
        fit = [name for name in opened if not rules.first_violation(f"open {name} in skip")]
        self._opening = f"open {' '.join(fit)} in\n" if fit else ""
        self._grain = Grain.FINE
        self._made: list[int] = []

    async def proof(self, proof: WrittenProof, begin: _Here, intro: str) -> Replayed:
        block = proof.block
        trouble = NotReplayed("it has no tactics")
        entered = begin
        try:
            if intro:
                head = Tactic("", block.start, block.start, ())
                entered = await self._apply(begin, intro, head)
            for self._grain in Grain:
                try:
                    start = entered
                    for helper in proof.helpers:
                        start = await self._helper(start, helper)
                    if proof.form == "tactics":
                        end = await self._outermost(start, block)
                    elif proof.form == "equations":
                        end = await self._equations(start, block)
                    else:
                        end = await self._term(start, block)
                    if end.goals:
                        raise NotReplayed("goals are left at its end")
                    return Replayed(end.steps, self._grain)
                except NotReplayed as error:
                    # What the finest try says is nearest to what is wrong.
                    trouble = error if self._grain is Grain.FINE else trouble
            raise trouble
        finally:
            if self._worker.alive:
                await self._worker.request(requests.DeleteStates([begin.state, *self._made]).line)

    async def _outermost(self, here: _Here, block: Block) -> _Here:
        if self._grain is Grain.WHOLE:
            first, last = block.tactics[0], block.tactics[-1]
            return await self._apply(here, cuts.written(self._text, first.start, last.end), first)
        return await self._block(here, block.tactics)

    async def _helper(self, here: _Here, helper: Tactic) -> _Here:
        """A lemma of a `where`, which is stated before the proof that uses it."""
        blocks = tuple(b for b in helper.blocks if b.is_by) if self._grain is Grain.FINE else ()
        text = cuts.written(self._text, helper.start, helper.end, blocks)
        if not blocks:
            return await self._apply(here, f"have {text}", helper)
        return await self._with_holes(here, cuts.Cut(f"refine have {text}; ?_", blocks, 1), helper)

    async def _equations(self, here: _Here, block: Block) -> _Here:
        """A function by cases; the `@` is for those that are about an implicit variable."""
        try:
            return await self._term(here, block, "fun\n")
        except NotReplayed:
            return await self._term(here, block, "@fun\n")

    async def _term(self, here: _Here, block: Block, head: str = "") -> _Here:
        """A proof that is a term with tactics inside."""
        (term,) = block.tactics
        blocks = () if self._grain is Grain.WHOLE else tuple(b for b in term.blocks if b.is_by)
        text = cuts.written(self._text, term.start, term.end, blocks)
        if head:
            text = head + textwrap.indent(text, "  ")
        if not blocks:
            return await self._apply(here, f"exact {text}", term)
        return await self._with_holes(here, cuts.Cut(f"refine {text}", blocks, 0), term)

    # ---------------------------------------------------------------------- one step

    async def _apply(self, here: _Here, text: str, source: Tactic) -> _Here:
        """One step, and what becomes of the goals. Those that wait must stay where they are."""
        if not here.open:
            raise NotReplayed(f"no goal is left for: {text}")
        danger = rules.first_violation(text)
        if danger:
            raise NotReplayed(danger)
        reply = await self._try_step(here.state, text)
        if isinstance(reply.refusal, Rejected) and self._opening and reply.refusal.kind != "leak":
            within = self._opening + textwrap.indent(text, "  ")
            opened = await self._try_step(here.state, within)
            if opened.refusal is None:
                reply, text = opened, within
        match reply.refusal:
            case Rejected(error):
                raise NotReplayed(f"{_first_line(text)}: {error}")
            case TimedOut():
                raise NotReplayed(f"{_first_line(text)}: it runs out of heartbeats")
        assert reply.state is not None
        there = {goal.name for goal in reply.goals}
        waiting = tuple(name for name in here.waiting if name in there)
        behind = tuple(goal.name for goal in reply.goals[len(reply.goals) - len(waiting) :])
        if behind != waiting:
            raise NotReplayed(f"{_first_line(text)}: it moves goals that are not its own")
        after = _Here(reply.state, reply.goals, waiting)
        step = ReplayedStep(
            state_text(here.open), text, state_text(after.open) or NO_GOALS, len(here.waiting),
            source.start, source.end, reply.constants,
        )  # fmt: skip
        return replace(after, steps=(*here.steps, step))

    async def _try_step(self, state: int, text: str) -> StepReply:
        line = requests.Batch(state, [text], constants=True).line
        try:
            (reply,) = protocol.read_batch(await self._worker.request(line), 1)
        except RequestRefused as refusal:
            raise NotReplayed(refusal.message) from refusal
        if reply.state is not None:
            self._made.append(reply.state)
        return reply

    async def _whole(self, here: _Here, tactic: Tactic) -> _Here:
        return await self._apply(here, cuts.written(self._text, tactic.start, tactic.end), tactic)

    # ------------------------------------------------------------------ several steps

    async def _block(self, here: _Here, tactics: Sequence[Tactic]) -> _Here:
        for tactic in tactics:
            here = await self._tactic(here, tactic)
        return here

    async def _closed(self, here: _Here, tactics: Sequence[Tactic]) -> _Here:
        """The first goal, proved by these tactics."""
        end = await self._block(here.at_first(), tactics)
        if end.open:
            raise NotReplayed(f"goals are left: {end.open[0].text}")
        return end.back(here)

    async def _tactic(self, here: _Here, tactic: Tactic) -> _Here:
        """In steps, or else whole."""
        if not here.open:
            if cuts.plain(tactic.kind) in cuts.NEEDS_NO_GOAL:
                return here
            raise NotReplayed("a tactic has no goal left to act on")
        if tactic.blocks and self._grain < Grain.LINES:
            try:
                return await self._in_steps(here, tactic)
            except NotReplayed:
                pass
        return await self._whole(here, tactic)

    async def _in_steps(self, here: _Here, tactic: Tactic) -> _Here:
        kind, blocks = cuts.plain(tactic.kind), tactic.blocks
        if kind == cuts.PAREN:
            return await self._block(here, blocks[0].tactics)
        if kind in (cuts.BULLET, cuts.BRACES):
            return await self._closed(here, blocks[0].tactics)
        if kind == cuts.FOCUS:
            return (await self._block(here.at_first(), blocks[0].tactics)).back(here)
        if kind in cuts.CASE or kind in cuts.NEXT:
            return await self._case(here, tactic)
        if kind == cuts.BOTH:
            return await self._then_all(here, blocks)
        if kind == cuts.ALL:
            return await self._each(here, len(here.open), blocks[0].tactics)
        if kind in cuts.ANY and len(here.open) == 1:
            return await self._block(here, blocks[0].tactics)
        if self._grain is Grain.FINE and kind == cuts.FIRST:
            return await self._first(here, blocks)
        if self._grain is Grain.FINE and kind == cuts.TRY:
            return await self._try(here, blocks[0].tactics)
        if self._grain is Grain.FINE and kind == cuts.REPEAT:
            return await self._repeat(here, blocks[0].tactics)
        cut = cuts.cut_of(self._text, tactic)
        if cut is None or (self._grain is not Grain.FINE and any(b.is_by for b in cut.blocks)):
            raise NotReplayed("it cannot be cut")
        return await self._with_holes(here, cut, tactic)

    async def _with_holes(self, here: _Here, cut: cuts.Cut, source: Tactic) -> _Here:
        """The tactic with `?_` for its blocks, and then these, each on its goal."""
        after = await self._apply(here, cut.text, source)
        if len(after.open) != len(here.open) - 1 + len(cut.blocks) + cut.more:
            raise NotReplayed(f"{_first_line(cut.text)}: it leaves other goals than its holes")
        for block in cut.blocks:
            after = await self._closed(after, block.tactics)
        return after

    async def _case(self, here: _Here, tactic: Tactic) -> _Here:
        case = cuts.case_of(self._text, tactic)
        if case is None:
            raise NotReplayed("several cases share a block")
        if case.tag is not None and here.goals[0].user_name != case.tag:
            here = await self._apply(
                here, f"case' {case.tag} {case.names}".rstrip() + " => skip", tactic
            )
        elif case.names:
            here = await self._apply(here, f"rename_i {case.names}", tactic)
        tactics = tactic.blocks[0].tactics
        if tactic.kind.endswith("case'"):
            return (await self._block(here.at_first(), tactics)).back(here)
        return await self._closed(here, tactics)

    async def _then_all(self, here: _Here, blocks: Sequence[Block]) -> _Here:
        """`a <;> b`: `a`, and then `b` at each of the goals that are left of it."""
        before = len(here.open) - 1
        after = (await self._block(here.at_first(), blocks[0].tactics)).back(here)
        return await self._each(after, len(after.open) - before, blocks[1].tactics)

    async def _each(self, here: _Here, count: int, tactics: Sequence[Tactic]) -> _Here:
        """A step for each of the first goals. All but the last must be proved, to come to the next."""
        for left in range(count, 0, -1):
            if left > 1:
                here = await self._closed(here, tactics)
            else:
                here = (await self._block(here.at_first(), tactics)).back(here)
        return here

    async def _first(self, here: _Here, blocks: Sequence[Block]) -> _Here:
        trouble = NotReplayed("`first` without alternatives")
        for block in blocks:
            try:
                return await self._block(here, block.tactics)
            except NotReplayed as error:
                trouble = error
        raise trouble

    async def _try(self, here: _Here, tactics: Sequence[Tactic]) -> _Here:
        try:
            return await self._block(here, tactics)
        except NotReplayed:
            return here

    async def _repeat(self, here: _Here, tactics: Sequence[Tactic]) -> _Here:
        for _ in range(_ROUNDS):
            if not here.open:
                return here
            try:
                here = await self._block(here, tactics)
            except NotReplayed:
                return here
        raise NotReplayed("`repeat` does not come to an end")


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]

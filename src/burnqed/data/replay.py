"""Recorded steps applied to this Lean, one after the other, and each state beside the recorded one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from burnqed.core.errors import StatementError
from burnqed.core.types import (
    Advanced,
    Closed,
    Goal,
    ProofState,
    Proposition,
    Rejected,
    Theorem,
    TheoremText,
    TimedOut,
)
from burnqed.data.drift import Attempt, Failure, Scene, Sorter
from burnqed.data.first_state import goals_of, introductions, locals_of, names_in
from burnqed.data.steps import Step
from burnqed.lean.session import Session
from burnqed.lean.statement import header

# Else a name that is gone would be taken for a variable, and the statement for another one.
STRICT = "set_option relaxedAutoImplicit false\n"


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a proof: whether all of it works, and prints as recorded.

    Of one that does not, `failure` says why; `step` is the number of the step that fails, -1 for the
    statement. Of one that prints otherwise, it is the first difference. `steps` are those of one that
    replays, with the states that this Lean prints.
    """

    replays: bool
    equal: bool
    failure: Failure | None = None
    step: int = -1
    tactic: str = ""
    error: str = ""
    recorded: str = ""
    here: str = ""
    steps: tuple[Step, ...] = ()


async def replay(session: Session, theorem: Theorem, steps: Sequence[Step], sorter: Sorter) -> Replayed:
    """Steps in their order; raises what Lean's failures raise, and nothing about the steps."""
    likely = _namespaces(theorem.name)
    try:
        state = await _start(session, theorem, steps[0].state)
    except StatementError as error:
        said = error.message.removeprefix(f"{theorem.name}: ")
        scene = Scene(_text(theorem), likely=likely)
        failure = await sorter.sort(said, scene, _opened_statement(session, theorem))
        return Replayed(False, False, failure, error=said)
    drift: Replayed | None = None
    printed: dict[str, str] = {}  # goals as they were recorded, to the same as they print here
    fresh: list[Step] = []
    for number, step in enumerate(steps):
        recorded = goals_of(step.state)
        order = _order(state.goals, [printed.get(goal, goal) for goal in recorded])
        here = [state.goals[place].text for place in order]
        if drift is None:
            drift = _compared(recorded, here, number, step.tactic)
        outcome = await session.apply(state, step.tactic, order)
        match outcome:
            case Rejected(said):
                failure = await _sorted(session, state, order, step, said, sorter, likely)
                return Replayed(
                    False, False, failure, number, step.tactic, said, step.state, state.text
                )
            case TimedOut():
                failure = Failure("other", "it runs out of time")
                return Replayed(False, False, failure, number, step.tactic)
            case Advanced(state=after) | Closed(state=after):
                waiting = max(len(here) - len(recorded), 0)
                own = [goal.text for goal in after.goals[: max(len(after.goals) - waiting, 0)]]
                fresh.append(_printed_here(step, here[: len(recorded)], own))
                printed |= _matched(goals_of(step.after or ""), own)
                state = after
        if not state.goals and number + 1 < len(steps):
            failure = Failure("tactic API change", "it is proved already; steps are left over")
            return Replayed(False, False, failure, number + 1, steps[number + 1].tactic)
    ends = steps[-1].after is None or not goals_of(steps[-1].after or "")
    if ends and state.goals:
        failure = Failure("tactic API change", "goals are left at the end")
        return Replayed(False, False, failure, len(steps) - 1, steps[-1].tactic, here=state.text)
    if drift is None and not ends:
        last = goals_of(steps[-1].after or "")
        drift = _compared(last, [goal.text for goal in state.goals], len(steps), "")
    return replace(drift or Replayed(True, True), steps=tuple(fresh))


# ---------------------------------------------------------------------------------------- starting


async def _start(session: Session, theorem: Theorem, recorded: str) -> ProofState:
    """The theorem's first state, with its hypotheses named as they are recorded."""
    state = await session.start(theorem)
    goals = goals_of(recorded)
    if len(state.goals) == 1 and goals and state.text.strip() != goals[0].strip():
        if isinstance(theorem.statement, TheoremText):
            await session.start(
                _strict(theorem)
            )  # is it what it says, or is a name taken for a variable?
        there = len(state.goals[0].hypotheses)
        named = introductions(recorded, there) if len(locals_of(goals[0])) > there else ""
        outcome = await session.apply(state, named) if named else None
        if isinstance(outcome, Advanced):
            return outcome.state
    return state


def _strict(theorem: Theorem) -> Theorem:
    assert isinstance(theorem.statement, TheoremText)
    return replace(theorem, statement=TheoremText(STRICT + theorem.statement.source))


def _opened_statement(session: Session, theorem: Theorem) -> Attempt:
    async def attempt(namespaces: str) -> str:
        before = f"{STRICT}open {namespaces}\n"
        if not isinstance(theorem.statement, Proposition | TheoremText):
            return "it has no text"
        source = f"{before}{header(theorem.statement)} := by sorry"
        try:
            await session.start(Theorem(theorem.name, TheoremText(source)))
        except StatementError as error:
            return error.message
        return ""

    return attempt


def _text(theorem: Theorem) -> str:
    match theorem.statement:
        case Proposition(text=text) | TheoremText(source=text):
            return text
    return ""


def _namespaces(name: str) -> tuple[str, ...]:
    """`A.B` and `A` of the theorem `A.B.c`."""
    parts = name.split(".")[:-1]
    return tuple(".".join(parts[:length]) for length in range(len(parts), 0, -1))


# ---------------------------------------------------------------------------------------- steps


def _order(goals: Sequence[Goal], recorded: Sequence[str]) -> list[int]:
    """The goals with those first that the step is recorded at; as they are, where it is not clear."""
    left = list(range(len(goals)))
    first: list[int] = []
    for text in recorded:
        found = next((place for place in left if goals[place].text.strip() == text.strip()), None)
        if found is None:
            return list(range(len(goals)))
        left.remove(found)
        first.append(found)
    return [*first, *left]


def _matched(recorded: Sequence[str], here: Sequence[str]) -> dict[str, str]:
    """Which recorded goal is which here; nothing, where there are more of one than of the other.

    So a goal that waits for its turn is found again although it prints otherwise.
    """
    return dict(zip(recorded, here, strict=True)) if len(recorded) == len(here) else {}


def _printed_here(step: Step, state: Sequence[str], after: Sequence[str]) -> Step:
    told = "\n\n".join(after) or "no goals"
    return replace(step, state="\n\n".join(state), after=told)


def _compared(
    recorded: Sequence[str], here: Sequence[str], number: int, tactic: str
) -> Replayed | None:
    """None where the recorded goals are the first ones here; others may wait behind them."""
    seen = [text.strip() for text in here[: len(recorded)]]
    if [text.strip() for text in recorded] == seen:
        return None
    texts = "\n\n".join(recorded), "\n\n".join(seen)
    failure = Failure("pretty-printer drift", _difference(*texts))
    return Replayed(True, False, failure, number, tactic, "", *texts)


def _difference(recorded: str, here: str) -> str:
    """The first line that is not the same."""
    for old, new in zip(recorded.splitlines(), here.splitlines(), strict=False):
        if old.strip() != new.strip():
            return f"recorded: {old.strip()[:150]}; here: {new.strip()[:150]}"
    return "one has lines that the other has not"


async def _sorted(
    session: Session,
    state: ProofState,
    order: Sequence[int],
    step: Step,
    error: str,
    sorter: Sorter,
    likely: Sequence[str],
) -> Failure:
    async def attempt(namespaces: str) -> str:
        body = textwrap.indent(step.tactic, "  ").strip()
        outcome = await session.apply(state, f"open {namespaces} in (\n  {body})", order)
        match outcome:
            case Rejected(error):
                return error
            case TimedOut():
                return "it runs out of time"
        return ""

    recorded = goals_of(step.state)
    here = state.goals[order[0]].text if order else ""
    scene = Scene(
        step.tactic, names_in(recorded[0]) if recorded else (), names_in(here), likely
    )  # fmt: skip
    return await sorter.sort(error, scene, attempt)

"""What the messages of a proof mean: statements as requests, replies as goals and outcomes.

The messages themselves, with the names of their fields, are in `requests` and `replies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from burnqed.core.errors import RequestRefused, StatementError
from burnqed.core.facts import Facts, Known
from burnqed.core.types import (
    Certificate,
    Constant,
    Cost,
    FileHole,
    Goal,
    Hypothesis,
    LibraryConstant,
    Message,
    Negation,
    Proposition,
    Rejected,
    Statement,
    TheoremText,
    TimedOut,
    Unreadable,
)
from burnqed.lean import replies, requests
from burnqed.lean.replies import Reply, raise_if_refused, unexpected
from burnqed.lean.requests import Gate
from burnqed.lean.statement import with_sorry
from burnqed.lean.suggestions import suggestions

# Refusals that are no word on a tactic or a statement.
_TROUBLE = ("command", "io")


def start(statement: Statement, negate: bool | None = None, gate: Gate | None = None) -> str:
    """The request that makes a statement's first state, or its negation's. Raises `StatementError`."""
    match statement:
        case Proposition(text, levels):
            return requests.StartGoal(expr=text, levels=levels or None, negate=negate).line
        case LibraryConstant(name, leak):
            return requests.StartGoal(copy_from=name, hide=True, leak=leak, negate=negate).line
        case TheoremText():
            return requests.StartText(with_sorry(statement), negate=negate, gate=gate).line
        case FileHole(source, index):
            return requests.StartText(source.replace("\r\n", "\n"), index, negate, gate).line
        case Negation(negated):
            return start(negated, True, gate)
        case Unreadable(why):
            raise StatementError(why)


@dataclass(frozen=True, slots=True)
class StartReply:
    """A new state; `goals` is None where the command does not tell them (`goal.print` does)."""

    state: int
    goals: tuple[Goal, ...] | None


@dataclass(frozen=True, slots=True)
class StepReply:
    """What a tactic did. A refused one may still have left a `state`, which wants deleting.

    `cost` where Lean says it; `constants` of the terms that it made, where they were asked for.
    """

    state: int | None
    goals: tuple[Goal, ...] = ()
    messages: tuple[Message, ...] = ()
    refusal: Rejected | TimedOut | None = None
    cost: Cost | None = None
    constants: tuple[str, ...] = ()

    @property
    def suggestions(self) -> tuple[str, ...]:
        return suggestions(m.text for m in self.messages if m.severity == "information")


def read_start(reply: Reply, name: str) -> StartReply:
    """The first state of the theorem called `name`. Raises `StatementError`."""
    if reply.get("error") == "command":
        raise RequestRefused(
            f"{name}: this REPL starts no proof from a text, only from a bare proposition",
            hint="Pantograph's own REPL is one of those: leave out --toolchain pantograph",
            kind="command",
            desc=str(reply.get("desc", "")),
        )
    if "error" in reply and reply["error"] not in _TROUBLE:
        raise StatementError(f"{name}: {reply.get('desc', '')}")
    started = replies.read(reply, replies.Started)
    return StartReply(started.state_id, None if started.goals is UNSET else goals_of(started.goals))


def read_goals(reply: Reply) -> tuple[Goal, ...]:
    """The goals of a `goal.print`."""
    return goals_of(replies.read(reply, replies.Goals).goals)


def read_step(reply: Reply) -> StepReply:
    """A `goal.tactic`, or one entry of a `qed.batch`."""
    if reply.get("error") in (*_TROUBLE, "index"):
        raise_if_refused(reply)
    return _step(replies.shaped(reply, replies.Step), reply)


def read_batch(reply: Reply, count: int) -> list[StepReply]:
    results = replies.read(reply, replies.Steps).results
    if len(results) != count:
        raise unexpected(reply, f"{len(results)} results for {count} tactics")
    return [read_step(result) for result in results]


def read_certificate(reply: Reply) -> Certificate:
    told = replies.read(reply, replies.Certified)
    used = tuple(Constant(one.name, one.module) for one in told.constants)
    known = told.axioms if told.axioms_complete else None
    return Certificate(told.ok, told.desc, known, told.axioms, used)


_PROGRESS = re.compile(r"^\x01at (\d+)$", re.MULTILINE)


def read_progress(diagnostics: str) -> int | None:
    """The byte of a text that `qed.compile` had come to when its process was lost."""
    told = _PROGRESS.findall(diagnostics)
    return int(told[-1]) if told else None


_DETERMINISTIC_TIMEOUT = "(deterministic) timeout"


def _step(step: replies.Step, reply: Reply) -> StepReply:
    cost = None
    if step.us is not UNSET:
        cost = Cost(step.us / 1e6, None if step.heartbeats is UNSET else step.heartbeats)
    if step.error is not UNSET:
        if step.desc is UNSET:
            raise unexpected(reply, "an error without a text")
        return _failed(step.desc, step.error, cost)
    if step.parse_error is not UNSET:
        return _failed(step.parse_error, "parse", cost)
    if step.leak is not UNSET:
        reason = f"it uses {step.leak}, which is the theorem itself or may rest on it"
        return StepReply(None, refusal=Rejected(reason, "leak"), cost=cost)
    if step.messages is UNSET:
        raise unexpected(reply, "neither messages nor an error")
    said = tuple(Message(one.severity, one.data) for one in step.messages)
    errors = "\n".join(one.text for one in said if one.severity == "error")
    if step.goals is UNSET:
        if not errors:
            raise unexpected(reply, "neither goals nor an error")
        return _failed(errors, "tactic", cost)
    if step.next_state_id is UNSET or step.has_sorry is UNSET:
        raise unexpected(reply, "goals without a state")
    refusal: Rejected | TimedOut | None = None
    if step.has_sorry:
        refusal = Rejected(errors or "the tactic leaves a sorry", "sorry")
    elif errors:
        # Logged instead of thrown: Lean went on, but what it went on with cannot be trusted.
        refusal = _refusal(errors, "tactic", cost)
    elif not step.goals and step.root_has_mvar:
        refusal = Rejected("no goal is left, but the proof has unassigned metavariables", "tactic")
    elif step.has_holes:
        refusal = Rejected("the tactic leaves metavariables that are not among its goals", "tactic")
    elif step.has_unsafe:
        refusal = Rejected("the tactic uses an unsafe definition", "tactic")
    goals = goals_of(step.goals)
    return StepReply(step.next_state_id, goals, said, refusal, cost, step.used_constants)


def _failed(text: str, kind: str, cost: Cost | None) -> StepReply:
    return StepReply(None, refusal=_refusal(text, kind, cost), cost=cost)


def _refusal(text: str, kind: str, cost: Cost | None) -> Rejected | TimedOut:
    """Lean reports running out of heartbeats as an error like any other; here they part."""
    if _DETERMINISTIC_TIMEOUT in text:
        return TimedOut(cost.seconds if cost else 0.0, deterministic=True)
    return Rejected(text, "parse" if kind == "parse" else "tactic")


def goals_of(printed: Iterable[replies.PrintedGoal] | UnsetType) -> tuple[Goal, ...]:
    """Goals as everybody else knows them; none where a reply has none."""
    return () if printed is UNSET else tuple(map(_goal, printed))


def _goal(told: replies.PrintedGoal) -> Goal:
    facts = None
    if told.proposition is not None:
        facts = Facts(told.proposition, tuple(Known(v.proposition, v.data) for v in told.vars))
    return Goal(
        name=told.name,
        target=told.target.pp,
        hypotheses=tuple(map(_hypothesis, told.vars)),
        user_name=told.user_name or None,
        fragment=told.fragment,
        holes=None if told.holes is UNSET else told.holes,
        facts=facts,
    )


def _hypothesis(told: replies.Variable) -> Hypothesis:
    value = None if told.value is None else told.value.pp
    return Hypothesis(told.user_name, told.type.pp, value, told.is_inaccessible)

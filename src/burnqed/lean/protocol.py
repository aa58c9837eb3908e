"""The wire format: the one file that knows the names of fields.

A request is the line `command {json}`, a reply one line of JSON; the commands are Pantograph's, and
ours under `qed.`. Functions named after a command build its line; `read_…` functions take replies
apart, strictly (`strict`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from burnqed.core.errors import RequestRefused, StatementError
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
from burnqed.lean.statement import with_sorry
from burnqed.lean.strict import a_bool, a_dict, a_list, a_str, an_int, strictly, tuple_of
from burnqed.lean.suggestions import suggestions

Reply = dict[str, Any]
Gate = Mapping[str, Sequence[str]]  # what a text may not contain; `rules.gate`

# ------------------------------------------------------------------------------ requests


def request_line(command: str, **fields: Any) -> str:
    """One request; fields that are None are left out."""
    given = {key: value for key, value in fields.items() if value is not None}
    # Not ASCII-escaped: Lean's JSON reader does not join surrogate pairs.
    return f"{command} {json.dumps(given, ensure_ascii=False, separators=(',', ':'))}"


def start(statement: Statement, negate: bool | None = None, gate: Gate | None = None) -> str:
    """The request that makes a statement's first state, or its negation's. Raises `StatementError`."""
    match statement:
        case Proposition(text, levels):
            return request_line("goal.start", expr=text, levels=list(levels) or None, negate=negate)
        case LibraryConstant(name, leak):
            return request_line("goal.start", copyFrom=name, hide=True, leak=leak, negate=negate)
        case TheoremText():
            return request_line("qed.start", file=with_sorry(statement), negate=negate, gate=gate)
        case FileHole(source, index):
            file = source.replace("\r\n", "\n")
            return request_line("qed.start", file=file, hole=index, negate=negate, gate=gate)
        case Negation(negated):
            return start(negated, True, gate)
        case Unreadable(why):
            raise StatementError(why)


def goal_tactic(state: int, goal: int, tactic: str, *, resume: bool = True) -> str:
    """On one goal; with `resume` the others stay in the state, behind what becomes of it."""
    return request_line("goal.tactic", stateId=state, goalId=goal, tactic=tactic, autoResume=resume)


def qed_batch(
    state: int,
    tactics: Sequence[str],
    goals: Sequence[int] | None = None,
    heartbeats: int | None = None,
    constants: bool | None = None,
) -> str:
    """Each on the goals with these indices, by default all; the new states have none of the others."""
    given = None if goals is None else list(goals)
    fields = {"stateId": state, "goalIds": given, "tactics": list(tactics)}
    return request_line("qed.batch", **fields, maxHeartbeats=heartbeats, constants=constants)


def goal_print(state: int) -> str:
    return request_line("goal.print", stateId=state, goals=True)


def goal_delete(states: Sequence[int]) -> str:
    return request_line("goal.delete", stateIds=list(states))


def stat() -> str:
    return request_line("stat")


def reset() -> str:
    return request_line("reset")


def env_inspect(
    name: str, *, value: bool = False, dependency: bool = False, source: bool = False
) -> str:
    return request_line("env.inspect", name=name, value=value, dependency=dependency, source=source)


def env_catalog(module_prefix: str | None = None, *, invert: bool = False) -> str:
    return request_line("env.catalog", modulePrefix=module_prefix, invertFilter=invert)


def env_module_read(module: str) -> str:
    return request_line("env.module_read", module=module)


def frontend_process(source: str, *, inherit_env: bool = False, new_constants: bool = False) -> str:
    return request_line(
        "frontend.process",
        file=source,
        readHeader=False,
        inheritEnv=inherit_env,
        newConstants=new_constants,
    )


def qed_certify(state: int) -> str:
    return request_line("qed.certify", stateId=state)


def qed_theorems(modules: Sequence[str] = (), offset: int = 0, limit: int = 500, **more: bool) -> str:
    """One page of the library's theorems, of modules with these prefixes (`print`: with statements)."""
    return request_line(
        "qed.theorems", modules=list(modules) or None, offset=offset, limit=limit, **more
    )


def qed_compile(
    file: str,
    gate: Gate,
    reference: str | None = None,
    target: str | None = None,
    heartbeats: int | None = None,
    reference_gate: Gate | None = None,
) -> str:
    """With a `target`, a constant of the library, that theorem is hidden from automation."""
    return request_line(
        "qed.compile", file=file, gate=gate, reference=reference, referenceGate=reference_gate,
        hide=[target] if target else None, maxHeartbeats=heartbeats,
    )  # fmt: skip


def qed_verify(
    export: Any,
    written: Sequence[str],
    reference: str | None = None,
    target: LibraryConstant | None = None,
    heartbeats: int | None = None,
    reference_gate: Gate | None = None,
) -> str:
    """`export` is what `qed.compile` handed out, in another process."""
    return request_line(
        "qed.verify", export=export, written=list(written), reference=reference,
        referenceGate=reference_gate, target=target.name if target else None,
        leak=target.leak_rule if target else None, maxHeartbeats=heartbeats,
    )  # fmt: skip


# ------------------------------------------------------------------------------- replies


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


@dataclass(frozen=True, slots=True)
class LibraryTheorem:
    """A theorem of the library as it prints; `size` counts the nodes of its type as a term."""

    name: str
    module: str
    statement: str
    levels: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True)
class TheoremPage:
    """Some of `total` theorems; `next` is the offset of the page after, if there is one."""

    theorems: tuple[LibraryTheorem, ...]
    total: int
    next: int | None


def read_start(reply: Reply, name: str) -> StartReply:
    """The first state of the theorem called `name`. Raises `StatementError`."""
    if "error" in reply and reply["error"] not in ("command", "io"):
        raise StatementError(f"{name}: {reply.get('desc', '')}")
    raise_if_refused(reply)

    def read(reply: Reply) -> StartReply:
        goals = tuple_of(_goal, reply["goals"]) if "goals" in reply else None
        return StartReply(an_int(reply["stateId"]), goals)

    return strictly(read, reply)


def read_goals(reply: Reply) -> tuple[Goal, ...]:
    """The goals of a `goal.print`."""
    raise_if_refused(reply)
    return strictly(lambda reply: tuple_of(_goal, reply["goals"]), reply)


def read_step(reply: Reply) -> StepReply:
    """A `goal.tactic`, or one entry of a `qed.batch`."""
    if reply.get("error") in ("command", "index", "io"):  # no word on the tactic itself
        raise_if_refused(reply)
    return strictly(_step, reply)


def read_batch(reply: Reply, count: int) -> list[StepReply]:
    raise_if_refused(reply)

    def read(reply: Reply) -> list[StepReply]:
        results = list(map(read_step, map(a_dict, a_list(reply["results"]))))
        if len(results) != count:
            raise ValueError(f"{len(results)} results for {count} tactics")
        return results

    return strictly(read, reply)


def read_certificate(reply: Reply) -> Certificate:
    raise_if_refused(reply)

    def read(reply: Reply) -> Certificate:
        seen = tuple_of(a_str, reply["axioms"])
        used = tuple_of(lambda c: Constant(a_str(c["name"]), a_str(c["module"])), reply["constants"])
        known = seen if a_bool(reply["axiomsComplete"]) else None
        return Certificate(a_bool(reply["ok"]), a_str(reply["desc"]), known, seen, used)

    return strictly(read, reply)


def read_theorems(reply: Reply) -> TheoremPage:
    raise_if_refused(reply)

    def one(value: Any) -> LibraryTheorem:
        return LibraryTheorem(
            a_str(value["name"]),
            a_str(value["module"]),
            a_str(value.get("statement", "")),
            tuple_of(a_str, value["levels"]),
            an_int(value["size"]),
        )

    def read(reply: Reply) -> TheoremPage:
        after = reply["next"]
        return TheoremPage(
            tuple_of(one, reply["theorems"]),
            an_int(reply["total"]),
            None if after is None else an_int(after),
        )

    return strictly(read, reply)


def raise_if_refused(reply: Reply) -> None:
    """Raise the reply's `{"error": kind, "desc": text}`; no other reply has a field `error`."""
    if "error" in reply:
        kind, desc = str(reply["error"]), str(reply.get("desc", ""))
        raise RequestRefused(f"Lean refused the request ({kind}): {desc}", kind=kind, desc=desc)


_PROGRESS = re.compile(r"^\x01at (\d+)$", re.MULTILINE)


def read_progress(diagnostics: str) -> int | None:
    """The byte of a text that `qed.compile` had come to when its process was lost."""
    told = _PROGRESS.findall(diagnostics)
    return int(told[-1]) if told else None


_DETERMINISTIC_TIMEOUT = "(deterministic) timeout"


def _step(reply: Reply) -> StepReply:
    heartbeats = an_int(reply["heartbeats"]) if "heartbeats" in reply else None
    cost = Cost(an_int(reply["us"]) / 1e6, heartbeats) if "us" in reply else None
    if "error" in reply:
        return _failed(a_str(reply["desc"]), reply["error"], cost)
    if "parseError" in reply:
        return _failed(a_str(reply["parseError"]), "parse", cost)
    if "leak" in reply:
        reason = f"it uses {a_str(reply['leak'])}, which is the theorem itself or may rest on it"
        return StepReply(None, refusal=Rejected(reason, "leak"), cost=cost)
    messages = tuple_of(_message, reply["messages"])
    errors = "\n".join(m.text for m in messages if m.severity == "error")
    if "goals" not in reply:
        if not errors:
            raise ValueError("neither goals nor an error")
        return _failed(errors, "tactic", cost)
    state, goals = an_int(reply["nextStateId"]), tuple_of(_goal, reply["goals"])
    refusal: Rejected | TimedOut | None = None
    if a_bool(reply["hasSorry"]):
        refusal = Rejected(errors or "the tactic leaves a sorry", "sorry")
    elif errors:
        # Logged instead of thrown: Lean went on, but what it went on with cannot be trusted.
        refusal = _refusal(errors, "tactic", cost)
    elif not goals and a_bool(reply.get("rootHasMVar", False)):
        refusal = Rejected("no goal is left, but the proof has unassigned metavariables", "tactic")
    elif a_bool(reply.get("hasHoles", False)):
        refusal = Rejected("the tactic leaves metavariables that are not among its goals", "tactic")
    elif a_bool(reply.get("hasUnsafe", False)):
        refusal = Rejected("the tactic uses an unsafe definition", "tactic")
    constants = tuple_of(a_str, reply.get("usedConstants", []))
    return StepReply(state, goals, messages, refusal, cost, constants)


def _failed(text: str, kind: str, cost: Cost | None) -> StepReply:
    return StepReply(None, refusal=_refusal(text, kind, cost), cost=cost)


def _refusal(text: str, kind: str, cost: Cost | None) -> Rejected | TimedOut:
    """Lean reports running out of heartbeats as an error like any other; here they part."""
    if _DETERMINISTIC_TIMEOUT in text:
        return TimedOut(cost.seconds if cost else 0.0, deterministic=True)
    return Rejected(text, "parse" if kind == "parse" else "tactic")


def _goal(value: Any) -> Goal:
    fragment = value.get("fragment", "tactic")
    if fragment not in ("tactic", "conv", "calc"):
        raise ValueError(f"fragment {fragment}")
    return Goal(
        name=a_str(value["name"]),
        target=a_str(value["target"]["pp"]),
        hypotheses=tuple_of(_hypothesis, value["vars"]),
        user_name=a_str(value.get("userName") or "") or None,
        fragment=fragment,
        holes=tuple_of(a_str, value["holes"]) if "holes" in value else None,
    )


def _hypothesis(value: Any) -> Hypothesis:
    given = value.get("value")
    return Hypothesis(
        name=a_str(value["userName"]),
        type=a_str(value["type"]["pp"]),
        value=None if given is None else a_str(given["pp"]),
        inaccessible=a_bool(value.get("isInaccessible", False)),
    )


def _message(value: Any) -> Message:
    severity = value["severity"]
    if severity not in ("information", "warning", "error"):
        raise ValueError(f"severity {severity}")
    return Message(severity, a_str(value["data"]))

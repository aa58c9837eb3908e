"""Answers in words, for a client whose model reads no JSON. They say all that the answers have to say.

"proved" is written where an answer says so, and an answer says so only where the judge accepted.
"""

from __future__ import annotations

from functools import singledispatch

from burnqed.serve.answers import (
    CheckAnswer,
    HoleAnswer,
    LemmasAnswer,
    ProveAnswer,
    Refusal,
    TheoremAnswer,
)
from burnqed.serve.byhand import StepAnswer

_PROVE = {
    "proved": "proved: the judge accepted it.",
    "not_found": "not found: nothing is known of the statement.",
    "refuted": "refuted: the statement, or the goal of a `sorry` (see below), is false as it stands. "
    "The kernel accepted a proof of its negation.",
    "failed": "failed: nothing is proved.",
}
_HOLE = {
    "found": "tactics found", "exhausted": "nothing found", "false": "false as it stands",
    "error": "Lean was lost, nothing is known", "skipped": "not tried",
}  # fmt: skip


@singledispatch
def words(answer: object) -> str:
    raise TypeError(f"an answer of an unknown kind: {type(answer).__name__}")


@words.register
def _(answer: ProveAnswer) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in (answer.counterexample or {}).items())
    parts = [
        _PROVE[answer.outcome],
        f"spent: {answer.nodes} nodes, {answer.seconds:.1f} s",
        answer.limit and f"limit: {answer.limit}",
        answer.reason and f"reason: {answer.reason}",
        answer.detail,
        values and f"counterexample: {values}",
        _lean("proof", answer.proof),
        _lean("proof of the negation", answer.negation_proof),
        _axioms(answer.axioms, answer.axioms_seen) if answer.outcome == "proved" else "",
        *map(_hole, answer.holes),
        _lean("the text with what was found, which is not a proof", answer.draft)
        if answer.outcome != "proved"
        else "",
    ]
    return _joined(parts)


@words.register
def _(answer: CheckAnswer) -> str:
    first = (
        "accepted: the judge accepts every theorem, and the whole text compiles."
        if answer.accepted
        else "not accepted: the text proves less than it says."
    )
    errors = [f"error at line {e.line}, column {e.column}: {e.message}" for e in answer.errors]
    return _joined([first, *map(_verdict, answer.theorems), *errors, answer.hint])


@words.register
def _(answer: StepAnswer) -> str:
    match answer.outcome:
        case "goals":
            count = f"{len(answer.goals)} goal{'' if len(answer.goals) == 1 else 's'}"
            parts = [f"state {answer.state} of proof {answer.proof}: {count}"]
            parts += [goal.text for goal in answer.goals]
        case "proved":
            parts = [
                "proved: no goal is left, and the judge accepted it.",
                _lean("proof", answer.source),
            ]
        case "refused":
            parts = ["not proved: no goal is left, but the judge refused the proof."]
        case "rejected":
            parts = ["Lean rejects the tactic:", answer.error]
        case "timeout":
            parts = [f"Lean stopped the tactic: {answer.error}"]
    verdict = [] if answer.verdict is None else [_verdict(answer.verdict)]
    messages = [f"Lean says: {message}" for message in answer.messages]
    suggestions = [f"Lean suggests: {tactic}" for tactic in answer.suggestions]
    return _joined([*parts, *verdict, *messages, *suggestions])


@words.register
def _(answer: LemmasAnswer) -> str:
    return "\n".join(f"{one.name} : {one.statement}" for one in answer.lemmas) or "no lemma"


@words.register
def _(answer: Refusal) -> str:
    return _joined([f"{answer.kind}: {answer.error}", answer.hint and f"fix: {answer.hint}"])


def _verdict(one: TheoremAnswer) -> str:
    said = "accepted" if one.accepted else f"refused, {one.reason}"
    axioms = f"; {_axioms(one.axioms, one.axioms_seen)}" if one.accepted else ""
    return f"{one.theorem} : {one.type}\n  {said}{axioms}"


def _hole(one: HoleAnswer) -> str:
    where = f"`sorry` at line {one.line}, column {one.column}: {_HOLE[one.outcome]}"
    if one.outcome == "found":
        judged = "the judge accepted its theorem" if one.accepted else "its theorem is not proved"
        where += f"; {judged}" + (f" ({one.verdict})" if one.verdict and not one.accepted else "")
    elif one.reason:
        where += f" ({one.reason})"
    return "\n".join([where, *(f"  {tactic}" for tactic in one.tactics)])


def _axioms(all_of: tuple[str, ...] | None, seen: tuple[str, ...]) -> str:
    if all_of is None:
        return f"axioms: not all are known; seen: {', '.join(seen) or 'none'}"
    return f"axioms: {', '.join(all_of) or 'none'}"


def _lean(name: str, source: str | None) -> str:
    return "" if source is None else f"{name}:\n```lean\n{source.rstrip()}\n```"


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part)

"""What is answered, made of the prover's results. Only the judge's acceptance makes "proved"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from burnqed.core.errors import InfrastructureError, LeanError, RequestTimeout
from burnqed.evaluation.file import HoleResult
from burnqed.lean.verdict import Verdict
from burnqed.prover.checking import Checked
from burnqed.prover.results import Failed, NotFound, Proved, Refuted, Result
from burnqed.prover.suggesting import Suggestion

Outcome = Literal["proved", "not_found", "refuted", "failed"]
# Why a result that failed is still an answer: about the text, or about what was found for it.
_ANSWERS = frozenset({"statement", "unreadable", "refused", "skipped", "unjudged"})


class HoleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One `sorry` of a text. Lines count from 1 and columns from 0, in characters, as Lean does.

    `outcome` is "found" if tactics close it; whether its theorem is proved, `accepted` says.
    """

    line: int
    column: int
    declaration: str | None
    goal: str
    outcome: Literal["found", "exhausted", "false", "error", "skipped"]
    reason: str
    tactics: tuple[str, ...]
    nodes: int
    seconds: float
    accepted: bool
    verdict: str
    axioms: tuple[str, ...] | None = None
    axioms_seen: tuple[str, ...] = ()
    counterexample: Mapping[str, str] | None = None
    negation_proof: str | None = None


class RefusedTheorem(msgspec.Struct, frozen=True, kw_only=True):
    """A theorem of a text that the judge refused, other than those around its `sorry`s."""

    theorem: str
    reason: str


class ProveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a proof search.

    proved: the judge accepted every theorem of `proof`, which is Lean source. not_found: the budget of
    `limit` ran out, and nothing is known. refuted: the statement, or the goal of a `sorry`,
    is false as it stands: the kernel accepted `negation_proof`. failed: Lean
    does not accept the text, or the judge refused what was found; `reason` and `detail` say more.

    `draft` is a text with the proofs that were found for its `sorry`s. `axioms` is null if not all are
    known. `suggestions` are there if they were asked for.
    """

    outcome: Outcome
    said: str
    proof: str | None = None
    tactics: tuple[str, ...] = ()
    draft: str | None = None
    axioms: tuple[str, ...] | None = None
    axioms_seen: tuple[str, ...] = ()
    counterexample: Mapping[str, str] | None = None
    negation_proof: str | None = None
    limit: str = ""
    reason: str = ""
    detail: str = ""
    holes: tuple[HoleAnswer, ...] = ()
    refused: tuple[RefusedTheorem, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    nodes: int = 0
    states: int = 0
    seconds: float = 0.0
    lean_seconds: float = 0.0
    judge_seconds: float = 0.0


class TheoremAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdict on one theorem."""

    theorem: str
    accepted: bool
    reason: str
    type: str
    axioms: tuple[str, ...] | None
    axioms_seen: tuple[str, ...]
    seconds: float


class LemmaAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A theorem of the library. `share` is its share of all that were considered, which have 1."""

    name: str
    module: str
    statement: str
    share: float


class LemmasAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Lemmas, the likeliest first."""

    lemmas: tuple[LemmaAnswer, ...]


class ErrorAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An error of Lean in the text. Lines count from 1 and columns from 0, in characters."""

    line: int
    column: int
    message: str


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's verdicts. `accepted`: it accepts every theorem, and the whole text compiles."""

    accepted: bool
    theorems: tuple[TheoremAnswer, ...]
    errors: tuple[ErrorAnswer, ...]
    toolchain: str
    hint: str


class HighlightAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The pieces of each text: kind and text. Joined together they are the text.

    A kind is word, tactic, string, number, comment or broken; "" is plain. Nothing but the text was
    looked at: colours do not say that Lean accepts it.
    """

    pieces: tuple[tuple[tuple[str, str], ...], ...]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no outcome. `kind` is one of our errors, such as InputError or LeanDied."""

    error: str
    kind: str
    hint: str = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What serves, how busy it is, and what a request may ask for."""

    status: Literal["ok", "loading", "ending"]
    version: str
    toolchain: str = ""
    modules: tuple[str, ...] = ()
    policy: str = ""
    model: str | None = None
    workers: int = 0
    running: int = 0
    waiting: int = 0
    most_waiting: int = 0
    most_nodes: int = 0
    most_seconds: float = 0.0
    most_text_bytes: int = 0


def of_result(result: Result, *, suggest: bool = False) -> ProveAnswer:
    """Raises `InfrastructureError` if the machinery failed: then nothing is known of the text."""
    spent = result.statistics
    known = ProveAnswer(
        outcome="failed", said=result.said, proof=result.proof, tactics=result.tactics,
        draft=result.draft, axioms=spent.axioms, axioms_seen=spent.axioms_seen,
        holes=tuple(map(of_hole, result.holes)),
        refused=of_refused(result.refused), suggestions=result.suggestions if suggest else (),
        nodes=spent.nodes, states=spent.states, seconds=spent.seconds,
        lean_seconds=spent.lean_seconds, judge_seconds=spent.judge_seconds,
    )  # fmt: skip
    change = msgspec.structs.replace
    match result:
        case Proved():
            return change(known, outcome="proved")
        case NotFound(limit=limit, detail=detail):
            return change(known, outcome="not_found", limit=limit, detail=detail)
        case Refuted(negation_proof=proof, counterexample=values):
            return change(
                known, outcome="refuted", negation_proof=proof, counterexample=dict(values) or None
            )
        case Failed(reason=reason, detail=detail) if reason in _ANSWERS:
            return change(known, reason=reason, detail=detail)
        case Failed(reason="unchecked", detail=detail):
            raise RequestTimeout(f"a proof was found, but {detail}")
        case Failed(reason="internal", detail=detail):
            raise InfrastructureError(f"a fault of burn-qed: {detail}")
        case Failed(detail=detail):
            raise LeanError(f"Lean was lost, and nothing is known: {detail}")
    raise TypeError(f"a result of an unknown kind: {type(result).__name__}")


def of_checked(checked: Checked) -> CheckAnswer:
    return CheckAnswer(
        accepted=bool(checked),
        theorems=tuple(map(of_verdict, checked.verdicts)),
        errors=tuple(ErrorAnswer(line=e.line, column=e.column, message=e.text) for e in checked.errors),
        toolchain=checked.toolchain,
        hint=checked.hint,
    )


def of_verdict(verdict: Verdict) -> TheoremAnswer:
    return TheoremAnswer(
        theorem=verdict.theorem, accepted=verdict.accepted, reason=verdict.reason, type=verdict.type,
        axioms=verdict.axioms, axioms_seen=verdict.axioms_seen, seconds=verdict.seconds,
    )  # fmt: skip


def of_hole(found: HoleResult) -> HoleAnswer:
    hole, verdict, false = found.hole, found.verdict, found.refutation
    return HoleAnswer(
        line=hole.line, column=hole.column, declaration=hole.declaration, goal=hole.goal,
        outcome=found.outcome, reason=found.reason, tactics=found.tactics, nodes=found.nodes,
        seconds=found.seconds, accepted=verdict is not None and verdict.accepted,
        verdict=verdict.reason if verdict else "",
        axioms=verdict.axioms if verdict else None, axioms_seen=verdict.axioms_seen if verdict else (),
        counterexample=(dict(false.values) or None) if false else None,
        negation_proof=false.tactic if false else None,
    )  # fmt: skip


def of_refused(verdicts: Iterable[Verdict]) -> tuple[RefusedTheorem, ...]:
    return tuple(RefusedTheorem(theorem=one.theorem, reason=one.reason) for one in verdicts)

"""What `prove` tells, whoever proved: this process or a server. The fields are those of --json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from burnqed.core.errors import StatementError
from burnqed.core.types import Theorem
from burnqed.evaluation.file import FileResult
from burnqed.evaluation.prove import Attempt, lean_source
from burnqed.evaluation.times import Times
from burnqed.lean.negation import text_of
from burnqed.lean.refute import Refutation
from burnqed.prover.assembly import Assembled
from burnqed.prover.task import Task
from burnqed.search.events import Activity
from burnqed.serve.answers import Health, HoleAnswer, ProveAnswer, RefusedTheorem, of_hole, of_refused

_OUTCOMES = {"proved": "proved", "not_found": "exhausted", "refuted": "false", "failed": "error"}


class Machinery(msgspec.Struct, frozen=True):
    """The policy, the model and the Lean of the search."""

    policy: str
    model: str | None
    toolchain: str


class KindTold(msgspec.Struct, frozen=True):
    """The tactics that begin with one word: how many were tried, and what Lean took for them."""

    kind: str
    tried: int
    seconds: float


class TimesTold(msgspec.Struct, frozen=True):
    """Where the time went: seconds of each activity, summed over what was done at the same time."""

    activities: Mapping[Activity, float]
    tactics: tuple[KindTold, ...]


class StatementTold(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a statement. `axioms` are all that its proof uses, null if not known; those that
    were seen are in `axioms_seen`. `counterexample` falsifies a false one, if values do. `negation` is
    what was to be proved, if that is the negation of what was given.
    """

    theorem: str
    negation: str | None = None
    outcome: str
    reason: str
    detail: str
    proof: str | None
    tactics: tuple[str, ...]
    axioms: tuple[str, ...] | None
    axioms_seen: tuple[str, ...]
    counterexample: Mapping[str, str] | None
    negation_proof: str | None
    nodes: int
    states: int
    seconds: float
    lean_seconds: float
    judge_seconds: float


class FileTold(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a file. `source` is all of it, with what was found."""

    file: str | None
    proved: bool
    holes: tuple[HoleAnswer, ...]
    refused: tuple[RefusedTheorem, ...]
    source: str


# ------------------------------------------------------------------------- of this process


def machinery_of(prover: Assembled) -> Machinery:
    chosen = prover.policy.choice
    return Machinery(chosen.kind, chosen.model, prover.lean.toolchain.label)


def of_times(times: Times) -> TimesTold:
    kinds = (KindTold(one.name, one.tried, one.seconds) for one in times.kinds)
    return TimesTold(times.activities, tuple(kinds))


def of_attempt(attempt: Attempt, given: Theorem) -> StatementTold:
    """Of the given theorem, or of its negation."""
    searched, proof, false = attempt.searched, attempt.proof, attempt.refutation
    return StatementTold(
        theorem=attempt.theorem.name,
        negation=None if attempt.theorem == given else text_of(attempt.theorem),
        outcome=attempt.outcome,
        reason=attempt.reason,
        detail=attempt.detail,
        proof=lean_source(proof) if proof else None,
        tactics=proof.tactics if proof else (),
        axioms=proof.verdict.axioms if proof else None,
        axioms_seen=proof.verdict.axioms_seen if proof else (),
        counterexample=(dict(false.values) or None) if false else None,
        negation_proof=false.tactic if false else None,
        nodes=searched.nodes if searched else 0,
        states=len(searched.tree.nodes) if searched else 0,
        seconds=searched.seconds if searched else 0.0,
        lean_seconds=searched.lean_seconds if searched else 0.0,
        judge_seconds=attempt.judge_seconds,
    )


def of_file(result: FileResult, task: Task) -> FileTold:
    return FileTold(
        file=_named(task.path),
        proved=result.proved,
        holes=tuple(map(of_hole, result.holes)),
        refused=of_refused(result.refused),
        source=task.filled(result.source),
    )


# --------------------------------------------------------------------------- of a server


def machinery_there(health: Health) -> Machinery:
    return Machinery(health.policy, health.model, health.toolchain)


def of_statement_there(answer: ProveAnswer, task: Task) -> StatementTold:
    detail = answer.detail
    if answer.outcome == "refuted":
        values = tuple((answer.counterexample or {}).items())
        detail = Refutation(answer.negation_proof or "", values).sentence
    return StatementTold(
        theorem=task.theorem.name,
        outcome=_OUTCOMES[answer.outcome],
        reason=answer.limit or answer.reason,
        detail=detail,
        proof=answer.proof,
        tactics=answer.tactics,
        axioms=answer.axioms,
        axioms_seen=answer.axioms_seen,
        counterexample=answer.counterexample,
        negation_proof=answer.negation_proof,
        nodes=answer.nodes,
        states=answer.states,
        seconds=answer.seconds,
        lean_seconds=answer.lean_seconds,
        judge_seconds=answer.judge_seconds,
    )


def of_file_there(answer: ProveAnswer, task: Task) -> FileTold:
    """Raises `StatementError` for a text that Lean does not accept, as a search here does."""
    if answer.draft is None:
        raise StatementError(answer.detail)
    return FileTold(
        file=_named(task.path),
        proved=answer.outcome == "proved",
        holes=answer.holes,
        refused=answer.refused,
        source=answer.draft,
    )


def _named(path: Path | None) -> str | None:
    return str(path) if path else None

"""The results of proving, as values.

`Proved` is made only from the judge's verdicts, and it alone is true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from burnqed.core.errors import StatementError
from burnqed.evaluation.file import FileResult, HoleResult
from burnqed.evaluation.prove import Attempt, lean_source
from burnqed.lean.refute import Refutation
from burnqed.lean.tokens import tokenize
from burnqed.lean.verdict import Verdict
from burnqed.prover.drawing import result_html
from burnqed.prover.suggesting import Suggestion, suggestions
from burnqed.prover.task import Task
from burnqed.search.tree import Tree


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an attempt cost, and what its proof rests on.

    `axioms` are all axioms of a proof, and None if they are not known: a library loaded without its
    proofs does not show what they use. `axioms_seen` are those that were found.
    """

    nodes: int = 0
    states: int = 0
    seconds: float = 0.0
    lean_seconds: float = 0.0
    judge_seconds: float = 0.0
    axioms: tuple[str, ...] | None = None
    axioms_seen: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Result:
    """A statement or a text with holes, and its outcome.

    `tree` is the search tree of a single statement. `holes` are the `sorry`s of a text, and `draft` is
    the text with the proofs that were found. `refused` are the judge's refusals of its theorems without
    a `sorry`. `suggestions` are what was found as edits for an editor.
    """

    statement: str
    statistics: Statistics = field(default_factory=Statistics)
    proof: str | None = None
    tactics: tuple[str, ...] = ()
    tree: Tree | None = None
    holes: tuple[HoleResult, ...] = ()
    draft: str | None = None
    refused: tuple[Verdict, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()

    def __bool__(self) -> bool:
        return False

    @property
    def said(self) -> str:
        """The outcome in a sentence."""
        raise NotImplementedError

    @property
    def _spent(self) -> str:
        spent = self.statistics
        nodes = "1 node" if spent.nodes == 1 else f"{spent.nodes} nodes"
        return f"{nodes}, {spent.seconds:.1f} s"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.said!r})"

    def _repr_html_(self) -> str:
        return result_html(type(self).__name__, self.said, self.statement, self.proof, self.tree)


@dataclass(frozen=True, kw_only=True, repr=False)
class Proved(Result):
    """The judge accepted every theorem. `proof` is Lean source that can be pasted into a file."""

    verdicts: tuple[Verdict, ...]

    def __post_init__(self) -> None:
        if not self.verdicts or not all(verdict.accepted for verdict in self.verdicts):
            raise ValueError("only what the judge accepted is proved")
        if self.proof is None:
            raise ValueError("what is proved has a proof")

    def __bool__(self) -> bool:
        return True

    @property
    def said(self) -> str:
        return f"proved: {self._spent}"


@dataclass(frozen=True, kw_only=True, repr=False)
class NotFound(Result):
    """No proof within the budget, so nothing is known about the statement. `limit` is what ran out.

    `detail` says that a proof was found and refused, if one was.
    """

    limit: str = ""
    detail: str = ""

    @property
    def said(self) -> str:
        return f"not found: the budget of {self.limit} ran out ({self._spent})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Refuted(Result):
    """The statement is false: the kernel accepted a proof of its negation.

    `counterexample` has values for which it is false, if any are known.
    """

    negation_proof: str
    counterexample: Mapping[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.counterexample.items())
        return f"false: {values or 'its negation is proved'}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Failed(Result):
    """Nothing is known: Lean does not accept the statement, or Lean failed, or the judge refused."""

    reason: str
    detail: str = ""

    @property
    def said(self) -> str:
        return f"failed ({self.reason}): {self.detail}"


# ------------------------------------------------------------------------------- made of what


def refused(task: Task, error: StatementError) -> Failed:
    """The result for a text that Lean does not accept, or must not see."""
    return Failed(statement=task.text, reason="statement", detail=error.message)


def result_of(task: Task, found: Attempt | FileResult) -> Result:
    return _of_file(task, found) if isinstance(found, FileResult) else _of_statement(task, found)


def _of_statement(task: Task, attempt: Attempt) -> Result:
    searches = [s for s in (attempt.earlier, attempt.searched) if s is not None]
    proof, text = attempt.proof, task.text
    tree = attempt.searched.tree if attempt.searched else None
    spent = Statistics(
        nodes=sum(s.nodes for s in searches),
        states=sum(len(s.tree.nodes) for s in searches),
        seconds=sum(s.seconds for s in searches),
        lean_seconds=sum(s.lean_seconds for s in searches),
        judge_seconds=attempt.judge_seconds,
        axioms=proof.verdict.axioms if proof else None,
        axioms_seen=proof.verdict.axioms_seen if proof else (),
    )
    if attempt.outcome == "proved" and proof is not None:
        return Proved(
            statement=text, statistics=spent, proof=lean_source(proof), tactics=proof.tactics,
            tree=tree, verdicts=(proof.verdict,),
        )  # fmt: skip
    if attempt.outcome == "exhausted":
        return NotFound(
            statement=text, statistics=spent, tree=tree, limit=attempt.reason, detail=attempt.detail
        )
    if attempt.outcome == "false" and attempt.refutation is not None:
        return _refuted(Result(statement=text, statistics=spent, tree=tree), attempt.refutation)
    detail = attempt.detail
    return Failed(statement=text, statistics=spent, tree=tree, reason=attempt.reason, detail=detail)


def _refuted(known: Result, refutation: Refutation) -> Refuted:
    return Refuted(
        statement=known.statement, statistics=known.statistics, tree=known.tree, holes=known.holes,
        draft=known.draft, refused=known.refused, suggestions=known.suggestions,
        negation_proof=refutation.tactic, counterexample=dict(refutation.values),
    )  # fmt: skip


def _of_file(task: Task, result: FileResult) -> Result:
    draft, holes = task.filled(result.source), result.holes
    verdicts = tuple(hole.verdict for hole in holes if hole.verdict is not None)
    known = [verdict.axioms for verdict in verdicts]
    seen = (axiom for verdict in verdicts for axiom in verdict.axioms_seen)
    every = {axiom for axioms in known for axiom in axioms or ()}
    spent = Statistics(
        nodes=sum(hole.nodes for hole in holes),
        seconds=sum(hole.seconds for hole in holes),
        axioms=tuple(sorted(every)) if result.proved and None not in known else None,
        axioms_seen=tuple(sorted(set(seen))),
    )
    common: dict[str, Any] = {
        "statement": task.text,
        "statistics": spent,
        "tactics": tuple(tactic for hole in holes for tactic in hole.tactics),
        "holes": holes,
        "draft": draft,
        "suggestions": tuple(suggestions(result, task.text)),
    }
    if result.proved:
        return Proved(**common, proof=draft, verdicts=verdicts)
    common["refused"] = result.refused
    rest = Result(**common)
    false = next((hole.refutation for hole in holes if hole.refutation is not None), None)
    if false is not None:
        return _refuted(rest, false)
    spent_hole = next((hole for hole in holes if hole.outcome == "exhausted"), None)
    if spent_hole is not None and all(hole.outcome in ("exhausted", "found") for hole in holes):
        return NotFound(**common, limit=spent_hole.reason)
    reason, detail = _why(result)
    return Failed(**common, reason=reason, detail=detail)


def _why(result: FileResult) -> tuple[str, str]:
    """Why not all holes of a text are proved, other than a budget that ran out."""
    if not result.holes:
        return "statement", "no `sorry` of the text stands for a proof"
    for hole in result.holes:
        if hole.outcome in ("error", "skipped"):
            return hole.outcome, f"line {hole.hole.line}: {hole.reason}"
    verdicts = [*(hole.verdict for hole in result.holes), *result.refused]
    for verdict in verdicts:
        if verdict is not None and not verdict.accepted:
            return "refused", f"{verdict.theorem}: {verdict.reason}"
    if any(token.text == "sorry" for token in tokenize(result.source)):
        return "unjudged", "the text has other `sorry`s"
    return "unjudged", "the judge has no verdict on a theorem of the text"

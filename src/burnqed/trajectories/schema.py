"""The record of a search: a row for each tried step, a record for each theorem.

This is plain Python, so that searches can be summarized without pyarrow. `tables` is about rows in
Arrow, `part` about files.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from burnqed.search.tree import Result

# Increased when a row or a record changes. Readers refuse newer files. The seal of a file (`part`) is
# the same in every version, so that a newer file never looks damaged.
# 1 had no `lost_at` and `lost_kind`, 2 no `path`, 3 no `axioms_seen`, no cost of a tactic, 4 no facts,
# 5 no energies and scores of children, 6 no `spent`.
VERSION = 7
ERROR_LENGTH = 500
TRAJECTORIES = "trajectories"  # of a run's directory

Label = Literal["positive", "negative", "unknown"]
# What tried it: a search, a search with noise, or `negatives` next to a proof or away from it.
Origin = Literal["search", "noise", "probe", "walk"]
TheoremOutcome = Literal["proved", "exhausted", "error"]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One tried step. Its fields are in the order of the columns."""

    run: str
    theorem: str
    node: int  # where it was tried
    parent: int | None  # that node's first parent; the root has none
    children: tuple[int, ...]  # the nodes it led to
    depth: int
    state: str
    root_goal: str
    tactic: str
    logprob: float
    energy: float | None
    score: float
    outcome: Result
    error: str  # kind and text, at most ERROR_LENGTH characters
    label: Label
    on_proof_path: bool
    remaining_steps: int | None
    origin: Origin
    temperature: float
    iteration: int
    seconds: float  # from the beginning of the search to the end of its batch of tactics
    lean_seconds: float | None = None  # that this tactic took, as Lean reports
    heartbeats: int | None = None  # the same in thousands of allocations, the unit of `maxHeartbeats`
    facts: str | None = None  # of the state's goals (`core.facts`), as JSON; None where Lean told none
    # Of `children`, in their order: most of them are never expanded and have no rows of their own.
    child_energies: tuple[float, ...] | None = None  # None without a value model
    child_scores: tuple[float, ...] | None = None  # None in older files
    spent: int | None = None  # nodes of the budget, with the one in which it was tried; None in older

    def __post_init__(self) -> None:
        if len(self.error) > ERROR_LENGTH:
            object.__setattr__(self, "error", self.error[:ERROR_LENGTH])


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of a judged proof: the state, printed like those of the search, and the tactic."""

    state: str
    tactic: str
    depth: int  # steps before it


@dataclass(frozen=True, slots=True)
class TheoremRecord:
    """The outcome of one theorem.

    `seconds` is the search's wall clock. `lean_seconds` is Lean's part of it, and may be larger if
    several workers served the search. `judge_seconds` come on top.
    """

    theorem: str
    outcome: TheoremOutcome
    reason: str  # exhausted: which budget (nodes, depth, seconds, candidates); error: its kind
    detail: str  # the error's text
    nodes: int
    steps: int
    expansions: int
    candidates_min: int  # per expansion
    candidates_max: int
    candidates_total: int
    seconds: float
    lean_seconds: float
    judge_seconds: float
    proof: str
    proof_steps: int
    axioms: tuple[str, ...] | None  # all that the proof uses; None if not known
    axioms_seen: tuple[str, ...]
    leak_rule: str | None
    seed: int
    statement_sha: str
    # Nodes spent when Lean was first lost through no fault of the tactic, and how. A search with fewer
    # nodes would have been complete.
    lost_at: int | None = None
    lost_kind: str = ""
    # The steps of `proof`. The path in the rows may be longer, because `proof` was shortened.
    path: tuple[PathStep, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome not in get_args(TheoremOutcome):
            raise ValueError(f"{self.theorem}: unknown outcome: {self.outcome!r}")


def records_to_json(records: Iterable[TheoremRecord]) -> str:
    return json.dumps([dataclasses.asdict(record) for record in records])


def records_from_json(text: str | bytes) -> list[TheoremRecord]:
    entries: list[dict[str, Any]] = json.loads(text)
    return [_record(entry) for entry in entries]


def _record(entry: dict[str, Any]) -> TheoremRecord:
    path = tuple(PathStep(**step) for step in entry.get("path", ()))
    axioms = entry["axioms"]
    if "axioms_seen" not in entry:  # older files called the seen ones all
        entry, axioms = {**entry, "axioms_seen": axioms}, None
    known = None if axioms is None else tuple(axioms)
    seen = tuple(entry["axioms_seen"])
    return TheoremRecord(**{**entry, "axioms": known, "axioms_seen": seen, "path": path})

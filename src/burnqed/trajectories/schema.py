"""What is kept of a search: a row for each tried step, a record for each searched theorem.

Plain Python, so that a search can be described and summed up where pyarrow is not installed;
`tables` says how rows lie in Arrow, `part` how a file does.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from burnqed.search.tree import Result

# Rises when a row or a record changes. Readers refuse what is newer than they are; how a file is
# sealed (`part`) is the same in every version, so that a newer file never looks like a damaged one.
VERSION = 4  # 1 had no `lost_at` and `lost_kind`, 2 no `path`, 3 no `axioms_seen`, no cost of a tactic
ERROR_LENGTH = 500
TRAJECTORIES = "trajectories"  # of a run's directory

Label = Literal["positive", "negative", "unknown"]
# Who tried it: the search, the search with noise, `negatives` at a state of a proof, or away from it.
Origin = Literal["search", "noise", "probe", "walk"]
TheoremOutcome = Literal["proved", "exhausted", "error"]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One tried step. The order of the fields is that of the columns."""

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
    seconds: float  # from the begin of the search to the end of the bunch that it was tried in
    lean_seconds: float | None = None  # that Lean says this tactic took
    heartbeats: int | None = None  # the same in thousands of allocations, the unit of `maxHeartbeats`

    def __post_init__(self) -> None:
        if len(self.error) > ERROR_LENGTH:
            object.__setattr__(self, "error", self.error[:ERROR_LENGTH])


@dataclass(frozen=True, slots=True)
class PathStep:
    """A step of a judged proof: the state as the search's own states are printed, and the tactic."""

    state: str
    tactic: str
    depth: int  # steps before it


@dataclass(frozen=True, slots=True)
class TheoremRecord:
    """What became of one theorem.

    `seconds` is the search's wall clock, of which Lean says it used `lean_seconds` (more than all of
    it when several workers served one search); `judge_seconds` come on top.
    """

    theorem: str
    outcome: TheoremOutcome
    reason: str  # exhausted: which budget (nodes, depth, seconds, candidates); error: its kind
    detail: str  # the error's text
    nodes: int
    steps: int
    expansions: int
    candidates_min: int  # per state that was expanded, once or again
    candidates_max: int
    candidates_total: int
    seconds: float
    lean_seconds: float
    judge_seconds: float
    proof: str
    proof_steps: int
    axioms: tuple[str, ...] | None  # all that the proof rests on; None where they are not known
    axioms_seen: tuple[str, ...]
    leak_rule: str | None
    seed: int
    statement_sha: str
    # Nodes spent when Lean was lost for the first time, other than by the tactic's own doing, and how;
    # with fewer nodes the search would have been whole.
    lost_at: int | None = None
    lost_kind: str = ""
    # The steps of `proof`, which is shorter than what the rows call its path: they are as it was found.
    path: tuple[PathStep, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome not in get_args(TheoremOutcome):
            raise ValueError(f"{self.theorem}: no such outcome: {self.outcome!r}")


def records_to_json(records: Iterable[TheoremRecord]) -> str:
    return json.dumps([dataclasses.asdict(record) for record in records])


def records_from_json(text: str | bytes) -> list[TheoremRecord]:
    entries: list[dict[str, Any]] = json.loads(text)
    return [_record(entry) for entry in entries]


def _record(entry: dict[str, Any]) -> TheoremRecord:
    path = tuple(PathStep(**step) for step in entry.get("path", ()))
    axioms = entry["axioms"]
    if "axioms_seen" not in entry:  # those that were seen were called all
        entry, axioms = {**entry, "axioms_seen": axioms}, None
    known = None if axioms is None else tuple(axioms)
    seen = tuple(entry["axioms_seen"])
    return TheoremRecord(**{**entry, "axioms": known, "axioms_seen": seen, "path": path})

"""What searches teach about choosing: what was tried at states of proofs, and which lemmas helped.

Of a state on the path of a judged proof it is known what worked, and of all else that was tried there
that it did not, or not as well. Of other states nothing is known but that the search ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnqed.data.index import TheoremIndex
from burnqed.search.tree import SPENT
from burnqed.training.held import HeldOut
from burnqed.training.pairs import Pair
from burnqed.trajectories.schema import TheoremRecord
from burnqed.trajectories.store import every_trajectories, iter_steps, read_records

_COLUMNS = (
    "theorem", "node", "state", "tactic", "outcome", "error", "on_proof_path", "root_goal", "origin",
    "facts",
)  # fmt: skip
_SEARCHED = ("search", "noise")

OnProblem = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Decision:
    """A state of a proof, what was tried there in this order, and which of it worked.

    `facts` are those of the state as trajectories keep them, where they do.
    """

    theorem: str
    state: str
    tried: tuple[str, ...]
    worked: frozenset[str]
    facts: str | None = None


@dataclass(frozen=True, slots=True)
class Lessons:
    """What runs have to teach, each thing once, and what was counted on the way.

    `steps` are those of judged proofs as they were shortened: the lemmas that these still name are
    needed.
    """

    decisions: tuple[Decision, ...]
    steps: tuple[Pair, ...]
    report: dict[str, Any]


def read_lessons(
    runs: Sequence[Path], without: Sequence[TheoremIndex], on_problem: OnProblem
) -> Lessons:
    """The lessons of these runs, in their order; nothing of a theorem of `without`."""
    keep_out = HeldOut(without)
    decisions: dict[tuple[str, str], Decision] = {}
    steps: dict[tuple[str, str, str], Pair] = {}
    proved: set[str] = set()
    held: set[str] = set()
    for directory in (one for run in runs for one in every_trajectories(run)):
        records = {
            record.theorem: record
            for record in read_records(directory, lambda _told_below: None)
            if record.outcome == "proved"
        }
        for nodes in _by_theorem(directory, records, on_problem):
            record = records[nodes.theorem]
            if keep_out.why(record, nodes.root_goal) is not None:
                held.add(nodes.theorem)
                continue
            proved.add(nodes.theorem)
            for decision in nodes.decisions():
                # What several searches tried at one state is all known of it.
                key = decision.theorem, decision.state
                decisions[key] = _joined(decisions[key], decision) if key in decisions else decision
            for step in record.path:
                one = Pair(step.state, step.tactic, record.theorem, step.depth, found=True)
                steps[one.theorem, one.state, one.tactic] = one
    report = {
        "runs": [str(run) for run in runs],
        "theorems": len(proved),
        "held_out": len(held),
        "decisions": len(decisions),
        "tactics": sum(len(one.tried) for one in decisions.values()),
        "proof_steps": len(steps),
    }
    return Lessons(tuple(decisions.values()), tuple(steps.values()), report)


def _joined(one: Decision, other: Decision) -> Decision:
    tried = tuple(dict.fromkeys((*one.tried, *other.tried)))
    return Decision(one.theorem, one.state, tried, one.worked | other.worked, one.facts or other.facts)


class _Nodes:
    """The rows of one theorem's search, node by node."""

    def __init__(self, theorem: str, root_goal: str) -> None:
        self.theorem, self.root_goal = theorem, root_goal
        self._tried: dict[tuple[int, str], list[str]] = {}
        self._worked: dict[tuple[int, str], set[str]] = {}
        self._on_path: set[tuple[int, str]] = set()
        self._facts: dict[tuple[int, str], str | None] = {}

    def add(
        self, node: int, state: str, facts: str | None, tactic: str, closed: bool, on_path: bool
    ) -> None:
        self._tried.setdefault((node, state), []).append(tactic)
        self._facts[node, state] = facts
        if closed or on_path:
            self._worked.setdefault((node, state), set()).add(tactic)
        if on_path:
            self._on_path.add((node, state))

    def decisions(self) -> list[Decision]:
        return [
            Decision(
                self.theorem,
                state,
                tuple(dict.fromkeys(self._tried[node, state])),
                frozenset(good),
                self._facts[node, state],
            )
            for (node, state), good in self._worked.items()
            if (node, state) in self._on_path
        ]


def _by_theorem(
    directory: Path, records: dict[str, TheoremRecord], on_problem: OnProblem
) -> list[_Nodes]:
    found: dict[str, _Nodes] = {}
    for batch in iter_steps(directory, _COLUMNS, on_problem):
        columns = (batch.column(name).to_pylist() for name in _COLUMNS)
        for theorem, node, state, tactic, outcome, error, on_path, root, origin, facts in zip(
            *columns, strict=True
        ):
            # What was lost with Lean, or stopped by the clock or by a small effort, is not evidence.
            known = outcome != "lost" and (outcome != "timeout" or error == SPENT)
            if known and theorem in records and origin in _SEARCHED:
                nodes = found.setdefault(theorem, _Nodes(theorem, root))
                nodes.add(node, state, facts, tactic, outcome == "closed", on_path)
    return list(found.values())

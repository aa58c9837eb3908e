"""One attempt at a theorem: its proof, its tree, and what was tried at each state."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.lean.highlight import Piece, coloured
from burnqed.search.shown import number
from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.web.runs import Run
from burnqed.web.theorems import chosen, records_of, result_of, statement_of, theorem_id
from burnqed.web.tree import figures, goals_of, grown


@dataclass(frozen=True, slots=True)
class Attempt:
    """A theorem, and the attempt at it that is looked at."""

    run: Run
    record: TheoremRecord
    number: int  # from 1
    attempts: tuple[int, ...]  # those that have a record

    @property
    def rows(self) -> tuple[StepRow, ...]:
        path = self.run.attempts[self.number - 1]
        parts = tuple((e.name, e.stat().st_mtime_ns) for e in sorted(path.glob("part-*.parquet")))
        return _rows(path, self.record.theorem, parts)


@lru_cache(maxsize=4)  # a tree, its nodes and searches in it are asked for one after the other
def _rows(path: Path, theorem: str, _parts: tuple[tuple[str, int], ...]) -> tuple[StepRow, ...]:
    from burnqed.trajectories.store import theorem_rows

    return tuple(theorem_rows(path, theorem, lambda _told_in_the_listing: None))


def find_attempt(run: Run, theorem: str, number: int | None) -> Attempt | None:
    """The attempt with this number, or the one to show first; None if there is no such theorem.

    `theorem` is its id.
    """
    tried = [
        (attempt, record)
        for attempt, records in enumerate(records_of(run, []), start=1)
        for record in records
        if theorem_id(record.theorem) == theorem
    ]
    own = [one for one in tried if number in (None, one[0])]
    if not own:
        return None
    found, record = chosen(own)
    return Attempt(run, record, found, tuple(attempt for attempt, _ in tried))


def about(attempt: Attempt) -> dict[str, Any]:
    """The theorem for its page. Its statement is the set's, or else the first goal."""
    record = attempt.record
    stated = statement_of(attempt.run, record.theorem)
    goal = attempt.rows[0].root_goal if attempt.rows else ""
    result = result_of(attempt.run, [])
    judged = {t.name: t for t in result.largest.per_theorem} if result else {}
    group = judged[record.theorem].group if record.theorem in judged else ""
    kept = asdict(record)
    del kept["path"], kept["statement_sha"]
    return {
        **{key: number(value) if isinstance(value, float) else value for key, value in kept.items()},
        "group": group,
        "stated": bool(stated),
        "statement": coloured(stated or goal),
        "proof": coloured(record.proof),
        "path": [{"tactic": s.tactic, "state": s.state, "depth": s.depth} for s in record.path],
        "attempt": attempt.number,
        "attempts": attempt.attempts,
    }


def tree(attempt: Attempt) -> dict[str, Any]:
    """The tree as JSON: each node and each edge as a list, in the order of `nodes` and `edges`."""
    found = grown(attempt.rows)
    return {
        "outcome": attempt.record.outcome,
        "moments": found.moments,
        "nodes": [asdict(node) for node in found.nodes],
        "edges": [asdict(edge) for edge in found.edges],
    }


def state(attempt: Attempt, node: int) -> dict[str, Any]:
    """A node's goals, and every tactic that was tried at it with Lean's answer."""
    rows = [row for row in attempt.rows if row.node == node]
    ways = [row for row in attempt.rows if node in row.children]
    if not rows and not ways and node != 0:
        raise InputError(f"the tree has no node {node}")
    goals: list[list[Piece]] = [coloured(goal) for goal in goals_of(rows[0].state)] if rows else []
    energy, score = figures(node, rows[0] if rows else None, ways[0] if ways else None)
    return {
        "node": node,
        "goals": goals,
        "score": score,
        "energy": energy,
        "tried": [_tried(row) for row in rows],
        "ways": [{"node": way.node, "tactic": way.tactic} for way in ways],
    }


def _tried(row: StepRow) -> dict[str, Any]:
    return {
        "tactic": coloured(row.tactic),
        "logprob": number(row.logprob),
        "outcome": row.outcome,
        "answer": row.error,
        "children": row.children,
        "child_energies": [number(energy) for energy in row.child_energies or ()],
        "on_proof": row.on_proof_path,
        "label": row.label,
        "origin": row.origin,
        "at": number(row.seconds),
        "seconds": number(row.lean_seconds),
        "heartbeats": row.heartbeats,
    }


def matches(attempt: Attempt, text: str) -> list[int]:
    """The nodes whose goals, tactics or answers hold a text, whatever its case."""
    wanted = text.casefold()
    found: dict[int, None] = {}
    for row in attempt.rows:
        if row.node not in found and any(
            wanted in one.casefold() for one in (row.state, row.tactic, row.error)
        ):
            found[row.node] = None
    return list(found)

"""The list of all theorems, with outcomes in each run and proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from burnqed.evaluation.results import Labelled, TheoremResult
from burnqed.report.markup import made
from burnqed.report.wording import natural, run_name, seconds


@dataclass(frozen=True, slots=True)
class Row:
    """A theorem in every run; None if a run's benchmark does not have it."""

    name: str
    group: str
    found: tuple[TheoremResult | None, ...]

    @property
    def there(self) -> list[TheoremResult]:
        return [t for t in self.found if t is not None]

    @property
    def outcomes(self) -> set[str]:
        """The words that a reader may filter by."""
        differ = {"differ"} if len({t.proved for t in self.there}) > 1 else set()
        return differ | {t.outcome for t in self.there}


def rows_of(labelled: Labelled) -> list[Row]:
    """A key that sorts by group, then by name, with numbers in order."""
    found = [{t.name: t for t in result.largest.per_theorem} for _, result in labelled]
    rows = []
    for name in dict.fromkeys(name for theorems in found for name in theorems):
        each = tuple(theorems.get(name) for theorems in found)
        rows.append(Row(name, next(t.group for t in each if t is not None), each))
    return sorted(rows, key=lambda row: (natural(row.group), natural(row.name)))


def anchors(rows: Sequence[Row]) -> dict[str, str]:
    """An anchor for each theorem: names themselves cannot be anchors."""
    return {row.name: f"t{i}" for i, row in enumerate(rows)}


def theorem_list(labelled: Labelled, rows: Sequence[Row]) -> Markup:
    attempts = max(result.attempts for _, result in labelled)
    several = " several" if len(labelled) > 1 else ""
    grouped = " grouped" if any(row.group for row in rows) else ""
    tried = " tried" if attempts > 1 else ""
    places = anchors(rows)
    items = [_item(labelled, row, places[row.name], attempts) for row in rows]
    return made(
        "theorems.html", "theorems", kind=f"{several}{grouped}{tried}",
        controls=_controls(labelled, rows), note=_ATTEMPTS if attempts > 1 else "", items=items,
        count=f"{len(rows):,}", several=len(labelled) > 1, attempts=attempts > 1,
    )  # fmt: skip


_ATTEMPTS = (
    "Nodes and seconds are of the attempt that took the fewest nodes to a proof, or, without a proof, "
    "of the one that spent the most."
)


def _controls(labelled: Labelled, rows: Sequence[Row]) -> list[tuple[str, str, Mapping[str, str]]]:
    """The filters of the list: name, label, and values with their texts."""
    outcomes = {"": "all outcomes", "proved": "proved", "exhausted": "exhausted", "error": "error"}
    if len(labelled) > 1:
        outcomes["differ"] = "runs differ"
    order = {"": "by part and name", "name": "by name", "nodes": "most nodes", "seconds": "longest"}
    groups = {"": "all parts"} | {row.group: row.group for row in rows if row.group}
    by_group = [("group", "Part", groups)] if len(groups) > 1 else []
    return [("outcome", "Outcome", outcomes), *by_group, ("order", "Order", order)]


def _item(labelled: Labelled, row: Row, place: str, attempts: int) -> dict[str, Any]:
    return {
        "place": place,
        "name": row.name,
        "group": row.group,
        "outcomes": " ".join(sorted(row.outcomes)),
        "nodes": max(t.nodes_used for t in row.there),
        "seconds": f"{max(t.time_secs for t in row.there):.3f}",
        "rules": dict.fromkeys(t.leak_rule for t in row.there if t.leak_rule),
        "lines": [_line(labelled, n, t, attempts) for n, t in enumerate(row.found) if t is not None],
        "texts": _texts(labelled, row),
    }


def _line(labelled: Labelled, run: int, t: TheoremResult, attempts: int) -> dict[str, Any]:
    return {
        "who": run_name(labelled, run) if len(labelled) > 1 else "",
        "outcome": t.outcome,
        "reason": t.reason,
        "attempts": f"{t.successes}/{labelled[run][1].attempts}" if attempts > 1 else "",
        "budget": "" if t.budget_at_proof is None else f"{t.budget_at_proof:,}",
        "nodes": f"{t.nodes_used:,}",
        "seconds": seconds(t.time_secs),
    }


def _texts(labelled: Labelled, row: Row) -> list[tuple[list[Markup], str, str]]:
    """Proofs and error texts with their runs. A text that several runs share appears once."""
    texts: dict[tuple[str, str], list[int]] = {}
    for run, t in enumerate(row.found):
        if t is not None and (t.proof if t.proved else t.detail):
            texts.setdefault((t.outcome, t.proof if t.proved else t.detail), []).append(run)
    several = len(labelled) > 1
    return [
        ([run_name(labelled, run) for run in runs] if several else [], outcome, text)
        for (outcome, text), runs in texts.items()
    ]

"""Rows that hold a whole theorem, with what stands before it: Lean source, parted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from burnqed.core.errors import StatementError
from burnqed.data.sources.declared import Stated
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.lean.statement import Proved, split_proof


def parted_rows(
    rows: Iterable[Row], notes: Notes, column: str, name: Callable[[Row, Proved], str]
) -> Iterator[tuple[Row, str, Proved]]:
    """Each row with its theorem's name and parts. One that cannot be parted is counted and left out."""
    places = Places()
    for row in rows:
        with notes.reading():
            try:
                parts = split_proof(row.text(column))
            except StatementError as error:
                notes.counts["unreadable"] += 1
                notes.on_problem(f"{row.where}: {error.message}")
                continue
            yield row, places.name((row.part, row.number), name(row, parts)), parts


def stated_rows(
    rows: Iterable[Row], notes: Notes, source: str, before: str = ""
) -> Iterator[tuple[Row, Stated]]:
    """Each row with what its `formal_statement` states; `before` stands before all of them."""
    for row, name, parts in parted_rows(rows, notes, "formal_statement", lambda _, found: found.name):
        context = f"{before}\n{parts.context}".strip() if before else parts.context
        yield row, Stated(source, name, parts.statement, context)

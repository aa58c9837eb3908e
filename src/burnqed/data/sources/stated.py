"""Statements out of rows that hold a whole `theorem … := by sorry`, with what stands before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.core.errors import StatementError
from burnqed.data.sources.declared import Stated
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.lean.statement import split_proof


def stated_rows(
    rows: Iterable[Row], notes: Notes, source: str, before: str = ""
) -> Iterator[tuple[Row, Stated]]:
    """Each row with what its `formal_statement` states; `before` stands before all of them."""
    places = Places()
    for row in rows:
        with notes.reading():
            try:
                opened = split_proof(row.text("formal_statement"))
            except StatementError as error:
                notes.counts["unreadable"] += 1
                notes.on_problem(f"{row.where}: {error.message}")
                continue
            name = places.name((row.part, row.number), opened.name)
            context = f"{before}\n{opened.context}".strip() if before else opened.context
            yield row, Stated(source, name, opened.statement, context)

"""LEAN-GitHub: proofs of many repositories. A row is a tactic; those of a theorem are in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnqed.data.sources.declared import Column, Hub, SourceInfo
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.steps import Step

INFO = SourceInfo(
    name="lean-github",
    about="LEAN-GitHub: people's proofs in public repositories, a tactic a row",
    gives=("steps",),
    origin=Hub(
        "internlm/Lean-Github", "22220a1073f959ec6fe1cee596965a8275bcc550", ("lean-github.parquet",)
    ),
    licence="Apache-2.0",
    lean="each repository's own",
    rows=218_866,
    columns=(
        Column("url"),
        Column("commit"),
        Column("file_path"),
        Column("full_name"),
        Column("start", "any"),
        Column("end", "any"),
        Column("tactic"),
        Column("state_before"),
        Column("state_after", null=True),
    ),
)


def steps(rows: Iterable[Row], notes: Notes) -> Iterator[Step]:
    places = Places()
    for row in rows:
        with notes.reading():
            name, tactic = row.text("full_name"), row.text("tactic").strip()
            before, after = row.text("state_before"), row.values["state_after"]
            key = tuple(row.values[part] for part in ("url", "commit", "file_path", "full_name"))
            unique, depth = places.step(key, name)
            yield Step(INFO.name, unique, before, tactic, depth, after or None)

"""LeanDojo Benchmark 4: Mathlib, traced. A row is a theorem with the tactics of its proof.

About half of the theorems are proved by terms and have no tactics; they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from burnqed.core.errors import InputError
from burnqed.data.sources.declared import Archive, Column, SourceInfo
from burnqed.data.sources.places import Places
from burnqed.data.sources.rows import Notes, Row
from burnqed.data.steps import Step

INFO = SourceInfo(
    name="leandojo",
    about="LeanDojo Benchmark 4 v10: Mathlib traced, a theorem a row",
    gives=("steps",),
    origin=Archive(
        "https://zenodo.org/records/12740403/files/leandojo_benchmark_4.tar.gz",
        "25e1ee60cd8925b9d2e8673ddcc34b4c",
        # The other split, novel_premises, has the same theorems.
        ("random/train.json", "random/val.json", "random/test.json"),
    ),
    licence="not confirmed",
    lean="v4.10.0-rc1, Mathlib 29dcec0",
    rows=122_517,
    columns=(
        Column("url"),
        Column("commit"),
        Column("file_path"),
        Column("full_name"),
        Column("start", "any"),
        Column("end", "any"),
        Column("traced_tactics", "list"),
        Column("theorem_statement", null=True, needed=False),
    ),
)
_TEXTS = ("tactic", "state_before", "state_after")
_TACTIC = frozenset({*_TEXTS, "annotated_tactic"})


def steps(rows: Iterable[Row], notes: Notes) -> Iterator[Step]:
    places = Places()
    for row in rows:
        with notes.reading():
            key = (
                row.values["url"],
                row.values["file_path"],
                row.text("full_name"),
                str(row.values["start"]),
            )
            told = row.values["traced_tactics"]
            if not told:
                notes.counts["term proofs"] += 1
            # All of a theorem or nothing: with a tactic missing, the others would be at a wrong depth.
            traced = [_tactic(row, at, one) for at, one in enumerate(told, start=1)]
            for tactic, before, after in traced:
                name, depth = places.step(key, row.values["full_name"])
                yield Step(INFO.name, name, before, tactic.strip(), depth, after)


def _tactic(row: Row, at: int, told: Any) -> tuple[str, str, str | None]:
    def wrong(what: str) -> InputError:
        return row.wrong(f"tactic {at} of `traced_tactics` {what}")

    if not isinstance(told, dict):
        raise wrong("is not an object")
    missing, unknown = sorted(_TACTIC - told.keys()), sorted(told.keys() - _TACTIC)
    if missing or unknown:
        raise wrong(f"lacks `{missing[0]}`" if missing else f"has unknown `{unknown[0]}`")
    for key in _TEXTS:
        if not isinstance(told[key], str) or not (told[key].strip() or key == "state_after"):
            raise wrong(f"has a `{key}` that is no text, or empty")
        try:
            told[key].encode()
        except UnicodeEncodeError as error:
            raise wrong(f"has a `{key}` that is not valid Unicode text") from error
    return told["tactic"], told["state_before"], told["state_after"] or None

"""LeanDojo Benchmark 4: Mathlib, traced. A row is a theorem with the tactics of its proof.

About half of the theorems are proved by terms and have no tactics; they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from burnqed.core.errors import InputError
from burnqed.data.sources.declared import Archive, Column, Package, SourceInfo
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
    licence="MIT (as the package that carries it)",
    lean="v4.10.0-rc1, Mathlib 29dcec0",
    rows=122_517,
    columns=(
        Column("url"),
        Column("commit"),
        Column("file_path"),
        Column("full_name", null=True),
        Column("start", "any"),
        Column("end", "any"),
        Column("traced_tactics", "list"),
        Column("theorem_statement", null=True, needed=False),
    ),
    # LeanDojo's own package, whose source archive holds the benchmark.
    instead=Package(
        "lean-dojo",
        "4.20.0",
        "990bdcbb38c4aede61b9b776ef0fe84b422d2fd0a7c1088c3c2ed14e5c8939b4",
        tuple(f"*/leandojo_benchmark_4/random/{part}.json" for part in ("train", "val", "test")),
    ),
)
_TEXTS = ("tactic", "state_before", "state_after")
_TACTIC = frozenset({*_TEXTS, "annotated_tactic"})


def steps(rows: Iterable[Row], notes: Notes) -> Iterator[Step]:
    places = Places()
    for row in rows:
        with notes.reading():
            told = row.values["traced_tactics"]
            name = row.values["full_name"]
            if not told:
                notes.counts["term proofs"] += 1
                continue
            if name is None:  # a handful of local declarations, and none of those has a tactic
                raise row.wrong("`full_name` has no value, and there are tactics")
            key = (
                row.values["url"],
                row.values["file_path"],
                row.text("full_name"),
                str(row.values["start"]),
            )
            # All of a theorem or nothing: with a tactic missing, the others would be at a wrong depth.
            traced = [_tactic(row, at, one) for at, one in enumerate(told, start=1)]
            for tactic, before, after, premises in traced:
                unique, depth = places.step(key, name)
                yield Step(INFO.name, unique, before, tactic.strip(), depth, after, premises)


def _tactic(row: Row, at: int, told: Any) -> tuple[str, str, str | None, tuple[str, ...]]:
    def wrong(what: str) -> InputError:
        return row.wrong(f"tactic {at} of `traced_tactics` {what}")

    if not isinstance(told, dict):
        raise wrong("is not an object")
    if told.keys() != _TACTIC:
        missing, unknown = sorted(_TACTIC - told.keys()), sorted(told.keys() - _TACTIC)
        raise wrong(f"lacks `{missing[0]}`" if missing else f"has unknown `{unknown[0]}`")
    for key in _TEXTS:
        if not isinstance(told[key], str) or not (told[key].strip() or key == "state_after"):
            raise wrong(f"has a `{key}` that is not text, or is empty")
        try:
            told[key].encode()
        except UnicodeEncodeError as error:
            raise wrong(f"has a `{key}` that is not valid Unicode text") from error
    try:
        premises = _premises(told["annotated_tactic"])
    except (ValueError, TypeError, KeyError) as error:
        raise wrong("has an `annotated_tactic` that is not a text and a list of premises") from error
    return told["tactic"], told["state_before"], told["state_after"] or None, premises


def _premises(annotated: Any) -> tuple[str, ...]:
    """The names of what the tactic mentions, each once, in the order of the text."""
    _, told = annotated
    names = tuple(dict.fromkeys([premise["full_name"] for premise in told]))
    if names:
        "".join(names).encode()  # all text, and Unicode
    return names

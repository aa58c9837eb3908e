"""What is in data: how much, how deep, how clean, how much of it twice or elsewhere too.

Nothing is dropped and nothing is judged. One reading, and memory does not grow with the rows: what has
to meet (equal pairs, theorems, states) meets on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Self

from burnqed.core.errors import StatementError
from burnqed.data.cheats import cheats
from burnqed.data.contamination import Held
from burnqed.data.distribution import distribution
from burnqed.data.prepare import TRIVIAL
from burnqed.data.sources.open import Opened
from burnqed.data.sources.rows import BadRows, Notes
from burnqed.data.spill import Spill, key_of
from burnqed.data.steps import Step, WholeProof
from burnqed.lean.statement import split_header

# What may be equal in two rows. A statement is the text of one, whole proofs have it.
KINDS = ("row", "pair", "state", "theorem", "statement", "proof")
_KIND = {kind: place for place, kind in enumerate(KINDS)}
_CHEAT, _NAME, _STATEMENT, _PROOF = 1, 2, 4, 8  # what is known of a theorem from one of its rows
_TOLD = 1024  # rows between two calls of `on_rows`


@dataclass(slots=True)
class _Source:
    """Counts of one source, steps and whole proofs apart; `place` is its place among them."""

    place: int
    steps: Counter[str] = field(default_factory=Counter)
    proofs: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, Counter[int]] = field(default_factory=dict)
    imports: Counter[str] = field(default_factory=Counter)
    truth: Counter[str] = field(default_factory=Counter)
    theorems: Counter[str] = field(default_factory=Counter)
    contaminated: Counter[str] = field(default_factory=Counter)
    distinct: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)  # rows that were there already

    def measure(self, what: str, number: int) -> None:
        self.numbers.setdefault(what, Counter())[number] += 1


class Inspection:
    """Counts that grow row by row; `work` is an empty directory for what has to meet."""

    def __init__(self, work: Path, against: Mapping[str, Held]) -> None:
        self._against = against
        self._by_name: dict[str, set[str]] = {name: set() for name in against}
        self._by_statement: dict[str, dict[str, str]] = {name: {} for name in against}
        self._sources: dict[str, _Source] = {}
        self._overlaps: dict[tuple[str, str], Counter[str]] = {}
        self._spill = Spill(work / "keys", "QBIIB")  # key, kind, source, depth, what is known

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._spill.__exit__()

    # ----------------------------------------------------------------------------------- rows

    def read(
        self,
        given: Opened,
        on_rows: Callable[[int], None],
        on_problem: Callable[[str], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Take in an input, and say what it is made of."""
        bad = BadRows()
        columns: dict[str, Counter[str]] = {}
        kinds: Counter[str] = Counter()
        whole = 0

        def count(row: Mapping[str, Any]) -> None:
            nonlocal whole
            whole += 1
            for name, value in row.items():
                columns.setdefault(name, Counter())[_type(value)] += 1
            if "ground_truth_type" in row:
                named = None if given.is_published else row.get("source")
                whose = given.label or named or given.name
                self._source(whose).truth[str(row["ground_truth_type"])] += 1
            if whole % _TOLD == 0:
                on_rows(_TOLD)

        notes = Notes(on_problem, bad.add, count)
        for record in given.records(notes):
            source = self._source(record.source)
            match record:
                case Step():
                    kinds["steps"] += 1
                    self._step(source, record)
                case WholeProof():
                    kinds["proofs"] += 1
                    self._proof(source, record)
        on_rows(whole % _TOLD)
        if notes.counts["no proof"]:
            self._source(given.label or given.name).proofs["empty"] += notes.counts["no proof"]
        return {
            "given": given.given,
            "source": given.info.name,
            "files": len(given.parts),
            "sha256": given.checksum(),
            "rows": notes.counts["rows"],
            "steps": kinds["steps"],
            "proofs": kinds["proofs"],
            "notes": notes.beside(),
            "malformed": {"rows": bad.count, "first": bad.first},
            "schema": {
                name: {"types": dict(types.most_common()), "missing": whole - types.total()}
                for name, types in columns.items()
            },
        }

    def _source(self, name: str) -> _Source:
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = _Source(len(self._sources))
        return source

    def _step(self, source: _Source, step: Step) -> None:
        source.steps["rows"] += 1
        source.steps["trivial"] += step.tactic in TRIVIAL
        source.measure("depth", step.depth)
        source.measure("tactic_chars", len(step.tactic))
        source.measure("state_chars", len(step.state))
        known = self._known(step.theorem, lambda held: step.depth == 0 and held.has_state(step.state))
        if cheats(step.tactic):
            source.steps["cheat"] += 1
            known |= _CHEAT
        pair = key_of(step.state, step.tactic)
        add = self._spill.add
        add(key_of(step.theorem, str(step.depth), str(pair)), _KIND["row"], source.place, 0, 0)
        add(pair, _KIND["pair"], source.place, 0, 0)
        add(key_of(step.state), _KIND["state"], source.place, 0, 0)
        add(key_of(step.theorem), _KIND["theorem"], source.place, step.depth, known)

    def _proof(self, source: _Source, proof: WholeProof) -> None:
        source.proofs["rows"] += 1
        source.proofs["empty"] += not proof.proof.strip()
        source.measure("proof_chars", len(proof.proof))
        modules = _imports(proof)
        source.proofs["no_imports"] += not modules
        source.imports.update(modules)
        known = _PROOF | self._known(proof.theorem, lambda held: held.has_statement(proof.statement))
        if cheats(proof.proof):
            source.proofs["cheat"] += 1
            known |= _CHEAT
        add = self._spill.add
        statement = key_of(proof.statement)
        add(key_of(str(statement), proof.proof), _KIND["proof"], source.place, 0, 0)
        add(statement, _KIND["statement"], source.place, 0, 0)
        add(key_of(proof.theorem), _KIND["theorem"], source.place, 0, known)

    def _known(self, theorem: str, find: Callable[[Held], Any]) -> int:
        known = 0
        for name, held in self._against.items():
            if theorem in held.names:
                self._by_name[name].add(theorem)
                known |= _NAME
            found = find(held)
            if found:
                self._by_statement[name].setdefault(found[1], theorem)
                known |= _STATEMENT
        return known

    # ---------------------------------------------------------------------------- bringing together

    def report(self, inputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """All that was found. Ends the counting."""
        for part in self._spill.parts():
            self._meet(part)
        return {
            "format": 1,
            "inputs": list(inputs),
            "sources": {name: _told(source) for name, source in self._sources.items()},
            "overlaps": [
                {"first": first, "second": second, **{kind: found[kind] for kind in KINDS[1:]}}
                for (first, second), found in sorted(self._overlaps.items())
            ],
            "against": {
                name: {
                    "theorems": len(held.names),
                    "by_name": sorted(self._by_name[name]),
                    "by_statement": dict(sorted(self._by_statement[name].items())),
                }
                for name, held in self._against.items()
            },
        }

    def _meet(self, part: Sequence[tuple[Any, ...]]) -> None:
        """The records of some keys: all that there are of each."""
        names = list(self._sources)
        met: dict[tuple[int, int], dict[int, list[int]]] = {}
        for key, kind, place, depth, known in part:
            seen = met.setdefault((kind, key), {}).setdefault(place, [0, 0, 0])
            seen[0] += 1
            seen[1] = max(seen[1], depth)
            seen[2] |= known
        for (number, _), places in met.items():
            kind = KINDS[number]
            for place, (rows, deepest, known) in places.items():
                source = self._sources[names[place]]
                source.distinct[kind] += 1
                source.again[kind] += rows - 1
                if kind == "theorem":
                    _count_theorem(source, rows, deepest, known)
            for first, second in combinations(sorted(places), 2):
                found = self._overlaps.setdefault((names[first], names[second]), Counter())
                found[kind] += 1


def _count_theorem(source: _Source, rows: int, deepest: int, known: int) -> None:
    if not known & _PROOF:
        source.measure("proof_steps", rows)
        source.measure("proof_depth", deepest)
    for bit, what in ((_CHEAT, "cheat"), (_NAME, "by_name"), (_STATEMENT, "by_statement")):
        if known & bit:
            source.theorems[what] += 1
            source.contaminated[what] += rows
    if known & (_NAME | _STATEMENT):
        source.theorems["either"] += 1
        source.contaminated["either"] += rows


def _told(source: _Source) -> dict[str, Any]:
    theorems = source.distinct["theorem"]
    rows = source.steps["rows"] + source.proofs["rows"]

    def of_theorems(what: str) -> dict[str, Any]:
        found = source.theorems[what]
        return {
            "theorems": found,
            "rows": source.contaminated[what],
            "theorem_rate": round(found / max(theorems, 1), 6),
            "row_rate": round(source.contaminated[what] / max(rows, 1), 6),
        }

    foreign = {m: n for m, n in source.imports.most_common() if m.split(".")[0] != "Mathlib"}
    return {
        "rows": rows,
        "steps": source.steps["rows"],
        "proofs": source.proofs["rows"],
        "theorems": theorems,
        "cheats": {
            "tactics": source.steps["cheat"], "proofs": source.proofs["cheat"], **of_theorems("cheat"),
        },
        "contaminated": {what: of_theorems(what) for what in ("by_name", "by_statement", "either")},
        "duplicates": {kind: source.again[kind] for kind in KINDS if kind != "theorem"},
        "distinct": {kind: source.distinct[kind] for kind in KINDS},
        "trivial_tactics": source.steps["trivial"],
        "empty_proofs": source.proofs["empty"],
        "ground_truth_types": dict(source.truth.most_common()),
        "imports": dict(source.imports.most_common()),
        "non_mathlib_imports": foreign,
        "proofs_without_imports": source.proofs["no_imports"],
        "distributions": {what: distribution(n) for what, n in source.numbers.items()},
    }  # fmt: skip


def _imports(proof: WholeProof) -> set[str]:
    """The modules that it imports, in its context, or where else its text begins."""
    for text in (proof.context, proof.statement, proof.proof):
        if "import" in text:
            try:
                modules = split_header(text).imports
            except StatementError:
                continue
            if modules:
                return set(modules)
    return set()


def _type(value: Any) -> str:
    return "null" if value is None else type(value).__name__

"""From steps of any sources to what is trained on: which rows stay, and into which file each goes.

Rules of a theorem (of one source) come first and drop it whole; then rules of a row; then each pair of
state and tactic is kept once; then steps that teach little are thinned out. A row is counted under the
first rule that drops it, so what came in is what was dropped and what went out.

All of it in one reading: rows are kept on disk while records of a few bytes are brought together, first
by theorem and then by pair. Memory holds a byte for each row, and a 64th of the records.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, Self

from burnqed.data.cheats import cheats
from burnqed.data.contamination import Held
from burnqed.data.spill import Spill, key_of
from burnqed.data.splits import SHARES, SPLITS, split_of
from burnqed.data.steps import Step
from burnqed.lean.tactic_words import mathlib_tactics

# In the order in which they are looked at. The first three drop a theorem whole, and what `unfit` may
# answer is among the rest.
OF_THEOREMS = ("cheat", "without_name", "without_statement")
OF_ROWS = ("mathlib", "state_chars", "prompt_tokens", "tactic_tokens", "ends_tactic")
OF_PAIRS = ("duplicate", "overlap", "trivial")
RULES = (*OF_THEOREMS, *OF_ROWS, *OF_PAIRS)
_BIT = {rule: 1 << place for place, rule in enumerate((*OF_THEOREMS, *OF_ROWS))}
_THEOREM_BITS = sum(_BIT[rule] for rule in OF_THEOREMS)
_TRIVIAL = 1 << len(_BIT)
_OF_MATHLIB = 1 << len(_BIT) + 1
_MARKS = _TRIVIAL | _OF_MATHLIB  # these drop nothing yet

# Automation that is given nothing to work with: it says little of the state, and there is much of it.
TRIVIAL = frozenset({
    "rfl", "simp", "trivial", "assumption", "decide", "omega", "norm_num", "ring", "ring_nf",
    "linarith", "nlinarith", "positivity", "tauto", "aesop", "contradiction", "simp_all", "intro",
    "intros", "norm_cast", "field_simp", "grind",
})  # fmt: skip

PAIRS, POOL = "tactic_pairs", "contrastive_pool.jsonl"
_IN_POOL = 4  # beside a split's place + 1, in the byte of a row
_IN_MATHLIB = 8
_BATCH = 1024

# Which tactics a set is for: core Lean's alone, Mathlib's as well (and none is left out), or both, told
# apart by a tag in the prompt.
Dialect = Literal["core", "mathlib", "both"]

# Of states and tactics: why a model cannot learn each pair, or "".
Unfit = Callable[[Sequence[tuple[str, str]]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Rules:
    """All that decides, besides the rows, what is kept."""

    seed: int = 0
    shares: tuple[float, ...] = SHARES
    state_chars: int = 4096  # a state has fewer
    keep_trivial: float = 0.3
    pool_depth: int = 3
    dialect: Dialect = "mathlib"


@dataclass(slots=True)
class Counts:
    """What became of the rows, by source; the sources in the order in which they came."""

    rows: Counter[str] = field(default_factory=Counter)
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)  # source, rule
    kept: Counter[tuple[str, str]] = field(default_factory=Counter)  # source, split
    theorems: Counter[tuple[str, str]] = field(default_factory=Counter)  # source, rule or ""
    overlaps: Counter[tuple[str, str]] = field(default_factory=Counter)  # first source, later one
    pool_theorems: Counter[str] = field(default_factory=Counter)
    pool_rows: Counter[str] = field(default_factory=Counter)
    premises: Counter[str] = field(default_factory=Counter)  # rows that have some
    mathlib: Counter[tuple[str, str]] = field(default_factory=Counter)  # source, tactic; "": rows


@dataclass(frozen=True, slots=True)
class Written:
    """A file of rows, under its name in the directory."""

    name: str
    rows: int
    sha256: str


def prepare(
    steps: Iterable[Step],
    directory: Path,
    rules: Rules,
    held: Held,
    unfit: Unfit,
    on_rows: Callable[[str, int], None] = lambda _stage, _rows: None,
) -> tuple[Counts, list[Written]]:
    """Write the rows that stay into a directory; `on_rows` hears of the stage and of rows done."""
    with _rarely_collecting(), _Work(directory / ".work", rules, held, unfit) as work:
        work.read(steps, on_rows)
        work.group()
        work.pair()
        return work.counts, work.write(directory, on_rows)


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Rows come and go without cycles: looking for these takes a tenth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Record(NamedTuple):
    """What is known of a row: its theorem and pair by their keys, and the rules that it breaks."""

    theorem: int
    pair: int
    row: int
    depth: int
    source: int
    bits: int
    split: int


class _Work:
    """The stages, one after the other. `_fate` has a byte for each row: where it goes."""

    def __init__(self, directory: Path, rules: Rules, held: Held, unfit: Unfit) -> None:
        directory.mkdir(parents=True)
        self.counts = Counts()
        self._directory = directory
        self._rules, self._held, self._unfit = rules, held, unfit
        self._fate = bytearray()
        self._sources: dict[str, int] = {}
        self._rows = directory / "rows"
        self._open = ExitStack()
        self._by_theorem = self._open.enter_context(Spill(directory / "theorems", "QQQIIHB"))  # _Record
        # pair, row, source, trivial, split
        self._by_pair = self._open.enter_context(Spill(directory / "pairs", "QQI?B"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    # ------------------------------------------------------------------------------- reading

    def read(self, steps: Iterable[Step], on_rows: Callable[[str, int], None]) -> None:
        stream = iter(steps)
        placed = lru_cache(1)(self._place)  # the steps of a theorem mostly follow each other
        row = 0
        with self._rows.open("wb") as rows:
            while batch := list(islice(stream, _BATCH)):
                marks = [mathlib_tactics(step.tactic) for step in batch]
                for step, mathlib, broken in zip(batch, marks, self._broken(batch, marks), strict=True):
                    source = self._sources.setdefault(step.source, len(self._sources))
                    self._count(step, mathlib)
                    marked = _TRIVIAL if step.tactic in TRIVIAL else 0
                    marked |= _OF_MATHLIB if mathlib else 0
                    theorem, split = placed(step.theorem)
                    self._by_theorem.add(
                        theorem, key_of(step.state, step.tactic), row,
                        step.depth, source, broken | marked, split,
                    )  # fmt: skip
                    kept = "" if broken else f"{step.pair(mathlib)}\t{_beside(step)}"
                    rows.write(f"{kept}\n".encode())
                    row += 1
                on_rows("reading", len(batch))
        self._fate = bytearray(row)

    def _count(self, step: Step, mathlib: Sequence[str]) -> None:
        self.counts.rows[step.source] += 1
        if step.premises:
            self.counts.premises[step.source] += 1
        if mathlib:
            self.counts.mathlib.update((step.source, tactic) for tactic in ("", *mathlib))

    def _place(self, theorem: str) -> tuple[int, int]:
        return key_of(theorem), SPLITS.index(split_of(theorem, self._rules.shares))

    def _broken(self, batch: Sequence[Step], marks: Sequence[Sequence[str]]) -> list[int]:
        """The rules that each step breaks, as bits."""
        broken = [self._breaks(step) for step in batch]
        if self._rules.dialect == "core":
            for place, mathlib in enumerate(marks):
                broken[place] |= _BIT["mathlib"] if mathlib else 0
        asked = [place for place, bits in enumerate(broken) if not bits]
        answers = self._unfit([(batch[place].state, batch[place].tactic) for place in asked])
        for place, rule in zip(asked, answers, strict=True):
            if rule:
                broken[place] |= _BIT[rule]
        return broken

    def _breaks(self, step: Step) -> int:
        bits = _BIT["cheat"] if cheats(step.tactic) else 0
        if step.theorem in self._held.names:
            bits |= _BIT["without_name"]
        if step.depth == 0 and self._held.has_state(step.state):
            bits |= _BIT["without_statement"]
        if len(step.state) >= self._rules.state_chars:
            bits |= _BIT["state_chars"]
        return bits

    # ------------------------------------------------------------------------ theorem by theorem

    def group(self) -> None:
        names = list(self._sources)
        for part in self._by_theorem.parts():
            groups: dict[tuple[int, int], list[_Record]] = {}
            for record in map(_Record._make, part):
                groups.setdefault((record.theorem, record.source), []).append(record)
            proofs: set[tuple[int, frozenset[tuple[int, int]]]] = set()
            for (theorem, source), records in groups.items():
                rule = self._drop(records, names[source])
                self.counts.theorems[names[source], rule] += 1
                if rule:
                    continue
                if any(one.bits & _OF_MATHLIB for one in records):
                    for one in records:
                        self._fate[one.row] |= _IN_MATHLIB
                for one in records:
                    if not one.bits & ~_MARKS:
                        self._by_pair.add(
                            one.pair, one.row, source, bool(one.bits & _TRIVIAL), one.split
                        )
                proof = frozenset((one.depth, one.pair) for one in records)
                if self._is_deep_and_whole(records) and (theorem, proof) not in proofs:
                    proofs.add((theorem, proof))
                    self._take_into_pool(records, names[source])

    def _drop(self, records: Sequence[_Record], source: str) -> str:
        """Count the rows that a rule drops, and say which one drops the theorem, if one does."""
        together = 0
        for record in records:
            together |= record.bits
        rule = _first(together & _THEOREM_BITS)
        if rule:
            self.counts.dropped[source, rule] += len(records)
            return rule
        for record in records:
            if broken := _first(record.bits & ~_MARKS):
                self.counts.dropped[source, broken] += 1
        return ""

    def _is_deep_and_whole(self, records: Sequence[_Record]) -> bool:
        """A proof that reaches the depth, with no step missing; and never one to be tested on."""
        depths = {record.depth for record in records}
        deepest = max(depths)
        whole = len(depths) == deepest + 1 and not any(record.bits & ~_MARKS for record in records)
        return whole and deepest >= self._rules.pool_depth and SPLITS[records[0].split] != "test"

    def _take_into_pool(self, records: Sequence[_Record], source: str) -> None:
        self.counts.pool_theorems[source] += 1
        seen: set[tuple[int, int]] = set()
        for record in records:
            if (record.depth, record.pair) not in seen:
                seen.add((record.depth, record.pair))
                self._fate[record.row] |= _IN_POOL
                self.counts.pool_rows[source] += 1

    # -------------------------------------------------------------------------------- pair by pair

    def pair(self) -> None:
        """Each pair once, of the row that came first; and of trivial ones a share."""
        names = list(self._sources)
        counts = self.counts
        for part in self._by_pair.parts():
            first: dict[int, int] = {}
            for pair, row, source, trivial, split in sorted(part, key=lambda record: record[1]):
                if pair in first:
                    same = first[pair] == source
                    counts.dropped[names[source], "duplicate" if same else "overlap"] += 1
                    if not same:
                        counts.overlaps[names[first[pair]], names[source]] += 1
                    continue
                first[pair] = source
                if trivial and not self._is_drawn(pair):
                    counts.dropped[names[source], "trivial"] += 1
                    continue
                self._fate[row] |= split + 1
                counts.kept[names[source], SPLITS[split]] += 1

    def _is_drawn(self, pair: int) -> bool:
        """By the seed and the pair alone: what else is there changes nothing."""
        drawn = key_of(f"trivial {self._rules.seed} {pair}")
        return drawn < self._rules.keep_trivial * 2**64

    # ------------------------------------------------------------------------------------ writing

    def write(self, directory: Path, on_rows: Callable[[str, int], None]) -> list[Written]:
        splits = [
            s for s, share in zip(SPLITS, self._rules.shares, strict=True) if share > 0 or s != "test"
        ]
        names = [*(f"{PAIRS}/{split}.jsonl" for split in splits), POOL]
        *files, pool = (self._open.enter_context(_File(directory, name)) for name in names)
        done = 0
        with self._rows.open("rb") as rows:
            for fate, line in zip(self._fate, rows, strict=True):
                if split_and_pool := fate & ~_IN_MATHLIB:
                    row, _, beside = line.rstrip(b"\n").partition(b"\t")
                    if self._rules.dialect == "both":
                        dialect = b"mathlib" if fate & _IN_MATHLIB else b"core"
                        row = row[:-1] + b', "dialect": "' + dialect + b'"}'
                    if split := split_and_pool & ~_IN_POOL:
                        files[split - 1].write(row + b"\n")
                    if fate & _IN_POOL:
                        pool.write(row[:-1] + b", " + beside[1:] + b"\n")
                done += 1
                if done % _BATCH == 0:
                    on_rows("writing", _BATCH)
        on_rows("writing", done % _BATCH)
        self._rows.unlink()
        for folder in ("theorems", "pairs", ""):
            (self._directory / folder).rmdir()
        return [file.finish() for file in (*files, pool)]


class _File:
    def __init__(self, directory: Path, name: str) -> None:
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        self._name, self._rows = name, 0
        self._file: BinaryIO = path.open("wb")
        self._digest = hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, line: bytes) -> None:
        self._rows += 1
        self._digest.update(line)
        self._file.write(line)

    def finish(self) -> Written:
        self._file.flush()
        os.fsync(self._file.fileno())
        return Written(self._name, self._rows, self._digest.hexdigest())


def _first(bits: int) -> str:
    return next((rule for rule, bit in _BIT.items() if bits & bit), "")


def _beside(step: Step) -> str:
    """What a proof's row has besides: a pool keeps proofs of two sources apart."""
    after = "" if step.after is None else f', "after": {_quoted(step.after)}'
    return f'{{"source": {_quoted(step.source)}{after}}}'

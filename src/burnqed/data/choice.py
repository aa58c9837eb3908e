"""Which theorems of a source go into an index: of a split, not held out, not proved yet, a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from burnqed.core.errors import InputError, NotEnough
from burnqed.data.contamination import Held
from burnqed.data.index import parse_index, statement_sha
from burnqed.data.library import sample
from burnqed.data.splits import split_of

Entry = dict[str, Any]
Printer = Callable[[Sequence[Entry]], Awaitable[list[Entry]]]

_NAMED, _STATED, _PROVED = "held out by name", "held out by statement", "proved"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked for. `proved` are names with what tells their statements apart."""

    shares: tuple[float, ...]
    split: str | None = None
    size: int | None = None
    fewer: bool = False  # all of them, where they are fewer than `size`; else that is an error
    seed: int = 0
    held: Held = field(default_factory=Held)
    proved: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The entries, each with its split, and how many others of the split were left out, by why."""

    entries: list[Entry]
    left_out: Mapping[str, int]


def choose(choice: Choice, entries: Sequence[Entry], files: Mapping[str, str] | None = None) -> Chosen:
    """The entries that are wanted. `files` are the index's, that contexts are the beginning of."""
    left_out: Counter[str] = Counter()
    kept = _unlike(choice, _wanted(choice, entries, files or {}, left_out), left_out)
    if kept and choice.size is not None:
        kept = _drawn(choice, kept, choice.size)
    return _some(kept, left_out)


async def choose_and_print(choice: Choice, entries: Sequence[Entry], printer: Printer) -> Chosen:
    """The same where printing statements is most of the work: only what is drawn is printed.

    What then turns out to be held out is replaced by others.
    """
    left_out: Counter[str] = Counter()
    rest = _wanted(choice, entries, {}, left_out)
    kept: list[Entry] = []
    missing = choice.size or len(rest) if rest else 0
    while missing and (rest or not choice.fewer):
        drawn = rest if choice.size is None else _drawn(choice, rest, missing)
        names = {entry["name"] for entry in drawn}
        rest = [entry for entry in rest if entry["name"] not in names]
        fresh = _unlike(choice, await printer(drawn), left_out)
        kept += fresh
        missing = 0 if choice.size is None else missing - len(fresh)
    return _some(kept, left_out)


def _drawn(choice: Choice, entries: list[Entry], size: int) -> list[Entry]:
    return sample(entries, min(size, len(entries)) if choice.fewer else size, choice.seed)


def _wanted(
    choice: Choice, entries: Sequence[Entry], files: Mapping[str, str], left_out: Counter[str]
) -> list[Entry]:
    """By all that is known without the statement."""
    placed = [
        {**e, "split": e.get("split") or split_of(str(e["name"]), choice.shares)} for e in entries
    ]
    if not placed:
        raise InputError("there is no theorem to choose from", hint="give another source")
    kept = [e for e in placed if choice.split in (None, e["split"])]
    if not kept:
        known = ", ".join(sorted({str(e["split"]) for e in placed})) or "none"
        raise InputError(f"no theorem is in the split {choice.split}", hint=f"there are: {known}")
    names = choice.held.names
    known_by_name = [e["name"] in names or e.get("constant") in names for e in kept]
    left_out[_NAMED] += sum(known_by_name)
    kept = [e for e, known in zip(kept, known_by_name, strict=True) if not known]
    if choice.proved:
        theorems = parse_index("the index", "", {"theorems": kept, "files": dict(files)}).theorems
        done = [(t.name, statement_sha(t.statement)) in choice.proved for t in theorems]
        left_out[_PROVED] += sum(done)
        kept = [e for e, proved in zip(kept, done, strict=True) if not proved]
    return kept


def _unlike(choice: Choice, entries: Sequence[Entry], left_out: Counter[str]) -> list[Entry]:
    """Those that state nothing that is held out."""
    kept = []
    for entry in entries:
        text = entry.get("statement")
        if isinstance(text, str) and text.strip() and choice.held.has_statement(text):
            left_out[_STATED] += 1
        else:
            kept.append(entry)
    return kept


def _some(entries: list[Entry], left_out: Counter[str]) -> Chosen:
    """What is chosen, if that is anything."""
    if entries:
        return Chosen(entries, {why: count for why, count in left_out.items() if count})
    if left_out[_PROVED]:
        told = ", ".join(f"{count} {why}" for why, count in left_out.items() if count)
        raise NotEnough(
            f"--unproved leaves no theorem: {told}",
            hint="there is nothing more to prove in it; take another set, or leave out --unproved",
        )
    raise InputError("--without leaves no theorem", hint="leave out fewer sets")

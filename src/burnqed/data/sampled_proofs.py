"""Proofs drawn from a source of steps: as many of short ones as of long ones, the same for a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from burnqed.core.errors import InputError
from burnqed.data.spill import key_of
from burnqed.data.steps import Step

# Numbers of steps: a stratum each. The last has no end.
STRATA = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 2**31))
_MISSING = "steps are missing"
_TWICE = "two steps at one depth"
_CHANGED = "the data is not the same when it is read a second time"

Key = tuple[str, str]  # source, theorem


@dataclass(frozen=True, slots=True)
class Sample:
    """What was drawn, what it was drawn from by stratum, and what could not be drawn, by reason."""

    chosen: Mapping[Key, str]  # to its stratum
    there: Mapping[str, int]
    left_out: Mapping[str, int]


def stratum_name(steps: int) -> str:
    low, high = next((low, high) for low, high in STRATA if low <= steps <= high)
    return str(low) if low == high else f"{low}+" if high == 2**31 else f"{low}-{high}"


@dataclass(frozen=True, slots=True)
class Census:
    """Theorems whose proofs are there whole, with their number of steps; why others are not."""

    whole: Mapping[Key, int]
    left_out: Mapping[Key, str]


def census(steps: Iterable[Step]) -> Census:
    """Of all theorems, in the order in which they come. One at least is whole."""
    seen: dict[Key, list[int]] = {}  # steps, deepest, a sum that tells whether each depth is there
    for step in steps:
        found = seen.setdefault((step.source, step.theorem), [0, 0, 0])
        found[0] += 1
        found[1] = max(found[1], step.depth)
        found[2] += step.depth
    whole: dict[Key, int] = {}
    left_out: dict[Key, str] = {}
    for key, (number, deepest, together) in seen.items():
        if number == deepest + 1 and together == deepest * number // 2:
            whole[key] = number
        else:
            left_out[key] = _TWICE if number > deepest + 1 else _MISSING
    if not whole:
        raise InputError(
            f"none of {len(seen)} theorems has all its steps",
            hint="rows need depths from 0 on; data that was prepared has lost some",
        )
    return Census(whole, left_out)


def draw(steps: Iterable[Step], count: int, seed: int) -> Sample:
    """Theorems whose proofs are there whole, `count` of them, the strata as equal as can be."""
    found = census(steps)
    left_out = Counter(found.left_out.values())
    strata: dict[str, list[Key]] = {stratum_name(low): [] for low, _ in STRATA}
    for key, number in found.whole.items():
        strata[stratum_name(number)].append(key)
    shares = _shares({name: len(keys) for name, keys in strata.items()}, count)
    chosen = {
        key: name
        for name, keys in strata.items()
        for key in sorted(keys, key=lambda key: key_of(f"validate {seed}", *key))[: shares[name]]
    }
    return Sample(chosen, {name: len(keys) for name, keys in strata.items()}, dict(left_out))


def _shares(there: Mapping[str, int], count: int) -> dict[str, int]:
    """How many of each: equal, but for those that have not so many."""
    shares = dict.fromkeys(there, 0)
    left = count
    while left > 0:
        open_ones = [name for name in there if shares[name] < there[name]]
        if not open_ones:
            break
        each = max(left // len(open_ones), 1)
        for name in open_ones:
            more = min(each, there[name] - shares[name], left)
            shares[name] += more
            left -= more
    return shares


def collected(steps: Iterable[Step], chosen: Mapping[Key, str]) -> dict[Key, Sequence[Step]]:
    """The steps of the chosen theorems, in their order; the theorems in that of the data.

    Theorems of one file stay together so, and Lean need not read it from its beginning for each.
    """
    found: dict[Key, list[Step]] = {}
    for step in steps:
        if (step.source, step.theorem) in chosen:
            found.setdefault((step.source, step.theorem), []).append(step)
    for proof in found.values():
        proof.sort(key=lambda step: step.depth)
    if found.keys() != chosen.keys():
        raise InputError(_CHANGED)
    return dict(found)


def one_by_one(steps: Iterable[Step], whole: Mapping[Key, int]) -> Iterator[tuple[Key, Sequence[Step]]]:
    """The same of many theorems, each as soon as its last step was read: where the steps of a theorem
    follow each other, memory holds one.
    """
    begun: dict[Key, list[Step]] = {}
    done = 0
    for step in steps:
        key = (step.source, step.theorem)
        if key not in whole:
            continue
        proof = begun.setdefault(key, [])
        proof.append(step)
        if len(proof) == whole[key]:
            done += 1
            yield key, sorted(begun.pop(key), key=lambda step: step.depth)
    if begun or done != len(whole):
        raise InputError(_CHANGED)

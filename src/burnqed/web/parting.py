"""Where two searches for one theorem part, and why.

Both are followed visit by visit while they do the same: the same state, the same tactics in the same
order, the same outcomes. The first difference is where they part. A state may be visited several times,
and a tactic may be tried there again. *Here* is the search that is looked at, *there* the one that it
is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from burnqed.lean.highlight import Piece, coloured
from burnqed.search.shown import number
from burnqed.trajectories.schema import StepRow
from burnqed.web import reasons
from burnqed.web.reasons import Sentence, Try, said
from burnqed.web.sides import Choice, Pairs, Side, choice_of

# What differs first: the theorem's first state, the state that was expanded, a tactic's place, a tactic
# that only one of them tried, a tactic's outcome; or one search was over.
Kind = Literal["theorem", "state", "order", "tactic", "outcome", "end", "same"]


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a tactic in one of the searches."""

    place: int  # in the order of trying, from 1
    logprob: float | None
    outcome: str
    answer: str
    states: int


@dataclass(frozen=True, slots=True)
class Tactic:
    """A tactic at the state where the searches part."""

    tactic: list[Piece]
    here: Tried | None
    there: Tried | None
    differs: bool  # in its outcome, or its place among those that both tried


@dataclass(frozen=True, slots=True)
class Parting:
    """`here` and `there` are the nodes where they part, `pairs` the nodes that are the same state."""

    kind: Kind
    alike: int  # visits before it
    here: int | None
    there: int | None
    why: list[Sentence]
    tactics: list[Tactic] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)


def parting(here: Side, there: Side) -> Parting:
    """Follow both searches to where they part."""
    pairs = Pairs(here, there)
    found = _first_difference(here, there, pairs)
    pairs.follow()
    both = sum(one in here.tried and other in there.tried for one, other in pairs.there.items())
    only = [len(side.tried) - both for side in (here, there)]
    overall = said(
        f"Of the states that were expanded, {both} {'is' if both == 1 else 'are'} in both trees, "
        f"{only[0]} only here and {only[1]} only there."
    )
    why = [*_where(found), *found.why, *([overall] if both and any(only) else [])]
    return replace(found, why=why, pairs=sorted(pairs.there.items()))


def _where(found: Parting) -> list[Sentence]:
    if found.kind in ("theorem", "same"):
        return []
    told = []
    if found.alike:
        visits = "visit was to the same state"
        if found.alike > 1:
            visits = f"{found.alike} visits were to the same states"
        told = [said(f"The first {visits}, with the same tactics and outcomes.")]
    if found.kind in ("order", "tactic", "outcome"):
        also = "" if found.here == found.there else f" here, which is state {found.there} there"
        told.append(said(f"They part at state {found.here}{also}."))
    return told


def _first_difference(here: Side, there: Side, pairs: Pairs) -> Parting:
    expanded = zip(here.expansions, there.expansions, strict=False)
    for alike, ((one, tried), (other, others)) in enumerate(expanded):
        roots = here.row(one).parent is None and there.row(other).parent is None
        if not (pairs.joined(one, other) or (roots and pairs.join(one, other))):
            if roots:
                why = [said("They begin with different goals: two theorems have this name.")]
                return Parting("theorem", alike, one, other, why)
            return _another_state(alike, one, other, here, there, pairs)
        for place, (mine, yours) in enumerate(zip_longest(tried, others)):
            if mine and yours and mine.tactic == yours.tactic:
                if _same_outcome(mine, yours, pairs):
                    continue
                kind: Kind = "outcome"
                why = reasons.another_outcome(mine, yours)
            else:
                kind, why = _another_tactic(place, tried, others)
            return Parting(kind, alike, one, other, why, _beside(tried, others, pairs))
    return _no_difference(here, there)


def _same_outcome(mine: StepRow, yours: StepRow, pairs: Pairs) -> bool:
    return mine.outcome == yours.outcome and pairs.join_all(mine.children, yours.children)


def _another_tactic(
    place: int, tried: Sequence[StepRow], others: Sequence[StepRow]
) -> tuple[Kind, list[Sentence]]:
    here, there = _tries(tried), _tries(others)
    mine, yours = list(here)[place : place + 1], list(there)[place : place + 1]
    if mine and yours and mine[0] in there and yours[0] in here:
        return "order", reasons.another_order(mine[0], yours[0], here, there)
    why = []
    if mine and mine[0] not in there:
        why += reasons.missing(mine[0], others, "here", "there")
    if yours and yours[0] not in here:
        why += reasons.missing(yours[0], tried, "there", "here")
    return "tactic", why


def _beside(tried: Sequence[StepRow], others: Sequence[StepRow], pairs: Pairs) -> list[Tactic]:
    """All that was tried at a state, in the order of here; the rest of there stands where it was."""
    here, there = _tries(tried), _tries(others)
    order = list(here)
    before: Try | None = None
    for one in there:
        if one not in here:
            order.insert(order.index(before) + 1 if before else 0, one)
        before = one
    moved = {a for a, b in zip(filter(there.get, here), filter(here.get, there), strict=True) if a != b}
    found = []
    for one in order:
        mine, yours = here.get(one), there.get(one)
        same = mine and yours and _same_outcome(mine[1], yours[1], pairs)
        differs = not same or one in moved
        found.append(Tactic(coloured(one[0]), _tried(mine), _tried(yours), differs))
    return found


def _tries(rows: Sequence[StepRow]) -> dict[Try, tuple[int, StepRow]]:
    """What was tried at a state, in its order, with its place."""
    before = Counter[str]()
    found = {}
    for place, row in enumerate(rows, 1):
        found[row.tactic, before[row.tactic]] = place, row
        before[row.tactic] += 1
    return found


def _tried(found: tuple[int, StepRow] | None) -> Tried | None:
    if found is None:
        return None
    place, row = found
    return Tried(place, number(row.logprob), row.outcome, row.error, len(row.children))


def _another_state(alike: int, one: int, other: int, here: Side, there: Side, pairs: Pairs) -> Parting:
    mine = choice_of(one, pairs.there.get(one), here, there)
    yours = choice_of(pairs.here.get(other), other, here, there)
    odd = [
        *reasons.out_of_turn(one, "here", here, alike),
        *reasons.out_of_turn(other, "there", there, alike),
    ]
    why = odd or [
        *reasons.later(mine.there, "there", there),
        *reasons.later(yours.here, "here", here),
        *reasons.weighed(mine, yours, here, there, alike),
    ]
    next_one = said(f"The next to be expanded was state {one} here, and state {other} there.")
    return Parting("state", alike, one, other, [next_one, *why], choices=[mine, yours])


def _no_difference(here: Side, there: Side) -> Parting:
    sides = {"here": here, "there": there}
    steps = [len(side.expansions) for side in sides.values()]
    alike = min(steps)
    if not alike:
        empty = [where for where, side in sides.items() if not side.expansions]
        return Parting("end", 0, None, None, [said(f"No step was recorded {' or '.join(empty)}.")])
    if steps[0] == steps[1]:
        same = "the same states in the same order, with the same tactics and outcomes"
        why = [said(f"Both did the same: {same}.")]
        if here.record.outcome != there.record.outcome:
            ends = reasons.ended(here), reasons.ended(there)
            why.append(said(f"But here {ends[0]}, and there {ends[1]}."))
        return Parting("same", alike, None, None, why)
    short, long = ("here", "there") if steps[0] < steps[1] else ("there", "here")
    over = f"Then the search {short} was over: {reasons.ended(sides[short])}."
    node = sides[long].expansions[alike][0]
    here_at, there_at = (node, None) if long == "here" else (None, node)
    why = [said(f"{over} The other went on with state {node}.")]
    return Parting("end", alike, here_at, there_at, why)

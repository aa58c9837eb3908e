"""States to look at an encoder with: of whole theorems, labelled, and siblings in pairs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from burnqed.value.groups import Contrast, Contrasts


@dataclass(frozen=True, slots=True)
class Sample:
    """States by number: on a proof's path or searched in vain, their theorems, their least depths.

    `pairs` are a state on a path and a sibling of it that was searched in vain. `both` counts states
    of the runs with both labels; they can be proved, and are not among the negatives here.
    """

    texts: tuple[str, ...]
    on_path: tuple[bool, ...]
    theorems: tuple[str, ...]
    depths: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    both: int

    def __len__(self) -> int:
        return len(self.texts)


def sample(found: Contrasts, most: int, seed: int) -> Sample:
    """At most so many states of these groups; theorems are drawn whole, so that no group is cut."""
    of_theorem: dict[str, list[Contrast]] = {}
    for group in found.groups:
        of_theorem.setdefault(group.theorem, []).append(group)
    names = sorted(of_theorem)
    random.Random(seed).shuffle(names)
    chosen: list[Contrast] = []
    texts: set[str] = set()
    for name in names:
        more = {text for group in of_theorem[name] for text in _texts(group)}
        if chosen and len(texts | more) > most:
            continue  # a smaller theorem may still fit
        texts |= more
        chosen += of_theorem[name]
    return _of(chosen, found.dual)


def _texts(group: Contrast) -> list[str]:
    return [group.positive.text, *(sibling.text for sibling in group.siblings)]


def _of(groups: Sequence[Contrast], both: int) -> Sample:
    place: dict[str, int] = {}
    theorems: list[str] = []
    depths: list[int] = []
    for group in groups:
        for text in _texts(group):
            if text not in place:
                place[text] = len(place)
                theorems.append(group.theorem)
                depths.append(group.depth)
            depths[place[text]] = min(depths[place[text]], group.depth)
    positive = {group.positive.text for group in groups}
    pairs = {
        (place[group.positive.text], place[sibling.text])
        for group in groups
        for sibling in group.siblings
    }
    return Sample(
        texts=tuple(place),
        on_path=tuple(text in positive for text in place),
        theorems=tuple(theorems),
        depths=tuple(depths),
        pairs=tuple(sorted(pairs)),
        both=both,
    )

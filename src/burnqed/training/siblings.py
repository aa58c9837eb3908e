"""Groups of siblings out of runs, divided among theorems that learn, that choose and that judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from burnqed.core.errors import NotEnough
from burnqed.core.runs import MANIFEST, read_manifest
from burnqed.core.watching import Watcher
from burnqed.data.splits import split_of
from burnqed.training.hard_negatives import GroupRows
from burnqed.training.pairs import is_validation
from burnqed.trajectories.store import find_trajectories, iter_rows
from burnqed.value.calibration import policy_label
from burnqed.value.groups import Contrast, Contrasts, contrasts

_FEWEST = 2  # theorems on either side
_SHALLOW = 0.8  # share of the groups at depth 1 above which there is a warning
_MORE = "burn-qed negatives makes more siblings at the proofs of a run; then give both with"


@dataclass(frozen=True, slots=True)
class Split:
    """The groups of theorems that are learnt from, that choose the best step, and that judge it.

    Where theorems are judged in folds, those that judge are all that any fold judges.
    """

    train: tuple[Contrast, ...]
    val: tuple[Contrast, ...]
    test: tuple[Contrast, ...]
    left_out: int = 0  # groups that were to judge, and equal something that is learnt from

    @property
    def counts(self) -> dict[str, int]:
        """For a result: groups and theorems of each side."""
        sides = {"train": self.train, "val": self.val, "test": self.test}
        groups = {f"{side}_groups": len(found) for side, found in sides.items()}
        names = {f"{side}_theorems": len({g.theorem for g in found}) for side, found in sides.items()}
        return {**groups, **names, "groups_left_out": self.left_out}


@dataclass(frozen=True, slots=True)
class Siblings:
    """The groups of some runs, how they are divided, and whose log-probabilities they have.

    In each of the `folds`, by its number, a head of its own learns, and other theorems judge.
    """

    found: Contrasts
    split: Split
    policies: tuple[str, ...]
    folds: Mapping[int, Split] = field(default_factory=dict)

    def rows(self) -> tuple[dict[int, SplitRows], tuple[str, ...]]:
        """The split with number 0, and the folds; and all their states, of which rows are places."""
        states: tuple[str, ...] = ()
        found: dict[int, SplitRows] = {}
        for number, split in {0: self.split, **self.folds}.items():
            found[number] = SplitRows.of(split, states)
            states = found[number].states
        return found, states

    @property
    def checksum(self) -> str:
        digest = hashlib.sha256()
        for group in (*self.found.groups, *self.found.paced):
            digest.update(json.dumps(asdict(group)).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class SplitRows:
    """The states of a split, each once, and its groups with states named by their place there."""

    states: tuple[str, ...]
    train: tuple[GroupRows, ...]
    val: tuple[GroupRows, ...]
    test: tuple[GroupRows, ...]

    @classmethod
    def of(cls, split: Split, before: Sequence[str] = ()) -> SplitRows:
        """States that there were `before` keep their places; new ones come behind them."""
        row = {text: place for place, text in enumerate(before)}
        for group in (*split.train, *split.val, *split.test):
            for text in _texts(group):
                row.setdefault(text, len(row))
        sides = (tuple(_rows(g, row) for g in side) for side in (split.train, split.val, split.test))
        return cls(tuple(row), *sides)


def read_siblings(
    runs: Sequence[Path],
    share: float,
    watcher: Watcher,
    *,
    slower: bool = False,
    flag: str = "--data",
    learnt: Collection[str] = (),
    folds: int = 1,
    unlearnt: float = 0.0,
) -> Siblings:
    """The groups of these runs, which were given as `flag`. Warns of what says little.

    States that are `learnt` from besides are not held out. With `folds`, all theorems judge: those of
    each fold a head of its own. If the encoder has set a share of the theorems aside, `unlearnt`, no
    others judge.
    """
    found = contrasts(*(iter_rows(find_trajectories(run), watcher.warn) for run in runs))
    policies = _policies(runs)
    if len(policies) > 1:
        watcher.warn(
            f"the runs' log-probabilities are of several policies ({', '.join(policies)}): a verdict "
            "against them mixes scales"
        )
    parts: dict[int, Split] = {}
    if folds > 1:
        split, parts = split_in_folds(found, share, folds, slower, flag, unlearnt)
    else:
        split = split_groups(found, share, slower, flag, learnt, unlearnt)
    _warn_if_shallow(found, watcher)
    return Siblings(found, split, policies, parts)


def split_groups(
    found: Contrasts,
    share: float,
    slower: bool = False,
    flag: str = "--data",
    learnt: Collection[str] = (),
    unlearnt: float = 0.0,
) -> Split:
    """By the theorems' names alone, and as policies split them: what one sets aside the other does.

    `share` are the theorems that are not learnt from; half of them choose, half of them judge. With
    `slower`, siblings whose proofs are longer stand behind those that were given up, as their like: a
    search should not begin with either.
    """
    groups = _ranked(found, slower, flag)
    sides: tuple[list[Contrast], list[Contrast], list[Contrast]] = ([], [], [])
    for group in groups:
        judges = split_of(f"judges {group.theorem}", (0.0, 0.5, 0.5)) == "test"
        judges = judges and _may_judge(group, unlearnt)
        sides[1 + judges if is_validation(group.theorem, share) else 0].append(group)
    train, val, test = map(tuple, _apart(*sides, learnt=learnt))
    split = Split(train, val, test, len(groups) - sum(map(len, (train, val, test))))
    _refuse_few(split, groups, flag)
    return split


def split_in_folds(
    found: Contrasts,
    share: float,
    count: int,
    slower: bool = False,
    flag: str = "--data",
    unlearnt: float = 0.0,
) -> tuple[Split, dict[int, Split]]:
    """The split of the head that is kept, and for each fold that of a head that its theorems judge.

    `share` are the theorems that choose the best step, outside of a fold's own. A fold's theorems
    follow from their names alone. Folds in which nobody would learn, or choose, are left out. What the
    encoder has learned from, which is all but a share of `unlearnt`, judges nothing.
    """
    groups = _ranked(found, slower, flag)
    place = {g.theorem: fold_of(g.theorem, count) if _may_judge(g, unlearnt) else 0 for g in groups}
    folds: dict[int, Split] = {}
    for number in range(1, count + 1):
        inside = [g for g in groups if place[g.theorem] == number]
        outside = [g for g in groups if place[g.theorem] != number]
        train, val, test = map(tuple, _apart(*_chosen(outside, share), inside, learnt=()))
        if train and val and test:
            folds[number] = Split(train, val, test)
    train, val = map(tuple, _apart(*_chosen(groups, share), learnt=()))
    able = sum(place[g.theorem] > 0 for g in groups)
    judged = tuple(group for split in folds.values() for group in split.test)
    whole = Split(train, val, judged, able - len(judged))
    _refuse_few(whole, groups, flag)
    return whole, folds


def fold_of(theorem: str, count: int) -> int:
    """The fold of a theorem, from 1 to `count`."""
    digest = hashlib.sha256(b"fold " + theorem.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % count


def _may_judge(group: Contrast, unlearnt: float) -> bool:
    return not unlearnt or is_validation(group.theorem, unlearnt)


def _chosen(groups: Sequence[Contrast], share: float) -> tuple[list[Contrast], list[Contrast]]:
    """The groups of theorems that are learnt from, and of those that are set aside."""
    sides: tuple[list[Contrast], list[Contrast]] = ([], [])
    for group in groups:
        sides[is_validation(group.theorem, share)].append(group)
    return sides


def _ranked(found: Contrasts, slower: bool, flag: str) -> tuple[Contrast, ...]:
    """The groups that have siblings."""
    groups = tuple(_with_slower(found)) if slower else found.groups
    if not groups:
        paced = f"; {len(found.paced)} have a slower one: --slower" if found.paced else ""
        raise NotEnough(
            f"nothing to learn from: of {found.positives} states on the paths of proofs, none has a "
            "sibling that was explored and given up",
            hint=f"{_MORE} {flag}{paced}",
        )
    return groups


def _refuse_few(split: Split, groups: Sequence[Contrast], flag: str) -> None:
    learn, choose, judge = (
        len({group.theorem for group in side}) for side in (split.train, split.val, split.test)
    )
    if min(learn, choose, judge) < _FEWEST:
        raise NotEnough(
            f"{len(groups)} groups of {len({g.theorem for g in groups})} theorems are too few: {learn} "
            f"theorems learn, {choose} choose the best step and {judge} judge it; each needs {_FEWEST}",
            hint=f"{_MORE} {flag}; or another --val-share",
        )


def set_aside(groups: Sequence[Contrast], share: float) -> tuple[Contrast, ...]:
    """The groups of theorems that a training with this share does not learn from."""
    _, kept = _apart(*_chosen(groups, share), learnt=())
    return tuple(kept)


def _with_slower(found: Contrasts) -> Iterator[Contrast]:
    for group in (*found.groups, *found.paced):
        yield replace(group, siblings=(*group.siblings, *group.slower))


def _apart(*sides: list[Contrast], learnt: Collection[str]) -> Iterator[list[Contrast]]:
    """Each side without what an earlier one has seen: a library says much twice, under two names."""
    seen: set[str] = set()
    for side in sides:
        kept = [g for g in side if seen.isdisjoint(_asked(g))]
        seen |= {text for g in kept for text in _texts(g)}
        seen |= set(learnt)  # by whoever learns, so it stands against the sides after the first
        yield kept


def _policies(runs: Sequence[Path]) -> tuple[str, ...]:
    """Whose log-probabilities some runs have, as far as their manifests say."""
    found: dict[str, None] = {}
    for run in runs:
        directory = run if (run / MANIFEST).exists() else run.parent  # an attempt of an evaluation
        if (directory / MANIFEST).exists():
            found[policy_label(read_manifest(directory))] = None
    return tuple(found)


def _warn_if_shallow(found: Contrasts, watcher: Watcher) -> None:
    depths = found.by_depth
    if depths.get(1, 0) > _SHALLOW * len(found.groups):
        said = ", ".join(f"{count} at depth {depth}" for depth, count in depths.items())
        watcher.warn(
            f"the groups say little about what is deep in a proof: {said}; longer proofs would"
        )


def _asked(group: Contrast) -> list[str]:
    """The goal, and the states that are ranked."""
    return [group.root_goal, group.positive.text, *(state.text for state in group.siblings)]


def _texts(group: Contrast) -> list[str]:
    return [*_asked(group), *group.others]


def _rows(group: Contrast, row: dict[str, int]) -> GroupRows:
    return GroupRows(
        theorem=group.theorem,
        goal=row[group.root_goal],
        depth=group.depth,
        positive=row[group.positive.text],
        siblings=tuple(row[state.text] for state in group.siblings),
        others=tuple(row[text] for text in group.others),
        remaining=group.remaining_steps,
    )

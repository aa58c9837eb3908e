"""What a policy learns from: states and the tactics that proofs took there.

From JSONL files, or from trajectories, of which only the steps of proofs that the judge accepted
count, without those that were found to be needless. What is validated on shares no theorem with what
is trained on, nor a single pair.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.data.sources.open import open_path
from burnqed.data.sources.rows import Notes
from burnqed.data.sources.written import STEPS
from burnqed.data.splits import split_of
from burnqed.training.plans import Mixture


@dataclass(frozen=True, slots=True)
class Pair:
    """A tactic that a proof of `theorem` took at a state; `found` by a search, or given."""

    state: str
    tactic: str
    theorem: str
    depth: int
    found: bool = False
    dialect: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.state, self.tactic


@dataclass(frozen=True, slots=True)
class Source:
    """One path's pairs.

    They stand in the order of the file, or of the run's theorems and steps.
    """

    path: Path
    pairs: tuple[Pair, ...]

    @property
    def checksum(self) -> str:
        """Of the pairs and not of the file: the same pairs written differently are the same data."""
        digest = hashlib.sha256()
        for p in self.pairs:
            told = [p.state, p.tactic, p.theorem, p.depth, p.found, *filter(None, [p.dialect])]
            digest.update(json.dumps(told).encode())
        return digest.hexdigest()


# ------------------------------------------------------------------------------------- reading


def read_source(path: Path, on_problem: Callable[[str], None], *, found: bool = False) -> Source:
    """A JSONL file of pairs, or the verified proof steps of a directory of trajectories.

    The rows of a file are `found` if it is said so: it is one that `burn-qed pairs` made of runs.
    """
    pairs = _found(path, on_problem) if path.is_dir() else _given(path, found)
    source = Source(path.resolve(), tuple(pairs))
    if not source.pairs:
        raise InputError(
            f"{path} has nothing to learn from",
            hint="pairs as JSON lines, or a run in which theorems were proved",
        )
    return source


def _given(path: Path, found: bool) -> Iterator[Pair]:
    for step in open_path(STEPS, path).steps(Notes()):
        yield Pair(step.state, step.tactic, step.theorem, step.depth, found, step.dialect)


def _found(path: Path, on_problem: Callable[[str], None]) -> Iterator[Pair]:
    from burnqed.trajectories.proofs import read_proofs
    from burnqed.trajectories.store import find_trajectories

    for proof in read_proofs(find_trajectories(path), on_problem):
        for step in proof.path:
            yield Pair(step.state, step.tactic.strip(), proof.record.theorem, step.depth, found=True)


# ------------------------------------------------------------------------------------ choosing


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is trained and validated on. `repeats[i]` is how often `train[i]` comes in an epoch."""

    train: tuple[Pair, ...]
    repeats: tuple[int, ...]
    val: tuple[Pair, ...]
    duplicates: int  # pairs that were there already, in validation or in training
    withheld: int  # pairs that are not trained on because --val has their theorem


def choose(
    base: Sequence[Source], extra: Sequence[Source], val: Sequence[Source], mixture: Mixture
) -> Chosen:
    """Distinct pairs, validation apart from training by theorem, the rest mixed as asked.

    A pair that was both given and found by a search is one that was found.
    """
    found = [pair for source in extra for pair in source.pairs]
    given = [pair for source in base for pair in source.pairs]
    apart = [pair for source in val for pair in source.pairs]
    if not val:
        apart = [p for p in (*found, *given) if is_validation(p.theorem, mixture.val_share)]
    theorems = {pair.theorem for pair in apart}
    free_found = [pair for pair in found if pair.theorem not in theorems]
    free_given = [pair for pair in given if pair.theorem not in theorems]
    seen: set[tuple[str, str]] = set()
    kept = [_distinct(pairs, seen) for pairs in (apart, free_found, free_given)]
    kept_val, kept_found, kept_given = kept
    free = len(apart) + len(free_found) + len(free_given)
    withheld = len(found) + len(given) + (len(apart) if val else 0) - free
    if extra and len(kept_given) > mixture.base_sample:
        chance = random.Random(f"base {mixture.seed}")
        places = sorted(chance.sample(range(len(kept_given)), mixture.base_sample))
        kept_given = [kept_given[place] for place in places]
    _check(kept_found + kept_given, kept_val, 0.0 if val else mixture.val_share)
    return Chosen(
        train=(*kept_found, *kept_given),
        repeats=(mixture.extra_weight,) * len(kept_found) + (1,) * len(kept_given),
        val=tuple(kept_val),
        duplicates=free - sum(map(len, kept)),
        withheld=withheld,
    )


def is_validation(theorem: str, share: float) -> bool:
    """By the theorem's name alone, so that no later training takes in what an earlier one set aside.

    Salted: what is trained on is often all from one split of a set, made by the same hash.
    """
    return share > 0 and split_of(f"validation {theorem}", (1 - share, share, 0.0)) == "val"


def _distinct(pairs: Iterable[Pair], seen: set[tuple[str, str]]) -> list[Pair]:
    """Those whose key is new; `seen` grows."""
    kept = []
    for pair in pairs:
        if pair.key not in seen:
            seen.add(pair.key)
            kept.append(pair)
    return kept


def _check(train: Sequence[Pair], val: Sequence[Pair], share: float) -> None:
    if not train:
        raise InputError(
            "nothing is left to train on",
            hint="validation has all the theorems; give another --val, or a smaller --val-share",
        )
    if share and not val:
        raise InputError(
            f"no theorem falls into the {share:.0%} for validation: there are too few",
            hint="a larger --val-share, --val FILE, or --val-share 0 to train without",
        )

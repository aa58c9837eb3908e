"""What a run of expert iteration has come to: what `summary.json` holds and a report draws.

Everything here is read off the run's directory, so it can be made again at any time, of a run that is
half done as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from burnqed.evaluation.compare import count
from burnqed.evaluation.results import IterationResult

FORMAT = 1
BASELINE = -1  # the iteration that is none: the untrained policy

GateVerdict = Literal["pass", "warn", "stop"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A rule, what it came to, and where to look if that is not what one hoped for."""

    name: str  # such as "baseline" or "value, core-300"
    rule: str
    verdict: GateVerdict
    told: str  # the figures that decided it
    hint: str = ""


@dataclass(frozen=True, slots=True)
class StageCost:
    """One finished stage, or one that was begun. `runs` counts how often it was started."""

    name: str  # such as "search-1"
    command: str  # as a user would type it, in the run's directory
    done: bool
    runs: int
    seconds: float  # wall clock, over all runs that ended by themselves or by a signal
    skipped: bool = False  # it had not enough to work with


@dataclass(frozen=True, slots=True)
class SearchCount:
    """What a search for training proofs did; the outcomes add up to `theorems` when it is done."""

    stage: str
    theorems: int
    proved: int
    exhausted: int
    errors: int
    nodes: int
    tactics: int
    lean_seconds: float


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One evaluation on a set of held-out theorems, or two.

    `given` is the same evaluation guided by the value model. It is None where there was no value model
    yet, or where it was not believed.
    """

    without: IterationResult
    given: IterationResult | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """One turn of the loop; the baseline is one as well, and has nothing but `evaluated`.

    `policy` and `value` are the `result.json` of the two trainings, None where there was none. It is
    one training where both were trained together. `embeddings` are the figures of an embeddings report.
    """

    number: int
    evaluated: Mapping[str, Evaluated] = field(default_factory=dict)  # by the set's name
    policy: Mapping[str, Any] | None = None
    value: Mapping[str, Any] | None = None
    embeddings: Mapping[str, Any] | None = None
    dropped: tuple[str, ...] = ()  # the red lines for which no search follows its value model
    pairs: Mapping[str, Any] | None = None  # what the training set was made of
    searches: tuple[SearchCount, ...] = ()
    newly_proved: tuple[str, ...] = ()  # training theorems that no earlier search proved
    gates: tuple[Gate, ...] = ()
    stages: tuple[StageCost, ...] = ()

    @property
    def label(self) -> str:
        return "baseline" if self.number == BASELINE else f"iteration {self.number}"


@dataclass(frozen=True, slots=True)
class History:
    """A run so far. `iterations` begins with the baseline."""

    name: str  # the run directory's
    manifest: Mapping[str, Any]  # what was frozen when it began
    train_theorems: int
    iterations: tuple[Iteration, ...]
    ended: str = ""  # "", or why it goes no further: "plateau: …", "gate: …"
    finished: bool = False  # all that was asked for is done; more may be asked for later
    damage: tuple[str, ...] = ()  # files that are not whole: what was in them is not in here

    @property
    def extent(self) -> str:
        """How far it goes, in words."""
        turns = len(self.iterations) - 1
        return f"the baseline and {count(turns, 'iteration')}" if turns > 0 else "the baseline"

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the held-out sets, in the order in which they were given."""
        return tuple(dict.fromkeys(name for one in self.iterations for name in one.evaluated))

"""Where the time of an attempt goes: seconds of each activity, and of Lean by kind of tactic."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from burnqed.core.errors import LeanLost
from burnqed.search.events import Activity, Doing, Event, Tried

_KIND = re.compile(r"[^\W\d][\w.]*[?!]?")


@dataclass(frozen=True, slots=True)
class Kind:
    """All tactics that begin with the same word, and the seconds that Lean reports for them."""

    name: str
    tried: int
    seconds: float


class Times:
    """An event sink, with a clock.

    What is done for a theorem counts until something else is done for it. Theorems that are attempted
    at the same time count apart, so their sum may be more than the clock says.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds: defaultdict[Activity, float] = defaultdict(float)
        self._since: dict[str, tuple[Activity, float]] = {}
        self._tried: Counter[str] = Counter()
        self._lean: defaultdict[str, float] = defaultdict(float)

    def __call__(self, event: Event) -> None:
        match event:
            case Doing(name=name, activity=activity):
                now = self._clock()
                if name in self._since:
                    before, since = self._since.pop(name)
                    self._seconds[before] += now - since
                if activity != "done":
                    self._since[name] = activity, now
            case Tried(tactics=tactics, results=results):
                for tactic, result in zip(tactics, results, strict=True):
                    kind = kind_of(tactic)
                    cost = None if isinstance(result, LeanLost) else result.cost
                    self._tried[kind] += 1
                    self._lean[kind] += 0.0 if cost is None else cost.seconds

    @property
    def activities(self) -> Mapping[Activity, float]:
        """Seconds of each, with what is still under way; the longest first."""
        now = self._clock()
        seconds = self._seconds.copy()
        for activity, since in self._since.values():
            seconds[activity] += now - since
        return dict(sorted(seconds.items(), key=lambda item: -item[1]))

    @property
    def kinds(self) -> list[Kind]:
        """The tactics that were tried, the costliest first."""
        found = [Kind(name, tried, self._lean[name]) for name, tried in self._tried.items()]
        return sorted(found, key=lambda kind: (-kind.seconds, kind.name))


def kind_of(tactic: str) -> str:
    """The first word of a tactic: `simp` of `simp [h]`; its first symbol, if it has no word."""
    found = _KIND.search(tactic)
    return found[0] if found else tactic.strip()[:1]

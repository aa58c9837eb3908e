"""Runs that are walked through without doing anything: which stages there would be."""

from __future__ import annotations

from burnqed.core.config import build
from burnqed.iteration.config import Config
from burnqed.iteration.history import BASELINE
from burnqed.iteration.made import Status
from burnqed.iteration.plan import due, first_incomplete
from burnqed.iteration.sections import Policy, Run, Search
from burnqed.iteration.settings import RankerSettings
from burnqed.iteration.specs import Stage

Done = dict[tuple[int, str], Status]

RANKED = Config(
    policy=Policy(base="ranker", ranker=build(RankerSettings, {"epochs": 7})),
    search=Search(policy="ranked"),
    run=Run(device="cuda", workers=3),
)


def walk(config: Config, last: int, skip: frozenset[str] = frozenset()) -> list[Stage]:
    """Every stage up to an iteration, in the order in which it falls due; some are skipped."""
    done: Done = {}
    walked = []
    for number in range(BASELINE, last + 1):
        while (following := due(config, number, done)) is not None:
            stage = following.stage
            skipped = bool(following.without) or stage.name in skip
            done[stage.key] = "skipped" if skipped else "done"
            if not skipped:
                walked.append(stage)
    assert first_incomplete(config, done, last) is None
    return walked

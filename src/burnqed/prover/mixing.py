"""The shares of a mixture, learnt from what searches tried."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import InputError
from burnqed.core.ports import Policy
from burnqed.core.types import Goal, LibraryConstant, Theorem
from burnqed.core.watching import Watcher
from burnqed.data.first_state import goal_of
from burnqed.lean.pool import run_sync
from burnqed.policy.mix import Mix, Shares, kind_of, write_shares
from burnqed.policy.models.names import find
from burnqed.prover import leans, policies, sets
from burnqed.prover.config import MixtureConfig
from burnqed.prover.training import modules_of

if TYPE_CHECKING:
    from burnqed.training.decisions import Decision
    from burnqed.training.mixture import Worked

_FEWEST = 20  # states of proofs from which anything is learnt
_AT_ONCE = 64


def train_mixture(
    config: MixtureConfig, data: Sequence[Path], watcher: Watcher
) -> dict[str, Any] | None:
    """Learn how far to follow the model, and write it beside its weights; None when stopped."""
    from burnqed.training.decisions import read_lessons
    from burnqed.training.mixture import learn_shares

    lessons = read_lessons(data, [sets.chosen(one) for one in config.without], watcher.warn)
    if len(lessons.decisions) < _FEWEST:
        raise InputError(
            f"{len(lessons.decisions)} states of proofs are too few to learn from",
            hint=f"search more theorems with --policy mix; {_FEWEST} states are the least",
        )
    lean = leans.set_up(config, modules_of(data))
    chosen = policies.chosen(config, lean.toolchain)
    if chosen.kind != "mix":
        raise InputError("only a mixture has shares", hint="--policy mix, with --model and --ranker")
    prepared = policies.prepare(
        chosen, lambda: lean.library(config.workers), config.workers, watcher.warn
    )
    n = config.candidates or chosen.candidates

    async def every() -> list[Worked] | None:
        found: list[Worked] = []
        async with prepared.opened() as mix:
            assert isinstance(mix, Mix)
            with watcher.counted("asking both", len(lessons.decisions)) as tick:
                for begin in range(0, len(lessons.decisions), _AT_ONCE):
                    some = lessons.decisions[begin : begin + _AT_ONCE]
                    for one in await asyncio.gather(*(_worked(mix, it, n) for it in some)):
                        found += one
                        tick()
                    if watcher.stop():
                        return None
        return found

    worked = run_sync(every())
    if worked is None:
        return None
    shares = learn_shares(worked)
    write_shares(find(chosen.model or ""), shares)
    return _result(shares, worked, lessons.report)


async def _worked(mix: Mix, decision: Decision, n: int) -> list[Worked]:
    """What worked at a state, with the probability that each of the two gives it."""
    from burnqed.training.mixture import Worked

    try:
        goal = goal_of(decision.state, decision.facts)
    except InputError:
        return []
    named = Theorem(decision.theorem, LibraryConstant(decision.theorem, "self"))
    model, rules = await asyncio.gather(
        *(_probabilities(one.about(named), goal, n) for one in (mix.model, mix.rules))
    )
    return [
        Worked(kind_of(goal), model.get(tactic, 0.0), rules.get(tactic, 0.0))
        for tactic in sorted(decision.worked)
    ]


async def _probabilities(policy: Policy, goal: Goal, n: int) -> dict[str, float]:
    (found,) = await policy.propose([[goal]], n, 0.0, 0)
    return {one.tactic: math.exp(one.logprob) for one in found}


def _result(shares: Shares, worked: Sequence[Worked], report: dict[str, Any]) -> dict[str, Any]:
    known = [one for one in worked if one.model + one.rules > 0]
    return {
        "data": {key: report[key] for key in ("theorems", "held_out", "decisions")},
        "worked": len(worked),
        "only_model": sum(one.rules == 0 for one in known),
        "only_rules": sum(one.model == 0 for one in known),
        "both": sum(one.model > 0 and one.rules > 0 for one in known),
        "usual": shares.usual,
        "kinds": shares.kinds,
        "goals": dict(Counter(one.kind for one in known).most_common()),
    }

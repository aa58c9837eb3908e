"""Two policies as one: a model's tactics and those of rules, in one distribution."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.core.ports import Policy
from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.policy.candidates import log_add
from burnqed.policy.portfolio.reading import Reading

# A model's tactics cost a pass each, and its first few are nearly all that it has to say.
MODEL_CANDIDATES = 8
MIXTURE = "mixture.json"  # beside a model's weights: its shares, where they were learnt
Share = Annotated[float, Meta(gt=0, lt=1)]


class Shares(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """With which probability the model is followed: at goals of a kind, and at all others."""

    usual: Share = 0.5
    kinds: dict[str, Share] = {}

    def __post_init__(self) -> None:
        for share in (self.usual, *self.kinds.values()):
            if not 0 < share < 1:
                raise ValueError(f"a share is between 0 and 1, not {share}")

    def of(self, goals: Sequence[Goal]) -> float:
        return self.kinds.get(kind_of(goals[0]), self.usual) if goals else self.usual


def kind_of(goal: Goal) -> str:
    """What a target is: an equation, a ∀, … (`core.facts`)."""
    return Reading(goal).shape.kind


def read_shares(directory: Path) -> Shares:
    """What was learnt for a model, or half of each."""
    path = directory / MIXTURE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Shares)
    except (FileNotFoundError, NotADirectoryError):
        return Shares()
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"cannot read {path}: {error}", hint="learn it again with `burn-qed train mixture`"
        ) from error


def write_shares(directory: Path, shares: Shares) -> None:
    publish(directory / MIXTURE, msgspec.json.format(msgspec.json.encode(shares)).decode() + "\n")


class Mix:
    """With the probability that `shares` has what the model would do, else what the rules would."""

    def __init__(self, model: Policy, rules: Policy, shares: Shares | None = None) -> None:
        self.model, self.rules, self.shares = model, rules, shares or Shares()

    def about(self, theorem: Theorem) -> Mix:
        return Mix(self.model.about(theorem), self.rules.about(theorem), self.shares)

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        asked = self.model.propose(states, min(n, MODEL_CANDIDATES), temperature, seed)
        said, read = await asyncio.gather(asked, self.rules.propose(states, n, temperature, seed))
        return [
            _one(model, rules, self.shares.of(goals))[:n]
            for goals, model, rules in zip(states, said, read, strict=True)
        ]


def _one(model: Sequence[Candidate], rules: Sequence[Candidate], share: float) -> list[Candidate]:
    """One list. Where one of the two has nothing to say, the other speaks alone."""
    share = 1.0 if not rules else 0.0 if not model else share
    found: dict[str, Candidate] = {}
    for part, candidates in ((share, model), (1 - share, rules)):
        for c in candidates:
            logprob = c.logprob + math.log(part)
            known = found.get(c.tactic)
            if known is None:
                found[c.tactic] = replace(c, logprob=logprob)
            else:
                both = min(0.0, log_add(known.logprob, logprob))
                found[c.tactic] = replace(known, logprob=both)
    return sorted(found.values(), key=lambda c: (-c.logprob, c.tactic))

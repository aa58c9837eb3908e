"""Recorded proofs that a search follows: read from a source of steps, kept beside its policy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.ports import Policy
from burnqed.data.first_state import goals_of, locals_of
from burnqed.data.sources.open import open_source
from burnqed.data.sources.rows import Notes
from burnqed.data.steps import Step
from burnqed.prover.assembly import Assembled
from burnqed.prover.policies import Prepared
from burnqed.search.recorded import Recorded, RecordedProof


@dataclass(frozen=True, slots=True)
class Followed:
    """The recorded proofs of a set's theorems, and the checksum of where they come from."""

    proofs: dict[str, RecordedProof]
    sha256: str


def followed(given: str, theorems: Collection[str]) -> Followed:
    """The proofs of these theorems in a source of steps. One at least is there."""
    source = open_source(given)
    wanted = frozenset(theorems)
    found: dict[str, list[Step]] = {}
    for step in source.steps(Notes()):
        if step.theorem in wanted:
            found.setdefault(step.theorem, []).append(step)
    if not found:
        raise InputError(
            f"{given} has no proof of a theorem of the set",
            hint="`burn-qed data index --source` makes the set of a source; `data build` of its pool",
        )
    return Followed({name: _proof(steps) for name, steps in found.items()}, source.checksum())


def _proof(steps: list[Step]) -> RecordedProof:
    steps.sort(key=lambda step: step.depth)
    first = goals_of(steps[0].state)
    names = [one.name if not one.hidden else "_" for one in locals_of(first[0])] if first else []
    return RecordedProof(((goals_of(step.state), step.tactic) for step in steps), names)


def following(assembled: Assembled, proofs: Followed) -> Assembled:
    """The same prover, which follows these proofs."""
    return replace(assembled, policy=_Following.of(assembled.policy, proofs))


def followed_by(assembled: Assembled) -> Followed | None:
    """The proofs that a prover follows, if it follows any."""
    policy = assembled.policy
    if not isinstance(policy, _Following):
        return None
    return Followed(policy.proofs or {}, policy.about["follow"])


@dataclass(frozen=True, slots=True)
class _Following(Prepared):
    proofs: dict[str, RecordedProof] | None = None

    @classmethod
    def of(cls, policy: Prepared, proofs: Followed) -> _Following:
        about: dict[str, Any] = {**policy.about, "follow": proofs.sha256}
        parts = {one.name: getattr(policy, one.name) for one in fields(policy)}
        return cls(**{**parts, "about": about}, proofs=proofs.proofs)

    @asynccontextmanager
    async def opened(self, tactics: Set[str] = frozenset()) -> AsyncIterator[Policy]:
        async with Prepared.opened(self, tactics) as policy:
            yield Recorded(policy, self.proofs or {})

"""Removes the steps that a proof does not need, and finds the states of the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from burnqed.core.ports import Environment
from burnqed.core.types import Advanced, Closed, ProofState, Theorem, state_text
from burnqed.policy.names import IDENT
from burnqed.search.script import Script
from burnqed.trajectories.schema import PathStep

_MOST_TACTICS = 300  # the limit of shortening; a long proof is only shortened in part
_FIRST, _INTROS = "first | ", "intros; "
_ASKED = re.compile(r"\b(grind|simp_all|simp) \[")  # they have a form that reports what it used
_FIRST_PATTERN = ". "  # before a lemma of `grind`; in its reports the marks differ
_WORTH_ASKING = 3
_LEMMAS = re.compile(r" \[([^\[\]\n]+)\]")


class _Spent(Exception):
    pass


async def shorten(environment: Environment, theorem: Theorem, script: Script) -> Script:
    """The script without each step whose goal is also proved by what follows it.

    A step that splits the goal is replaced by one of its branches if that works. Unused lemmas are
    removed from lists, and of alternatives only the one that works is kept. Lean has run the result,
    but the judge has not.
    """
    state = await environment.start(theorem)
    return await _Shortener(environment).shorten(state, tuple(range(len(state.goals))), script)


async def walk(
    environment: Environment, theorem: Theorem, script: Script
) -> tuple[PathStep, ...] | None:
    """The steps of a script, each with its state; None if the script does not prove the theorem.

    A tactic that only renames is not a step: what follows it is listed at the state with new names.
    """
    start = await environment.start(theorem)
    todo = [(script, start, tuple(range(len(start.goals))), 0)]
    path: list[PathStep] = []
    while todo:
        this, state, part, depth = todo.pop()
        if not this.bridge:
            path.append(PathStep(state_text([state.goals[i] for i in part]), this.tactic, depth))
            depth += 1
        after = await environment.apply(state, this.tactic, part)
        match after:
            case Closed() if not this.rest:
                continue
            case Advanced(state=left) if _covers(this, left):
                below = zip(this.rest, this.parts, strict=True)
                todo += reversed([(rest, left, goals, depth) for rest, goals in below])
            case _:
                return None
    return tuple(path)


def _covers(script: Script, state: ProofState) -> bool:
    """Whether each goal that its tactic leaves is proved by one of the scripts after it."""
    return sorted(i for goals in script.parts for i in goals) == list(range(len(state.goals)))


class _Shortener:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._left = _MOST_TACTICS

    async def shorten(self, state: ProofState, part: Sequence[int], script: Script) -> Script:
        for rest in script.rest:
            if await self._suffices(rest, state, part):
                return await self.shorten(state, part, rest)
        if not script.rest:
            return Script(await self._simpler(script.tactic, state, part))
        try:
            after = await self._apply(state, script.tactic, part)
        except _Spent:
            return script
        if not isinstance(after, Advanced):
            return script  # the proof behaves differently now; the judge decides
        shorter = [
            await self.shorten(after.state, goals, sub)
            for goals, sub in zip(script.parts, script.rest, strict=True)
        ]
        for longer, rest in zip(script.rest, shorter, strict=True):
            # Perhaps what needed the step is gone now.
            if rest != longer and await self._suffices(rest, state, part):
                return rest
        return replace(script, rest=tuple(shorter))

    async def _simpler(self, tactic: str, state: ProofState, part: Sequence[int]) -> str:
        """A finishing tactic without unneeded parts: first alternatives, then lemmas."""
        before, first, listed = tactic.partition(_FIRST)
        if not first or before not in ("", _INTROS):
            return await self._fewer_lemmas(tactic, state, part)
        try:
            for one in listed.split(" | "):
                for text in dict.fromkeys((one, before + one)):
                    if isinstance(await self._apply(state, text, part), Closed):
                        return await self._fewer_lemmas(text, state, part)
        except _Spent:
            pass
        return tactic

    async def _fewer_lemmas(self, tactic: str, state: ProofState, part: Sequence[int]) -> str:
        """A finishing `simp [a, b, c]` without unneeded lemmas, dropped from the last to the first."""
        found = list(_LEMMAS.finditer(tactic))
        if not found:
            return tactic
        listed = found[-1]
        before, after = tactic[: listed.start()], tactic[listed.end() :]
        lemmas = listed[1].split(", ")

        def text(kept: Sequence[str]) -> str:
            return f"{before} [{', '.join(kept)}]{after}" if kept else before + after

        try:
            used = await self._used(tactic, lemmas, state, part)
            if len(used) < len(lemmas) and isinstance(
                await self._apply(state, text(used), part), Closed
            ):
                lemmas = used
            for lemma in reversed(list(lemmas)):
                kept = [other for other in lemmas if other != lemma]
                if isinstance(await self._apply(state, text(kept), part), Closed):
                    lemmas = kept
        except _Spent:
            pass
        return text(lemmas)

    async def _used(
        self, tactic: str, lemmas: list[str], state: ProofState, part: Sequence[int]
    ) -> list[str]:
        """The lemmas that the tactic reports as used, or all if it cannot report.

        Trying to drop a lemma costs a run of the tactic, so one run for the report is worth it.
        """
        asking = _ASKED.sub(r"\1? [", tactic)
        if asking == tactic or len(lemmas) < _WORTH_ASKING:
            return lemmas
        outcome = await self._apply(state, asking, part)
        suggested = " ".join(outcome.suggestions) if isinstance(outcome, Closed) else ""
        names = set(IDENT.findall(suggested))
        return [one for one in lemmas if one.removeprefix(_FIRST_PATTERN) in names] if names else lemmas

    async def _suffices(self, script: Script, state: ProofState, part: Sequence[int]) -> bool:
        try:
            return await self._proves(script, state, part)
        except _Spent:
            return False

    async def _proves(self, script: Script, state: ProofState, part: Sequence[int]) -> bool:
        after = await self._apply(state, script.tactic, part)
        if isinstance(after, Closed):
            return not script.rest
        if not isinstance(after, Advanced) or not _covers(script, after.state):
            return False
        for goals, rest in zip(script.parts, script.rest, strict=True):
            if not await self._proves(rest, after.state, goals):
                return False
        return True

    async def _apply(self, state: ProofState, tactic: str, part: Sequence[int]) -> object:
        if self._left == 0:
            raise _Spent
        self._left -= 1
        return await self._environment.apply(state, tactic, tuple(part))

"""Hard negatives: what lies beside a proof, searched until it is given up.

A search that finds a proof leaves its other branches unexplored, and what is unexplored says nothing.
So each state of the proof is looked at again: the steps that Lean accepts there lead to siblings of
the proof's own next state, and each sibling gets a search of its own. One that finds nothing makes the
sibling a negative; one that finds a proof which the judge accepts makes it a positive. Walks do the
same further away: some steps at random, then a search from where they end.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from burnqed.core.ports import Environment, Policy
from burnqed.core.types import Advanced, Candidate, Closed, ProofState, Theorem, state_text
from burnqed.evaluation.prove import Attempt, Prover, failed, prove
from burnqed.evaluation.run import Kept, record_of
from burnqed.lean.session import open_session
from burnqed.search.budget import Budget
from burnqed.search.detour import Detour
from burnqed.search.events import EventSink, ignore
from burnqed.search.keys import key_of
from burnqed.search.split import Part, independent
from burnqed.search.tree import Node, Status, Tree
from burnqed.trajectories.labels import failed_for_certain
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import StepRow, TheoremRecord

Path = Mapping[str, Candidate]  # the step that a proof takes, by the text of the state

_BUNCH = 6  # tactics that a walk tries at once


@dataclass(frozen=True, slots=True)
class Effort:
    """How far to look beside a proof."""

    siblings: int = 4  # at each of its states, drawn from those there are
    walks: int = 1  # for each proof
    length: int = 3  # steps of a walk
    nodes: int = 8  # that the search of a sibling, or of a walk's end, is given


@dataclass(frozen=True, slots=True)
class Way:
    """Steps that lead off a proof: all that is told on the way, and the last of them."""

    origin: Literal["probe", "walk"]
    told: Path
    at: str
    tactic: str


class _Diverged(Exception):
    """The proof's steps do not do what they did."""


def paths(*runs: Iterable[StepRow]) -> dict[str, dict[str, Candidate]]:
    """The proofs of some runs, by theorem: the first of each."""
    found: dict[str, dict[str, Candidate]] = {}
    for rows in runs:
        own: dict[str, dict[str, Candidate]] = defaultdict(dict)
        for row in rows:
            if row.on_proof_path:
                own[row.theorem][row.state] = Candidate(row.tactic, row.logprob)
        found = {**own, **found}
    return found


def checksum(proofs: Mapping[str, Path]) -> str:
    """Tells apart what is looked beside, wherever the runs that it is of may lie."""
    told = {
        theorem: {state: [step.tactic, step.logprob] for state, step in path.items()}
        for theorem, path in proofs.items()
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


async def search_siblings(
    prover: Prover,
    theorem: Theorem,
    path: Path,
    effort: Effort,
    seed: int,
    run: str,
    events: EventSink = ignore,
) -> Kept:
    """All that is learnt about a theorem's siblings, as one record and its rows."""
    prover = replace(prover, policy=prover.policy.about(theorem))
    try:
        async with open_session(prover.pool, prover.heartbeats) as session:
            found = await _Survey(session, prover, path, effort, seed).ways(theorem)
    except _Diverged as error:
        return record_of(Attempt(theorem, "error", "replay", str(error)), seed), []
    except Exception as error:
        return record_of(failed(theorem, error), seed), []
    attempts: list[Attempt] = []
    rows: list[StepRow] = []
    nodes = 0
    for way in found:
        budget = replace(prover.budget, nodes=len(way.told) + effort.nodes)
        free = replace(prover, policy=Detour(prover.policy, way.told), budget=budget)
        attempt = await prove(free, theorem, seed, events)
        attempts.append(attempt)
        if attempt.searched is not None:
            tree = attempt.searched.tree
            about = Provenance(run, origin=way.origin, temperature=prover.settings.temperature)
            lost = _given_up(tree, way, effort.nodes) if attempt.outcome == "exhausted" else ()
            fresh = rows_of(tree, theorem.name, attempt.outcome == "proved", about, lost)
            rows += [_filed(row, nodes, way) for row in fresh]
            nodes += len(tree.nodes)
    return _record(theorem, attempts, seed), rows


class _Survey:
    """One look at what Lean accepts beside a proof."""

    def __init__(
        self, environment: Environment, prover: Prover, path: Path, effort: Effort, seed: int
    ) -> None:
        self._environment = environment
        self._policy: Policy = prover.policy
        self._budget: Budget = prover.budget
        self._temperature = prover.settings.temperature
        self._path = path
        self._effort = effort
        self._seed = seed
        self._seen: set[str] = set()
        self._own: set[str] = set()  # of the proof's states
        self._random = random.Random(seed)

    async def ways(self, theorem: Theorem) -> list[Way]:
        state = await self._environment.start(theorem)
        todo: list[tuple[ProofState, Part]] = [(state, tuple(range(len(state.goals))))]
        beside: list[tuple[str, Candidate, ProofState]] = []
        while todo:
            state, part = todo.pop()
            text = self._enter(state, part)
            step = self._path.get(text)
            if step is None:
                raise _Diverged(f"no step of the proof is for:\n{text}")
            after = await self._environment.apply(state, step.tactic, part)
            if isinstance(after, Advanced):
                parts = [(after.state, part) for part in independent(after.state.goals)]
                for child in parts:
                    self._enter(*child)
                todo += parts
            elif not isinstance(after, Closed):
                raise _Diverged(f"{step.tactic} fails where it did not")
            beside += [(text, *other) for other in await self._others(state, part, step)]
        # What leads to another state of the proof, under other names, is not beside it.
        beside = [way for way in beside if self._own.isdisjoint(_keys(way[2]))]
        probes = [self._way("probe", {text: step}, text) for text, step, _ in beside]
        walks = self._random.sample(beside, min(self._effort.walks, len(beside)))
        return probes + [way for start in walks for way in await self._walk(*start)]

    async def _others(
        self, state: ProofState, part: Part, step: Candidate
    ) -> list[tuple[Candidate, ProofState]]:
        """Steps that lead elsewhere than the proof does, each to a state of its own.

        They are drawn: of the likeliest alone, log-probability would have its own hardest negatives in
        every group, and anything else would look good beside it.
        """
        candidates = [c for c in await self._propose(state, part) if c.tactic != step.tactic]
        found = await self._new_states(state, part, candidates)
        return self._random.sample(found, min(self._effort.siblings, len(found)))

    async def _walk(self, text: str, step: Candidate, state: ProofState) -> list[Way]:
        told = {text: step}
        for _ in range(self._effort.length - 1):
            text = state_text([state.goals[i] for i in independent(state.goals)[0]])
            after = await self._random_step(state)
            if after is None:
                return []  # it ends here, and its end is a sibling or was passed by another walk
            told[text], state = after
        return [self._way("walk", told, text)]

    async def _random_step(self, state: ProofState) -> tuple[Candidate, ProofState] | None:
        part = independent(state.goals)[0]
        candidates = await self._propose(state, part)
        self._random.shuffle(candidates)
        for begin in range(0, len(candidates), _BUNCH):
            found = await self._new_states(state, part, candidates[begin : begin + _BUNCH])
            if found:
                return found[0]
        return None

    async def _new_states(
        self, state: ProofState, part: Part, candidates: Sequence[Candidate]
    ) -> list[tuple[Candidate, ProofState]]:
        """The candidates that Lean accepts and that lead to anything new, and where to."""
        results = await self._environment.apply_batch(state, [c.tactic for c in candidates], part)
        return [
            (candidate, result.state)
            for candidate, result in zip(candidates, results, strict=True)
            if isinstance(result, Advanced) and not result.suggestions and self._new(result.state)
        ]

    async def _propose(self, state: ProofState, part: Part) -> list[Candidate]:
        goals = [state.goals[i] for i in part]
        (candidates,) = await self._policy.propose(
            [goals], self._budget.candidates, self._temperature, self._seed
        )
        return list(candidates)

    def _way(self, origin: Literal["probe", "walk"], told: Path, at: str) -> Way:
        return Way(origin, {**self._path, **told}, at, told[at].tactic)

    def _new(self, state: ProofState) -> bool:
        """Whether a step led to anything that was not there before; if so, it is there now."""
        keys = _keys(state)
        fresh = not keys & self._seen
        self._seen |= keys
        return fresh

    def _enter(self, state: ProofState, part: Part) -> str:
        goals = [state.goals[i] for i in part]
        key = key_of(goals).text
        self._seen.add(key)
        self._own.add(key)
        return state_text(goals)


def _keys(state: ProofState) -> set[str]:
    return {key_of([state.goals[i] for i in part]).text for part in independent(state.goals)}


def _given_up(tree: Tree, way: Way, nodes: int) -> set[int]:
    """The node that a way led to, if its search was spent; of several, the only one left to prove.

    Spent: all that was tried failed for certain, or half of the nodes at least were used at it and
    below (the rest went to goals beside it). What only ran out of time is not given up.
    """
    certain = failed_for_certain(tree)
    for node in tree.nodes:
        for edge in node.edges if node.text == way.at else ():
            left = [c.node for c in edge.children if c.node.status is not Status.PROVED]
            if edge.candidate.tactic == way.tactic and len(left) == 1:
                spent = left[0].id in certain or 2 * _expanded(left[0]) >= nodes
                return {left[0].id} if spent else set()
    return set()


def _expanded(node: Node) -> int:
    """How many nodes were expanded at it and below."""
    seen: set[int] = set()
    todo = [node]
    while todo:
        this = todo.pop()
        if this.edges and this.id not in seen:
            seen.add(this.id)
            todo += [child.node for edge in this.edges for child in edge.children]
    return len(seen)


def _filed(row: StepRow, by: int, way: Way) -> StepRow:
    """A row of a tree whose nodes are numbered on after those of the trees before it.

    Where only the way's own step was tried, its failure says nothing about the state.
    """
    told = row.state in way.told and not row.on_proof_path
    return replace(
        row,
        label="unknown" if told else row.label,
        node=row.node + by,
        parent=None if row.parent is None else row.parent + by,
        children=tuple(child + by for child in row.children),
    )


def _record(theorem: Theorem, attempts: Sequence[Attempt], seed: int) -> TheoremRecord:
    """One record of several searches: proved if one was, and an error if nothing else came of them."""
    if not attempts:
        return record_of(Attempt(theorem, "exhausted", "candidates"), seed)
    every = [record_of(attempt, seed) for attempt in attempts]
    order = ("proved", "exhausted", "error")
    told = min(every, key=lambda record: order.index(record.outcome))
    expanded = [record for record in every if record.expansions]
    return replace(
        told,
        nodes=sum(record.nodes for record in every),
        steps=sum(record.steps for record in every),
        expansions=sum(record.expansions for record in every),
        candidates_min=min((record.candidates_min for record in expanded), default=0),
        candidates_max=max((record.candidates_max for record in expanded), default=0),
        candidates_total=sum(record.candidates_total for record in every),
        seconds=sum(record.seconds for record in every),
        lean_seconds=sum(record.lean_seconds for record in every),
        judge_seconds=sum(record.judge_seconds for record in every),
        path=(),  # of one search, and the rows are of all
    )

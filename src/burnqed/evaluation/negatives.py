"""Hard negatives: siblings of a proof's states, searched until a budget runs out.

A search that finds a proof leaves its other branches unexplored, and nothing is known about these. So
each state of the proof is visited again: the steps that Lean accepts there lead to siblings of the
proof's next state, and each sibling gets a search of its own. If that finds nothing, the sibling is a
negative; if the judge accepts its proof, a positive. Walks do the same further away: they take some
random steps first.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from burnqed.core.errors import InputError, LeanError
from burnqed.core.ports import Environment, Policy
from burnqed.core.types import Advanced, Candidate, Closed, Goal, ProofState, Theorem, state_text
from burnqed.data.first_state import goal_of, goals_of
from burnqed.evaluation.prove import Attempt, Prover, failed, prove
from burnqed.evaluation.run import Kept, record_of
from burnqed.lean.session import open_session
from burnqed.search.budget import Budget
from burnqed.search.detour import Detour
from burnqed.search.events import EventSink, ignore
from burnqed.search.keys import Key, bridge, key_of
from burnqed.search.split import Part, independent
from burnqed.search.tree import Node, Status, Tree
from burnqed.trajectories.labels import failed_for_certain
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import StepRow, TheoremRecord

Path = Mapping[str, Candidate]  # the step of a proof at each state, by the state's text

_BUNCH = 6  # tactics that a walk tries at once


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to search near a proof."""

    siblings: int = 4  # at each of its states, drawn at random
    walks: int = 1  # for each proof
    length: int = 3  # steps of a walk
    nodes: int = 8  # for the search of a sibling or of a walk's end


@dataclass(frozen=True, slots=True)
class Way:
    """A path that leaves a proof: its fixed steps, and the last of them; none if it never leaves it."""

    origin: Literal["probe", "walk"]
    steps: Path
    at: str | None = None
    tactic: str | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """The searches near a theorem's proof, as a job that another machine can do."""

    theorem: Theorem
    path: Path
    effort: Effort
    seed: int
    run: str

    async def on(self, prover: Prover, events: EventSink = ignore) -> Kept:
        return await search_siblings(
            prover, self.theorem, self.path, self.effort, self.seed, self.run, events
        )

    def failed(self, error: LeanError) -> Kept:
        return record_of(failed(self.theorem, error), self.seed), []


class _Diverged(Exception):
    """The proof's steps no longer do what they did."""


def paths(*runs: Iterable[StepRow]) -> dict[str, dict[str, Candidate]]:
    """The first proof of each theorem in some runs."""
    found: dict[str, dict[str, Candidate]] = {}
    for rows in runs:
        own: dict[str, dict[str, Candidate]] = defaultdict(dict)
        for row in rows:
            if row.on_proof_path:
                own[row.theorem][row.state] = Candidate(row.tactic, row.logprob)
        found = {**own, **found}
    return found


def checksum(proofs: Mapping[str, Path]) -> str:
    """Identifies the proofs, wherever their runs are stored."""
    content = {
        theorem: {state: [step.tactic, step.logprob] for state, step in path.items()}
        for theorem, path in proofs.items()
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


async def search_siblings(
    prover: Prover,
    theorem: Theorem,
    path: Path,
    effort: Effort,
    seed: int,
    run: str,
    events: EventSink = ignore,
) -> Kept:
    """Search the siblings near a theorem's proof. The result is one record with its rows."""
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
        budget = replace(prover.budget, nodes=len(way.steps) + effort.nodes)
        free = replace(prover, policy=Detour(prover.policy, way.steps), budget=budget)
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


class _Proof:
    """The steps of a recorded proof, at its states and at those that are the same under other names.

    The search that found it made one node of equal states, and recorded the names of the first. The
    proof may pass another one: then its step there is preceded by a tactic that renames.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_key: dict[str, tuple[Key, Candidate]] = {}
        for text, step in path.items():
            if goals := _read(text):
                key = key_of(goals)
                self._by_key.setdefault(key.text, (key, step))

    def step(self, goals: Sequence[Goal]) -> Candidate | None:
        if exact := self._path.get(state_text(goals)):
            return exact
        mine = key_of(goals)
        known, step = self._by_key.get(mine.text, (mine, None))
        renaming = bridge(goals, mine, known)
        return replace(step, tactic=f"{renaming}\n{step.tactic}") if step and renaming else step


class _Survey:
    """Finds the steps near a proof that Lean accepts."""

    def __init__(
        self, environment: Environment, prover: Prover, path: Path, effort: Effort, seed: int
    ) -> None:
        self._environment = environment
        self._policy: Policy = prover.policy
        self._budget: Budget = prover.budget
        self._temperature = prover.settings.temperature
        self._path = path
        self._proof = _Proof(path)
        # The steps of the proof, by the states that it passes here.
        self._passed: dict[str, Candidate] = {}
        self._effort = effort
        self._seed = seed
        self._seen: set[str] = set()
        self._own: set[str] = set()  # of the proof's states
        self._random = random.Random(seed)

    async def ways(self, theorem: Theorem) -> list[Way]:
        state = await self._environment.start(theorem)
        todo: list[tuple[ProofState, Part]] = [(state, tuple(range(len(state.goals))))]
        siblings: list[tuple[str, Candidate, ProofState]] = []
        looked: set[str] = set()
        while todo:
            state, part = todo.pop()
            key, text = self._enter(state, part)
            if text in self._passed:
                continue
            step = self._proof.step([state.goals[i] for i in part])
            if step is None:
                raise _Diverged(f"the proof has no step for:\n{text}")
            self._passed[text] = step
            after = await self._environment.apply(state, step.tactic, part)
            if isinstance(after, Advanced):
                parts = [(after.state, part) for part in independent(after.state.goals)]
                for child in parts:
                    self._enter(*child)
                todo += parts
            elif not isinstance(after, Closed):
                raise _Diverged(f"{step.tactic} worked in the proof and fails now")
            if key not in looked:  # beside a state under other names are the same siblings
                looked.add(key)
                siblings += [(text, *other) for other in await self._others(state, part, step)]
        # A step to another state of the proof, under other names, does not leave the proof.
        siblings = [one for one in siblings if self._own.isdisjoint(_keys(one[2]))]
        probes = [self._way("probe", {text: step}, text) for text, step, _ in siblings]
        walks = self._random.sample(siblings, min(self._effort.walks, len(siblings)))
        # What is beside a state under other names has its positive only if the proof is there as well.
        renamed = [] if self._passed.keys() <= self._path.keys() else [Way("probe", self._passed)]
        return renamed + probes + [way for start in walks for way in await self._walk(*start)]

    async def _others(
        self, state: ProofState, part: Part, step: Candidate
    ) -> list[tuple[Candidate, ProofState]]:
        """Steps that leave the proof, each to a different state.

        They are drawn at random: the likeliest would be the hardest negatives for log-probability, and
        every value model would look good in comparison.
        """
        candidates = [c for c in await self._propose(state, part) if c.tactic != step.tactic]
        found = await self._new_states(state, part, candidates)
        return self._random.sample(found, min(self._effort.siblings, len(found)))

    async def _walk(self, text: str, step: Candidate, state: ProofState) -> list[Way]:
        steps = {text: step}
        for _ in range(self._effort.length - 1):
            text = state_text([state.goals[i] for i in independent(state.goals)[0]])
            after = await self._random_step(state)
            if after is None:
                return []  # it ends at a sibling, or at a state of another walk
            steps[text], state = after
        return [self._way("walk", steps, text)]

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
        """The candidates that Lean accepts and that lead to something new, with their states."""
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

    def _way(self, origin: Literal["probe", "walk"], steps: Path, at: str) -> Way:
        return Way(origin, {**self._passed, **steps}, at, steps[at].tactic)

    def _new(self, state: ProofState) -> bool:
        """Whether a step led to a state that was not seen before. It counts as seen from now on."""
        keys = _keys(state)
        fresh = not keys & self._seen
        self._seen |= keys
        return fresh

    def _enter(self, state: ProofState, part: Part) -> tuple[str, str]:
        """The state's key, which is known from now on, and its text."""
        goals = [state.goals[i] for i in part]
        key = key_of(goals).text
        self._seen.add(key)
        self._own.add(key)
        return key, state_text(goals)


def _read(text: str) -> list[Goal]:
    """The goals of a recorded state; none where its text does not say all of them."""
    try:
        goals = [goal_of(goal) for goal in goals_of(text)]
    except InputError:  # inside `conv`, say
        return []
    return goals if state_text(goals) == text else []


def _keys(state: ProofState) -> set[str]:
    return {key_of([state.goals[i] for i in part]).text for part in independent(state.goals)}


def _given_up(tree: Tree, way: Way, nodes: int) -> set[int]:
    """The node at the end of a path, if it was searched in vain; of several, the only one unproved.

    In vain: everything tried there failed for certain, or at least half of the nodes were spent at it
    and below (the rest went to other goals). A node that merely ran out of time does not count.
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
    """How many nodes were expanded at a node and below."""
    seen: set[int] = set()
    todo = [node]
    while todo:
        this = todo.pop()
        if this.edges and this.id not in seen:
            seen.add(this.id)
            todo += [child.node for edge in this.edges for child in edge.children]
    return len(seen)


def _filed(row: StepRow, by: int, way: Way) -> StepRow:
    """A row of a tree, with its nodes numbered after those of the trees before it.

    Where only the fixed step was tried, its failure is not evidence about the state.
    """
    fixed = row.state in way.steps and not row.on_proof_path
    return replace(
        row,
        label="unknown" if fixed else row.label,
        node=row.node + by,
        parent=None if row.parent is None else row.parent + by,
        children=tuple(child + by for child in row.children),
    )


def _record(theorem: Theorem, attempts: Sequence[Attempt], seed: int) -> TheoremRecord:
    """One record of several searches: proved if one was, and an error only if all were."""
    if not attempts:
        return record_of(Attempt(theorem, "exhausted", "candidates"), seed)
    every = [record_of(attempt, seed) for attempt in attempts]
    order = ("proved", "exhausted", "error")
    best = min(every, key=lambda record: order.index(record.outcome))
    expanded = [record for record in every if record.expansions]
    return replace(
        best,
        nodes=sum(record.nodes for record in every),
        steps=sum(record.steps for record in every),
        expansions=sum(record.expansions for record in every),
        candidates_min=min((record.candidates_min for record in expanded), default=0),
        candidates_max=max((record.candidates_max for record in expanded), default=0),
        candidates_total=sum(record.candidates_total for record in every),
        seconds=sum(record.seconds for record in every),
        lean_seconds=sum(record.lean_seconds for record in every),
        judge_seconds=sum(record.judge_seconds for record in every),
        path=(),  # it would be of one search, but the rows are of all
    )

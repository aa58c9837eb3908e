"""Scripted problems for the search: a policy that says what it is told, trees as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from burnqed.core.ports import Environment, Value
from burnqed.core.types import Advanced, Candidate, Goal, Proposition, Theorem
from burnqed.lean.fake import FakeEnvironment, Script
from burnqed.search.best_first import SearchResult, Settings, best_first
from burnqed.search.budget import Budget
from burnqed.search.events import EventSink, ignore
from burnqed.search.keys import key_of
from burnqed.search.script import Script as Proof
from burnqed.search.script import way_to
from burnqed.search.tree import Node, Tree


class ScriptedPolicy:
    """For each target, tactics with log-probabilities; the same for a target that is not listed."""

    def __init__(self, said: Mapping[str, Mapping[str, float]], default: Mapping[str, float]) -> None:
        self._said = said
        self._default = default
        self.asked: list[list[str]] = []

    def about(self, theorem: Theorem) -> ScriptedPolicy:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        self.asked.append([goals[0].target for goals in states])
        return [self._for(goals[0].target)[:n] for goals in states]

    def _for(self, target: str) -> list[Candidate]:
        said = self._said.get(target, self._default)
        ranked = sorted(said.items(), key=lambda item: (-item[1], item[0]))
        return [Candidate(tactic, logprob) for tactic, logprob in ranked]


class BySize:
    """A value model that likes short goals, and counts what it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def energies(self, root: Sequence[Goal], states: Sequence[Sequence[Goal]]) -> list[float]:
        self.asked += len(states)
        return [float(len(goals[0].target)) for goals in states]


def every_tactic(script: Script) -> ScriptedPolicy:
    """Each target's own tactics, all equally likely."""
    said = {target: dict.fromkeys(tactics, -1.0) for target, tactics in script.items()}
    return ScriptedPolicy(said, {})


async def search(
    script: Script,
    root: str,
    policy: ScriptedPolicy | None = None,
    budget: Budget | None = None,
    settings: Settings | None = None,
    events: EventSink = ignore,
    value: Value | None = None,
) -> tuple[SearchResult, FakeEnvironment]:
    environment = FakeEnvironment(script)
    searched = await best_first(
        Theorem("t", Proposition(root)),
        environment,
        policy or every_tactic(script),
        value,
        budget or Budget(nodes=1000, candidates=100),
        events=events,
        settings=settings,
    )
    searched.tree.check_invariants()
    return searched, environment


def provable(script: Script, root: str) -> bool:
    """By the definition: the least set of goals that some tactic reduces to goals of the set."""
    proved: set[str] = set()
    while True:
        more = {
            target
            for target, tactics in script.items()
            for after in tactics.values()
            if isinstance(after, tuple) and all(goal in proved for goal in after)
        }
        if more <= proved:
            return root in proved
        proved |= more


def closes(script: Script, target: str, proof: Proof) -> bool:
    """Whether a proof works, run on the script without the search."""
    after = script.get(target, {}).get(proof.tactic)
    if not isinstance(after, tuple) or len(after) != sum(map(len, proof.parts)):
        return False
    goals = [after[i] for part in proof.parts for i in part]
    return all(closes(script, goal, rest) for goal, rest in zip(goals, proof.rest, strict=True))


def has_path(start: Node, end: Node, length: int, logprob: float) -> bool:
    """Whether a way of this length and likelihood leads there that comes to no node twice."""
    todo = [(start, frozenset({start.id}), 0.0)]
    while todo:
        node, seen, so_far = todo.pop()
        if node is end:
            if len(seen) == length + 1 and abs(so_far - logprob) < 1e-9:
                return True
            continue
        todo += [
            (child.node, seen | {child.node.id}, so_far + edge.candidate.logprob)
            for edge in node.edges
            for child in edge.children
            if child.node.id not in seen and len(seen) <= length
        ]
    return False


async def assert_way_leads_to(node: Node, environment: Environment, theorem: Theorem) -> None:
    """The way that is told to a node is as long as it is deep, and Lean, taking it, comes there."""
    steps, goals = way_to(node)
    assert sum(not step.bridge for step in steps) == node.depth
    state = await environment.start(theorem)
    met = []
    for step in steps:
        if not step.bridge:
            met.append(key_of([state.goals[i] for i in step.goals]).text)
        outcome = await environment.apply(state, step.tactic, step.goals)
        assert isinstance(outcome, Advanced), step
        state = outcome.state
    reached = key_of([state.goals[i] for i in goals])
    assert reached.text == node.key.text
    for mine, told in zip(reached.names, node.key.names, strict=True):
        assert mine == told or "✝" in mine + told, "a step after it could not speak of it"
    assert len({*met, reached.text}) == node.depth + 1, "no state twice"


def as_data(tree: Tree) -> list[dict[str, Any]]:
    """A tree as JSON would have it."""
    return [
        {
            "goal": " | ".join(goal.target for goal in node.goals),
            "status": node.status.value,
            "depth": node.depth,
            "score": round(node.score, 6),
            "edges": [
                {
                    "tactic": edge.candidate.tactic,
                    "result": edge.result,
                    "dead": edge.dead,
                    "children": [child.node.id for child in edge.children],
                }
                for edge in node.edges
            ],
            "proof": node.proof.candidate.tactic if node.proof else None,
        }
        for node in tree.nodes
    ]

"""Turns a search tree into rows and into the path of its proof."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from burnqed.core.facts import facts_to_json
from burnqed.search.tree import Edge, Tree
from burnqed.trajectories.labels import Labels
from burnqed.trajectories.schema import Origin, PathStep, StepRow


@dataclass(frozen=True, slots=True)
class Provenance:
    """The run of a row, and how it searched."""

    run: str
    iteration: int = 0
    origin: Origin = "search"
    temperature: float = 0.0


def rows_of(
    tree: Tree,
    theorem: str,
    verified: bool,
    provenance: Provenance,
    given_up: Collection[int] = (),
) -> list[StepRow]:
    """A row for each tried step, node by node. `verified`: the judge accepted the proof."""
    labels = Labels(tree, verified, given_up)
    goal = tree.root.text
    texts = {node.id: node.text for node in tree.nodes if node.edges}
    facts = {
        node.id: facts_to_json([one.facts for one in node.goals]) for node in tree.nodes if node.edges
    }
    return [
        _row(edge, theorem, goal, texts[edge.source.id], facts[edge.source.id], labels, provenance)
        for edge in tree.edges()
    ]


def path_of(tree: Tree) -> tuple[PathStep, ...]:
    """The steps of the root's proof before shortening, each state once."""
    steps: list[PathStep] = []
    depths = {tree.root.id: 0}  # in the proof; another path to a state may be shorter
    for edge in tree.proof_edges():
        depth = depths[edge.source.id]
        steps.append(PathStep(edge.source.text, edge.candidate.tactic, depth))
        for child in edge.children:
            depths.setdefault(child.node.id, depth + 1)
    return tuple(steps)


def _row(
    edge: Edge,
    theorem: str,
    goal: str,
    state: str,
    facts: str | None,
    labels: Labels,
    provenance: Provenance,
) -> StepRow:
    node = edge.source
    children = [child.node for child in edge.children]
    energies = [one.energy for one in children if one.energy is not None]
    return StepRow(
        run=provenance.run,
        theorem=theorem,
        node=node.id,
        parent=node.parents[0].source.id if node.depth else None,  # a loop may lead to the root
        children=tuple(one.id for one in children),
        depth=node.depth,
        state=state,
        root_goal=goal,
        tactic=edge.candidate.tactic,
        logprob=edge.candidate.logprob,
        energy=node.energy,
        score=node.score,
        outcome=edge.result,
        error=edge.error,
        label=labels.label(edge),
        on_proof_path=id(edge) in labels.path,
        remaining_steps=labels.remaining(edge),
        origin=provenance.origin,
        temperature=provenance.temperature,
        iteration=provenance.iteration,
        seconds=edge.seconds,
        lean_seconds=edge.cost.seconds if edge.cost else None,
        heartbeats=edge.cost.heartbeats if edge.cost else None,
        facts=facts,
        child_energies=None if node.energy is None else tuple(energies),
        child_scores=tuple(one.score for one in children),
        spent=edge.spent,
    )

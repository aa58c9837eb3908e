"""The tree that events tell is the tree that the search has, after each of them."""

from __future__ import annotations

import msgspec
import pytest

from burnqed.core.types import Proposition, Theorem
from burnqed.search.budget import Budget
from burnqed.search.events import Event, Expanded, Started
from burnqed.search.shown import WORKED, Edge, Node, line_of
from burnqed.search.tree import Status, Tree
from burnqed.serve import events
from burnqed.serve.growing import Growing
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.web.tree import grown
from tests.search.problems import search
from tests.web import samples
from tests.web.test_tree import provable_forest

Picture = tuple[dict[int, Node], dict[tuple[int, str], Edge]]


def drawn(told: list[events.Progress]) -> Picture:
    """What a page has after these events."""
    nodes: dict[int, Node] = {}
    edges: dict[tuple[int, str], Edge] = {}
    for event in told:
        if not isinstance(event, events.Begun):
            nodes |= {node.id: node for node in event.nodes}
        if isinstance(event, events.Expanded | events.Accepted):
            edges |= {(edge.source, edge.tactic): edge for edge in event.edges}
    return nodes, edges


async def followed(tried: samples.Tried) -> tuple[Growing, list[events.Progress], Tree]:
    """A search, whose tree is compared with what is told of it after each event."""
    told: list[events.Progress] = []
    growing = Growing(told.append)
    trees: list[Tree] = []

    def hear(event: Event) -> None:
        growing(event)
        if isinstance(event, Started):
            trees.append(event.tree)
        if isinstance(event, Started | Expanded):  # in between the tree has nodes without their edges
            compare(trees[0], drawn(told))
        if isinstance(event, Expanded):
            last = told[-1]
            assert isinstance(last, events.Expanded)
            assert (last.node, last.spent) == (event.node.id, event.nodes)
            assert last.goals == tuple(goal.text for goal in event.node.goals)

    budget = Budget(nodes=tried.nodes, depth=10_000, candidates=100)
    await search(tried.script, tried.root, budget=budget, events=hear)
    return growing, told, trees[0]


def compare(tree: Tree, picture: Picture) -> None:
    nodes, edges = picture
    assert nodes.keys() == {node.id for node in tree.nodes}
    for node in tree.nodes:
        told = nodes[node.id]
        assert (told.closed is not None) == (node.status is Status.PROVED)
        assert (told.failed is not None) == (node.status is Status.FAILED)
        assert (told.expanded is None) == (node.status is Status.OPEN)
        assert (told.depth, told.tried) == (node.depth, len(node.edges))
        assert told.line == line_of(node.goals[0].text)
        assert (told.parent is None) == (node is tree.root)
        assert not told.on_proof
    worked = {(e.source.id, e.candidate.tactic) for e in tree.edges() if e.result in WORKED}
    assert edges.keys() == worked


@pytest.mark.parametrize("seed", range(4))
async def test_after_each_event_the_page_has_the_tree(seed: int) -> None:
    growing, told, tree = await followed(provable_forest(seed))
    assert growing.spent.states == len(tree.nodes)
    assert growing.spent.nodes == sum(isinstance(one, events.Expanded) for one in told)
    whole = msgspec.json.encode(told)
    assert msgspec.json.decode(whole, type=list[events.JobEvent]) == told


async def test_it_is_the_tree_that_the_record_gives() -> None:
    growing, told, tree = await followed(samples.THEOREMS[0])
    growing.accepted()
    nodes, edges = drawn(told)
    recorded = grown(rows_of(tree, "And.both", True, Provenance("test")))
    for node in recorded.nodes:
        told_of = nodes[node.id]
        for name in ("parent", "depth", "score", "energy", "expanded", "tried", "worked", "on_proof"):
            if node.expanded is not None:
                assert getattr(told_of, name) == getattr(node, name), name
        assert (told_of.closed is None) == (node.closed is None)
        assert (told_of.failed is None) == (node.failed is None)
    assert list(edges.values()) == list(recorded.edges)
    assert any(edge.on_proof for edge in recorded.edges)


async def test_what_did_not_work_is_told_with_leans_answer() -> None:
    _, told, _ = await followed(samples.THEOREMS[0])
    root = told[1]
    assert isinstance(root, events.Expanded)
    answers = {one.tactic: (one.outcome, one.answer) for one in root.refused}
    assert answers["exact h"] == ("rejected", "tactic: unknown identifier 'h'")
    assert answers["decide"] == ("timeout", "heartbeats")


async def test_without_the_judge_nothing_is_on_a_proof() -> None:
    growing, told, tree = await followed(samples.THEOREMS[0])
    assert tree.proved
    nodes, edges = drawn(told)
    assert not any(node.on_proof for node in nodes.values())
    assert not any(edge.on_proof for edge in edges.values())
    before = len(told)
    hopeless = Growing(told.append)
    hopeless.accepted()
    assert len(told) == before
    growing.accepted()
    assert len(told) == before + 1


async def test_a_theorem_searched_for_again_is_another_search() -> None:
    told: list[events.Progress] = []
    growing = Growing(told.append)
    theorem = Theorem("t", Proposition("p ∧ q"))
    for _ in range(2):
        tree = samples.searched(samples.THEOREMS[0]).tree
        started: list[Event] = [Started(theorem, tree, None)]  # type: ignore[arg-type]
        for event in [*started, Expanded(theorem, tree.root, 1)]:
            growing(event)
    growing.accepted()
    numbers = [one.search for one in told if not isinstance(one, events.Begun)]
    assert numbers == [0, 0, 1, 1, 1], "only the latest is what the judge accepted"

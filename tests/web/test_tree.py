"""The tree that rows give is the tree that the search had, at every moment."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.search.scoring import Scoring
from burnqed.search.shown import Node
from burnqed.search.tree import Status
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import StepRow
from burnqed.trajectories.store import theorem_rows
from burnqed.web.tree import Grown, goals_of, grown
from tests.search.problems import BySize, search
from tests.web import samples
from tests.web.samples import Tried, forest, searched


def rows(tried: Tried, judged: bool = True) -> list[StepRow]:
    tree = searched(tried).tree
    return rows_of(tree, tried.name, tree.proved and judged, Provenance("test"))


def provable_forest(seed: int) -> Tried:
    """A forest where some goals have a proof."""
    script = {goal: dict(tactics) for goal, tactics in forest(120, seed).items()}
    for number, tactics in enumerate(script.values()):
        if number % 7 == seed % 7:
            tactics["rfl"] = ()
        if number % 11 == 0 and number:
            tactics["go back"] = ("a0 + b = c0",)
    return Tried("forest", "a0 + b = c0", script, nodes=60 + seed)


@pytest.mark.parametrize("seed", range(12))
def test_closed_and_failed_are_what_the_search_said(seed: int) -> None:
    tried = provable_forest(seed)
    tree = searched(tried).tree
    found = grown(rows_of(tree, "forest", tree.proved, Provenance("test")))
    by_id = {node.id: node for node in found.nodes}
    assert by_id.keys() == {node.id for node in tree.nodes}
    for node in tree.nodes:
        told = by_id[node.id]
        assert (told.closed is not None) == (node.status is Status.PROVED)
        assert (told.failed is not None) == (node.status is Status.FAILED)
        assert (told.expanded is None) == (node.status is Status.OPEN)
        assert told.tried == len(node.edges)
        assert told.depth <= node.depth or not node.edges
    assert {n.id for n in found.nodes if n.on_proof} == {e.source.id for e in tree.proof_edges()}


def test_an_and_step_is_closed_when_its_last_goal_is() -> None:
    found = by_line(grown(rows(samples.THEOREMS[0])))
    both, one, other = found["p ∧ q"], found["p"], found["q"]
    assert both.closed is not None
    assert one.closed is not None
    assert other.closed is not None
    assert both.closed == max(one.closed, other.closed)
    assert found["q ∧ p"].failed is not None
    assert found["q ∧ p"].closed is None


def by_line(tree: Grown) -> dict[str, Node]:
    return {node.line: node for node in tree.nodes if node.line}


def test_without_the_judge_nothing_is_on_a_proof() -> None:
    found = grown(rows(samples.THEOREMS[0], judged=False))
    assert found.nodes[0].closed is not None
    assert not any(node.on_proof for node in found.nodes)
    assert not any(edge.on_proof for edge in found.edges)


def test_time_goes_on_from_the_root() -> None:
    found = grown(rows(provable_forest(1)))
    assert list(found.moments) == sorted(found.moments)
    by_id = {node.id: node for node in found.nodes}
    for node in found.nodes[1:]:
        assert node.parent is not None
        assert by_id[node.parent].seen <= node.seen
        if node.expanded is not None:
            assert node.seen <= node.expanded


def test_numbers_that_json_lacks_are_left_out() -> None:
    strange = [
        dataclasses.replace(
            row,
            logprob=-math.inf,
            energy=math.nan,
            score=math.inf,
            child_energies=(math.nan,) * len(row.children),
            child_scores=(-math.inf,) * len(row.children),
        )
        for row in rows(samples.THEOREMS[0])
    ]
    found = grown(strange)
    assert all(node.score is None and node.energy is None for node in found.nodes)
    assert all(edge.logprob is None for edge in found.edges)


async def test_a_state_that_was_never_expanded_has_the_figures_of_the_search() -> None:
    tried = samples.THEOREMS[0]
    weighed = Settings(scoring=Scoring(energy_weight=2.0))
    budget = Budget(nodes=1, candidates=100)
    found, _ = await search(tried.script, tried.root, None, budget, weighed, value=BySize())
    told = grown(rows_of(found.tree, tried.name, False, Provenance("test")))
    assert len(told.nodes) == 4
    assert [node.expanded is None for node in told.nodes] == [False, True, True, True]
    for node, known in zip(told.nodes, found.tree.nodes, strict=True):
        assert (node.energy, node.score) == (known.energy, known.score)


def test_a_state_of_an_older_record_has_no_figures_unless_it_was_expanded() -> None:
    every = rows(Tried("short", "p ∧ q", samples.CONJUNCTION, nodes=1), judged=False)
    older = [dataclasses.replace(row, child_energies=None, child_scores=None) for row in every]
    root, *others = grown(older).nodes
    assert root.score is not None
    assert others
    assert all(node.energy is None and node.score is None for node in others)


def test_no_row_is_no_tree() -> None:
    assert grown([]) == Grown((), (), ())


def test_goals_are_taken_apart() -> None:
    state = "case a\nx : Nat\n⊢ x = 1 ∧\n  x = 2\n\nh : p →\n\n  q\n⊢ q\n\n| x + 1"
    assert goals_of(state) == ["case a\nx : Nat\n⊢ x = 1 ∧\n  x = 2", "h : p →\n\n  q\n⊢ q", "| x + 1"]
    assert goals_of("") == [""]


def test_the_rows_of_one_theorem_are_found_in_its_part(tmp_path: Path) -> None:
    for number in range(3):  # a part each
        samples.write_attempt(tmp_path, samples.THEOREMS[number : number + 1])
    directory = tmp_path / "trajectories"
    assert len(list(directory.glob("part-*"))) == 3
    for tried in samples.THEOREMS[:3]:
        found = theorem_rows(directory, tried.name)
        assert {row.theorem for row in found} == {tried.name}
        assert [row.tactic for row in found] == [row.tactic for row in rows(tried)]
    assert theorem_rows(directory, "another") == []

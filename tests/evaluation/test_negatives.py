"""What lies beside a proof, in Lean: searched to its end, and labelled by what came of that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from burnqed.core.types import Candidate, Goal, Proposition, Rejected, Theorem, TimedOut
from burnqed.evaluation.negatives import Effort, Way, _given_up, paths, search_siblings
from burnqed.evaluation.prove import Prover, prove
from burnqed.lean.fake import Script, Scripted
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.search.budget import Budget
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import StepRow
from burnqed.value.groups import Contrasts, contrasts
from tests.search.problems import search

pytestmark = pytest.mark.lean

SWAP = Theorem("swap", Proposition("∀ p q : Prop, p ∧ q → q ∧ p"))
SAID = {
    "∀ (p q : Prop), p ∧ q → q ∧ p": ("intro p q h", "exfalso", "intro p", "intro p q"),
    "∀ (q : Prop), p ∧ q → q ∧ p": ("intro q h",),
    "p ∧ q → q ∧ p": ("clear p", "intro h"),
    "q ∧ p": ("exact ⟨h.2, h.1⟩", "clear h"),
    "False": ("exact absurd rfl id", "have e : 1 = 1 := rfl"),
}


class Says:
    """A policy that knows a few goals; the rarer the later."""

    def __init__(self, said: Mapping[str, Sequence[str]]) -> None:
        self._said = said

    def about(self, theorem: Theorem) -> Says:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        said = [self._said.get(goals[0].target, ())[:n] for goals in states]
        return [[Candidate(t, -1.0 - i) for i, t in enumerate(tactics)] for tactics in said]


@pytest.fixture(scope="module")
async def prover(lean_pool: Pool, lean_launch: LaunchSpec) -> AsyncIterator[Prover]:
    async with Pool(lean_launch, 2) as judges:
        yield Prover(lean_pool, judges, Says(SAID), Budget(nodes=9, candidates=8))


@pytest.fixture(scope="module")
async def searched(prover: Prover) -> list[StepRow]:
    attempt = await prove(prover, SWAP, seed=0)
    assert attempt.outcome == "proved"
    assert attempt.searched is not None
    return rows_of(attempt.searched.tree, "swap", True, Provenance("first"))


async def beside(
    prover: Prover, searched: list[StepRow], **effort: int
) -> tuple[list[StepRow], Contrasts]:
    path = paths(searched)["swap"]
    assert len(path) == 2
    record, rows = await search_siblings(prover, SWAP, path, Effort(**effort), 0, "beside")
    assert record.outcome in ("proved", "exhausted")
    assert len({row.node for row in rows}) == record.expansions
    return rows, contrasts(searched, rows)


async def test_siblings_are_positive_or_negative_by_a_search_of_their_own(
    prover: Prover, searched: list[StepRow]
) -> None:
    assert contrasts(searched).groups == ()  # they were not explored: there is nothing to learn
    rows, found = await beside(prover, searched, walks=0)
    assert {row.origin for row in rows} == {"probe"}
    groups = {group.positive.text: group for group in found.groups}
    # `intro p q h` is the proof's own, `intro p` and `intro p q` lead to others, `exfalso` to none.
    assert len(groups) == 3
    for group in groups.values():
        assert [(s.text, s.logprob) for s in group.siblings] == [("⊢ False", -2.0)]
    assert {g.positive.logprob for g in groups.values()} == {-1.0, -3.0, -4.0}
    assert found.dual == 0


async def test_each_sibling_costs_no_more_than_it_is_given(
    prover: Prover, searched: list[StepRow]
) -> None:
    rows, _ = await beside(prover, searched, walks=0, siblings=1, nodes=3)
    # One beside each state of the proof.
    trees = [row.node for row in rows if row.parent is None and row.depth == 0]
    assert len(trees) == 2
    assert len({row.node for row in rows}) <= 2 * (2 + 3)


async def test_what_was_not_searched_to_its_end_stays_unknown(
    prover: Prover, searched: list[StepRow]
) -> None:
    """A Lean that dies on the way is not evidence: nothing is negative that nobody gave up."""
    rows, _ = await beside(prover, searched, walks=0)
    unexplored = {child for row in rows for child in row.children} - {row.node for row in rows}
    negative = [row for row in rows if row.label == "negative" and row.outcome == "advanced"]
    assert all(set(row.children).isdisjoint(unexplored) for row in negative)
    # The steps that led along the proof say nothing where only they were tried.
    assert not [r for r in rows if r.depth == 0 and r.label == "negative"]


async def test_walks_end_further_away(prover: Prover, searched: list[StepRow]) -> None:
    rows, _ = await beside(prover, searched, siblings=4, walks=4, length=2)
    walked = [row for row in rows if row.origin == "walk"]
    assert walked
    assert max(row.depth for row in walked) >= 2


async def test_the_same_seed_looks_at_the_same_things(prover: Prover, searched: list[StepRow]) -> None:
    first, _ = await beside(prover, searched, walks=2)
    again, _ = await beside(prover, searched, walks=2)
    timeless = [
        [replace(row, seconds=0, lean_seconds=None, heartbeats=None) for row in rows]
        for rows in (first, again)
    ]
    assert timeless[0] == timeless[1]


async def test_a_proof_that_no_longer_replays_is_an_error(
    prover: Prover, searched: list[StepRow]
) -> None:
    path = paths(searched)["swap"]
    stale = {text: Candidate("gone", -1.0) for text in path}
    record, rows = await search_siblings(prover, SWAP, stale, Effort(), 0, "beside")
    assert (record.outcome, record.reason, rows) == ("error", "replay", [])
    renamed = {text.replace("p", "r"): candidate for text, candidate in path.items()}
    record, rows = await search_siblings(prover, SWAP, renamed, Effort(), 0, "beside")
    assert (record.outcome, record.reason, rows) == ("error", "replay", [])


# How the search first gets to what is to be proved, with a second goal that it cannot prove; how the
# proof gets there, under other names; and the proof's next steps, in the names of the first.
WAYS = {
    "a tag": ("intro p q h", "intro p q h", ("have e := h.2", "exact ⟨e, h.1⟩")),
    "names": ("intro a b k", "intro p q h", ("have e := k.2", "exact ⟨e, k.1⟩")),
    "daggers": ("intro a b _", "intro p q _", ("have e : b := ‹a ∧ b›.2", "exact ⟨e, ‹a ∧ b›.1⟩")),
}


@pytest.mark.parametrize("names", WAYS)
async def test_a_proof_through_a_state_found_under_other_names_is_looked_beside(
    prover: Prover, names: str
) -> None:
    first, then, last = WAYS[names]
    elsewhere = f"{first}\nrefine (⟨?_, ?_⟩ : _ ∧ False).1"
    said = {"∀ (p q : Prop), p ∧ q → q ∧ p": (elsewhere, then), "b ∧ a": last, "q ∧ p": last}
    attempt = await prove(replace(prover, policy=Says(said)), SWAP, seed=0)
    assert attempt.outcome == "proved"
    assert attempt.searched is not None
    searched = rows_of(attempt.searched.tree, "swap", True, Provenance("first"))
    path = paths(searched)["swap"]
    assert [step.tactic for step in path.values()] == [then, *last]
    beside = Says({"q ∧ p": ("exfalso",), "False": ("clear q",)})
    record, rows = await search_siblings(
        replace(prover, policy=beside), SWAP, path, Effort(walks=0), 0, "beside"
    )
    assert (record.outcome, record.detail) == ("proved", "")
    (group,) = contrasts(searched, rows).groups
    assert (group.depth, "\ne : " in group.positive.text) == (2, True)
    assert [sibling.text.splitlines()[-1] for sibling in group.siblings] == ["⊢ False"]


async def test_one_bad_statement_is_one_error(prover: Prover, searched: list[StepRow]) -> None:
    nonsense = Theorem("swap", Proposition("nowhere = 1"))
    record, rows = await search_siblings(
        prover, nonsense, paths(searched)["swap"], Effort(), 0, "beside"
    )
    assert (record.outcome, record.reason, rows) == ("error", "statement", [])


async def test_what_only_ran_out_of_time_is_not_given_up() -> None:
    """And neither is what was hardly looked at; what failed for certain is."""
    way = Way("probe", {"⊢ root": Candidate("off", -1.0)}, "⊢ root", "off")

    async def given_up(below: dict[str, Scripted], nodes: int) -> bool:
        script: Script = {"root": {"off": ("side",)}, "side": below, "deep": {"on": ("deep again",)}}
        searched, _ = await search(script, "root", budget=Budget(nodes=3, candidates=9))
        return bool(_given_up(searched.tree, way, nodes))

    assert await given_up({"no": Rejected("no", "tactic")}, nodes=99)
    assert not await given_up({"slow": TimedOut(30.0, deterministic=False)}, nodes=99)
    assert not await given_up({"on": ("deep",)}, nodes=99)  # two of a hundred
    assert await given_up({"on": ("deep",)}, nodes=4)
    assert not await given_up({"close": ()}, nodes=4)


def test_the_first_proof_of_each_theorem_is_taken(searched: list[StepRow]) -> None:
    other = [replace(row, state=f"x {row.state}") for row in searched]  # of the same name, too
    assert paths(searched, other) == paths(searched)
    assert paths(other, searched) == paths(other)
    assert paths(replace(row, on_proof_path=False) for row in searched) == {}

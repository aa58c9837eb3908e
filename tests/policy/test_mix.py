"""A model and rules as one distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.core.types import Candidate, Goal, Proposition, Theorem
from burnqed.policy.mix import (
    MIXTURE,
    MODEL_CANDIDATES,
    Mix,
    Shares,
    kind_of,
    read_shares,
    write_shares,
)

GOAL = Goal("g", "True")


class Says:
    """A policy that says the same to everything, and remembers how it was asked."""

    def __init__(self, **tactics: float) -> None:
        self.candidates = [Candidate(t, math.log(p), len(t)) for t, p in tactics.items()]
        self.asked: list[tuple[int, float, int]] = []

    def about(self, theorem: Theorem) -> Says:
        return Says(**{theorem.name: 1.0})

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        self.asked.append((n, temperature, seed))
        return [self.candidates[:n] for _ in states]


async def mixed(model: Says, rules: Says, n: int = 32, share: float = 0.5) -> dict[str, float]:
    found = await Mix(model, rules, Shares(share)).propose([[GOAL]], n, 0.0, 7)
    assert found[0] == sorted(found[0], key=lambda c: (-c.logprob, c.tactic))
    return {c.tactic: math.exp(c.logprob) for c in found[0]}


async def test_both_are_in_it_and_it_sums_to_one() -> None:
    found = await mixed(Says(simp=0.75, omega=0.25), Says(omega=0.5, rfl=0.5), share=0.2)
    assert found == pytest.approx({"omega": 0.05 + 0.4, "rfl": 0.4, "simp": 0.15})
    assert list(found) == ["omega", "rfl", "simp"]


async def test_where_one_has_nothing_to_say_the_other_speaks_alone() -> None:
    assert await mixed(Says(), Says(rfl=1.0)) == pytest.approx({"rfl": 1.0})
    assert await mixed(Says(simp=1.0), Says()) == pytest.approx({"simp": 1.0})
    assert await mixed(Says(), Says()) == {}


async def test_the_model_is_asked_for_few_and_the_whole_is_cut() -> None:
    model, portfolio = Says(simp=0.6, omega=0.4), Says(rfl=0.9, decide=0.1)
    assert list(await mixed(model, portfolio, n=3)) == ["rfl", "simp", "omega"]
    await mixed(model, portfolio, n=32)
    assert [n for n, _, _ in model.asked] == [3, MODEL_CANDIDATES]
    assert [n for n, _, _ in portfolio.asked] == [3, 32]
    assert {asked[1:] for asked in model.asked + portfolio.asked} == {(0.0, 7)}


async def test_both_are_told_what_is_to_be_proved() -> None:
    mix = Mix(Says(simp=1.0), Says(rfl=1.0), Shares(0.3))
    about = mix.about(Theorem("named", Proposition("1 = 1")))
    ((candidate,),) = await about.propose([[GOAL]], 8, 0.0, 0)
    assert (candidate.tactic, about.shares.usual) == ("named", 0.3)
    assert {c.tactic for c in (await mix.propose([[GOAL]], 8, 0.0, 0))[0]} == {"simp", "rfl"}


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Mix(Says(), Says(), Shares(share))


async def test_a_kind_of_goal_has_a_share_of_its_own() -> None:
    equation = Goal("g", "1 + 1 = 2")
    shares = Shares(0.5, {kind_of(equation): 0.9})
    mix = Mix(Says(simp=1.0), Says(rfl=1.0), shares)
    found = await mix.propose([[GOAL], [equation]], 4, 0.0, 0)
    assert [{c.tactic: round(math.exp(c.logprob), 6) for c in one} for one in found] == [
        {"simp": 0.5, "rfl": 0.5},
        {"simp": 0.9, "rfl": 0.1},
    ]


def test_shares_are_kept_beside_a_model(tmp_path: Path) -> None:
    assert read_shares(tmp_path) == Shares() == read_shares(tmp_path / "model.gguf")
    shares = Shares(0.3, {"eq": 0.7, "forall": 0.1})
    write_shares(tmp_path, shares)
    assert read_shares(tmp_path) == shares
    for content in ("", "[]", '{"usual": 1.5}', '{"usual": 0.5, "odd": 1}', '{"kinds": {"eq": 0}}'):
        (tmp_path / MIXTURE).write_text(content)
        with pytest.raises(InputError, match=r"mixture\.json"):
            read_shares(tmp_path)

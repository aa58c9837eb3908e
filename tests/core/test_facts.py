"""Facts as trajectories keep them."""

import msgspec
import pytest

from burnqed.core.facts import (
    Data,
    Definition,
    Facts,
    Form,
    Known,
    Stated,
    facts_from_json,
    facts_to_json,
)
from burnqed.data.first_state import goal_of

TERM = (Form("term", 0, 1), Form("term", 4, 5))
TARGET = Stated(Form("eq", 0, 5, TERM), (1, 2), (Definition("f", 0, 1), Definition("g")))
EXISTS = Form("exists", 0, 9, (Form("type", apart="Nat"), Form("other", 4, 9)), "k")
FACTS = Facts(TARGET, (Known(data=Data("Nat", inductive=True)), Known(Stated(EXISTS))))


def test_facts_come_back() -> None:
    text = facts_to_json([FACTS, FACTS])
    assert text is not None
    assert facts_from_json(text) == (FACTS, FACTS)


def test_facts_that_are_not_all_known_are_not_kept() -> None:
    assert facts_to_json([FACTS, None]) is None
    assert facts_to_json([]) is None


@pytest.mark.parametrize(
    "text", ['[["eq"]]', '[{"target": 1}]', '[{"target": {"form": ["how"]}}]', "{"]
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        facts_from_json(text)


def test_a_goal_that_is_read_back_has_its_facts() -> None:
    state = "n : Nat\nh : ∃ k, k = n\n⊢ a = b"
    assert goal_of(state, facts_to_json([FACTS])).facts == FACTS
    assert goal_of(state).facts is None
    assert goal_of("⊢ a = b", facts_to_json([FACTS])).facts is None, "those of another goal"

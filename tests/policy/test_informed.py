"""A model that is shown lemmas: which ones, where, and the same in training as in a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from burnqed.core.types import Goal, Hypothesis, LibraryConstant, Theorem
from burnqed.policy.candidates import Sample
from burnqed.policy.informed import Informed, found_for
from burnqed.policy.prompt import PromptSettings, first_goal, prompt_ids, with_lemmas
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.retrieval import Retriever
from burnqed.policy.ranked.weights import untrained
from burnqed.policy.sampled import Request, SampledPolicy

LIBRARY = Library(
    ("Nat.gcd_comm", "Nat.add_comm", "List.length_map"),
    ("Numbers", "Numbers", "Lists"),
    (
        "∀ (m n : Nat), m.gcd n = n.gcd m",
        "∀ (n m : Nat), n + m = m + n",
        "∀ (as : List α) (f : α → β), (List.map f as).length = as.length",
    ),
    {"Numbers": (), "Lists": ()},
)
GOAL = Goal("g", "m.gcd n = n.gcd m", (Hypothesis("m", "Nat"), Hypothesis("n", "Nat")))
OTHER = Goal("h", "(List.map f as).length = as.length")


class Listens:
    """A sampler that remembers what it was shown."""

    settings = PromptSettings("colons", 200, 40, lemmas=2)
    concurrency, largest = 1, 8

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def sample(self, requests: Sequence[Request]) -> list[list[Sample]]:
        self.shown += [request.state for request in requests]
        return [[Sample("simp", -1.0, 2)] for _ in requests]

    async def check(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        return


class Bytes:
    """A tokenizer of which each byte is a token."""

    eos_token_id = 0

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": list(text.encode())}


def retriever() -> Retriever:
    return Retriever(LIBRARY, untrained())


async def test_a_model_sees_what_its_first_goal_may_need() -> None:
    listens = Listens()
    policy = Informed(SampledPolicy(listens), retriever(), 2)
    found = await policy.propose([[GOAL, OTHER], [OTHER]], 4, 0.0, 0)
    assert [[c.tactic for c in one] for one in found] == [["simp"], ["simp"]]
    lines = [shown.split("\n")[0].split() for shown in listens.shown]
    assert [line[:2] for line in lines] == [["lemmas:", "Nat.gcd_comm"], ["lemmas:", "List.length_map"]]
    assert all(len(line) == 3 for line in lines)
    assert listens.shown[0].split("\n", 1)[1] == f"{GOAL.text}\n\n{OTHER.text}"


async def test_a_theorem_is_not_among_its_own_lemmas() -> None:
    listens = Listens()
    policy = Informed(SampledPolicy(listens), retriever(), 2)
    itself = Theorem("Nat.gcd_comm", LibraryConstant("Nat.gcd_comm", "self"))
    await policy.about(itself).propose([[GOAL]], 4, 0.0, 0)
    assert "gcd_comm" not in listens.shown[0].split("\n")[0]
    assert "Nat.add_comm" in listens.shown[0]


def test_the_text_of_a_state_is_enough_to_find_the_same() -> None:
    """Training has no goals, only their text."""
    state = f"{GOAL.text}\n\n{OTHER.text}"
    assert first_goal(state) == GOAL.text
    assert found_for(state, retriever(), 1) == ["Nat.gcd_comm"]
    named = replace(GOAL, user_name="inl")
    assert found_for(named.text, retriever(), 1) == ["Nat.gcd_comm"]


def test_lemmas_are_the_first_to_go_from_a_long_prompt() -> None:
    shown = with_lemmas(GOAL.text, ["Nat.gcd_comm", "Nat.add_comm"])
    room = len(f"{GOAL.text}:::".encode())
    for settings, expected in (
        (PromptSettings("colons", 200, 40), shown),
        (PromptSettings("colons", room, 40), GOAL.text),
    ):
        said = bytes(prompt_ids(Bytes(), settings, shown)).decode()
        assert said == f"{expected}:::"
    assert with_lemmas(GOAL.text, []) == GOAL.text

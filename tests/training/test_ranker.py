"""What searches teach a ranker, and that it is learnt: lemmas for states, and what to try first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.errors import InputError
from burnqed.core.types import Goal, Hypothesis, state_text
from burnqed.data.first_state import goal_of
from burnqed.data.index import TheoremIndex, parse_index, statement_sha
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.retrieval import Retriever, Shared
from burnqed.policy.ranked.shapes import shape_row
from burnqed.policy.ranked.weights import WORD_ROWS, Weights, untrained
from burnqed.policy.ranked.words import bucket
from burnqed.search.tree import EARLY, SPENT
from burnqed.training.decisions import Decision, Lessons, read_lessons
from burnqed.training.order import Choice, learn_order, measured
from burnqed.training.pairs import Pair
from burnqed.training.plans import ORDER, RETRIEVAL
from burnqed.training.retrieval import Use, learn_retrieval, recall
from tests.training.lessons import Tried, run


def silent(problem: str) -> None:
    raise AssertionError(problem)


def never() -> bool:
    return False


def lessons(*runs: Path, without: tuple[TheoremIndex, ...] = ()) -> Lessons:
    return read_lessons(runs, without, silent)


# ------------------------------------------------------------------------------------- lessons

FIRST: Tried = {"simp": "rejected", "omega": "closed", "intro n": "advanced"}


def test_a_proved_theorem_teaches_what_worked(tmp_path: Path) -> None:
    found = lessons(run(tmp_path, {"t": ("⊢ a", FIRST), "not proved": ("⊢ b", {"simp": "advanced"})}))
    assert found.decisions == (
        Decision("t", "⊢ a", ("simp", "omega", "intro n"), frozenset({"omega"})),
    )
    assert found.steps == (Pair("⊢ a", "omega", "t", 0, found=True),)
    report = found.report
    assert (report["theorems"], report["held_out"], report["decisions"]) == (1, 0, 1)
    assert (report["tactics"], report["proof_steps"], report["runs"]) == (3, 1, [str(tmp_path)])


def test_what_several_runs_tried_at_a_state_is_joined(tmp_path: Path) -> None:
    one = run(tmp_path / "a", {"t": ("⊢ a", FIRST)})
    other = run(
        tmp_path / "b", {"t": ("⊢ a", {"omega": "rejected", "grind": "closed"})}, origin="noise"
    )
    failed = run(tmp_path / "c", {"t": ("⊢ a", {"decide": "rejected"})})
    found = lessons(one, other, failed)
    assert found.decisions == (
        Decision("t", "⊢ a", ("simp", "omega", "intro n", "grind"), frozenset({"omega", "grind"})),
    )
    assert found.report["theorems"] == 1
    assert {step.tactic for step in found.steps} == {"omega", "grind"}
    attempts = run(tmp_path / "eval" / "attempt-1", {"t": ("⊢ a", FIRST)})
    run(tmp_path / "eval" / "attempt-2", {"u": ("⊢ c", FIRST)})
    assert lessons(attempts.parent).report["theorems"] == 2, "of an evaluation, all attempts"


def test_what_was_lost_or_stopped_by_the_clock_is_no_evidence(tmp_path: Path) -> None:
    """The sample rows that time out were stopped after seconds, and not after heartbeats."""
    tried: Tried = {"simp": "lost", "grind": "timeout", "omega": "closed"}
    (decision,) = lessons(run(tmp_path, {"t": ("⊢ a", tried)})).decisions
    assert decision.tried == ("omega",)


def test_what_a_small_effort_stopped_is_no_evidence(tmp_path: Path) -> None:
    """But what all heartbeats stopped is."""
    tried: Tried = {"simp": "timeout", "grind": "timeout", "omega": "closed"}
    errors = {"simp": EARLY, "grind": SPENT}
    (decision,) = lessons(run(tmp_path, {"t": ("⊢ a", tried)}, errors=errors)).decisions
    assert decision.tried == ("grind", "omega")


def test_what_was_made_beside_a_search_teaches_nothing(tmp_path: Path) -> None:
    found = lessons(run(tmp_path, {"t": ("⊢ a", FIRST)}, origin="probe"))
    assert (found.decisions, found.steps, found.report["theorems"]) == ((), (), 0)


def test_held_out_theorems_teach_nothing(tmp_path: Path) -> None:
    """By their names, by the constants that they are, by what they state, and by their first goals."""
    entries = [
        {"name": "n", "statement": "1 = 1"},
        {"name": "x", "constant": "Lib.c"},
        {"name": "s", "statement": "∀ (k : Nat), k + 0 = k"},
        {"name": "other", "statement": "theorem other : 2 = 2"},
    ]
    held = parse_index("held", "held", {"theorems": entries})
    proved = {name: (f"⊢ {name}", FIRST) for name in ("n", "Lib.c", "w", "free")}
    proved["m"] = ("n : ℕ\n⊢ n + 0 = n", FIRST)
    made = run(tmp_path, proved, shas={"w": statement_sha(held.theorems[3].statement)})
    found = lessons(made, without=(held,))
    assert {one.theorem for one in found.decisions} == {one.theorem for one in found.steps} == {"free"}
    assert (found.report["theorems"], found.report["held_out"]) == (1, 4)
    assert lessons(made).report["theorems"] == 5


# ---------------------------------------------------------------------------- states from texts

LONG = " + ".join(f"number{i}" for i in range(20))
STATES = {
    "a target": Goal("", "p"),
    "a case": Goal("", "p", (Hypothesis("h", "q"),), "succ.h_1"),
    "a case without hypotheses": Goal("", "p", (), "left"),
    "names of one type": Goal("", "p", (Hypothesis("n", "Nat"), Hypothesis("m", "Nat"))),
    "hidden names": Goal(
        "", "p", (Hypothesis("n✝", "Nat", None, True), Hypothesis("inst✝¹", "Add α", None, True))
    ),
    "a target in lines": Goal("", "p ∧\n  q ∧\n    r", (Hypothesis("h", "q"),)),
    "a hypothesis in lines": Goal(
        "", "p", (Hypothesis("h", "p ∧\n  q ∧\n    r"), Hypothesis("k", "q"))
    ),
    "a long hypothesis": Goal("", "p", (Hypothesis("h", f"{LONG} = 0"),)),
    "a let": Goal("", "p", (Hypothesis("x", "Nat", "5"), Hypothesis("y", "Nat", "5"))),
    "a long let": Goal("", "p", (Hypothesis("x", "Nat", LONG), Hypothesis("y", "List Nat", "[\n  1]"))),
    "a let whose value has one": Goal("", "p", (Hypothesis("x", "Nat", "let y := 1;\ny + y"),)),
    "a type with a let": Goal("", "p", (Hypothesis("h", "let y := 1;\ny = 1"),)),
    "a type with a structure": Goal("", "p", (Hypothesis("h", "{ a := 1, b := 2 } = s"),)),
    "arrows": Goal("", "∀ (x : α), f x → ∃ y, y = x", (Hypothesis("f", "α → Prop"),)),
}


@pytest.mark.parametrize("goal", STATES.values(), ids=STATES)
def test_a_goal_is_read_back_from_its_text(goal: Goal) -> None:
    """All that rules look at, and not only the text: they must see what they saw in the search."""
    for state in (goal.text, state_text([goal, Goal("", "q", (), "right")])):
        assert goal_of(state).text == goal.text
        assert goal_of(state) == goal


WORDS = st.sampled_from(["p", "Nat", "a + b", "∀ (x : α), f x", "p →\n  q", "(fun x => x) = f", LONG])
NAMED = st.builds(
    lambda name, hidden, type, value: Hypothesis(f"{name}✝" if hidden else name, type, value, hidden),
    st.sampled_from(["n", "h'", "x₁", "ih"]), st.booleans(), WORDS, st.none() | WORDS,
)  # fmt: skip
SEEN = st.builds(
    Goal, st.just(""), WORDS, st.lists(NAMED, max_size=5).map(tuple), st.none() | st.just("inl.h")
)


@given(st.lists(SEEN, min_size=1, max_size=3))
def test_any_goal_is_read_back_from_its_text(goals: list[Goal]) -> None:
    assert goal_of(state_text(goals)) == goals[0]


@pytest.mark.parametrize("state", ["", "no goals", "n : Nat", "| a + b"])
def test_what_is_no_goal(state: str) -> None:
    with pytest.raises(InputError, match="no goal can be read"):
        goal_of(state)


# ---------------------------------------------------------------------------- learning of lemmas

# Half of the lemmas are about cats and half about dogs; states are about the sun and the moon.
COUNT = 40
KINDS = ["Cat" if i % 2 else "Dog" for i in range(COUNT)]
LIBRARY = Library(
    tuple(f"L{i}.{kind.lower()}" for i, kind in enumerate(KINDS)),
    ("M",) * COUNT,
    (
        *(f"∀ (x : {kind}), Big{i % 10} x" for i, kind in enumerate(KINDS[:-2])),
        "∀ (s : Sun), Shines s",
        "∀ (m : Moon), Shines m",
    ),
)
USES = [Use("⊢ Sun" if i % 2 else "⊢ Moon", (i,), None) for i in range(COUNT - 2)]
EFFORT = replace(RETRIEVAL, epochs=20, lr=5e-3)  # few uses, so larger steps


def kinds_found(weights: Weights, state: str) -> list[str]:
    found = Retriever(LIBRARY, weights).find(state)
    return [KINDS[one.place] for one in found if one.place < COUNT - 2][:10]


def test_it_is_learnt_which_lemmas_go_with_a_word() -> None:
    """State and lemma share no word; only proofs say that the sun needs cats."""
    shared = Shared.of(LIBRARY)
    weights = learn_retrieval(LIBRARY, shared, USES, EFFORT, never)
    assert kinds_found(weights, "⊢ Sun") == ["Cat"] * 10
    assert kinds_found(weights, "⊢ Moon") == ["Dog"] * 10
    assert set(kinds_found(untrained(), "⊢ Sun")) == {"Cat", "Dog"}
    plain, taught = (recall(Retriever(LIBRARY, w, shared), USES) for w in (untrained(), weights))
    assert plain["recall_16"] < 0.5 < 0.75 < taught["recall_16"]
    assert taught["recall_1"] <= taught["recall_4"] <= taught["recall_16"]
    again = learn_retrieval(LIBRARY, shared, USES, EFFORT, never)
    assert again.identity == weights.identity
    other = learn_retrieval(LIBRARY, shared, USES, replace(EFFORT, seed=1), never)
    assert other.identity != weights.identity


def test_a_theorem_is_not_held_against_what_it_needs() -> None:
    """What shares most words with its state is the theorem itself, which is not a lemma there.

    In a batch it may be what another state needs, and should not look the worse for it.
    """
    itself, shares = COUNT - 2, []
    for own in (None, itself):
        uses = [Use("⊢ Sun", (3,), own), Use("⊢ Cat", (itself,), None)] * 8
        taught = learn_retrieval(LIBRARY, Shared.of(LIBRARY), uses, EFFORT, never)
        found = Retriever(LIBRARY, taught).find("⊢ Sun")
        shares += [one.strength for one in found if one.place == itself]
    assert shares[0] < 1.5 * shares[1] < 0


def test_of_nothing_nothing_is_learnt() -> None:
    shared = Shared.of(LIBRARY)
    assert learn_retrieval(LIBRARY, shared, [], EFFORT, never).identity == untrained().identity
    assert recall(Retriever(LIBRARY, untrained(), shared), []) == {}


def test_it_ends_when_it_is_told_to() -> None:
    heard: list[bool] = []

    def told() -> bool:
        heard.append(True)
        return len(heard) == 2

    learn_retrieval(LIBRARY, Shared.of(LIBRARY), USES, EFFORT, told)
    learn_order(untrained(), [choice("simp", "omega", works=1)], [], ORDER, lambda: True)
    assert len(heard) == 2


# ------------------------------------------------------------------------- learning of the order


def choice(*tactics: str, works: int, word: str = "Nat") -> Choice:
    """Tactics that rules put in this order, of which one works at a state with this word."""
    return Choice(
        [(bucket(word, WORD_ROWS), 1.0)],
        np.array([shape_row(tactic) for tactic in tactics]),
        np.array([-float(i) for i in range(len(tactics))], dtype=np.float32),
        np.zeros(len(tactics), dtype=np.float32),
        np.array([i == works for i in range(len(tactics))]),
    )


def test_what_works_comes_first() -> None:
    choices = [choice("simp", "decide", "omega", works=2), choice("omega", "simp", works=0)] * 20
    weights, epoch = learn_order(untrained(), choices, choices[:2], ORDER, never)
    assert 0 < epoch <= 40
    before, after = measured(untrained(), choices), measured(weights, choices)
    assert (before["top1"], after["top1"]) == (0.5, 1.0)
    assert after["loss"] < before["loss"]
    assert before["top4"] == after["top4"] == 1.0
    again, _ = learn_order(untrained(), choices, choices[:2], ORDER, never)
    assert again.identity == weights.identity


def test_what_works_may_depend_on_the_state() -> None:
    sun = [choice("simp", "omega", works=0, word="Sun")] * 20
    moon = [choice("simp", "omega", works=1, word="Moon")] * 20
    weights, _ = learn_order(untrained(), [*sun, *moon], [sun[0], moon[0]], ORDER, never)
    assert measured(weights, [sun[0], moon[0]])["top1"] == 1.0


def test_what_only_makes_it_worse_is_not_kept() -> None:
    """What validates says the contrary of what is learnt from: the order stays as it was."""
    choices = [choice("simp", "omega", works=1)] * 20
    checks = [choice("simp", "omega", works=0)] * 5
    begin = replace(untrained(), scale=np.full(1, 3.0, dtype=np.float32))
    weights, epoch = learn_order(begin, choices, checks, ORDER, never)
    assert epoch == 0
    assert measured(weights, checks) == measured(untrained(), checks)
    assert weights.scale == begin.scale, "what was learnt before about lemmas is still there"
    _, last = learn_order(begin, choices, [], replace(ORDER, epochs=3), never)
    assert last == 3, "with nothing to choose by, the last"

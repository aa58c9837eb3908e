"""Rules and lemmas in one order: which lemmas are found, which may not be, and what is proposed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from burnqed.core.types import (
    Candidate,
    FileHole,
    Goal,
    Hypothesis,
    LibraryConstant,
    Negation,
    Proposition,
    Statement,
    Theorem,
    Unreadable,
)
from burnqed.policy.portfolio import Portfolio
from burnqed.policy.ranked.library import Library
from burnqed.policy.ranked.policy import Ranked, doubt, strength
from burnqed.policy.ranked.retrieval import CONSIDERED, Retriever, strength_of
from burnqed.policy.ranked.shapes import lemmas_in, shape_of, shape_row
from burnqed.policy.ranked.tactics import pick
from burnqed.policy.ranked.weights import Weights, untrained
from burnqed.policy.ranked.words import bucket, words_of, words_of_name

LEMMAS_OF = {
    "List.length_append": ("Base", "∀ (as bs : List α), (as ++ bs).length = as.length + bs.length"),
    "List.length_map": ("Base", "∀ (as : List α) (f : α → β), (List.map f as).length = as.length"),
    "Nat.gcd_comm": ("Numbers", "∀ (m n : Nat), m.gcd n = n.gcd m"),
    "Nat.add_comm": ("Numbers", "∀ (n m : Nat), n + m = m + n"),
    "Top.gcd_length": ("Top", "∀ (as : List α) (n : Nat), as.length.gcd n = n.gcd as.length"),
    "Aside.zero": ("Aside", "∀ (n : Nat), 0 ≤ n"),
}
LIBRARY = Library(
    tuple(LEMMAS_OF),
    tuple(module for module, _ in LEMMAS_OF.values()),
    tuple(statement for _, statement in LEMMAS_OF.values()),
    {"Top": ("Numbers",), "Numbers": ("Base",), "Base": (), "Aside": ("Base",)},
)
EMPTY = Library((), (), ())
GOALS = [
    Goal("g", "m.gcd n = n.gcd (m + n)", (Hypothesis("m", "Nat"), Hypothesis("n", "Nat"))),
    Goal("g", "∀ (p q : Prop), p ∧ q → q ∨ False", (), "right"),
    Goal(
        "g", "∃ k, xs.length = 2 * k", (Hypothesis("xs", "List Nat"), Hypothesis("h✝", "p", None, True))
    ),
]


def many(count: int) -> Library:
    """As many lemmas about words of their own as there are."""
    numbers = range(count)
    statements = tuple(f"∀ (n : Nat), Word{i} n = Word{i + 1} n" for i in numbers)
    return Library(tuple(f"lemma{i}" for i in numbers), ("M",) * count, statements)


def retriever(library: Library = LIBRARY, weights: Weights | None = None) -> Retriever:
    return Retriever(library, weights or untrained())


def ranked(library: Library = LIBRARY, weights: Weights | None = None) -> Ranked:
    return Ranked(retriever(library, weights), weights or untrained())


def found(state: str, weights: Weights | None = None, without: tuple[int, ...] = ()) -> list[str]:
    return [LIBRARY.names[one.place] for one in retriever(weights=weights).find(state, without)]


# --------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("List.map f as", ["List.map", ".map"]),
        ("xs.length", [".length"]),
        ("xs.tail.length", [".tail", ".length"]),
        ("(xs ++ ys).length", ["++", "length"]),  # behind a bracket it is a word of its own
        ("p.1.foo", [".foo"]),
        ("α.foo", [".foo"]),
        ("a % 2 ∣ b", ["%", "2", "∣"]),
        ("xs[i]? ", ["]?"]),
        ("∀ (n : Nat), n = n", ["Nat"]),
        ("h✝ : p✝\n⊢ fun x => x", []),
        ("inst✝ : instAdd = f", []),
        ("case succ\nn : Nat\n⊢ n.succ ≠ 0", ["succ", "Nat", ".succ", "≠", "0"]),
        ("", []),
    ],
)
def test_words_are_what_constants_are_called(text: str, words: list[str]) -> None:
    """Variables and what is in every goal say nothing, but functions behind their dots do."""
    assert words_of(text) == words


def test_words_of_a_name_are_none_of_a_text() -> None:
    assert words_of_name("List.length_map'") == ["name:List", "name:length", "name:map'"]
    assert not set(words_of_name("Nat")) & set(words_of("Nat"))


@given(st.text())
def test_rows_are_inside_their_table_and_always_the_same(word: str) -> None:
    assert 0 <= bucket(word, 7) < 7
    assert bucket(word, 7) == bucket.__wrapped__(word, 7)


# ----------------------------------------------------------------------------------- retrieval


def test_the_lemma_that_shares_rare_words_comes_first() -> None:
    assert found("m n : Nat\n⊢ m.gcd n = n.gcd m")[0] == "Nat.gcd_comm"
    assert found("xs ys : List Nat\n⊢ (xs ++ ys).length = 3")[0] == "List.length_append"
    assert found("⊢ (List.map g xs).length = 3")[0] == "List.length_map"


def test_what_is_learnt_changes_the_order() -> None:
    """A state about `gcd` has nothing of a lemma about `≤`, until it was learnt that it needs it."""
    state = "⊢ m.gcd n = n.gcd m"
    weights = untrained()
    weights.asking[bucket(".gcd", len(weights.asking)), 0] = 30.0
    weights.offering[bucket("≤", len(weights.offering)), 0] = 30.0
    assert found(state)[0] == "Nat.gcd_comm"
    assert found(state, weights)[0] == "Aside.zero"


@pytest.mark.parametrize("state", ["⊢ m.gcd n = 0", "⊢ nothing that it knows", ""])
def test_strengths_are_shares_of_what_was_considered(state: str) -> None:
    for without in ((), (0, 3)):
        shares = retriever().find(state, without)
        assert sum(math.exp(one.strength) for one in shares) == pytest.approx(1, abs=1e-4)
        assert [one.strength for one in shares] == sorted((s.strength for s in shares), reverse=True)
        assert {one.place for one in shares} == set(range(len(LEMMAS_OF))) - set(without)
    few = retriever(many(500)).find("⊢ Word3 n = 1")
    assert len(few) == CONSIDERED
    assert few[0].place in (2, 3)
    assert sum(math.exp(one.strength) for one in few) == pytest.approx(1, abs=1e-4)


def test_nothing_is_found_where_nothing_is_left() -> None:
    assert retriever().find("⊢ m.gcd n = 0", range(len(LEMMAS_OF))) == []
    assert retriever(EMPTY).find("⊢ m.gcd n = 0") == []


def test_several_lemmas_have_their_shares_together() -> None:
    lemmas = retriever()
    shares = lemmas.find("⊢ m.gcd n = 0")
    places = [one.place for one in shares]
    assert strength_of(places[:1], shares) == pytest.approx(shares[0].strength)
    assert strength_of(places, shares) == pytest.approx(0, abs=1e-4)
    assert strength_of([*places[:2], places[0]], shares) == strength_of(places[:2], shares)
    named = [LIBRARY.names[place] for place in places]
    assert strength(f"simp [{named[0]}, {named[1]}]", lemmas, shares) == strength_of(places[:2], shares)
    assert strength("simp [other]", lemmas, shares) == 0
    assert strength_of([places[-1]], shares[:2]) == pytest.approx(shares[1].strength), "as the last"


# ----------------------------------------------------------------------------------- forbidden


def forbidden(statement: Statement, name: str = "t") -> set[str]:
    return {LIBRARY.names[place] for place in LIBRARY.forbidden(Theorem(name, statement))}


def test_what_a_proof_may_not_use() -> None:
    everything = set(LEMMAS_OF)
    assert forbidden(LibraryConstant("Nat.gcd_comm", "self")) == {"Nat.gcd_comm"}
    own_module = LibraryConstant("Nat.gcd_comm", "module")
    base = {"List.length_append", "List.length_map"}
    assert forbidden(own_module) == everything - base, "its own module, and what it does not import"
    assert forbidden(Negation(own_module)) == everything - base
    through = LibraryConstant("Top.gcd_length", "module")
    assert forbidden(through) == {"Top.gcd_length", "Aside.zero"}, "imports of imports are below it"
    assert forbidden(LibraryConstant("List.length_map", "module")) == everything


@pytest.mark.parametrize(
    "statement",
    [
        Proposition("∀ n : Nat, n = n"),
        Negation(Proposition("1 = 2")),
        FileHole("theorem t : 1 = 1 := sorry", 0),
        Unreadable("nobody could"),
        LibraryConstant("No.such_lemma"),
    ],
)
def test_what_is_no_lemma_of_the_library_may_use_all(statement: Statement) -> None:
    """Also where it has the name of one."""
    assert forbidden(statement, "Nat.gcd_comm") == set()


def test_modules_that_import_each_other_end() -> None:
    """No Lean has such, but a cached file might say so."""
    circle = replace(LIBRARY, imports={"Top": ("Numbers",), "Numbers": ("Top",)})
    assert circle.forbidden(Theorem("t", LibraryConstant("Nat.gcd_comm"))) == {0, 1, 5}


# -------------------------------------------------------------------------------------- shapes


@pytest.mark.parametrize(
    ("tactic", "shape"),
    [
        ("simp [a]", "simp [•]"),
        ("simp [a, b, c]", "simp [••••]"),
        ("simp [a, b, c, d] at h", "simp [••••] at _"),
        ("simp [a, b, c, d, e]", "simp [••••••••]"),
        ("rw [← List.map_map]", "rw [←•]"),
        ("exact?", "exact?"),
        ("exact Nat.le_of_lt h", "exact?"),
        ("exact Nat.le_of_lt ..", "exact _ .."),
        ("first | exact a .. | exact b.c .. | exact d ..", "first | exact _ .."),
        ("intros; first | exact a ..", "intros; first | exact _ .."),
        ("first | omega | simp", "first | omega | simp"),
        ("cases xs", "cases _"),
        ("induction n generalizing m k <;> simp_all", "induction _ generalizing _ <;> simp_all"),
        ("exists 12", "exists #"),
        ("  omega\n", "omega"),
    ],
)
def test_the_shape_of_a_tactic(tactic: str, shape: str) -> None:
    assert shape_of(tactic) == shape


def test_lemmas_that_a_tactic_names() -> None:
    tactic = "simp [Nat.add_comm, ← List.length_map, other, Nat.add_comm] <;> exact Nat.gcd_comm .."
    assert lemmas_in(tactic, LIBRARY.places) == ["Nat.add_comm", "List.length_map", "Nat.gcd_comm"]
    assert lemmas_in("exact Nat.add_comm_of foo.Nat.add_comm", LIBRARY.places) == []


# ------------------------------------------------------------------------------------- propose


async def proposed(
    policy: Ranked | Portfolio, n: int = 32, warmth: float = 0.0, seed: int = 0
) -> list[list[Candidate]]:
    return await policy.propose([[goal] for goal in GOALS], n, warmth, seed)


@pytest.mark.parametrize("warmth", [0.0, 1.0])
async def test_untrained_and_without_lemmas_it_is_the_portfolio(warmth: float) -> None:
    plain = await proposed(Portfolio(), 1000, warmth)
    own = await proposed(ranked(EMPTY), 1000, warmth)
    assert [[c.tactic for c in one] for one in own] == [[c.tactic for c in one] for one in plain]
    for ours, theirs in zip(own, plain, strict=True):
        assert [c.logprob for c in ours] == pytest.approx([c.logprob for c in theirs], abs=1e-4)


@pytest.mark.parametrize("warmth", [0.0, 1.2])
async def test_a_proposal_is_a_distribution(warmth: float) -> None:
    policy = ranked()
    for n in (1, 5, 32, 1000):
        for candidates in await proposed(policy, n, warmth):
            assert 0 < len(candidates) <= n
            assert len({c.tactic for c in candidates}) == len(candidates)
            assert all(c.logprob <= 0 for c in candidates)
            if n == 1000:
                assert sum(math.exp(c.logprob) for c in candidates) == pytest.approx(1, abs=1e-4)
    assert await proposed(ranked(), 20, warmth, 3) == await proposed(policy, 20, warmth, 3)
    assert (await proposed(policy, 20, warmth, 4) != await proposed(policy, 20, warmth, 3)) == (
        warmth > 0
    )


async def test_rules_and_lemmas_are_both_in_it() -> None:
    plain, own = await proposed(Portfolio(), 1000), await proposed(ranked(), 1000)
    for rules, both in zip(plain, own, strict=True):
        tactics = {c.tactic for c in both}
        assert {c.tactic for c in rules} < tactics
        assert any(lemmas_in(tactic, LIBRARY.places) for tactic in tactics)
    assert any(c.tactic == "apply Nat.gcd_comm" for c in own[0])
    assert any(c.tactic.startswith("intros; first | exact ") for c in own[1])


async def test_a_forbidden_lemma_is_never_named() -> None:
    policy, whole = ranked(), await proposed(ranked(), 1000)
    for constant in (
        LibraryConstant("Nat.gcd_comm", "self"),
        LibraryConstant("Nat.gcd_comm", "module"),
        LibraryConstant("Aside.zero", "module"),
    ):
        theorem = Theorem("t", constant)
        own = await proposed(policy.about(theorem), 1000)
        wrong = forbidden(theorem.statement)
        assert wrong
        named = {x for one in own for c in one for x in lemmas_in(c.tactic, LIBRARY.places)}
        assert named == set(LEMMAS_OF) - wrong
    assert await proposed(policy, 1000) == whole, "the policy itself is as it was"
    assert policy.about(Theorem("t", Proposition("1 = 1"))) is policy
    nothing = policy.about(Theorem("t", LibraryConstant("List.length_map")))
    left, rules = await proposed(nothing, 1000), await proposed(ranked(EMPTY), 1000)
    assert [[c.tactic for c in one] for one in left] == [[c.tactic for c in one] for one in rules]


async def test_what_is_learnt_about_a_shape_decides_what_is_first() -> None:
    weights = untrained()
    weights.bias[shape_row("apply x")] = 20.0
    (first, *_), *_ = await proposed(ranked(weights=weights))
    assert first.tactic == "apply Nat.gcd_comm", "of one shape, the one that the rules have first"
    weights.trust[shape_row("apply x")] = -20.0
    (first, *_), *_ = await proposed(ranked(weights=weights))
    assert first.tactic.startswith("apply ")
    assert first.tactic != "apply Nat.gcd_comm", "where strength counts against it, a weaker lemma"


async def test_what_is_learnt_about_words_decides_at_states_that_have_them() -> None:
    weights = untrained()
    weights.reading[bucket(".gcd", len(weights.reading)), 0] = 10.0
    weights.shapes[shape_row("ac_rfl"), 0] = 10.0
    gcd, _, other = await proposed(ranked(weights=weights))
    assert gcd[0].tactic == "ac_rfl"
    assert other[0].tactic != "ac_rfl"


async def test_rules_decide_where_the_library_has_no_words() -> None:
    weights = untrained()
    weights.bias[shape_row("ac_rfl")] = 20.0
    policy = ranked(weights=weights)
    known, own = Goal("g", "n.gcd m = m"), Goal("g", "glorp n = blick m")
    assert doubt(Counter(words_of(known.text)), policy._retriever.shared.rarity) < 0.5
    (learnt, *_), (by_rule, *_) = await policy.propose([[known], [own]], 8, 0.0, 0)
    (portfolio, *_) = (await Portfolio().propose([[own]], 8, 0.0, 0))[0]
    assert learnt.tactic == "ac_rfl"
    assert by_rule.tactic == portfolio.tactic != "ac_rfl"


def test_doubt_rises_with_what_is_not_known() -> None:
    shares = [doubt(Counter("abcdefgh"), "abcdefgh"[:known]) for known in range(9)]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[-1] < shares[-2] < shares[0] < 1
    assert doubt(Counter(), ()) == shares[-1], "of nothing nothing is unknown"


async def test_only_so_many_lemmas_are_named() -> None:
    (candidates,) = await ranked(many(300)).propose([[Goal("g", "Word7 n = 1")]], 1000, 0.0, 0)
    named = {x for c in candidates for x in lemmas_in(c.tactic, many(300).places)}
    assert len(named) == 8  # all of one namespace
    assert {"lemma6", "lemma7"} <= named


NAMES = st.text(min_size=1, max_size=6)
ODD = st.text() | st.text("∀∃λ(){}[]⟨⟩,.:|✝¹→↔=∧⊢ \nxN0²'?!←", max_size=40)
HYPOTHESES = st.builds(Hypothesis, NAMES, ODD, st.none() | ODD, st.booleans())
GOAL = st.builds(Goal, st.just(""), ODD, st.lists(HYPOTHESES, max_size=4).map(tuple), st.none() | NAMES)
POLICY = ranked()


@given(GOAL)
@example(Goal("g", "", (Hypothesis("", ""),)))
@example(Goal("g", "..", (Hypothesis(".", "a..b.:="),)))
@settings(max_examples=150, deadline=None)
async def test_no_goal_is_too_odd(goal: Goal) -> None:
    """What is proposed may be nonsense; an exception would end the search."""
    (candidates,) = await POLICY.propose([[goal]], 64, 0.0, 0)
    tactics = [c.tactic for c in candidates]
    assert len(set(tactics)) == len(tactics)
    assert np.isfinite([c.logprob for c in candidates]).all()


def test_lemmas_of_other_namespaces_are_picked_as_well() -> None:
    """Each namespace once, beside the strongest; those of the first few are not other ones."""
    names = [f"Map.a{i}" for i in range(10)] + ["Set.b", "Set.c", "Tree.Impl.d", "Map.e", "f"]
    picked = pick(names)
    assert picked.near == tuple(names[:8])
    assert picked.abroad == ("Set.b", "Tree.Impl.d", "f")
    assert pick([]).near == () == pick([]).abroad


async def test_grind_is_given_what_it_can_use_and_others_are_given_all() -> None:
    """A lemma without a pattern would take the whole list with it."""
    spoils = frozenset({"Nat.add_comm"})
    library = replace(LIBRARY, unusable=spoils)
    goal = Goal("g", "a + b = b + a", (Hypothesis("a", "Nat"), Hypothesis("b", "Nat")))
    (plain,) = await ranked(LIBRARY).propose([[goal]], 1000, 0.0, 0)
    (told,) = await ranked(library).propose([[goal]], 1000, 0.0, 0)

    def lists(candidates: list[Candidate], tactic: str) -> list[str]:
        return [c.tactic for c in candidates if f"{tactic} [" in c.tactic and "Nat." in c.tactic]

    assert any("Nat.add_comm" in one for one in lists(plain, "grind"))
    assert lists(told, "grind")
    assert not any("Nat.add_comm" in one for one in lists(told, "grind"))
    assert lists(told, "simp_all") == lists(plain, "simp_all")
    assert any("Nat.add_comm" in one for one in lists(told, "simp_all"))
    assert library.identity != LIBRARY.identity

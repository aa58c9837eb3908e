"""Where two searches part: the first thing that differs, and the reason that is given for it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from burnqed.core.ports import Value
from burnqed.core.types import Goal, Rejected, TimedOut
from burnqed.lean.fake import Script, Scripted
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget
from burnqed.search.scoring import Scoring
from burnqed.trajectories.record import Provenance, rows_of
from burnqed.trajectories.schema import StepRow
from burnqed.web.parting import Parting, parting
from burnqed.web.sides import Side
from tests.search.problems import BySize, ScriptedPolicy, search
from tests.web.samples import Tried, forest, rows_and_record

SCRIPT: Script = {
    "p ∧ q": {"constructor": ("p", "q"), "left": Rejected("no", "tactic"), "swap": ("q ∧ p",)},
    "q ∧ p": {"left": Rejected("no", "tactic"), "symm": ("p ∧ q'",)},
    "p": {"exact hp": (), "simp": Rejected("no progress", "tactic")},
    "q": {"exact hq": ()},
}
Says = Mapping[str, Mapping[str, float]]
LIKELY: Says = {
    "p ∧ q": {"constructor": -1, "left": -1.5, "swap": -2.0},
    "q ∧ p": {"left": -1, "symm": -2},
    "p": {"exact hp": -1, "simp": -2},
    "q": {"exact hq": -1.1},
}


def side(
    says: Says | None = None,
    script: Script = SCRIPT,
    root: str = "p ∧ q",
    nodes: int = 100,
    value: Value | None = None,
    settings: Settings | None = None,
) -> Side:
    """A search, as a run keeps it."""
    policy = ScriptedPolicy({**LIKELY, **(says or {})}, {})
    budget = Budget(nodes=nodes, candidates=100)
    found, _ = asyncio.run(search(script, root, policy, budget, settings, value=value))
    tree = found.tree
    record, _ = rows_and_record(Tried("t", root, script, nodes=nodes), "run")
    ended = ("proved", "") if tree.proved else ("exhausted", str(found.limit))
    kept = replace(record, outcome=ended[0], reason=ended[1])  # type: ignore[arg-type]
    return Side(kept, rows_of(tree, "t", tree.proved, Provenance("run")))


def told(found: Parting) -> list[str]:
    return ["".join(text for _, text in sentence) for sentence in found.why]


def test_two_searches_that_did_the_same_do_not_part() -> None:
    found = parting(side(), side())
    assert (found.kind, found.alike, found.here, found.there) == ("same", 3, None, None)
    assert told(found) == [
        "Both did the same: the same states in the same order, with the same tactics and outcomes."
    ]
    assert found.pairs == [(node, node) for node in range(4)]


def test_the_judge_may_differ_where_the_search_does_not() -> None:
    here, there = side(), side()
    there.record = replace(there.record, outcome="error", reason="refused")
    assert told(parting(here, there))[1:] == [
        "But here the judge accepted a proof, and there it ended with an error (refused)."
    ]


def test_another_tactic_was_tried_first() -> None:
    found = parting(side(), side({"p": {"exact hp": -3, "simp": -2}}))
    assert (found.kind, found.alike, found.here, found.there) == ("order", 1, 1, 1)
    assert told(found)[:4] == [
        "The first visit was to the same state, with the same tactics and outcomes.",
        "They part at state 1.",
        "exact hp was tried before simp here, and after it there.",
        "Their log-probabilities are -1.000 and -2.000 here, -3.000 and -2.000 there.",
    ]
    assert [piece for piece in found.why[2] if piece[0]] == [("code", "exact hp"), ("code", "simp")]
    places = [(t.here.place, t.there.place) for t in found.tactics if t.here and t.there]
    assert places == [(1, 2), (2, 1)]
    assert all(tactic.differs for tactic in found.tactics)


def test_equally_likely_tactics_have_no_order_of_their_own() -> None:
    here = side({"p": {"exact hp": -1, "simp": -1}})
    rows = [row for _, rows in here.expansions for row in rows]
    first, second = (row for row in rows if row.node == 1)
    turned = [replace(first, seconds=second.seconds), replace(second, seconds=first.seconds)]
    found = parting(here, Side(here.record, [row for row in rows if row.node != 1] + turned[::-1]))
    assert found.kind == "order"
    assert "Both are equally likely, here and there: the order among such is the policy's own." in told(
        found
    )


def test_a_tactic_was_missing() -> None:
    short = {"p ∧ q": {"left": -1.5, "swap": -2.0}}
    found = parting(side(), side(short))
    assert (found.kind, found.alike, found.here) == ("tactic", 0, 0)
    assert told(found)[:2] == [
        "They part at state 0.", "constructor was tried here, and not there.",
    ]  # fmt: skip
    one = found.tactics[0]
    assert (one.there, one.differs) == (None, True)
    assert one.here
    assert (one.here.outcome, one.here.states) == ("advanced", 2)
    other = parting(side(short), side())
    assert told(other)[1] == "constructor was tried there, and not here."
    assert [t.tactic[0][1] for t in other.tactics] == ["constructor", "left", "swap"]


def test_what_was_not_tried_because_the_state_was_closed() -> None:
    """Tactics go to Lean six at a time; those after the six that close a state are not tried."""
    many = {f"rw [h{n}]": -0.1 * n for n in range(1, 8)}
    refused: dict[str, Scripted] = {name: Rejected("no", "tactic") for name in many}
    script: Script = {**SCRIPT, "q": {"exact hq": (), **refused}}
    found = parting(
        side({"q": {"exact hq": -9, **many}}, script), side({"q": {"exact hq": -0.01, **many}}, script)
    )
    assert found.kind == "order"
    found = parting(side({"q": {"rw [h1]": -0.1}}, script), side({"q": {"exact hq": -0.01}}, script))
    assert told(found)[2:6] == [
        "rw [h1] was tried here, and not there.",
        "There exact hq closed the state, and what would have come after it was not tried.",
        "exact hq was tried there, and not here.",
        "Of the states that were expanded, 3 are in both trees, 1 only here and 0 only there.",
    ]


def visits(*tactics: str) -> Side:
    """A search whose root is visited till these were tried, the last of which closes it."""
    first = side().row(0)
    rows = [
        replace(
            first, tactic=tactic, seconds=float(at), children=(), error="",
            outcome="closed" if at == len(tactics) else "timeout",
        )
        for at, tactic in enumerate(tactics, 1)
    ]  # fmt: skip
    return Side(side().record, rows)


@pytest.mark.parametrize(
    ("mine", "yours", "table", "words"),
    [
        (
            ("a", "b", "a"), ("a", "b"),
            [("a", 1, 1, False), ("b", 2, 2, True), ("a", 3, None, True)],
            "b timed out here; there it closed the state.",
        ),
        (
            ("a", "b", "a", "d"), ("a", "b", "c", "a", "d"),
            [("a", 1, 1, False), ("b", 2, 2, False), ("c", None, 3, True), ("a", 3, 4, False),
             ("d", 4, 5, False)],
            "c was tried there, and not here.",
        ),
        (
            ("a", "b", "a", "d"), ("a", "b", "d"),
            [("a", 1, 1, False), ("b", 2, 2, False), ("a", 3, None, True), ("d", 4, 3, False)],
            "a was tried again here, and not there.",
        ),
        (
            ("a", "b", "a", "c", "d"), ("a", "b", "c", "a", "d"),
            [("a", 1, 1, False), ("b", 2, 2, False), ("a", 3, 4, True), ("c", 4, 3, True),
             ("d", 5, 5, False)],
            "a was tried again before c here, and after it there.",
        ),
    ],
)  # fmt: skip
def test_a_tactic_is_tried_again_after_a_small_effort(
    mine: Sequence[str],
    yours: Sequence[str],
    table: list[tuple[str, int | None, int | None, bool]],
    words: str,
) -> None:
    def told_of(found: Parting, turned: bool = False) -> list[tuple[str, int | None, int | None, bool]]:
        rows = []
        for tactic in found.tactics:
            one, other = (tried.place if tried else None for tried in (tactic.here, tactic.there))
            name = "".join(text for _, text in tactic.tactic)
            rows.append((name, *((other, one) if turned else (one, other)), tactic.differs))
        return rows

    here, there = visits(*mine), visits(*yours)
    found, back = parting(here, there), parting(there, here)
    assert told_of(found) == table
    assert sorted(told_of(back, turned=True), key=str) == sorted(table, key=str)
    assert words in told(found)


def test_a_try_that_led_on_counts_whichever_it_was() -> None:
    rows = [row for _, rows in side().expansions for row in rows]
    first = next(row for row in rows if row.tactic == "constructor")
    stopped = replace(first, seconds=0.0, outcome="timeout", children=())
    whole = Side(side().record, rows)
    for again in ([stopped, *rows], [*rows, stopped]):
        found = parting(Side(side().record, again), whole)
        assert found.pairs == [(node, node) for node in range(4)]


@pytest.mark.parametrize(
    ("outcome", "became"),
    [
        (Rejected("no", "tactic"), "closed the state here; there it was rejected."),
        (TimedOut(1.0, deterministic=True), "closed the state here; there it timed out."),
        (("r", "s"), "closed the state here; there it led to 2 states."),
        (("r",), "closed the state here; there it led to one state."),
    ],
)
def test_a_tactic_had_another_outcome(outcome: object, became: str) -> None:
    other: Script = {**SCRIPT, "p": {"exact hp": outcome, "simp": Rejected("no", "tactic")}}  # type: ignore[dict-item]
    found = parting(side(), side(script=other))
    assert (found.kind, found.alike, found.here) == ("outcome", 1, 1)
    assert told(found)[2] == f"exact hp {became}"
    assert [tactic.differs for tactic in found.tactics] == [True, False]


def test_a_tactic_left_other_goals() -> None:
    other: Script = {**SCRIPT, "p ∧ q": {"constructor": ("p", "r")}, "r": {"exact hq": ()}}
    fewer: Script = {**SCRIPT, "p ∧ q": {"constructor": ("p",)}}
    says: Says = {"p ∧ q": {"constructor": -1}, "r": {"exact hq": -1.1}}
    found = told(parting(side(says), side(says, other)))
    assert found[1] == "constructor led to other goals here than there."
    found = told(parting(side(says), side(says, fewer)))
    assert found[1] == "constructor led to 2 states here; there it led to one state."


def test_a_state_came_earlier_by_its_log_probability() -> None:
    found = parting(side(), side({"p ∧ q": {"constructor": -2.5, "left": -2.6, "swap": -2.8}}))
    assert found.kind == "same", "other figures alone are no parting"
    likely: Says = {"p ∧ q": {"constructor": -1, "left": -1.2, "swap": -1.3}, "p": {"simp": -1}}
    unlikely: Says = {**likely, "p ∧ q": {"constructor": -1, "left": -1.2, "swap": -3}}
    deep: Script = {**SCRIPT, "p": {"simp": ("p'",)}, "p'": {"exact hp": ()}}
    says: Says = {"p'": {"exact hp": -5}}
    found = parting(side({**unlikely, **says}, deep), side({**likely, **says}, deep))
    assert found.kind == "state"
    mine, yours = found.choices
    assert (found.here, found.there) == (mine.here, yours.there)
    assert told(found)[1].startswith("The next to be expanded was state 4 here, and state 3 there.")
    assert told(found)[2] == "There state 4 came later, as number 5."
    assert "The better score comes first:" in told(found)[4]
    assert told(found)[5] == "swap at state 0 has log-probability -3.000 here and -1.300 there."


def test_a_state_came_earlier_by_its_energy() -> None:
    class ByLetter:
        async def energies(self, root: Sequence[Goal], states: Sequence[Sequence[Goal]]) -> list[float]:
            return [9.0 if goals[0].target == "p" else 1.0 for goals in states]

    weighed = Settings(scoring=Scoring(energy_weight=2.0))
    found = parting(
        side(value=BySize(), settings=weighed),
        side(value=ByLetter(), settings=weighed),
    )
    assert (found.kind, found.alike, found.here, found.there) == ("state", 1, 1, 2)
    assert "State 1 has energy 1.000 here and 9.000 there." in told(found)
    plain = parting(side(), side(value=ByLetter(), settings=weighed))
    assert "A value model weighed the states there, and none did here." in told(plain)


def test_the_settings_weigh_the_same_figures_differently() -> None:
    says: Says = {"p ∧ q": {"constructor": -1, "swap": -1.9}, "p": {"simp": -1.5}, "p'": {"simp": -1}}
    deep: Script = {**SCRIPT, "p": {"simp": ("p'",)}, "p'": {"simp": Rejected("no", "tactic")}}
    mean = Settings(scoring=Scoring(length_power=1.0))
    total = Settings(scoring=Scoring(length_power=0.0))
    found = parting(side(says, deep, nodes=4, settings=mean), side(says, deep, nodes=4, settings=total))
    assert found.kind == "state"
    same = "Energies and log-probabilities are the same: settings weigh them differently."
    assert same in told(found)


def test_one_search_was_over() -> None:
    found = parting(side(nodes=2), side())
    assert (found.kind, found.alike, found.here, found.there) == ("end", 2, None, 2)
    assert told(found) == [
        "The first 2 visits were to the same states, with the same tactics and outcomes.",
        "Then the search here was over: it found no proof (nodes). The other went on with state 2.",
        "Of the states that were expanded, 2 are in both trees, 0 only here and 1 only there.",
    ]
    empty = Side(side().record, [])
    assert told(parting(empty, side())) == ["No step was recorded here."]
    assert told(parting(empty, empty)) == ["No step was recorded here or there."]


def test_two_theorems_of_one_name() -> None:
    found = parting(side(), side(root="q ∧ p"))
    assert (found.kind, found.pairs) == ("theorem", [])


def test_metavariables_have_other_numbers_in_another_process() -> None:
    def named(side: Side, number: int) -> Side:
        rows = [row for _, rows in side.expansions for row in rows]
        return Side(
            side.record, [replace(r, state=f"x : ?m.{number}\n{r.state} ?m.{number}") for r in rows]
        )

    assert parting(named(side(), 12), named(side(), 345)).kind == "same"


def test_the_searches_of_one_record_come_one_after_the_other() -> None:
    """Hard negatives keep several searches in one record, and each begins its time anew."""
    rows = [row for _, rows in side().expansions for row in rows]
    again = [
        replace(
            row, node=row.node + 4, children=tuple(child + 4 for child in row.children),
            parent=None if row.parent is None else row.parent + 4, seconds=row.seconds / 2,
        )
        for row in rows
    ]  # fmt: skip
    both = Side(side().record, [*rows, *again])
    assert [node for node, _ in both.expansions] == [0, 1, 2, 4, 5, 6]
    assert parting(both, both).kind == "same"
    found = parting(Side(side().record, rows), both)
    assert (found.kind, found.there) == ("end", 4)


# ------------------------------------------------------------------------------------ at random


def expansions(rows: list[StepRow]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Another way to tell what a search did: by its goals, which a script makes unique."""
    found: list[tuple[str, list[tuple[str, str]]]] = []
    for row in sorted(rows, key=lambda row: row.seconds):
        if not found or found[-1][0] != row.state:
            found.append((row.state, []))
        found[-1][1].append((row.tactic, row.outcome))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_the_parting_is_the_first_difference(seed: int) -> None:
    chance = random.Random(seed)
    script = forest(40, seed)
    goals = list(script)

    def disturbed() -> tuple[Script, ScriptedPolicy]:
        changed = {goal: dict(tactics) for goal, tactics in script.items()}
        says = {goal: dict.fromkeys(tactics, -1.0) for goal, tactics in script.items()}
        for _ in range(chance.randrange(3)):
            goal = chance.choice(goals[:12])
            tactic = chance.choice(list(script[goal]))
            match chance.randrange(3):
                case 0:
                    says[goal][tactic] = -0.5
                case 1:
                    del says[goal][tactic]
                case 2:
                    changed[goal][tactic] = ()
        return changed, ScriptedPolicy(says, {})

    kept = []
    for own, policy in (disturbed(), disturbed()):
        searched, _ = asyncio.run(search(own, goals[0], policy, Budget(nodes=30, candidates=100)))
        kept.append(rows_of(searched.tree, "t", searched.tree.proved, Provenance("run")))
    record, _ = rows_and_record(Tried("t", goals[0], script, nodes=1), "run")
    here, there = (Side(record, rows) for rows in kept)
    found, back = parting(here, there), parting(there, here)
    first, second = map(expansions, kept)
    alike = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    assert found.alike <= alike, "an outcome may differ in what it leads to"
    assert found.alike == alike or found.kind == "outcome"
    assert (back.alike, back.here, back.there) == (found.alike, found.there, found.here)
    assert (back.kind == found.kind) or {back.kind, found.kind} <= {"order", "tactic"}
    assert sorted((b, a) for a, b in found.pairs) == sorted(back.pairs)
    for one, other in found.pairs:
        if one in here.tried and other in there.tried:
            assert here.row(one).state == there.row(other).state
    assert len({a for a, _ in found.pairs}) == len({b for _, b in found.pairs}) == len(found.pairs)
    assert (found.kind == "same") == (first == second) or found.kind == "outcome"

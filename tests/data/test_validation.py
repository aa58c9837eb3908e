"""Planted drift lands in its category, and the verdict follows the rule."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.core.types import Advanced, Closed, Proposition, Theorem, TheoremText
from burnqed.data.drift import Category, Failure, Scene, Sorter, unknown_names
from burnqed.data.first_state import NoStatement, goals_of, introductions, locals_of, statement_of
from burnqed.data.fix_rules import load_fixes
from burnqed.data.known_names import KnownNames, known, known_names
from burnqed.data.ledger import open_ledger
from burnqed.data.replay import Replayed, replay
from burnqed.data.sampled_proofs import collected, draw
from burnqed.data.steps import Step
from burnqed.data.validation import Proof, report, startable, validate, verdict
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session

ADD = "∀ a b : Nat, a + b = b + a"
JOIN = "∀ (x y : List (List Nat)), (x ++ y).flatten = x.flatten ++ y.flatten"
AND = "∀ p q : Prop, p ∧ q → q ∧ p"


async def recorded(pool: Pool, name: str, statement: str, tactics: Sequence[str]) -> list[Step]:
    """The steps of a proof as this Lean makes them, from its first state with all introduced."""
    steps: list[Step] = []
    async with open_session(pool) as session:
        state = await session.start(Theorem(name, Proposition(statement)))
        for depth, tactic in enumerate(tactics):
            outcome = await session.apply(state, tactic)
            assert isinstance(outcome, Advanced | Closed), (tactic, outcome)
            steps.append(Step("s", name, state.text, tactic, depth, outcome.state.text or "no goals"))
            state = outcome.state
    assert not state.goals
    return steps


@pytest.fixture(scope="module")
async def names(lean_pool: Pool) -> KnownNames:
    found = await known_names(lean_pool)
    assert "List.flatten_append" in found.full
    return found


@pytest.fixture(scope="module")
async def proofs(lean_pool: Pool) -> dict[str, list[Step]]:
    return {
        name: await recorded(lean_pool, name, statement, tactics)
        for name, statement, *tactics in (
            ("add", ADD, "intro a b", "exact Nat.add_comm a b"),
            ("join", JOIN, "intro x y", "simp only [List.flatten_append]"),
            ("both", AND, "intro p q h", "obtain ⟨hp, hq⟩ := h", "constructor", "exact hq", "exact hp"),
        )
    }


def changed(steps: Sequence[Step], at: int, tactic: str = "", state: str = "") -> list[Step]:
    return [
        replace(step, tactic=tactic or step.tactic, state=state or step.state)
        if step.depth == at
        else step
        for step in steps
    ]


async def replayed(
    pool: Pool,
    names: KnownNames,
    steps: Sequence[Step],
    statement: str | Theorem = "",
    absent: Any = (),
) -> Replayed:
    if isinstance(statement, Theorem):
        theorem = statement
    else:
        said = Proposition(statement) if statement else statement_of(steps[0].state)
        theorem = Theorem(steps[0].theorem, said)
    async with open_session(pool) as session:
        return await replay(session, theorem, steps, Sorter(names, load_fixes(), absent))


async def category(pool: Pool, names: KnownNames, *asked: Any) -> tuple[Category | None, str]:
    found = await replayed(pool, names, *asked)
    return (found.failure.category, found.failure.detail) if found.failure else (None, "")


@pytest.mark.lean
async def test_what_was_recorded_here_replays_and_is_equal(
    lean_pool: Pool, names: KnownNames, proofs: dict[str, list[Step]]
) -> None:
    for steps in proofs.values():
        found = await replayed(lean_pool, names, steps)
        assert found == Replayed(True, True, steps=tuple(steps))
        # Data often begins behind the first `intro`: the statement is read off the hypotheses.
        later = [replace(step, depth=step.depth - 1) for step in steps[1:]]
        assert await replayed(lean_pool, names, later) == Replayed(True, True, steps=tuple(later))
        # Steps at one of several goals, with the others not shown.
        focused = [replace(step, state=goals_of(step.state)[0]) for step in steps]
        again = await replayed(lean_pool, names, focused)
        assert (again.replays, again.equal) == (True, True)
        assert [step.state for step in again.steps] == [step.state for step in focused]


@pytest.mark.lean
@pytest.mark.parametrize(
    ("proof", "at", "tactic", "expected", "detail"),
    [
        ("add", 1, "exact Nat.add_commutes a b", "lemma rename", "Nat.add_commutes is gone"),
        ("join", 1, "simp only [List.join_append]", "lemma rename", "is List.flatten_append now"),
        ("add", 1, "simp_arith", "tactic API change", "deprecated"),
        ("both", 1, "cases h with hp hq,", "tactic API change", "unknown tactic"),
        ("both", 1, "obtain ⟨hp', hq⟩ := h", "tactic API change", "does not name hp any more"),
        ("add", 1, "omega (wide := true)", "tactic API change", "wide"),
        ("add", 1, "ring", "missing import", "`ring` is of Mathlib"),
        ("add", 1, "exact Finset.sum_comm", "missing import", "Finset.sum_comm is of Mathlib"),
        ("join", 1, "simp only [flatten_append]", "missing open", "`open List`"),
        ("add", 1, "exact Nat.le_refl a", "other", "mismatch"),
    ],
)
async def test_a_step_that_fails_is_sorted(
    lean_pool: Pool, names: KnownNames, proofs: dict[str, list[Step]],
    proof: str, at: int, tactic: str, expected: Category, detail: str,
) -> None:  # fmt: skip
    steps = changed(proofs[proof], at, tactic=tactic)
    found = await replayed(lean_pool, names, steps)
    if "hp'" in tactic:  # the step works, and a later one pays for it
        at = 4
    assert found.failure is not None
    assert (found.failure.category, found.step) == (expected, at), found
    assert detail in found.failure.detail
    assert not found.replays


@pytest.mark.lean
async def test_a_statement_that_does_not_elaborate_is_sorted_too(
    lean_pool: Pool, names: KnownNames, proofs: dict[str, list[Step]]
) -> None:
    def one(state: str) -> list[Step]:
        return [Step("s", "t", state, "rfl", 0)]

    assert await category(lean_pool, names, one("n : Nat\n⊢ succ n = n + 1")) == (
        "missing open", "succ is known with `open Nat`",
    )  # fmt: skip
    assert (await category(lean_pool, names, one("n : ℕ\n⊢ n = n")))[0] == "missing import"
    found = await category(lean_pool, names, one("x : List (List Nat)\n⊢ List.join x = List.join x"))
    assert found == ("lemma rename", "List.join is List.flatten now")
    found = await category(lean_pool, names, one("x : Std.HashMap Nat Nat\n⊢ x = x"))
    assert found[0] == "missing import"
    wanted = one("x : Foo.Bar\n⊢ x = x")
    assert (await category(lean_pool, names, wanted))[0] == "lemma rename"
    assert (await category(lean_pool, names, wanted, "", ("Foo",)))[0] == "missing import"
    # Lean would take a name that it does not know for a variable, and prove another theorem.
    for said in ("(h : Positive n) : n = n", "(h : n = gone) : n = n"):
        text = Theorem("t", TheoremText(f"theorem t (n : Nat) {said} := by sorry"))
        assert (await category(lean_pool, names, one("n : Nat\n⊢ n = n"), text))[0] == "lemma rename"


@pytest.mark.lean
async def test_another_way_to_print_is_no_failure_and_no_equality(
    lean_pool: Pool, names: KnownNames, proofs: dict[str, list[Step]]
) -> None:
    steps = changed(proofs["add"], 1, state="a b : Nat\n⊢ Nat.add a b = Nat.add b a")
    found = await replayed(lean_pool, names, steps, ADD)
    assert found.replays
    assert not found.equal
    assert found.failure is not None
    assert found.failure.category == "pretty-printer drift"
    assert "here: ⊢ a + b = b + a" in found.failure.detail


@pytest.mark.lean
async def test_a_run_is_kept_resumed_and_reported(
    lean_pool: Pool, names: KnownNames, proofs: dict[str, list[Step]], tmp_path: Path
) -> None:
    def named(name: str, steps: Sequence[Step]) -> list[Step]:
        return [replace(step, theorem=name) for step in steps]

    data = [s for i in range(9) for s in named(f"good{i}", proofs[("add", "join", "both")[i % 3]])]
    data += named("renamed", changed(proofs["add"], 1, tactic="exact Nat.add_commutes a b"))
    data += named("printed", changed(proofs["join"], 1, state="x y : List (List Nat)\n⊢ x = y"))
    data += [
        Step("s", "unclear", "a✝¹ : Nat\n⊢ 1 = 1", "rfl", 0),
        Step("s", "late", "⊢ 1 = 1", "rfl", 3),
    ]
    sample = draw(data, 100, 0)
    assert sample.left_out == {"steps are missing": 1}
    found = collected(data, sample.chosen)
    asked = [startable(key, sample.chosen[key], steps, {}) for key, steps in found.items()]
    sorter = Sorter(names, load_fixes())
    stop = asyncio.Event()
    seen: list[Any] = []

    def stopping(row: Any) -> None:
        seen.append(row)
        if len(seen) == 5:
            stop.set()

    with open_ledger(tmp_path / "proofs.jsonl", pytest.fail) as ledger:
        await validate(lean_pool, asked, sorter, ledger, stopping, stop)
        assert 5 <= len(ledger) < 12
    with (tmp_path / "proofs.jsonl").open("ab") as file:
        file.write(b'{"key": "half a li')
    with open_ledger(tmp_path / "proofs.jsonl", pytest.fail) as ledger:
        done = len(ledger)
        seen = []
        await validate(lean_pool, asked, sorter, ledger, seen.append, asyncio.Event())
        rows = list(ledger.rows())
        assert done >= 5
    assert len(seen) == len(rows) == 12
    told = report(sample, rows)
    assert (told["tried"], told["replay"], told["equal"]) == (11, 10, 9)
    assert told["verdict"] == "use"
    assert told["no_statement"] == {"its first state has names that nobody can write": 1}
    counts = {name: one["theorems"] for name, one in told["categories"].items() if one["theorems"]}
    assert counts == {"lemma rename": 1, "pretty-printer drift": 1}
    assert told["categories"]["lemma rename"]["examples"][0]["theorem"] == "renamed"
    assert told["strata"]["5-8"] == {"there": 3, "drawn": 3, "tried": 3, "replay": 3, "equal": 3}


@pytest.mark.lean
async def test_a_proof_that_replays_may_be_refused_by_the_judge(
    lean_pool: Pool, names: KnownNames, proofs: dict[str, list[Step]], tmp_path: Path
) -> None:
    focused = [replace(step, state=goals_of(step.state)[0]) for step in proofs["both"]]
    # Each step says at which goal it is used. As a text, in this order, they prove nothing.
    turned = [*focused[:3], replace(focused[4], depth=3), replace(focused[3], depth=4)]
    goal = Theorem("both", Proposition(AND))
    asked = [Proof("good", "5-8", focused, goal), Proof("turned", "5-8", turned, goal)]
    with open_ledger(tmp_path / "proofs.jsonl", pytest.fail) as ledger:
        sorter = Sorter(names, load_fixes())
        stop = asyncio.Event()
        await validate(lean_pool, asked, sorter, ledger, lambda _: None, stop, lean_pool)
        rows = {key: ledger.row(key) for key in ("good", "turned")}
    assert (rows["good"]["outcome"], rows["good"]["judged"]) == ("replays", "accepted")
    assert rows["turned"]["outcome"] == "fails"
    assert rows["turned"]["judged"].startswith("it does not compile")
    assert "the judge refuses it" in rows["turned"]["detail"]


# ------------------------------------------------------------------------------------ without Lean


def test_the_verdict_follows_the_rule() -> None:
    assert verdict(10, 10, 10) == verdict(10, 8, 8) == "use"
    assert verdict(10, 8, 7) == verdict(10, 10, 0) == "re-extract"
    assert verdict(10, 7, 7) == verdict(10, 0, 0) == "re-trace"
    assert verdict(0, 0, 0) == "none"


def test_the_sample_is_stratified_and_the_seed_decides() -> None:
    def proof(name: str, steps: int) -> list[Step]:
        return [Step("s", name, "⊢ p", "rfl", depth) for depth in range(steps)]

    data = [s for i in range(300) for s in proof(f"short{i}", 1)]
    data += [s for i in range(40) for s in proof(f"long{i}", 9)]
    data += proof("longest", 20)
    sample = draw(data, 41, 0)
    strata = list(sample.chosen.values())
    assert {name: strata.count(name) for name in set(strata)} == {"1": 20, "9-16": 20, "17+": 1}
    assert draw(reversed(data), 41, 0) == sample
    other = draw(data, 41, 1).chosen
    assert other.keys() != sample.chosen.keys()
    assert set(draw(data, 20, 0).chosen) < set(sample.chosen) | {("s", "longest")}
    assert [len(steps) for steps in collected(data, {("s", "longest"): "17+"}).values()] == [20]
    twice = [*proof("t", 2), *proof("t", 2), *proof("u", 1)]
    assert draw(twice, 9, 0).left_out == {"two steps at one depth": 1}
    with pytest.raises(InputError, match="none of 1 theorems"):
        draw([Step("s", "t", "⊢ p", "rfl", 1)], 5, 0)


def test_a_first_state_says_what_is_proved() -> None:
    state = "case h\nα : Type u_1\ninst✝ : Inhabited α\nn m : Nat\nh : n <\n  m\n⊢ ∃ x : α,\n    x = x"
    said = statement_of(state)
    assert said.levels == ("u_1",)
    assert said.text.startswith(
        "∀ (α : Type u_1) [inst : Inhabited α] (n : Nat) (m : Nat) (h : n <\n  m), ∃ x"
    )
    assert introductions(state, 2) == "intro n m h"
    assert introductions(state, 0) == "intro α _ n m h"
    assert [one.name for one in locals_of(state)] == ["α", "inst", "n", "m", "h"]
    assert goals_of("no goals") == []
    for state in ("⊢ a\n\n⊢ b", "x✝¹ x✝ : Nat\n⊢ a", "x : Nat := 3\n⊢ a", "no goals", "x : Nat"):
        with pytest.raises(NoStatement):
            statement_of(state)


def test_names_are_found_in_what_any_lean_says() -> None:
    assert unknown_names("unknown identifier 'foo'") == ["foo"]
    assert unknown_names("Unknown constant `A.b`\nUnknown identifier `c`") == ["A.b", "c"]
    assert unknown_names("error: The environment does not contain `Eq.symmm`, so") == ["Eq.symmm"]
    assert unknown_names("Unknown identifier `a'`: unknown constant 'A.b'', ‘c’") == ["a'", "A.b'"]
    assert unknown_names("type mismatch") == []
    names = known(["Nat.succ", "A.B.c", "B.c", "c", "_private.x.c"])
    assert names.namespaces("c") == ["B", "A.B"]
    assert names.namespaces("B.c") == ["A"]
    assert names.namespaces("nothing") == []


async def test_a_name_is_an_open_one_only_where_that_works() -> None:
    async def never(_: str) -> str:
        return "it does not help"

    sorter = Sorter(known(["A.gone", "B.other"]), load_fixes())
    found = await sorter.sort("Unknown identifier `gone`", Scene("exact gone"), never)
    assert found == Failure("lemma rename", "gone is gone")

    async def both(namespaces: str) -> str:
        return {"A": "Unknown identifier `other`", "A B": ""}.get(namespaces, "no")

    found = await sorter.sort("Unknown identifier `gone`", Scene("exact gone other"), both)
    assert found == Failure("missing open", "gone is known with `open A B`")


def test_a_theorem_of_the_set_is_what_is_started() -> None:
    step = Step("s", "t", "⊢ p", "rfl", 0)
    theorem = Theorem("t", Proposition("1 = 1"))
    assert startable(("s", "t"), "1", [step], {"t": theorem}) == Proof("s\tt", "1", [step], theorem)

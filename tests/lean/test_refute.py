"""What small values and automation refute is told, with the values; nothing else is."""

from __future__ import annotations

import time

import pytest

from burnqed.core.errors import LeanDied
from burnqed.core.types import (
    Advanced,
    FileHole,
    Hypothesis,
    LibraryConstant,
    Negation,
    ProofState,
    Proposition,
    Statement,
    Theorem,
    TheoremText,
)
from burnqed.lean.disproof import instances, sweep
from burnqed.lean.judge import judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.refute import Refutation, refute
from burnqed.lean.session import Session, open_session

SECONDS = 60.0
HEARTBEATS = 4_000
FALSE = {
    "2 + 2 = 5": "its negation is proved",
    "False": "its negation is proved",
    "∃ n : Nat, n + 1 = 0": "its negation is proved",
    "∀ n : Nat, n ≠ 77": "its negation is proved",
    "∀ n, n < 5": "n = 5",
    "∀ n : Nat, n % 7 ≠ 6": "n = 6",
    "∀ n : Nat, n < 50": "n = 100",
    "∀ a b : Nat, a - b + b = a": "a = 0, b = 1",
    "∀ a b c : Nat, a < b → b < c → a * c < b": "a = 1, b = 2, c = 3",
    "∀ x : Int, 0 ≤ x": "x = -1",
    "∀ x y : Int, x * y < 9": "x = 3, y = 3",
    "∀ b : Bool, b = true": "b = false",
    "∀ x : Fin 5, x.val < 3": "x = 3",
    "∀ (x : Fin 3) (b : Bool) (n : Nat), b = true → n < x.val + 1": "x = 0, b = true, n = 1",
    "∀ x : BitVec 8, x + 1 ≠ 0": "x = -1",
    "∀ xs : List Nat, xs.reverse = xs": "xs = [0, 1]",
    "∀ (xs : List Int) (n : Nat), xs.length = n": "xs = [], n = 1",
    "∀ p : Nat × Nat, p.1 = p.2": "p = (0, 1)",
    "∀ x : Option Nat, x = none": "x = some 0",
    "∀ p q : Prop, p → q": "p = True, q = False",
    "∀ f : Nat → Nat, f 0 = f 1": "f = fun x => x",
    "theorem t (n m : Nat) (h : 0 < n) (k : n < m) : n * 2 ≤ m": "n = 2, m = 3",
    "theorem t (n : Nat) (h : 0 < n) (m : Nat) : n + m ≠ 3": "n = 1, m = 2",
    "def twice (n : Nat) := n + n\ntheorem t (n : Nat) : twice n < 9": "n = 5",
    "variable (n : Nat)\ntheorem t : n * n ≠ 16": "n = 4",
}
# True, or beyond what is tried.
NOT_KNOWN = [
    "∀ n : Nat, n + 0 = n",
    "∀ a b c n : Nat, 2 < n → 0 < a → 0 < b → a ^ n + b ^ n ≠ c ^ n",
    "∀ n : Nat, n * n + n + 41 ≠ 1681",
    "∀ (p : Prop), p ∨ ¬p",
    "∀ n : Nat, n < 0 → n = 7",
    "∀ n : Nat, 2 ^ (2 ^ n) ≠ 3",
    "theorem t (h : 1 = 2) : False",
    "theorem t (n : Nat) (h : n < n) (m : Nat) : m = 3",
    "opaque P : Nat → Prop\n@[simp] axiom never (n : Nat) : ¬ P n\ntheorem t (n : Nat) : P n",
    "theorem wrong : ∀ n : Nat, n = 0 := sorry\ntheorem t (n : Nat) (h : n = 0) : n + 1 ≠ 5",
]


def theorem(text: str) -> Theorem:
    return Theorem("t", TheoremText(text) if "theorem" in text else Proposition(text))


async def refuted(pool: Pool, statement: Statement, seconds: float = SECONDS) -> Refutation | None:
    async with open_session(pool, HEARTBEATS) as session:
        return await refute(session, Theorem("t", statement), seconds)


@pytest.mark.lean
@pytest.mark.parametrize("text", FALSE)
async def test_what_is_false_is_told_with_values(lean_pool: Pool, text: str) -> None:
    found = await refuted(lean_pool, theorem(text).statement)
    assert found is not None
    assert found.sentence == FALSE[text]


@pytest.mark.lean
@pytest.mark.parametrize(("guessed", "wrong"), [(40, 7), (-1, 0), (40, 10**9)])
async def test_a_guess_is_only_tried(lean_pool: Pool, guessed: int, wrong: int) -> None:
    """A guess that is right saves the search; one that is not changes nothing."""
    text = "theorem t (n : Int) (h : n % 40 = 0 ∨ n = -1) : n * n + n ≠ 1640 ∧ n ≠ -1"
    statement = TheoremText(text)
    async with open_session(lean_pool, HEARTBEATS) as session:
        found = await refute(session, Theorem("t", statement), SECONDS, lambda goal: {"n": guessed})
        assert found is not None
        assert found.values == (("n", str(guessed)),)
        without = await refute(session, Theorem("t", statement), SECONDS)
        other = await refute(session, Theorem("t", statement), SECONDS, lambda goal: {"n": wrong})
        assert other == without


@pytest.mark.lean
async def test_the_judge_agrees(lean_pool: Pool) -> None:
    """It has nothing to do with how a refutation is found and certified."""
    texts = [text for text in FALSE if "theorem" not in text][::4]
    found = [await refuted(lean_pool, Proposition(text)) for text in texts]
    tactics = [one.tactic for one in found if one is not None]
    pairs = enumerate(zip(texts, tactics, strict=True))
    source = "".join(f"theorem t{i} : ¬ ({text}) := by\n  {tactic}\n\n" for i, (text, tactic) in pairs)
    verdicts = await judge_file(lean_pool, source)
    assert [v.reason for v in verdicts] == [""] * len(texts)


@pytest.mark.lean
@pytest.mark.parametrize("text", NOT_KNOWN)
async def test_nothing_else_is(lean_pool: Pool, text: str) -> None:
    assert await refuted(lean_pool, theorem(text).statement) is None


@pytest.mark.lean
async def test_values_that_are_told_are_a_counterexample(lean_pool: Pool) -> None:
    """Automation at an instance sees that instance alone, not what the statement says elsewhere."""
    statement = Proposition("∀ n : Nat, (∃ m, m + m = n) ∨ n = 1")
    found = await refuted(lean_pool, statement)
    assert found is not None
    assert found.values in ((), (("n", "3"),))
    for instance in instances([Hypothesis("n", "Nat")])[:3]:
        async with open_session(lean_pool, HEARTBEATS) as session:
            negated = await session.start(Theorem("t", Negation(statement)))
            outcome = await session.apply(negated, instance.reasoned)
            assert type(outcome).__name__ != "Closed", instance


FILE = """\
theorem a (n : Nat) (h : 0 < n) : n = 1 := by
  sorry

theorem b (n : Nat) (p : Prop) (hp : p) : n + 0 = n ∧ p := by
  have k : n = 2 := by sorry
  exact ⟨sorry, sorry⟩
"""


@pytest.mark.lean
async def test_a_hole_is_false_under_its_hypotheses(lean_pool: Pool) -> None:
    found = [await refuted(lean_pool, FileHole(FILE, index)) for index in range(4)]
    assert [one and one.sentence for one in found] == ["n = 2", "n = 0, p = True", None, None]


@pytest.mark.lean
async def test_the_library_is_true(lean_pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "apply_batch", None)
    assert await refuted(lean_pool, LibraryConstant("Nat.add_comm")) is None


@pytest.mark.lean
async def test_it_takes_no_longer_than_it_may(lean_pool: Pool) -> None:
    assert await refuted(lean_pool, Proposition("∀ n : Nat, n < 5"), seconds=0.0) is None


@pytest.mark.lean
async def test_what_counts_no_heartbeats_is_stopped(lean_launch: LaunchSpec) -> None:
    """Numbers of billions of digits: it ends all the same, and what was there before can be used."""
    told = Theorem("t", Proposition("∀ a b : Nat, a < b → (10 ^ 10) ^ (10 ^ (a + 8)) ≠ b"))
    async with Pool(lean_launch, 1) as pool, open_session(pool, HEARTBEATS) as session:
        state = await session.start(told)
        begun = time.monotonic()
        assert await refute(session, told, seconds=1.0) is None
        assert time.monotonic() - begun < 30
        assert isinstance(await session.apply(state, "intro a b h"), Advanced)


@pytest.mark.lean
async def test_a_lean_that_is_killed_is_no_answer(
    lean_pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(self: Session, state: ProofState, tactics: list[str]) -> list[LeanDied]:
        return [LeanDied("killed", returncode=-9) for _ in tactics]

    monkeypatch.setattr(Session, "apply_batch", killed)
    with pytest.raises(LeanDied):
        await refuted(lean_pool, Proposition("1 = 2"))


def box(*types: str) -> int:
    found = sweep([Hypothesis(f"x{i}", type) for i, type in enumerate(types)])
    return 0 if found is None else len(found.instances)


def test_a_box_is_of_numbers_and_small() -> None:
    assert box("Nat") == 24
    assert box("Nat", "0 < x0", "Int") == 64
    assert box("Bool", "Fin 3") == 6
    assert box() == box("List Nat") == box("Nat", "List Nat") == box("Fin 1000") == box("x < 3") == 0
    assert box(*["Nat"] * 7) == box(*["Fin 20"] * 3) == 0
    assert 0 < box(*["Nat"] * 6) <= 200
    assert box("ℤ") == box("Int") == 24

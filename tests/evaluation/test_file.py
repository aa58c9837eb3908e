"""Files with several `sorry`s, in Lean: what becomes of each, of the text, of the claim `proved`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from burnqed.core.errors import StatementError
from burnqed.core.types import Candidate, Goal, Theorem
from burnqed.evaluation import file as module
from burnqed.evaluation.file import FileResult, HoleResult, prove_file
from burnqed.evaluation.prove import Prover
from burnqed.lean.holes import Hole, find_holes
from burnqed.lean.judge import judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.verdict import Verdict
from burnqed.search.budget import Budget

pytestmark = pytest.mark.lean


class Fixed:
    """The same few tactics for every goal, so that the text that comes of it is known."""

    TACTICS = ("rfl", "exact hp", "exact hq", "omega", "simp [double]; omega", "exact wrong n")

    def about(self, theorem: Theorem) -> Fixed:
        return self

    async def propose(
        self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
    ) -> list[list[Candidate]]:
        return [[Candidate(t, -1.0 - i) for i, t in enumerate(self.TACTICS)] for _ in states]


@pytest.fixture(scope="module")
async def prover(lean_pool: Pool, lean_launch: LaunchSpec) -> AsyncIterator[Prover]:
    async with Pool(lean_launch, 2) as judges:
        yield Prover(lean_pool, judges, Fixed(), Budget(nodes=3, candidates=8))


def outcomes(result: FileResult) -> list[tuple[str | None, str, str]]:
    return [(r.hole.declaration, r.outcome, r.reason) for r in result.holes]


def accepted(result: FileResult) -> list[bool | None]:
    """The judge's word on the theorem around each hole; None where it said nothing."""
    return [None if r.verdict is None else r.verdict.accepted for r in result.holes]


WHOLE = """\
/-- Twice. -/
def double (n : Nat) : Nat := n + n

theorem double_eq (n : Nat) : double n = 2 * n := by sorry

theorem both (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  · sorry -- the first
  · sorry

namespace Deep
theorem swap (a b : Nat) : a + b = b + a :=
  sorry
end Deep

example (n : Nat) : n + 0 = n := sorry
"""
FILLED = """\
/-- Twice. -/
def double (n : Nat) : Nat := n + n

theorem double_eq (n : Nat) : double n = 2 * n := by
  simp [double]; omega

theorem both (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  · exact hp -- the first
  · exact hq

namespace Deep
theorem swap (a b : Nat) : a + b = b + a := by
  omega
end Deep

example (n : Nat) : n + 0 = n := by
  rfl
"""


async def test_every_sorry_is_proved_in_its_place(prover: Prover) -> None:
    result = await prove_file(prover, WHOLE, seed=0)
    assert outcomes(result) == [
        (name, "found", "") for name in ("double_eq", "both", "both", "Deep.swap", None)
    ]
    assert accepted(result) == [True] * 5
    assert result.proved
    assert result.source == FILLED
    assert result.holes[0].tactics == ("simp [double]; omega",)
    assert all(r.nodes == 1 and r.seconds > 0 for r in result.holes)
    named = [r.verdict.theorem for r in result.holes if r.verdict]
    assert named == ["double_eq", "both", "both", "Deep.swap", "example_1"]


OPEN = """\
def datum : Nat := sorry

theorem good (n : Nat) : n + 0 = n := by sorry

theorem wrong (n : Nat) : n + 1 = n := by sorry

theorem half_done (n : Nat) : n + 0 = n ∧ n = n + 2 := by
  constructor
  · sorry
  · sorry

example (n : Nat) : n + 1 = n := by sorry
"""


async def test_what_stays_open_is_told(prover: Prover) -> None:
    """What is found is in the text, but for what is refused; what is open is not called proved."""
    result = await prove_file(prover, OPEN, seed=0)
    assert outcomes(result) == [
        ("datum", "skipped", "it is not a proposition"),
        ("good", "found", ""),
        ("wrong", "exhausted", "candidates"),
        ("half_done", "found", ""),
        ("half_done", "exhausted", "candidates"),
        (None, "found", ""),  # by `exact wrong n`, which is there and not proved
    ]
    assert accepted(result) == [False, True, False, False, False, False]
    assert not result.proved
    wrong, example = (result.holes[i].verdict for i in (2, 5))
    assert wrong is not None
    assert "sorry" in wrong.reason
    assert example is not None
    assert "sorry" in example.reason
    kept = OPEN.replace("n + 0 = n := by sorry", "n + 0 = n := by\n  rfl")
    kept = kept.replace("  · sorry\n  · sorry", "  · rfl\n  · sorry")
    assert result.source == kept, "the example's proof rests on a sorry, and goes into no file"


PRIVATE = "private theorem hidden (n : Nat) : n + 0 = n := by sorry\n"
DEFINITION = "def one : { n : Nat // n = 1 } := ⟨1, by sorry⟩\n"


@pytest.mark.parametrize(
    "source",
    [
        PRIVATE,
        DEFINITION,
        f"{PRIVATE}theorem seen : 1 = 1 := by sorry\n",
        f"{DEFINITION}theorem of_one : one.val = 1 := by sorry\n",
        "instance : Inhabited { n : Nat // n = 7 } := ⟨⟨7, by sorry⟩⟩\n",
        "structure Even where\n  n : Nat\n  half : Nat\n  eq : n = half + half\n"
        "def four : Even := { n := 4, half := 2, eq := by sorry }\n"
        "def eight : Even := ⟨four.n + four.n, 4, sorry⟩\n",
        "def down (n : Nat) : Nat := if h : n = 0 then 0 else down (n - 1)\n"
        "termination_by n\ndecreasing_by sorry\n",
    ],
)
async def test_private_theorems_and_definitions_are_judged(prover: Prover, source: str) -> None:
    result = await prove_file(prover, source, seed=0)
    assert {r.outcome for r in result.holes} == {"found"}
    assert set(accepted(result)) == {True}
    assert result.proved
    assert "sorry" not in result.source


async def test_a_definition_that_stays_open_is_not_proved(prover: Prover) -> None:
    """Nor is what rests on it; what does not is."""
    source = (
        "def two : { n : Nat // n = 1 } := ⟨2, by sorry⟩\n"
        "theorem of_two : two.val = 2 := by sorry\ntheorem apart : 1 = 1 := by sorry\n"
    )
    result = await prove_file(prover, source, seed=0)
    assert [r.outcome for r in result.holes] == ["exhausted", "found", "found"]
    assert accepted(result) == [False, False, True]
    assert not result.proved


async def test_nothing_found_leaves_the_text_as_it_is(prover: Prover) -> None:
    source = "theorem wrong (n : Nat) : n = n + 1 := by sorry -- no\n"
    result = await prove_file(prover, source, seed=0)
    assert not result.proved
    assert result.source == source
    assert accepted(result) == [None], "nothing to judge"


async def test_a_file_that_does_not_compile(prover: Prover) -> None:
    source = 'theorem a : 1 = 1 := by sorry\ntheorem b : 1 = "two" := by sorry\n'
    with pytest.raises(StatementError, match="2:"):
        await prove_file(prover, source, seed=0)


async def test_a_refused_file_is_judged_again_with_the_longer_proofs(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps are left out one by one in a session; if the whole needs them they come back."""

    class Needless(Fixed):
        async def propose(
            self, states: Sequence[Sequence[Goal]], n: int, temperature: float, seed: int
        ) -> list[list[Candidate]]:
            step = "have needless := Nat.le_refl 0"
            return [[Candidate("rfl" if goals[0].hypotheses else step, -1.0)] for goals in states]

    shown: list[str] = []

    async def judge(pool: Pool, source: str, reference: str | None = None) -> list[Verdict]:
        shown.append(source)
        verdicts = await judge_file(pool, source, reference)
        return [replace(v, accepted=len(shown) > 1) for v in verdicts]

    monkeypatch.setattr(module, "judge_file", judge)
    source = "theorem a : 1 = 1 := by sorry\n"
    result = await prove_file(replace(prover, policy=Needless()), source, seed=0)
    head = "theorem a : 1 = 1 := by\n"
    assert shown == [f"{head}  rfl\n", f"{head}  have needless := Nat.le_refl 0\n  rfl\n"]
    assert result.source == shown[1]
    assert result.proved


TWO = "theorem a : 1 = 1 := by sorry\ntheorem b : 1 = 2 := by sorry\n"


@pytest.mark.parametrize("lie", ["there is none", "one is hidden", "it is around another"])
async def test_a_lie_about_the_holes_proves_nothing(
    prover: Prover, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    """Where the holes are is said by a process that has run the file; it may say what it likes."""
    true = await find_holes(prover.pool, TWO)

    async def holes(pool: Pool, body: str) -> list[Hole]:
        told = [replace(hole, declaration="a") for hole in true]
        return {"there is none": [], "one is hidden": true[:1]}.get(lie, told)

    async def attempt(
        prover: Prover, body: str, hole: Hole, seed: int, events: object
    ) -> tuple[HoleResult, None]:
        return HoleResult(hole, "found", "", ("rfl",)), None

    monkeypatch.setattr(module, "find_holes", holes)
    monkeypatch.setattr(module, "_attempt", attempt)
    result = await prove_file(prover, TWO, seed=0)
    assert all(h.verdict and h.verdict.accepted for h in result.holes), "as far as the lie goes"
    assert not result.proved


async def test_a_theorem_without_a_hole_that_is_refused_is_told(prover: Prover) -> None:
    """It was there before; still not all of the file is proved."""
    source = "axiom wrong : 1 = 2\ntheorem b : 1 = 2 := wrong\ntheorem a : 1 = 1 := by sorry\n"
    result = await prove_file(prover, source, seed=0)
    assert accepted(result) == [True]
    assert [v.theorem for v in result.refused] == ["b"]
    assert "axiom" in result.refused[0].reason
    assert not result.proved

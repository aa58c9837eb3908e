"""Texts that nest too deep are found by their tokens; honest ones come nowhere near."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest

from burnqed.lean.nesting import MAX_NESTING, too_deep
from burnqed.lean.rules import violations
from burnqed.lean.tokens import tokenize
from tests.lean.honest import HONEST, HONEST_PROOFS

MANY = MAX_NESTING + MAX_NESTING // 4
FAR_BELOW = MAX_NESTING // 5
SOURCES = Path(__file__).parent.parent.parent / "src"
# What is repeated; the text around it does not matter.
NESTS = [
    "¬", "¬ ", "¬\n", "- ", "-\n", "!", "↑", "√", "@", "@ ", "(", "[", "{", "⟨", "![", "#[",
    "Nat.succ (", "True → ", "True →\n", "1 + ", "p ∧ ", "p ∨ ", "p ↔ ", "x :: ", "h ▸ ", "f <| ",
    "f $ ", "f ∘ ", "x = ", "x ::\n", "f <|\n", "fun x => ", "fun x ↦\n", "λ x => ", "fun | 0 => ",
    "∀ x, ", "∀ x : Nat,\n", "∃ x, ", "∃! x, ", "Σ x, ", "∑ x ∈ s, ", "forall x, ", "(∀ x, ",
    "{x // ", "have h := 1\n", "let x := 1; ", "show True from ", "suffices h : True from ",
    "if p then 1 else ", "if p then 1 else\n", "match x with | _ => ", "match x with\n| _ => ",
    "do ", "by exact ", "by\n", "· ", ". ", "try ", "repeat ", "all_goals ", "first | ",
    "skip <;> ", "conv => ", "calc a = b := ", "x.1", ".1", "⁻¹", "open Nat in ", "open Nat in\n",
    "set_option pp.all true in\n", "namespace A\n", "section\n", "mutual\n", "a.", "⌊", "‖",
    "f (g := ", "s!\"{", "id <| by exact ", "|> f", "\n|>.f", "\n→ p",
]  # fmt: skip


@pytest.mark.parametrize("piece", NESTS)
def test_what_nests_is_refused_before_lean_sees_it(piece: str) -> None:
    text = f"theorem t : True := by exact {piece * MANY}a\n"
    assert any(violation.dangerous for violation in violations(text))


@pytest.mark.parametrize("piece", [piece for piece in NESTS if piece != "x.1"])
def test_so_it_is_on_lines_of_their_own(piece: str) -> None:
    text = "theorem t :\n" + f"{piece.strip()}\n" * MANY + "True := trivial\n"
    assert any(violation.dangerous for violation in violations(text))


LINEAR = ["¬", "f <| ", "@[", "@[simp] ", "simp\n", "f ", 's!"{x}" ', '"', "/- "]


@pytest.mark.parametrize("piece", LINEAR)
def test_any_text_is_looked_at_in_linear_time(piece: str) -> None:
    """A line of hundreds of kilobytes, too, and what opens and never closes."""

    def seconds(times: int) -> float:
        text = f"theorem t : True := {piece * times}"
        gc.collect()
        gc.disable()  # its work grows with all that this process has, and not with the text
        try:
            begun = time.process_time()
            list(violations(text))
            return time.process_time() - begun
        finally:
            gc.enable()

    assert seconds(15_000) < 30 * max(seconds(1_500), 0.02)


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.lean")), ids=lambda path: path.name)
def test_lean_that_people_write_is_far_below_the_limit(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert too_deep(source, tokenize(source), FAR_BELOW) is None


def test_honest_proofs_are_far_below_the_limit() -> None:
    texts = [case.source for case in HONEST] + ["\n".join(case.tactics) for case in HONEST_PROOFS]
    assert not any(too_deep(text, tokenize(text), FAR_BELOW) for text in texts)


LONG = 2 * MAX_NESTING


@pytest.mark.parametrize(
    "text",
    [
        "theorem t : True := by\n" + "  have h : 1 + 1 = 2 := by omega\n  simp at h\n" * LONG,
        "theorem t : True := by\n" + "  · simp [a, b] <;> omega\n" * LONG,
        "theorem t : f = [" + "a → b, " * LONG + "c] := rfl",
        "theorem t : f = [" + "-1, " * LONG + "1] := rfl",
        "def f : Nat → Nat\n" + "  | 0 => 1 + 1\n" * LONG,
        "example : 1 = 1 := rfl\n" * LONG,
        "namespace A\ntheorem t : 1 = 1 := rfl\nend A\n" * LONG,
        "theorem t : a = b := by\n  calc\n" + "    _ = c := by rw [h (x := 1)]\n" * LONG,
        "theorem t : True := by\n  nlinarith [" + "sq_nonneg (a - b), h.1 h.2,\n    " * LONG + "h]\n",
    ],
)  # fmt: skip
def test_long_is_not_deep(text: str) -> None:
    assert too_deep(text, tokenize(text)) is None

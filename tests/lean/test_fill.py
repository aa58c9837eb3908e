"""Proofs in the place of `sorry`s, as text. `test_holes` has Lean read such texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.lean.fill import Place, put

ONE = ["omega"]
AB = ["a", "b"]
TWO = ["intro x", "cases x with\n| a => simp\n| b =>\n  omega"]


def filled(source: str, *proofs: list[str]) -> str:
    """`?` stands for a `sorry` that is a tactic, `!` for one that is a term."""
    marks = [match.start() for match in re.finditer("[?!]", source)]
    text = re.sub("[?!]", "sorry", source)
    places = [
        Place(at + 4 * index, at + 4 * index + 5, source[at] == "?", [proof])
        for index, (at, proof) in enumerate(zip(marks, proofs, strict=True))
    ]
    return put(text, places)


CASES = [
    ("theorem t : p := by ?\n", [ONE], "theorem t : p := by\n  omega\n"),
    ("  lemma t : |x| = x := by ?", [ONE], "  lemma t : |x| = x := by\n    omega"),
    (
        "theorem t\n    (h : q) : p := !\n",
        [TWO],
        "theorem t\n    (h : q) : p := by\n"
        "  intro x\n  cases x with\n  | a => simp\n  | b =>\n    omega\n",
    ),
    ("theorem t : p :=\n  ! -- c\n", [ONE], "theorem t : p := by\n  omega -- c\n"),
    ("theorem t : p := -- c\n  !\n", [ONE], "theorem t : p := -- c\n  by omega\n"),
    ("  · ?\n", [AB], "  · a\n    b\n"),
    ("  · have h : T := by ?\n", [AB], "  · have h : T := by\n      a\n      b\n"),
    ("  · have h : T := by ?\n", [ONE], "  · have h : T := by omega\n"),
    ("  | zero => ?\n", [AB], "  | zero =>\n    a\n    b\n"),
    ("  | zero => ?\n", [ONE], "  | zero => omega\n"),
    ("  | x => exact f <| by ?\n", [AB], "  | x => exact f <| by\n           a\n           b\n"),
    ("  cases h with | c => ?\n", [AB], "  cases h with | c =>\n{0}a\n{0}b\n".format(" " * 17)),
    ("  exact f fun x => by ?\n", [AB], "  exact f fun x => by\n    a\n    b\n"),
    ("  exact f (by ?) !\n", [AB, ONE], "  exact f (by a\n              b) (by omega)\n"),
    ("  exact ⟨!, by ?⟩\n", [ONE, AB], "  exact ⟨by omega, by a\n                      b⟩\n"),
    ("  exact f (! : T)\n", [ONE], "  exact f ((by omega) : T)\n"),
    ("  simp; ?; simp\n", [AB], "  simp; (a\n         b); simp\n"),
    ("  simp; ?; simp\n", [["have : x := by a"]], "  simp; (have : x := by a); simp\n"),
    ("  simp; ?; simp\n", [ONE], "  simp; omega; simp\n"),
    ("  t <;> ?\n", [ONE], "  t <;> omega\n"),
    ("  t <;> ?\n", [["a <;> b"]], "  t <;> (a <;> b)\n"),
    ("  t <;> ?\n", [AB], "  t <;> (a\n         b)\n"),
    ("  f (by ?) -- c\n", [["a -- no"]], "  f (by a) -- c\n"),
    ("  ∀∀ (by ?)\n", [AB], "  ∀∀ (by a\n         b)\n"),
    ("a := by ?\r\nb := by\r\n  ?\r\n", [AB, ONE], "a := by\r\n  a\r\n  b\r\nb := by\r\n  omega\r\n"),
    ("  calc a = b := by ?\n", [AB], "  calc a = b := by\n         a\n         b\n"),
    ("  where\n    x := by ?\n", [AB], "  where\n    x := by\n      a\n      b\n"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "proofs", "expected"), CASES)
def test_a_place(source: str, proofs: list[list[str]], expected: str) -> None:
    assert filled(source, *proofs) == expected


def test_one_sorry_on_several_goals() -> None:
    source = "  t <;> sorry\n"

    def put_all(*alternatives: list[str]) -> str:
        return put(source, [Place(8, 13, True, alternatives)])

    assert put_all(["a"], ["b"]) == "  t <;> first | a | b\n"
    assert put_all(AB, ["sorry"]) == (
        "  t <;> (first\n           | a\n             b\n           | sorry)\n"
    )


AROUND = st.text(alphabet="ab∀ \n\t()·|=>;-/\"'", max_size=12)


@given(st.lists(AROUND, min_size=2, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5))
def test_what_is_around_stays(texts: list[str], kinds: list[bool]) -> None:
    """Whatever stands around: it is all there afterwards, in order, and so are the proofs."""
    source, places = "", []
    for text, kind in zip(texts[:-1], kinds, strict=False):
        source += text + " "
        places.append(Place(len(source), len(source) + 5, kind, [["one", "two"]]))
        source += "sorry "
    source += texts[-1]
    out = put(source, places)
    rest = re.sub(r"\(?(by\s+)?one\s+two\)?|\bby\b", "", out)
    kept = re.sub(r"\bsorry\b", "", source)
    assert "sorry" not in out
    assert re.sub(r"[\s()]", "", rest) == re.sub(r"[\s()]", "", kept)

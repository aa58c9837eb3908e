"""What of a goal is numbers, for rules that speak of ℝ and ℂ as well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from burnqed.policy.names import mentions
from burnqed.policy.portfolio.reading import Reading, Said, Variable, premises

ORDERED = ("Nat", "Int", "Rat", "Real", "NNReal", "ENNReal", "NNRat")
WITHOUT_NEGATIVES = ("Nat", "NNReal", "ENNReal", "NNRat")
NUMBERS = (*ORDERED, "Complex")
FIELDS = ("Rat", "Real", "Complex", "NNReal")
COMPARED = ("le", "lt", "ge", "gt")
RELATED = (*COMPARED, "eq", "ne")
_MOST = 4  # variables, or hypotheses of a kind, that hints are made of
_LETTERS = re.compile(r"[ℝℂ]")
_NONLINEAR = re.compile(r"[\w)] \* [\w(]|\^|√|⁻¹|/")


def used(r: Reading, *heads: str) -> list[Variable]:
    """Variables of these types that the target or a hypothesis speaks of."""
    return [v for v in r.of_type(*heads) if mentions(v.name, r.all_text)]


def is_numeric(r: Reading) -> bool:
    """Whether numbers are what it is about."""
    return r.arithmetic or bool(r.of_type(*NUMBERS) or _LETTERS.search(r.all_text))


def in_field(r: Reading) -> bool:
    """Whether there is division that does not round, and no order is needed to use it."""
    return bool(used(r, *FIELDS) or _LETTERS.search(r.all_text) or "Rat" in r.all_text)


def is_nonlinear(r: Reading) -> bool:
    return bool(_NONLINEAR.search(r.all_text))


def rounds(r: Reading) -> bool:
    """Whether it speaks of remainders: over those nothing is a polynomial."""
    return bool(re.search(r"%|∣|≡", r.all_text))


def signed(r: Reading) -> list[str]:
    """The ordered numbers that have negatives: those of the target before those of hypotheses alone."""
    found = [v.name for v in used(r, *ORDERED) if v.head not in WITHOUT_NEGATIVES]
    return sorted(found, key=lambda name: not mentions(name, r.target))[:_MOST]


def compared(r: Reading) -> Iterator[tuple[str, str, str, bool]]:
    """Hypotheses `low ≤ high` by name, the latest first; and whether they are strict."""
    for name, said in reversed(r.fact_shapes.items()):
        if said.kind in ("le", "lt"):
            yield name, said.left, said.right, said.kind == "lt"
        elif said.kind in ("ge", "gt"):
            yield name, said.right, said.left, said.kind == "gt"


def signs(r: Reading) -> list[tuple[str, str, bool]]:
    """Hypotheses that something is positive, or not negative: name, what, whether strict."""
    found = [(name, high, strict) for name, low, high, strict in compared(r) if low == "0"]
    return found[:_MOST]


def gaps(r: Reading) -> list[tuple[str, bool]]:
    """Hypotheses that compare two terms, neither of which is 0."""
    return [(name, strict) for name, low, high, strict in compared(r) if "0" not in (low, high)][:_MOST]


def equations_given(r: Reading) -> list[str]:
    """Hypotheses that are equations, the latest first."""
    return [name for name, said in reversed(r.fact_shapes.items()) if said.kind == "eq"][:_MOST]


def conclusion(said: Said) -> str:
    """What kind of proposition is left behind its ∀s and premises."""
    rest = premises(said)[1]
    return rest.kind if rest is not None else "false"


def pairs(items: list[str]) -> list[tuple[str, str]]:
    return list(combinations(items, 2))

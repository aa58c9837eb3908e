"""The shape of a tactic: what is left when names and numbers are taken out."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from burnqed.policy.names import IDENT
from burnqed.policy.ranked.weights import SHAPE_ROWS
from burnqed.policy.ranked.words import bucket

_NUMBER = re.compile(r"\b\d+\b")
_LIST = re.compile(r"\[[^\[\]]*\]")
_ALIKE = re.compile(r"( \| [^|]+)(?:\1)+")  # of `first`
_SUGGESTED = re.compile(r"^exact (?![^\s]+ \.\.$)")
# Words of tactics; all others are names of something in the goal or in the library.
_TACTICS = frozenset({
    "Classical", "False", "ac_rfl", "all_goals", "any_goals", "apply", "assumption", "at",
    "bv_omega", "by", "by_cases", "calc", "cases", "congr", "cons", "constructor", "contradiction",
    "conv", "decide", "exact", "exact?", "exfalso", "exists", "ext", "first", "fun_cases",
    "fun_induction", "funext", "generalize", "generalizing", "grind", "have", "induction",
    "injection", "intro", "intros", "kernel", "left", "match", "native_decide", "nil", "none",
    "norm_cast", "obtain", "omega", "only", "propext", "push_cast", "rcases", "refine", "rename_i",
    "repeat", "revert", "rfl", "right", "rintro", "rw", "rw?", "show", "simp", "simp_all",
    "simp_arith", "simpa", "some", "specialize", "split", "subst", "succ", "symm", "try", "unfold",
    "using", "with", "zero",
})  # fmt: skip


@lru_cache(maxsize=2**16)
def shape_of(tactic: str) -> str:
    """`simp [••••]` of `simp [a, b, c, d]`, `cases _` of `cases xs`, `exact?` of what that found."""
    if tactic == "exact?" or _SUGGESTED.search(tactic):
        return "exact?"
    text = _LIST.sub(_counted, tactic)
    text = IDENT.sub(lambda found: found[0] if found[0] in _TACTICS else "_", text)
    text = _ALIKE.sub(r"\1", _NUMBER.sub("#", text))
    return " ".join(re.sub(r"_(?: _)+", "_", text).split())


def _counted(found: re.Match[str]) -> str:
    """A list by how long it is, about, and whether it rewrites backwards."""
    many = found[0].count(",") + 1
    return f"[{'←' if '←' in found[0] else ''}{'•' * (1 << (many - 1).bit_length())}]"


def shape_row(tactic: str) -> int:
    return bucket(shape_of(tactic), SHAPE_ROWS)


def lemmas_in(tactic: str, known: Collection[str]) -> list[str]:
    """The library's lemmas that a tactic names, each once."""
    return list(dict.fromkeys(name for name in IDENT.findall(tactic) if name in known))

"""Recognises texts that need Mathlib, and gives a hint if it is not loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from burnqed.core.errors import InputError
from burnqed.lean.statement import split_header
from burnqed.lean.tokens import Token, tokenize

# Without Mathlib these are undeclared variables, and Lean may take them for any type.
LETTERS = frozenset("ℕℤℚℝℂ")
SYMBOLS = frozenset("∑∏∫√‖⋃⋂⨆⨅⊓⊔⟶⥤≫⊗≃∮")
WORDS = frozenset({
    "abel", "aesop", "bound", "by_contra!", "choose", "compute_degree", "continuity", "contrapose",
    "contrapose!", "field_simp", "fin_cases", "gcongr", "group", "interval_cases", "lift", "linarith",
    "lemma", "linear_combination", "measurability", "module", "nlinarith", "noncomm_ring", "norm_num",
    "nth_rewrite", "nth_rw", "peel", "polyrith", "positivity", "push_neg", "qify", "rify", "ring",
    "ring1", "ring_nf", "simp_rw", "tauto", "use", "wlog", "zify",
})  # fmt: skip
NAMES = frozenset({
    "AddCommGroup", "AddGroup", "BigOperators", "CategoryTheory", "CommGroup", "CommMonoid", "CommRing",
    "Complex", "Continuous", "Differentiable", "ENNReal", "Equiv", "Even", "Field", "Filter", "Finset",
    "Finsupp", "Fintype", "Function.Bijective", "Function.Injective", "Function.Surjective", "Group",
    "Ideal", "Int.ModEq", "Irrational", "IsCompact", "IsOpen", "IsSquare", "Lattice", "LinearMap",
    "LinearOrder", "Matrix", "MeasureTheory", "Metric", "Module", "Monoid", "Multiset", "NNReal",
    "Nat.Coprime", "Nat.ModEq", "Nat.Prime", "Nat.choose", "Nat.factorial", "Odd", "PartialOrder",
    "Polynomial", "Preorder", "Prime", "Real", "Ring", "Semiring", "Set", "StrictMono", "Subgroup",
    "Topology", "TopologicalSpace", "ZMod",
})  # fmt: skip
_DECLARES = frozenset({"def", "abbrev", "structure", "class", "inductive", "theorem", "instance"})


def mathlib_hint(text: str, failed: bool, modules: Sequence[str] = ()) -> str:
    """A hint if a text uses something that only Mathlib has, else "".

    `modules` are loaded besides its imports. Letters such as ℝ give a hint even if nothing failed,
    because the statement then does not mean what its author intended.
    """
    try:
        source = split_header(text)
    except InputError:
        return ""
    if any(module.split(".")[0] == "Mathlib" for module in (*source.imports, *modules)):
        return ""
    word = next(_words(tokenize(source.body), failed), "")
    if not word:
        return ""
    what = f"`{word}` is from Mathlib"
    if word in LETTERS and not failed:
        what = f"`{word}` is a type of Mathlib; without Mathlib it means any type"
    return (
        f"{what}: use `import Mathlib` and --project with a lake project that has Mathlib; "
        "the embedded Lean has no Mathlib"
    )


def _words(tokens: Sequence[Token], failed: bool) -> Iterator[str]:
    own = {name.text for word, name in pairwise(tokens) if word.text in _DECLARES}
    own |= {name.text for name, colon in pairwise(tokens) if colon.text == ":"}
    for token in tokens:
        parts = token.text.split(".")
        names = {parts[0], ".".join(parts[:2])} if token.kind == "identifier" else {token.text}
        if names & own:
            continue
        if names & LETTERS or (failed and names & (WORDS | SYMBOLS | NAMES)):
            yield token.text

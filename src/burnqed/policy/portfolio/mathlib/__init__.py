"""Rules for a Lean that has Mathlib's tactics: it is asked which it has (`lean.tactic_words`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.mathlib import cases, closing, inequalities, logic, sums
from burnqed.policy.portfolio.reading import Reading

RULES: tuple[Callable[[Reading], Iterable[Rated]], ...] = (
    closing.closers,
    closing.with_hypotheses,
    closing.equations,
    closing.casts,
    closing.properties,
    inequalities.linear,
    inequalities.nonlinear,
    inequalities.quotients,
    inequalities.monotone,
    cases.intervals,
    cases.members,
    cases.roots,
    cases.absolute_values,
    logic.negations,
    logic.both,
    logic.witnesses,
    logic.extensionality,
    sums.sums,
    sums.inductions,
)

# What these rules say that core Lean has no word for.
TACTICS = frozenset({
    "abel", "aesop", "bound", "by_contra!", "continuity", "contrapose!", "field_simp", "fin_cases",
    "fun_prop", "gcongr", "group", "interval_cases", "linarith", "linear_combination", "measurability",
    "module", "nlinarith", "noncomm_ring", "norm_num", "positivity", "push_neg", "qify", "ring",
    "ring_nf", "tauto", "use", "zify",
})  # fmt: skip

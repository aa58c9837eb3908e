"""Evaluate two provers on a small set, and compare them."""

import burnqed

THEOREMS = {
    "add_zero": "∀ n : Nat, n + 0 = n",
    "swap": "∀ p q : Prop, p ∧ q → q ∧ p",
}

few = burnqed.evaluate(THEOREMS, policy="portfolio", candidates=1, budgets=[2], workers=1)
more = burnqed.evaluate(THEOREMS, policy="portfolio", candidates=8, budgets=[2], workers=1)
for name, result in (("1 candidate", few), ("8 candidates", more)):
    at = result.largest
    print(f"{name}: {at.solved} of {at.total} within {at.budget} nodes")
(pair,) = burnqed.compare({"1 candidate": few, "8 candidates": more}).pairs
print("only with 8:", ", ".join(pair.budgets[2].gained) or "nothing", "-", pair.budgets[2].verdict)

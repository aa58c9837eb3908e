"""Prove one statement, and print the proof as Lean source."""

import burnqed

found = burnqed.prove("∀ p q : Prop, p ∧ q → q ∧ p", nodes=20)
print(found.said)
if found:
    print(found.proof)

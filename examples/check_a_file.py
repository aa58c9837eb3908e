"""Check a solution against its task: does it prove exactly what was asked, and on which axioms?"""

import burnqed

TASK = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := sorry"
HONEST = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩"
OTHER = "theorem swap (p : Prop) (h : p ∧ p) : p ∧ p := h"  # it states something else

for solution in (HONEST, OTHER):
    for verdict in burnqed.check(solution, against=TASK):
        said = "accepted" if verdict.accepted else f"refused: {verdict.reason}"
        print(f"{verdict.theorem}: {said}; axioms: {verdict.rests_on}")

"""Step through a proof by hand: states have goals, and a tactic that fails is a value."""

import burnqed

STATEMENT = "∀ p q : Prop, p ∧ q → q"

with burnqed.Lean() as lean:
    state = lean.start(STATEMENT)
    for tactic in ("intro p q h", "exact h.1", "exact h.2"):
        outcome = lean.apply(state, tactic)
        match outcome:
            case burnqed.Advanced(state):
                (goal,) = state.goals
                known = ", ".join(f"{h.name} : {h.type}" for h in goal.hypotheses)
                print(f"{tactic}: now {known} ⊢ {goal.target}")
            case burnqed.Closed():
                print(f"{tactic}: no goal is left")
            case burnqed.Rejected(error):
                print(f"{tactic}: refused, {error.splitlines()[0]}")
    # No goal is left; whether that is a proof is for the judge to say.
    print("accepted:", lean.judge(STATEMENT, ["intro p q h", "exact h.2"]).accepted)

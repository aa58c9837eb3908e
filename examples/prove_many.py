"""Prove many statements with one prover: Lean is started once."""

import burnqed

STATEMENTS = [
    "∀ n : Nat, n + 0 = n",
    "∀ a b : Nat, a < b → ¬ b < a",
    "∀ n : Nat, n = n + 1",  # false, and that is found out as well
]

with burnqed.Prover(nodes=8, policy="portfolio") as prover:
    for found in prover.prove_many(STATEMENTS):
        match found:
            case burnqed.Proved():
                print("proved:", found.statement, "by", "; ".join(found.tactics))
            case burnqed.Refuted():
                print("false:", found.statement, "at", found.counterexample)
            case _:
                print(found.said)

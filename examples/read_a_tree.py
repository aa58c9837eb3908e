"""Read what a search tried: nodes are goals, edges are tactics, and a proof is a path of edges."""

import burnqed

found = burnqed.prove("∀ p q : Prop, p ∧ q → q ∧ p", nodes=8, policy="portfolio")
assert found.tree is not None
for node in found.tree.nodes:
    print(f"{node.id} ({node.status.value}): {node.goals[0].target}")
    worked = [edge.candidate.tactic for edge in node.edges if edge.result in ("closed", "advanced")]
    print(f"  {len(node.edges)} tactics tried; these worked: {', '.join(worked[:4])}")

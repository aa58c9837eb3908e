"""What `prove --explain` says: the states that each search could choose between, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.text import Text

from burnqed.cli import tables
from burnqed.core import screen
from burnqed.search.events import Started
from burnqed.search.explanation import Choice, Led, choices
from burnqed.search.scoring import Scoring

_STATUS = {"proved": "proved", "failed": "dead end", "open": "open", "expanded": "expanded"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The searches so far: more may begin, and those that did may go on."""

    searches: Sequence[Started]
    scoring: Scoring

    def to_json(self) -> dict[str, Any]:
        return {
            "scoring": {
                "alpha": self.scoring.policy_weight,
                "beta": self.scoring.energy_weight,
                "length_power": self.scoring.length_power,
            },
            "searches": [
                {
                    "theorem": search.theorem.name,
                    "choices": [asdict(choice) for choice in choices(search.tree)],
                }
                for search in self.searches
            ],
        }

    def show(self) -> None:
        """Print it on stderr, where words go: stdout has the Lean text."""
        out = screen.console(stderr=True)
        out.print(_formula(self.scoring))
        out.print("of all open states, the one with the highest score is expanded next")
        for search in self.searches:
            found = choices(search.tree)
            orders = {choice.node: choice.order for choice in found}
            out.print(
                f"\n{search.theorem.name}: {len(found)} of {len(search.tree.nodes)} states expanded"
            )
            for choice in found:
                out.print(_head(choice))
                out.print(Text(choice.state))
                if choice.led:
                    out.print(_table(choice.led, orders))
                if choice.others:
                    listed = ", ".join(f"{count} {result}" for result, count in choice.others.items())
                    out.print(f"other tactics: {listed}")


def _formula(scoring: Scoring) -> str:
    path = f"log-probability of the path / steps^{scoring.length_power:g}"
    if not scoring.energy_weight:
        weight = "" if scoring.policy_weight == 1 else f"{scoring.policy_weight:g} × "
        return f"score = {weight}{path}"
    return f"score = {scoring.policy_weight:g} × {path} - {scoring.energy_weight:g} × energy"


def _head(choice: Choice) -> str:
    facts = [f"state {choice.node} at depth {choice.depth}"]
    if choice.path_length:
        facts.append(f"log-probability {choice.path_logprob:.3f} over {choice.path_length} steps")
    if choice.energy is not None:
        facts.append(f"energy {choice.energy:.3f}")
    facts.append(f"score {choice.score:.3f}")
    return f"\n{choice.order}. {', '.join(facts)}: {_STATUS[choice.status]}"


def _table(led: Sequence[Led], orders: dict[int, int]) -> Any:
    titles = ("state", "tactic", "log-probability", "of the path", "steps", "energy", "score", "became")
    table = tables.folding(*titles)
    for one in led:
        if one.node is None:
            table.add_row("", Text(one.tactic), f"{one.logprob:.3f}", "", "", "", "", "closes the goal")
            continue
        became = _STATUS[one.status]
        if one.node in orders:
            became += f" ({orders[one.node]}.)"
        also = f" (with {one.states - 1} more)" if one.states > 1 else ""
        table.add_row(
            str(one.node), Text(one.tactic + also), f"{one.logprob:.3f}", _figure(one.path_logprob),
            str(one.path_length), _figure(one.energy), _figure(one.score), became,
        )  # fmt: skip
    return table


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

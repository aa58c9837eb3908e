"""A live view of a search on a terminal, and a summary when it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from burnqed.core import screen
from burnqed.search.events import Event, Expanded, Started
from burnqed.search.script import way_to
from burnqed.search.tree import Node, Status

_LINES = 14  # shown of a state


def drawn(draw: Callable[[], Group]) -> AbstractContextManager[object]:
    """Draw again and again on stderr, if that is a terminal."""
    console = screen.console(stderr=True)
    if not console.is_terminal:
        return nullcontext()
    return Live(console=console, refresh_per_second=4, transient=True, get_renderable=draw)


def panel(head: str, text: str) -> Panel:
    return Panel(Text(clip(text)), title=Text(head), title_align="left")


class SearchView:
    """An event sink that shows the search on stderr if that is a terminal."""

    def __init__(self) -> None:
        self.begun: list[Started] = []  # every search, also the second one for a theorem
        self._searches: dict[str, Started] = {}
        self._best: dict[str, Node] = {}

    def shown(self) -> AbstractContextManager[object]:
        return drawn(self._draw)

    def __call__(self, event: Event) -> None:
        name = event.theorem.name
        match event:
            case Started():
                self.begun.append(event)
                self._searches[name] = event
                self._best[name] = event.tree.root
            case Expanded(node=node):
                self._best[name] = node

    def _draw(self) -> Group:
        panels = []
        for name, search in list(self._searches.items())[-2:]:
            node, meter = self._best[name], search.meter
            budget = f"{meter.nodes}/{meter.budget.nodes} nodes"
            head = f"{name}: {budget}, {len(search.tree.nodes)} states, {meter.seconds:.0f} s"
            panels.append(panel(head, node.text))
        return Group(*panels)

    def learnt(self) -> str:
        """What each search has seen so far, with its most promising open state."""
        lines = []
        for name, search in self._searches.items():
            nodes = search.tree.nodes
            count = {status: sum(n.status is status for n in nodes) for status in Status}
            # Where a tactic could not be tried, nothing is known about the state.
            cut = sum(
                n.status is Status.FAILED and any(e.result == "lost" for e in n.edges) for n in nodes
            )
            lines.append(
                f"{name}: {search.meter.nodes} nodes expanded in {search.meter.seconds:.1f} s, "
                f"{len(nodes)} states seen ({count[Status.PROVED]} proved, "
                f"{count[Status.FAILED] - cut} dead ends, {count[Status.OPEN] + cut} open)"
            )
            best = _best_open(nodes, search)
            if best is not None:
                lines += [f"best open state, at depth {best.depth}:", indent(clip(best.text), "    ")]
                lines += ["the steps to it:", *_way(best)] if best.depth else []
        return "\n".join(lines)


def _best_open(nodes: list[Node], search: Started) -> Node | None:
    found = [n for n in nodes if n.status is Status.OPEN and search.tree.wanted(n)]
    return max(found, key=lambda n: n.score, default=None)


def _way(node: Node) -> list[str]:
    """The tactics that lead to a node. Each acts on the first goal unless it names another."""
    lines: list[str] = []
    number = 0
    for step in way_to(node)[0]:
        number += not step.bridge
        head = "     " if step.bridge else f"{number:>3}. "
        where = f"on goal {step.goals[0] + 1}: " if step.goals[0] else ""
        lines.append(head + indent(where + step.tactic, "     ").lstrip())
    return lines


def clip(text: str) -> str:
    lines = text.split("\n")
    return "\n".join(lines if len(lines) <= _LINES else [*lines[: _LINES - 1], "…"])


def indent(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))

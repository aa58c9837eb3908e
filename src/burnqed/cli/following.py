"""The live view of a search at a server, and its summary: as `live`, from the server's events."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rich.console import Group

from burnqed.cli.live import clip, drawn, indent, panel
from burnqed.search.shown import Edge, Node
from burnqed.serve.events import Answered, Begun, Expanded, JobEvent, Searching, Unanswered


class _Search:
    """What events have told of one search."""

    def __init__(self, theorem: str) -> None:
        self.theorem = theorem
        self.spent, self.seconds = 0, 0.0
        self.nodes: dict[int, Node] = {}
        self._made_by: dict[int, Edge] = {}  # the first tactic that led to a state
        self._goals: dict[int, tuple[str, ...]] = {}
        self._latest = 0

    def begun(self, event: Searching) -> None:
        self.nodes.update((node.id, node) for node in event.nodes)

    def expanded(self, event: Expanded) -> None:
        self.spent, self.seconds = event.spent, event.at
        self._latest, self._goals[event.node] = event.node, event.goals
        self.nodes.update((node.id, node) for node in event.nodes)
        for edge in event.edges:
            for child in edge.children:
                self._made_by.setdefault(child, edge)

    @property
    def latest(self) -> str:
        return self._text(self._latest)

    def best_open(self) -> Node | None:
        """The most promising state that a proof may still need."""
        found = [node for node in self.nodes.values() if self._wanted(node)]
        return max(found, key=lambda node: node.score or float("-inf"), default=None)

    def learnt(self) -> list[str]:
        closed = sum(node.closed is not None for node in self.nodes.values())
        failed = sum(node.closed is None and node.failed is not None for node in self.nodes.values())
        lines = [
            f"{self.theorem}: {self.spent} nodes expanded in {self.seconds:.1f} s, "
            f"{len(self.nodes)} states seen ({closed} proved, {failed} dead ends, "
            f"{len(self.nodes) - closed - failed} open)"
        ]
        best = self.best_open()
        if best is not None:
            lines += [f"best open state, at depth {best.depth}:", indent(self._text(best.id), "    ")]
            steps = self._way(best)
            lines += ["the steps to it:"] if steps else []
            lines += [f"{n:>3}. {indent(one, '     ').lstrip()}" for n, one in enumerate(steps, 1)]
        return lines

    def _wanted(self, node: Node | None) -> bool:
        while node is not None and node.closed is None and node.failed is None:
            if node.parent is None:
                return True
            node = self.nodes.get(node.parent)
        return False

    def _way(self, node: Node) -> list[str]:
        tactics: list[str] = []
        at = node.id
        while at in self._made_by and len(tactics) < len(self.nodes):
            tactics.append(self._made_by[at].tactic)
            at = self._made_by[at].source
        return tactics[::-1]

    def _text(self, id: int) -> str:
        """A state's goals; of one that was not expanded, the server told its first target only."""
        if id in self._goals:
            return clip("\n\n".join(self._goals[id]))
        node = self.nodes.get(id)
        return f"⊢ {node.line}" if node is not None and node.line else ""


class FollowView:
    """Hears the events of a job, and shows its searches on stderr if that is a terminal."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waits = True
        self._searches: dict[int, _Search] = {}
        self._left_out = 0

    def shown(self) -> AbstractContextManager[object]:
        return drawn(self._draw)

    def __call__(self, event: JobEvent) -> None:
        match event:
            case Begun():
                self._waits = False
            case Searching(search=number):
                self._searches = {**self._searches, number: _Search(event.theorem)}
                self._searches[number].begun(event)
            case Expanded(search=number) if number in self._searches:
                self._searches[number].expanded(event)
            case Answered(left_out=left_out) | Unanswered(left_out=left_out):
                self._left_out = left_out

    def learnt(self) -> str:
        """What each search has seen so far, with its most promising open state."""
        lines = [line for search in self._searches.values() for line in search.learnt()]
        if self._left_out:
            lines.append(f"(the server left out {self._left_out} events, so there was more)")
        return "\n".join(lines)

    def _draw(self) -> Group:
        if not self._searches:
            waits = "waits for its turn" if self._waits else "the search begins"
            return Group(panel(self._url, waits))
        return Group(
            *(
                panel(
                    f"{one.theorem}: {one.spent} nodes, {len(one.nodes)} states, {one.seconds:.0f} s",
                    one.latest,
                )
                for one in list(self._searches.values())[-2:]
            )
        )

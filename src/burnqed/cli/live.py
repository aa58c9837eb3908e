"""A live view of a search on a terminal, and a summary when it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from burnqed.core import screen
from burnqed.evaluation.times import Times
from burnqed.search.events import Activity, Doing, Event, Expanded, Started, Tried
from burnqed.search.script import way_to
from burnqed.search.tree import Node, Status

_LINES = 14  # shown of a state
_TACTIC = 90  # characters shown of one
_SEARCHES = 2  # shown at once: those that began last


def drawn(draw: Callable[[], Group]) -> AbstractContextManager[object]:
    """Draw again and again on stderr, if that is a terminal."""
    console = screen.console(stderr=True)
    if not console.is_terminal:
        return nullcontext()
    return Live(console=console, refresh_per_second=4, transient=True, get_renderable=draw)


def panel(head: str, text: str) -> Panel:
    return Panel(Text(text), title=Text(head), title_align="left")


class SearchView:
    """An event sink that shows what is done, on stderr if that is a terminal."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self.times = Times(clock)
        self._clock = clock
        self._doing: dict[str, tuple[Doing, float]] = {}  # and since when
        self.begun: list[Started] = []  # every search, also the second one for a theorem
        self._searches: dict[str, Started] = {}
        self._best: dict[str, Node] = {}

    def shown(self) -> AbstractContextManager[object]:
        return nullcontext() if self._quiet else drawn(self.drawn)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """While a prover is assembled. That may have bars of its own, so this is only a line."""
        loading: Activity = "loading rules and lemmas"
        console = screen.console(stderr=True)
        if console.is_terminal and not self._quiet:
            console.print(Text(loading, style="dim"))
        self.times(Doing("", loading))
        yield
        self.times(Doing("", "done"))

    def __call__(self, event: Event) -> None:
        self.times(event)
        match event:
            case Started(theorem=theorem):
                self.begun.append(event)
                self._searches[theorem.name] = event
                self._best[theorem.name] = event.tree.root
            case Expanded(theorem=theorem, node=node):
                self._best[theorem.name] = node
            case Doing(name=name, activity="done"):
                self._doing.pop(name, None)
            case Doing(name=name):
                if event.node is not None:
                    self._best[name] = event.node
                self._doing[name] = event, self._clock()
            case Tried():
                pass

    def drawn(self) -> Group:
        latest = list(self._doing.values())[-_SEARCHES:]  # a copy: drawn in a thread of its own
        return Group(*(panel(*self._seen(doing, since)) for doing, since in latest))

    def _seen(self, doing: Doing, since: float) -> tuple[str, str]:
        """How far the attempt at a theorem is; the goal and the tactics in hand."""
        name = doing.name
        search = self._searches.get(name)
        activity = f"{doing.activity}, {self._clock() - since:.0f} s"
        if search is None:
            return name, activity
        meter = search.meter
        limit = "" if meter.budget.seconds is None else f" of {meter.budget.seconds:.0f}"
        head = f"{name}: {meter.seconds:.0f}{limit} s, {meter.nodes}/{meter.budget.nodes} nodes"
        goal = clip(self._best[name].text)
        head = f"{head}, {len(search.tree.nodes)} states"
        return head, "\n".join([goal, "", activity, *_listed(doing.tactics)])

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


def _listed(tactics: Sequence[str]) -> list[str]:
    """Each in a line of its own."""
    lines = [" ".join(tactic.split()) for tactic in tactics]
    return [f"  {one if len(one) <= _TACTIC else one[: _TACTIC - 1] + '…'}" for one in lines]


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

"""A view of a whole run: an iteration's stages, their outcomes, and the last line of the active one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from burnqed.core import screen
from burnqed.iteration.history import BASELINE
from burnqed.iteration.specs import Stage

_MARKS = {
    "done": "✓",
    "dropped": "✓",
    "skipped": "–",
    "failed": "✗",
    "stopped": "■",
    "running": "▶",
    "": " ",
}


class RunView:
    """A live table on a terminal; elsewhere a line when a stage begins or ends."""

    def __init__(self, planned: Callable[[int], Sequence[tuple[Stage, str]]]) -> None:
        """`planned` gives the stages of an iteration, each with its earlier outcome, or ""."""
        self._console = screen.console(stderr=True)
        terminal = self._console.is_terminal
        self._live = Live(console=self._console, refresh_per_second=2) if terminal else None
        self._planned = planned
        self._began = time.monotonic()
        self._stages: dict[tuple[int, str], tuple[str, float, str]] = {}  # how, seconds, last word
        self._iteration = BASELINE
        self._stage_began = 0.0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)

    def begun(self, stage: Stage, log: Path) -> None:
        self._iteration, self._stage_began = stage.iteration, time.monotonic()
        self._stages[stage.key] = ("running", 0.0, "")
        self._line(f"{_label(stage)}: begun, log {log}")
        self._refresh()

    def looked(self, stage: Stage, last_line: str) -> None:
        self._stages[stage.key] = ("running", time.monotonic() - self._stage_began, last_line)
        self._refresh()

    def ended(self, stage: Stage, how: str, why: str) -> None:
        began = self._stage_began if stage.key in self._stages else time.monotonic()
        seconds = time.monotonic() - began
        self._stages[stage.key] = (how, seconds, why)
        self._line(f"{_label(stage)}: {how} after {duration(seconds)}" + (f" ({why})" if why else ""))
        self._refresh()

    def _line(self, text: str) -> None:
        if self._live is None:
            print(text, file=sys.stderr, flush=True)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._table())

    def _table(self) -> Group:
        table = Table(Column(""), Column("stage", no_wrap=True), Column("time", justify="right"), "")
        for stage, before in self._planned(self._iteration):
            how, seconds, said = self._stages.get(stage.key, (before, 0.0, ""))
            shown = duration(seconds) if stage.key in self._stages else ""
            last = Text(said, overflow="ellipsis", no_wrap=True)
            table.add_row(_MARKS.get(how, " "), stage.name, shown, last)
        name = "baseline" if self._iteration == BASELINE else f"iteration {self._iteration}"
        head = Text(f"{name}, {duration(time.monotonic() - self._began)} in all; Ctrl-C saves")
        return Group(head, table)


def duration(seconds: float) -> str:
    """1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _label(stage: Stage) -> str:
    name = "baseline" if stage.iteration == BASELINE else f"iteration {stage.iteration}"
    return f"{name}: {stage.name}"

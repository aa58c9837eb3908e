"""Options of the commands that work through a set of theorems, and how these end."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer

from burnqed.cli import tables
from burnqed.cli.progress import SetProgress
from burnqed.evaluation.run import LEAN_ERRORS

SetArgument = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="A benchmark's name (`burn-qed data benchmarks`), or an INDEX.json."
    ),
]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="SET",
        help="Leave out the theorems of this set, by name and by what they state; repeatable.",
    ),
]


class Stop:
    """Set by the first Ctrl-C or SIGTERM. The second Ctrl-C is Python's own; a second SIGTERM is not:
    a machine that shuts down sends it to everybody, and who runs a command hands it on as well.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.signal: signal.Signals | None = None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._set, number)

    def _set(self, number: signal.Signals) -> None:
        self.signal = self.signal or number
        self.event.set()
        if number == signal.SIGINT:
            asyncio.get_running_loop().remove_signal_handler(number)


class SetWatch:
    """Warnings and bars on stderr; Ctrl-C and SIGTERM stop."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._stop: Stop | None = None

    @property
    def signal(self) -> signal.Signals:
        """What stopped it."""
        came = self._stop.signal if self._stop else None
        return came or signal.SIGTERM

    def warn(self, problem: str) -> None:
        tables.warn(problem)

    def stopping(self) -> asyncio.Event:
        self._stop = Stop()
        return self._stop.event

    def bar(self, total: int, done: int, label: str = "") -> SetProgress:
        return SetProgress(total, done, self._shown, label)


def end(errors: set[str]) -> typer.Exit:
    """What a set's errors come to, by kind: Lean's failures weigh more than wrong statements.

    A find that the judge refused is neither: the theorem was searched, running again will not help, and
    the tables have it as an error.
    """
    if errors & LEAN_ERRORS:
        typer.echo("Lean failed some theorems: --resume searches these again", err=True)
    if "refused" in errors:
        typer.echo("the judge refused some finds: they are errors, and not proved", err=True)
    if errors - {"refused", "statement", "unreadable"}:
        return typer.Exit(3)
    return typer.Exit(2 if errors - {"refused"} else 0)

"""Options of the commands that work through a set of theorems."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from burnqed.cli import compose
from burnqed.core.errors import InputError
from burnqed.data.benchmarks import theorem_set
from burnqed.data.index import TheoremIndex
from burnqed.evaluation.run import LEAN_ERRORS

SetArgument = Annotated[
    str,
    typer.Argument(
        metavar="SET", help="A benchmark's name (`burn-qed data benchmarks`), or an INDEX.json."
    ),
]
SplitOption = Annotated[
    str | None, typer.Option("--split", help="Only this split of the set: train, val or test.")
]
LeakRuleOption = Annotated[
    str | None,
    typer.Option(help="For library theorems, instead of the set's own rule: self or module."),
]
IterationOption = Annotated[
    int,
    typer.Option("--iteration", min=0, help="Of expert iteration, which one it is for; kept with it."),
]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="SET",
        help="Leave out the theorems of this set, by name and by what they state; repeatable.",
    ),
]
DepthOption = Annotated[int, typer.Option(min=1, help="Steps from the statement, at most.")]
SecondsOption = Annotated[
    float | None,
    typer.Option(min=0.1, help="Limit per theorem; results then depend on the machine's speed."),
]


def chosen(given: str, leak_rule: str | None, split: str | None) -> TheoremIndex:
    """The set that the options mean. One without a theorem is a mistake, whatever it is for."""
    rule = None if leak_rule is None else compose.leak_rule(leak_rule)
    index = theorem_set(given, rule, split)
    if not index.entries:
        raise InputError(
            f"{given} has no theorem in it",
            hint='an index is {"theorems": [{"name": …, "statement": …}, …]}: `burn-qed data index`',
        )
    return index


def modules_of(index: TheoremIndex, imports: list[str] | None) -> tuple[str, ...]:
    """What Lean has to have loaded for a set."""
    return tuple(dict.fromkeys(["Init", *(imports or ()), *index.imports]))


def check_out(out: Path) -> None:
    """Whether a run's directory can be there at all, before anything is set up for it."""
    for place in (out, *out.parents):
        if os.path.isfile(place):  # noqa: PTH113  (it does not raise where it may not look)
            raise InputError(f"{place} is a file", hint="give a directory with --out")


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


def read_budgets(text: str) -> tuple[int, ...]:
    """`10,30,100`, in order and each once."""
    try:
        budgets = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        budgets = (0,)
    if min(budgets) < 1:
        raise InputError(f"no budgets: {text}", hint="numbers of nodes, such as 10,30,100")
    return budgets

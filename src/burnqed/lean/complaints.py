"""Lean's errors in a file, with their commands and positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from burnqed.lean.compiling import Compiled
from burnqed.lean.statement import declarations


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error of a file. Lines count from 1 and columns from 0, in characters, as Lean does.

    `command` is the index of its command; None outside of commands.
    """

    line: int
    column: int
    text: str
    command: int | None = None

    @property
    def said(self) -> str:
        return f"{self.line}:{self.column}: {self.text}"


def complaints(compiled: Compiled, file: str) -> tuple[Complaint, ...]:
    """The errors of a file in order; within a command, those of the parser first."""
    commands, lines = compiled.reply.commands, file.split("\n")
    starts = list(accumulate((len(line.encode()) + 1 for line in lines), initial=0))
    owners = [index for index, c in enumerate(commands) for _ in range(c.messages)]
    found = []
    for message, owner in zip_longest(compiled.reply.messages, owners):
        if message is None:
            raise IndexError("more messages of commands than there are")
        if message.severity == "error":
            line, column = message.pos.line, message.pos.column
            at = starts[line - 1] + len(lines[line - 1][:column].encode())
            # Text that was skipped before a command does not belong to it.
            own = owner is not None and at >= commands[owner].first
            text = message.data.strip()
            if text == "unknown tactic" and (word := _word_at(lines[line - 1], column)):
                text = f"unknown tactic `{word}`"  # Lean only says where
            found.append(Complaint(line, column, text, owner if own else None))
    for death in compiled.deaths:
        line = file.encode()[: death.start].count(b"\n") + 1
        found.append(Complaint(line, 0, f"this command crashes Lean every time: {death.why}"))
    return tuple(sorted(found, key=lambda error: error.line) if compiled.deaths else found)


def _word_at(line: str, column: int) -> str:
    """The word at a position."""
    return next(
        (m.group() for m in re.finditer(r"[\w.?!']+", line) if m.start() <= column < m.end()), ""
    )


def deaths_by_name(compiled: Compiled, file: str) -> dict[str, str]:
    """The theorems of a file that crash Lean, and how."""
    return {
        name: death.why
        for name, at in declared(file)
        for death in compiled.deaths
        if death.start <= at < death.end
    }


def places(commands: Sequence[tuple[int, int]], file: str) -> dict[str, list[int]]:
    """For each theorem's name, the commands (given by bytes) that declare it."""
    starts = [start for start, _ in commands]
    found: dict[str, list[int]] = {}
    for name, at in declared(file):
        index = bisect_right(starts, at) - 1
        if index >= 0 and at < commands[index][1]:
            found.setdefault(name, []).append(index)
    return found


def declared(file: str) -> Iterator[tuple[str, int]]:
    """The theorems of a file, with the bytes where they begin."""
    at = bytes_before = 0
    for declaration in declarations(file, private=True):
        bytes_before += len(file[at : declaration.at].encode())
        at = declaration.at
        yield bare(declaration.name), bytes_before


def bare(name: str) -> str:
    """A name without quotes («»), for comparisons."""
    return name.replace("«", "").replace("»", "")

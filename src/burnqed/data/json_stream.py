"""JSON row by row: the values of a long array, without the whole file in memory.

Published sets are arrays of hundreds of megabytes, of which each element is small. An element is
decoded as soon as all of it has been read; what is in memory is one element and one block.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

BLOCK = 1 << 20  # characters
LONGEST = 1 << 26  # characters of one value: more is a file that is broken, or no list of rows
# A literal or an escape that a block's end cuts in two is reported at most so far before that end.
_CUT = 12


class NotAList(ValueError):
    """It is JSON, and no list."""


def first_value(file: TextIO) -> Any:
    """The first value: the first row of JSON lines, or of an array; the whole of another file."""
    window = _Window(file)
    if window.peek() == "[":
        window.at += 1
        if window.peek() == "]":
            return None
    return window.value()


def elements(file: TextIO) -> Iterator[tuple[int, Any]]:
    """The elements of an array, each with its number, counted from 1.

    What is wrong is a `ValueError` that says what, and in which row.
    """
    window = _Window(file)
    if window.peek() != "[":
        window.value()
        raise NotAList("it is not a list")
    yield from _elements(window)


def _elements(window: _Window) -> Iterator[tuple[int, Any]]:
    window.at += 1
    number = 0
    if window.peek() != "]":
        while True:
            number += 1
            try:
                value = window.value()
            except ValueError as error:
                raise ValueError(f"row {number}: {error}") from error
            yield number, value
            mark = window.peek()
            window.at += 1
            if mark == "]":
                break
            if mark != ",":
                found = repr(mark) if mark else "the end of the file"
                raise ValueError(f"after row {number} ',' or ']' is expected, and not {found}")
    else:
        window.at += 1
    if window.peek():
        raise ValueError(f"something follows the list: {window.peek()!r}")


class _Window:
    """The part of a file that is being decoded."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._ended = False
        self._decoder = json.JSONDecoder()
        self.text = ""
        self.at = 0

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in " \t\r\n":
                    return self.text[self.at]
                self.at += 1
            if self._ended:
                return ""
            self._more(BLOCK)

    def value(self) -> Any:
        """The value that begins here."""
        self.peek()
        size = BLOCK
        while True:
            try:
                value, end = self._decoder.raw_decode(self.text, self.at)
                # Only a number could go on in the next block; `1.` and `1e` are read as 1.
                after = self.text[end : end + 1]
                whole = isinstance(value, dict | list | str) or (after and after not in ".eE")
                if whole or self._ended:
                    self.at = end
                    return value
            except json.JSONDecodeError as error:
                if self._ended or not _cut_short(error, self.text):
                    early = error.msg.startswith("Unterminated") or not self.text[error.pos :].strip()
                    said = "it ends too early" if early else error.msg
                    raise ValueError(said) from error
            except RecursionError as error:
                raise ValueError("it is nested too deeply") from error
            if len(self.text) - self.at > LONGEST:
                raise ValueError(f"one value has more than {LONGEST:,} characters")
            self._more(size)
            size *= 2

    def _more(self, size: int) -> None:
        block = self._file.read(size)
        self._ended = not block
        self.text = self.text[self.at :] + block
        self.at = 0


def _cut_short(error: json.JSONDecodeError, text: str) -> bool:
    """Whether the value may be fine, and only the end of it has not been read yet."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - _CUT

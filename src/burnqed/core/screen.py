"""Printing text of files and of Lean so that nothing in it acts on the terminal.

Names, messages and file names come from anybody. They may move the cursor, set colours or change the
reading direction: a file could paint "accepted" below its own refusal. So everything printed goes
through `visible`: stdout and stderr while `shown` lasts, and every `console`. Nothing is lost: an
invisible character is written as JSON would escape it, so that JSON stays the same.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import lru_cache
from typing import IO, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

_WIDE = 1000  # columns without a terminal: names in a file or a pipe must not wrap
_PLAIN = re.compile(r"[^\n\t\x20-\x7e]")


@lru_cache(maxsize=1024)
def _written(char: str) -> str:
    """Control and format characters, line separators and lone surrogates, escaped."""
    if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def visible(text: str) -> str:
    """The text without anything that a terminal would obey. Line breaks and tabs stay."""
    return _PLAIN.sub(lambda found: _written(found.group()), text)


class _Shown:
    """A stream that makes what is written to it visible. Rich writes to the stream below it."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        return self.rich_proxied_file.write(visible(text))

    def writelines(self, lines: Iterable[str]) -> None:
        self.rich_proxied_file.writelines(map(visible, lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def shown() -> Iterator[None]:
    """Make everything visible that is printed meanwhile."""
    out, err = (cast(TextIO, _Shown(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def write_exactly(text: str) -> None:
    """Print Lean source and a line end to stdout, unchanged if that is a file or a pipe."""
    stream = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
    text = text if text.endswith("\n") else f"{text}\n"
    stream.write(visible(text) if stream.isatty() else text)
    stream.flush()


def _visible_text(text: Text) -> Text:
    """The highlighted text."""
    hidden = [m.span() for m in _PLAIN.finditer(text.plain) if _written(m.group()) != m.group()]
    if not hidden:
        return text
    shown = text.blank_copy()
    for part in text.divide([at for span in hidden for at in span]):
        seen = visible(part.plain)
        if seen != part.plain:
            spans, part = part.spans, part.blank_copy(seen)
            for span in spans:
                part.stylize(span.style)
        shown.append_text(part)
    return shown


class _Screen(Console):
    """A console that shows text without reading markup in it: `simp [h]` is a tactic."""

    @property
    def file(self) -> IO[str]:
        file = super().file
        while (below := getattr(file, "rich_proxied_file", None)) is not None:
            file = below  # a live display puts a stream of its own over ours
        return file

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        if isinstance(renderable, str):
            renderable = self.render_str(renderable)
        if isinstance(renderable, Text):  # before it is folded into lines
            renderable = _visible_text(renderable)
        for segment in super().render(renderable, options):
            is_text = segment.control is None
            yield Segment(visible(segment.text), segment.style) if is_text else segment


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr. Wide content is only folded on a terminal."""
    found = _Screen(stderr=stderr, markup=False, emoji=False)
    if stderr or found.is_terminal:
        return found
    return _Screen(markup=False, emoji=False, width=_WIDE)

"""What people see: text of files and of Lean, in which nothing acts on the terminal.

Names, messages and file names come from anybody, and may hold what moves the cursor, paints a colour or
turns the reading direction: a file could paint "accepted" below its own refusal. So whatever is printed
goes through `visible`: standard output and error while `shown` lasts, and every `console`. Nothing is
lost: a character that is not to be seen stands there as JSON would write it, so JSON stays what it is.
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

_WIDE = 1000  # columns where there is no terminal: nobody wraps names in a file or a pipe
_PLAIN = re.compile(r"[^\n\t\x20-\x7e]")


@lru_cache(maxsize=1024)
def _written(char: str) -> str:
    """Control and format characters, separators of lines, halves of pairs: by their numbers."""
    if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would obey; lines and tabs stay."""
    return _PLAIN.sub(lambda found: _written(found.group()), text)


class _Shown:
    """A stream that shows what is written to it. Rich writes to the one below, by its name for it."""

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
    """All that is printed meanwhile is made visible."""
    out, err = (cast(TextIO, _Shown(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def write_exactly(text: str) -> None:
    """Lean source to standard output, as it is where that is a file or a pipe, and a line end."""
    stream = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
    text = text if text.endswith("\n") else f"{text}\n"
    stream.write(visible(text) if stream.isatty() else text)
    stream.flush()


def _visible_text(text: Text) -> Text:
    """The same in its colours."""
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
    """A console that shows text, and takes no markup from it: a tactic such as `simp [h]` is none."""

    @property
    def file(self) -> IO[str]:
        file = super().file
        while (below := getattr(file, "rich_proxied_file", None)) is not None:
            file = below  # what is live puts a stream of its own over ours
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
    """Standard output, or error; what is wide is only folded where somebody looks at it."""
    found = _Screen(stderr=stderr, markup=False, emoji=False)
    if stderr or found.is_terminal:
        return found
    return _Screen(markup=False, emoji=False, width=_WIDE)

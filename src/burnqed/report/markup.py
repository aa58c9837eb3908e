"""HTML by Jinja2. All text is escaped, except `Markup`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

# Characters that JSON may hold, but HTML or UTF-8 may not.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def fit(text: str) -> str:
    """The text, with characters replaced that a page cannot hold."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def _fit(value: Any) -> Any:
    return fit(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = Environment(
    loader=PackageLoader("burnqed.report"), autoescape=True, undefined=StrictUndefined, finalize=_fit,
    trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
)  # fmt: skip


def whole(template: str, **values: Any) -> str:
    """A whole template."""
    return _TEMPLATES.get_template(template).render(**values)


def made(template: str, macro: str, **values: Any) -> Markup:
    """The output of a template's macro for these values."""
    made: Markup = getattr(_TEMPLATES.get_template(template).module, macro)(**values)
    return made


def join(parts: Iterable[str]) -> Markup:
    return Markup().join(_fit(part) for part in parts)


def code(text: str) -> Markup:
    return made("parts.html", "code", text=text)


def badge(kind: str, text: str) -> Markup:
    return made("parts.html", "badge", kind=kind, text=text)


def paragraph(kind: str, text: str) -> Markup:
    return made("parts.html", "paragraph", kind=kind, text=text)


def subtitle(text: str) -> Markup:
    return made("parts.html", "subtitle", text=text)


def with_below(text: str, below: str) -> Markup:
    """A cell's text, with a small text below it, if any."""
    return made("parts.html", "with_below", text=text, below=below)


def names(links: Iterable[Markup]) -> Markup:
    return made("parts.html", "names", links=list(links))


def part(place: str, title: str, *content: Markup, note: str = "") -> Markup:
    """A part of a page, with a heading for the table of contents."""
    return made("parts.html", "part", place=place, title=title, note=note, content=content)


def more(title: str, *content: Markup, opened: bool = False) -> Markup:
    """Content that is folded away."""
    return made("parts.html", "more", title=title, content=content, opened=opened)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> Markup:
    """A table whose first column names the rows. Columns outside of `left` are numbers."""
    return made("parts.html", "table", head=head, rows=list(rows), left=left)


def facts(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table of facts, without columns of numbers."""
    shown = table(head, rows, left=range(len(head)))
    return made("parts.html", "facts", table=shown)


def header(
    title: str,
    about: Sequence[str],
    state: tuple[str, str, str] | None = None,
    warnings: Sequence[str] = (),
) -> Markup:
    """The beginning of a page. `state` is a badge's kind and text, and what follows it."""
    return made("parts.html", "header", title=title, about=about, state=state, warnings=warnings)

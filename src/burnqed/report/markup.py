"""HTML from Python. Text is escaped unless it says that it is markup, so that nothing is forgotten."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence

# No character of HTML, or none of UTF-8: JSON may hold both.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Markup(str):
    """HTML that stands as it is. Any other string is text."""

    __slots__ = ()


def fit(text: str) -> str:
    """The text, with what no page can hold replaced."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def join(parts: Iterable[str]) -> Markup:
    return Markup("".join(p if isinstance(p, Markup) else html.escape(fit(p)) for p in parts))


def element(tag: str, /, *content: str, **attributes: str | bool) -> Markup:
    """An element. `class_` is `class`, `data_x` is `data-x`; True is an attribute without a value."""
    said = "".join(
        f" {key}" if value is True else f' {key}="{html.escape(fit(value))}"'
        for key, value in ((k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items())
        if value is not False
    )
    return Markup(f"<{tag}{said}>{join(content)}</{tag}>")


def code(text: str) -> Markup:
    return element("code", text)


def badge(kind: str, text: str) -> Markup:
    return element("span", text, class_=f"badge {kind}")


def more(title: str, *content: str, opened: bool = False) -> Markup:
    """What is only shown to who asks for it."""
    return element("details", element("summary", title), *content, class_="more", open=opened)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> Markup:
    """A table whose first column names the rows. Columns that are not in `left` are numbers."""

    def cells(tag: str, contents: Sequence[str]) -> Markup:
        return join(
            element("th", cell, class_=_side(i, left), scope="row")
            if i == 0 and tag == "td"
            else element(tag, cell, class_=_side(i, left))
            for i, cell in enumerate(contents)
        )

    body = join(element("tr", cells("td", row)) for row in rows)
    content = element(
        "table", element("thead", element("tr", cells("th", head))), element("tbody", body)
    )
    return element("div", content, class_="scroll")


def _side(column: int, left: Collection[int]) -> str | bool:
    return False if column in left else "n"

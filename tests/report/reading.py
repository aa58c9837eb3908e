"""A page as a browser would read it, and what every page has to be."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

HOSTILE = [
    "</script><b>x",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "<!-- -->&lt;&amp;",
    "lone \ud800 and \x00 and \x1b[31m",
    "long" * 5000,
]
VOID = {"meta", "input"}


class Parsed(HTMLParser):
    """The elements of a page; unbalanced ones fail."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self.sections: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.inside.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "\n" in data and not data.strip() and "pre" not in self.open:
            return  # a template's line break between two blocks, which no browser shows
        if self.open[-1:] == ["h2"]:
            self.sections[data] = ""
        elif self.sections:
            self.sections[[*self.sections][-1]] += data
        for tag in set(self.open):
            self.inside[tag][-1] += data
        if not {"script", "style"} & set(self.open):
            self.text += data

    def tags(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def section(self, title: str) -> str:
        """The text below a heading, up to the next one."""
        return self.sections[title]

    def check_needs_no_network(self) -> None:
        for tag, attributes in self.elements:
            assert tag not in {"link", "img", "iframe", "object", "embed", "base", "image"}
            assert "src" not in attributes
            href = attributes.get("href")
            assert href is None or href.startswith("#")
            assert not any(re.search(r"url\((?!#)", value or "") for value in attributes.values())
        assert "url(" not in self.inside["style"][0]
        assert "@import" not in self.inside["style"][0]

    def check_places(self) -> None:
        """They are unique, and links lead to them."""
        ids = [str(a["id"]) for _, a in self.elements if "id" in a]
        assert [name for name, times in Counter(ids).items() if times > 1] == []
        for _, attributes in self.elements:
            if attributes.get("href"):
                assert str(attributes["href"])[1:] in ids
            for value in attributes.values():
                assert set(re.findall(r"url\(#([^)]+)\)", value or "")) <= set(ids)

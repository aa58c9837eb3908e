"""The files of a page, read once: so no request can name another file."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

_TYPES = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
}  # fmt: skip
Home = Literal["runs", "playground"]


def pages(home: Home) -> dict[str, tuple[bytes, str]]:
    """Content and media type by path. `/` is the page that is at home there, and there is no other."""
    found = dict(_files(resources.files("burnqed.web").joinpath("static")))
    return {"/": found[f"/{home}.html"]} | {
        path: file for path, file in found.items() if not path.endswith(".html")
    }


def _files(folder: Traversable, above: str = "/") -> list[tuple[str, tuple[bytes, str]]]:
    found: list[tuple[str, tuple[bytes, str]]] = []
    for one in folder.iterdir():
        if one.is_dir():
            found += _files(one, f"{above}{one.name}/")
        elif (kind := _TYPES.get(Path(one.name).suffix)) is not None:
            found.append((f"{above}{one.name}", (one.read_bytes(), f"{kind}; charset=utf-8")))
    return found

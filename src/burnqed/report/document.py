"""The frame of every page: a single HTML file without network, with plots in the page's colours."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from importlib.resources import files
from xml.etree import ElementTree

from markupsafe import Markup

from burnqed.report.drawing import INK, LINE, MUTED, PALETTE, PAPER
from burnqed.report.markup import fit, made, whole

# Plots are drawn for white paper. On the page they take the page's colours, light or dark.
_COLOURS = {PAPER: "paper", INK: "ink", MUTED: "muted", LINE: "line"} | {
    c: f"c{c[1:]}" for c in PALETTE
}


def contents(body: Markup) -> Markup:
    """Links to the page's sections."""
    titles = re.findall(r'<h2 id="([a-z]+)">([A-Za-z ]+)</h2>', body)
    return made("parts.html", "contents", titles=titles)


def inline(svg: str, name: str, caption: str) -> Markup:
    """An SVG file as a part of a page.

    Its identifiers get the plot's name, because the page has other plots. Its namespaces are removed,
    because HTML has no use for them. Its colours become the page's.
    """
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        node.attrib = {key.rpartition("}")[2]: value for key, value in node.attrib.items()}
        for key, value in node.attrib.items():
            if key == "id":
                node.set(key, f"{name}-{value}")
            elif key == "style":
                node.set(key, re.sub("#[0-9a-f]{6}", _themed, value))
            else:
                node.set(key, re.sub(r"^(url\()?#", rf"\g<0>{name}-", value))
    for size in ("width", "height"):
        del root.attrib[size]
    root.set("role", "img")
    root.set("aria-label", fit(caption))
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _themed(colour: re.Match[str]) -> str:
    known = _COLOURS.get(colour[0])
    return f"var(--{known}, {colour[0]})" if known else colour[0]


def figure(svg: str, name: str, caption: str) -> Markup:
    return made("parts.html", "figure", svg=inline(svg, name, caption), caption=caption)


def plots(figures: Iterable[Markup]) -> Markup:
    return made("parts.html", "plots", figures=list(figures))


def document(title: str, body: Markup, script: str = "") -> str:
    """The whole page. `script` is the name of its script, if any."""
    style, code = (_own(name) if name else "" for name in ("page.css", script))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if code else "'none'"
    # Names and proofs come from files of others. If one escaped the escaping, it could do nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    return whole(
        "document.html", title=title, policy=policy, style=Markup(style), body=body, script=Markup(code)
    )


def _own(name: str) -> str:
    return files("burnqed.report").joinpath(name).read_text(encoding="utf-8")

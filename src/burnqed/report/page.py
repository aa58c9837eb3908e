"""A report as one HTML file: no other file, no network, no script that it cannot do without."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from xml.etree import ElementTree

from burnqed.evaluation.compare import count
from burnqed.evaluation.results import Labelled
from burnqed.report import sections
from burnqed.report.markup import Markup, code, element, join
from burnqed.report.plots import INK, LINE, MUTED, PALETTE, PAPER, svg_plots
from burnqed.report.theorems import anchors, rows_of, theorem_list
from burnqed.report.wording import date

_CAPTIONS = {
    "solve_rate_by_nodes": "Proved within so many nodes; dots are the budgets, bands 95% intervals.",
    "solve_rate_by_seconds": "Proved within so many seconds, on the machine that ran it.",
}
# A plot is drawn for white paper. On the page its colours are the page's, light or dark.
_COLOURS = {PAPER: "paper", INK: "ink", MUTED: "muted", LINE: "line"} | {
    c: f"c{c[1:]}" for c in PALETTE
}


def page(labelled: Labelled) -> str:
    """The page about one run, or about several side by side."""
    rows = rows_of(labelled)
    places = anchors(rows)

    def link(name: str) -> Markup:
        if name in places:
            return element("a", code(name), href=f"#{places[name]}")
        return code(name)

    body = join(
        [
            sections.headline(labelled),
            _plots(labelled),
            sections.budgets(labelled),
            sections.groups(labelled),
            sections.differences(labelled, link),
            sections.errors(labelled, link),
            sections.provenance(labelled),
            theorem_list(labelled, rows),
        ]
    )
    return _document(_title(labelled), join([_header(labelled), _contents(body), body]))


def _contents(body: Markup) -> Markup:
    """Links to the sections that are there."""
    titles = re.findall(r'<h2 id="([a-z]+)">([A-Za-z ]+)</h2>', body)
    return element("nav", *(element("a", title, href=f"#{place}") for place, title in titles))


def _title(labelled: Labelled) -> str:
    return ", ".join(dict.fromkeys(result.benchmark.name for _, result in labelled))


def _header(labelled: Labelled) -> Markup:
    results = [result for _, result in labelled]
    dates = dict.fromkeys(date(result.timestamp) for result in results)
    rules = dict.fromkeys(rule for result in results for rule in result.benchmark.leak_rules)
    sizes = dict.fromkeys(count(result.largest.total, "theorem") for result in results)
    about = [*sizes, *dates]
    if rules:
        about.append(f"leak rule: {', '.join(rules)}")
    checksums = {result.benchmark.checksum for result in results}
    apart = "These runs are on different theorems (their checksums differ): rates do not compare."
    return element(
        "header",
        element("h1", _title(labelled)),
        element("p", *(element("span", text) for text in about), class_="about"),
        element("p", apart, class_="warning") if len(checksums) > 1 else "",
    )


def _plots(labelled: Labelled) -> Markup:
    return element(
        "div",
        *(
            element("figure", inline(svg, name), element("figcaption", _CAPTIONS[name]))
            for name, svg in svg_plots(labelled).items()
        ),
        class_="plots",
    )


def inline(svg: str, name: str) -> Markup:
    """An SVG file as a part of a page.

    Its identifiers get the plot's name, because the page has other plots; its namespaces go, because
    HTML has its own idea of them; its colours become the page's.
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
    root.set("aria-label", _CAPTIONS[name])
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _themed(colour: re.Match[str]) -> str:
    known = _COLOURS.get(colour[0])
    return f"var(--{known}, {colour[0]})" if known else colour[0]


def _document(title: str, body: Markup) -> str:
    here = files("burnqed.report")
    style, script = (
        here.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Names and proofs come from files of others. Should one get past the escaping, it can do nothing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            element("title", f"{title} · burn-qed"),
            f"<style>{style}</style>",
            element("main", body),
            f"<script>{script}</script>",
            "</html>\n",
        ]
    )

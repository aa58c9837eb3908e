"""A report as one HTML file: no other file, no network, and it works without scripts."""

from __future__ import annotations

from markupsafe import Markup

from burnqed.evaluation.compare import count
from burnqed.evaluation.results import Labelled
from burnqed.report import sections
from burnqed.report.document import contents, document, figure, plots
from burnqed.report.markup import header, join, made
from burnqed.report.plots import svg_plots
from burnqed.report.theorems import anchors, rows_of, theorem_list
from burnqed.report.wording import date

_CAPTIONS = {
    "solve_rate_by_nodes": "Rate proved against nodes. Dots are the budgets, bands 95% intervals.",
    "solve_rate_by_seconds": "Rate proved against seconds, on the machine that ran it.",
}


def page(labelled: Labelled) -> str:
    """The page of one run, or of several side by side."""
    rows = rows_of(labelled)
    places = anchors(rows)

    def link(name: str) -> Markup:
        return made("parts.html", "theorem", name=name, place=places.get(name))

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
    whole = join([_header(labelled), contents(body), body])
    return document(_title(labelled), whole, script="page.js")


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
    apart = "These runs are on different theorems (their checksums differ): do not compare their rates."
    return header(_title(labelled), about, warnings=[apart] if len(checksums) > 1 else [])


def _plots(labelled: Labelled) -> Markup:
    return plots(figure(svg, name, _CAPTIONS[name]) for name, svg in svg_plots(labelled).items())

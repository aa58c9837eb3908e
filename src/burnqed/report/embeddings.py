"""The report on an encoder, or on two, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from markupsafe import Markup

from burnqed.evaluation.compare import count
from burnqed.prover.embeddings import Encoded, Look
from burnqed.report.document import contents, document, figure, plots
from burnqed.report.embedding_figures import DRIFT_NOTE, FIGURES_NOTE, drift_rows, figure_rows
from burnqed.report.embedding_plots import captions, svg_embedding_plots
from burnqed.report.maps import Maps, missing
from burnqed.report.markup import code, facts, header, join, paragraph, part, subtitle, table
from burnqed.report.wording import figure as number
from burnqed.value.geometry import DEEPEST

_BY_DEPTH = (
    f"Depth in the proof; {DEEPEST} stands for {DEEPEST} and more. The spread is the root mean square "
    "distance from the depth’s own mean; apart is how far that mean is from the mean of all other "
    "depths."
)


def embeddings_page(look: Look, drawn: Maps) -> str:
    """The page. `drawn`: the maps of each encoder, by its label."""
    body = join([_headline(look), _drawn(look, drawn), _depths(look), _drift(look), _about(look)])
    title = " and ".join(one.label for one in look.encoders)
    return document(f"Embeddings of {title}", join([_header(look, title), contents(body), body]))


def _header(look: Look, title: str) -> Markup:
    first = look.encoders[0].geometry
    about = [
        count(first.states, "state"), count(first.theorems, "theorem"),
        f"{first.positives:,} provable, {first.negatives:,} given up",
        f"{len(look.sample.pairs):,} pairs of siblings",
    ]  # fmt: skip
    return header(f"Embeddings of {title}", about)


def _headline(look: Look) -> Markup:
    head = ["figure", *(one.label for one in look.encoders), "meaning"]
    rows = figure_rows([one.geometry for one in look.encoders])
    return part("figures", "Figures", table(head, rows, left=(0, len(head) - 1)), note=FIGURES_NOTE)


def _drawn(look: Look, drawn: Maps) -> Markup:
    told = captions(look, drawn)
    svgs = svg_embedding_plots(look, drawn)
    left_out = [
        paragraph("muted", f"There is no {name} map: pip install '{package}', then run this again.")
        for name, package in missing().items()
    ]
    return part(
        "plots", "Plots", plots(figure(svgs[name], name, told[name]) for name in svgs), *left_out
    )


def _depths(look: Look) -> Markup:
    parts: list[Markup] = []
    for one in look.encoders:
        parts += [subtitle(one.label)] if len(look.encoders) > 1 else []
        parts.append(_depth_table(one))
    return part("depth", "By depth", *parts, note=_BY_DEPTH)


def _depth_table(one: Encoded) -> Markup:
    head = ["depth", "provable", "given up", "centroid_l2", "sibling_l2", "spread", "apart"]
    rows = [
        [
            str(d.depth), number(d.positives), number(d.negatives), number(d.centroid_l2, ".4g"),
            number(d.sibling_l2, ".4g"), number(d.spread, ".4g"), number(d.apart, ".4g"),
        ]
        for d in one.geometry.by_depth
    ]  # fmt: skip
    return table(head, rows)


def _drift(look: Look) -> Markup:
    if look.drift is None:
        return Markup()
    told = table(["figure", "value", "meaning"], drift_rows(look.drift), left=(0, 2))
    return part("drift", "Drift", told, note=DRIFT_NOTE)


def _about(look: Look) -> Markup:
    rows: list[Sequence[str]] = [["runs", join([code(run) + Markup(" ") for run in look.runs])]]
    for one in look.encoders:
        rows.append([one.label, code(one.model)])
        rows += [[f"{one.label}: {key}", str(value)] for key, value in asdict(one.encoder).items()]
    rows.append(["seed", str(look.seed)])
    return part("provenance", "Provenance", facts(["what", "is"], rows))

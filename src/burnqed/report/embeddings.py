"""The report on an encoder, or on two, as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from markupsafe import Markup

from burnqed.evaluation.compare import count
from burnqed.prover.embeddings import Encoded, Look
from burnqed.report.document import contents, document, figure, plots
from burnqed.report.embedding_plots import captions, svg_embedding_plots
from burnqed.report.maps import Maps, missing
from burnqed.report.markup import code, facts, header, join, paragraph, part, subtitle, table
from burnqed.report.wording import NOTHING, percent
from burnqed.report.wording import figure as number
from burnqed.value.drift import NEAREST
from burnqed.value.geometry import DEEPEST, Geometry

_FIGURES = (
    "Embeddings of states on judged proofs (provable) and of siblings that were searched in vain "
    "(given up). A head can only tell apart what lies apart here. States that a training has learned "
    "from lie further apart than others: give runs that the model was not trained on."
)
_BY_DEPTH = (
    f"Depth in the proof; {DEEPEST} stands for {DEEPEST} and more. The spread is the root mean square "
    "distance from the depth’s own mean; apart is how far that mean is from the mean of all other "
    "depths."
)
_DRIFT = (
    "How far the second encoder has moved the states of the first. Cosine and distance compare "
    "direction by direction. CKA and neighbours only compare which states are alike, and are 100% if "
    "nothing changed but rotation and scale."
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
    rows = [
        [name, *(show(one.geometry) for one in look.encoders), meaning]
        for name, show, meaning in _LINES
    ]
    return part("figures", "Figures", table(head, rows, left=(0, len(head) - 1)), note=_FIGURES)


def _ratio(g: Geometry) -> str:
    return percent(g.sibling_l2 / g.stranger_l2) if g.stranger_l2 else NOTHING


_LINES: tuple[tuple[str, Callable[[Geometry], str], str], ...] = (
    ("centroid_l2", lambda g: number(g.centroid_l2, ".4g"), "distance between the means of both kinds"),
    (
        "linear probe",
        lambda g: number(g.probe, ".1%"),
        "balanced accuracy of a line on theorems that it did not learn from; 50% is chance",
    ),
    ("norm, provable", lambda g: number(g.norm_positive, ".4g"), "mean length of the embeddings"),
    ("norm, given up", lambda g: number(g.norm_negative, ".4g"), "the same of the others"),
    ("norm gap", lambda g: number(g.norm_gap, "+.3g"), "the first minus the second"),
    ("sibling_l2", lambda g: number(g.sibling_l2, ".4g"), "mean distance of a provable state and its "
     "sibling: what a search must tell apart"),
    ("of strangers", _ratio, "sibling_l2 relative to the distance from states of other theorems"),
    ("same as a sibling", lambda g: number(g.same_as_sibling, ".1%"), "pairs of siblings in one place, "
     "which no head can tell apart"),
    ("effective rank", lambda g: number(g.effective_rank, ".1f"), "exp of the entropy of the spectrum"),
    ("90% of the variance", lambda g: number(g.directions_90), "principal directions that hold it"),
    ("first direction", lambda g: number(g.first_direction, ".1%"), "share of the variance"),
    ("by the label", lambda g: number(g.explained.label, ".1%"), "share of the variance that provable "
     "or given up explains, corrected for chance"),
    ("by the depth", lambda g: number(g.explained.depth, ".1%"), "the same of the depth"),
    ("by the theorem", lambda g: number(g.explained.theorem, ".1%"), "the same of the theorem"),
    ("both labels", lambda g: number(g.both_labels), "states given up once and proved elsewhere; they "
     "are not counted as given up"),
)  # fmt: skip


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
    d = look.drift
    rows = [
        ["cosine", number(d.cosine, ".4f"), "between a state’s two embeddings, mean"],
        ["cosine, low", number(d.cosine_low, ".4f"), "of the twentieth of the states that turned most"],
        ["moved", number(d.moved, ".1%"), "mean distance moved, relative to the spread before"],
        ["CKA", number(d.cka, ".4f"), "linear centred kernel alignment; 1 is the same"],
        ["neighbours", percent(d.neighbours), f"of a state’s {NEAREST} nearest that still are"],
    ]
    return part("drift", "Drift", table(["figure", "value", "meaning"], rows, left=(0, 2)), note=_DRIFT)


def _about(look: Look) -> Markup:
    rows: list[Sequence[str]] = [["runs", join([code(run) + Markup(" ") for run in look.runs])]]
    for one in look.encoders:
        rows.append([one.label, code(one.model)])
        rows += [[f"{one.label}: {key}", str(value)] for key, value in asdict(one.encoder).items()]
    rows.append(["seed", str(look.seed)])
    return part("provenance", "Provenance", facts(["what", "is"], rows))

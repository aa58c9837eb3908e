"""The figures of encoders in words: their names, their values as text, what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from burnqed.report.wording import NOTHING, percent
from burnqed.report.wording import figure as number
from burnqed.value.drift import NEAREST, Drift
from burnqed.value.geometry import Geometry

FIGURES_NOTE = (
    "Embeddings of states on judged proofs (provable) and of siblings that were searched in vain "
    "(given up). A head can only tell apart what lies apart here. States that a training has learned "
    "from lie further apart than others: give runs that the model was not trained on."
)
DRIFT_NOTE = (
    "How far the second encoder has moved the states of the first. Cosine and distance compare "
    "direction by direction. CKA and neighbours only compare which states are alike, and are 100% if "
    "nothing changed but rotation and scale."
)


def figure_rows(encoders: Sequence[Geometry]) -> list[list[str]]:
    """For each figure its name, the value of each encoder, and its meaning."""
    return [[name, *map(show, encoders), meaning] for name, show, meaning in _FIGURES]


def drift_rows(drift: Drift) -> list[list[str]]:
    """For each figure of the drift its name, its value and its meaning."""
    d = drift
    return [
        ["cosine", number(d.cosine, ".4f"), "between a state’s two embeddings, mean"],
        ["cosine, low", number(d.cosine_low, ".4f"), "of the twentieth of the states that turned most"],
        ["moved", number(d.moved, ".1%"), "mean distance moved, relative to the spread before"],
        ["CKA", number(d.cka, ".4f"), "linear centred kernel alignment; 1 is the same"],
        ["neighbours", percent(d.neighbours), f"of a state’s {NEAREST} nearest that still are"],
    ]


def _ratio(g: Geometry) -> str:
    return percent(g.sibling_l2 / g.stranger_l2) if g.stranger_l2 else NOTHING


_FIGURES: tuple[tuple[str, Callable[[Geometry], str], str], ...] = (
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

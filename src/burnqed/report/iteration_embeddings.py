"""The backbone of each iteration: how its embeddings lie, and how far they have moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from burnqed.iteration.history import History, Iteration
from burnqed.report.markup import part, table, with_below
from burnqed.report.wording import NOTHING, coloured, figure, percent

_NOTE = (
    "Each iteration’s own model, on states of judged proofs and siblings that were searched in vain, "
    "of theorems that no policy so far has learned from. Cosine and CKA are those with iteration 0’s "
    "model, on the same states; 1 is the same. The command of the stage draws the embeddings."
)
_HEAD = (
    "iteration", "states", "centroid_l2", "linear probe", "sibling_l2", "of strangers",
    "effective rank", "by the label", "cosine", "CKA", "value model",
)  # fmt: skip


def embeddings(history: History) -> Markup:
    rows = [_row(place, one) for place, one in enumerate(history.iterations) if one.embeddings]
    return part("embeddings", "Embeddings", table(list(_HEAD), rows), note=_NOTE) if rows else Markup()


def _row(place: int, one: Iteration) -> list[str]:
    look = one.embeddings or {}
    encoders = look.get("encoders")
    known = [*map(_mapping, encoders)] if isinstance(encoders, list) else []
    first, own = (known[0], known[-1]) if known else ({}, {})
    drift = _mapping(look.get("drift"))
    before = figure(first.get("centroid_l2"), ".4g") if len(known) > 1 else ""
    return [
        coloured(place, one.label),
        with_below(figure(own.get("states")), f"{figure(own.get('theorems'))} theorems"),
        with_below(figure(own.get("centroid_l2"), ".4g"), before and f"iteration 0: {before}"),
        figure(own.get("probe"), ".1%"),
        figure(own.get("sibling_l2"), ".4g"),
        _share(own.get("sibling_l2"), own.get("stranger_l2")),
        figure(own.get("effective_rank"), ".1f"),
        figure(_mapping(own.get("explained")).get("label"), ".1%"),
        figure(drift.get("cosine"), ".4f"),
        figure(drift.get("cka"), ".4f"),
        f"dropped: {', '.join(one.dropped)}" if one.dropped else "" if one.value else NOTHING,
    ]


def _share(siblings: object, strangers: object) -> str:
    match siblings, strangers:
        case [int() | float() as near, int() | float() as far] if far:
            return percent(near / far)
    return NOTHING


def _mapping(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}

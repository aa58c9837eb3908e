"""A report on embeddings to look at: two encoders, with maps of known places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from burnqed.report.looks import save_maps
from tests.report.looks import look, write_figures
from tests.value.test_geometry import planted
from tests.web.samples import HOSTILE

STATES = 36
GOAL = f"p : Prop\nh : {HOSTILE}\n⊢ first goal\n\nq : Prop\n⊢ ∀ n : Nat, simp n"


def write_look(out: Path, *labels: str) -> Path:
    """States in six rows: the first has hostile text and a hostile theorem."""
    sample = planted(4)
    hostile = [f"t0 {HOSTILE}" if name == "t0" else name for name in sample.theorems]
    sample = replace(sample, texts=(GOAL, *sample.texts[1:]), theorems=tuple(hostile))
    seen = look(*labels, states=sample, mapped=STATES)
    places = np.array([[n % 6 + 0.2 * (n // 6), n // 6] for n in range(STATES)], dtype=float)
    drawn = {
        label: {"t-SNE": places * (1 + turn), "PCA": places[::-1]} for turn, label in enumerate(labels)
    }
    out.mkdir(parents=True)
    write_figures(seen, out)
    save_maps(seen, drawn, out)
    return out


def places_on(points: list[list[float]], box: dict[str, Any]) -> list[tuple[float, float]]:
    """Where each state of a map is in its canvas, as long as nobody zooms."""
    sides = list(zip(*points, strict=True))
    middle = [(min(side) + max(side)) / 2 for side in sides]
    wide, high = (max(side) - min(side) for side in sides)
    scale = min((box["width"] - 36) / wide, (box["height"] - 36) / high)
    return [
        (
            box["width"] / 2 + (x - middle[0]) * scale,
            box["height"] / 2 - (y - middle[1]) * scale,
        )
        for x, y in points
    ]

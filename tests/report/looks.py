"""Encoders to look at, whose embeddings were planted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from burnqed.prover.embeddings import FIGURES, Encoded, Look
from burnqed.value.drift import drift
from burnqed.value.encoder import EncoderName
from burnqed.value.geometry import distances, geometry, variance_spectrum
from burnqed.value.sample import Sample
from tests.value.test_geometry import noise, planted


def encoded(label: str, states: Sample, apart: float) -> Encoded:
    rows = noise(states)
    rows[np.array(states.on_path), 0] += apart
    name = EncoderName(f"{label}'s weights", "colons 64", "mean", "float32", rows.shape[1])
    spectrum, between = variance_spectrum(rows), distances(rows, states)
    told = geometry(rows, states, spectrum, between)
    return Encoded(label, f"models/{label}", name, rows, spectrum, between, told)


def look(*labels: str, states: Sample | None = None, mapped: int = 60) -> Look:
    states = states or planted(20)
    seen = tuple(encoded(label, states, 4.0 * (i + 1)) for i, label in enumerate(labels))
    moved = drift(seen[0].rows, seen[1].rows) if len(seen) == 2 else None
    return Look(("runs/a",), states, seen, moved, seed=0, mapped=mapped)


def write_figures(seen: Look, out: Path) -> None:
    """As `look_at` leaves them."""
    out.mkdir(parents=True, exist_ok=True)
    (out / FIGURES).write_text(json.dumps(seen.figures), encoding="utf-8")

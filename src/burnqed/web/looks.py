"""Reports on embeddings: figures in words, and maps with the state of each dot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnqed.core.errors import BurnQedError, InputError
from burnqed.lean.highlight import coloured
from burnqed.report.embedding_figures import DRIFT_NOTE, FIGURES_NOTE, drift_rows, figure_rows
from burnqed.report.looks import FIGURES, MAPS, Known, MapsFile, read_figures, read_maps
from burnqed.search.shown import line_of
from burnqed.web.tree import goals_of


@dataclass(frozen=True, slots=True)
class FoundLook:
    """The directory of a report. `name` is its path below the folder that is shown."""

    id: str
    name: str
    path: Path

    @property
    def figures(self) -> Known:
        return _figures(self.path, _changed(self.path / FIGURES))

    @property
    def maps(self) -> MapsFile:
        return _maps(self.path, _changed(self.path / MAPS))


@lru_cache(maxsize=64)  # the list of runs is asked for again and again
def _figures(path: Path, _changed: float) -> Known:
    return read_figures(path)


@lru_cache(maxsize=2)
def _maps(path: Path, _changed: float) -> MapsFile:
    return read_maps(path)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def lines(looks: Sequence[FoundLook], problems: list[str]) -> list[dict[str, Any]]:
    """The reports for a list. What cannot be read is named in `problems`."""
    found = []
    for look in looks:
        try:
            known = look.figures
        except BurnQedError as error:
            problems.append(error.message)
            continue
        found.append(
            {
                "id": look.id, "name": look.name, "encoders": known.labels,
                "states": known.geometries[0].states if known.geometries else 0,
                "changed": _changed(look.path / FIGURES),
            }
        )  # fmt: skip
    return found


def about(look: FoundLook) -> dict[str, Any]:
    """A report for its page: all but the whole texts of the states."""
    known, drawn = look.figures, look.maps
    return {
        "name": look.name,
        "runs": known.runs,
        "encoders": known.labels,
        "figures": figure_rows(known.geometries),
        "figures_note": FIGURES_NOTE,
        "drift": drift_rows(known.drift) if known.drift else [],
        "drift_note": DRIFT_NOTE,
        "maps": [{"encoder": m.encoder, "kind": m.kind, "points": m.points} for m in drawn.maps],
        "pairs": drawn.pairs,
        "states": [
            {
                "line": line_of(goals_of(state.text)[0]), "theorem": state.theorem,
                "depth": state.depth, "on_path": state.on_path,
                "cosine": state.cosine, "neighbours": state.neighbours,
            }
            for state in drawn.states
        ],
    }  # fmt: skip


def state(look: FoundLook, number: int) -> dict[str, Any]:
    """The goals of a state, by its number on the maps."""
    states = look.maps.states
    if number >= len(states):
        raise InputError(f"the maps have {len(states)} states, and no state {number}")
    return {"goals": [coloured(goal) for goal in goals_of(states[number].text)]}

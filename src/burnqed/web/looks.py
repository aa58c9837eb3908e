"""Reports on embeddings: figures in words, and maps with the state of each dot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from burnqed.core.errors import BurnQedError, InputError
from burnqed.lean.highlight import coloured
from burnqed.prover.embeddings import FIGURES
from burnqed.report.embedding_figures import DRIFT_NOTE, FIGURES_NOTE, drift_rows, figure_rows
from burnqed.report.looks import MAPS, Known, MapsFile, read_figures, read_maps
from burnqed.search.shown import line_of
from burnqed.web.tree import goals_of


@dataclass(frozen=True, slots=True)
class FoundLook:
    """The directory of a report. `name` is its path below the folder that is shown."""

    id: str
    name: str
    path: Path
    parent: str | None  # the run that it lies in

    @property
    def figures(self) -> Known:
        return _figures(self.path, _changed(self.path / FIGURES))

    @property
    def maps(self) -> MapsFile | None:
        return _maps(self.path, _changed(self.path / MAPS), _changed(self.path / FIGURES))


@lru_cache(maxsize=64)  # the list of runs is asked for again and again
def _figures(path: Path, _changed: float) -> Known:
    return read_figures(path)


@lru_cache(maxsize=2)
def _maps(path: Path, *_changed: float) -> MapsFile | None:
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
                "id": look.id, "name": look.name, "parent": look.parent, "encoders": known.labels,
                "states": known.geometries[0].states if known.geometries else 0,
                "changed": _changed(look.path / FIGURES),
            }
        )  # fmt: skip
    return found


def about(look: FoundLook) -> dict[str, Any]:
    """A report for its page, also without maps: all but the whole texts of the states."""
    known, problem = look.figures, ""
    try:
        drawn = look.maps
    except BurnQedError as error:
        drawn, problem = None, f"{error.message}; {error.hint}"
    shown = drawn or MapsFile(figures="", states=(), pairs=(), maps=())
    return {
        "name": look.name,
        "runs": known.runs,
        "encoders": known.labels,
        "figures": figure_rows(known.geometries),
        "figures_note": FIGURES_NOTE,
        "drift": drift_rows(known.drift) if known.drift else [],
        "drift_note": DRIFT_NOTE,
        "drawn": drawn is not None,
        "problem": problem,
        "maps": [{"encoder": m.encoder, "kind": m.kind, "points": m.points} for m in shown.maps],
        "pairs": shown.pairs,
        "states": [
            {
                "line": line_of(goals_of(state.text)[0]), "theorem": state.theorem,
                "depth": state.depth, "on_path": state.on_path,
                "cosine": state.cosine, "neighbours": state.neighbours,
            }
            for state in shown.states
        ],
    }  # fmt: skip


def state(look: FoundLook, number: int) -> dict[str, Any]:
    """The goals of a state, by its number on the maps."""
    maps = look.maps
    states = maps.states if maps else ()
    if number >= len(states):
        raise InputError(f"the maps have {len(states)} states, and no state {number}")
    return {"goals": [coloured(goal) for goal in goals_of(states[number].text)]}

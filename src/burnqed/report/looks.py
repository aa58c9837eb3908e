"""What a report on embeddings leaves for programs: figures, and maps with the states that are on them.

A run of expert iteration measures embeddings, too, and draws no maps: it has the figures alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from burnqed.core.errors import CorruptError
from burnqed.core.files import publish, read_object
from burnqed.prover.embeddings import FIGURES, Look
from burnqed.report.embedding_plots import mapped
from burnqed.report.maps import Maps
from burnqed.value.drift import Drift, moved_each
from burnqed.value.geometry import Geometry

MAPS = "maps.json"
_AGAIN = "run `burn-qed embeddings report` again"
T = TypeVar("T")


class Mapped(msgspec.Struct, frozen=True, kw_only=True):
    """A state on the maps; `cosine` and `neighbours` are what a second encoder made of it."""

    text: str
    theorem: str
    depth: int
    on_path: bool
    cosine: float | None
    neighbours: float | None


class Map(msgspec.Struct, frozen=True, kw_only=True):
    """The places of all states, by one encoder."""

    encoder: str  # its label
    kind: str
    points: tuple[tuple[float, float], ...]


class MapsFile(msgspec.Struct, frozen=True, kw_only=True):
    """States, siblings among them by number (the provable one first), and the maps that they are on.

    `figures` is the checksum of the figures that were written with them.
    """

    figures: str
    states: tuple[Mapped, ...]
    pairs: tuple[tuple[int, int], ...]
    maps: tuple[Map, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """The figures of a report."""

    runs: tuple[str, ...]
    labels: tuple[str, ...]
    geometries: tuple[Geometry, ...]
    drift: Drift | None


def save_maps(look: Look, drawn: Maps, out: Path) -> None:
    """Write the maps beside the figures. `drawn`: the maps of each encoder, by its label."""
    maps = _maps(look, drawn, _checksum(out))
    publish(out / MAPS, msgspec.json.encode(maps).decode() + "\n")


def read_figures(folder: Path) -> Known:
    """The figures of a report. Raises `CorruptError`."""
    path = folder / FIGURES
    content = read_object(path, hint=_AGAIN)
    encoders = _fitting(path, content.get("encoders"), list[dict[str, Any]])
    return Known(
        runs=_fitting(path, content.get("runs"), tuple[str, ...]),
        labels=tuple(_fitting(path, one.get("label"), str) for one in encoders),
        geometries=tuple(_fitting(path, one, Geometry) for one in encoders),
        drift=_fitting(path, content.get("drift"), Drift | None),  # type: ignore[arg-type]
    )


def read_maps(folder: Path) -> MapsFile | None:
    """The maps of a report; None if it has none. Raises `CorruptError`."""
    path = folder / MAPS
    try:
        found = msgspec.json.decode(path.read_bytes(), type=MapsFile)
        if found.figures != _checksum(folder):
            raise CorruptError(f"{path} and {FIGURES} are of two reports", hint=_AGAIN)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise CorruptError(f"cannot read {path}: {error}", hint=_AGAIN) from error
    count = len(found.states)
    if any(len(one.points) != count for one in found.maps):
        raise CorruptError(f"{path} has not a place for each state", hint=_AGAIN)
    if not all(0 <= number < count for pair in found.pairs for number in pair):
        raise CorruptError(f"{path} names a state that it does not have", hint=_AGAIN)
    return found


def _checksum(folder: Path) -> str:
    return hashlib.sha256((folder / FIGURES).read_bytes()).hexdigest()


def _fitting(path: Path, content: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise CorruptError(f"{path} does not fit: {error}", hint=_AGAIN) from error


def _maps(look: Look, drawn: Maps, figures: str) -> MapsFile:
    chosen = mapped(look).tolist()
    place = {state: number for number, state in enumerate(chosen)}
    sample = look.sample
    states = [
        Mapped(
            text=sample.texts[state], theorem=sample.theorems[state], depth=sample.depths[state],
            on_path=sample.on_path[state], cosine=cosine, neighbours=neighbours,
        )
        for state, (cosine, neighbours) in zip(chosen, _moved(look, chosen), strict=True)
    ]  # fmt: skip
    return MapsFile(
        figures=figures,
        states=tuple(states),
        pairs=tuple((place[a], place[b]) for a, b in look.sample.pairs if a in place and b in place),
        maps=tuple(
            Map(encoder=label, kind=kind, points=tuple((float(x), float(y)) for x, y in points))
            for label, kinds in drawn.items()
            for kind, points in kinds.items()
        ),
    )


def _moved(look: Look, chosen: list[int]) -> Iterator[tuple[float | None, float | None]]:
    """The cosine and the kept neighbours of each state; None without a second encoder."""
    if len(look.encoders) < 2 or len(chosen) < 2:
        yield from [(None, None)] * len(chosen)
        return
    found = moved_each(*(one.rows[chosen] for one in look.encoders))
    for number, kept in enumerate(found.neighbours.tolist()):
        cosine = None if found.cosine is None else float(found.cosine[number])
        yield (cosine if cosine is not None and math.isfinite(cosine) else None), kept

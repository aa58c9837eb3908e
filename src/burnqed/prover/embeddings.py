"""An encoder looked at through the states of some runs, alone or against another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import InputError, NotEnough
from burnqed.core.runs import check_out
from burnqed.core.watching import Watcher
from burnqed.policy.models.strict import need_libraries
from burnqed.prover import policies
from burnqed.prover.config import LookConfig

if TYPE_CHECKING:  # they load torch
    from burnqed.value.drift import Drift
    from burnqed.value.encoder import Embeddings, EncoderName
    from burnqed.value.geometry import Array, Distances, Geometry
    from burnqed.value.sample import Sample

EMBEDDINGS = "embeddings"  # of a report's directory


@dataclass(frozen=True, slots=True)
class Encoded:
    """One encoder's embeddings of the sample, and what they look like."""

    label: str
    model: str
    encoder: EncoderName
    rows: Embeddings
    spectrum: Array
    distances: Distances
    geometry: Geometry


@dataclass(frozen=True, slots=True)
class Look:
    """The states of some runs, seen by one encoder, or by a first and a second that it drifted to."""

    runs: tuple[str, ...]
    sample: Sample
    encoders: tuple[Encoded, ...]
    drift: Drift | None
    seed: int
    mapped: int

    @property
    def figures(self) -> dict[str, Any]:
        """For programs."""
        return {
            "runs": list(self.runs),
            "seed": self.seed,
            "encoders": [
                {
                    "label": one.label, "model": one.model, "encoder": asdict(one.encoder),
                    **asdict(one.geometry), "spectrum": [float(share) for share in one.spectrum[:100]],
                }
                for one in self.encoders
            ],
            "drift": asdict(self.drift) if self.drift else None,
        }  # fmt: skip


def look_at(
    runs: Sequence[Path],
    models: Sequence[tuple[str, str]],
    config: LookConfig,
    out: Path,
    watcher: Watcher,
    embeddings: Path | None = None,
) -> Look | None:
    """Embed states of some runs with each model, given as a label and a directory; None if stopped.

    Embeddings are kept in `embeddings`, by default with the report, and not computed again.
    """
    check_out(out)
    need_libraries()
    from burnqed.trajectories.store import find_trajectories, iter_rows
    from burnqed.value.drift import drift
    from burnqed.value.embeddings import EmbeddingCache, embed_watched
    from burnqed.value.geometry import distances, geometry, variance_spectrum
    from burnqed.value.groups import contrasts
    from burnqed.value.sample import sample

    found = contrasts(*(iter_rows(find_trajectories(run), watcher.warn) for run in runs))
    if not found.groups:
        raise NotEnough(
            f"nothing to look at: of {found.positives} states on the paths of proofs, none has a "
            "sibling that was explored and given up",
            hint="make some with `burn-qed negatives`, and give its directory as well",
        )
    states = sample(found, config.states, config.seed)
    seen: list[Encoded] = []
    for label, model in models:
        encoder = policies.encoder(policies.local(model, config), config, watcher.warn)
        name = encoder.name
        if any(one.encoder == name for one in seen):
            raise InputError(
                f"{model} is the same encoder as {seen[0].model}", hint="give --against another model"
            )
        cache = EmbeddingCache(embeddings or out / EMBEDDINGS, name)
        if not embed_watched(states.texts, encoder, cache, watcher):
            return None
        del encoder  # two models need not fit into memory together
        rows = cache.get(states.texts)
        spectrum, apart = variance_spectrum(rows), distances(rows, states, config.seed)
        told = geometry(rows, states, spectrum, apart)
        seen.append(Encoded(label, model, name, rows, spectrum, apart, told))
    moved = drift(seen[0].rows, seen[1].rows) if len(seen) == 2 else None
    return Look(
        tuple(map(str, runs)), states, tuple(seen), moved, seed=config.seed, mapped=config.mapped
    )

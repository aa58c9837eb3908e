"""An encoder looked at through the states of some runs, alone or against another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import InputError, NotEnough
from burnqed.core.files import publish
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

EMBEDDINGS, FIGURES = "embeddings", "embeddings.json"  # of a report's directory


class SameEncoder(InputError):
    """Two models that are to be compared are the same encoder."""


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
    val_share: float = 0.0  # its theorems are of the share that trainings set aside; 0: of all

    @property
    def figures(self) -> dict[str, Any]:
        """For programs."""
        return {
            "runs": list(self.runs),
            "seed": self.seed,
            "val_share": self.val_share,
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

    The figures are written to `out`. Embeddings are kept in `embeddings`, by default with the report,
    and not computed again.
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
    if config.val_share:
        from burnqed.training.siblings import set_aside

        found = replace(found, groups=set_aside(found.groups, config.val_share))
        if not found.groups:
            raise NotEnough(
                "nothing to look at: of the theorems that a training with --val-share "
                f"{config.val_share:g} sets aside, none has a group of siblings",
                hint="more proofs, or a larger share",
            )
    states = sample(found, config.states, config.seed)
    seen: list[Encoded] = []
    for label, model in models:
        encoder = policies.encoder(policies.local(model, config), config, watcher.warn)
        name = encoder.name
        if any(one.encoder == name for one in seen):
            raise SameEncoder(
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
    look = Look(
        tuple(map(str, runs)), states, tuple(seen), moved, seed=config.seed, mapped=config.mapped,
        val_share=config.val_share,
    )  # fmt: skip
    publish(out / FIGURES, json.dumps(look.figures, indent=2, ensure_ascii=False) + "\n")
    return look

"""Loads the value model that the settings describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.config import settings_of
from burnqed.core.errors import InputError
from burnqed.core.ports import Value
from burnqed.evaluation.results import TrainingMetrics
from burnqed.policy.models.names import BEST, VALUE
from burnqed.policy.models.strict import need_libraries
from burnqed.prover.config import UNGUIDED, GuidedConfig
from burnqed.prover.policies import Prepared, Warn
from burnqed.search.scoring import Scoring

if TYPE_CHECKING:  # they load torch
    from burnqed.policy.models.load import Loaded
    from burnqed.value.encoder import EncoderName
    from burnqed.value.saved import SavedHead


@dataclass(frozen=True, slots=True)
class Guide:
    """What guides a search, and its entries for a run's manifest."""

    value: Value | None = None
    scoring: Scoring = field(default_factory=Scoring)
    about: dict[str, Any] = field(default_factory=dict)
    training: TrainingMetrics | None = None  # of the value model, where its training is still there
    close: Callable[[], None] = lambda: None
    places: dict[str, Any] = field(default_factory=dict)


def guide(config: GuidedConfig, prepared: Prepared, warn: Warn) -> Guide:
    """The guide of a configuration. Without a value model it is log-probability alone.

    A value model whose verdict is not `better` is not used, with a warning.
    """
    encoder, anyway = config.encoder, config.value_anyway
    if config.value is None:
        for name, default in UNGUIDED.items():
            if getattr(config, name) != default:
                flag = settings_of(GuidedConfig)[name].flag
                raise InputError(f"{flag} needs a value model", hint="give --value DIR")
        return Guide()
    need_libraries()
    from burnqed.value.calibration import policy_label, read_calibration
    from burnqed.value.saved import read_head
    from burnqed.value.scorer import Scorer, trusted

    saved = read_head(config.value)
    calibration = read_calibration(saved.directory)
    used = trusted(calibration, policy_label(prepared.about), anyway, warn)
    places = {"value": str(saved.directory.resolve())}
    about: dict[str, Any] = {
        "value_identity": saved.identity, "value_verdict": calibration.verdict, "value_used": used,
    }  # fmt: skip
    if not used:
        return Guide(about=about, places=places)
    scoring = Scoring(
        policy_weight=calibration.alpha if config.alpha is None else config.alpha,
        energy_weight=calibration.beta if config.beta is None else config.beta,
    )
    if scoring.policy_weight == scoring.energy_weight == 0:
        raise InputError(
            "alpha and beta are 0: nothing is left to order states by",
            hint="give --alpha or --beta above 0",
        )
    about |= {
        "value_alpha": scoring.policy_weight, "value_beta": scoring.energy_weight,
        "value_scale": calibration.scale,
    }  # fmt: skip
    if encoder is not None and encoder.startswith(("http://", "https://")):
        from burnqed.value.served import ServedEncoder

        served = ServedEncoder(encoder, saved.encoder)
        scorer = Scorer(saved, served, calibration)
        return Guide(scorer, scoring, about, _training(saved), served.close, places)
    from burnqed.value.encoder import LocalEncoder
    from burnqed.value.words import WORDS, WordsEncoder

    if saved.encoder.model == WORDS:
        if encoder is not None:
            raise InputError(
                f"the value model in {saved.directory} reads words and needs no encoder",
                hint="leave out --encoder",
            )
        words = Scorer(saved, WordsEncoder(), calibration)
        return Guide(words, scoring, about, _training(saved), places=places)
    loaded = _loaded(saved, encoder, prepared, warn)
    local = LocalEncoder(loaded, saved.encoder.pooling, saved.encoder.layer)
    scorer = Scorer(saved, local, calibration, loaded.thread)
    return Guide(scorer, scoring, about, _training(saved), places=places)


def _training(saved: SavedHead) -> TrainingMetrics | None:
    """The result of the training that made a head, from a directory above the head's."""
    above = saved.directory.parent
    if saved.directory.name == VALUE and above.name == BEST:
        above = above.parent
    try:
        result = json.loads((above / "result.json").read_text(encoding="utf-8"))
        return TrainingMetrics(
            final_loss=result["train_loss"],
            final_energy_gap=result["test_energy_gap"],
            final_rank_accuracy=result["test_rank1"],
            training_steps=result["steps"],
            training_time_secs=result["seconds"],
        )
    except (OSError, ValueError, KeyError, TypeError):  # the head may have been copied without it
        return None


def _loaded(saved: SavedHead, encoder: str | None, prepared: Prepared, warn: Warn) -> Loaded:
    """The encoder's model: the policy's own if equal, else loaded from its recorded or given path."""
    from burnqed.policy.models.load import load

    name: EncoderName = saved.encoder
    own = prepared.loaded
    if own is not None and (own.identity, own.dtype) == (name.model, name.dtype):
        loaded = own
    else:
        where = encoder or saved.source
        if encoder is None and not Path(where).exists() and "/" in where:
            raise InputError(
                f"the model that encodes for {saved.directory} is no longer at {where}",
                hint="give its new place with --encoder DIR, or a server of it with --encoder URL",
            )
        loaded = load(where, prepared.choice.device, name.dtype)
        if loaded.note:
            warn(loaded.note)
    tactic = loaded.settings.tactic_tokens
    return replace(loaded, settings=replace(name.settings, tactic_tokens=tactic))

"""Options that say how states are valued, and the value models they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from burnqed.cli import tables
from burnqed.cli.policies import Prepared
from burnqed.core.errors import InputError
from burnqed.core.ports import Value
from burnqed.policy.prompt import PromptSettings
from burnqed.search.scoring import Scoring

if TYPE_CHECKING:  # they load torch
    from burnqed.policy.models.load import Loaded
    from burnqed.value.encoder import EncoderName
    from burnqed.value.saved import SavedHead

ValueOption = Annotated[
    Path | None,
    typer.Option(
        "--value",
        metavar="DIR",
        help="A value model that `burn-qed train value` made, to say which states look provable.",
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="DIR|URL",
        help="What encodes states for --value: by itself the model that it was trained with; "
        "or that model elsewhere, or the address of a `burn-qed serve encode`.",
    ),
]
AnywayOption = Annotated[
    bool,
    typer.Option(
        "--value-anyway",
        help="Use the value model also if it was found to rank siblings no better than "
        "log-probability.",
    ),
]


@dataclass(frozen=True, slots=True)
class Guide:
    """What a search is guided by, and what a run's manifest says of it."""

    value: Value | None = None
    scoring: Scoring = field(default_factory=Scoring)
    about: dict[str, Any] = field(default_factory=dict)
    close: Callable[[], None] = lambda: None


def guide(directory: Path | None, encoder: str | None, anyway: bool, prepared: Prepared) -> Guide:
    """The guide that the options mean; without --value, log-probability alone.

    A value model that ranks no better than that is not used, and the user is told.
    """
    if directory is None:
        if encoder is not None or anyway:
            raise InputError("there is no value model to encode for", hint="give --value DIR")
        return Guide()
    from burnqed.value.calibration import read_calibration
    from burnqed.value.saved import read_head
    from burnqed.value.scorer import Scorer

    saved = read_head(directory)
    calibration = read_calibration(saved.directory)
    used = anyway or calibration.verdict == "better"
    about = {
        "value": str(saved.directory.resolve()), "value_identity": saved.identity,
        "value_verdict": calibration.verdict, "value_used": used,
    }  # fmt: skip
    if not used:
        tables.warn(
            f"{calibration.told}; the search goes by log-probability alone (--value-anyway uses it)"
        )
        return Guide(about=about)
    if calibration.verdict != "better":
        tables.warn(f"{calibration.told}; it is used all the same")
    scoring = Scoring(policy_weight=calibration.alpha, energy_weight=calibration.beta)
    about |= {"value_alpha": calibration.alpha, "value_beta": calibration.beta}
    if encoder is not None and encoder.startswith(("http://", "https://")):
        from burnqed.value.served import ServedEncoder

        served = ServedEncoder(encoder, saved.encoder)
        return Guide(Scorer(saved, served, calibration), scoring, about, served.close)
    from burnqed.value.encoder import LocalEncoder

    loaded = _loaded(saved, encoder, prepared)
    local = LocalEncoder(loaded, saved.encoder.pooling, saved.encoder.layer)
    return Guide(Scorer(saved, local, calibration, loaded.thread), scoring, about)


def _loaded(saved: SavedHead, encoder: str | None, prepared: Prepared) -> Loaded:
    """The encoder's model: the policy's own if it is that, else from where it was or is said to be."""
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
                hint="--encoder DIR says where it is, or --encoder URL who serves it",
            )
        loaded = load(where, prepared.choice.device, name.dtype)
    format, tokens = name.prompt.split()
    settings = PromptSettings(format, int(tokens), loaded.settings.tactic_tokens)
    return replace(loaded, settings=settings)

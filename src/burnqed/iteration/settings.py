"""The tables within a configuration's sections: settings of commands that the run does not make itself.

They are made from the settings of the commands, so that defaults, bounds and descriptions stand there
and nowhere else. What a stage decides (where its data is, which model, the seed) is not among them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_type_hints

import msgspec

from burnqed.prover.config import UNGUIDED, EncoderConfig, EvalConfig, LeanConfig, SearchConfig
from burnqed.training.settings import (
    JointTraining,
    PolicyTraining,
    RankerTraining,
    ValueTraining,
)


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of the TOML file, or a table in one."""


def _table(
    name: str, kind: type[msgspec.Struct], made: Collection[str], **defaults: Any
) -> type[Section]:
    """The settings of a command but those that the run makes; some with a default of their own."""
    hints = get_type_hints(kind, include_extras=True)
    fields = [
        (field.name, hints[field.name], defaults.get(field.name, field.default))
        for field in msgspec.structs.fields(kind)
        if field.name not in made
    ]
    table = msgspec.defstruct(
        name, fields, bases=(Section,), module=__name__, frozen=True, kw_only=True
    )
    return cast(type[Section], table)


_LEAN = set(LeanConfig.__struct_fields__) - {"imports"}
_ASKED = {"policy", "model", "url", "candidates", "device", "value", "iteration", "seed", *_LEAN}

if TYPE_CHECKING:  # their fields are known when they are made
    PolicySettings: TypeAlias = Section
    RankerSettings: TypeAlias = Section
    SearchSettings: TypeAlias = Section
    ValueSettings: TypeAlias = Section
    JointSettings: TypeAlias = Section
    EncoderSettings: TypeAlias = Section
    EvalSettings: TypeAlias = Section
    HeadSettings: TypeAlias = Section
    ArmSettings: TypeAlias = Section
else:
    PolicySettings = _table(
        "PolicySettings", PolicyTraining,
        {"data", "base", "lr", "epochs", "batch", "accumulate", "extra_data", "extra_weight",
         "base_sample", "val_share", "nano_size", "seed"},
    )  # fmt: skip
    RankerSettings = _table("RankerSettings", RankerTraining, {"data", "without", "val_share", "seed"})
    SearchSettings = _table("SearchSettings", SearchConfig, {*_ASKED, "nodes", "noise"})
    ValueSettings = _table(
        "ValueSettings",
        ValueTraining,
        {"data", "model", "val_share", "policy_val_share", "seed"},
        slower=True,
    )
    JointSettings = _table(
        "JointSettings", JointTraining,
        {"data", "runs", "base", "extra_data", "extra_weight", "base_sample", "val_share",
         "policy_val_share", "nano_size", "pooling", "layer", "seed"},
        slower=True,
    )  # fmt: skip
    EncoderSettings = _table("EncoderSettings", EncoderConfig, {"device"})
    EvalSettings = _table("EvalSettings", EvalConfig, {*_ASKED, "budgets", "ablate"})
    # Of an attribution, whose heads and arms differ in nothing but what is compared.
    HeadSettings = _table(
        "HeadSettings", ValueTraining,
        {"data", "model", "val_share", "policy_val_share", "seed", "resume_from", "embeddings"},
        slower=True,
    )  # fmt: skip
    ArmSettings = _table("ArmSettings", EvalConfig, {*_ASKED, *UNGUIDED, "budgets", "ablate"})

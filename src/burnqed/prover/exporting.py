"""A trained model as a directory of its own, from its settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import InputError
from burnqed.policy.models.strict import need_libraries
from burnqed.prover.config import ExportConfig

if TYPE_CHECKING:  # it loads torch
    from burnqed.training.export import Verified


def export(source: Path, out: Path, config: ExportConfig) -> Verified | None:
    """Write a model; what the comparison with its training came to, where that was asked for."""
    size = re.fullmatch(r"(\d+(?:\.\d+)?)(KB|MB|GB)", config.shard)
    if size is None or float(size[1]) < 0.1:
        raise InputError(f"no size: {config.shard}", hint="--shard is a size such as 500MB or 5GB")
    need_libraries("peft")
    from burnqed.training import export as training

    return training.export(
        source, out, dtype=config.dtype, shard=config.shard, verify=config.verify,
        state=config.state or training.STATE,
    )  # fmt: skip

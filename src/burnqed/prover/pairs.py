"""The steps of what searches proved, as a file to train on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnqed.prover.data_config import PairsConfig
from burnqed.prover.policies import Warn
from burnqed.prover.sets import chosen


def pairs(runs: Sequence[Path], out: Path, config: PairsConfig, warn: Warn) -> dict[str, Any]:
    """Gather the pairs of several runs; the report that stands beside them."""
    from burnqed.training.harvest import Rules, harvest, report_path, write_harvest

    report_path(out)  # it refuses a name that is the report's, before anything is read
    held = [chosen(one) for one in config.without]
    found = harvest(runs, held, Rules(config.easy_share, config.seed), warn)
    return write_harvest(out, found)

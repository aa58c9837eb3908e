"""The benchmark of our own: its statements are true, since the judge accepts a proof of each."""

from __future__ import annotations

from pathlib import Path

import pytest

import burnqed.data
from burnqed.lean.judge import judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations

FOLDER = Path(burnqed.data.__file__).parent / "qed_core"
LEVELS = [f"level{level}.lean" for level in range(1, 6)]


def test_names_are_unique_and_every_level_has_thirty() -> None:
    names = [[d.name for d in declarations((FOLDER / level).read_text("utf-8"))] for level in LEVELS]
    assert [len(level) for level in names] == [30] * 5
    assert len({name for level in names for name in level}) == 150


@pytest.mark.lean
@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
async def test_every_reference_proof_is_accepted(level: str, lean_pool: Pool) -> None:
    verdicts = await judge_file(lean_pool, (FOLDER / level).read_text("utf-8"))
    assert {v.theorem: v.reason for v in verdicts if not v.accepted} == {}
    assert len(verdicts) == 30

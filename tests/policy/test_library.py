"""The library as Lean tells it: read once, kept, and the one that comes along is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnqed.lean import protocol
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain
from burnqed.policy.ranked import library
from burnqed.policy.ranked.library import ensure_library, library_file, read_library
from burnqed.policy.ranked.places import SHIPPED

PAGES = 3


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Lean that has no more theorems than some pages hold: all of them take a minute."""
    whole = library._page

    async def page(pool: Pool, offset: int) -> protocol.TheoremPage:
        return replace(await whole(pool, offset), total=PAGES * library._PAGE)

    monkeypatch.setattr(library, "_page", page)


@pytest.mark.lean
def test_what_comes_along_is_what_lean_says(
    few: None, tmp_path: Path, toolchain: Toolchain, lean_launch: LaunchSpec
) -> None:
    """If not: read it anew (`--policy ranked` on an empty cache), and put the file there instead."""
    shipped = SHIPPED / library_file(toolchain, ("Init",), None).name
    assert shipped.is_file(), "of another Lean, or another format"
    whole = read_library(shipped)
    read = ensure_library(tmp_path / "here.parquet", lean_launch, 2, Silent())
    count = len(read.names)
    assert 0.8 * PAGES * library._PAGE < count < len(whole.names)
    assert read.names == whole.names[:count]
    assert read.modules == whole.modules[:count]
    assert read.statements == whole.statements[:count]
    assert read.imports == whole.imports


@pytest.mark.lean
def test_it_is_read_once(
    few: None, tmp_path: Path, lean_launch: LaunchSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "here.parquet"
    read = ensure_library(file, lean_launch, 1, Silent())
    monkeypatch.setattr(library, "run_sync", None)  # whoever would ask Lean again
    assert ensure_library(file, lean_launch, 1, Silent()) == read


def test_what_comes_along_is_not_read(toolchain: Toolchain, tmp_path: Path) -> None:
    """Nobody waits for it, and nothing is written."""
    file = tmp_path / library_file(toolchain, ("Init",), None).name
    nothing = LaunchSpec(("/nowhere",), {})
    assert len(ensure_library(file, nothing, 1, Silent()).names) > 20_000
    assert list(tmp_path.iterdir()) == []

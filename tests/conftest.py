"""Real Lean for every test that asks for it, started once and shared."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
from hypothesis import settings

from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain

pytest_plugins = ("tests.lanes", "tests.toolchains")

# The same examples each time, so that a change fails or passes for what it changes. New ones are drawn
# with `--hypothesis-profile=default`.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")

# Commands are started a few hundred times: half of a start is to compile our own source again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="session")
def lean_launch(toolchain: Toolchain) -> LaunchSpec:
    """How to start a REPL with Init."""
    return toolchain.launch(("Init",))


@pytest.fixture(scope="session")
async def lean_pool(lean_launch: LaunchSpec) -> AsyncIterator[Pool]:
    """Two workers for all tests that do not break them on purpose."""
    async with Pool(lean_launch, 2) as pool:
        yield pool

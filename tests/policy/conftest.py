"""A tiny model on disk, for those that ask for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.tiny import tiny_llama, write_gguf


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed: tests that break something break a copy."""
    return tiny_llama(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def quantised(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(saved, tmp_path_factory.mktemp("gguf") / "tiny.gguf")

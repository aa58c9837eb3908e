"""A tiny model on disk, and a package that holds it, for those that ask."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from burnqed.policy.models import smollm2
from tests.policy.tiny import tiny_llama, write_gguf


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed: tests that break something break a copy."""
    return tiny_llama(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def quantised(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(saved, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture
def tiny_package(quantised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache, and a package that has the tiny model in it instead of the real one."""
    file = Path(shutil.copy(quantised, tmp_path / "package.gguf"))
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "gguf_file", lambda: (file, "9.9"))
    return file

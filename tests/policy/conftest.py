"""A tiny model on disk, a package that holds it, and a CPU that does as it is told, for those that ask.

torch is loaded by the fixtures that need it: this file is read for the tests that must not.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnqed.policy.models import cpu, smollm2
from tests.policy.stand_in import Stand


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed: tests that break something break a copy."""
    from tests.policy.tiny import tiny_llama

    return tiny_llama(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def quantised(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.policy.tiny import write_gguf

    return write_gguf(saved, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture
def tiny_package(quantised: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache, and a package that has the tiny model in it instead of the real one."""
    file = Path(shutil.copy(quantised, tmp_path / "package.gguf"))
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "gguf_file", lambda: (file, "9.9"))
    return file


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    """An x86 of which nothing is known yet, and a stand-in for the program that tries it."""
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    for name in (cpu.LIMIT, "DNNL_MAX_CPU_ISA"):
        monkeypatch.setenv(name, "")  # what `settle` sets goes away with the test
        monkeypatch.delenv(name)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = Stand(tmp_path)
    monkeypatch.setattr(cpu, "PROBE", found.command)
    cpu.settle.cache_clear()
    yield found
    cpu.settle.cache_clear()

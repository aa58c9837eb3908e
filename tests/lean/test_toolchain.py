"""Finding a Lean. A script stands in for a native one, since only the command line matters here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnqed.core.errors import ConfigError, InputError, SetupError
from burnqed.lean import repl, toolchain
from burnqed.lean.embedded.progress import Silent

LEAN = """#!/bin/sh
case "$1" in
  --version) echo "Lean (version 4.28.0, x86_64-unknown-linux-gnu, commit 1234, Release)" ;;
  --print-prefix) echo "{prefix}" ;;
  *) echo "$@"; pwd; echo "$LEAN_PATH" ;;
esac
"""
LAKE = """#!/bin/sh
[ "$1" = env ] && echo "LEAN_PATH=/packages/lib" && echo "SECRET=1"
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no Lean: an empty PATH and an empty home."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("PATH", "ELAN_HOME", "HOME", "BURN_QED_CACHE"):
        monkeypatch.setenv(name, str({"PATH": programs, "HOME": tmp_path}.get(name, tmp_path / name)))
    monkeypatch.delenv("BURN_QED_TOOLCHAIN", raising=False)
    return programs


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def test_no_native_lean(bare: Path) -> None:
    assert toolchain.native_lean() is None
    with pytest.raises(SetupError, match="no native Lean"):
        toolchain.find(Silent(), "native")
    with pytest.raises(SetupError, match="pantograph-repl"):
        toolchain.find(Silent(), "pantograph")
    with pytest.raises(ConfigError, match="unknown toolchain"):
        toolchain.find(Silent(), "wooden")
    with pytest.raises(ConfigError, match="lake project"):
        toolchain.find(Silent(), "embedded", bare)


def test_a_native_lean_is_preferred(bare: Path) -> None:
    program(bare, "lean", LEAN.format(prefix=bare.parent))
    found = toolchain.find(Silent())
    assert (found.kind, found.version) == ("native", "4.28.0")
    spec = found.launch(["Init", "Std"])
    assert spec.command[:2] == (str(bare / "lean"), "--run")
    assert spec.command[3:] == ("Init", "Std")
    assert Path(spec.command[2]).read_text(encoding="utf-8") == repl.source()


def test_nothing_that_a_file_imports_is_an_option(bare: Path) -> None:
    program(bare, "lean", LEAN.format(prefix=bare.parent))
    found = toolchain.find(Silent())
    spec = found.launch(["Init", "«doc-gen4».Main"], ["--maxRecDepth=9", "--pp.all=true"])
    assert spec.command[3:] == ("--maxRecDepth=9", "--pp.all=true", "--", "Init", "«doc-gen4».Main")
    for module in (
        "--maxHeartbeats=0",
        "--",
        "",
        "A.",
        ".A",
        "A..B",
        "../A",
        "A/B",
        "A B",
        "1A",
        "A\n",
    ):
        with pytest.raises(InputError, match="not the name of a module"):
            found.launch(["Init", module])
    for option in ("-x", "--", "--x", "Init", "--=1", "--a b=1"):
        with pytest.raises(InputError, match="unknown option"):
            found.launch(["Init"], [option])


def test_elan_is_looked_for_at_home(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELAN_HOME")
    elan = bare.parent / ".elan" / "bin"
    elan.mkdir(parents=True)
    program(elan, "lean", LEAN.format(prefix=elan.parent))
    assert toolchain.native_lean() == elan / "lean"


def test_a_lake_project_brings_its_packages(bare: Path, tmp_path: Path) -> None:
    program(bare, "lean", LEAN.format(prefix=bare.parent))
    program(bare, "lake", LAKE)
    project = tmp_path / "project"
    project.mkdir()
    with pytest.raises(ConfigError, match="not a lake project"):
        toolchain.find(Silent(), None, project)
    (project / "lakefile.toml").write_text("")
    spec = toolchain.find(Silent(), None, project).launch(["Mathlib"])
    assert spec.cwd == project
    assert spec.env["LEAN_PATH"] == "/packages/lib"
    assert "SECRET" not in spec.env


def test_pantograph(bare: Path) -> None:
    program(bare, "pantograph-repl", "#!/bin/sh\necho 0.3.15\n")
    found = toolchain.find(Silent(), "pantograph")
    assert found.version == "0.3.15"
    assert found.launch(["Init"]).command == (str(bare / "pantograph-repl"), "Init")


def test_a_lean_that_fails_is_reported(bare: Path) -> None:
    program(bare, "lean", "#!/bin/sh\necho broken >&2; exit 1\n")
    with pytest.raises(SetupError, match="broken"):
        toolchain.find(Silent(), "native")
    assert os.environ["PATH"] == str(bare)

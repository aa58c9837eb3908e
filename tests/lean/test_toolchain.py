"""Finding a Lean. A script stands in for a native one, since only the command line matters here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnqed.core.errors import ConfigError, InputError, SetupError
from burnqed.lean import toolchain
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.native import found
from burnqed.lean.process import LaunchSpec
from tests.lean.native.stand_in import install, program
from tests.lean.native.test_program import Said

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


def test_no_native_lean(bare: Path) -> None:
    assert found.on_path() is None
    with pytest.raises(SetupError, match="no native Lean"):
        toolchain.find(Silent(), "native")
    with pytest.raises(SetupError, match="pantograph-repl"):
        toolchain.find(Silent(), "pantograph")
    with pytest.raises(ConfigError, match="unknown toolchain"):
        toolchain.find(Silent(), "wooden")
    with pytest.raises(ConfigError, match="lake project"):
        toolchain.find(Silent(), "embedded", bare)


def test_a_native_lean_is_preferred(bare: Path) -> None:
    install(bare.parent)
    said = Said()
    chosen = toolchain.find(said)
    assert (chosen.kind, chosen.version) == ("native", "4.28.0")
    assert any(text.startswith("native Lean 4.28.0 (") for text in said.stages), "nobody asked"
    spec = chosen.launch(["Init", "Std"])
    assert Path(spec.command[0]).name == "repl"
    assert spec.command[1:] == ("Init", "Std")
    asked = Said()
    assert toolchain.find(asked, "native").kind == "native"
    assert asked.stages == []


def test_one_that_cannot_run_the_repl_is_not_preferred(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(bare.parent, elaborate="echo 'BurnQedRepl.lean:1:0: error: no'; exit 1")
    other = toolchain.Toolchain("embedded", "4.28", bare, lambda wanted: LaunchSpec((), {}))
    monkeypatch.setattr(toolchain, "embedded", lambda progress: other)
    said = Said()
    assert toolchain.find(said) is other
    assert "cannot be used: burn-qed's REPL does not work under Lean 4.28.0" in said.stages[-1]
    with pytest.raises(SetupError, match="does not work under Lean"):
        toolchain.find(Silent(), "native")


def test_nothing_that_a_file_imports_is_an_option(bare: Path) -> None:
    install(bare.parent)
    chosen = toolchain.find(Silent())
    spec = chosen.launch(["Init", "«doc-gen4».Main"], ["--maxRecDepth=9", "--pp.all=true"])
    assert spec.command[1:] == ("--maxRecDepth=9", "--pp.all=true", "--", "Init", "«doc-gen4».Main")
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
            chosen.launch(["Init", module])
    for option in ("-x", "--", "--x", "Init", "--=1", "--a b=1"):
        with pytest.raises(InputError, match="unknown option"):
            chosen.launch(["Init"], [option])


def test_elan_is_looked_for_at_home(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELAN_HOME")
    elan = bare.parent / ".elan" / "bin"
    elan.mkdir(parents=True)
    install(elan.parent)
    assert found.on_path() == elan / "lean"


def test_a_lake_project_brings_its_packages(bare: Path, tmp_path: Path) -> None:
    install(bare.parent)
    program(bare / "lake", LAKE)
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
    program(bare / "pantograph-repl", "#!/bin/sh\necho 0.3.15\n")
    chosen = toolchain.find(Silent(), "pantograph")
    assert chosen.version == "0.3.15"
    assert chosen.launch(["Init"]).command == (str(bare / "pantograph-repl"), "Init")


def test_a_lean_that_fails_is_reported(bare: Path) -> None:
    program(bare / "lean", "#!/bin/sh\necho broken >&2; exit 1\n")
    with pytest.raises(SetupError, match="broken"):
        toolchain.find(Silent(), "native")
    assert os.environ["PATH"] == str(bare)

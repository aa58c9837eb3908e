"""A lake project, with scripts in place of `lean` and `lake`: `tests/native` has the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnqed.core.errors import ConfigError, InputError, SetupError
from burnqed.lean import project as projects
from burnqed.lean import toolchain
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.native import found
from burnqed.lean.project import Project, pin_of, project_of
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig
from tests.lean.native.stand_in import install, program

LAKE = """#!/bin/sh
case "$1" in
  env) cat "{folder}/env" ;;
  setup-file) echo "$2" > "{folder}/file"; echo "$3" > "{folder}/header"; cat "{folder}/setup"
    cat "{folder}/errors" >&2; exit $(cat "{folder}/exit") ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `lean` and a `lake` on PATH, and with no elan."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("ELAN_HOME", str(tmp_path / "elan"))
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    for name in ("BURN_QED_TOOLCHAIN", "ELAN_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    install(tmp_path)
    program(tmp_path / "bin" / "lake", LAKE.format(folder=tmp_path))
    program(tmp_path / "lib" / "lean" / "Init.olean", "")
    answers(tmp_path, {"options": {}})
    return tmp_path


def answers(machine: Path, setup: object, errors: str = "", code: int = 0) -> None:
    root = machine / "project"
    own, package = root / ".lake/build/lib/lean", root / ".lake/packages/aux/.lake/build/lib/lean"
    sources = f"{root / '.lake/packages/aux'}:{root}"
    (machine / "env").write_text(f"LEAN_PATH={package}:{own}\nLEAN_SRC_PATH={sources}\nSECRET=1\n")
    (machine / "setup").write_text(setup if isinstance(setup, str) else json.dumps(setup))
    (machine / "errors").write_text(errors)
    (machine / "exit").write_text(str(code))


@pytest.fixture
def root(machine: Path) -> Path:
    """A project with a package. All is built but `Mine.New`."""
    root = machine / "project"
    for name, text in {
        "lakefile.toml": 'name = "mine"',
        "lake-manifest.json": json.dumps({"packagesDir": ".lake/packages", "packages": []}),
        "Mine.lean": "import Mine.Basic",
        "Mine/Basic.lean": "import Aux",
        "Mine/Odd-name.lean": "",
        "Mine/New.lean": "",
        ".lake/build/lib/lean/Mine.olean": "",
        ".lake/build/lib/lean/Mine/Basic.olean": "",
        ".lake/build/lib/lean/Mine/Odd-name.olean": "",
        ".lake/build/lib/lean/Mine/Gone.olean": "",
        ".lake/packages/aux/lakefile.toml": 'name = "aux"',
        ".lake/packages/aux/Aux.lean": "",
        ".lake/packages/aux/.lake/build/lib/lean/Aux.olean": "",
        ".lake/packages/aux/Mathlib.lean": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def loaded(root: Path) -> Project:
    project = toolchain.find(Silent(), None, root).project
    assert project is not None
    return project


def test_the_project_around_a_file(root: Path, tmp_path: Path) -> None:
    assert project_of(root / "Mine" / "Basic.lean") == root
    assert project_of(root / "Mine" / "not" / "there.lean") == root
    assert project_of(root) == root
    # A package has its dependencies, and was built, where it was fetched to.
    assert project_of(root / ".lake/packages/aux/Aux.lean") == root
    assert project_of(tmp_path / "Other.lean") is None


def test_a_folder_without_a_lakefile_is_refused_with_the_project_around_it(root: Path) -> None:
    with pytest.raises(ConfigError, match="is not a lake project") as refused:
        loaded(root / "Mine")
    assert str(root) in refused.value.hint


def test_its_own_modules_are_those_that_are_built_and_have_a_source(root: Path) -> None:
    mine = loaded(root)
    assert sorted(mine.modules()) == ["Mine", "Mine.Basic", "Mine.«Odd-name»"]
    assert mine.modules()["Mine.«Odd-name»"] == root / "Mine" / "Odd-name.lean"
    assert mine.tops() == ("Mine", "Mine.«Odd-name»")
    assert mine.built("Aux") is not None
    assert mine.built("Mine.New") is None
    assert mine.source("Mine.New") == root / "Mine" / "New.lean"
    assert mine.module_at(root / "Mine" / "New.lean") == "Mine.New"
    assert mine.module_at(root / ".lake/packages/aux/Aux.lean") is None


def test_a_package_beside_the_modules_is_not_the_projects_own(root: Path) -> None:
    """It is required by its path, and lies in the project's folder."""
    packages = [{"type": "path", "name": "aux", "dir": "./.lake/packages/aux"}]
    manifest = {"packagesDir": "elsewhere", "packages": packages}
    (root / "lake-manifest.json").write_text(json.dumps(manifest))
    assert "Aux" not in loaded(root).modules()


def test_options_are_those_that_lake_says(root: Path, machine: Path) -> None:
    told = {
        "autoImplicit": False, "weak.linter.mine": True, "maxSynthPendingDepth": 3, "pp.style": "odd",
        "weak.warningAsError": True, "debug.skipKernelTC": True, "Elab.async": False,
    }  # fmt: skip
    answers(machine, {"options": told})
    wanted = (
        "--autoImplicit=false",
        "--linter.mine=true",
        "--maxSynthPendingDepth=3",
        "--pp.style=odd",
    )
    assert loaded(root).setup(["Init", "Mine"], root / "Mine" / "Basic.lean") == wanted
    assert (machine / "file").read_text().strip() == str(root / "Mine" / "Basic.lean")
    header = json.loads((machine / "header").read_text())
    assert [one["module"] for one in header["imports"]] == ["Init", "Mine"]
    # As an older Lake says it.
    answers(machine, {"setupOptions": {"autoImplicit": True}, "paths": {}})
    assert loaded(root).setup(["Init"]) == ("--autoImplicit=true",)
    answers(machine, "welcome")
    with pytest.raises(SetupError, match="says something else"):
        loaded(root).setup(["Init"])


def test_they_reach_the_command_before_those_of_the_user(root: Path, machine: Path) -> None:
    answers(machine, {"options": {"autoImplicit": False}})
    lean = leans.set_up(LeanConfig(project=root), ["Init", "Mine"], ["--pp.all=true"])
    assert lean.spec.command[-5:] == ("--autoImplicit=false", "--pp.all=true", "--", "Init", "Mine")
    assert lean.spec.cwd == root
    assert "SECRET" not in lean.spec.env


def test_what_is_not_built_is_told_with_the_fix(root: Path, machine: Path) -> None:
    failed = "Some required targets logged failures:\n- {}\n"
    answers(machine, "", failed.format("Mine.New"), 3)
    with pytest.raises(SetupError, match=r"Mine\.New of the lake project .* is not built") as told:
        loaded(root).setup(["Init", "Mine.New"])
    assert told.value.hint == f"run `lake build Mine.New` in {root}"
    answers(machine, "", failed.format("Mine.Basic"), 3)
    with pytest.raises(SetupError, match=r"Mine\.Basic of .* is not up to date") as told:
        loaded(root).setup(["Init", "Mine"])
    assert told.value.hint == f"run `lake build Mine` in {root}"
    answers(machine, "", failed.format("Mathlib"), 3)
    with pytest.raises(SetupError, match=r"Mathlib of .* is not built") as told:
        loaded(root).setup(["Init", "Mathlib"])
    assert "lake exe cache get" in told.value.hint


def test_a_module_that_nobody_has_is_bad_input(root: Path) -> None:
    with pytest.raises(InputError, match="has no module Absent") as told:
        loaded(root).setup(["Init", "Absent"])
    assert "lakefile.toml" in told.value.hint


def test_what_lake_complains_of_is_passed_on(root: Path, machine: Path) -> None:
    answers(machine, "", "info: hello\nerror: lakefile.toml: no such key\n", 1)
    with pytest.raises(SetupError, match=r"error: lakefile\.toml: no such key"):
        loaded(root).setup(["Init"])
    program(machine / "bin" / "lake", "#!/bin/sh\necho 'error: broken' >&2; exit 1\n")
    with pytest.raises(SetupError, match=r"`lake env` failed in .*: error: broken"):
        loaded(root)


def test_without_elan_the_lean_on_path_is_used_and_said_to_be_another(root: Path) -> None:
    (root / projects.PIN).write_text("leanprover/lean4:v4.28.0\n")
    assert pin_of(root / "Mine") == (root / projects.PIN, "leanprover/lean4:v4.28.0")
    assert "asks for" not in found.look(root).why
    (root / projects.PIN).write_text("leanprover/lean4:v4.30.0\n")
    assert "asks for leanprover/lean4:v4.30.0, which elan would bring" in found.look(root).why


def test_a_project_that_pins_its_lean_gets_elans(
    root: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / projects.PIN).write_text("leanprover/lean4:v4.30.0\n")
    elan = machine / "elan" / "bin"
    install(machine / "elan", version="4.30.0")
    program(elan / "lake", LAKE.format(folder=machine))
    program(elan / "elan", "")
    chosen = toolchain.native(Silent(), root)
    assert chosen.version == "4.30.0"
    assert chosen.described == (
        f"native Lean 4.30.0 (elan's, as {root / projects.PIN} asks: leanprover/lean4:v4.30.0), "
        f"project {root}"
    )
    monkeypatch.setenv("ELAN_TOOLCHAIN", "nightly")
    assert found.look(root).why == "elan's, as ELAN_TOOLCHAIN says: nightly"
    (root / projects.PIN).unlink()
    assert found.look(root).version == "4.28.0"  # the one on PATH


def test_a_file_brings_its_project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, plain = root / "Mine" / "Basic.lean", LeanConfig()
    assert leans.in_project(plain, file).project == root
    assert leans.in_project(plain, None) == plain
    assert leans.in_project(plain, root.parent / "Other.lean") == plain
    chosen = LeanConfig(project=Path("other"))
    assert leans.in_project(chosen, file) == chosen
    embedded = LeanConfig(toolchain="embedded")
    assert leans.in_project(embedded, file) == embedded
    monkeypatch.setenv("BURN_QED_TOOLCHAIN", "embedded")
    assert leans.in_project(plain, file) == plain
    monkeypatch.delenv("BURN_QED_TOOLCHAIN")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if found.on_path() is None:
        assert leans.in_project(plain, file) == plain


def test_where_nothing_says_what_to_import_a_project_gives_its_modules(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = LeanConfig(project=root)
    assert leans.modules_of(config) == ("Init", "Mine", "Mine.«Odd-name»")
    assert leans.modules_of(config, ()) == ("Init",)
    assert leans.modules_of(config, ("Aux",)) == ("Init", "Aux")
    assert leans.modules_of(LeanConfig(project=root, imports=("Aux",))) == ("Init", "Aux")
    assert leans.modules_of(LeanConfig()) == ("Init",)
    assert f"project {root}" in capsys.readouterr().err


def test_a_project_of_which_nothing_is_built(root: Path) -> None:
    for olean in root.glob(".lake/build/**/*.olean"):
        olean.unlink()
    with pytest.raises(SetupError, match="nothing of the lake project") as told:
        leans.modules_of(LeanConfig(project=root))
    assert "lake build" in told.value.hint

"""The REPL as a program: made once for a Lean, whole or not at all. Scripts stand in for Lean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnqed.core.errors import SetupError
from burnqed.lean import repl
from burnqed.lean.embedded.clean import remove as clean_up
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.native import clean, found, program
from burnqed.lean.native.found import NativeLean
from tests.lean.native.stand_in import ELABORATE, LINK, asked, install


class Said(Silent):
    """The stages that were shown."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str, total: int | None = None) -> None:
        self.stages.append(name)


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a Lean may be installed, on a machine that has no other and no C compiler."""
    root = tmp_path / "lean"
    monkeypatch.setenv("PATH", str(root / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "cache"))
    for name in ("ELAN_HOME", "BURN_QED_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    return root


def installed(prefix: Path, **kind: str | None) -> NativeLean:
    install(prefix, **kind)  # type: ignore[arg-type]
    return found.look()


def test_it_is_compiled_once(prefix: Path) -> None:
    lean, said = installed(prefix), Said()
    root = program.ensure(lean, said)
    assert said.stages == ["compiling the REPL for Lean 4.28.0, once"]
    spec = program.launch(lean, root, ("Init", "Std"))
    assert spec.command == (str(root / "repl"), "Init", "Std")
    assert spec.env["LEAN_SYSROOT"] == str(prefix)
    assert (spec.sealed, spec.may_write, spec.bounded) == (True, False, True)
    known = program.manifest(root, thorough=True)
    assert known is not None
    assert (known["lean"], known["compiler"], known["failed"]) == ("4.28.0", "leanc", [])
    assert program.ensure(found.look(), Silent()) == root
    assert (asked(prefix, "-R"), asked(prefix, "leanc")) == (1, 1)
    assert sorted(path.name for path in root.iterdir()) == ["manifest.json", "repl"]


def test_it_is_for_one_build_of_lean_and_one_repl(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = installed(prefix)
    first = program.location(lean)
    (prefix / "lib" / "lean").mkdir(parents=True)
    (prefix / "lib" / "lean" / "libleanshared.so").write_bytes(b"other code")
    other = program.location(lean)
    monkeypatch.setattr(repl, "source", lambda: "-- another REPL")
    assert len({first, other, program.location(lean)}) == 3


@pytest.mark.parametrize(
    ("link", "why"),
    [
        (None, []),
        ("echo 'ld: error: no crt1.o' >&2; exit 1", ["leanc: ld: error: no crt1.o"]),
        ('echo "$@"', ["leanc: -O1"]),
        (LINK + '; /bin/cp /bin/false "$2"', ["leanc: exit code 1"]),
    ],
    ids=["no compiler", "it fails", "it makes nothing", "what it makes does not start"],
)
def test_without_a_program_lean_runs_what_is_compiled(
    prefix: Path, link: str | None, why: list[str]
) -> None:
    lean = installed(prefix, link=link)
    root = program.ensure(lean, Silent())
    known = program.manifest(root)
    assert known is not None
    assert known["compiler"] == ""
    assert [text[: len(why[0])] for text in known["failed"]] == why
    lake = NativeLean(lean.binary, prefix, "4.28.0", {**lean.env, "LEAN_PATH": "a:b"})
    spec = program.launch(lake, root, ("Init",))
    assert spec.command == (str(prefix / "bin" / "lean"), "--run", str(root / "Run.lean"), "Init")
    assert spec.env["LEAN_PATH"] == f"a:b:{root}", "what is the project's is found first"
    assert (root / "Run.lean").read_text() == "import BurnQedRepl\n"


def test_a_lean_that_cannot_compile_it_is_told_once(prefix: Path) -> None:
    line = 1 + repl.source()[: repl.source().index("\ndef qedTrace ")].count("\n") + 1
    in_trace = (Path(repl.__file__).parent / "Trace.lean").read_text(encoding="utf-8").split("\n")
    wrong = f"echo '/tmp/BurnQedRepl.lean:{line}:4: error: unknown constant `Lean.New`'; exit 1"
    lean = installed(prefix, version="4.9.0", elaborate=wrong)
    for _ in range(2):
        with pytest.raises(SetupError) as error:
            program.ensure(lean, Silent())
        assert "under Lean 4.9.0: Trace.lean:" in error.value.message
        at = int(error.value.message.split("Trace.lean:")[1].split(":")[0])
        assert in_trace[at - 1].startswith("def qedTrace ")
        assert "unknown constant `Lean.New`" in error.value.message
        assert "4.27.0-pre and 4.28.0-pre" in error.value.hint
    assert asked(prefix, "-R") == 1, "it would fail again"


def test_other_failures_are_tried_again(prefix: Path) -> None:
    """A machine without memory says nothing against this Lean."""
    lean = installed(prefix, elaborate="echo 'INTERNAL PANIC: out of memory' >&2; exit 1")
    for count in (1, 2):
        with pytest.raises(SetupError, match="out of memory"):
            program.ensure(lean, Silent())
        assert asked(prefix, "-R") == count
    install(prefix)
    program.ensure(lean, Silent())


def test_one_that_never_starts_is_no_toolchain(prefix: Path) -> None:
    lean = installed(prefix, repl="#!/bin/sh\necho 'no such module' >&2; exit 1\n")
    with pytest.raises(SetupError, match=r"does not start under Lean 4\.28\.0: no such module"):
        program.ensure(lean, Silent())
    assert not program.location(lean).exists()


@pytest.mark.parametrize("damage", ["cut", "gone", "no manifest", "no JSON"])
def test_what_is_damaged_is_made_again(prefix: Path, damage: str) -> None:
    lean = installed(prefix)
    root = program.ensure(lean, Silent())
    if damage == "cut":
        (root / "repl").write_text("#!/bin/sh\n")
    elif damage == "gone":
        (root / "repl").unlink()
    elif damage == "no manifest":
        (root / "manifest.json").unlink()
    else:
        (root / "manifest.json").write_text("[1]")
    assert program.manifest(root) is None
    assert program.ensure(lean, Silent()) == root
    assert program.manifest(root, thorough=True) is not None
    assert asked(prefix, "-R") == 2


ENSURE = """
from burnqed.lean.embedded.progress import Silent
from burnqed.lean.embedded.clean import remove as clean_up
from burnqed.lean.native import clean, found, program
print(program.ensure(found.look(), Silent()))
"""


def begin() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def test_of_two_at_once_one_compiles(prefix: Path) -> None:
    lean = installed(prefix, elaborate="/bin/sleep 2; " + ELABORATE)
    both = [begin(), begin()]
    ended = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert {out.strip() for out, _ in ended} == {str(program.location(lean))}
    assert asked(prefix, "-R") == 1


def test_after_an_interruption_it_is_made_anew(prefix: Path) -> None:
    lean = installed(prefix, elaborate="/bin/sleep 60")
    interrupted = begin()
    deadline = time.monotonic() + 60
    while not asked(prefix, "-R"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(interrupted.pid, signal.SIGKILL)
    interrupted.communicate()
    assert not program.location(lean).exists()
    assert list(program.folder().glob("new-*"))
    install(prefix)
    program.ensure(lean, Silent())
    assert not list(program.folder().glob("new-*"))


def test_clean_knows_what_is_used(prefix: Path) -> None:
    lean = installed(prefix)
    root = program.ensure(lean, Silent())
    (program.folder() / "new-x").mkdir()
    older = program.folder().parent / "repl"
    older.mkdir()
    kinds = {one.name: one.kind for one in clean.leftovers()}
    assert kinds == {"new-x": "unfinished", "repl": "REPL"}
    install(prefix, version="4.29.0")
    (prefix / "bin" / "lean").write_text("another build\n")
    stale = {one.name: one for one in clean.leftovers()}
    assert stale[root.name].kind == "REPL"
    with subprocess.Popen(["/bin/sleep", "60"], cwd=root) as worker:
        held = {one.name: one for one in clean.leftovers()}[root.name]
        assert held.holder == f"process {worker.pid}"
        assert not clean_up(held)
        worker.kill()
    for one in stale.values():
        assert clean_up(one)
    assert [path.name for path in program.folder().iterdir()] == ["compiling.lock"]
    assert clean.leftovers() == []

"""`qed?` in a native Lean: it starts burn-qed, offers what Lean accepts, and ends what nobody wants.

It needs a Lean on PATH or elan's. One whose library lies elsewhere finds it by LEAN_PATH.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from burnqed.lean import tactic
from burnqed.lean.native.found import on_path
from tests.cli.test_serve_prove import serving

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
QUICK = "--policy portfolio --nodes 10"
TEXT = """\
import BurnQed

theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by
  qed?
theorem both (p q : Prop) (hp : p) (hq : q) : q ∧ p := by
  constructor
  · qed?
  · exact hp
theorem wrong (n : Nat) : n * n = 2 * n := by
  qed? "--nodes 1"
"""


class Native:
    """A Lean, and a folder with `BurnQed` that its files can import."""

    def __init__(self, lean: Path, folder: Path) -> None:
        self.lean, self.folder = lean, folder
        self.env = {**os.environ, "LEAN_PATH": f"{os.environ.get('LEAN_PATH', '')}:{folder}"}

    def run(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [str(self.lean), *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300,
            env={**self.env, "BURN_QED_COMMAND": BURN_QED, **environment}, check=False,
        )  # fmt: skip
        assert not done.stderr, done.stderr
        return done.stdout

    def said(self, text: str, options: str) -> dict[int, str]:
        """What Lean says of each line, with the kind of it."""
        (self.folder / "Use.lean").write_text(text)
        lines = self.run("--json", "Use.lean", BURN_QED_OPTIONS=options).splitlines()
        messages = [json.loads(line) for line in lines]
        return {one["pos"]["line"]: f"{one['severity']}: {one['data']}" for one in messages}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    lean = on_path()
    if lean is None:
        pytest.skip("no native Lean on PATH or in ~/.elan")
    folder = tmp_path_factory.mktemp("project")
    (folder / tactic.NAME).write_text(tactic.source(), encoding="utf-8")
    found = Native(lean, folder)
    assert found.run("-o", "BurnQed.olean", "BurnQed.lean") == "", "it compiles, without a warning"
    return found


def test_it_offers_what_burn_qed_proves_here(native: Native) -> None:
    said = native.said(TEXT, f"{QUICK} --toolchain embedded")
    _right(said)
    first = said[4].rpartition("] ")[2]
    text = TEXT.replace("qed?", first, 1)
    assert 4 not in native.said(text, f"{QUICK} --toolchain embedded"), "what it offers closes the goal"


def test_it_asks_a_server(native: Native) -> None:
    with serving(*QUICK.split(), "--toolchain", "embedded") as (_, about):
        _right(native.said(TEXT, f"--server {about['url']}"))
    gone = native.said(TEXT, f"--server {about['url']}")
    assert all(one.startswith("error: ") and "nobody answers" in one for one in gone.values())


def _right(said: dict[int, str]) -> None:
    assert set(said) == {4, 7, 10}
    for line in (4, 7):
        assert said[line].startswith("information: Try this:")
    assert said[10].startswith("error: burn-qed found no proof: false: n = ")


def test_a_program_that_is_not_there_is_named(native: Native) -> None:
    (native.folder / "One.lean").write_text(TEXT)
    said = native.run("One.lean", BURN_QED_COMMAND="no-such-program")
    assert "no-such-program" in said
    assert "BURN_QED_COMMAND" in said


# ---------------------------------------------------------------------------------- in an editor


class Editor:
    """An editor's side of Lean's language server."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self._process, self._file, self._version = process, file, 0

    def open(self, text: str) -> None:
        self._tell("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, id=1)
        self._tell("initialized", {})
        document = {"uri": self._file.as_uri(), "languageId": "lean4", "version": 1, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})

    def change(self, text: str) -> None:
        about = {"uri": self._file.as_uri(), "version": 2}
        changes = [{"text": text}]
        self._tell("textDocument/didChange", {"textDocument": about, "contentChanges": changes})

    def _tell(self, method: str, params: dict[str, Any], **more: Any) -> None:
        content = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        body = json.dumps(content).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()


@pytest.fixture
def asked(native: Native) -> Iterator[tuple[Editor, Path]]:
    """An editor, and the file where a program that never answers notes itself."""
    program, noted = native.folder / "slow", native.folder / "noted"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\nsleep 600 &\necho $$ $! > {noted}\nwait\n")
    program.chmod(0o755)
    noted.unlink(missing_ok=True)
    with subprocess.Popen(
        [str(native.lean), "--server"], cwd=native.folder, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**native.env, "BURN_QED_COMMAND": str(program)},
    ) as process:  # fmt: skip
        try:
            yield Editor(process, native.folder / "Edited.lean"), noted
        finally:
            process.kill()


def test_after_an_edit_the_search_ends(asked: tuple[Editor, Path]) -> None:
    editor, noted = asked
    text = "import BurnQed\nexample (p : Prop) (h : p) : p := by\n  qed?\n"
    editor.open(text)
    until(lambda: noted.exists() and len(noted.read_text().split()) == 2)
    pids = noted.read_text().split()
    assert all(_lives(pid) for pid in pids)
    editor.change(text.replace("qed?", "exact h"))
    until(lambda: not any(_lives(pid) for pid in pids))


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

"""The line that goes on with what was stopped: a shell makes of it what was typed, and --resume."""

from __future__ import annotations

import builtins
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import burnqed.__main__
from burnqed.cli import stopping
from burnqed.cli.stopping import to_resume

SCRIPT = Path(sys.executable).with_name("burn-qed")
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


def after_a_shell(line: str, folder: Path) -> list[str]:
    """The arguments that a program gets when the line is pasted."""
    shown = folder / "burn-qed"
    if not shown.exists():
        shown.write_text(f"#!{sys.executable}\nimport sys, json\nprint(json.dumps(sys.argv[1:]))\n")
        shown.chmod(0o755)
    program, rest = line.split(" ", 1)
    assert program.endswith("burn-qed")
    out = subprocess.run(f"{shown} {rest}", shell=True, capture_output=True, text=True, check=True)
    return list(json.loads(out.stdout))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shell")


@settings(deadline=None)  # it starts a shell
@given(st.lists(words.filter(lambda word: word not in ("--", "--resume")), max_size=3))
def test_a_shell_gives_back_what_was_typed(folder: Path, arguments: list[str]) -> None:
    assert after_a_shell(to_resume(["eval", *arguments]), folder) == ["eval", *arguments, "--resume"]


def test_it_is_asked_for_once_and_as_an_option(folder: Path) -> None:
    for typed, asked in (
        (["eval", "--resume", "s"], ["eval", "--resume", "s"]),
        (["eval", "--out", "o", "--", "-s"], ["eval", "--out", "o", "--resume", "--", "-s"]),
    ):
        assert after_a_shell(to_resume(typed), folder) == asked


def test_it_is_this_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(SCRIPT.parent) + os.pathsep + "/bin")
    assert to_resume(["eval"]) == "burn-qed eval --resume"
    monkeypatch.setenv("PATH", "/bin")
    assert to_resume(["eval"]) == f"{SCRIPT} eval --resume"
    monkeypatch.setattr(stopping, "_PROGRAM", "not-installed")
    assert to_resume(["eval"]) == f"{sys.executable} -m burnqed eval --resume"
    assert shutil.which("not-installed") is None


def test_ctrl_c_while_commands_are_loaded_is_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = builtins.__import__

    def interrupted(name: str, *rest: Any, **more: Any) -> Any:
        if name == "burnqed.cli.main":
            raise KeyboardInterrupt
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as ended:
        burnqed.__main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"

"""`burn-qed check` on files that do not compile, in whole or in part: what is said, and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.in_process import Done, burn_qed

pytestmark = pytest.mark.lean


def checked(folder: Path, text: str, *more: str | Path, code: int) -> tuple[Done, dict[str, Any]]:
    """What is printed for people, and what for machines."""
    file = folder / "file.lean"
    file.write_text(text)
    told = json.loads(burn_qed("check", file, *more, "--json", code=code).stdout)
    return burn_qed("check", file, *more, code=code), told


# Of the theorem `t` nothing is wrong.
ELSEWHERE = {
    "a definition": ("def f : Nat := true\n", "1:15: Type mismatch"),
    "an example": ("example : False := by decide\n", "1:22: Tactic `decide` proved"),
    "a command": ("#check nothing\n", "1:7: Unknown identifier `nothing`"),
    "an end": ("end Foo\n", "1:0: Invalid `end`"),
    "what is no command": ("lemma x : 1 = 1 := rfl\n", "1:0: unexpected identifier; expected command"),
}


def test_an_error_elsewhere_is_told_and_does_not_exit_0(tmp_path: Path) -> None:
    """Of each kind one, and the theorem accepted all the same; the same with a reference."""
    task = tmp_path / "task.lean"
    task.write_text("theorem t : 1 = 1 := sorry\n")
    text = "".join(part for part, _ in ELSEWHERE.values()) + "theorem t : 1 = 1 := rfl\n"
    for more in ((), ("--against", task)):
        out, told = checked(tmp_path, text, *more, code=1)
        assert [row["theorem"] for row in told["theorems"] if row["accepted"]] == ["t"]
        assert "accepted" in out.stdout
        lines = [f"{e['line']}:{e['column']}: {e['message']}" for e in told["errors"]]
        assert len(lines) == len(ELSEWHERE)
        for number, (said, (_, start)) in enumerate(zip(lines, ELSEWHERE.values(), strict=True), 1):
            assert said.startswith(f"{number}:{start.partition(':')[2]}")
            if "lemma" not in said:
                assert said.split("\n")[0] in out.stdout + out.stderr


def test_a_file_without_errors_has_none(tmp_path: Path) -> None:
    out, told = checked(tmp_path, "theorem t : 1 = 1 := rfl\n", code=0)
    assert (told["errors"], told["hint"], out.stderr) == ([], "", "")


def test_the_first_error_is_the_one_that_is_told(tmp_path: Path) -> None:
    """What the parser says comes before what fails for it, and both have their place."""
    text = (
        "theorem s : 1 = 1 := rfl\n\ntheorem t : ∀ x, x = 1 ∧ 2 = 2 := by\n  intro x\n  simpp\n  rfl\n"
    )
    _, told = checked(tmp_path, text, code=1)
    s, t = told["theorems"]
    assert s["accepted"]
    assert t["reason"].startswith("it does not compile: 5:3: unknown tactic")
    first, second = told["errors"]
    assert (first["line"], first["column"], first["message"]) == (5, 3, "unknown tactic `simpp`")
    assert second["message"].startswith("unsolved goals")


def test_what_is_a_definition_here(tmp_path: Path) -> None:
    task = tmp_path / "task.lean"
    task.write_text("theorem t : 1 = 1 := sorry\n\ntheorem u : 1 = 1 := sorry\n")
    text = "def t : 1 = 1 := rfl\n\nstructure u where\n"
    _, told = checked(tmp_path, text, "--against", task, code=1)
    reasons = {row["theorem"]: row["reason"] for row in told["theorems"]}
    assert "it is a def here and a theorem in the reference" in reasons["t"]
    assert "it is an inductive here and a theorem in the reference" in reasons["u"]


@pytest.mark.parametrize(
    ("text", "word", "code"),
    [
        ("theorem t (x : ℝ) : x = x := rfl\n", "ℝ", 0),
        ("lemma t : 1 = 1 := rfl\n", "lemma", 1),
    ],
)
def test_who_means_mathlib_is_told(tmp_path: Path, text: str, word: str, code: int) -> None:
    out, told = checked(tmp_path, text, code=code)
    assert told["hint"].startswith(f"`{word}` is ")
    assert "`import Mathlib` and --project" in told["hint"]
    assert told["hint"] in out.stderr


# What Lean says holds what the file gave it: a terminal is not to obey it.
HOSTILE = 'theorem t : False := by\n  fail "\\x1b[2J\\x1b[32maccepted[bold]\\u202e"\n'


def test_nothing_in_a_message_acts_on_the_terminal(tmp_path: Path) -> None:
    out, told = checked(tmp_path, HOSTILE, code=1)
    assert "\x1b[2J\x1b[32maccepted[bold]\u202e" in told["theorems"][0]["reason"]
    for printed in (out.stdout, out.stderr):
        assert "\x1b" not in printed
        assert "\u202e" not in printed
    assert "\\u001b[32maccepted[bold]\\u202e" in out.stdout
    named = f"theorem «{chr(27)}[32mgood» : 1 = 1 := rfl\n"
    out, told = checked(tmp_path, named, code=1)
    assert "\x1b" not in out.stdout
    assert "invisible character, U+001B" in out.stdout


def test_seconds_are_the_whole_time(tmp_path: Path) -> None:
    file = tmp_path / "long.lean"
    file.write_text("theorem a : 1 = 1 := rfl\n\ntheorem t : 123456 ^ 16777216 > 0 := by omega\n")
    burn_qed("check", file, "--seconds", "1", code=3)  # it is set up now, if it was not
    command = [str(Path(sys.executable).with_name("burn-qed")), "check", str(file), "--seconds", "6"]
    begun = time.monotonic()
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    took = time.monotonic() - begun
    assert out.returncode == 3, out
    assert "no verdict within" in out.stderr
    assert "--seconds" in out.stderr
    assert took < 25, "the text alone would take minutes"


@pytest.mark.parametrize("piece", ["¬ ", "fun x => ", "namespace A\n", "open Nat in\n", "("])
def test_what_nests_too_deep_is_refused_at_once(tmp_path: Path, piece: str) -> None:
    file = tmp_path / "deep.lean"
    file.write_text(f"theorem t : True := by exact\n{piece * 60_000}trivial\n")
    begun = time.process_time()
    told = json.loads(burn_qed("check", file, "--json", code=1).stdout)
    assert "deep" in told["theorems"][0]["reason"]
    assert time.process_time() - begun < 10
    assert os.path.getsize(file) < 1_000_000  # noqa: PTH202


def test_a_module_is_a_name(tmp_path: Path) -> None:
    file = tmp_path / "option.lean"
    file.write_text("-- x\nimport «--maxHeartbeats=0»\n\ntheorem t : 1 = 1 := rfl\n")
    told = burn_qed("check", file, code=2).stderr
    assert "`import «--maxHeartbeats=0»` in line 2 does not name a module" in told

"""`burn-qed prove` as a user sees it: the proof on stdout, words on stderr, files, JSON, exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import NoneType
from typing import Any
from unittest.mock import patch

import pytest

from burnqed.evaluation.file import prove_file
from tests.cli.in_process import burn_qed
from tests.prover.test_suggesting import apply
from tests.rights import bound_by_permissions

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
QUICK = ("--policy", "portfolio", "--candidates", "4")  # where it does not matter who proves it


def run(
    *arguments: str | Path, code: int, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    out = subprocess.run(
        [BURN_QED, "prove", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=os.environ | (env or {}),
    )
    assert out.returncode == code, out
    assert "Traceback" not in out.stderr
    return out


# ----------------------------------------------------------------------------- statements


@pytest.mark.lean
def test_a_statement() -> None:
    """Longer in bytes than the name of a file may be, which nobody should notice."""
    statement = "∀ p q : Prop, " + " ∧ ".join(["(p → q → p)"] * 13)
    assert len(statement.encode()) > 255
    out = run(statement, code=0)
    assert out.stdout.startswith(f"theorem qed_goal : {statement} := by\n  ")
    assert out.stdout.endswith("\n")
    proved, time_spent, tactics = out.stderr.splitlines()
    assert proved.startswith("proved: ")
    assert proved.endswith("; axioms: not known (library proofs not inspected)")
    assert re.fullmatch(r"time: (\w[\w ]+ \d+\.\d s(, |$))+", time_spent)
    kind = r"\S+ \d+\.\d s \(\d+\)"
    assert re.fullmatch(
        rf"\d+ tactics? in \d+\.\d s of Lean, most for {kind}(, {kind}){{0,2}}", tactics
    )


@pytest.mark.lean
def test_a_theorem_and_what_stands_before_it() -> None:
    text = "def twice (n : Nat) := n + n\n\ntheorem twice_eq (n : Nat) : twice n = 2 * n"
    out = run("-", "--json", code=0, stdin=text)
    said = json.loads(out.stdout)
    assert out.stderr == ""
    assert {key: type(value) for key, value in said.items()} == {
        "theorem": str, "negation": NoneType, "outcome": str, "reason": str, "detail": str,
        "proof": str, "tactics": list, "axioms": NoneType, "axioms_seen": list,
        "counterexample": NoneType, "negation_proof": NoneType, "nodes": int, "states": int,
        "seconds": float, "lean_seconds": float, "judge_seconds": float, "policy": str,
        "model": str, "toolchain": str, "times": dict,
    }  # fmt: skip
    activities, tactics = said["times"]["activities"], said["times"]["tactics"]
    assert {"starting Lean", "trying tactics", "judging the proof"} <= activities.keys()
    assert all(spent >= 0 for spent in activities.values())
    assert sum(one["tried"] for one in tactics) >= 1
    assert [one["seconds"] for one in tactics] == sorted((o["seconds"] for o in tactics), reverse=True)
    assert (said["theorem"], said["outcome"]) == ("twice_eq", "proved")
    assert said["proof"].startswith(f"{text} := by\n  {said['tactics'][0].splitlines()[0]}")
    assert said["nodes"] >= 1


@pytest.mark.lean
def test_what_looks_for_a_proof() -> None:
    """By itself rules, lemmas and what was learnt; the rules alone where that is wanted."""
    statement = "∀ (xs ys : List Nat), (xs ++ ys).reverse = ys.reverse ++ xs.reverse"
    for options, policy, model in (
        ((), "ranked", "core"),
        (("--policy", "portfolio"), "portfolio", None),
    ):
        said = json.loads(burn_qed("prove", statement, "--json", *options).stdout)
        assert (said["outcome"], said["policy"], said["model"]) == ("proved", policy, model)


# True, and not for a few nodes to prove.
FERMAT = "∀ a b c n : Nat, 2 < n → 0 < a → 0 < b → a ^ n + b ^ n ≠ c ^ n"


@pytest.mark.lean
def test_what_is_not_found() -> None:
    """Not found is not an error: exit code 1, nothing on stdout, and what the search came to see."""
    out = run(FERMAT, "--policy", "portfolio", "--nodes", "2", "--candidates", "16", code=1)
    assert out.stdout == ""
    assert "the budget of nodes ran out (2 nodes" in out.stderr
    assert "goal: 2 nodes expanded in" in out.stderr
    found = re.search(r"best open state, at depth (\d+):\n(.*)the steps to it:\n(.*)", out.stderr, re.S)
    assert found
    assert "⊢ " in found[2]
    assert re.findall(r"^ +(\d+)\. ", found[3], re.M) == [str(n + 1) for n in range(int(found[1]))]


@pytest.mark.lean
def test_what_is_false() -> None:
    """No budget is spent on it: at which values it is false, what proves the negation, exit code 1."""
    out = run("∀ n, n < 5", code=1)
    assert out.stdout == ""
    first, second, third = out.stderr.splitlines()[:3]
    assert third.startswith("time: ")
    assert first == "false: n = 5"
    assert second.startswith("this proves its negation: ")
    said = json.loads(
        burn_qed("prove", "theorem t (a b : Int) : a - b = b - a", "--json", *QUICK, code=1).stdout
    )
    assert (said["outcome"], said["detail"]) == ("false", "a = 0, b = 1")
    assert said["counterexample"] == {"a": "0", "b": "1"}
    assert said["negation_proof"].endswith("decide")
    assert (said["nodes"], said["proof"], said["tactics"]) == (0, None, [])
    closed = json.loads(burn_qed("prove", "2 + 2 = 5", "--json", *QUICK, code=1).stdout)
    assert (closed["outcome"], closed["counterexample"]) == ("false", None)
    assert closed["negation_proof"] == "decide"


@pytest.mark.lean
def test_what_is_disproved(tmp_path: Path) -> None:
    """By values, or by a search for a proof of the negation; the judge has the last word on either."""
    said = json.loads(burn_qed("prove", "theorem t (n : Nat) : n < 5", "--disprove", "--json").stdout)
    assert (said["theorem"], said["outcome"]) == ("t.negation", "proved")
    assert said["negation"] == "theorem t.negation : ¬ (∀ (n : Nat), n < 5)"
    assert said["proof"].startswith(f"{said['negation']} := by\n  ")
    assert said["counterexample"] == {"n": "5"}
    long = ("--seconds", "250")  # longer than it takes anywhere
    searched = burn_qed("prove", "∃ n : Nat, n * n = n + 1", "--disprove", *long)
    head = "theorem qed_goal : ¬ (∃ n : Nat, n * n = n + 1) := by\n  "
    assert searched.stdout.startswith(head)
    assert searched.stderr.startswith("disproved: ")
    file = tmp_path / "Disproved.lean"
    file.write_text(searched.stdout)
    burn_qed("check", file, code=0)


@pytest.mark.lean
def test_what_is_true_is_not_disproved() -> None:
    """Its negation is refuted, or the budget runs out; nothing is proved of it."""
    out = burn_qed("prove", "1 = 1", "--disprove", *QUICK, code=1)
    assert out.stdout == ""
    assert out.stderr.startswith("not false: its negation is refuted, by ")
    few = ("--policy", "portfolio", "--nodes", "1", "--candidates", "6")
    out = burn_qed("prove", "∃ n : Nat, n * n = 5041", "--disprove", *few, code=1)
    assert out.stdout == ""
    assert out.stderr.startswith(("not disproved: ", "not false: "))


def test_what_can_not_be_disproved_is_told_before_lean_starts(tmp_path: Path) -> None:
    file = tmp_path / "Draft.lean"
    file.write_text(DRAFT)
    for more in (("--write",), ("--at", "1"), ("--suggest",)):
        told = burn_qed("prove", file, "--disprove", *more, code=2).stderr
        assert "--disprove proves one statement" in told
    told = burn_qed("prove", "1 = 1", "--disprove", "--server", "http://127.0.0.1:1", code=2).stderr
    assert "--disprove does not go with --server" in told


@pytest.mark.lean
def test_a_statement_that_does_not_elaborate() -> None:
    out = run("∀ n : Nat, n = someone.else", *QUICK, code=2)
    assert out.stdout == ""
    assert "error (statement): " in out.stderr
    assert "someone.else" in out.stderr
    said: dict[str, Any] = json.loads(run("theorem t : Nat →", "--json", *QUICK, code=2).stdout)
    assert (said["outcome"], said["reason"], said["proof"]) == ("error", "statement", None)


# ---------------------------------------------------------------------------------- files

DRAFT = """\
-- A draft.
import Init

theorem not_zero (n : Nat) (h : 3 < n) : n ≠ 0 := by
  sorry

theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := sorry
"""


@pytest.mark.lean
def test_a_file(tmp_path: Path) -> None:
    """Without --write the finished file is on stdout, and the file as it was; with it, rewritten."""
    file = tmp_path / "Draft.lean"
    file.write_text(DRAFT)
    out = run(file, *QUICK, code=0)
    assert file.read_text() == DRAFT
    head, _, proof = out.stdout.partition(":= by\n")
    assert head == DRAFT.partition(":= by\n")[0], "the comment and the import are kept"
    assert "sorry" not in proof
    assert "not_zero" in out.stderr
    assert out.stderr.count("accepted") == 2
    written = run(file, "--write", *QUICK, code=0)
    assert written.stdout == ""
    assert file.read_text() == out.stdout
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("closed", ["the file", "its folder"])
def test_what_cannot_be_rewritten_is_refused_before_the_search(tmp_path: Path, closed: str) -> None:
    """Without Lean: it does not get that far."""
    file = tmp_path / "folder" / "Draft.lean"
    file.parent.mkdir()
    file.write_text(DRAFT)
    (file if closed == "the file" else file.parent).chmod(0o555)
    with (
        patch("burnqed.prover.leans.set_up", side_effect=AssertionError),
        bound_by_permissions(),
    ):
        done = burn_qed("prove", file, "--write", code=2)
    assert f"cannot rewrite {file}: " in done.stderr
    assert "leave out --write to print the result" in done.stderr
    assert "space" not in done.stderr
    assert (file.read_text(), [*file.parent.iterdir()]) == (DRAFT, [file])


def test_a_file_that_is_marked_read_only_is_so_for_root(tmp_path: Path) -> None:
    file = tmp_path / "Draft.lean"
    file.write_text(DRAFT)
    file.chmod(0o444)
    told = burn_qed("prove", file, "--write", code=2).stderr
    assert f"cannot rewrite {file}: it is read-only" in told


@pytest.mark.lean
@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ((), 3, "Permission denied"),
        (("--json",), 3, "Permission denied"),
        ((), 2, "changed during the search"),
    ],
)
def test_proofs_that_cannot_be_written_are_printed(
    tmp_path: Path, options: tuple[str, ...], code: int, told: str
) -> None:
    """The folder is closed, or the file is edited, while proofs are searched."""
    file = tmp_path / "folder" / "Draft.lean"
    file.parent.mkdir()
    file.write_text(DRAFT)
    edited = DRAFT + "-- a note\n" if code == 2 else DRAFT

    async def meanwhile(*arguments: Any) -> Any:
        result = await prove_file(*arguments)
        file.write_text(edited)
        if code == 3:
            file.parent.chmod(0o555)
        return result

    with patch("burnqed.prover.task.prove_file", meanwhile), bound_by_permissions():
        done = burn_qed("prove", file, "--write", *QUICK, *options, code=code)
    assert told in done.stderr
    source = json.loads(done.stdout)["source"] if options else done.stdout
    assert "theorem swap" in source
    assert "sorry" not in source
    assert file.read_text() == edited


OPEN = (
    "theorem good : 1 + 1 = 2 := by sorry\r\ntheorem wrong (n : Nat) : n = n + 1 := by\r\n  sorry\r\n"
    f"theorem hard : {FERMAT} := by\r\n  sorry\r\n"
)


@pytest.mark.lean
def test_a_file_that_is_proved_in_part(tmp_path: Path) -> None:
    """What was found is written; the exit code says that it is not all; lines end as they did."""
    file = tmp_path / "open.lean"
    file.write_bytes(OPEN.encode())
    out = run(file, "--json", "--write", "--nodes", "2", *QUICK, code=1)
    assert out.stderr == ""
    said = json.loads(out.stdout)
    assert set(said) == {
        "file", "proved", "holes", "refused", "source", "policy", "model", "toolchain",
        "times",
    }  # fmt: skip
    assert said["file"] == str(file)
    assert said["proved"] is False
    good, wrong, hard = said["holes"]
    assert {key: good[key] for key in ("line", "column", "declaration", "outcome", "accepted")} == {
        "line": 1, "column": 31, "declaration": "good", "outcome": "found", "accepted": True,
    }  # fmt: skip
    assert (hard["line"], hard["outcome"], hard["reason"]) == (5, "exhausted", "nodes")
    assert (hard["counterexample"], hard["negation_proof"]) == (None, None)
    assert (wrong["line"], wrong["outcome"], wrong["reason"]) == (3, "false", "n = 0")
    assert wrong["counterexample"] == {"n": "0"}
    assert wrong["goal"] == "n : Nat\n⊢ n = n + 1"
    assert wrong["accepted"] is False
    assert wrong["tactics"] == []
    assert file.read_bytes().decode() == said["source"]
    filled = said["source"].split("\r\n")
    assert filled[0] == "theorem good : 1 + 1 = 2 := by"
    assert filled[2:] == OPEN.split("\r\n")[1:]


# ----------------------------------------------------------------------------- bad input


def test_bad_input_is_told_apart(tmp_path: Path) -> None:
    """Before any Lean is started: what is wrong, in one line, and exit code 2."""
    assert "the input is empty" in burn_qed("prove", "", code=2).stderr
    assert "the input is empty" in burn_qed("prove", "-", code=2, stdin=" \n").stderr
    assert "cannot read" in burn_qed("prove", tmp_path / "absent.lean", code=2).stderr
    binary = tmp_path / "binary.lean"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "cannot read" in burn_qed("prove", binary, code=2).stderr
    assert "--write needs a file" in burn_qed("prove", "1 = 1", "--write", code=2).stderr
    finished = tmp_path / "finished.lean"
    finished.write_text("theorem t : 1 = 1 := rfl\n")
    assert "contains a `sorry`" in burn_qed("prove", finished, "--write", code=2).stderr
    burn_qed("prove", code=2)
    burn_qed("prove", "1 = 1", "--nodes", "0", code=2)


def test_code_of_a_file_is_not_run(tmp_path: Path) -> None:
    """Each of these was called proved, with exit code 0."""
    file = tmp_path / "Draft.lean"
    for text, line, word in (
        ('macro "easy" : tactic => `(tactic| sorry)\ntheorem t : 1 = 2 := by easy\n', 1, "`macro`"),
        ('\nnotation "False" => True\ntheorem t : False := by sorry\n', 2, "`notation`"),
        ("theorem t : 1 = 1 := by sorry\n#eval 1\n", 2, "`#eval`"),
    ):
        file.write_text(text)
        out = burn_qed("prove", file, code=2)
        assert out.stderr.startswith(f"error: {file}: line {line}: {word} runs code")
        assert "fix: remove it, or give --trust if you would run this file's code" in out.stderr
        assert out.stdout == ""
        assert file.read_text() == text
    statement = burn_qed("prove", "1 = by_elab return .lit (.natVal 1)", code=2)
    assert "the text: line 1: `by_elab` runs code" in statement.stderr
    file.write_text("import Lean\ntheorem t : 1 = 1 := by sorry\n")
    assert "it imports Lean, which is Lean's own machinery" in burn_qed("prove", file, code=2).stderr


@pytest.mark.lean
def test_code_of_a_file_that_is_trusted(tmp_path: Path) -> None:
    file = tmp_path / "Draft.lean"
    file.write_text('local notation "two" => 2\n#eval two\ntheorem t : two = 2 := by sorry\n')
    out = run(file, "--trust", *QUICK, code=0)
    assert "theorem t : two = 2 := by\n  " in out.stdout
    file.write_text('macro "easy" : tactic => `(tactic| sorry)\ntheorem t : 1 = 2 := by easy\n')
    out = run(file, "--trust", *QUICK, code=1)
    assert "nothing was proved" in out.stderr


@pytest.mark.lean
def test_what_is_no_theorem() -> None:
    assert "has no `sorry`" in burn_qed("prove", "example : 1 = 1", code=2).stderr
    assert "has no name, or is private" in burn_qed("prove", "private theorem t : 1 = 1", code=2).stderr
    assert "already has a proof" in burn_qed("prove", "theorem t : 1 = 1 := rfl", code=2).stderr
    assert "no module Nowhere" in burn_qed("prove", "1 = 1", "--import", "Nowhere", code=2).stderr


def test_machinery_that_is_not_there(tmp_path: Path) -> None:
    """Says nothing about the theorem, and so has an exit code of its own."""
    nothing = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    out = run("1 = 1", "--toolchain", "pantograph", code=3, env=nothing)
    assert out.stdout == ""
    assert out.stderr.startswith("error: ")


def test_help_teaches() -> None:
    assert "Exit codes" in burn_qed("prove", "--help", code=0).stdout


# ----------------------------------------------------------------------------- interrupted


@pytest.mark.lean
def test_an_interrupt_says_what_was_learnt() -> None:
    """On a terminal the search is seen as it runs; Ctrl-C ends it with what it came to know."""
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [BURN_QED, "prove", FERMAT, "--nodes", "100000"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(theirs)
    try:
        live = _read(terminal, until=b"/100000 nodes")
        assert b"loading rules and lemmas" in live
        assert b"goal: " in live
        assert b" of 120 s, " in live
        time.sleep(0.5)  # a few nodes
        process.send_signal(signal.SIGINT)
        said = _read(terminal).decode()
        assert process.wait(30) == 130
        assert process.stdout is not None
        assert process.stdout.read() == b"", "nothing was proved"
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
    assert "nodes expanded in" in said
    assert "best open state" in said
    assert "Traceback" not in said


def _read(terminal: int, until: bytes | None = None) -> bytes:
    """What comes up to some words, or all of it."""
    seen = b""
    while until is None or until not in seen:
        assert select.select([terminal], [], [], 60)[0], seen
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # closed at the other end
            assert until is None, seen
            break
    return seen


# ----------------------------------------------------------------------------- for editors

TWO = "theorem a (𝔸 : Nat) : 𝔸 + 0 = 𝔸 := by sorry\r\ntheorem b : ∀ n : Nat, n = 0 := by sorry\r\n"


@pytest.mark.lean
def test_one_sorry_and_what_an_editor_does_with_it(tmp_path: Path) -> None:
    """The others stay; the edits, applied, are what is printed; 0 if its theorem is proved."""
    file = tmp_path / "Two.lean"
    file.write_bytes(TWO.encode())
    out = burn_qed("prove", file, "--at", "1", *QUICK, code=0)
    assert out.stdout.endswith(TWO.split("\r\n")[1] + "\r\n"), "the second is as it was"
    assert "n = 0" not in out.stderr, "and was not looked at"
    said = json.loads(burn_qed("prove", file, "--at", "1:38", "--suggest", *QUICK, code=0).stdout)
    assert said["file"] == str(file)
    (one,) = said["suggestions"]
    assert (one["declaration"], one["proved"], one["reason"]) == ("a", True, "")
    assert one["goals"] == ["𝔸 : Nat\n⊢ 𝔸 + 0 = 𝔸"]
    assert apply(TWO, one["edits"]) == out.stdout
    assert file.read_bytes() == TWO.encode()

    said = json.loads(burn_qed("prove", "-", "--suggest", *QUICK, code=1, stdin=TWO).stdout)
    first, second = said["suggestions"]
    assert first["edits"] == one["edits"]
    assert (second["edits"], second["proved"], second["reason"]) == ([], False, "false: n = 1")


def test_what_is_wrong_with_a_place_is_told_before_lean_starts(tmp_path: Path) -> None:
    file = tmp_path / "Two.lean"
    file.write_bytes(TWO.encode())
    told = burn_qed("prove", file, "--at", "3", code=2).stderr
    assert "line 3 has no `sorry`" in told
    assert "1:38, 2:35" in told
    for wrong in ("x", "1:", ":3", "-1", "1:2:3", "１"):
        assert "LINE or LINE:COL" in burn_qed("prove", file, f"--at={wrong}", code=2).stderr
    assert "--at needs a text" in burn_qed("prove", "1 = 1", "--at", "1", code=2).stderr
    assert "--suggest needs a text" in burn_qed("prove", "1 = 1", "--suggest", code=2).stderr
    for other in ("--write", "--json"):
        assert "--suggest prints edits" in burn_qed("prove", file, "--suggest", other, code=2).stderr

"""`--toolchain pantograph`: its REPL searches, and a native Lean beside it judges.

A script stands in for Pantograph's: our REPL in the embedded Lean, without what Pantograph's does not
have. The native Lean is a real one: nothing can stand in for it behind its walls.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from burnqed.core.cache import cache_root
from burnqed.lean.native.found import on_path

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
# Answers `ready.`, and no request of ours.
PANTOGRAPH = """#!{python}
import os, subprocess, sys
if "--version" in sys.argv:
    print("0.3.15"), sys.exit()
os.environ |= {own}
own = [{burn_qed!r}, "repl", "--toolchain", "embedded", *sys.argv[1:]]
lean = subprocess.Popen(own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(lean.stdout.readline(), end="", flush=True)
for line in sys.stdin:
    if line.startswith("qed."):
        print('{{"error": "command", "desc": "Unknown command"}}', flush=True)
        continue
    print(line, end="", file=lean.stdin, flush=True)
    print(lean.stdout.readline(), end="", flush=True)
"""
# A toolchain gets little of the environment, and the scripts need more.
OWN = {
    "BURN_QED_CACHE": str(cache_root()),
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
}


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """A PATH with `pantograph-repl` and no Lean."""
    text = PANTOGRAPH.format(python=sys.executable, burn_qed=BURN_QED, own=OWN)
    program(tmp_path / "pantograph-repl", text)
    return os.environ | {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "ELAN_HOME": str(tmp_path / "elan"),
        **OWN,
    }


STATEMENT = "∀ a b : Nat, a + b = b + a"


def prove(
    machine: dict[str, str], *more: str, statement: str = STATEMENT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BURN_QED, "prove", statement, "--toolchain", "pantograph", *more],
        capture_output=True, text=True, timeout=400, check=False, env=machine,
    )  # fmt: skip


def test_without_a_lean_beside_it_nothing_is_searched(machine: dict[str, str]) -> None:
    out = prove(machine)
    assert out.returncode == 3
    assert out.stdout == ""
    assert "pantograph-repl searches, but does not judge" in out.stderr
    assert "no native Lean" in out.stderr
    assert "install elan" in out.stderr


@pytest.mark.lean
@pytest.mark.timeout(900)
def test_a_proof_of_it_is_judged_by_a_lean_beside_it(machine: dict[str, str]) -> None:
    lean = on_path()
    if lean is None:
        pytest.skip("no native Lean on PATH or in ~/.elan")
    machine["PATH"] = f"{lean.parent}:{machine['PATH']}"
    out = prove(machine, "--policy", "portfolio", "--workers", "1")
    assert out.returncode == 0, out
    assert out.stdout.startswith("theorem qed_goal : ∀ a b : Nat, a + b = b + a := by\n  ")
    assert "proved" in out.stderr
    out = prove(
        machine, "--policy", "portfolio", "--workers", "1", statement="theorem t (n : Nat) : n = n"
    )
    assert out.returncode == 3
    assert "t: this REPL starts no proof from a text, only from a bare proposition" in out.stderr

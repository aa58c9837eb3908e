"""`burn-qed eval`: the same result each time, whole denominators, and errors that are seen."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from burnqed.cli import sets
from burnqed.evaluation.results import IterationResult, read_result
from burnqed.lean.process import LaunchSpec
from burnqed.trajectories.store import read_records
from tests.cli.in_process import burn_qed

pytestmark = pytest.mark.timeout(900)
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SMALL = ("--policy", "portfolio", "--budgets", "1,3", "--candidates", "6", "--workers", "2")

STATEMENTS = {
    "add_zero": "∀ n : Nat, n + 0 = n",
    "triangle": "∀ n : Nat, 2 ∣ n * (n + 1)",
    "chain": "∀ p q r s : Prop, (p → q) → (q → r) → (r → s) → p → s ∧ r",
    "primes": "∀ n : Nat, ∃ p, n < p ∧ 2 ≤ p ∧ ∀ d, d ∣ p → d = 1 ∨ d = p",
}
# Lean runs out of memory while it parses this, however often it is tried.
DEADLY = "(" * 30_000 + "1" + ")" * 30_000 + " = 1"


def index(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "set.json"
    named = [{"name": name, "statement": text} for name, text in STATEMENTS.items()]
    path.write_text(json.dumps({"name": "made-up", "theorems": [*named, *entries]}), encoding="utf-8")
    return path


def command(*arguments: str | Path) -> list[str]:
    return [BURN_QED, "eval", *map(str, arguments), *SMALL]


def evaluated(*arguments: str | Path, code: int) -> subprocess.CompletedProcess[str]:
    out = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=300, check=False)
    assert out.returncode == code, out
    assert "Traceback" not in out.stderr
    return out


def timeless(result: IterationResult) -> list[list[tuple[object, ...]]]:
    """All that must be the same in every run: what became of each theorem, and after how many nodes."""
    return [
        [(t.name, t.outcome, t.reason, t.nodes_used, t.successes, t.proof) for t in b.per_theorem]
        for b in result.budget_results
    ]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, lean_launch: LaunchSpec) -> Path:
    """Two attempts at the four theorems that nothing happened to."""
    folder = tmp_path_factory.mktemp("eval")
    evaluated(index(folder), "--pass-n", "2", "--out", folder / "run", code=0)
    return folder / "run"


@pytest.mark.lean
def test_a_result_is_written(first: Path) -> None:
    result = read_result(first)
    assert result.budgets == (1, 3)
    assert result.attempts == 2
    assert result.benchmark.name == "made-up"
    assert [b.total for b in result.budget_results] == [4, 4]
    assert 0 < result.at(1).solved <= result.at(3).solved < 4
    for t in result.largest.per_theorem:
        assert t.proved == bool(t.proof) == (t.budget_at_proof is not None)
    summary = json.loads((first / "summary.json").read_text(encoding="utf-8"))
    assert summary["iterations"][0]["budgets"]["3"]["solved"] == result.at(3).solved
    seeds = [{r.seed for r in read_records(first / f"attempt-{n}" / "trajectories")} for n in (1, 2)]
    assert not seeds[0] & seeds[1], "every attempt has seeds of its own"


@pytest.mark.lean
def test_the_same_seed_gives_the_same_result(first: Path, tmp_path: Path) -> None:
    """Stopped on the way, too: the line that is printed then, pasted into a shell, comes to the same.

    What was not reached is not an error.
    """
    folder = tmp_path / "it's $HOME; a «set» & more"
    folder.mkdir()
    out = folder / "again"
    arguments = (index(folder), "--pass-n", "2", "--against", first, "--out", out)
    with subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 120
        while not (out / "attempt-1" / "trajectories" / ".lock").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert not (out / "result.json").exists(), "half a result is none"
    assert "of 8 searches were done; there is no result yet" in said
    for word in ("error", "not reached", "rate"):
        assert word not in printed
    line = said.rpartition("stopped; go on with: ")[2]
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done
    printed = done.stdout
    assert timeless(read_result(out)) == timeless(read_result(first))
    assert "0 gained, 0 lost" in printed


@pytest.mark.lean
def test_errors_are_seen_and_counted(tmp_path: Path) -> None:
    wrong = [
        {"name": "wrong", "statement": "∀ n : Nat, nowhere n = n"},
        {"name": "deadly", "statement": DEADLY},
        {"name": "unread", "error": "cannot read Some/File.lean: Permission denied"},
    ]
    done = evaluated(index(tmp_path, *wrong), "--json", "--out", tmp_path / "run", code=3)
    result = read_result(tmp_path / "run")
    assert json.loads(done.stdout)["budget_results"][0]["total"] == 7
    for b in result.budget_results:
        assert b.total == 7
        assert b.errors == {"LeanMemoryExceeded": 1, "statement": 1, "unreadable": 1}
        assert b.solved + sum(b.exhausted.values()) == 4
    failed = {t.name: t.detail for t in result.largest.per_theorem if t.outcome == "error"}
    assert "nowhere" in failed["wrong"]
    assert "Permission denied" in failed["unread"]
    assert "Lean failed on some theorems: --resume searches them again" in done.stderr
    resumed = evaluated(index(tmp_path, *wrong), "--resume", "--out", tmp_path / "run", code=3)
    for told in ("error: unreadable", "error: statement", "deadly", "7 theorems"):
        assert told in resumed.stdout
    assert "7/7" in resumed.stderr, "the deadly one was tried again"


@pytest.mark.lean
def test_wrong_statements_alone_are_exit_code_two(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([{"name": "wrong", "statement": "1 + true = 2"}]), encoding="utf-8")
    printed = evaluated(path, "--iteration", "2", "--out", tmp_path / "run", code=2).stdout
    assert "0/1" in printed
    assert read_result(tmp_path / "run").iteration == 2


@pytest.mark.parametrize(
    ("errors", "code", "told"),
    [
        (set(), 0, ""),
        ({"refused"}, 0, "the judge refused some proofs"),
        ({"refused", "unreadable"}, 2, "the judge refused some proofs"),
        ({"statement", "LeanDied"}, 3, "--resume searches them again"),
        ({"refused", "RequestTimeout"}, 3, "--resume searches them again"),
        ({"internal"}, 3, ""),
        ({"PromptRefused"}, 3, ""),
    ],
)
def test_what_errors_come_to(
    errors: set[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Running again helps where Lean failed, and not where the judge refused what was found."""
    assert sets.end(errors).exit_code == code
    said = capsys.readouterr().err
    assert told in said
    assert bool(said) == bool(told)


@pytest.mark.lean
@pytest.mark.soak
def test_more_attempts_go_on_from_those_that_are_there(first: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sampled = (index(tmp_path), "--temperature", "1", "--out", out)
    evaluated(*sampled, code=0)
    single = read_result(out)
    parts = sorted(out.rglob("*.parquet"))
    evaluated(*sampled, "--pass-n", "2", "--resume", code=0)
    assert timeless(read_result(out)) == timeless(read_result(first))
    assert set(parts) < set(out.rglob("*.parquet"))
    assert single.largest.solved <= read_result(out).largest.solved


# ------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--budgets", "10,x"], "--budgets cannot be 10,x"),
        (["--budgets", "0"], "--budgets is [0]"),
        (["--pass-n", "2", "--temperature", "0"], "2 attempts at temperature 0"),
        (["--leak-rule", "none"], "unknown leak rule none"),
        (["--split", "test"], "no theorem of made-up is in the split test"),
        (["--against", "nowhere.json"], "there is no nowhere.json"),
    ],
)
def test_bad_options_are_told_before_anything_is_done(
    tmp_path: Path, options: list[str], told: str
) -> None:
    given = json.dumps(
        {"name": "made-up", "theorems": [{"name": "a", "statement": "1 = 1", "split": "val"}]}
    )
    (tmp_path / "set.json").write_text(given, encoding="utf-8")
    place = (tmp_path / "set.json", "--out", tmp_path / "run")
    assert told in burn_qed("eval", *place, *options, code=2, cwd=tmp_path).stderr
    assert not (tmp_path / "run").exists()


def test_an_unknown_set_is_told(tmp_path: Path) -> None:
    told = burn_qed("eval", "no-such-set", "--out", tmp_path / "run", code=2).stderr
    assert "burn-qed data benchmarks" in told
    told = burn_qed("eval", "some.lean", "--out", tmp_path / "run", code=2).stderr
    assert "burn-qed data index --lean some.lean" in told
    told = burn_qed("eval", tmp_path / "absent.json", "--out", tmp_path / "run", code=2).stderr
    assert "cannot read" in told

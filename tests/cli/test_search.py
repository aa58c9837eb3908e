"""`burn-qed search` and `burn-qed summary`: disturbed in every way, the result is the same.

What disturbs a search is seen from outside, as a user sees it: parts that appear in the directory,
and the bar on the terminal. Nothing depends on how fast the machine is.
"""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnqed.evaluation.prove import EFFORT
from burnqed.lean.process import LaunchSpec
from burnqed.policy.ranked.files import CORE, find_ranker
from burnqed.policy.ranked.weights import load
from burnqed.search.tree import EARLY
from burnqed.search.trials import BUNCH
from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.trajectories.store import iter_rows, open_writer, read_records
from tests.cli.in_process import Done, burn_qed

pytestmark = pytest.mark.timeout(900)
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SMALL = ("--policy", "portfolio", "--nodes", "2", "--candidates", "4", "--workers", "2")
PATIENCE = 120.0  # seconds until a search has surely done something

PROVABLE = [
    *(f"∀ n : Nat, n + {i} + 1 = n + {i + 1}" for i in range(2)),
    *(f"∀ a b : Nat, a + {i} < b → a < b" for i in range(2)),
    *(f"∀ l : List Nat, (l ++ []).length + {i} = {i} + l.length" for i in range(2)),
]
# Not with two nodes, if at all.
HARD = [
    *(f"∀ n : Nat, n * n + {i} = n * {i + 2}" for i in range(6)),
    *(f"∀ p q r : Prop, (p ∨ q) → (q ∨ r) → r ∧ (p ∨ {'¬' * i}q)" for i in range(16)),
]
WRONG = ["∀ n : Nat, nowhere n = n", "1 + true = 2"]


def theorems() -> list[dict[str, str]]:
    """Thirty, of all kinds, mixed so that every part of a run has some of each."""
    assert len(PROVABLE + HARD + WRONG) == 30
    entries = [
        {"name": f"{kind}_{i}", "statement": text, "file_path": "Made/Up.lean"}
        for kind, texts in (("provable", PROVABLE), ("hard", HARD), ("wrong", WRONG))
        for i, text in enumerate(texts)
    ]
    return [entries[i * 7 % 30] for i in range(30)]


def command(index: Path, out: Path, *options: str) -> list[str]:
    return [BURN_QED, "search", str(index), "--out", str(out), *SMALL, *options]


def search(index: Path, out: Path, *options: str, code: int) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(index, out, *options), capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    return done


def refused(index: Path, out: Path, *options: str) -> Done:
    """A search that is over before any theorem is looked at."""
    return burn_qed(*command(index, out, *options)[1:], code=2)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "index.json"
    path.write_text(json.dumps({"theorems": theorems()}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed(index: Path, lean_launch: LaunchSpec) -> tuple[Path, str]:
    """A run that nothing happened to, and what it printed; Lean is set up before."""
    out = index.with_name("undisturbed")
    done = search(index, out, "--save-every", "5", "--json", code=2)
    return out, done.stdout


# ---------------------------------------------------------------------------- what is compared


def records(out: Path) -> dict[str, TheoremRecord]:
    """By name, without what the clock says; a theorem that is there twice is an error."""
    found = read_records(out / "trajectories")
    timeless = [replace(r, seconds=0.0, lean_seconds=0.0, judge_seconds=0.0) for r in found]
    assert len({r.theorem for r in timeless}) == len(timeless)
    return {r.theorem: r for r in timeless}


def steps(out: Path) -> dict[str, list[StepRow]]:
    """By theorem, without what they took: that is another time something else."""
    found: dict[str, list[StepRow]] = {}
    for row in iter_rows(out / "trajectories"):
        row = replace(row, run="", seconds=0.0, lean_seconds=None, heartbeats=None)
        found.setdefault(row.theorem, []).append(row)
    return found


def assert_same(out: Path, undisturbed: Path) -> None:
    assert records(out) == records(undisturbed)
    assert steps(out) == steps(undisturbed)


def parts(out: Path) -> int:
    return len(list(out.glob("trajectories/part-*.parquet")))


# ------------------------------------------------------------------------------ how to disturb


@contextmanager
def running(index: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A search in a process group of its own, of which it is the leader."""
    with subprocess.Popen(
        command(index, out, "--save-every", "5", *options),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def wait_for_parts(process: subprocess.Popen[str], out: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while parts(out) < count:
        assert process.poll() is None, "it ended before it was disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stop_at_a_terminal(index: Path, out: Path, done: int, number: signal.Signals) -> tuple[int, int]:
    """Send a signal when the bar says that so many are done. What it said then, and the exit code."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "COLUMNS": "150", "LINES": "40", "TERM": "xterm"}
    with subprocess.Popen(
        command(index, out, "--resume", "--save-every", "1000"),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end, env=environment,
    ) as process:  # fmt: skip
        os.close(end)
        shown = "".join(_until_enough(terminal, process, done, number))
    os.close(terminal)
    assert "Traceback" not in shown
    assert "go on with: " in shown
    return max(_bar(shown)), process.returncode


def _until_enough(
    terminal: int, process: subprocess.Popen[bytes], done: int, number: signal.Signals
) -> Iterator[str]:
    shown, sent = "", False
    while True:
        try:
            text = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return
        yield text
        shown += text
        if not sent and max(_bar(shown), default=0) >= done:
            process.send_signal(number)
            if number == signal.SIGTERM:  # as when a machine shuts down and a parent hands it on
                time.sleep(0.1)
                process.send_signal(number)
            sent = True


def _bar(shown: str) -> list[int]:
    return [int(count) for count in re.findall(r"(\d+)/30\b", shown)]


# ------------------------------------------------------------------------------------ the tests


@pytest.mark.lean
def test_every_theorem_has_the_outcome_it_was_made_for(undisturbed: tuple[Path, str]) -> None:
    found = records(undisturbed[0])
    assert len(found) == 30
    ends = {
        "provable": {"proved "}, "hard": {"exhausted nodes", "exhausted candidates"},
        "wrong": {"error statement"},
    }  # fmt: skip
    for name, record in found.items():
        assert f"{record.outcome} {record.reason}" in ends[name.split("_")[0]]
        assert bool(record.proof) == (record.outcome == "proved")
    assert "nowhere" in found["wrong_0"].detail


@pytest.mark.lean
def test_killed_again_and_again(index: Path, undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    """At once, when something was just saved, and between two saves."""
    out = tmp_path / "run"
    for more, pause in ((0, 0.0), (1, 0.0), (2, 0.1), (1, 0.2)):
        before = records(out) if parts(out) else {}
        wanted = parts(out) + more
        with running(index, out, "--resume") as process:
            wait_for_parts(process, out, wanted)
            time.sleep(pause)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert (records(out) if parts(out) else {}).items() >= before.items()
    assert 20 <= len(records(out)) < 30
    done = search(index, out, "--resume", "--save-every", "5", code=2)
    assert "30/30: proved 6, errors 2" in done.stderr, "what was found before is counted"
    assert_same(out, undisturbed[0])


@pytest.mark.lean
@pytest.mark.soak
def test_stopped_by_a_signal(index: Path, undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    """Nothing is saved before, unless a minute passes: what was shown is there because of it."""
    out = tmp_path / "run"
    for number, done in ((signal.SIGTERM, 7), (signal.SIGINT, 16)):
        before = parts(out)
        shown, code = stop_at_a_terminal(index, out, done, number)
        assert code == 128 + number
        assert parts(out) > before
        assert 30 > len(records(out)) >= shown >= done
        assert records(out).items() <= records(undisturbed[0]).items()
    search(index, out, "--resume", "--save-every", "5", code=2)
    assert_same(out, undisturbed[0])


@pytest.mark.lean
@pytest.mark.soak
def test_a_disk_that_fills_up(index: Path, undisturbed: tuple[Path, str], tmp_path: Path) -> None:
    """As far as the process can tell: no file of it may have more than 4096 bytes from now on.

    A second search comes along in the moment before, and is sent away.
    """
    out = tmp_path / "run"
    with running(index, out) as process:
        wait_for_parts(process, out, 1)
        process.send_signal(signal.SIGSTOP)
        second = search(index, out, "--resume", code=2)
        saved = records(out)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        process.send_signal(signal.SIGCONT)
        _, told = process.communicate(timeout=PATIENCE)
    assert "is being written by another burn-qed" in second.stderr
    assert process.returncode == 3
    assert "Traceback" not in told
    broken = re.search(r"error: cannot write (\S+/part-\d+\.parquet): File too large", told)
    assert broken is not None, told
    assert "fix: the file is too large" in told
    assert "what was saved before is kept" in told
    assert not Path(broken[1]).exists()
    assert not list(out.glob("**/*.tmp"))
    assert records(out).items() >= saved.items()
    assert len(records(out)) < 30
    search(index, out, "--resume", "--save-every", "5", code=2)
    assert_same(out, undisturbed[0])


@pytest.mark.lean
def test_a_disk_that_is_full_from_the_beginning(index: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        command(index, tmp_path / "run"), capture_output=True, text=True, timeout=PATIENCE, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )  # fmt: skip
    assert done.returncode == 3
    assert f"cannot write {tmp_path / 'run' / 'manifest.json'}: File too large" in done.stderr
    assert "fix: the file is too large" in done.stderr
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.lean
def test_a_finished_run_is_not_searched_again(index: Path, undisturbed: tuple[Path, str]) -> None:
    before = parts(undisturbed[0])
    done = search(index, undisturbed[0], "--resume", "--json", code=2)
    assert done.stdout == undisturbed[1], "seconds and all"
    assert parts(undisturbed[0]) == before


@pytest.mark.lean
def test_what_lean_failed_is_searched_again(
    index: Path, undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    """And nothing else is: not what was proved, nor exhausted, nor statements that are wrong."""
    out = tmp_path / "run"
    shutil.copytree(undisturbed[0], out)
    failed = {"provable_1", "hard_3", "hard_15"}
    with open_writer(out / "trajectories", again=lambda record: record.theorem in failed) as writer:
        for name, record in records(undisturbed[0]).items():
            if name in failed:
                lost = replace(record, outcome="error", reason="LeanDied", proof="", path=())
                writer.add(lost, steps(undisturbed[0])[name][:3])
    assert json.loads(burn_qed("summary", out, "--json").stdout)["errors"]["LeanDied"] == 3
    done = search(index, out, "--resume", code=2)
    assert "30/30: proved 6, errors 2" in done.stderr
    assert_same(out, undisturbed[0])
    assert parts(out) == parts(undisturbed[0]) + 2, "the failures' own, and one with what came instead"


@pytest.mark.lean
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--nodes", "3"), "nodes was 2, now 3"),
        (("--candidates", "5"), "candidates was 4, now 5"),
        (("--seed", "1"), "seed was 0, now 1"),
        (("--seconds", "9"), "seconds was None, now 9.0"),
        (("--temperature", "0.5", "--depth", "9"), "depth was 50, now 9, temperature was 0.0, now 0.5"),
        (("--import", "Std"), "modules was ['Init'], now ['Init', 'Std']"),
    ],
)
def test_other_settings_are_another_run(
    index: Path, undisturbed: tuple[Path, str], options: tuple[str, ...], told: str
) -> None:
    done = refused(index, undisturbed[0], "--resume", *options)
    assert told in done.stderr
    assert "fix: resume with the same settings" in done.stderr


@pytest.mark.lean
def test_a_run_from_before_visits_goes_on_as_it_was_begun(tmp_path: Path) -> None:
    three, now, older = tmp_path / "three.json", tmp_path / "now", tmp_path / "older"
    three.write_text(json.dumps({"theorems": theorems()[:3]}))
    options = ("--policy", "ranked", "--model", "core", "--candidates", "12")
    search(three, now, *options, code=0)
    assert not all_at_once(now)
    manifest = json.loads((now / "manifest.json").read_text())
    assert (manifest.pop("visit"), manifest.pop("effort")) == (BUNCH, EFFORT)
    manifest["model_identity"] = load(find_ranker(CORE)).costless.identity
    older.mkdir()
    (older / "manifest.json").write_text(json.dumps(manifest))
    told = refused(three, older, "--resume", *options, "--effort", "300").stderr
    assert "effort was None, now 300, visit was None, now 6" in told
    done = search(three, older, "--resume", *options, code=0)
    assert "it goes on without them" in done.stderr
    assert "3/3" in done.stderr
    assert all_at_once(older)
    assert not any(row.error == EARLY for row in iter_rows(older / "trajectories"))


def all_at_once(out: Path) -> bool:
    """Whether each state had a node of the budget for all of its candidates."""
    visits = {(row.theorem, row.node, row.spent) for row in iter_rows(out / "trajectories")}
    states, nodes = {(name, node) for name, node, _ in visits}, {(n, spent) for n, _, spent in visits}
    return len(visits) == len(states) == len(nodes) > 0


@pytest.mark.lean
def test_other_theorems_are_another_run(
    index: Path, undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    changed = tmp_path / "index.json"
    changed.write_text(json.dumps({"theorems": theorems()[:-1]}))
    assert "theorems_checksum was" in refused(changed, undisturbed[0], "--resume").stderr


@pytest.mark.lean
def test_a_run_is_not_begun_twice(index: Path, undisturbed: tuple[Path, str]) -> None:
    done = refused(index, undisturbed[0])
    assert f"{undisturbed[0]} holds a run already" in done.stderr
    assert "fix: continue it with --resume" in done.stderr


@pytest.mark.lean
def test_summary_says_what_search_said(undisturbed: tuple[Path, str]) -> None:
    out, printed = undisturbed
    said = json.loads(printed)
    assert printed.count("\n") == 1, "one JSON object, on one line"
    assert (said["theorems"], said["proved"]) == (30, 6)
    assert set(said["exhausted"]) <= {"nodes", "candidates"}
    assert sum(said["exhausted"].values()) == 22
    assert said["errors"] == {"statement": 2}
    for place in (out, out / "trajectories"):
        assert burn_qed("summary", place, "--json", code=0).stdout == printed
    lines = json.loads(burn_qed("summary", out, "--json", "--each", code=0).stdout)["lines"]
    assert {line["theorem"] for line in lines} == {entry["name"] for entry in theorems()}
    table = burn_qed("summary", out, "--each", code=0).stdout
    assert re.search(r"proved +│ 6 \(20\.0%\)", table)
    assert re.search(r"provable_3 +│ proved +│ 1 ", table)
    assert re.search(r"wrong_1 +│ error statement +│ 0 ", table)
    assert "provable_3" not in burn_qed("summary", out, code=0).stdout


def test_a_summary_of_nothing(tmp_path: Path) -> None:
    for nothing in (tmp_path, tmp_path / "absent"):
        done = burn_qed("summary", nothing, code=2)
        assert f"{nothing} has no trajectories" in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("theorem a : 1 = 1", "is not JSON"),
        ({}, None),
        ([], "contains no theorem"),
        ({"theorems": "all"}, "has no list of theorems"),
        ([{"name": "a", "statement": "1 = 1"}, {"name": "b"}], "theorem 2 (b) has no statement"),
        ([{"name": "same", "statement": f"{i} = 1"} for i in range(2)], "the name same comes twice"),
    ],
)
def test_an_index_that_is_wrong(tmp_path: Path, content: Any, told: str | None) -> None:
    """Said before Lean is looked for, and before the run's directory is made."""
    index, out = tmp_path / "index.json", tmp_path / "run"
    index.write_text(content if isinstance(content, str) else json.dumps(content))
    if told is None:
        index.unlink()
        told = "cannot read"
    done = refused(index, out)
    assert str(index) in done.stderr
    assert told in done.stderr
    assert not out.exists()


@pytest.mark.lean
def test_a_search_with_noise_says_so(index: Path, lean_launch: LaunchSpec, tmp_path: Path) -> None:
    one = tmp_path / "one.json"
    one.write_text(json.dumps({"theorems": theorems()[:1]}))
    for name, options, warmth in (("a", (), 1.2), ("b", ("--temperature", "0.7"), 0.7)):
        out = tmp_path / name
        burn_qed(*command(one, out, "--noise", "--iteration", "3", *options)[1:])
        (told,) = {
            (row.origin, row.iteration, row.temperature) for row in iter_rows(out / "trajectories")
        }
        assert told == ("noise", 3, warmth)
    assert "origin was 'noise', now 'search'" in refused(one, tmp_path / "a", "--resume").stderr


def test_options_that_are_wrong(index: Path, tmp_path: Path) -> None:
    assert "no noise" in refused(index, tmp_path / "run", "--noise", "--temperature", "0").stderr
    refused(index, tmp_path / "run", "--iteration", "-1")
    assert "leak-rule" in refused(index, tmp_path / "run", "--leak-rule", "none").stderr
    refused(index, tmp_path / "run", "--nodes", "0")
    burn_qed("search", index, code=2)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["search", "summary"])
def test_help_teaches(command: str) -> None:
    assert "Usage" in burn_qed(command, "--help", code=0).stdout

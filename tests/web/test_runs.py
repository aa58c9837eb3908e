"""Runs are found below a folder, have ids that hold no path, and say how far they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.core.files import publish_json
from burnqed.trajectories.store import open_writer
from burnqed.web import runs as module
from burnqed.web.locks import is_locked
from burnqed.web.runs import Found, Run, find_runs
from tests.web import samples
from tests.web.looks import write_look
from tests.web.loops import Loop


def named(found: Found) -> dict[str, Run]:
    return {run.name: run for run in found.runs.values()}


def test_runs_are_found_in_folders_and_in_themselves(root: Path) -> None:
    found = find_runs(root)
    assert [run.name for run in found.runs.values()] == ["begun", "evals/ranker", "first"]
    assert found.problems == ()
    (alone,) = find_runs(root / "first").runs.values()
    assert (alone.name, alone.command) == ("first", "search")
    assert find_runs(root).runs.keys() == found.runs.keys(), "ids stay"
    assert all(len(run) == 16 and run.isalnum() for run in found.runs)


def test_a_run_in_a_run_knows_it(tmp_path: Path) -> None:
    samples.manifest(tmp_path / "loop", "run")
    samples.write_search(tmp_path / "loop" / "trajectories" / "iter_0" / "search-1", ())
    samples.manifest(tmp_path / "loop" / "models" / "policy", "train policy")
    found = find_runs(tmp_path)
    by_name = named(found)
    inner = by_name.pop("loop/trajectories/iter_0/search-1")
    assert list(by_name) == ["loop"], "a training has no theorems to show"
    assert inner.parent == by_name["loop"].id


def test_what_is_no_run_is_left_out(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = samples.write_search(tmp_path_factory.mktemp("outside") / "secret", ())
    (root / "link").symlink_to(outside, target_is_directory=True)
    samples.manifest(root / ".hidden", "search")
    samples.manifest(root / "traced", "data trace")
    (root / "damaged").mkdir()
    (root / "damaged" / "manifest.json").write_text("{")
    found = find_runs(root)
    assert set(named(found)) == {"begun", "evals/ranker", "first"}
    (problem,) = found.problems
    assert "damaged" in problem


def test_a_folder_without_end_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FOLDERS", 2)
    (problem,) = find_runs(root).problems
    assert "more than 2 folders" in problem


def test_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        find_runs(tmp_path / "nothing")


def test_the_state_is_that_of_the_process(root: Path) -> None:
    states = {name: run.state for name, run in named(find_runs(root)).items()}
    assert states == {"begun": "unfinished", "evals/ranker": "done", "first": "done"}
    with open_writer(root / "begun" / "trajectories"):
        assert named(find_runs(root))["begun"].state == "running"
    with open_writer(root / "first" / "trajectories"):
        assert named(find_runs(root))["first"].state == "running", "it was continued"
    assert named(find_runs(root))["first"].state == "done"


def test_a_run_of_iterations_is_done_when_its_summary_says_so(tmp_path: Path) -> None:
    samples.manifest(tmp_path / "loop", "run")
    (run,) = find_runs(tmp_path).runs.values()
    assert run.state == "unfinished"
    for finished, state in ((False, "unfinished"), (True, "done"), ("yes", "unfinished")):
        (tmp_path / "loop" / "summary.json").write_text(json.dumps({"finished": finished}))
        assert run.state == state
    (tmp_path / "loop" / "summary.json").write_text("[")
    assert run.state == "unfinished"


_HOLD = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_what_a_loop_notes_of_its_stages_is_no_report(tmp_path: Path) -> None:
    loop = Loop(tmp_path / "loop")
    loop.finish()
    for folder in ("stages", "specs", "outcomes"):  # as a loop with a stage of that name writes them
        publish_json(loop.path / folder / "iter_0" / "embeddings.json", {"outcome": "skipped"})
    write_look(loop.path / "embeddings" / "iter_0", "iter0")
    found = find_runs(tmp_path)
    assert [look.name for look in found.looks.values()] == ["loop/embeddings/iter_0"]
    assert found.problems == ()


def test_a_lock_of_another_process_is_seen_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    assert not is_locked(path)
    command = [sys.executable, "-c", _HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        assert is_locked(path)
        (tmp_path / "other").touch()
        assert not is_locked(tmp_path / "other")
        holder.kill()
    assert not is_locked(path), "a process that was killed holds nothing"

"""The whole loop from the command line, with real Lean, killed in every kind of stage."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from burnqed.data.benchmarks import theorem_set
from burnqed.data.index import read_index
from burnqed.iteration.directory import read_done, read_spent
from burnqed.iteration.gates import value_answer
from burnqed.iteration.summary import collect
from burnqed.trajectories.store import find_trajectories, read_records
from tests.cli.in_process import burn_qed
from tests.cli.trainings import ENVIRONMENT

pytestmark = [pytest.mark.lean, pytest.mark.soak, pytest.mark.timeout(1400)]

PATIENCE = 1200.0
# Where the run is killed, and how long after the stage began. Some are killed before they have made
# anything, some while they save, some perhaps when they are done and nobody has written it down yet.
KILLED = {
    (-1, "theorems"): 0.6, (0, "teacher-2"): 6.0, (0, "teacher-pairs"): 0.5, (0, "policy"): 4.5,
    (0, "export"): 2.5, (0, "search-1"): 7.0, (1, "beside"): 8.0, (1, "value"): 3.0,
    (1, "embeddings"): 3.0, (1, "eval-qed-core"): 8.0, (2, "joint"): 12.0,
}  # fmt: skip


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def kill(process: subprocess.Popen[str], everything: bool) -> None:
    """As a power cut does it, or as somebody does who only sees the run."""
    below = children(process.pid) if everything else []
    for pid in (process.pid, *below):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def at_work(run: Path) -> tuple[int, str] | None:
    """The stage that the journal says was begun last, unless it ended."""
    try:
        last = json.loads((run / "journal.jsonl").read_text().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return None
    return (last["iteration"], last["stage"]) if last["event"] == "begun" else None


@pytest.fixture(scope="module")
def hit() -> Counter[tuple[int, str]]:
    """How often each stage was killed. A kill may hit the stage after the one it was meant for."""
    return Counter()


@pytest.fixture(scope="module")
def smoked(tmp_path_factory: pytest.TempPathFactory, hit: Counter[tuple[int, str]]) -> Iterator[Path]:
    """A run that was killed again and again on its way."""
    run = tmp_path_factory.mktemp("smoke") / "run"
    command = [sys.executable, "-P", "-m", "burnqed", "smoke", "--out", str(run)]
    left, end = dict(KILLED), time.monotonic() + PATIENCE
    while True:
        process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        with process.stderr:
            while process.poll() is None:
                assert time.monotonic() < end, "it takes too long"
                stage = at_work(run)
                if stage in left:
                    time.sleep(left.pop(stage))
                    kill(process, everything=len(left) % 2 == 0)
                    if (killed := at_work(run)) is not None:
                        hit[killed] += 1
                    break
                time.sleep(0.05)
            else:
                said = process.stderr.read()
                assert process.returncode == 0, said
                break
    assert not left, "some stages were never begun"
    yield run
    shutil.rmtree(run)


def test_it_is_complete(smoked: Path) -> None:
    done = read_done(smoked)
    # Within so few nodes hardly anything is given up before searches look beside proofs.
    assert {key for key, how in done.items() if how != "done"} <= {(0, "embeddings")}
    searching = {"embeddings", "search-1-theorems", "search-1", "eval-qed-core"}
    both = {"pairs", "policy", "export", "beside", "value"}
    assert {name for number, name in done if number == 1} == {*both, *searching}
    assert {name for number, name in done if number == 2} == {
        "pairs", "beside", "joint", *searching,
    }  # fmt: skip
    for place in ("models/llm/iter_0/model.safetensors", "models/llm/iter_1/model.safetensors",
                  "checkpoints/llm/iter_1/result.json", "checkpoints/ebm/iter_1/result.json",
                  "checkpoints/joint/iter_2/best/policy/config.json",
                  "checkpoints/joint/iter_2/best/value/calibration.json",
                  "embeddings/iter_1/embeddings.json", "embeddings/iter_2/embeddings.json",
                  "eval_results/baseline/qed-core/result.json",
                  "eval_results/iter_1/qed-core/ablation.json", "summary.json"):  # fmt: skip
        assert (smoked / place).is_file(), place


def test_nothing_was_done_twice(smoked: Path, hit: Counter[tuple[int, str]]) -> None:
    assert hit
    more = {key: took.runs for key, took in read_spent(smoked).items() if took.runs > 1 + hit[key]}
    assert not more, hit
    searches = [path.parent for path in smoked.glob("**/manifest.json")
                if json.loads(path.read_text())["command"] in ("search", "negatives")]  # fmt: skip
    assert len(searches) == 8  # two of the teacher, and two of each iteration
    for search in searches:
        searched = Counter(r.theorem for r in read_records(find_trajectories(search), pytest.fail))
        assert set(searched.values()) == {1}, search
    for attempt in smoked.glob("eval_results/**/attempt-1"):
        searched = Counter(r.theorem for r in read_records(find_trajectories(attempt), pytest.fail))
        assert sorted(searched) == sorted(
            t.name for t in read_index(smoked / "theorems/qed-core.json").theorems
        )
        assert set(searched.values()) == {1}


def test_held_out_theorems_were_never_searched_for_training(smoked: Path) -> None:
    held = {theorem.name for theorem in theorem_set("qed-core", None, None).theorems}
    tried = {
        record.theorem
        for part in smoked.glob("trajectories/**/trajectories")
        for record in read_records(part, pytest.fail)
    }
    assert len(tried) == 14
    assert not tried & held
    files = smoked.glob("trajectories/**/*.jsonl")
    pairs = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert pairs
    assert not {pair["theorem"] for pair in pairs} & held


def test_what_searches_found_is_in_the_next_training(smoked: Path) -> None:
    manifest = json.loads((smoked / "checkpoints/llm/iter_1/manifest.json").read_text())
    assert manifest["extra_data"][0]["pairs"] > 0
    assert manifest["lr"] == 0.0005
    summary = json.loads((smoked / "summary.json").read_text())
    assert [one["label"] for one in summary["iterations"]] == [
        "baseline", "iteration 0", "iteration 1", "iteration 2",
    ]  # fmt: skip
    found = summary["iterations"][1]
    assert found["newly_proved"] == sum(search["proved"] for search in found["searches"]) > 7
    assert set(summary["iterations"][2]["evaluated"]["qed-core"]) == {
        "without_value", "with_value", "value_effect", "against_baseline",
    }  # fmt: skip


def test_the_head_sees_the_goal_and_both_models_are_measured(smoked: Path) -> None:
    """With a head on the policy's own hidden states, alone and trained with it."""
    second, third = json.loads((smoked / "summary.json").read_text())["iterations"][2:]
    for one in (second, third):
        assert one["value"]["conditioned"]
        start, own = one["embeddings"]["encoders"]
        assert own["encoder"] == one["value"]["encoder"]
        assert start["encoder"]["model"] != own["encoder"]["model"]
        assert 0 < one["embeddings"]["drift"]["cka"] <= 1
        assert one["dropped"] == [], "so few theorems do not judge"
        gates = {gate["name"]: gate for gate in one["gates"]}
        assert "do not judge" in gates["red line, centroid_l2"]["told"]
    assert third["policy"] == third["value"]
    manifest = json.loads(
        (smoked / "eval_results/iter_2/qed-core/with-value/manifest.json").read_text()
    )
    assert manifest["value_used"]


def test_a_second_time_does_nothing(smoked: Path) -> None:
    before = read_spent(smoked)
    burn_qed("smoke", "--out", smoked)
    answer = value_answer(collect(smoked))
    assert "Does the value model help on qed-core? undecided: " in answer
    assert read_spent(smoked) == before


def test_status_and_report(smoked: Path, tmp_path: Path) -> None:
    told: dict[str, Any] = json.loads(burn_qed("status", smoked, "--json").stdout)
    assert (told["finished"], told["due"], told["due_command"]) == (True, None, "")
    shown = burn_qed("status", smoked).stdout
    more = "finished: the baseline and 3 iterations; for one more: burn-qed run --iterations 4"
    for word in ("teacher-2", "iteration 1", "against baseline", "undecided: ", more):
        assert word in shown
    assert "next:" not in shown
    burn_qed("report", smoked, "--out", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "iteration 1" in page
    assert "finished</span> the baseline and 3 iterations" in page
    assert "not ended" not in page
    for text in (shown, page):
        assert "no better" not in text, "three theorems decide nothing"
    assert "tri_with_size" in page
    assert (tmp_path / "by_iteration_qed-core.svg").is_file()
    refused = burn_qed(
        "report", smoked, smoked / "eval_results/iter_0/qed-core", "--out", tmp_path, code=2
    )
    assert "needs a report of its own" in refused.stderr


def test_what_is_frozen_stays(smoked: Path, tmp_path: Path) -> None:
    said = burn_qed("run", "--out", smoked, "--config", "smoke", "--set", "run.seed=1", code=2).stderr
    assert "run.seed was 0, now 1" in said
    assert "run.seed was 0" in burn_qed("smoke", "--out", smoked, "--set", "run.seed=1", code=2).stderr
    assert "theorems.sample was 0" in burn_qed("lean-start", "--out", smoked, code=2).stderr
    assert "frozen" in burn_qed("run", "--out", smoked, "--set", "run.seed=1", code=2).stderr
    burn_qed("smoke", "--out", smoked, "--set", "run.workers=1")  # another machine's, perhaps
    moved = tmp_path / "moved"
    shutil.copytree(smoked, moved)
    manifest = json.loads((moved / "manifest.json").read_text())
    manifest["toolchain"] = "embedded 4.99"
    (moved / "manifest.json").write_text(json.dumps(manifest))
    assert "begun with embedded 4.99" in burn_qed("smoke", "--out", moved, code=2).stderr


def test_a_held_out_theorem_that_slips_in_is_refused(smoked: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(smoked, run)
    assert "moved to" in burn_qed("reset", run, "--from", "1").stdout
    assert {number for number, _ in read_done(run)} == {-1, 0}
    assert (run / "set_aside/reset_1/checkpoints/joint/iter_2").is_dir()
    assert not (run / "embeddings/iter_1").exists()
    assert (run / "set_aside/reset_1/models/llm/iter_1").is_dir()
    shutil.rmtree(run / "stages/iter_0")
    shutil.rmtree(run / "trajectories")
    index = json.loads((run / "theorems/train.json").read_text())
    held = theorem_set("qed-core", None, None).entries[3].fields
    index["theorems"].append({"name": "harmless", "statement": held["statement"]})
    (run / "theorems/train.json").write_text(json.dumps(index))
    said = burn_qed("iterate", "0", "--out", run, code=2).stderr
    assert "harmless, which is held out in qed-core" in said
    assert not (run / "trajectories").exists()


def test_what_is_asked_for_too_early_or_nowhere_is_told(smoked: Path, tmp_path: Path) -> None:
    assert "iteration 3 is not finished" in burn_qed("iterate", "5", "--out", smoked, code=2).stderr
    assert "holds no run" in burn_qed("run", "--out", tmp_path / "none", code=2).stderr
    assert not (tmp_path / "none").exists()
    said = burn_qed("run", "--out", tmp_path / "none", "--config", "nonsense", code=2).stderr
    assert "no configuration nonsense" in said
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[serach]\nnodes = [3]\n")
    said = burn_qed("run", "--out", tmp_path / "none", "--config", wrong, code=2).stderr
    assert "did you mean search?" in said
    assert not (tmp_path / "none").exists()
    assert "holds no run" in burn_qed("status", tmp_path, code=2).stderr
    search = smoked / "trajectories/iter_0/search_1"
    assert "no expert iteration" in burn_qed("status", search, code=2).stderr

"""How a run goes on: its curve over time, its rate, and the stage that is at work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burnqed.iteration.directory import locked
from burnqed.trajectories.store import parts_of
from burnqed.web.overview import overview
from burnqed.web.progress import progress, stage_at_work
from burnqed.web.runs import Run, find_runs
from burnqed.web.theorems import list_theorems, records_of
from tests.web import samples
from tests.web.loops import Loop

BEGUN = 1_700_000_000.0


def only(root: Path) -> Run:
    return next(iter(find_runs(root).runs.values()))


def saved(path: Path, *moments: float) -> Run:
    """A search whose parts, a theorem each, were saved at these times."""
    samples.manifest(path, "search")
    os.utime(path / "manifest.json", (BEGUN, BEGUN))
    for theorem, moment in zip(samples.THEOREMS, moments, strict=False):
        samples.write_attempt(path, [theorem])
        part = parts_of(path / "trajectories")[-1]
        os.utime(part, (BEGUN + moment, BEGUN + moment))
    return only(path)


def test_before_the_first_save_nothing_is_known(tmp_path: Path) -> None:
    samples.manifest(tmp_path, "search")
    assert progress(only(tmp_path)) == {"rate": None, "points": [(0.0, 0, 0, 0)]}


def test_every_save_is_a_point(tmp_path: Path) -> None:
    run = saved(tmp_path, 0.1, 0.15, 0.3)
    nodes = [record.nodes for record in records_of(run, [])[0]]
    found = progress(run)
    assert [point[0] for point in found["points"]] == pytest.approx([0.0, 0.1, 0.15, 0.3], abs=1e-5)
    assert [point[1:] for point in found["points"]] == [
        (0, 0, 0), (1, 1, nodes[0]), (2, 1, sum(nodes[:2])), (3, 1, sum(nodes[:3])),
    ]  # fmt: skip
    assert found["rate"] == pytest.approx(sum(nodes) / 0.3, rel=1e-3)


def test_a_pause_is_no_work(tmp_path: Path) -> None:
    run = saved(tmp_path, 3600.0, 7200.0)
    took = [record.seconds + record.judge_seconds for record in records_of(run, [])[0]]
    points = progress(run)["points"]
    assert [point[0] for point in points] == pytest.approx([0.0, took[0], sum(took)])


def test_clocks_that_go_back_do_no_harm(tmp_path: Path) -> None:
    points = progress(saved(tmp_path, -50.0, -60.0, -70.0))["points"]
    assert [point[0] for point in points] == sorted(point[0] for point in points)
    assert points[-1][1] == 3


def test_attempts_are_in_one_curve(tmp_path: Path) -> None:
    samples.write_eval(tmp_path, samples.OUTCOMES)
    assert progress(only(tmp_path))["points"][-1][1] == 3


def test_the_stage_at_work_is_known_while_somebody_works(tmp_path: Path) -> None:
    loop = Loop(tmp_path / "loop")
    loop.until("policy")
    assert stage_at_work(only(tmp_path)) is None, "it was killed there"
    with locked(loop.path, lambda _: None):
        at = stage_at_work(only(tmp_path))
        assert at is not None
        assert (at["label"], at["name"]) == ("iteration 0", "policy")
        assert at["said"] == f"policy: {samples.HOSTILE}"
        found = overview(only(tmp_path))
    assert found["problems"] == []
    baseline, first = found["iterations"]["iterations"]
    assert baseline["evaluated"]["qed-core"]["without_value"]["budgets"][100]["solved"] == 2
    assert [gate["verdict"] for gate in baseline["gates"]] == ["stop", "pass"]
    assert [stage["name"] for stage in first["stages"] if not stage["done"]] == ["policy"]
    assert sum(search["nodes"] for search in first["searches"]) > 0


def test_a_loop_shows_the_theorems_of_all_its_sets(tmp_path: Path) -> None:
    loop = Loop(tmp_path / "loop")
    loop.until("policy")
    loop.finish()
    runs = find_runs(tmp_path).runs
    (run,) = [one for one in runs.values() if one.is_iteration]
    inside = [one for one in runs.values() if one.parent == run.id]
    assert run.state == "done"
    lines = list_theorems(run, inside).lines
    assert {line.run for line in lines} == {one.id for one in inside}
    assert {line.name for line in lines} >= {"And.both", "t9"}
    second = overview(run)["iterations"]["iterations"][1]
    gained = second["evaluated"]["qed-core"]["against_baseline"][100]["gained"]
    assert gained == ["t9"]

"""Stages as processes: what each way to end comes to, and what is written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.trajectories.samples import record

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.iteration import directory, rounds
from burnqed.iteration.config import Config, read_config
from burnqed.iteration.directory import locked, log_of, read_done, read_record, read_spent, record_of
from burnqed.iteration.plan import due
from burnqed.iteration.rounds import set_aside
from burnqed.iteration.runner import last_error, run_stage
from burnqed.iteration.stages import Stage
from burnqed.trajectories.store import open_writer


class Looking:
    def __init__(self) -> None:
        self.told: list[str] = []

    def begun(self, stage: Stage, log: Path) -> None:
        self.told.append(f"{stage.name} begun")

    def looked(self, stage: Stage, last_line: str) -> None: ...

    def ended(self, stage: Stage, how: str, why: str) -> None:
        self.told.append(f"{stage.name} {how}: {why}")


def silent(_: str) -> None: ...


def run(place: Path, stage: Stage) -> Looking:
    looking = Looking()
    with locked(place, silent) as lock:
        run_stage(place, stage, lock, looking, lambda: None)
    return looking


LISTING = Stage(0, "listing", ("data", "benchmarks"), "theorems/none.json")
NOTHING = ("pairs", "searched", "--out", "x.jsonl")
WRONG = Stage(0, "wrong", ("data", "index", "--theorems", "absent", "--out", "x.json"), "x.json")


def test_a_stage_that_ends_well_is_done(tmp_path: Path) -> None:
    looking = run(tmp_path, LISTING)
    assert looking.told == ["listing begun", "listing done: "]
    assert read_done(tmp_path) == {(0, "listing"): "done"}
    assert "qed-core" in log_of(tmp_path, LISTING).read_text()
    assert log_of(tmp_path, LISTING).read_text().startswith("$ burn-qed data benchmarks\n")
    spent = read_spent(tmp_path)[0, "listing"]
    assert spent.runs == 1
    assert 0 < spent.seconds < 60


def test_one_whose_input_is_wrong_ends_the_run_and_is_not_done(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"wrong failed with exit code 2: .*absent") as caught:
        run(tmp_path, WRONG)
    assert str(log_of(tmp_path, WRONG)) in caught.value.hint
    assert read_done(tmp_path) == {}
    assert read_spent(tmp_path)[0, "wrong"].runs == 1


def test_where_the_run_can_do_without_it_is_skipped_with_the_reason(tmp_path: Path) -> None:
    with open_writer(tmp_path / "searched" / "trajectories") as writer:
        writer.add(record(1, 2), [])
    optional = Stage(1, "pairs", NOTHING, "x.jsonl", optional=True)
    looking = run(tmp_path, optional)
    assert read_done(tmp_path) == {(1, "pairs"): "skipped"}
    why = read_record(record_of(tmp_path, 1, "pairs"))["why"]
    assert "nothing was proved by a search" in why
    assert looking.told[-1] == f"pairs skipped: {why}"
    with pytest.raises(InfrastructureError, match="pairs failed with exit code 1"):
        run(tmp_path, Stage(2, "pairs", NOTHING, "x.jsonl"))


def test_a_bug_is_never_a_reason_to_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the same exit code, and with a traceback."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "burnqed").mkdir()
    (tmp_path / "broken" / "burnqed" / "__init__.py").write_text("raise RuntimeError('a bug')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    with pytest.raises(InfrastructureError, match="exit code 1: RuntimeError: a bug"):
        run(tmp_path, Stage(1, "pairs", NOTHING, "x.jsonl", optional=True))


def test_bad_input_is_never_a_reason_to_skip(tmp_path: Path) -> None:
    wrong = Stage(1, "wrong", WRONG.command, WRONG.out, optional=True)
    with pytest.raises(InputError, match="absent"):
        run(tmp_path, wrong)
    assert read_done(tmp_path) == {}


def test_a_wrong_option_is_never_a_reason_to_skip(tmp_path: Path) -> None:
    typo = Stage(0, "typo", ("data", "benchmarks", "--jsno"), "x.json", optional=True)
    with pytest.raises(InputError, match="No such option: --jsno"):
        run(tmp_path, typo)
    assert read_done(tmp_path) == {}


def test_what_is_there_whole_is_not_made_again(tmp_path: Path) -> None:
    """Killed after the last rename, and before the record: making it again would be refused."""
    stage = Stage(0, "wrong", WRONG.command, "model", whole=True)
    with pytest.raises(InputError):
        run(tmp_path, stage)
    (tmp_path / "model").mkdir()
    assert run(tmp_path, stage).told == ["wrong done: it was there"]
    assert read_done(tmp_path) == {(0, "wrong"): "done"}


@pytest.mark.lean
def test_an_error_code_of_one_that_came_to_its_end_is_no_failure(tmp_path: Path) -> None:
    """A search says with its code that some theorems failed, and with its summary that it ended."""
    unread = {"theorems": [{"name": "odd", "statement": "", "error": "nobody can read it"}]}
    (tmp_path / "odd.json").write_text(json.dumps(unread))
    command = ("search", "odd.json", "--nodes", "1", "--policy", "portfolio", "--out",
               "searched")  # fmt: skip
    looking = run(tmp_path, Stage(0, "search-1", command, "searched", resumes=True))
    assert looking.told[-1].startswith("search-1 done: with errors")


def test_a_summary_from_before_is_no_end_of_this_time(tmp_path: Path) -> None:
    """Whoever is refused must not count as done because another was done there once."""
    stage = Stage(0, "wrong", WRONG.command, "searched", resumes=True)
    (tmp_path / "searched").mkdir()
    (tmp_path / "searched" / "summary.json").write_text("{}")
    with pytest.raises(InputError):
        run(tmp_path, stage)
    assert read_done(tmp_path) == {}


def test_the_last_error_is_of_this_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("$ burn-qed x\nerror: old\n  fix: that\n$ burn-qed x --resume\nworking\n")
    assert last_error(log) == "working"
    log.write_text("$ burn-qed x\nsome\nerror: new\n  fix: this\n")
    assert last_error(log) == "error: new; fix: this"
    log.write_text("$ burn-qed x\n╭─ Error ──╮\n│ No such option: --y  │\n╰──────────╯\n")
    assert last_error(log) == "No such option: --y"
    assert last_error(tmp_path / "absent") == ""


# ------------------------------------------------------------------------------- what is kept


def test_a_cut_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    directory.note(tmp_path, LISTING, "begun")
    directory.note(tmp_path, LISTING, "ended", 0)
    directory.note(tmp_path, LISTING, "begun")
    with (tmp_path / directory.JOURNAL).open("a") as journal:
        journal.write('{"time": 17.0, "itera')
    assert read_spent(tmp_path)[0, "listing"].runs == 2


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path = record_of(tmp_path, 0, "listing")
    path.parent.mkdir(parents=True)
    path.write_text("{")
    with pytest.raises(InfrastructureError, match=r"listing\.json"):
        read_done(tmp_path)


def test_a_directory_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(InputError, match="not empty"):
        directory.freeze(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_reset_moves_iterations_and_keeps_what_the_teacher_found(tmp_path: Path) -> None:
    place = tmp_path / "set_aside" / "run"  # whatever the folders above are called
    made = ["stages/baseline/theorems.json", "stages/iter_0/teacher-2-theorems.json",
            "stages/iter_0/teacher-2.json", "stages/iter_0/policy.json",
            "models/llm/iter_0/x", "trajectories/teacher/x", "eval_results/baseline/x"]  # fmt: skip
    for name in made:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("{}")
    moved = set_aside(place, 0)
    assert moved is not None
    gone = {name for name in made if not (place / name).exists()}
    assert gone == {
        "stages/iter_0/teacher-2.json", "stages/iter_0/policy.json", "models/llm/iter_0/x",
    }, "its searches are resumed, which tries again what Lean failed"  # fmt: skip
    assert all((moved / name).exists() for name in gone)
    assert set_aside(place, 0) is None
    assert set_aside(place, -1) == place / "set_aside" / "reset_2"
    assert not (place / "eval_results/baseline").exists()


def test_what_was_reset_counts_as_never_begun(tmp_path: Path) -> None:
    def work(iteration: int, name: str) -> None:
        stage = Stage(iteration, name, ("doctor",), "")
        directory.note(tmp_path, stage, "begun")
        directory.note(tmp_path, stage, "ended", 0)

    for iteration, name in ((-1, "theorems"), (0, "teacher-1"), (0, "policy"), (1, "policy")):
        work(iteration, name)
    (tmp_path / "models" / "iter_0").mkdir(parents=True)
    (tmp_path / "models" / "iter_1").mkdir()
    set_aside(tmp_path, 1)
    assert read_spent(tmp_path).keys() == {(-1, "theorems"), (0, "teacher-1"), (0, "policy")}
    set_aside(tmp_path, 0)
    assert read_spent(tmp_path).keys() == {(-1, "theorems"), (0, "teacher-1")}
    work(0, "policy")
    assert read_spent(tmp_path)[0, "policy"].runs == 1


# ------------------------------------------------------------------------------------ finished


def end_iteration(place: Path, config: Config, number: int) -> None:
    """Every stage of an iteration is over, without anything that would have to be read."""
    while (following := due(config, number, read_done(place))) is not None:
        directory.write_record(place, following.stage, "skipped", "for a test")


def test_a_run_is_finished_when_all_that_was_asked_for_is_done(tmp_path: Path) -> None:
    config = read_config("smoke", ())
    directory.freeze(tmp_path, rounds.manifest(config, "embedded 4.28"))
    (tmp_path / "theorems").mkdir()
    (tmp_path / "theorems" / "train.json").write_text('{"name": "train", "theorems": []}')

    def standing() -> tuple[bool, tuple[int, str] | None]:
        found = rounds.history(tmp_path, config)
        following = rounds.due_now(tmp_path, config, found)
        return found.finished, None if following is None else following.stage.key

    assert standing() == (False, (-1, "held-out-qed-core")), "nothing is done"
    directory.note_asked(tmp_path, 2)
    end_iteration(tmp_path, config, -1)
    end_iteration(tmp_path, config, 0)
    assert standing() == (False, (1, "policy")), "killed between two iterations"
    end_iteration(tmp_path, config, 1)
    assert standing() == (True, None)
    directory.note_asked(tmp_path, 4)
    assert standing() == (False, (2, "policy")), "more was asked for later"
    directory.note_asked(tmp_path, 2)
    assert standing() == (True, None)
    directory.write_record(tmp_path, Stage(2, "policy", ("train", "policy"), ""), "skipped")
    assert standing()[0] is False, "what was begun is not finished"
    set_aside(tmp_path, 1)
    assert standing() == (False, (1, "policy")), "what was set aside is due again"
    (tmp_path / "journal.jsonl").unlink()
    assert standing() == (True, None), "an older run: as far as it was begun, it is done"


# ---------------------------------------------------------------------------------------- lock


def test_two_do_not_work_on_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "_WAIT_SECONDS", 0.3)
    said: list[str] = []
    with (
        locked(tmp_path, silent),
        pytest.raises(InputError, match="another burn-qed is at work"),
        locked(tmp_path, said.append),
    ):
        pass
    assert len(said) == 1
    with locked(tmp_path, silent):
        pass

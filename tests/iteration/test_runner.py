"""Stages as processes: what each way to end comes to, and what is written down."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.trajectories.samples import record

from burnqed.core.config import as_content, from_json
from burnqed.core.errors import (
    ConfigError,
    InfrastructureError,
    InputError,
    LeanStartError,
)
from burnqed.iteration import directory, execute, rounds
from burnqed.iteration.config import Config, read_config
from burnqed.iteration.directory import locked, log_of, read_done, read_record, read_spent, record_of
from burnqed.iteration.outcome import (
    Done,
    Failed,
    Outcome,
    failure,
    read_outcome,
    write_outcome,
)
from burnqed.iteration.plan import due
from burnqed.iteration.rounds import set_aside
from burnqed.iteration.runner import last_line, run_stage
from burnqed.iteration.specs import Export, Index, Pairs, Search, Stage
from burnqed.iteration.watching import Log
from burnqed.prover.config import SearchConfig
from burnqed.prover.data_config import IndexConfig, PairsConfig
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


LISTING = Stage(
    0, "listing", Index(config=IndexConfig(theorems="qed-core"), out=Path("theorems/all.json"))
)
NOTHING = Pairs(runs=(Path("searched"),), config=PairsConfig(), out=Path("x.jsonl"))
WRONG = Stage(0, "wrong", Index(config=IndexConfig(theorems="absent"), out=Path("x.json")))


def test_a_stage_that_ends_well_is_done(tmp_path: Path) -> None:
    looking = run(tmp_path, LISTING)
    assert looking.told == ["listing begun", "listing done: "]
    assert read_done(tmp_path) == {(0, "listing"): "done"}
    shown = "burn-qed data index --theorems qed-core --out theorems/all.json"
    log = log_of(tmp_path, LISTING.key)
    assert log.read_text() == f"$ {shown}\n150 of 150 theorems in theorems/all.json\n"
    assert last_line(log) == "150 of 150 theorems in theorems/all.json"
    assert read_record(record_of(tmp_path, 0, "listing"))["command"] == shown
    assert from_json(Stage, (tmp_path / "specs/iter_0/listing.json").read_bytes()) == LISTING
    assert read_outcome(tmp_path / "outcomes/iter_0/listing.json") == Done()
    spent = read_spent(tmp_path)[0, "listing"]
    assert spent.runs == 1
    assert 0 < spent.seconds < 60


def test_one_whose_input_is_wrong_ends_the_run_and_is_not_done(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"wrong failed: .*absent") as caught:
        run(tmp_path, WRONG)
    assert str(log_of(tmp_path, WRONG.key)) in caught.value.hint
    assert read_done(tmp_path) == {}
    assert read_spent(tmp_path)[0, "wrong"].runs == 1


def test_where_the_run_can_do_without_it_is_skipped_with_the_reason(tmp_path: Path) -> None:
    with open_writer(tmp_path / "searched" / "trajectories") as writer:
        writer.add(record(1, 2), [])
    optional = Stage(1, "pairs", NOTHING, optional=True)
    looking = run(tmp_path, optional)
    assert read_done(tmp_path) == {(1, "pairs"): "skipped"}
    why = read_record(record_of(tmp_path, 1, "pairs"))["why"]
    assert "nothing was proved by a search" in why
    assert looking.told[-1] == f"pairs skipped: {why}"
    with pytest.raises(InfrastructureError, match="pairs failed: nothing was proved"):
        run(tmp_path, Stage(2, "pairs", NOTHING))


def test_a_bug_is_never_a_reason_to_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the same exit code, and before anything could be written down."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "burnqed").mkdir()
    (tmp_path / "broken" / "burnqed" / "__init__.py").write_text("raise RuntimeError('a bug')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    stage = Stage(1, "pairs", NOTHING, optional=True)
    with pytest.raises(InfrastructureError, match="pairs ended with exit code 1 before") as caught:
        run(tmp_path, stage)
    assert str(log_of(tmp_path, stage.key)) in caught.value.hint
    assert "RuntimeError: a bug" in log_of(tmp_path, stage.key).read_text()


def test_nor_is_one_that_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(execute, "pairs", bug)
    outcome, code = perform(written(tmp_path, Stage(1, "pairs", NOTHING, optional=True)))
    assert outcome == Failed(type="RuntimeError", text="RuntimeError: a bug")
    assert (outcome.kind, code) == (InfrastructureError, 1)


def test_errors_keep_their_type_their_text_and_their_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise LeanStartError("it did not start", hint="try again")

    monkeypatch.setattr(execute, "pairs", lost)
    outcome, code = perform(written(tmp_path, Stage(1, "pairs", NOTHING)))
    wanted = Failed(type="LeanStartError", text="it did not start", hint="try again", exit_code=3)
    assert (outcome, code) == (wanted, 3)
    write_outcome(tmp_path / "outcome.json", outcome)
    assert read_outcome(tmp_path / "outcome.json") == wanted
    assert wanted.kind is InfrastructureError
    assert failure(ConfigError("x")).kind is InputError


def test_a_specification_that_nobody_can_read_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path, LISTING)
    file.write_text(file.read_text().replace('"theorems"', '"theoremz"', 1))
    outcome, code = perform(file)
    assert isinstance(outcome, Failed)
    assert "theoremz" in outcome.text
    assert code == 1


def written(place: Path, stage: Stage) -> Path:
    file = place / "stage.json"
    file.write_bytes(msgspec.json.encode(as_content(stage)))
    return file


def perform(file: Path) -> tuple[Outcome, int]:
    return execute.perform(file, resume=False)


class Killing(Looking):
    """Somebody else ends the stage's process: a kill, a processor that is too old, no memory left."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__()
        self.number = number

    def looked(self, stage: Stage, last_line: str) -> None:
        for child in children(os.getpid()):
            if b"burnqed.iteration.child" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(child, self.number)


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGILL])
def test_one_that_dies_is_named_with_its_signal_and_its_log(
    tmp_path: Path, number: signal.Signals
) -> None:
    stage = Stage(0, "listing", LISTING.spec, optional=True)
    run(tmp_path, stage)
    record_of(tmp_path, 0, "listing").unlink()
    (tmp_path / stage.out).unlink()  # what it said the time before is not an outcome of this
    with (
        locked(tmp_path, silent) as lock,
        pytest.raises(InfrastructureError, match=f"listing was killed by {number.name}") as caught,
    ):
        run_stage(tmp_path, stage, lock, Killing(number), lambda: None)
    assert str(log_of(tmp_path, stage.key)) in caught.value.hint
    assert read_done(tmp_path) == {}


def test_one_that_is_asked_to_stop_is_not_done(tmp_path: Path) -> None:
    looking = Looking()
    with locked(tmp_path, silent) as lock:
        ended = run_stage(tmp_path, LISTING, lock, looking, lambda: signal.SIGTERM)
    assert ended.signal == signal.SIGTERM
    assert looking.told[-1] == "listing stopped: "
    assert read_done(tmp_path) == {}


def test_bad_input_is_never_a_reason_to_skip(tmp_path: Path) -> None:
    wrong = Stage(1, "wrong", WRONG.spec, optional=True)
    with pytest.raises(InputError, match="absent"):
        run(tmp_path, wrong)
    assert read_done(tmp_path) == {}


def test_what_is_there_whole_is_not_made_again(tmp_path: Path) -> None:
    """Killed after the last rename, and before the record: making it again would be refused."""
    stage = Stage(0, "export", Export(source=Path("absent"), out=Path("model")))
    (tmp_path / "model").mkdir()
    assert run(tmp_path, stage).told == ["export done: it was there"]
    assert read_done(tmp_path) == {(0, "export"): "done"}
    assert not log_of(tmp_path, stage.key).exists(), "no process was begun"


def test_what_its_process_called_done_is_not_done_again(tmp_path: Path) -> None:
    """The run was killed after the process had ended, and before the record."""
    run(tmp_path, LISTING)
    record_of(tmp_path, 0, "listing").unlink()
    assert run(tmp_path, LISTING).told == ["listing done: it was there"]
    assert read_done(tmp_path) == {(0, "listing"): "done"}
    assert read_spent(tmp_path)[0, "listing"].runs == 1


@pytest.mark.parametrize("lost", ["specs", "outcomes", "theorems"])
def test_without_all_that_says_so_it_is_done_again(tmp_path: Path, lost: str) -> None:
    run(tmp_path, LISTING)
    record_of(tmp_path, 0, "listing").unlink()
    for file in (tmp_path / lost).rglob("*.json"):
        file.write_text("{}") if lost != "theorems" else file.unlink()
    assert run(tmp_path, LISTING).told == ["listing begun", "listing done: "]
    assert read_spent(tmp_path)[0, "listing"].runs == 2


@pytest.mark.lean
def test_an_error_of_one_that_came_to_its_end_is_no_failure(tmp_path: Path) -> None:
    """A search counts the theorems that failed, and the run goes on."""
    unread = {"theorems": [{"name": "odd", "statement": "", "error": "nobody can read it"}]}
    (tmp_path / "odd.json").write_text(json.dumps(unread))
    config = SearchConfig(nodes=1, policy="portfolio")
    spec = Search(theorems="odd.json", config=config, out=Path("searched"))
    looking = run(tmp_path, Stage(0, "search-1", spec))
    assert looking.told[-1] == "search-1 done: with errors, which are counted: unreadable 1"
    assert (tmp_path / "searched" / "summary.json").is_file()


def test_what_was_done_there_once_is_not_done_now(tmp_path: Path) -> None:
    """An outcome of a time before is gone before the stage begins."""
    write_outcome(tmp_path / "outcomes/iter_0/wrong.json", Done())
    with pytest.raises(InputError):
        run(tmp_path, WRONG)
    assert read_done(tmp_path) == {}


def test_the_last_line_is_of_this_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("$ burn-qed x\nerror: old\n$ burn-qed x --resume\n")
    assert last_line(log) == ""
    log.write_text("$ burn-qed x\nsome\n1 of 2\r2 of 2\n")
    assert last_line(log) == "2 of 2"
    assert last_line(tmp_path / "absent") == ""


@pytest.fixture
def handlers() -> Iterator[None]:
    """Signals as they were, after the test."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_a_signal_asks_a_stage_to_save_and_to_end() -> None:
    training, searching = Log(), Log()
    training.listen()
    assert not training.stop()
    os.kill(os.getpid(), signal.SIGTERM)
    assert training.stop()

    async def search() -> None:
        stop = searching.stopping()
        assert not stop.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(stop.wait(), 5)

    async def second_half() -> bool:
        return searching.stopping().is_set()

    asyncio.run(search())
    os.kill(os.getpid(), signal.SIGTERM)
    assert asyncio.run(second_half()), "what was stopped between two searches begins no other"


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


def test_a_reset_that_is_killed_leaves_nothing_that_looks_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("stages/iter_1/search-1.json", "checkpoints/llm/iter_1/x", "models/llm/iter_1/x",
                 "outcomes/iter_1/search-1.json", "trajectories/iter_1/x"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    moved: list[str] = []
    rename = Path.rename

    def watched(path: Path, target: Path) -> Path:
        moved.append(path.relative_to(tmp_path).parts[0])
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", watched)
    set_aside(tmp_path, 1)
    assert moved == ["stages", "outcomes", "models", "checkpoints", "trajectories"]


def test_what_was_reset_counts_as_never_begun(tmp_path: Path) -> None:
    def work(iteration: int, name: str) -> None:
        stage = Stage(iteration, name, LISTING.spec)
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
    config = read_config("smoke", ("joint.first=9",))
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
    directory.write_record(tmp_path, Stage(2, "policy", LISTING.spec), "skipped")
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

"""`burn-qed report`, as the command line runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from burnqed.cli.commands.report import report_command
from burnqed.core.errors import InputError, SetupError
from tests.report.samples import realistic, result_of, write_run

FILES = {
    "report.html",
    *(f"solve_rate_by_{what}.{end}" for what in ("nodes", "seconds") for end in ("png", "svg")),
}

app = typer.Typer()
app.command()(report_command)


def report(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "monday", realistic(1, count=20))


@pytest.mark.parametrize("given", ["", "result.json"])
def test_a_run_gets_its_report_inside(run: Path, given: str) -> None:
    printed = report(run / given).stdout.splitlines()
    assert {path.name for path in (run / "report").iterdir()} == FILES
    assert [Path(line).parent for line in printed] == [run / "report"] * len(FILES)
    assert {Path(line).name for line in printed} == FILES
    page = (run / "report" / "report.html").read_text(encoding="utf-8")
    assert "monday" in page
    assert "level_1_problem_1" in page


def test_twice_is_the_same(run: Path) -> None:
    report(run)
    before = {path.name: path.read_bytes() for path in (run / "report").iterdir()}
    report(run)
    assert {path.name: path.read_bytes() for path in (run / "report").iterdir()} == before


def test_json(run: Path, tmp_path: Path) -> None:
    content = json.loads(report(run, "--json", "--out", tmp_path / "there").stdout)
    assert content["page"] == str(tmp_path / "there" / "report.html")
    assert all(Path(path).is_file() for path in (content["page"], *content["plots"]))
    assert {Path(path).name for path in (content["page"], *content["plots"])} == FILES


def test_several_runs_are_told_apart_by_as_little_as_it_takes(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, realistic(i, count=10))
        for i, name in enumerate(("a/x", "b/x", "b/y"))
    ]
    report(*runs, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(f">{label}</span>" in page for label in ("a/x", "b/x", "y"))
    report(runs[0], runs[2] / "result.json", "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(f">{label}</span>" in page for label in ("x", "y"))


def test_several_runs_need_a_place(run: Path) -> None:
    with pytest.raises(InputError, match="several runs") as caught:
        report(run, run)
    assert "--out" in caught.value.hint
    assert not (run / "report").exists()


def test_a_file_elsewhere_needs_a_place(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes((run / "result.json").read_bytes())
    with pytest.raises(InputError) as caught:
        report(copy)
    assert "--out" in caught.value.hint
    report(copy, "--out", tmp_path / "out")
    assert "copy" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_run_given_twice(run: Path, tmp_path: Path) -> None:
    """Somebody may want to see that it makes no difference."""
    report(run, run / "result.json", "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"{run.name} (2)" in page


@pytest.mark.parametrize("content", [None, "no json", "{}"])
def test_what_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with pytest.raises(InputError):
        report(tmp_path)
    assert not (tmp_path / "report").exists()


def test_a_result_without_budgets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no budgets"):
        report(write_run(tmp_path / "run", result_of([], budgets=())))


def test_without_matplotlib_nothing_is_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.style", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SetupError) as caught:
        report(run)
    assert "pip install matplotlib" in caught.value.hint
    assert not (run / "report").exists()


def test_help_teaches() -> None:
    shown = report("--help").stdout
    assert "burn-qed report runs/monday runs/tuesday --out comparison" in " ".join(shown.split())

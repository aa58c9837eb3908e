"""`burn-qed compare` as a user sees it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from burnqed.cli.commands.compare import compare_command
from burnqed.cli.labels import labels_of
from burnqed.core.errors import InfrastructureError, InputError
from burnqed.evaluation.results import write_result
from burnqed.trajectories.schema import TheoremOutcome
from tests.evaluation.samples import Outcomes, result_of

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="rich")
app.command("compare")(compare_command)

LONG = "Nat.a_name_" + "that_goes_on_" * 12 + "to_its_end"
HARD: tuple[TheoremOutcome, int] = ("exhausted", 1000)
FIRST: Outcomes = {
    "easy": ("proved", 1),
    "a|b": HARD,
    "[bold]c[/bold]": HARD,
    "[/]": ("proved", 1),
    LONG: HARD,
    "broke": ("proved", 1),
}
SECOND: Outcomes = {
    **FIRST,
    "a|b": ("proved", 5),
    "[bold]c[/bold]": ("proved", 50),
    "[/]": HARD,
    LONG: ("proved", 1),
    "broke": ("error", 1),
}


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before", tmp_path / "after"
    write_result(before / "result.json", result_of(FIRST, settings={"seed": 0}))
    write_result(after / "result.json", result_of(SECOND, settings={"seed": 1}))
    return before, after


class Done(NamedTuple):
    stdout: str
    exit_code: int
    exception: BaseException | None


def run(*arguments: str | Path, columns: int | None = None) -> Done:
    """With columns: as at a terminal of that width."""
    terminal = {"COLUMNS": str(columns), "FORCE_COLOR": "1"} if columns else {"FORCE_COLOR": None}
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env=terminal)
    return Done(done.stdout, done.exit_code, done.exception)


def compared(*arguments: str | Path, columns: int | None = None) -> str:
    done = run(*arguments, columns=columns)
    assert done.exception is None, done.exception
    assert done.exit_code == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


def refused(*arguments: str | Path) -> InputError:
    done = run(*arguments)
    assert isinstance(done.exception, InputError), done
    assert done.exception.exit_code == 2
    assert done.stdout == ""
    return done.exception


def cells(text: str) -> list[list[str]]:
    return [[c.strip() for c in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]


def test_tables(runs: tuple[Path, Path]) -> None:
    text = compared(*runs)
    rows = cells(text)
    assert ["before", "1", *(["3/6 50.0% (18.8 to 81.2)"] * 4)] in rows
    same, more = "+0, +0.0 points", "+1, +16.7 points"
    assert rows[2] == ["after minus before", "", same, same, more, more]
    assert ["100 nodes", "3", "1", "1", "0", "1", "p = 0.62", "no difference shown"] in rows
    assert ["a|b", "gained", "gained", "gained"] in rows
    assert ["[bold]c[/bold]", "", "", "gained"] in rows, "a name is not markup"
    assert ["[/]", "lost", "lost", "lost"] in rows
    assert ["broke", "error", "error", "error"] in rows
    assert [LONG, "gained", "gained", "gained"] in rows, "on one line where there is no terminal"
    assert ["[bold]c[/bold]", "after"] in rows, "newly solved"
    assert ["seed", "0", "1"] in rows
    assert "solved of made-up" in text


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_narrow_terminal_cuts_nothing_off(runs: tuple[Path, Path], columns: int) -> None:
    text = compared(*runs, columns=columns)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns
    first_column = "".join(row[0] for row in cells(text))
    assert first_column.count(LONG) == 2, "changed, and newly solved"


def test_three_and_a_file(runs: tuple[Path, Path], tmp_path: Path) -> None:
    write_result(tmp_path / "last.json", result_of({**SECOND, "broke": ("proved", 1)}))
    rows = cells(compared(*runs, tmp_path / "last.json"))
    assert [row[0] for row in rows[:4]] == ["before", "after", "last", "last minus before"]
    said = json.loads(compared(*runs, tmp_path / "last.json", "--json"))
    assert [(pair["label"], pair["against"]) for pair in said["pairs"]] == [
        ("after", "before"), ("last", "after"), ("last", "before"),
    ]  # fmt: skip


def test_the_same_twice(runs: tuple[Path, Path]) -> None:
    text = compared(runs[0], runs[0] / "result.json")
    assert [row[0] for row in cells(text)[:2]] == ["before", "before (2)"]
    assert "no theorem was gained or lost" in text
    assert "newly solved since before: none" in text
    assert "settings that differ: none" in text


def test_json_and_markdown(runs: tuple[Path, Path], tmp_path: Path) -> None:
    said = json.loads(compared(*runs, "--json"))
    assert said["pairs"][0]["budgets"]["10"]["gained"] == [LONG, "a|b"]
    text = compared(*runs, "--markdown")
    assert text.startswith("| result | benchmark |")
    assert rf"  - gained: {LONG}, \[bold\]c\[/bold\], a\|b" in text
    for name, printed in (("new/c.md", text), ("c.json", compared(*runs, "--json"))):
        assert compared(*runs, "--out", tmp_path / name) == compared(*runs), "printed as well"
        assert (tmp_path / name).read_text(encoding="utf-8") == printed


def test_different_benchmarks(runs: tuple[Path, Path], tmp_path: Path) -> None:
    write_result(tmp_path / "other.json", result_of({"easy": HARD, "new": HARD}, benchmark="other"))
    told = refused(runs[0], tmp_path / "other.json")
    assert "before is on made-up (6 theorems" in told.message
    assert "--allow-different" in told.hint
    text = compared(runs[0], tmp_path / "other.json", "--allow-different")
    assert "1 theorem in common by name, before has 6, other has 2" in text
    assert [row[0] for row in cells(text)[:3]] == [
        "before on made-up", "other on other", "other minus before",
    ]  # fmt: skip


def test_what_is_refused(runs: tuple[Path, Path], tmp_path: Path) -> None:
    assert "only one result" in refused(runs[0]).message
    assert "there is no" in refused(runs[0], tmp_path / "absent").message
    assert "there is no" in refused(runs[0], tmp_path).message
    assert "--markdown and --json" in refused(*runs, "--markdown", "--json").message
    for name in ("c.txt", "c"):
        assert "FILE.md" in refused(*runs, "--out", tmp_path / name).hint
        assert not (tmp_path / name).exists()
    assert run().exit_code == 2


def test_a_result_is_not_overwritten(runs: tuple[Path, Path]) -> None:
    before = (runs[0] / "result.json").read_bytes()
    for given in (runs, (runs[0] / "result.json", runs[1])):
        told = refused(*given, "--out", runs[1] / ".." / "before" / "result.json")
        assert "is one of the results" in told.message
    assert (runs[0] / "result.json").read_bytes() == before


def test_a_file_that_cannot_be_written(runs: tuple[Path, Path]) -> None:
    done = run(*runs, "--out", runs[0] / "result.json" / "c.md")
    assert isinstance(done.exception, InfrastructureError)


def test_help_teaches() -> None:
    text = compared("--help", columns=120)
    assert "burn-qed compare runs/baseline runs/iter_0" in text
    assert "Exit codes: 0 compared" in text
    for option in ("--allow-different", "--markdown", "--json", "--out"):
        assert option in text


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        (("runs/a", "runs/b/result.json"), ["a", "b"]),
        (("a/eval/result.json", "b/eval/result.json"), ["a", "b"]),
        (("r/iter_0.json", "r/iter_1.json"), ["iter_0", "iter_1"]),
        (("x/iter_0", "x/iter_1", "y/iter_0"), ["x/iter_0", "iter_1", "y/iter_0"]),
        (("/a", "/x/a"), ["/a", "x/a"]),
        (("a", "a", "b", "./a/result.json"), ["a", "a (2)", "b", "a (3)"]),
        (("a", "a", "a (2)"), ["a", "a (2)", "a (2) (2)"]),
        (("a", "b/../a/../c"), ["a", "c"]),
        (("a.b/x", "a.c/x"), ["a.b", "a.c"]),
        (("only/one",), ["one"]),
    ],
)
def test_labels(paths: tuple[str, ...], labels: list[str]) -> None:
    assert labels_of([Path(path) for path in paths]) == labels

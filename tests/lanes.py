"""Lanes: which tests run when, and what each left out.

    check   what needs neither Lean nor torch nor a network nor a browser
    test    everything that a change must not break
    soak    what takes long

Without `--lane` everything runs. No mark can be forgotten: who asks for Lean's fixtures needs Lean, a
file that imports torch is left out of `check` as a whole, and whatever else loads torch, starts Lean or
asks the network there fails.
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from burnqed.policy.models import cpu
from tests.children import sitecustomize as children

_LEAVES_OUT = {"check": ("soak", "network", "lean", "torch", "browser"), "test": ("soak",), "soak": ()}
_MARKED = {"toolchain": "lean", "chromium": "browser"}  # who asks for the first needs the second
_TORCH = "imports torch"
_KEPT = pytest.StashKey["Lane"]()


class Lane:
    """One run of pytest: in `check`, a process that refuses; always, what was left out and why."""

    def __init__(self, name: str | None, *, runs: bool) -> None:
        self.name = name
        self.ran = 0
        self.left: Counter[str] = Counter()
        self.files = 0  # that import torch; their tests are counted as they are written
        self.collecting = True
        self.wrong: list[str] = []
        self.report: Path | None = None  # where other processes write what they did wrong
        if name == "check" and runs:
            handle, path = tempfile.mkstemp(prefix="burn-qed-lane-")
            os.close(handle)
            self.report = Path(path)
            os.environ[children.REPORT] = path
            known = os.environ.get("PYTHONPATH")
            folder = str(Path(children.__file__).parent)
            os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{known}" if known else folder
            sys.addaudithook(self._refuse)
        elif name != "check":
            cpu.settle()  # before the tests load torch by themselves

    def _refuse(self, event: str, arguments: tuple[Any, ...]) -> None:
        mark = children.forbidden(event, arguments)
        if mark == "torch" and self.collecting:
            pytest.skip(_TORCH, allow_module_level=True)
        if mark:
            self.wrong.append(mark)
            pytest.fail(_advice(mark))

    def done_wrong(self) -> list[str]:
        """What was refused since the last time, here and in other processes."""
        found, self.wrong = self.wrong, []
        if self.report is not None and self.report.stat().st_size:
            found += self.report.read_text(encoding="utf-8").split()
            self.report.write_text("")
        return found

    def why_not(self, item: pytest.Item) -> str:
        """Why a test is left out, if it is."""
        if self.name == "soak":
            return "" if item.get_closest_marker("soak") else "not soak"
        marks = _LEAVES_OUT.get(self.name or "", ())
        return next((mark for mark in marks if item.get_closest_marker(mark)), "")

    def told(self) -> str:
        """The line that ends a run."""
        reasons = [f"{count} {why}" for why, count in sorted(self.left.items())]
        if self.files:
            reasons.append(f"{self.files} files that import torch")
        others = [f"`make {name}`" for name in ("test", "soak") if name != self.name]
        return (
            f"lane {self.name}: {self.ran} tests; left out: {', '.join(reasons) or 'nothing'}"
            f" (see {' and '.join(others)})"
        )


def _advice(mark: str) -> str:
    return f"a test that needs {mark} has no mark for it: @pytest.mark.{mark}"


def some(cases: Iterable[Any], one_in: int) -> list[Any]:
    """For `parametrize`: of many cases every so many-th in `make test`, the others in `make soak`."""
    return [
        case if number % one_in == 0 else pytest.param(case, marks=pytest.mark.soak)
        for number, case in enumerate(cases)
    ]


def few_and(few: int, many: int) -> list[Any]:
    """For `parametrize`: the same a few times, and in `make soak` many times."""
    return [few, pytest.param(many, marks=pytest.mark.soak)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lane", choices=tuple(_LEAVES_OUT), help="Which tests: see docs/testing.md.")


def pytest_configure(config: pytest.Config) -> None:
    # What only starts others with tests to run must not have them refused as a test's children.
    runs = hasattr(config, "workerinput") or not config.getoption("numprocesses", None)
    config.stash[_KEPT] = Lane(config.getoption("--lane"), runs=runs)


def pytest_unconfigure(config: pytest.Config) -> None:
    report = config.stash[_KEPT].report
    if report is not None:
        report.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that imports torch has no tests in `check`, which is told in sum and not of each."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and _TORCH in report.longrepr[2]:
        lane = collector.config.stash[_KEPT]
        lane.files += 1
        lane.left["torch"] += _written(collector.path)
        report.outcome, report.longrepr, report.result = "passed", None, []
    return report


def _written(path: Path) -> int:
    """How many tests a file has, of several with parameters one: they are known when it is imported."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return sum(isinstance(node, functions) and node.name.startswith("test_") for node in nodes)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lane = config.stash[_KEPT]
    lane.collecting = False
    # These wait most of their time: begun last, they would have the run wait for them.
    items.sort(key=lambda item: item.path.name != "test_lanes.py")
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        for fixture, mark in _MARKED.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        why = lane.why_not(item)
        lane.left.update([why] if why else [])
        (left if why else kept).append(item)
    lane.ran = len(kept)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.fixture(autouse=True)
def _within_its_lane(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails what did something that its lane does not allow, also where nobody heard of it."""
    lane = request.config.stash[_KEPT]
    yield
    for mark in lane.done_wrong():
        pytest.fail(_advice(mark))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of several processes that collect the same each tells the one that speaks."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        lane = session.config.stash[_KEPT]
        output["lane"] = (lane.ran, dict(lane.left), lane.files)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    told = getattr(node, "workeroutput", {}).get("lane")  # of one that died there is nothing
    if told is not None:
        lane = node.config.stash[_KEPT]
        lane.ran, lane.left, lane.files = told[0], Counter(told[1]), told[2]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lane = config.stash[_KEPT]
    if lane.name is not None:
        terminalreporter.write_sep("-", lane.told())

"""`--toolchain`: which Lean the tests run on, the embedded one or a native one.

The tests are the same. On a native Lean only those run that need a Lean, and of them not those that are
about the embedded one (`@pytest.mark.embedded`, and what is in tests/lean/embedded). Those about a
native one (`@pytest.mark.native`) run nowhere else.
"""

from __future__ import annotations

import os

import pytest

from burnqed.lean.embedded.progress import Silent, Terminal
from burnqed.lean.native import found
from burnqed.lean.toolchain import Toolchain, embedded, native

_LABEL = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--toolchain", choices=("embedded", "native"), default="embedded", help="Which Lean."
    )


def pytest_configure(config: pytest.Config) -> None:
    # What is installed on the machine that runs the tests must not change what they test.
    os.environ["BURN_QED_TOOLCHAIN"] = config.getoption("--toolchain")


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("--toolchain") == "native":
        if found.on_path() is None:
            pytest.exit("no native Lean on PATH or in ~/.elan: nothing is tested", returncode=0)
        session.config.stash[_LABEL] = _native().label


def _native() -> Toolchain:
    with Terminal() as progress:
        return native(progress)


# First of all, so that the lanes count what is left.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    belongs = _is_for_native if config.getoption("--toolchain") == "native" else _is_for_embedded
    left = [item for item in items if not belongs(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if belongs(item)]


def _is_for_embedded(item: pytest.Item) -> bool:
    return item.get_closest_marker("native") is None


def _is_for_native(item: pytest.Item) -> bool:
    asks = set(getattr(item, "fixturenames", ())) & {"toolchain", "lean_launch", "lean_pool"}
    needs = asks or item.get_closest_marker("lean") or item.get_closest_marker("native")
    own = item.get_closest_marker("embedded") or item.path.parent.name == "embedded"
    return bool(needs) and not own


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if label := config.stash.get(_LABEL, ""):
        terminalreporter.write_sep(
            "-", f"on {label}; left out: what is not about Lean, or the embedded one"
        )


@pytest.fixture(scope="session")
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    """The Lean of `--toolchain`, set up on first use."""
    kind = request.config.getoption("--toolchain")
    return native(Silent()) if kind == "native" else embedded(Silent())

"""A real browser. Without one these tests are skipped, and say what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from burnqed.web.server import WebServer
from tests.web import samples
from tests.web.loops import Loop

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# The browser's own words for answers that the page expects and shows.
_REFUSED = "Failed to load resource: the server responded with a status of 4"
WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
expect.set_options(timeout=15_000)  # a busy machine is slow, and no reason to fail
Look = tuple[Literal["light", "dark"], ViewportSize]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Chromium of this machine, driven by Playwright."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        # As root, which containers often are, Chromium has no sandbox of its own.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server that shows the sample runs."""
    root = tmp_path_factory.mktemp("runs")
    samples.write_all(root)
    samples.write_eval(root / "evals" / "before", samples.BEFORE, ("level 1", "level 2"))
    Loop(root / "loop").finish()
    with WebServer(root) as server:
        yield server


@pytest.fixture
def page(chromium: Browser, shown: WebServer, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page in the look that the test's parameter names."""
    with watched(chromium, shown.url, getattr(request, "param", ("light", WIDE))) as page:
        yield page


@contextmanager
def watched(chromium: Browser, url: str, look: Look = ("light", WIDE)) -> Iterator[Page]:
    """A page where nothing may go wrong unseen. `url` is its server's."""
    scheme, size = look
    context = chromium.new_context(color_scheme=scheme, viewport=size, base_url=url)
    context.set_default_timeout(15_000)
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda told: wrong.append(told.text) if told.type in ("error", "warning") else None
    )
    page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    page.on("request", lambda one: asked.append(one.url))
    yield page
    context.close()
    assert [told for told in wrong if not told.startswith(_REFUSED)] == []
    assert all(one.startswith((url, "data:")) for one in asked), "it loads nothing from outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The sample runs, without a browser."""
    return samples.write_all(tmp_path)

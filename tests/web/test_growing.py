"""The page while runs grow: nobody loads it again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from burnqed.iteration.directory import locked
from burnqed.lean.process import LaunchSpec
from burnqed.trajectories.store import open_writer
from burnqed.web.server import WebServer
from tests.web import samples
from tests.web.conftest import watched
from tests.web.loops import Loop
from tests.web.test_page import sound

SECRET = "0123456789abcdef0123456789abcdef"
BURN_QED = str(Path(sys.executable).with_name("burn-qed"))


@pytest.fixture
def page(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page that shows the runs in `tmp_path`."""
    with WebServer(tmp_path) as server, watched(chromium, server.url) as page:
        page.goto("/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
        yield page


def state(page: Page) -> Locator:
    return page.locator(".about .mark")


def test_a_run_appears_and_grows(page: Page, tmp_path: Path) -> None:
    expect(page.get_by_text("There is no run in this folder yet.")).to_be_visible()
    run = samples.write_search(tmp_path / "run", samples.THEOREMS[:1], done=False)
    row = page.get_by_role("row", name=re.compile("^run"))
    expect(row).to_contain_text("unfinished")
    with open_writer(run / "trajectories") as writer:
        expect(row).to_contain_text("running")
        expect(row).to_contain_text("1 of 1")
        page.get_by_role("link", name="run").click()
        expect(state(page)).to_have_text("▶ running")
        page.get_by_label("Outcome").select_option("proved (1)")
        page.get_by_text("Settings").click()
        page.get_by_role("link", name="And.both").focus()
        for theorem in samples.THEOREMS[1:]:
            writer.add(*samples.rows_and_record(theorem, "run"))
        writer.save()
        expect(page.get_by_text("2 of 4 theorems; 2 proved")).to_be_visible()
        expect(
            page.get_by_role("img", name=re.compile("Proofs found over time: .* to 2 at"))
        ).to_be_visible()
        expect(page.get_by_role("link", name="And.both")).to_be_focused()
        expect(page.get_by_label("Outcome")).to_have_value("proved")
        expect(page.locator(".settings")).to_be_visible()
    (run / "summary.json").write_text("{}")
    expect(state(page)).to_have_text("✓ done")


def test_a_page_that_nobody_sees_asks_for_nothing(page: Page, tmp_path: Path) -> None:
    look = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(
        f"Object.defineProperty(document, 'hidden', {{value: true, configurable: true}}); {look}"
    )
    samples.write_search(tmp_path / "run", samples.THEOREMS[:1])
    time.sleep(2.5)
    assert page.get_by_role("row").count() == 0
    page.evaluate(f"delete document.hidden; {look}")
    expect(page.get_by_role("row", name=re.compile("^run"))).to_be_visible()


def test_a_token_is_asked_for_once_and_the_page_lives(chromium: Browser, tmp_path: Path) -> None:
    samples.write_search(tmp_path / "run", samples.THEOREMS[:1])
    with WebServer(tmp_path, token=SECRET) as server, watched(chromium, server.url) as page:
        page.goto("/")
        field = page.get_by_role("textbox", name="Token")
        expect(field).to_be_focused()
        assert page.get_by_role("row").count() == 0
        sound(page)
        page.keyboard.type("0" * 32)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text("This token is wrong.")
        page.keyboard.type(SECRET)
        page.keyboard.press("Enter")
        page.get_by_role("link", name="run").click()
        expect(page.get_by_role("row", name=re.compile("^And.both"))).to_be_visible()
        samples.write_attempt(tmp_path / "run", samples.THEOREMS[1:2])
        expect(page.get_by_role("row", name=re.compile("^Not.provable"))).to_be_visible()
        page.get_by_role("link", name="And.both").click()  # asks for three things at once
        expect(page.get_by_role("heading", name="State 0")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.reload()
        expect(field).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("alert")).to_contain_text("this server wants its token")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_loop_goes_from_stage_to_stage(page: Page, tmp_path: Path) -> None:
    loop = Loop(tmp_path / "loop")
    with locked(loop.path, lambda _: None):
        loop.until("teacher-1")
        page.get_by_role("link", name="loop").click()
        at_work = page.locator(".at-work")
        expect(at_work).to_contain_text("iteration 0: teacher-1")
        expect(at_work).to_contain_text("<script>")
        loop.until("policy")
        expect(at_work).to_contain_text("iteration 0: policy")
        loop.finish()
    expect(state(page)).to_have_text("✓ done")
    expect(page.get_by_role("img", name=re.compile("qed-core"))).to_be_visible()
    rows = page.get_by_role("table", name="Theorems").locator("tbody tr")
    expect(rows.filter(has_text="trajectories/iter_0/noise")).to_have_count(3)
    assert at_work.count() == 0


def test_a_loop_shows_the_search_at_work(page: Page, tmp_path: Path) -> None:
    loop = Loop(tmp_path / "loop")
    with locked(loop.path, lambda _: None):
        loop.until("teacher-1")
        run = samples.write_search(loop.at_work, samples.THEOREMS[:1], done=False)
        with open_writer(run / "trajectories") as writer:
            expect(page.get_by_role("row", name=re.compile("^loop"))).to_contain_text(
                "running iteration 0: teacher-1"
            )
            page.get_by_role("link", name="loop").click()
            search = page.get_by_role("region", name="The search at work")
            expect(search).to_contain_text("proved1 of 1")
            for theorem in samples.THEOREMS[1:]:
                writer.add(*samples.rows_and_record(theorem, "run"))
            writer.save()
            expect(search).to_contain_text("proved2 of 4")
            expect(search).to_contain_text("nodes a second")
            curve = search.get_by_role("img", name=re.compile("Proofs found over time: .* to 2 at"))
            expect(curve).to_be_visible()
            sound(page)
            search.get_by_role("link", name="trajectories/teacher/search_1").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("search_1")
            trail = page.get_by_role("navigation", name="Where you are")
            trail.get_by_role("link", name="loop").click()
        loop.until("policy")
        expect(page.locator(".at-work")).to_contain_text("iteration 0: policy")
        expect(search).to_have_count(0)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_real_loop_is_watched_until_it_is_stopped(
    page: Page, tmp_path: Path, lean_launch: LaunchSpec
) -> None:
    """Its stages, its searches with their rate, its gates and its cost, as they come."""
    command = [BURN_QED, "smoke", "--out", str(tmp_path / "loop")]
    log = tmp_path / "log.txt"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            page.get_by_role("link", name="loop").click(timeout=120_000)
            at_work = page.locator(".at-work")
            cost = page.locator(".figures div", has_text="time of all stages")
            stages: dict[str, None] = {}
            said: set[str] = set()
            costs: set[str] = set()
            end = time.monotonic() + 600
            while "iteration 0: policy" not in stages:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, (stages, log.read_text())
                for stage in at_work.locator("strong").all_inner_texts():
                    stages[stage] = None
                said.update(at_work.locator("code").all_inner_texts())
                costs.update(cost.all_inner_texts())
                page.wait_for_timeout(200)
            assert len(stages) >= 4, stages
            assert any(re.search(r"proved \d+, errors 0, [\d.]+ nodes/s", one) for one in said), said
            assert len(costs) > 2, "the cost grows"
            gates = page.get_by_role("table", name="Gates")
            expect(gates.get_by_role("row", name=re.compile("untrained policy"))).to_be_visible()
            expect(gates.get_by_role("row", name=re.compile("training searches"))).to_be_visible()
            inside = page.get_by_role("table", name="Runs").locator("tbody tr")
            expect(inside.filter(has_text="trajectories/teacher/search_2")).to_contain_text("done")
            assert page.get_by_role("list", name="Problems").count() == 0
            sound(page)
            process.send_signal(signal.SIGINT)
            expect(state(page)).to_have_text("■ unfinished", timeout=60_000)
            assert at_work.count() == 0
        finally:
            process.terminate()
            process.wait(60)


def test_a_search_with_lean_grows_on_the_page(
    page: Page, tmp_path: Path, lean_launch: LaunchSpec
) -> None:
    index = tmp_path / "theorems.json"
    theorems = [{"name": f"t{i}", "statement": f"∀ n : Nat, n + {i} = {i} + n"} for i in range(6)]
    theorems.append({"name": "wrong", "statement": "∀ n : Nat, n = n + 1"})
    index.write_text(json.dumps({"name": "seven", "theorems": theorems}))
    command = [BURN_QED, "search", str(index), "--out", str(tmp_path / "run"), "--policy", "portfolio",
               "--nodes", "4", "--candidates", "6", "--workers", "1", "--save-every", "1"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            page.get_by_role("link", name="run").click(timeout=60_000)
            told = page.get_by_role("status").filter(has_text="theorem")
            seen: list[str] = []
            while process.poll() is None or "7 theorems; 6 proved" not in seen:
                assert len(seen) < 2000
                if told.count() and (text := told.inner_text()) not in seen[-1:]:
                    seen.append(text)
                page.wait_for_timeout(20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert len(seen) > 1, f"it grew while somebody looked: {seen}"
    expect(page.get_by_text("6 of 7")).to_be_visible()
    expect(state(page)).to_have_text("✓ done")

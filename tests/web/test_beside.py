"""Two runs side by side in a real browser: which theorems differ, and where their trees part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from starlette.testclient import TestClient

from burnqed.core.guard import Guard
from burnqed.core.types import Rejected
from burnqed.lean.fake import Script
from burnqed.web.app import app_of
from burnqed.web.server import WebServer
from tests.web import samples
from tests.web.conftest import watched
from tests.web.samples import CONJUNCTION, HOPELESS, HOSTILE, STRANGE, Tried, forest
from tests.web.test_page import LOOKS, VISIBLE, sound

STRANGE_NAME = f"strange {HOSTILE}"
# The same theorem: one state later another tactic closes it.
OTHER: Script = {**CONJUNCTION, "q": {**CONJUNCTION["q"], "simp [q_def]": ()}}
FOREST = forest(300)
GROWN: Script = {**FOREST, "a1 + b = c1": {**FOREST["a1 + b = c1"], "rfl": ()}}
HERE = (
    Tried("And.both", "p ∧ q", CONJUNCTION),
    Tried("Not.provable", "False", HOPELESS),
    Tried("only here", "p ∧ q", CONJUNCTION),
    Tried("forest", "a0 + b = c0", FOREST, nodes=200),
    Tried(STRANGE_NAME, f"⊤ {HOSTILE}", STRANGE),
)
THERE = (
    Tried("And.both", "p ∧ q", OTHER),
    Tried("Not.provable", "False", {"False": {"exact absurd rfl": ()}}),
    Tried("forest", "a0 + b = c0", GROWN, nodes=200),
    Tried(
        STRANGE_NAME, f"⊤ {HOSTILE}", {f"⊤ {HOSTILE}": {HOSTILE: (), "simp": Rejected("no", "tactic")}}
    ),
)


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server that shows two runs of the same theorems, and an evaluation of two attempts."""
    root = tmp_path_factory.mktemp("runs")
    samples.write_search(root / "one", HERE)
    samples.write_search(root / "two", THERE)
    samples.write_eval(root / "evals", samples.OUTCOMES)
    with WebServer(root) as server:
        yield server


@pytest.fixture
def page(chromium: Browser, beside: WebServer, request: pytest.FixtureRequest) -> Iterator[Page]:
    with watched(chromium, beside.url, getattr(request, "param", LOOKS[0])) as page:
        yield page


every_look = pytest.mark.parametrize(
    "page", LOOKS, indirect=True, ids=lambda look: f"{look[0]}-{look[1]['width']}"
)


def compared(page: Page, name: str = "") -> None:
    """The run `one` compared with `two`, and perhaps a theorem's trees."""
    page.goto("/")
    page.get_by_role("link", name="one").click()
    page.get_by_label("Compared with").select_option(label="two")
    if name:
        page.get_by_role("row", name=re.compile(f"^{name}")).get_by_role(
            "link", name="both trees"
        ).click()
        expect(page.get_by_role("heading", name="Where they part")).to_be_visible()


def tree(page: Page, where: str) -> tuple[Locator, Locator]:
    """The tree of a side, and what it says is chosen."""
    box = page.get_by_role("tree", name=f"Search tree {where}")
    return box, box.get_by_role("treeitem")


def test_the_theorems_that_differ_are_told(page: Page) -> None:
    compared(page)
    told = page.get_by_role("status").filter(has_text="theorem")
    expect(told).to_have_text(
        "5 theorems; 3 proved; 2 proved there only; 2 cheaper there; 1 not in that run"
    )
    row = page.get_by_role("row", name=re.compile("^And.both"))
    expect(row).to_contain_text("cheaper there")
    expect(row.get_by_role("cell").nth(2)).to_have_text("5")
    expect(row.get_by_role("cell").nth(3)).to_have_text("3")
    page.get_by_label("Difference").select_option("proved there only")
    names = page.get_by_role("table", name="Theorems").locator("tbody th").all_inner_texts()
    assert sorted(names) == ["Not.provable", "forest"]
    page.get_by_label("Difference").select_option("not in that run")
    expect(page.get_by_role("row", name=re.compile("^only here"))).to_be_visible()
    assert page.get_by_role("link", name="both trees").count() == 0


@every_look
def test_both_trees_are_shown_where_they_part(page: Page) -> None:
    compared(page, "And.both")
    expect(page.get_by_text("They part at state")).to_be_visible()
    why = page.locator(".why").filter(has_text="simp [q_def]")
    expect(why.first).to_have_text("simp [q_def] led to one state here; there it closed the state.")
    table = page.get_by_role("table", name=re.compile("Tactics at state 2"))
    expect(table.get_by_role("row", name=re.compile("simp"))).to_contain_text("≠")
    for where in ("here", "there"):
        _, item = tree(page, where)
        expect(item).to_contain_text("State 2")
        expect(item).to_contain_text("The searches part here.")
        panel = page.get_by_role("region", name=f"State {where}", exact=True)
        expect(panel.get_by_role("heading", name="State 2")).to_be_visible()
    sound(page)


def test_a_state_that_is_chosen_is_shown_in_the_other_tree(page: Page) -> None:
    compared(page, "And.both")
    box, here = tree(page, "here")
    _, there = tree(page, "there")
    box.focus()
    page.keyboard.press("Home")
    expect(here).to_contain_text("State 0")
    expect(there).to_contain_text("State 0")
    expect(page.get_by_text("State 0 here is state 0 there.")).to_be_visible()
    expect(box).to_be_focused()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(there).to_contain_text("State 1")
    find = page.get_by_role("search", name="Find here").get_by_role("searchbox")
    find.fill("trivial")
    find.press("Enter")
    expect(here).to_contain_text("State 4")
    expect(page.get_by_text("State 4 here is not in the tree there.")).to_be_visible()
    expect(there).to_contain_text("State 1")


def test_what_is_folded_in_the_other_tree_is_unfolded(page: Page) -> None:
    compared(page, "forest")
    box, here = tree(page, "here")
    _, there = tree(page, "there")
    box.focus()
    page.get_by_role("region", name="The run here").get_by_role(
        "button", name="Unfold everything"
    ).click()
    box.focus()
    page.keyboard.press("End")
    expect(here).to_contain_text(re.compile(r"State \d{2}"))
    page.keyboard.press("ArrowUp")
    expect(page.get_by_text(re.compile(r"^State \d+ here is "))).to_be_visible()
    told = page.get_by_text(re.compile(r"^State \d+ here is ")).inner_text()
    if found := re.search(r"is state (\d+) there", told):
        expect(there).to_contain_text(f"State {found[1]}")


def test_the_other_way_round_and_by_its_address(page: Page) -> None:
    compared(page, "Not.provable")
    first = page.locator(".why").all_inner_texts()
    assert any(
        "was tried here, and not there" in one or "led to" in one or "closed" in one for one in first
    )
    page.reload()
    expect(page.locator(".why")).to_have_count(len(first))
    page.get_by_role("link", name="the other way round").click()
    expect(page.get_by_role("heading", name="Here: two")).to_be_visible()
    page.get_by_role("link", name="two").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Not.provable")
    expect(page.get_by_role("heading", name="Search tree")).to_be_visible()


def test_two_attempts_of_one_run(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="evals").click()
    page.get_by_role("link", name="And.both").click()
    page.get_by_role("link", name="two attempts side by side").click()
    expect(page.locator(".why").first).to_contain_text("Both did the same")
    attempts = page.get_by_role("navigation", name="Attempts there")
    expect(attempts.get_by_role("link", name="attempt 2")).to_have_attribute("aria-current", "page")
    attempts.get_by_role("link", name="attempt 1").click()
    expect(attempts.get_by_role("link", name="attempt 1")).to_have_attribute("aria-current", "page")
    sound(page)


@every_look
def test_hostile_text_is_text(page: Page) -> None:
    compared(page, "strange")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"strange {VISIBLE}")
    expect(page.locator(".why code").first).to_contain_text("<script>")
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()
    sound(page)


def test_what_cannot_be_compared_says_so(tmp_path: Path) -> None:
    samples.write_search(tmp_path / "one", HERE[:3])
    samples.write_search(tmp_path / "two", THERE[:2])
    app = app_of(tmp_path, Guard(local=True))
    with TestClient(app, base_url="http://localhost") as client:
        runs = {run["name"]: run["id"] for run in client.get("/api/runs").json()["runs"]}
        lines = client.get(f"/api/runs/{runs['one']}/theorems").json()["lines"]
        theorems = {line["name"]: line["id"] for line in lines}

        def status(theorem: str, **query: str) -> int:
            path = f"/api/runs/{runs['one']}/theorems/{theorems[theorem]}/parting"
            return client.get(path, params=query).status_code

        assert status("And.both", against=runs["two"]) == 200
        assert status("And.both", against=runs["one"], there="1") == 200
        assert status("only here", against=runs["two"]) == 404
        assert status("And.both") == 404
        assert status("And.both", against="../two") == 404
        assert status("And.both", against=runs["two"], there="2") == 404
        assert status("And.both", against=runs["two"], there="x") == 400

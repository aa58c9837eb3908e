"""The page in a real browser: each view, light and dark, wide and on a telephone, by keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Position, expect

from tests.web.conftest import NARROW, WIDE, Look
from tests.web.samples import HOSTILE

LOOKS: list[Look] = [("light", WIDE), ("dark", WIDE), ("light", NARROW), ("dark", NARROW)]
every_look = pytest.mark.parametrize(
    "page", LOOKS, indirect=True, ids=lambda look: f"{look[0]}-{look[1]['width']}"
)
VISIBLE = HOSTILE.replace("\x1b", "\\u001b").replace("\u202e", "\\u202e").replace("\u200b", "\\u200b")


def opened(page: Page, *links: str) -> None:
    """Follow links from the list of runs."""
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
    for link in links:
        page.get_by_role("link", name=link).first.click()
        expect(page.locator("main:not([aria-busy]) h1")).to_contain_text(link)


def tree_item(page: Page) -> Any:
    return page.get_by_role("treeitem")


def sound(page: Page) -> None:
    """No violation that axe knows of, and nothing that is wider than the window."""
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    inside, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert inside <= window, "the page scrolls sideways"


@every_look
def test_every_view_is_accessible_and_fits(page: Page) -> None:
    opened(page)
    expect(page.get_by_role("row")).to_have_count(6)
    sound(page)
    opened(page, "evals/ranker")
    expect(page.get_by_role("row", name=re.compile("^And.both"))).to_contain_text("in 2 of 2 attempts")
    sound(page)
    opened(page, "first", "And.both")
    expect(page.get_by_role("heading", name="State 0")).to_be_visible()
    sound(page)


def test_the_check_of_accessibility_can_fail(page: Page) -> None:
    opened(page)
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    with pytest.raises(AssertionError, match="button"):
        sound(page)


def test_a_run_shows_its_figures(page: Page) -> None:
    opened(page, "first")
    expect(page.get_by_text("2 of 4")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("refused_by_judge"))).to_contain_text(
        "error (refused)"
    )
    opened(page, "evals/ranker")
    expect(page.get_by_role("row", name=re.compile("^30"))).to_contain_text("40.0%")
    expect(page.get_by_role("row", name=re.compile("^t10"))).to_contain_text("proved")
    assert page.get_by_role("link", name="t10").count() == 0, "nothing was kept of it"


def test_a_theorem_shows_its_proof_and_attempts(page: Page) -> None:
    opened(page, "evals/ranker", "And.both")
    proof = page.get_by_role("region", name="Proof")
    expect(proof).to_contain_text("theorem t : p ∧ q := by")
    expect(proof.locator(".lean-tactic").first).to_have_text("constructor")
    expect(page.get_by_text("The judge accepted this proof.")).to_be_visible()
    page.get_by_role("link", name="attempt 2").click()
    expect(page.get_by_role("link", name="attempt 2")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_role("link", name="attempt 1")).to_have_attribute("aria-current", "page")


def test_what_the_judge_refused_is_never_proved(page: Page) -> None:
    opened(page, "first", "refused_by_judge")
    expect(page.get_by_text("error (refused)")).to_be_visible()
    expect(tree_item(page)).to_contain_text("closed, not part of a judged proof")
    assert page.get_by_role("region", name="Proof").count() == 0
    assert page.get_by_text("The judge accepted").count() == 0


def test_the_keyboard_reaches_every_part_of_a_tree(page: Page) -> None:
    opened(page, "first", "And.both")
    item, panel = tree_item(page), page.get_by_role("region", name="State", exact=True)
    page.get_by_role("tree").focus()
    expect(item).to_contain_text("State 0, part of the proof")
    expect(item).to_have_attribute("aria-level", "1")
    page.keyboard.press("ArrowRight")
    expect(item).to_contain_text("Tactic constructor, leads to 2 states")
    expect(item).to_have_attribute("aria-setsize", "2")
    page.keyboard.press("ArrowRight")
    expect(item).to_contain_text("State 1, part of the proof")
    expect(panel.get_by_role("heading", name="State 1")).to_be_visible()
    expect(panel).to_contain_text("no binder to introduce")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(item).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowDown")
    expect(item).to_contain_text("State 0")
    page.keyboard.press("ArrowRight")
    expect(item).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("End")
    expect(item).to_contain_text("State 3, nothing that was tried worked")


def test_energies_are_shown_where_there_is_a_value_model(page: Page) -> None:
    opened(page, "first", "Not.provable")
    panel = page.get_by_role("region", name="State", exact=True)
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    expect(panel).to_contain_text("energy5.000")
    expect(panel.locator("li").filter(has_text="simp")).to_contain_text("state 1 energy 6.00")
    opened(page, "first", "And.both")
    expect(panel).to_contain_text("log-probability")
    expect(panel).not_to_contain_text("energy")


def test_a_click_chooses_and_a_second_one_folds(page: Page) -> None:
    opened(page, "first", "And.both")
    canvas, item = page.locator("canvas"), tree_item(page)
    box = canvas.bounding_box()
    assert box
    at: Position = {"x": 60, "y": box["height"] / 2}
    canvas.click(position=at)
    expect(item).to_have_attribute("aria-expanded", "false")
    canvas.click(position=at)
    expect(item).to_have_attribute("aria-expanded", "true")
    before = canvas.screenshot()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(100)
    assert canvas.screenshot() != before


def test_states_are_found_by_what_is_in_them(page: Page) -> None:
    opened(page, "first", "And.both")
    query = page.get_by_role("searchbox", name="Find")
    query.fill("SIMP made no progress")
    query.press("Enter")
    expect(page.locator("form output")).to_have_text("1 of 1 state")
    expect(tree_item(page)).to_contain_text("State 3")
    query.fill("nowhere")
    query.press("Enter")
    expect(page.locator("form output")).to_have_text("nothing found")


def test_the_tree_grows_with_time(page: Page) -> None:
    opened(page, "first", "And.both")
    slider, time = page.get_by_role("slider", name="Time"), page.locator("output[for=tree-time]")
    expect(time).to_contain_text("5 states expanded")
    slider.focus()
    page.keyboard.press("Home")
    expect(time).to_have_text("before the search")
    expect(tree_item(page)).to_contain_text("State 0, never expanded")
    page.keyboard.press("ArrowRight")
    expect(time).to_contain_text("1 state expanded")
    expect(tree_item(page)).to_contain_text("State 0, expanded, neither closed nor failed")
    page.get_by_role("button", name="Watch it grow").click()
    expect(time).to_contain_text("5 states expanded")
    expect(tree_item(page)).to_contain_text("part of the proof")


@every_look
def test_hostile_text_is_text(page: Page) -> None:
    opened(page, "first")
    page.get_by_role("link", name=re.compile("^strange")).click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(f"strange {VISIBLE}")
    panel = page.get_by_role("region", name="State", exact=True)
    expect(panel).to_contain_text(f"tactic: {VISIBLE}")
    expect(panel.locator("code").first).to_have_text(VISIBLE)
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()
    assert "\u202e" not in page.title()
    sound(page)


def names(page: Page) -> list[str]:
    return page.get_by_role("table", name="Theorems").locator("tbody th").all_inner_texts()


def test_theorems_are_filtered(page: Page) -> None:
    opened(page, "evals/ranker")
    told = page.get_by_role("status").filter(has_text="theorem")
    expect(told).to_have_text("5 theorems; 2 proved")
    page.get_by_label("Outcome").select_option("not found (2)")
    expect(told).to_have_text("2 of 5 theorems; 0 proved")
    assert names(page) == ["t9", "Not.provable"]
    page.get_by_label("Part").select_option("level 2 (2)")
    assert names(page) == ["Not.provable"]
    page.reload()  # the choice is in the address
    expect(told).to_have_text("1 of 5 theorems; 0 proved")
    expect(page.get_by_label("Part")).to_have_value("level 2")
    page.get_by_label("Outcome").select_option("all")
    page.get_by_label("Part").select_option("all")
    page.get_by_label("Name").press_sequentially("T1")
    expect(told).to_have_text("1 of 5 theorems; 1 proved")
    assert names(page) == ["t10"]
    page.get_by_label("Name").fill("<b>")
    expect(told).to_have_text("0 of 5 theorems; 0 proved")
    sound(page)


@every_look
def test_a_run_is_compared_with_another(page: Page) -> None:
    opened(page, "evals/ranker")
    page.get_by_label("Compared with").select_option(label="evals/before")
    told = page.get_by_role("status").filter(has_text="theorem")
    expect(told).to_have_text(
        "5 theorems; 2 proved; 1 proved here only; 1 proved there only; 1 undecided: an error"
    )
    expect(page.get_by_role("row", name=re.compile("^t10"))).to_contain_text("proved here only")
    sound(page)
    page.get_by_label("Difference").select_option("proved here only")
    expect(told).to_contain_text("1 of 5 theorems")
    assert names(page) == ["t10"]
    page.reload()
    expect(told).to_contain_text("1 of 5 theorems")
    page.get_by_label("Difference").select_option("undecided: an error")
    assert names(page) == ["other"]
    page.get_by_label("Compared with").select_option(label="first")
    expect(told).to_contain_text("the theorem sets differ, so theorems are matched by name")
    page.get_by_label("Compared with").select_option(label="no other run")
    expect(told).to_have_text("5 theorems; 2 proved")
    assert page.get_by_label("Difference").count() == 0


@every_look
def test_expert_iteration_shows_rates_cost_gates_and_stages(page: Page) -> None:
    opened(page, "loop")
    expect(
        page.get_by_role("img", name=re.compile("qed-core: proved within 100 nodes"))
    ).to_be_visible()
    row = page.get_by_role("table", name="Iterations").get_by_role(
        "row", name=re.compile("^iteration 0")
    )
    expect(row).to_contain_text("qed-core: 3 of 5 within 100 nodes")
    gates = page.get_by_role("table", name="Gates")
    expect(gates.get_by_role("row", name=re.compile("against baseline"))).to_contain_text(
        "1 gained, 0 lost"
    )
    page.locator("summary", has_text="Stages").click()
    expect(page.get_by_role("table", name="Stages").get_by_role("row")).to_have_count(15)
    page.get_by_label("Set").select_option("train (3)")
    assert len(names(page)) == 3
    sound(page)


def test_what_is_not_there_is_told(page: Page) -> None:
    page.goto("/#/run/0123456789abcdef")
    expect(page.get_by_role("alert")).to_contain_text("there is no such run")
    page.goto("/#/nowhere")
    expect(page.get_by_role("alert")).to_contain_text("there is no such page")

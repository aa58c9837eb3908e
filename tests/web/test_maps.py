"""Maps of embeddings in a real browser: pointed at, walked through, coloured."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Position, expect

from burnqed.web.server import WebServer
from tests.web.conftest import watched
from tests.web.looks import places_on, write_look
from tests.web.samples import manifest
from tests.web.test_page import LOOKS, VISIBLE, sound


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    root = tmp_path_factory.mktemp("looks")
    write_look(root / "both", "iter0", "iter1")
    write_look(root / "one", "only")
    manifest(root / "loop", "search")
    (write_look(root / "loop" / "inside", "iter0") / "maps.json").unlink()
    with WebServer(root) as server:
        yield server


@pytest.fixture
def page(chromium: Browser, server: WebServer, request: pytest.FixtureRequest) -> Iterator[Page]:
    with watched(chromium, server.url, getattr(request, "param", LOOKS[0])) as page:
        yield page


def asked(server: WebServer, path: str) -> Any:
    with urllib.request.urlopen(f"{server.url}{path}", timeout=30) as answer:
        return json.load(answer)


def opened(page: Page, server: WebServer, name: str, chosen: str = "") -> dict[str, Any]:
    """Show a report, and return what the server knows of it."""
    looks = {look["name"]: look["id"] for look in asked(server, "/api/runs")["looks"]}
    page.goto(f"/#/look/{looks[name]}{chosen}")
    expect(page.locator("main:not([aria-busy]) h1")).to_have_text(name)
    return dict(asked(server, f"/api/looks/{looks[name]}"))


def box(page: Page, name: str) -> Locator:
    return page.get_by_role("listbox", name=name, exact=True)


def choice(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name, exact=True)


def told(page: Page) -> Locator:
    return page.get_by_role("region", name="State", exact=True)


def place(box: Locator, points: list[list[float]], state: int) -> Position:
    canvas = box.locator("canvas").bounding_box()
    assert canvas is not None
    x, y = places_on(points, dict(canvas))[state]
    return {"x": x, "y": y}


def colour_at(box: Locator, at: Position) -> list[int]:
    script = """(canvas, {x, y}) => {
        const one = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
        one.drawImage(canvas, -x * devicePixelRatio, -y * devicePixelRatio);
        return [...one.getImageData(0, 0, 1, 1).data];
    }"""
    return list(box.locator("canvas").evaluate(script, at))


def colour_of(page: Page, name: str) -> list[int]:
    text = page.evaluate(
        "name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()", name
    )
    return [*bytes.fromhex(text.removeprefix("#")), 255]


def drawn(page: Page, box: Locator, at: Position, colour: str) -> None:
    """It is drawn with the next frame."""
    wanted = colour_of(page, colour)
    for _ in range(200):
        if colour_at(box, at) == wanted:
            return
        page.wait_for_timeout(50)
    assert colour_at(box, at) == wanted


@pytest.mark.parametrize("page", [LOOKS[0], LOOKS[3]], indirect=True, ids=["light-wide", "dark-narrow"])
def test_maps_are_accessible_fit_and_show_hostile_text_as_text(page: Page, server: WebServer) -> None:
    page.goto("/")
    expect(page.get_by_role("table", name="Embeddings").get_by_role("row")).to_have_count(3)
    sound(page)
    page.get_by_role("link", name="both").click()
    expect(page.get_by_role("listbox")).to_have_count(2)
    box(page, "t-SNE map by iter0").focus()
    page.keyboard.press("Home")
    expect(told(page)).to_contain_text(VISIBLE)
    expect(told(page).locator("pre")).to_have_count(2)
    expect(page.get_by_role("region", name="Drift")).to_contain_text("CKA")
    sound(page)
    opened(page, server, "one")
    expect(page.get_by_role("listbox")).to_have_count(1)
    expect(page.get_by_role("heading", name="Drift")).to_have_count(0)
    sound(page)


def test_the_state_under_the_pointer_is_shown_in_both_maps(page: Page, server: WebServer) -> None:
    look = opened(page, server, "both")
    first, second = box(page, "t-SNE map by iter0"), box(page, "t-SNE map by iter1")
    points = look["maps"][0]["points"]
    expect(told(page)).to_contain_text("Point at a dot")
    canvas = first.locator("canvas")
    canvas.hover(position=place(first, points, 8))
    expect(told(page).get_by_role("heading", level=3)).to_contain_text("State 8,")
    expect(second.get_by_role("option")).to_contain_text("State 8,")
    canvas.click(position=place(first, points, 20))
    canvas.hover(position={"x": 2, "y": 2})
    expect(told(page).get_by_role("heading", level=3)).to_contain_text("State 20,")
    assert "state=20" in page.url
    canvas.click(position={"x": 2, "y": 2})
    expect(told(page)).to_contain_text("Point at a dot")


def test_the_keyboard_reaches_every_state(page: Page, server: WebServer) -> None:
    look = opened(page, server, "one")
    points, states = look["maps"][0]["points"], look["states"]
    heading = told(page).get_by_role("heading", level=3)
    box(page, "t-SNE map").focus()
    for number, state in enumerate(states):
        page.keyboard.press("PageDown" if number else "Home")
        kind = "provable" if state["on_path"] else "given up"
        expect(heading).to_have_text(f"State {number}, {kind}")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    right = int(str(heading.text_content()).split()[1].strip(","))
    assert points[right][0] > points[0][0]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    up = int(str(heading.text_content()).split()[1].strip(","))
    assert points[up][1] > points[0][1], "up on the map is up on the page"
    one, other = look["pairs"][0]
    page.keyboard.press("Home")
    for _ in range(one):
        page.keyboard.press("PageDown")
    page.keyboard.press("s")
    siblings = [b for a, b in look["pairs"] if a == one]
    assert other in siblings
    expect(heading).to_contain_text(f"State {min(siblings)},")
    page.keyboard.press("Escape")
    expect(told(page)).to_contain_text("Point at a dot")


@pytest.mark.parametrize("page", [LOOKS[0], LOOKS[1]], indirect=True, ids=["light", "dark"])
def test_colours_say_what_was_chosen(page: Page, server: WebServer) -> None:
    look = opened(page, server, "both")
    map_of = box(page, "t-SNE map by iter0")
    states, points = look["states"], look["maps"][0]["points"]
    provable = next(number for number, one in enumerate(states) if one["on_path"])
    at = place(map_of, points, provable)
    drawn(page, map_of, at, "--hue-0")
    legend = page.get_by_role("list", name="Legend")
    expect(legend).to_contain_text(f"provable ({sum(one['on_path'] for one in states)})")
    choice(page, "Colours by").select_option("depth in the proof")
    drawn(page, map_of, at, f"--step-{states[provable]['depth'] - 1}")
    other = next(one["theorem"] for one in states if one["theorem"] != states[provable]["theorem"])
    choice(page, "Theorem").select_option(other)
    drawn(page, map_of, at, "--line")
    choice(page, "Colours by").select_option("nearest states kept")
    expect(legend.get_by_role("listitem")).to_have_count(2 + 5)
    choice(page, "Map").select_option("PCA")
    expect(box(page, "PCA map by iter1")).to_be_visible()
    page.reload()
    expect(box(page, "PCA map by iter1")).to_be_visible()
    expect(choice(page, "Colours by")).to_have_value("drift")
    expect(choice(page, "Theorem")).to_have_value(other)


def test_a_run_leads_to_what_was_measured_in_it_without_maps(page: Page, server: WebServer) -> None:
    page.goto("/")
    page.get_by_role("link", name="loop").click()
    page.get_by_role("link", name="inside").click()
    expect(page.get_by_text("This report has figures only.")).to_be_visible()
    expect(page.get_by_role("region", name="Figures")).to_contain_text("centroid_l2")
    expect(page.get_by_role("listbox")).to_have_count(0)
    sound(page)

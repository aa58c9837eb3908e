"""Lean in colours on the playground: what is typed, and what is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from burnqed.core.guard import Guard
from tests.web.conftest import watched
from tests.web.samples import HOSTILE
from tests.web.test_page import LOOKS, sound
from tests.web.test_playground import ANSWER, FOUND, TOKEN, scripted, text, without_lean

THEOREM = "theorem both (p q : Prop) : p ∧ q := by\n  -- not yet\n  constructor\n  sorry\n"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with without_lean(Guard(local=True)) as url:
        yield url


@pytest.fixture
def page(chromium: Browser, server: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    with watched(chromium, server, getattr(request, "param", LOOKS[0])) as page:
        page.goto("/")
        expect(page.get_by_role("button", name="Prove", exact=True)).to_be_enabled()
        yield page


def over(page: Page) -> Locator:
    """The coloured text that lies over what is typed."""
    return page.locator("#ask .lit-field pre")


@pytest.mark.parametrize("page", [LOOKS[0], LOOKS[3]], indirect=True, ids=["light-wide", "dark-narrow"])
def test_what_is_typed_is_coloured(page: Page) -> None:
    text(page).fill(THEOREM)
    expect(over(page).locator(".lean-tactic")).to_have_text(["constructor"])
    expect(over(page).locator(".lean-word")).to_have_text(["theorem", "Prop", "by", "sorry"])
    expect(over(page).locator(".lean-comment")).to_have_text("-- not yet")
    text(page).press("Control+End")
    page.keyboard.type("simp")
    expect(over(page)).to_have_text(f"{THEOREM}simp\n", use_inner_text=False)
    expect(over(page).locator(".lean-tactic")).to_have_text(["constructor", "simp"])
    sound(page)


def test_letters_lie_on_letters(page: Page) -> None:
    """Lines break at the same places, and both scroll together."""
    text(page).fill("theorem ∀∃ x : " + "word " * 60 + "x" * 300 + "\n" * 40)
    expect(over(page).locator(".lean-word").first).to_have_text("theorem")
    for top in (0, 200):
        page.evaluate("top => { document.querySelector('#text').scrollTop = top; }", top)
        field, shown = page.locator("#text"), over(page)
        for _ in range(200):  # it follows with an event
            if sizes(shown) == sizes(field):
                break
            page.wait_for_timeout(50)
        assert sizes(shown) == sizes(field)
        assert sizes(shown)[2] == top


def sizes(one: Locator) -> list[int]:
    told = "({clientWidth, scrollHeight, scrollTop}) => [clientWidth, scrollHeight, scrollTop]"
    return list(one.evaluate(told))


def test_what_cannot_be_shown_letter_by_letter_stays_plain(page: Page) -> None:
    box = page.locator("#ask .lit-field")
    text(page).fill("theorem a")
    expect(over(page)).to_be_visible()
    text(page).fill(f"theorem {HOSTILE}")
    expect(over(page)).to_be_hidden()
    assert "on" not in str(box.get_attribute("class")).split()
    text(page).fill("theorem b " * 2001)
    expect(over(page)).to_be_hidden()
    text(page).fill("theorem c")
    expect(over(page)).to_be_visible()


def test_answers_are_coloured(page: Page) -> None:
    found = FOUND[2] | {"goals": ["p : Prop\n⊢ ∀ n : Nat, p"]}
    answer = ANSWER | {"draft": THEOREM}
    scripted(page, FOUND[0], FOUND[1], found, {"event": "answer", "answer": answer})
    draft = page.get_by_role("region", name="Draft", exact=True)
    expect(draft.locator(".lean-tactic")).to_have_text("constructor")
    assert draft.inner_text().strip() == THEOREM.strip()
    state = page.get_by_role("region", name="State", exact=True)
    page.get_by_role("tree").focus()
    page.keyboard.press("Home")
    expect(state.locator("pre .lean-word").first).to_have_text("Prop")
    expect(state.locator(".lean-tactic")).to_have_text("simp")
    sound(page)


def test_nobody_is_asked_for_a_token_to_see_colours(chromium: Browser) -> None:
    with without_lean(Guard(local=True, token=TOKEN)) as url, watched(chromium, url) as page:
        asked: list[str] = []
        page.on("request", lambda one: asked.append(one.url))
        page.goto("/")
        expect(page.get_by_role("button", name="Prove", exact=True)).to_be_enabled()
        with page.expect_response("**/highlight") as answer:
            text(page).fill(THEOREM)
        assert answer.value.status == 401
        for lines in range(1, 6):
            text(page).fill(THEOREM + lines * "\n")
            page.wait_for_timeout(200)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert sum(one.endswith("/highlight") for one in asked) <= 2, "it is not asked for each time"
        expect(over(page)).to_have_text(THEOREM + 6 * "\n", use_inner_text=False)
        page.get_by_role("button", name="Prove", exact=True).click()
        page.get_by_role("textbox", name="Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Outcome")).to_be_visible()
        text(page).fill(THEOREM)
        expect(over(page).locator(".lean-tactic")).to_have_text("constructor")

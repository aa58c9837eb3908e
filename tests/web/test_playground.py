"""The playground in a real browser, over a real prover: from typing to the judge's word."""

from __future__ import annotations

import asyncio
import json
import select
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from burnqed.core.guard import Guard
from burnqed.lean.toolchain import Toolchain
from burnqed.web.pages import pages
from tests.serve.servers import Scripted, serving
from tests.web.conftest import watched
from tests.web.samples import HOSTILE
from tests.web.test_page import LOOKS, VISIBLE, sound

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
two_looks = pytest.mark.parametrize(
    "page", [LOOKS[0], LOOKS[3]], indirect=True, ids=["light-wide", "dark-narrow"]
)
TOKEN = "0123456789abcdef0123456789abcdef"
SLOW = "theorem slow : (List.range 100000000).foldl (fun a b => (a + b) % 7) 0 = 5"
# Neither proved nor refuted, and there is much to try.
OPEN = "∀ f : Nat → Nat, (∀ n, f (f n) = f n) → ∀ a b, f (a + b) = f (b + f a)"
SWAP = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p"


@pytest.fixture(scope="module")
def prover(toolchain: Toolchain) -> Iterator[str]:
    """The address of a prover with one Lean."""
    command = [BURN_QED, "serve", "prove", "--port", "0", "--json", "--workers", "1",
               "--policy", "portfolio", "--nodes", "30", "--seconds", "30"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], 120)
            assert ready, "no prover within two minutes"
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def page(chromium: Browser, prover: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    with watched(chromium, prover, getattr(request, "param", LOOKS[0])) as page:
        page.goto("/")
        expect(button(page, "Prove")).to_be_enabled()
        yield page


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def text(page: Page) -> Locator:
    return page.get_by_label("A statement, a theorem, or a Lean text")


def outcome(page: Page) -> Locator:
    return page.get_by_role("region", name="Outcome").get_by_role("heading").first


def comes(page: Page, mark: str) -> None:
    """The outcome, however slow the machine is."""
    expect(outcome(page)).to_have_text(mark, timeout=60_000)


def prove(page: Page, statement: str) -> None:
    text(page).fill(statement)
    button(page, "Prove").click()


def running(url: str) -> int:
    with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
        return int(json.load(answer)["running"])


def until(true: Callable[[], bool], page: Page) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        page.wait_for_timeout(20)


# -------------------------------------------------------------------------------- with real Lean


@two_looks
def test_from_typing_to_a_judged_proof_by_keyboard(page: Page) -> None:
    sound(page)
    text(page).focus()
    page.keyboard.type("\\forall p q : Prop, p \\and q \\to q ∧ p")
    expect(text(page)).to_have_value("∀p q : Prop, p ∧q →q ∧ p")
    page.keyboard.press("Control+Enter")
    comes(page, "✓ proved")
    expect(page.get_by_role("region", name="Proof", exact=True)).to_contain_text(
        ": ∀p q : Prop, p ∧q →q ∧ p := by"
    )
    expect(page.get_by_text("The judge accepted this proof.")).to_be_visible()
    expect(page.get_by_role("treeitem")).to_contain_text("State 0, part of the proof")
    panel = page.get_by_role("region", name="State", exact=True)
    expect(panel).to_contain_text("in the proof")
    sound(page)


def test_the_judged_proof_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    prove(page, SWAP)
    comes(page, "✓ proved")
    button(page, "Copy").click()
    expect(button(page, "Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"{SWAP} := by\n")
    assert copied == page.get_by_role("region", name="Proof", exact=True).inner_text()


def test_an_outcome_is_not_that_of_another_text(page: Page) -> None:
    note = page.get_by_text("This came of an earlier text.")
    prove(page, SWAP)
    comes(page, "✓ proved")
    expect(note).to_be_hidden()
    text(page).press_sequentially("x")
    expect(note).to_be_visible()
    text(page).press("Backspace")
    expect(note).to_be_hidden()
    button(page, "a false one").click()
    expect(note).to_be_visible()
    button(page, "By hand").click()
    expect(page.get_by_role("list", name="Steps")).to_contain_text("∀ n : Nat, n * n = 2 * n")
    assert "proved" not in page.locator("main").inner_text()


def test_a_false_statement_is_refuted(page: Page) -> None:
    prove(page, "∀ n : Nat, n * n = 2 * n")
    comes(page, "✗ false")
    expect(page.get_by_text("It fails for n = ")).to_be_visible()
    expect(page.get_by_role("region", name="Proof of the negation")).to_be_visible()
    assert "proved" not in page.locator("#outcome").inner_text()
    expect(page.get_by_role("treeitem")).to_contain_text("State 0, never expanded")


def test_a_text_with_a_sorry_that_stays(page: Page) -> None:
    page.get_by_label("Most nodes").fill("1")
    prove(page, f"{SWAP} := by\n  sorry\n\ntheorem open_one : {OPEN} := by\n  sorry")
    comes(page, "– not found")
    rows = page.get_by_role("table", name="Each sorry").locator("tbody tr")
    expect(rows.first).to_contain_text("tactics found")
    expect(rows.first).to_contain_text("✓ accepted")
    expect(rows.last).to_contain_text("not found (nodes)")
    expect(page.get_by_role("region", name="Draft")).to_contain_text("sorry")
    assert page.get_by_role("region", name="Proof", exact=True).count() == 0
    page.get_by_role("combobox", name="Search").select_option("1: swap")
    expect(page.get_by_role("region", name="State", exact=True)).to_contain_text("⊢ q ∧ p")
    sound(page)


def test_a_text_whose_sorrys_are_proved_is_proved(page: Page) -> None:
    button(page, "a text").click()
    button(page, "Prove").click()
    comes(page, "✓ proved")
    expect(page.get_by_role("region", name="Proof", exact=True)).to_contain_text("· exact hp")


def test_the_tree_grows_while_somebody_looks(page: Page) -> None:
    page.get_by_label("Most nodes").fill("4")
    prove(page, OPEN)
    told = page.locator("output[for=tree-time]")
    seen: set[str] = set()
    end = time.monotonic() + 60
    while outcome(page).count() == 0 and time.monotonic() < end:
        if told.count():
            seen.add(told.inner_text())
        page.wait_for_timeout(20)
    comes(page, "– not found")
    assert len(seen) > 2, seen
    page.get_by_role("tree").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("treeitem")).to_contain_text("Tactic ")
    query = page.get_by_role("searchbox", name="Find")
    query.fill("F (F N)")
    query.press("Enter")
    expect(page.locator("form output")).to_contain_text("1 of ")


def test_stop_frees_lean_for_the_next(page: Page, prover: str) -> None:
    prove(page, SLOW)
    expect(page.locator("#going")).to_contain_text("searching")
    until(lambda: running(prover) == 1, page)
    button(page, "Stop").click()
    expect(page.locator("#going")).to_have_text("stopped: nothing is known of the text")
    assert running(prover) == 0
    assert page.locator("#outcome").inner_text() == ""
    prove(page, SWAP)
    comes(page, "✓ proved")


def test_a_page_that_is_closed_stops_its_search(page: Page, prover: str) -> None:
    prove(page, SLOW)
    until(lambda: running(prover) == 1, page)
    page.goto("about:blank")
    until(lambda: running(prover) == 0, page)


@two_looks
def test_a_proof_by_hand_to_the_judged_end(page: Page) -> None:
    text(page).fill(SWAP)
    button(page, "By hand").press("Enter")
    tactic, goals = page.get_by_label("Tactic"), page.get_by_role("region", name="Goals")
    expect(tactic).to_be_focused()
    expect(goals).to_contain_text("h : p ∧ q\n⊢ q ∧ p")
    page.keyboard.type("nonsense\n")
    expect(page.get_by_role("alert")).to_contain_text("unknown tactic")
    for typed, left in (("constructor", 2), ("exact h.2", 1)):
        expect(tactic).to_be_focused()
        tactic.fill(typed)
        tactic.press("Enter")
        expect(goals.get_by_role("region")).to_have_count(left)
    expect(goals).to_contain_text("⊢ p")
    button(page, "Go back to the statement").click()
    expect(goals).to_contain_text("⊢ q ∧ p")
    sound(page)
    assert "proved" not in page.locator("main").inner_text()
    tactic.fill("exact ⟨h.2, h.1⟩")
    tactic.press("Enter")
    expect(goals).to_contain_text("✓ proved")
    expect(goals).to_contain_text("The judge accepted this proof.")
    proof = page.get_by_role("region", name="Proof by hand", exact=True)
    assert proof.inner_text().strip() == f"{SWAP} := by\n  exact ⟨h.2, h.1⟩"
    sound(page)


def test_by_hand_no_sorry_is_a_proof_and_a_tactic_can_be_stopped(page: Page, prover: str) -> None:
    text(page).fill(SLOW)
    button(page, "By hand").click()
    tactic, told = page.get_by_label("Tactic"), page.get_by_role("alert")
    for typed in ("sorry", "exact sorryAx _"):
        tactic.fill(typed)
        tactic.press("Enter")
        expect(told).not_to_be_empty()
        expect(page.get_by_role("region", name="Goals")).to_contain_text("⊢ List.foldl")
        assert "proved" not in page.locator("#hand").inner_text()
    tactic.fill("decide +kernel")
    tactic.press("Enter")
    until(lambda: running(prover) == 1, page)
    button(page, "Stop the tactic").click()
    expect(told).to_have_text("The tactic was stopped.")
    until(lambda: running(prover) == 0, page)
    tactic.fill("show _ = _")
    button(page, "Apply").click()
    expect(page.get_by_role("list", name="Steps")).to_contain_text("show _ = _")


@two_looks
def test_hostile_text_is_text(page: Page) -> None:
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    page.get_by_label("Most nodes").fill("1")
    prove(page, f'∀ f : String → Nat, f "{markup}" = f ""')
    comes(page, "– not found")
    expect(page.get_by_role("region", name="State", exact=True)).to_contain_text(markup)
    sound(page)
    prove(page, f"theorem x : {markup}")
    comes(page, "! failed")
    expect(page.locator("#outcome .problem")).not_to_be_empty()
    button(page, "By hand").click()
    expect(page.get_by_label("Tactic").or_(page.locator("#hand .problem"))).to_be_visible()
    found = FOUND[2] | {
        "nodes": [CLOSED | {"line": HOSTILE}],
        "goals": [HOSTILE],
        "edges": [EDGE | {"tactic": HOSTILE}],
    }
    answer = ANSWER | {"detail": HOSTILE, "draft": HOSTILE}
    scripted(
        page, FOUND[0], FOUND[1] | {"theorem": HOSTILE}, found, {"event": "answer", "answer": answer}
    )
    expect(page.locator("#outcome .problem")).to_have_text(VISIBLE)
    expect(page.get_by_role("region", name="Draft")).to_have_text(VISIBLE)
    expect(page.get_by_role("region", name="State", exact=True)).to_contain_text(VISIBLE)
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.locator("body").inner_text()
    sound(page)


def test_what_is_refused_is_told(page: Page) -> None:
    prove(page, "theorem a : 1 = 1 := by\n  run_tac pure ()")
    expect(page.locator("#outcome")).to_contain_text("run_tac")
    prove(page, "import Nowhere\n\ntheorem a : 1 = 1 := by sorry")
    expect(page.get_by_role("alert").or_(page.locator("#outcome .problem"))).to_contain_text("Nowhere")
    page.get_by_label("Most nodes").fill("31")
    button(page, "Prove").click()
    assert page.evaluate("document.getElementById('nodes').validity.rangeOverflow")
    assert "proved" not in page.locator("#outcome").inner_text()


# ------------------------------------------------------------- what a server may say, and Lean not


ROOT: dict[str, Any] = {
    "id": 0, "parent": None, "depth": 0, "line": "p", "goals": 1, "score": 0.0, "energy": None,
    "seen": 0.0, "expanded": None, "closed": None, "failed": None, "tried": 0, "worked": 0,
    "on_proof": False,
}  # fmt: skip
CLOSED = ROOT | {"expanded": 0.5, "closed": 0.5, "tried": 1, "worked": 1}
EDGE = {"source": 0, "children": [], "tactic": "simp", "logprob": -1.0, "at": 0.5, "on_proof": False}
FOUND: list[dict[str, Any]] = [
    {"event": "begun"},
    {"event": "searching", "search": 0, "theorem": "t", "nodes": [ROOT]},
    {"event": "expanded", "search": 0, "node": 0, "at": 0.5, "spent": 1, "goals": ["⊢ p"],
     "nodes": [CLOSED], "edges": [EDGE], "refused": []},
]  # fmt: skip
ANSWER: dict[str, Any] = {
    "outcome": "failed", "said": "", "proof": None, "tactics": [], "draft": None, "axioms": None,
    "axioms_seen": [], "counterexample": None, "negation_proof": None, "limit": "", "reason": "refused",
    "detail": "the judge refused the proof", "holes": [], "nodes": 1, "seconds": 0.5,
    "judge_seconds": 0.1,
}  # fmt: skip


def scripted(page: Page, *events: dict[str, Any]) -> None:
    body = "".join(f"id: {n}\ndata: {json.dumps(one)}\n\n" for n, one in enumerate(events, start=1))

    def answer(route: Route) -> None:
        route.fulfill(body=body, headers={"Content-Type": "text/event-stream", "Location": "/jobs/x"})

    page.unroute_all()
    page.route("**/prove", answer)
    prove(page, "p")


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (None, "the connection ended before there was an outcome"),
        ({"event": "refusal", "refusal": {"error": "Lean died", "hint": ""}}, "Lean died"),
        ({"event": "answer", "answer": ANSWER, "left_out": 2}, "the judge refused the proof"),
    ],
)  # fmt: skip
def test_without_the_judge_nothing_is_proved(
    page: Page, last: dict[str, Any] | None, said: str
) -> None:
    scripted(page, *FOUND, *([last] if last else []))
    expect(page.locator("#outcome")).to_contain_text(said)
    expect(page.get_by_role("treeitem")).to_contain_text("closed, not part of a judged proof")
    assert "proved" not in page.locator("main").inner_text()
    assert "part of the proof" not in page.get_by_role("treeitem").inner_text()
    if last and "left_out" in last:
        expect(page.get_by_text("The tree is not whole: 2 events found no room.")).to_be_visible()


def test_a_prover_that_starts_is_waited_for(chromium: Browser, prover: str) -> None:
    with watched(chromium, prover) as page:
        page.route(
            "**/health",
            lambda route: route.fulfill(json={"status": "loading", "version": "0"}),
            times=1,
        )
        page.goto("/")
        expect(page.get_by_text("the prover starts …")).to_be_visible()
        expect(button(page, "Prove")).to_be_disabled()
        expect(button(page, "Prove")).to_be_enabled()
        expect(page.get_by_text("policy portfolio")).to_be_visible()


@contextmanager
def without_lean(guard: Guard) -> Iterator[str]:
    """The address of a server that finds no proof of anything."""
    address: Future[str] = Future()
    done: Future[None] = Future()

    async def work() -> None:
        async with serving(Scripted(), guard=guard, pages=pages("playground")) as (client, _):
            address.set_result(str(client.base_url))
            await asyncio.wrap_future(done)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work())
        try:
            yield address.result(30)
        finally:
            done.set_result(None)


def test_a_token_is_asked_for_and_kept_in_memory(chromium: Browser) -> None:
    with without_lean(Guard(local=True, token=TOKEN)) as url, watched(chromium, url) as page:
        page.goto("/")
        expect(button(page, "Prove")).to_be_enabled()
        prove(page, SWAP)
        dialog = page.get_by_role("dialog", name="This server wants its token")
        expect(page.get_by_role("textbox", name="Token")).to_be_focused()
        sound(page)
        for wrong in ("wrong", "ünlesbar"):
            page.keyboard.type(wrong)
            page.keyboard.press("Enter")
            expect(dialog.get_by_role("alert")).to_have_text("This token is wrong.")
            page.get_by_role("textbox", name="Token").fill("")
        page.keyboard.type(TOKEN)
        page.keyboard.press("Enter")
        comes(page, "– not found")
        expect(dialog).to_have_count(0)
        prove(page, SWAP)
        comes(page, "– not found")
        expect(dialog).to_have_count(0)
        assert (
            page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
            == '[{},{},""]'
        )
        page.reload()
        expect(button(page, "Prove")).to_be_enabled()
        prove(page, SWAP)
        expect(page.get_by_role("textbox", name="Token")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("alert")).to_contain_text("this server wants its token")
        expect(button(page, "Prove")).to_be_enabled()

"""Who may ask: names of this machine, no other site's page, and the token where there is one."""

from __future__ import annotations

import pytest

from burnqed.core.errors import InputError
from burnqed.core.guard import TOKEN, Guard, NotWelcome, token_from_environment

SECRET = "0123456789abcdef0123456789abcdef"


def met(guard: Guard, *, open: bool = False, **headers: str) -> int:
    """The status that a request with these headers gets."""
    try:
        guard.meet({name.replace("_", "-"): value for name, value in headers.items()}, open=open)
    except NotWelcome as why:
        told, status = why.error + why.hint, why.status
    else:
        return 200
    assert SECRET not in told
    return status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8200", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:8200", 200),
        ("127.0.0.2:8200", 200),
        ("[::1]:8200", 200),
        ("[::1]", 200),
        ("evil.example:8200", 403),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:8200", 403),
        ("localhost@evil.example", 403),
        ("192.0.2.1:8200", 403),
        ("[::1", 403),
        ("[::1].evil.example", 403),
        ("", 403),
    ],
)
def test_a_local_server_has_the_names_of_this_machine(host: str, status: int) -> None:
    assert met(Guard(local=True), host=host) == status
    assert met(Guard(local=True), open=True, host=host) == status


def test_a_server_that_others_reach_has_a_token() -> None:
    with pytest.raises(ValueError, match="needs a token"):
        Guard(local=False)
    guard, known = Guard(local=False, token=SECRET), f"Bearer {SECRET}"
    for host in ("prover.example", "192.0.2.1:8300", "[2001:db8::1]:8300", "evil.example"):
        assert met(guard, host=host, authorization=known) == 200
        assert met(guard, host=host) == 401
    assert met(guard, host="", authorization=known) == 403


def test_a_request_without_a_host_is_refused() -> None:
    assert met(Guard(local=True)) == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8200", 200),
        ("http://LOCALHOST:8200", 200),
        ("http://localhost:8201", 403),
        ("https://localhost:8200", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_a_page_of_another_site_may_not_ask(origin: str, status: int) -> None:
    assert met(Guard(local=True), host="localhost:8200", origin=origin) == status


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("odd", 403)],
)
def test_what_a_browser_says_of_the_page_counts(site: str, status: int) -> None:
    assert met(Guard(local=True), host="localhost", sec_fetch_site=site) == status


def test_a_link_on_another_site_leads_to_a_page_only() -> None:
    guard, host = Guard(local=True), "localhost:8200"
    for mode, status in (("navigate", 200), ("no-cors", 403), ("cors", 403), ("websocket", 403)):
        for open, gets in ((True, status), (False, 403)):
            site = "cross-site"
            assert met(guard, open=open, host=host, sec_fetch_site=site, sec_fetch_mode=mode) == gets
    form = met(
        guard, open=True, host=host, sec_fetch_site="cross-site", sec_fetch_mode="navigate",
        origin="http://evil.example",
    )  # fmt: skip
    assert form == 403, "a form on another site sends nothing here"


def test_a_proxy_may_encrypt_before_a_server_that_others_reach() -> None:
    guard, known = Guard(local=False, token=SECRET), f"Bearer {SECRET}"
    for origin, status in (("https://prover.example", 200), ("https://evil.example", 403)):
        assert met(guard, host="prover.example", origin=origin, authorization=known) == status


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (f"Bearer {SECRET}", 200),
        (f"bearer  {SECRET} ", 200),
        (SECRET, 401),
        (f"Basic {SECRET}", 401),
        (f"Bearer {SECRET[:-1]}", 401),
        (f"Bearer {SECRET}0", 401),
        ("Bearer ", 401),
        ("Bearer é", 401),
        ("", 401),
    ],
)
def test_with_a_token_who_asks_must_have_it(given: str, status: int) -> None:
    guard = Guard(local=False, token=SECRET)
    assert met(guard, host="prover.example", authorization=given) == status
    assert met(guard, open=True, host="prover.example") == 200
    assert met(guard, host="prover.example", origin="http://evil.example", authorization=given) == 403


def test_the_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    assert token_from_environment(needed=False) is None
    with pytest.raises(InputError, match="needs a token in BURN_QED_TOKEN") as caught:
        token_from_environment(needed=True)
    assert "openssl rand" in caught.value.hint
    monkeypatch.setenv(TOKEN, SECRET)
    assert token_from_environment(needed=True) == SECRET
    for wrong in ("short", "with a space in the middle of it", "ünlesbar" * 4, "a\nb" * 20):
        monkeypatch.setenv(TOKEN, wrong)
        with pytest.raises(InputError) as caught:
            token_from_environment(needed=False)
        assert wrong not in caught.value.message + caught.value.hint

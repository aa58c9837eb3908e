"""Who may ask: names of this machine, no other site's page, and the token where there is one."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from burnqed.core.errors import InputError
from burnqed.serve.guard import TOKEN, Guard, token_from_environment
from burnqed.serve.refusal import Refused

SECRET = "0123456789abcdef0123456789abcdef"


def met(guard: Guard, *, open: bool = False, **headers: str) -> int:
    """The status that a request with these headers gets."""
    try:
        guard.meet(Headers({k.replace("_", "-"): v for k, v in headers.items()}), open=open)
    except Refused as refused:
        told, status = refused.answer, refused.status
    else:
        return 200
    assert SECRET not in told.error + told.hint
    return status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8200", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1:8200", 200),
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

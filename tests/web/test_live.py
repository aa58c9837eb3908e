"""Answers that come again when they change: over a real connection, without a browser."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from burnqed.web import live
from burnqed.web.server import WebServer
from tests.web import samples


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(live, "SHARE", 0.5)


@contextmanager
def following(server: WebServer, path: str) -> Iterator[Iterator[str]]:
    """The lines that come, without end."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with connection.makefile("r", encoding="utf-8") as file:
            yield iter(file)


def event(lines: Iterator[str]) -> Any:
    return next(json.loads(line[6:]) for line in lines if line.startswith("data: "))


def id_of(server: WebServer, name: str) -> str:
    with following(server, "/api/live") as lines:
        return str(next(run["id"] for run in event(lines)["runs"] if run["name"] == name))


def test_a_run_is_told_again_when_it_saves(root: Path) -> None:
    with WebServer(root) as server, following(server, f"/api/live/{id_of(server, 'begun')}") as lines:
        assert next(lines).startswith("HTTP/1.1 200")
        assert event(lines)["search"]["searched"] == 1
        samples.write_attempt(root / "begun", samples.THEOREMS[1:3])
        searched = 1
        while searched == 1:  # the lock alone is news, too
            searched = event(lines)["search"]["searched"]
        assert searched == 3


def test_new_runs_are_told(root: Path) -> None:
    with WebServer(root) as server, following(server, "/api/live") as lines:
        assert len(event(lines)["runs"]) == 3
        samples.write_search(root / "new", samples.THEOREMS[:1])
        names: set[str] = set()
        while "new" not in names:
            names = {run["name"] for run in event(lines)["runs"]}


def test_nothing_new_is_a_sign_of_life(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BEAT_SECONDS", 0.05)
    with WebServer(root) as server, following(server, "/api/live") as lines:
        event(lines)
        assert next(line for line in lines if line.startswith(":")) == ": nothing new\n"


def test_a_run_that_goes_away_ends_its_stream(root: Path) -> None:
    with WebServer(root) as server:
        run = id_of(server, "begun")
        with following(server, f"/api/live/{run}") as lines:
            event(lines)
            shutil.rmtree(root / "begun")
            assert all("error" not in line for line in lines), "it just ends"
        with following(server, f"/api/live/{run}") as lines:
            assert next(lines).startswith("HTTP/1.1 404")


def test_a_server_that_closes_waits_for_no_stream(root: Path) -> None:
    with WebServer(root) as server, following(server, "/api/live") as lines:
        event(lines)
        server.close()
        assert list(lines)[2:] == [], "the connection was ended"

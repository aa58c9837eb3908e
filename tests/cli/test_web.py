"""`burn-qed web`: a process from its first line to its signal, and a run that Lean made."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.guard import TOKEN
from burnqed.lean.process import LaunchSpec
from tests.cli.in_process import burn_qed
from tests.web import samples

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))


@contextmanager
def serving(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line that it printed when it was ready."""
    command = [BURN_QED, "web", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def get(url: str, path: str, token: str = "") -> Any:
    asked = urllib.request.Request(
        f"{url}{path}", headers={"Authorization": f"Bearer {token}"} if token else {}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_shows_runs_until_a_signal(tmp_path: Path, number: signal.Signals, code: int) -> None:
    samples.write_all(tmp_path)
    with serving(tmp_path, "--port", "0", "--json") as (process, line):
        about = json.loads(line)
        assert about["runs"] == 3
        assert len(get(about["url"], "/api/runs")["runs"]) == 3
        with socket.create_connection(("127.0.0.1", int(about["url"].rsplit(":", 1)[1]))) as stream:
            stream.sendall(b"GET /api/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stream.recv(4096).startswith(b"HTTP/1.1 200")
            process.send_signal(number)  # somebody who is still connected does not hold it
            assert process.wait(30) == code
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_the_line_says_where_and_what(tmp_path: Path) -> None:
    samples.write_search(tmp_path / "only", ())
    with serving(tmp_path / "only", "--port", "0") as (_, line):
        assert line.startswith("http://127.0.0.1:")
        assert line.endswith(f"shows 1 run in {tmp_path / 'only'}\n")


def test_a_host_that_others_reach_needs_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples.write_search(tmp_path / "only", ())
    monkeypatch.delenv(TOKEN, raising=False)
    told = burn_qed("web", tmp_path, "--port", "0", "--host", "0.0.0.0", code=2).stderr
    assert "needs a token in BURN_QED_TOKEN" in told
    monkeypatch.setenv(TOKEN, "0123456789abcdef0123456789abcdef")
    with serving(tmp_path, "--port", "0", "--host", "0.0.0.0") as (_, line):
        url = line.split()[0]
        assert url.startswith("http://0.0.0.0:")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(url, "/api/runs")
        assert len(get(url, "/api/runs", os.environ[TOKEN])["runs"]) == 1


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    assert "there is no folder" in burn_qed("web", tmp_path / "absent", code=2).stderr
    assert (
        "cannot listen on 192.0.2.1" in burn_qed("web", tmp_path, "--host", "192.0.2.1", code=2).stderr
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = burn_qed("web", tmp_path, "--port", str(taken.getsockname()[1]), code=2).stderr
        assert "0 takes a free one" in told


def test_a_search_with_lean_can_be_looked_at(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    index = tmp_path / "theorems.json"
    conjunction = "∀ p q : Prop, p → q → p ∧ q ∧ p"
    theorems = [
        {"name": "both", "statement": conjunction},
        {"name": "wrong", "statement": "∀ p q : Prop, p ∨ q → p ∧ q"},
    ]
    index.write_text(json.dumps({"name": "two", "theorems": theorems}))
    small = ("--policy", "portfolio", "--candidates", "6", "--workers", "1")
    burn_qed("search", index, "--out", tmp_path / "run", *small, "--nodes", "6")
    burn_qed("search", index, "--out", tmp_path / "short", *small, "--nodes", "2")
    with serving(tmp_path, "--port", "0", "--json") as (_, line):
        url = json.loads(line)["url"]
        run, short = get(url, "/api/runs")["runs"]
        assert run["state"] == "done"
        both, wrong = get(url, f"/api/runs/{run['id']}/theorems")["lines"]
        assert (both["outcome"], wrong["outcome"]) == ("proved", "exhausted")
        path = f"/api/runs/{run['id']}/theorems/{both['id']}"
        tree = get(url, f"{path}/tree")
        assert tree["nodes"][0]["on_proof"]
        state = get(url, f"{path}/state?node=0")
        assert "".join(text for _, text in state["goals"][0]) == "⊢ ∀ (p q : Prop), p → q → p ∧ q ∧ p"
        proof = "".join(text for _, text in get(url, path)["proof"])
        assert conjunction in proof
        refused = get(url, f"/api/runs/{run['id']}/theorems/{wrong['id']}/state?node=0")["tried"]
        assert any(one["outcome"] == "rejected" and one["answer"] for one in refused)
        path = f"/api/runs/{run['id']}/theorems/{wrong['id']}"
        found = get(url, f"{path}/parting?against={short['id']}")
        assert (found["kind"], found["alike"]) == ("end", 2), "Lean says the same in two processes"
        assert "the search there was over: it found no proof (nodes)" in found["why"][1][0][1]

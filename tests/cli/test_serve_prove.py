"""`burn-qed serve prove`: a process that others ask, from its first line to its signal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from burnqed.core.listening import listen, url_of
from tests.cli.in_process import burn_qed

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
SLOW = "theorem slow : (List.range 100000000).foldl (fun a b => (a + b) % 7) 0 = 5 := by sorry"


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """The process, and what it printed when it was ready."""
    command = [BURN_QED, "serve", "prove", "--port", "0", "--json", "--workers", "1", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], 120)
            yield process, json.loads(process.stdout.readline()) if ready else {}
        finally:
            process.kill()


def post(url: str, path: str, **content: Any) -> httpx.Response:
    return httpx.post(url + path, json=content, timeout=120, trust_env=False)


def children(pid: int) -> list[int]:
    every = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in every for child in path.read_text().split()]


@pytest.mark.lean
def test_it_is_asked_and_stopped_in_the_middle_of_its_work() -> None:
    with serving("--policy", "portfolio", "--queue", "2", "--nodes", "5") as (process, about):
        url = about["url"]
        assert (about["status"], about["workers"], about["most_nodes"]) == ("ok", 1, 5)
        assert httpx.get(f"{url}/health", trust_env=False).json()["most_waiting"] == 2
        found = post(url, "/prove", text="∀ n : Nat, n + 0 = n").json()
        assert found["outcome"] == "proved"
        assert post(url, "/check", text=found["proof"]).json()["accepted"]
        leans = children(process.pid)
        assert leans
        with ThreadPoolExecutor(2) as threads:
            asked = threads.submit(post, url, "/prove", text=SLOW)
            while httpx.get(f"{url}/health", trust_env=False).json()["running"] == 0:
                time.sleep(0.02)
            followed = threads.submit(post, url, "/prove", text=SLOW, mode="stream")
            while httpx.get(f"{url}/health", trust_env=False).json()["waiting"] == 0:
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            answer = asked.result(60)
            stream = followed.result(60)
        assert stream.status_code == 200
        assert '"event":"refusal"' in stream.text
        assert '"event":"answer"' not in stream.text
        assert (answer.status_code, answer.json()["error"]) == (503, "the server is stopping")
        assert process.wait(60) == 143
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert not [pid for pid in leans if Path(f"/proc/{pid}").exists()], "no Lean is left behind"


def test_what_is_wrong_is_told_before_lean_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURN_QED_TOKEN", raising=False)
    monkeypatch.setenv("BURN_QED_CACHE", "/nonexistent")
    with listen("127.0.0.1", 0) as taken:
        port = url_of(taken).rsplit(":", 1)[1]
        assert f"port {port}" in burn_qed("serve", "prove", "--port", port, code=2).stderr
    told = burn_qed("serve", "prove", "--host", "0.0.0.0", "--port", "0", code=2).stderr
    assert "needs a token in BURN_QED_TOKEN" in told
    assert "openssl rand" in told
    monkeypatch.setenv("BURN_QED_TOKEN", "short")
    assert "less than 16" in burn_qed("serve", "prove", "--port", "0", code=2).stderr
    assert "--trust" not in burn_qed("serve", "prove", "--help").stdout

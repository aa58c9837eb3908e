"""`burn-qed mcp`: the SDK's own client drives the process, and what is left when it ends."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from tests.cli.in_process import burn_qed
from tests.cli.test_serve_prove import BURN_QED, SLOW, children
from tests.serve.malformed import MALFORMED
from tests.serve.test_mcp import HELLO

OPTIONS = ["mcp", "--workers", "1", "--policy", "portfolio", "--nodes", "5"]
PATIENCE = 120


async def call(client: Client, name: str, **arguments: Any) -> tuple[Any, str]:
    found = await client.call_tool(name, arguments, read_timeout_seconds=PATIENCE)
    (content,) = found.content
    assert isinstance(content, TextContent)
    assert not found.is_error, content.text
    return found.structured_content, content.text


@pytest.mark.lean
async def test_the_client_of_the_sdk_drives_a_whole_proof() -> None:
    server = StdioServerParameters(command=BURN_QED, args=OPTIONS, env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        found, said = await call(client, "prove", text="∀ n : Nat, n + 0 = n")
        assert found["outcome"] == "proved"
        assert found["proof"].rstrip() in said
        checked, _ = await call(client, "check", text=found["proof"])
        assert checked["accepted"]

        wrong, said = await call(client, "check", text="theorem a : 1 + 1 = 3 := rfl")
        assert not wrong["accepted"]
        assert said.startswith("not accepted")
        cheat, _ = await call(client, "check", text="axiom a : False\ntheorem b : 1 = 2 := a.elim")
        assert not cheat["accepted"]

        begun, _ = await call(client, "start", text="theorem s (p q : Prop) (h : p ∧ q) : q ∧ p")
        proof = begun["proof"]
        refused, said = await call(client, "step", proof=proof, state=0, tactic="exact h")
        assert refused["outcome"] == "rejected"
        assert "type mismatch" in said.lower(), "what Lean said"
        split, said = await call(client, "step", proof=proof, state=0, tactic="constructor")
        assert (split["state"], len(split["goals"])) == (1, 2)
        assert said.count("⊢") == 2
        hole, _ = await call(client, "step", proof=proof, state=1, tactic="all_goals sorry")
        assert hole["outcome"] != "proved"
        left, _ = await call(client, "step", proof=proof, state=1, tactic="exact h.2")
        done, said = await call(client, "step", proof=proof, state=left["state"], tactic="exact h.1")
        assert (done["outcome"], done["verdict"]["accepted"]) == ("proved", True)
        assert "  constructor\n  exact h.2\n  exact h.1" in said
        checked, _ = await call(client, "check", text=done["source"])
        assert checked["accepted"], "what it gives is a proof elsewhere"

        lost = await client.call_tool("step", {"proof": "none", "state": 0, "tactic": "simp"})
        assert lost.is_error
        lemmas, said = await call(client, "lemmas", text="⊢ m * k ≤ n * k", count=3)
        assert [one["name"] in said for one in lemmas["lemmas"]] == [True] * 3


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@contextmanager
def process(*options: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [BURN_QED, *OPTIONS, *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ),
    ) as running:  # fmt: skip
        try:
            yield running
        finally:
            running.kill()


def line_of(running: subprocess.Popen[bytes]) -> bytes:
    assert running.stdout is not None
    ready, _, _ = select.select([running.stdout], [], [], PATIENCE)
    assert ready, "no line"
    return running.stdout.readline()


@pytest.mark.lean
@pytest.mark.parametrize("way", ["end", "interrupt"])
def test_it_ends_with_its_client_or_a_signal_and_leaves_no_lean(way: str) -> None:
    with process() as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None

        def say(*lines: bytes) -> None:
            assert running.stdin is not None
            running.stdin.write(b"".join(line + b"\n" for line in lines))
            running.stdin.flush()

        def ask(id: int, text: str) -> None:
            params = {"name": "prove", "arguments": {"text": text}}
            say(
                json.dumps(
                    {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
                ).encode()
            )

        say(json.dumps(HELLO).encode(), b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        assert json.loads(line_of(running))["id"] == 1
        for message in MALFORMED:
            say(message)
            assert json.loads(line_of(running))["jsonrpc"] == "2.0"
        ask(2, "∀ n : Nat, n + 0 = n")
        found = json.loads(line_of(running))
        assert (found["id"], found["result"]["structuredContent"]["outcome"]) == (2, "proved")
        leans = children(running.pid)
        assert leans
        ask(3, SLOW)
        assert not select.select([running.stdout], [], [], 0.5)[0], "it is in the middle of it"
        if way == "end":
            running.stdin.close()
            assert running.wait(60) == 0
        else:
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 130
        for line in running.stdout.read().splitlines():
            assert "result" not in json.loads(line), "nothing is said of what was cut short"
        assert running.stderr.read() == b""
        assert not alive(leans), "no Lean is left behind"


@pytest.mark.lean
async def test_it_serves_over_http_until_a_signal() -> None:
    with process("--http", "--port", "0") as running:
        match = re.match(r"(http://127\.0\.0\.1:\d+/mcp): .*workers 1\n", line_of(running).decode())
        assert match
        async with (
            httpx2.AsyncClient(trust_env=False, timeout=PATIENCE) as http,
            Client(streamable_http_client(match[1], http_client=http), mode="legacy") as client,
        ):
            found, _ = await call(client, "prove", text="∀ n : Nat, n + 0 = n")
            assert found["outcome"] == "proved"
            leans = children(running.pid)
            running.send_signal(signal.SIGTERM)
            assert running.wait(20) == 143, "a client that stays does not hold it up"
        assert running.stderr is not None
        assert running.stderr.read() == b""
        assert leans
        assert not alive(leans)


def test_what_is_wrong_is_told_before_lean_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BURN_QED_TOKEN", raising=False)
    monkeypatch.setenv("BURN_QED_CACHE", "/nonexistent")
    assert "give --http as well" in burn_qed("mcp", "--port", "0", code=2).stderr
    told = burn_qed("mcp", "--http", "--host", "0.0.0.0", "--port", "0", code=2).stderr
    assert "needs a token in BURN_QED_TOKEN" in told
    assert "--trust" not in burn_qed("mcp", "--help").stdout
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert "pip install 'burn-qed[mcp]'" in burn_qed("mcp", code=3).stderr

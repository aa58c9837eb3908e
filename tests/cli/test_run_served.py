"""The loop with a model that others serve: by two servers, of which one is down."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from burnqed.iteration.directory import read_done
from burnqed.lean.process import LaunchSpec
from tests.cli.in_process import burn_qed
from tests.policy.servers import Asked, Reply, nobody, serve

pytestmark = [pytest.mark.lean, pytest.mark.soak, pytest.mark.timeout(1400)]

CONFIG = """
[run]
workers = 1
[theorems]
set = "mine.json"
split = ""
[policy]
base = "served"
[search]
policy = "served"
nodes = [3]
noise_nodes = 0
candidates = 2
[served]
url = "URLS"
prompt = "colons"
[eval]
sets = ["held.json"]
budgets = [3]
candidates = 2
"""
MINE = [f"∀ a b : Nat, a + {i} < b → a < b + {i}" for i in range(22)]
HELD = ["∀ a b : Nat, a + 50 < b → a < b", "∀ n m : Nat, n = m"]


def prover(asked: Asked) -> Reply:
    """OpenAI's completions by a model that knows three tactics, one of them wrong here."""
    if asked.path.endswith("/models"):
        return Reply({"data": [{"id": "tiny"}]})
    prompts = asked.body["prompt"]
    prompts = [prompts] if isinstance(prompts, str) else prompts
    n = asked.body.get("n", 1)
    texts = [
        ("rfl" if draw % 2 else "intro a b h" if "⊢ ∀" in prompt else "omega")
        for prompt in prompts
        for draw in range(n)
    ]
    logprobs = {"token_logprobs": [-0.5], "top_logprobs": [{"t": -0.5}]}
    choices = [
        {"index": i, "text": text, "finish_reason": "stop", "logprobs": logprobs}
        for i, text in enumerate(texts)
    ]
    return Reply({"choices": choices})


@contextmanager
def served() -> Iterator[str]:
    """Its address, while it runs in a thread of its own."""
    ready, ends = threading.Event(), asyncio.Event()
    told: list[str] = []
    loop = asyncio.new_event_loop()

    async def work() -> None:
        async with serve(prover) as server:
            told.append(server.url)
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(work()))
    thread.start()
    ready.wait(30)
    try:
        yield told[0]
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()


def write(folder: Path, config: str) -> Path:
    for name, texts in (("mine", MINE), ("held", HELD)):
        entries = [{"name": f"{name}_{i}", "statement": text} for i, text in enumerate(texts)]
        (folder / f"{name}.json").write_text(json.dumps({"theorems": entries}), encoding="utf-8")
    (folder / "mine.toml").write_text(config, encoding="utf-8")
    return folder / "mine.toml"


def test_a_run_asks_servers(tmp_path: Path, lean_launch: LaunchSpec) -> None:
    with served() as url:
        config = write(tmp_path, CONFIG.replace("URLS", f"{nobody()},{url}"))
        asked = ("run", "--config", config, "--iterations", "1")
        told = burn_qed(*asked, "--out", tmp_path / "run", "--json")
    ended = read_done(tmp_path / "run").items()
    done = {name for (at, name), how in ended if at == 0 and how == "done"}
    assert done == {"search-1-theorems", "search-1", "eval-held"}
    (_, first) = json.loads(told.stdout)["iterations"]
    assert first["newly_proved"] == len(MINE)
    assert first["evaluated"]["held"]["without_value"]["budgets"]["3"]["solved"] == 1

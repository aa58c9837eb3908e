"""The engine with real Lean: what it answers, what a text can reach, and who loses what."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from burnqed.core.errors import InputError, PoolClosed, RequestTimeout
from burnqed.lean.pool import Pool
from burnqed.serve.config import ServeConfig
from burnqed.serve.engine import Engine
from burnqed.serve.requests import CheckRequest, ProveRequest
from tests.serve.servers import Client, read_events, serving, until

pytestmark = pytest.mark.lean

EASY = "∀ n : Nat, n + 0 = n"
HARD = "∀ n : Nat, ∃ p, n < p ∧ 2 ≤ p ∧ ∀ d, d ∣ p → d = 1 ∨ d = p"
SLOW = "theorem slow : (List.range 100000000).foldl (fun a b => (a + b) % 7) 0 = 5 := by sorry"
CONFIG = ServeConfig(policy="portfolio", workers=1, nodes=6, candidates=8, queue=3, seconds=60)


@pytest.fixture(scope="module")
async def engine(toolchain: object) -> AsyncIterator[Engine]:
    async with Engine(CONFIG) as opened:
        yield opened


@pytest.fixture(scope="module")
async def client(engine: Engine) -> AsyncIterator[Client]:
    async with serving(engine, text_bytes=CONFIG.text_bytes) as (opened, _):
        yield opened


def searchers(engine: Engine) -> Pool:
    """The Leans of searches, which tests kill."""
    searcher = engine._prover._searcher
    assert searcher is not None
    return searcher.pool


async def test_an_outcome_is_a_value(client: Client) -> None:
    answer = await client.ask("/prove", text=EASY)
    assert answer.status_code == 200
    found = answer.json()
    assert (found["outcome"], found["axioms"]) == ("proved", None), "this Lean has no library proofs"
    assert found["proof"].startswith("theorem qed_goal : ∀ n : Nat, n + 0 = n := by")
    checked = (await client.ask("/check", text=found["proof"])).json()
    assert checked["accepted"], "what it proves is a proof elsewhere"

    found = (await client.ask("/prove", text=HARD, nodes=2)).json()
    assert (found["outcome"], found["limit"], found["nodes"]) == ("not_found", "nodes", 2)
    assert found["proof"] is None

    found = (await client.ask("/prove", text="∀ n : Nat, n < 5")).json()
    assert (found["outcome"], found["counterexample"]) == ("refuted", {"n": "5"})
    assert found["negation_proof"]

    found = (await client.ask("/prove", text="∀ n : Nat, n + = n")).json()
    assert (found["outcome"], found["reason"]) == ("failed", "statement")


async def test_a_text_with_holes(client: Client) -> None:
    text = f"theorem a : 1 + 1 = 2 := by sorry\n\ntheorem b : {HARD} := by sorry\n"
    found = (await client.ask("/prove", text=text, nodes=2)).json()
    assert found["outcome"] == "not_found"
    assert [hole["outcome"] for hole in found["holes"]] == ["found", "exhausted"]
    assert [hole["accepted"] for hole in found["holes"]] == [True, False]
    assert (found["holes"][1]["line"], found["holes"][1]["declaration"]) == (3, "b")
    assert found["draft"].count("sorry") == 1
    whole = (await client.ask("/prove", text=text[: text.index("theorem b")])).json()
    assert whole["outcome"] == "proved"
    assert "sorry" not in whole["proof"]


async def test_a_proof_is_followed_while_it_is_searched_for(client: Client) -> None:
    text = "theorem both (p q : Prop) (hp : p) (hq : q) : p ∧ q ∧ p := by sorry"
    found = await client.ask("/prove", text=text, mode="stream")
    events = [event for _, event in read_events(found.text)]
    kinds = [event["event"] for event in events]
    assert (kinds[:2], kinds[-2:]) == (["begun", "searching"], ["accepted", "answer"])
    assert set(kinds[2:-2]) == {"expanded"}
    assert events[2]["goals"] == ["p q : Prop\nhp : p\nhq : q\n⊢ p ∧ q ∧ p"]
    answer = events[-1]["answer"]
    assert answer["outcome"] == "proved"
    assert kinds.count("expanded") == answer["nodes"]
    assert events[-2]["edges"], "the tactics that the proof came from"
    assert all(edge["on_proof"] for edge in events[-2]["edges"])

    missed = await client.ask("/prove", text=HARD, nodes=2, mode="stream")
    events = [event for _, event in read_events(missed.text)]
    assert events[-1]["answer"]["limit"] == "nodes"
    assert "accepted" not in [event["event"] for event in events], "only the judge says so"


async def test_the_judge_is_asked(client: Client) -> None:
    text = "theorem a (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩\n"
    found = (await client.ask("/check", text=text)).json()
    (theorem,) = found["theorems"]
    assert (found["accepted"], theorem["accepted"], theorem["theorem"]) == (True, True, "a")
    assert found["toolchain"].startswith("embedded Lean")
    weaker = "theorem a (p q : Prop) (h : p ∧ q) : q ∧ q := ⟨h.2, h.2⟩\n"
    found = (
        await client.ask("/check", text=weaker, against=text.replace("⟨h.2, h.1⟩", "by sorry"))
    ).json()
    assert not found["accepted"]
    assert "states something else" in found["theorems"][0]["reason"]
    found = (await client.ask("/check", text="theorem a : 1 = 2 := by simp\n")).json()
    assert (found["accepted"], len(found["errors"])) == (False, 1)
    answer = await client.ask("/check", text="def a := 1\n")
    assert (answer.status_code, answer.json()["error"]) == (422, "the text has no theorem")


async def test_limits_are_refused_by_name(client: Client) -> None:
    for asked, told in (
        ({"text": EASY, "nodes": 7}, "nodes is 7, at most 6 are allowed"),
        ({"text": EASY, "seconds": 61}, "seconds is 61, at most 60 are allowed"),
        ({"text": "a" * 100_001}, "100001 bytes, at most 100000"),
        ({"text": " \n"}, "nothing to prove"),
        ({"text": "a\rb"}, "lone carriage return in line 1"),
        ({"text": "(" * 5000}, "too deep"),
        (
            {"text": "import Std\ntheorem a : 1 = 1 := by sorry"},
            "imports Std, which this prover did not",
        ),
    ):
        answer = await client.ask("/prove", **asked)
        assert answer.status_code == 422
        assert told in answer.json()["error"]
    for asked in ({"text": "a", "seconds": 61}, {"text": "a", "against": "b" * 100_001}):
        assert (await client.ask("/check", **asked)).status_code == 422


SECRET = "the secret of this host"


def reaching(file: Path) -> list[str]:
    """Texts that try to read a file."""
    name = f'"{file}"'
    return [
        f"theorem a : (include_str {name}).length = 0 := by sorry",
        f"#eval IO.FS.readFile {name}\ntheorem a : 1 = 1 := by sorry",
        f"run_cmd do Lean.logInfo (← IO.FS.readFile {name})\ntheorem a : 1 = 1 := by sorry",
        f"theorem a : 1 = 1 := by run_tac do Lean.logInfo (← IO.FS.readFile {name})",
        f"initialize x : String ← IO.FS.readFile {name}\ntheorem a : 1 = 1 := by sorry",
        f"def x : IO String := IO.FS.readFile {name}\ntheorem a : 1 = 1 := by sorry",
        f"open IO.FS in\n#print readFile {name}\ntheorem a : 1 = 1 := by sorry",
        f"import {file.stem}\ntheorem a : 1 = 1 := by sorry",
        f"import «{file}»\ntheorem a : 1 = 1 := by sorry",
        "import Lean\ntheorem a : 1 = 1 := by sorry",
        f"set_option internal.cmdlineSnapshots {name}\ntheorem a : 1 = 1 := by sorry",
        f"theorem a : 1 = 1 := by exact (by_elab do Lean.logInfo (← IO.FS.readFile {name}))",
        f'macro "m" : command => `(#eval IO.FS.readFile {name})\nm\ntheorem a : 1 = 1 := by sorry',
        f"∃ s : String, s = include_str {name}",
        f"dbg_trace (include_str {name}); True",
    ]


@pytest.mark.parametrize("path", ["/prove", "/check", "/step"])
async def test_a_text_reaches_no_file(client: Client, path: str, tmp_path: Path) -> None:
    file = tmp_path / "Secret.lean"
    file.write_text(SECRET)
    for number, text in enumerate(reaching(file)):
        asked: list[dict[str, Any]] = [{"text": text}]
        if path == "/check" and number % 3 == 0:
            asked.append({"text": "theorem a : 1 = 1 := rfl", "against": text})
        for content in asked:
            answer = await client.ask(path, **content)
            assert answer.status_code in (200, 422), text
            assert SECRET not in answer.text, text
            said = answer.json()
            assert said.get("outcome") != "proved", text
            assert not said.get("accepted"), text
    assert (await client.ask("/prove", text=EASY)).json()["outcome"] == "proved"


async def test_one_text_leaves_nothing_for_the_next(client: Client) -> None:
    mine = "def mine : Nat := 5\ntheorem known : mine = 5 := by sorry\n"
    assert (await client.ask("/prove", text=mine)).json()["outcome"] == "proved"
    found = (await client.ask("/prove", text="mine = 5")).json()
    assert (found["outcome"], found["reason"]) == ("failed", "statement")
    found = (await client.ask("/check", text="theorem b : 1 = 1 := by have := known; rfl\n")).json()
    assert not found["accepted"]


# -------------------------------------------------------------- full, gone, killed, and stopped


async def test_more_than_it_holds_is_refused_and_the_rest_is_answered(client: Client) -> None:
    answers = await asyncio.gather(*(client.ask("/prove", text=EASY) for _ in range(12)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 4 + [429] * 8, "one runs and three wait"
    for answer in answers:
        if answer.status_code == 429:
            assert int(answer.headers["Retry-After"]) >= 1
        else:
            assert answer.json()["outcome"] == "proved"
    assert (await client.get("/health")).json()["waiting"] == 0


async def test_who_leaves_in_the_middle_of_a_tactic_frees_its_lean(
    engine: Engine, client: Client
) -> None:
    pool = searchers(engine)
    before, started = pool.requests, pool.started
    asking = asyncio.create_task(client.ask("/prove", text=SLOW))
    await until(lambda: pool.requests >= before + 3)  # its holes are found, and a tactic runs
    await asyncio.sleep(0.5)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: engine.health().running == 0)
    await until(lambda: pool.started > started)  # the one that ran the tactic is replaced
    assert (await client.ask("/prove", text=EASY)).json()["outcome"] == "proved"


async def test_a_job_that_is_stopped_in_the_middle_of_a_tactic_frees_its_lean(
    engine: Engine, client: Client
) -> None:
    pool = searchers(engine)
    before, started = pool.requests, pool.started
    path = (await client.ask("/prove", text=SLOW, mode="background")).headers["Location"]
    await until(lambda: pool.requests >= before + 3)
    await asyncio.sleep(0.5)
    assert (await client.delete(path)).json()["refusal"]["kind"] == "Stopped"
    await until(lambda: engine.health().running == 0)
    await until(lambda: pool.started > started)
    assert (await client.ask("/prove", text=EASY)).json()["outcome"] == "proved"


async def test_a_lean_that_is_killed_costs_time_and_no_answer(engine: Engine, client: Client) -> None:
    pool = searchers(engine)
    before, died = pool.requests, pool.died
    asking = asyncio.create_task(client.ask("/prove", text=HARD, nodes=4))
    await until(lambda: pool.requests >= before + 3)
    killed = [slot.process.pid for slot in pool._slots if slot.process is not None]
    for pid in killed:
        os.killpg(pid, signal.SIGKILL)
    found = (await asking).json()
    assert found["outcome"] == "not_found"
    assert pool.died > died
    assert (await client.ask("/prove", text=EASY)).json()["outcome"] == "proved"


async def test_time_that_runs_out_is_told(engine: Engine) -> None:
    long = "\n".join(f"theorem t{i} : {i} + 1 = {i + 1} := rfl" for i in range(2000))
    with pytest.raises(RequestTimeout, match="no verdict within 1 s"):
        await engine.check(CheckRequest(text=long, seconds=1))
    found = await engine.prove(ProveRequest(text=HARD, seconds=0.1))
    assert (found.outcome, found.limit) == ("not_found", "seconds")


async def test_an_engine_that_ends_stops_what_runs(toolchain: object) -> None:
    with pytest.raises(InputError, match="cannot trust"):
        Engine(ServeConfig(trust=True))
    async with Engine(CONFIG) as engine:
        pool = searchers(engine)
        before = pool.requests
        asked = [
            asyncio.create_task(engine.prove(ProveRequest(text=text))) for text in (SLOW, EASY, EASY)
        ]
        await until(lambda: pool.requests >= before + 1)
    for one in asked:
        with pytest.raises(PoolClosed):
            await one
    with pytest.raises(PoolClosed):
        await engine.prove(ProveRequest(text=EASY))


async def test_a_client_that_stops_waiting_does_not_stop_others(client: Client) -> None:
    others = [asyncio.create_task(client.ask("/prove", text=EASY)) for _ in range(2)]
    with pytest.raises(httpx.ReadTimeout):
        await client.post("/prove", json={"text": SLOW}, timeout=0.3)
    for other in others:
        assert (await other).json()["outcome"] == "proved"

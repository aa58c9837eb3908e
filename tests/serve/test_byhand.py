"""Proofs by hand and lemmas, with real Lean: goals, the judge's word, and clients apart."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from burnqed.lean.verdict import Verdict
from burnqed.prover.stepping import ByHand
from burnqed.serve import byhand
from burnqed.serve.config import ServeConfig
from burnqed.serve.engine import Engine
from tests.serve.servers import Client, serving, until

pytestmark = pytest.mark.lean

SWAP = "theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p"
CONFIG = ServeConfig(policy="portfolio", workers=2, queue=50, seconds=30)


@pytest.fixture(scope="module")
async def engine(toolchain: object) -> AsyncIterator[Engine]:
    async with Engine(CONFIG) as opened:
        yield opened


@pytest.fixture(scope="module")
async def client(engine: Engine) -> AsyncIterator[Client]:
    async with serving(engine, text_bytes=CONFIG.text_bytes) as (opened, _):
        yield opened


async def started(client: Client, text: str = SWAP) -> dict[str, Any]:
    answer = await client.ask("/step", text=text)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def stepped(client: Client, proof: dict[str, Any], state: int, tactic: str) -> dict[str, Any]:
    answer = await client.ask(f"/step/{proof['proof']}", state=state, tactic=tactic)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["proof"] == proof["proof"]
    return found


async def test_a_whole_proof_and_the_judges_word(client: Client) -> None:
    proof = await started(client)
    assert (proof["outcome"], proof["state"]) == ("goals", 0)
    (goal,) = proof["goals"]
    assert goal["target"] == "q ∧ p"
    assert [(h["name"], h["type"]) for h in goal["hypotheses"]] == [
        ("p", "Prop"), ("q", "Prop"), ("h", "p ∧ q"),
    ]  # fmt: skip
    assert goal["text"] == "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
    both = await stepped(client, proof, 0, "constructor")
    assert [one["case"] for one in both["goals"]] == ["left", "right"]
    one = await stepped(client, proof, both["state"], "exact h.2")
    assert [goal["target"] for goal in one["goals"]] == ["p"]
    done = await stepped(client, proof, one["state"], "exact h.1")
    assert (done["outcome"], done["state"], done["verdict"]["accepted"]) == ("proved", None, True)
    assert (await client.ask("/check", text=done["source"])).json()["accepted"]
    again = await stepped(client, proof, 0, "exact ⟨h.2, h.1⟩")
    assert again["outcome"] == "proved", "every state is still there"


async def test_what_lean_refuses_is_an_answer(client: Client) -> None:
    proof = await started(client)
    wrong = await stepped(client, proof, 0, "exact h")
    assert (wrong["outcome"], wrong["state"], wrong["goals"]) == ("rejected", None, [])
    assert "ype mismatch" in wrong["error"]
    for tactic in ("sorry", "run_tac IO.println 1", "exact (by_elab do return 1)", "constructor)"):
        assert (await stepped(client, proof, 0, tactic))["outcome"] == "rejected"
    open_goal = await started(client, "∃ n : Nat, n * n = 169")
    searched = await stepped(client, open_goal, 0, "exact ⟨13, by decide⟩")
    assert searched["outcome"] == "proved"
    suggested = await stepped(client, await started(client, "1 + 1 = 2"), 0, "simp?")
    assert any("simp" in one for one in suggested["suggestions"])


async def test_a_tactic_reaches_no_file(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("the secret of this host")
    proof = await started(client, "∃ s : String, s ≠ s")
    for tactic in (
        f'exact ⟨include_str "{file}", by decide⟩',
        f'refine ⟨include_str "{file}", ?_⟩',
        f'run_tac do Lean.logInfo (← IO.FS.readFile "{file}")',
        f'refine ⟨(by_elab do return Lean.mkStrLit (← IO.FS.readFile "{file}")), ?_⟩',
        f'open Lean in refine ⟨eval% (IO.FS.readFile "{file}"), ?_⟩',
    ):
        answer = await stepped(client, proof, 0, tactic)
        assert answer["outcome"] == "rejected", tactic
        assert "the secret of" not in str(answer)


async def test_what_closes_the_goals_is_proved_only_if_the_judge_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = await started(client)

    async def refuse(self: ByHand, tactics: Sequence[str]) -> Verdict:
        assert list(tactics) == ["exact ⟨h.2, h.1⟩"]
        return Verdict("swap", False, "it uses sorryAx", "kernel")

    monkeypatch.setattr(ByHand, "judge", refuse)
    done = await stepped(client, proof, 0, "exact ⟨h.2, h.1⟩")
    assert (done["outcome"], done["source"]) == ("refused", None)
    assert done["verdict"]["reason"] == "it uses sorryAx"


async def test_what_cannot_be_started_is_refused(client: Client) -> None:
    for text, told in (
        ("theorem a : 1 + = 2", "unexpected token"),
        ("#eval 1\ntheorem a : 1 = 1", "#eval"),
        ("import Init\ntheorem a : 1 = 1", "cannot import"),
        ('theorem a : include_str "/etc/passwd" = ""', "include_str"),
    ):
        answer = await client.ask("/step", text=text)
        assert (answer.status_code, told in answer.json()["error"]) == (422, True), answer.text


async def test_an_unfinished_theorem_may_be_started_with_its_sorry(client: Client) -> None:
    proof = await started(client, f"{SWAP} := by sorry")
    assert proof["goals"][0]["target"] == "q ∧ p"
    assert (await stepped(client, proof, 0, "exact h.symm"))["outcome"] == "proved"


async def test_clients_are_apart_and_share_the_leans(engine: Engine, client: Client) -> None:
    """Steps of many proofs, one after the other, at whichever Lean is free."""
    proofs = await asyncio.gather(
        *(started(client, f"theorem t (x : Nat) (h{n} : x = {n}) : x + 0 = {n}") for n in range(8))
    )
    assert len({proof["proof"] for proof in proofs}) == 8
    searcher = engine._prover._searcher
    assert searcher is not None
    assert searcher.pool.stats().idle == searcher.pool.stats().alive, "none of them holds a Lean"

    async def prove(number: int) -> list[str]:
        proof, outcomes = proofs[number], []
        other = await stepped(client, proof, 0, f"exact h{(number + 1) % 8}")
        outcomes.append(other["outcome"])
        less = await stepped(client, proof, 0, "show x = _")
        done = await stepped(client, proof, less["state"], f"exact h{number}")
        return [*outcomes, done["outcome"]]

    assert await asyncio.gather(*map(prove, range(8))) == [["rejected", "proved"]] * 8
    stranger = await client.ask(f"/step/{'A' * 22}", state=0, tactic="simp")
    assert (stranger.status_code, stranger.json()["kind"]) == (404, "NotFound")
    answer = await client.ask(f"/step/{proofs[0]['proof']}", state=99, tactic="simp")
    assert (answer.status_code, answer.json()["error"]) == (422, "the proof has no state 99")


async def test_one_step_at_a_time(engine: Engine, client: Client) -> None:
    proof = await started(client)
    path = f"/step/{proof['proof']}"
    slow = asyncio.create_task(client.ask(path, state=0, tactic="sleep 1000; constructor"))
    found = engine._proofs.find(proof["proof"])
    await until(lambda: found.busy)
    answer = await client.ask(path, state=0, tactic="constructor")
    assert (answer.status_code, "in the middle" in answer.json()["error"]) == (422, True)
    assert len((await slow).json()["goals"]) == 2


async def test_a_step_that_is_left_frees_its_lean_and_the_proof_goes_on(
    engine: Engine, client: Client
) -> None:
    proof = await started(client)
    found = engine._proofs.find(proof["proof"])
    asking = asyncio.create_task(stepped(client, proof, 0, "sleep 60000"))
    await until(lambda: found.busy)
    await asyncio.sleep(0.3)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: engine.health().running == 0)
    assert len((await stepped(client, proof, 0, "constructor"))["goals"]) == 2


async def test_leans_that_are_killed_between_two_steps_cost_nothing(
    engine: Engine, client: Client
) -> None:
    proof = await started(client)
    both = await stepped(client, proof, 0, "constructor")
    searcher = engine._prover._searcher
    assert searcher is not None
    for slot in searcher.pool._slots:
        if slot.process is not None:
            os.killpg(slot.process.pid, signal.SIGKILL)
    done = await stepped(client, proof, both["state"], "all_goals simp [h]")
    assert done["outcome"] == "proved"


async def test_a_proof_is_ended_and_old_ones_are_forgotten(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = [await started(client) for _ in range(3)]
    assert (await client.delete(f"/step/{third['proof']}")).status_code == 204
    assert (await client.delete(f"/step/{third['proof']}")).status_code == 404
    await stepped(client, first, 0, "constructor")
    monkeypatch.setattr(byhand, "KEPT", 1)
    answer = await client.ask(f"/step/{second['proof']}", state=0, tactic="simp")
    assert answer.status_code == 404, "the one that waited longest"
    monkeypatch.setattr(byhand, "STATES", 2)
    answer = await client.ask(f"/step/{first['proof']}", state=0, tactic="constructor")
    assert (answer.status_code, answer.json()["error"]) == (422, "the proof has too many states")
    monkeypatch.setattr(byhand, "KEPT_SECONDS", 0.0)
    assert (await client.delete(f"/step/{first['proof']}")).status_code == 404


async def test_lemmas_are_found_for_a_goal(client: Client) -> None:
    text = "m n k : Nat\nh : m ≤ n\n⊢ m * k ≤ n * k"
    lemmas = (await client.ask("/lemmas", text=text, count=20)).json()["lemmas"]
    assert len(lemmas) == 20
    names = [lemma["name"] for lemma in lemmas]
    assert "Nat.mul_le_mul_right" in names
    assert all(lemma["statement"] and lemma["module"].startswith(("Init", "Std")) for lemma in lemmas)
    shares = [lemma["share"] for lemma in lemmas]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1
    for count in (0, 101):
        assert (await client.ask("/lemmas", text=text, count=count)).status_code == 400

"""`POST /highlight`: Lean in pieces, without Lean."""

from __future__ import annotations

from burnqed.core.guard import Guard
from tests.serve.servers import Scripted, serving

TEXTS = ["theorem a : 1 + 1 = 2 := by simp -- easy", "⊢ ∀ n : Nat, n = n\u202e", ""]


async def test_pieces_are_the_texts() -> None:
    async with serving(None) as (client, _):  # also while Lean starts
        answer = await client.ask("/highlight", texts=TEXTS)
        assert answer.status_code == 200
        pieces = answer.json()["pieces"]
        assert ["".join(text for _, text in one) for one in pieces] == TEXTS
        assert ["word", "theorem"] in pieces[0]
        assert ["tactic", "simp"] in pieces[0]
        assert pieces[0][-1] == ["comment", "-- easy"]
        assert pieces[2] == []


async def test_it_asks_no_engine() -> None:
    engine = Scripted()
    async with serving(engine) as (client, _):
        assert (await client.ask("/highlight", texts=TEXTS)).status_code == 200
        assert engine.asked == []


async def test_what_does_not_fit_is_refused() -> None:
    async with serving(Scripted(), text_bytes=1000) as (client, _):
        told = await client.ask("/highlight", texts=["a" * 600, "∀" * 200])
        assert told.status_code == 422
        assert told.json()["error"] == "the texts have 1200 bytes, at most 1000 are allowed"
        assert (await client.ask("/highlight", texts=["a"] * 201)).status_code == 400
        assert (await client.ask("/highlight", texts="a")).status_code == 400
        assert (await client.ask("/highlight", text="a")).status_code == 400
        assert (await client.ask("/highlight", texts=["a" * 30_000])).status_code == 413


async def test_who_has_no_token_gets_no_colours() -> None:
    async with serving(Scripted(), guard=Guard(local=True, token="t" * 32)) as (client, _):
        assert (await client.ask("/highlight", texts=TEXTS)).status_code == 401

"""A server under load: a thousand clients at once; requests of all kinds while Leans are killed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytestmark = [pytest.mark.lean, pytest.mark.soak]

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
CLIENTS = 1000
REQUESTS = 900  # of all kinds: a quarter of an hour's worth, at one a second
BETWEEN_KILLS = 24  # requests
# How many of thirty are of each kind. Who leaves costs a Lean, and is rare.
KINDS = {
    "true": 8, "false": 4, "check": 4, "cheat": 4, "hand": 4, "odd": 3, "follow": 2, "leave": 1,
}  # fmt: skip
MEMORY = 300 * 2**20  # by which the server's own process may grow
TRUE = [
    "∀ n : Nat, n + 0 = n",
    "∀ p q : Prop, p ∧ q → q ∧ p",
    "∀ n : Nat, ∃ m, m > n ∧ m % 3 = 1",
    "theorem t (a b : Nat) (h : a ≤ b) : a < b + 1 := by sorry",
]
FALSE = ["∀ n : Nat, n < 7", "theorem t (a b : Nat) : a - b + b = a := by sorry", "1 = 2"]
SLOW = "theorem slow : (List.range 100000000).foldl (fun a b => (a + b) % 7) 0 = 5 := by sorry"
PROOF = "theorem t : 2 + 2 = 4 := rfl"
CHEAT = "theorem t : 2 + 2 = 5 := by native_decide"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [BURN_QED, "serve", "prove", "--port", "0", "--json", "--policy", "portfolio", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 120)[0], "it is not ready"
            yield process, json.loads(process.stdout.readline())["url"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 143
        finally:
            process.kill()


@contextmanager
def many_files() -> Iterator[None]:
    """A thousand clients have more connections than a process may have by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 4096 if hard == resource.RLIM_INFINITY else min(4096, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def memory(pid: int) -> int:
    """Resident bytes of a process, without its children."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def leans(pid: int) -> list[int]:
    """Its Node processes, however deep below it they are."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *leans(child)]
    return [one for one in found if "node" in _command(one)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


async def test_a_thousand_clients_at_once() -> None:
    """Each is answered or told to come again, and the server is the same as before."""
    with many_files(), serving("--workers", "2", "--queue", "50") as (process, url):
        before = memory(process.pid)
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=240, limits=limits, trust_env=False) as client:
            asked = [client.post(f"{url}/prove", json={"text": TRUE[i % 2]}) for i in range(CLIENTS)]
            answers = await asyncio.gather(*asked)
            statuses = Counter(answer.status_code for answer in answers)
            assert set(statuses) == {200, 429}
            assert statuses[200] >= 52  # what has a place or may wait
            for answer in answers:
                if answer.status_code == 200:
                    assert answer.json()["outcome"] == "proved"
                else:
                    assert int(answer.headers["Retry-After"]) >= 1
            health = (await client.get(f"{url}/health")).json()
            assert (health["status"], health["running"], health["waiting"]) == ("ok", 0, 0)
            again = await client.post(f"{url}/prove", json={"text": TRUE[0]})
            assert again.json()["outcome"] == "proved"
        assert memory(process.pid) - before < MEMORY


class Load:
    """Clients that ask for this and that, and note what they are told."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.url, self.client = url, client
        self.seen: Counter[str] = Counter()
        self.proofs: list[str] = []

    async def ask(self, chance: random.Random) -> None:
        (kind,) = chance.choices(list(KINDS), list(KINDS.values()))
        status = await getattr(self, f"_{kind}")(chance)
        self.seen[f"{kind} {status}"] += 1

    async def _post(self, path: str, **content: Any) -> httpx.Response:
        answer = await self.client.post(self.url + path, json=content)
        # 503 and 504 are about the machinery: nothing is said of the text.
        assert answer.status_code in (200, 202, 429, 503, 504), answer.text
        return answer

    async def _true(self, chance: random.Random) -> int:
        answer = await self._post("/prove", text=chance.choice(TRUE))
        if answer.status_code == 200:
            assert answer.json()["outcome"] in ("proved", "not_found"), answer.text
            self.proofs.append(answer.json()["proof"] or "")
        return answer.status_code

    async def _false(self, chance: random.Random) -> int:
        answer = await self._post("/prove", text=chance.choice(FALSE))
        if answer.status_code == 200:
            assert answer.json()["outcome"] in ("refuted", "not_found", "failed"), answer.text
        return answer.status_code

    async def _check(self, chance: random.Random) -> int:
        answer = await self._post("/check", text=PROOF)
        assert answer.status_code != 200 or answer.json()["accepted"], answer.text
        return answer.status_code

    async def _cheat(self, chance: random.Random) -> int:
        answer = await self._post("/check", text=CHEAT)
        assert answer.status_code != 200 or not answer.json()["accepted"], answer.text
        return answer.status_code

    async def _hand(self, chance: random.Random) -> int:
        answer = await self._post("/step", text="∀ n : Nat, n + 0 = n")
        if answer.status_code != 200:
            return answer.status_code
        proof = answer.json()["proof"]
        for tactic in ("intro n", "omega"):
            answer = await self._post(
                f"/step/{proof}", state=answer.json().get("state", 0), tactic=tactic
            )
            if answer.status_code != 200:
                break
        await self.client.delete(f"{self.url}/step/{proof}")
        return answer.status_code

    async def _leave(self, chance: random.Random) -> int:
        try:
            await self.client.post(
                f"{self.url}/prove", json={"text": SLOW}, timeout=chance.uniform(0.05, 1.5)
            )
        except httpx.TimeoutException:
            return 0
        return 1

    async def _odd(self, chance: random.Random) -> int:
        body = chance.choice([b"", b"{", b'{"text": 5}', b'{"text": "", "x": 1}', b"\xff" * 1000])
        answer = await self.client.post(f"{self.url}/prove", content=body)
        assert answer.status_code == 400, answer.text
        return answer.status_code

    async def _follow(self, chance: random.Random) -> int:
        answer = await self._post("/prove", text=chance.choice(TRUE), mode="background")
        if answer.status_code == 202:
            await self.client.delete(self.url + answer.headers["Location"])
        return answer.status_code


@pytest.mark.timeout(1500)
async def test_many_requests_while_leans_are_killed() -> None:
    """No answer is wrong, no Lean is left over, and the server's memory is bounded."""
    chance = random.Random(0)
    with many_files(), serving("--workers", "2", "--queue", "16", "--seconds", "20") as (process, url):
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=120, limits=limits, trust_env=False) as client:
            load = Load(url, client)
            before = memory(process.pid)
            left, killed = iter(range(REQUESTS)), 0

            async def keep_asking(seed: int) -> None:
                own = random.Random(seed)
                nonlocal killed
                for number in left:  # all clients take from the same
                    if number % BETWEEN_KILLS == 0 and (found := leans(process.pid)):
                        os.kill(chance.choice(found), signal.SIGKILL)
                        killed += 1
                    await load.ask(own)

            await asyncio.gather(*(keep_asking(seed) for seed in range(8)))
            assert load.seen.total() == REQUESTS
            assert killed > REQUESTS / BETWEEN_KILLS / 2
            print(killed, "kills;", dict(sorted(load.seen.items())))
            assert memory(process.pid) - before < MEMORY
            health = (await client.get(f"{url}/health")).json()
            assert (health["status"], health["running"], health["waiting"]) == ("ok", 0, 0), health
            assert (await client.post(f"{url}/prove", json={"text": TRUE[0]})).json()[
                "outcome"
            ] == "proved"
            for kind in (
                "true 200",
                "false 200",
                "check 200",
                "cheat 200",
                "hand 200",
                "leave 0",
                "odd 400",
            ):
                assert load.seen[kind] > 0, load.seen
            assert any(load.proofs)
        assert len(leans(process.pid)) <= 8  # two that search and two that judge, with their helpers

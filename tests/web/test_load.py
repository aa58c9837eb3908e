"""The page's server under load: a thousand clients at once, some of whom mean no good."""

from __future__ import annotations

import asyncio
import json
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.serve.test_load import many_files, memory
from tests.web import samples

pytestmark = pytest.mark.soak

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
CLIENTS = 1000
MEMORY = 200 * 2**20  # by which the server may grow
HOSTILE = (
    "/../../etc/passwd", "/api/runs/..%2f..%2fetc%2fpasswd", "/api/runs/%00", "/api/runs/" + "x" * 5000,
    "/api/runs/RUN/theorems/<script>", "/api/runs/RUN/theorems/THEOREM/state?node=-1",
    "/api/runs/RUN/theorems/THEOREM/find?q=" + "q" * 5000,
)  # fmt: skip
USUAL = (
    "/", "/app.js", "/api/runs", "/api/runs/RUN", "/api/runs/RUN/theorems",
    "/api/runs/RUN/theorems/THEOREM", "/api/runs/RUN/theorems/THEOREM/tree",
    "/api/runs/RUN/theorems/THEOREM/state?node=0",
)  # fmt: skip


@contextmanager
def shown(root: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [BURN_QED, "web", str(root), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 60)[0], "it does not begin"
            yield process, json.loads(process.stdout.readline())["url"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 143
        finally:
            process.kill()


async def test_a_thousand_clients_at_once(tmp_path: Path) -> None:
    """Each is answered or told that there is no room, streams or not; and the server is as before."""
    samples.write_all(tmp_path)
    with many_files(), shown(tmp_path) as (process, url):
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=240, limits=limits, trust_env=False) as client:
            runs = (await client.get(f"{url}/api/runs")).json()["runs"]
            run = next(one["id"] for one in runs if one["name"] == "first")
            theorems = (await client.get(f"{url}/api/runs/{run}/theorems")).json()["lines"]
            before = memory(process.pid)

            async def asked(path: str) -> tuple[str, int]:
                whole = path.replace("RUN", run).replace("THEOREM", theorems[0]["id"])
                answer = await client.get(url + whole)
                assert "root:" not in answer.text
                return path, answer.status_code

            async def followed() -> tuple[str, int]:
                async with client.stream("GET", f"{url}/api/live") as answer:
                    if answer.status_code == 200:
                        assert (await anext(answer.aiter_lines())).startswith("data: ")
                        await asyncio.sleep(2)  # it stays, and takes nothing more
                    return "live", answer.status_code

            paths = [*USUAL, *HOSTILE]
            work = [asked(paths[n % len(paths)]) for n in range(CLIENTS - 100)]
            answers = await asyncio.gather(*work, *(followed() for _ in range(100)))
            seen = Counter((path in HOSTILE, status) for path, status in answers)
            assert set(seen) <= {(False, 200), (False, 503), (True, 400), (True, 404), (True, 503)}, (
                seen
            )
            assert seen[False, 200] >= 100, seen
            assert seen[True, 404] > 0, seen
            began = time.monotonic()
            again = await client.get(f"{url}/api/runs")
            assert again.json()["runs"] == runs
            assert time.monotonic() - began < 30
        assert memory(process.pid) - before < MEMORY

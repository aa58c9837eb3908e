"""How long a program waits for `burn-qed serve prove`, and how far that is above Lean's own time.

    python bench/serve.py [--requests N] [--workers N] [--policy P] [--json]

Starts a server as a user would, waits until it says that it is ready, and asks it. Lean's own time is
what its processes took for the search's tactics and for the judge, as each answer says. What a request
takes besides is HTTP, the policy, shortening, and starting the search. At the end several clients ask
at once, for as many requests as before for each worker.
"""

from __future__ import annotations

import argparse
import json
import select
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

BURN_QED = str(Path(sys.executable).with_name("burn-qed"))
START_SECONDS = 180
STATEMENTS = (
    "∀ n : Nat, n + 0 = n",
    "∀ a b : Nat, a + b = b + a",
    "∀ p q : Prop, p ∧ q → q ∧ p",
    "∀ n : Nat, n % 2 = 0 ∨ n % 2 = 1",
    "∀ xs : List Nat, (xs ++ []).length = xs.length",
    "∀ a b c : Nat, a ≤ b → a ≤ b + c",
    "∀ x : Int, x - x = 0",
    "∀ n : Nat, ∃ m, m > n ∧ m % 3 = 1",
)


@dataclass(frozen=True, slots=True)
class Waited:
    """One request: what its client waited for, and what of it was Lean's."""

    seconds: float
    lean: float

    @property
    def besides(self) -> float:
        return self.seconds - self.lean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="ranked")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    begun = time.monotonic()
    with serving(given.workers, given.policy) as url:
        ready = time.monotonic() - begun
        waited = [ask(url, STATEMENTS[i % len(STATEMENTS)]) for i in range(given.requests)]
        first = ready + waited[0].seconds
        began = time.monotonic()
        with ThreadPoolExecutor(given.workers) as clients:
            many = given.workers * given.requests
            texts = [STATEMENTS[i % len(STATEMENTS)] for i in range(many)]
            list(clients.map(lambda text: ask(url, text), texts))
        rate = many / (time.monotonic() - began)
    later = waited[1:]
    if given.json:
        print(json.dumps({"ready": ready, "waited": [asdict(one) for one in waited], "rate": rate}))
        return 0
    besides = sorted(one.besides for one in later)
    print(f"start until ready                          {ready:6.2f} s")
    print(f"cold start to the first proof              {first:6.2f} s")
    print(f"second proof, whole request                {waited[1].seconds:6.2f} s")
    print(f"{len(later)} further proofs, median               {median(later):6.2f} s")
    print(f"  above Lean's own time, median            {1000 * statistics.median(besides):6.0f} ms")
    print(
        f"  above Lean's own time, 9 in 10 below     {1000 * besides[9 * len(besides) // 10]:6.0f} ms"
    )
    print(f"{given.workers} clients at once                         {rate:6.2f} proofs/s")
    return 0


def median(waited: list[Waited]) -> float:
    return statistics.median(one.seconds for one in waited)


@contextmanager
def serving(workers: int, policy: str) -> Iterator[str]:
    command = [BURN_QED, "serve", "prove", "--port", "0", "--json", "--workers", str(workers),
               "--policy", policy]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if not select.select([process.stdout], [], [], START_SECONDS)[0]:
                raise SystemExit(f"the server was not ready within {START_SECONDS} s")
            yield json.loads(process.stdout.readline())["url"]
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()


def ask(url: str, text: str) -> Waited:
    begun = time.monotonic()
    answer = httpx.post(f"{url}/prove", json={"text": text}, timeout=300, trust_env=False)
    seconds = time.monotonic() - begun
    found = answer.raise_for_status().json()
    if found["outcome"] != "proved":
        raise SystemExit(f"{text} was not proved: {found['said']}")
    return Waited(seconds, found["lean_seconds"] + found["judge_seconds"])


if __name__ == "__main__":
    sys.exit(main())

"""What finding out about the CPU costs: tried so many times, and read from the cache.

    python bench/cpu.py --runs 100

Each try is a process that loads torch and computes in half precision. They must all say the same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from dataclasses import asdict

from burnqed.policy.models import cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    given = parser.parse_args()
    answers: Counter[str] = Counter()
    seconds = []
    for _ in range(given.runs):
        begin = time.perf_counter()
        answers[json.dumps(asdict(cpu.probe()))] += 1
        seconds.append(time.perf_counter() - begin)
    cpu.known()  # is in the cache now
    reads = []
    for _ in range(given.runs):
        begin = time.perf_counter()
        cpu.known()
        reads.append(time.perf_counter() - begin)
    for answer, count in answers.most_common():
        print(f"{count} of {given.runs}: {answer}")
    print(f"tried: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")
    print(f"read:  median {1e3 * statistics.median(reads):.2f} ms, longest {1e3 * max(reads):.2f} ms")


if __name__ == "__main__":
    main()

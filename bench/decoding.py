"""What a model says at held-out steps, by how it is asked: the beam, and samples at temperatures.

    python bench/decoding.py MODEL --pairs val.jsonl [--count 200] [--n 8 32] [--temperatures 0.7 1 1.3]

For each number of candidates and each way: how many distinct tactics a state gets (two that differ in
white space only are one), how many of `n` samples came to an end, for which share of the steps the
tactic that a person wrote is among them, and states a second. Temperature 0 is the beam, which search
takes by default.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from burnqed.policy.candidates import candidates_from
from burnqed.policy.local.sampler import LocalSampler
from burnqed.policy.prompt import FORMATS, Format
from burnqed.policy.sampled import Request
from burnqed.training.found_lemmas import pairs_with_lemmas
from burnqed.training.pairs import Pair, read_source
from match import asked, drawn

BATCH = 16  # states at once: about as many as a machine's searches ask for


def row(
    sampler: LocalSampler, format: Format, pairs: Sequence[Pair], n: int, temperature: float
) -> tuple[str, ...]:
    distinct, ended, among, spent = [], [], 0, 0.0
    for begin in range(0, len(pairs), BATCH):
        batch = pairs[begin : begin + BATCH]
        requests = [Request(pair.state, n, temperature, begin) for pair in batch]
        since = time.perf_counter()
        answers = sampler.sample_now(requests)
        if begin:  # the first batch warms up
            spent += time.perf_counter() - since
        for pair, samples in zip(batch, answers, strict=True):
            said = {candidate.tactic for candidate in candidates_from(format, samples, n)}
            distinct.append(len(said))
            ended.append(sum(sample.ended for sample in samples))
            among += pair.tactic in said
    timed = len(pairs) - BATCH
    return (
        str(n),
        f"{temperature:g}" if temperature else "beam",
        f"{statistics.mean(distinct):.1f}",
        f"{statistics.mean(ended):.1f}",
        f"{among / len(pairs):.1%}",
        f"{timed / spent:.1f}" if timed > 0 else "-",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--n", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0, 0.7, 1, 1.3])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--prompt", choices=FORMATS, default="proofstep")
    given = parser.parse_args()
    console = Console()
    pairs: Sequence[Pair] = drawn(read_source(given.pairs, console.print).pairs, given.count)
    loaded = asked(given.model, given.device, given.prompt)
    if loaded.settings.lemmas:
        pairs = pairs_with_lemmas(pairs, loaded.settings.lemmas)
    sampler = LocalSampler(loaded)
    table = Table(title=f"{given.model}: {len(pairs)} steps of {given.pairs}, {BATCH} at once")
    for column in ("candidates", "temperature", "distinct", "ended", "a person's", "states/s"):
        table.add_column(column, justify="right")
    for n in given.n:
        for temperature in given.temperatures:
            table.add_row(*row(sampler, FORMATS[loaded.settings.format], pairs, n, temperature))
    console.print(table)


if __name__ == "__main__":
    main()

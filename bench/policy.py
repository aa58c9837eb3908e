"""Tactics per second of a local model, against `generate` of transformers with the same weights.

    python bench/policy.py MODEL [--device cpu] [--states 16] [--n 8] [--pairs FILE.jsonl] [--rounds 3]

MODEL is a directory, or smollm2. Both ways sample n tactics for each state at temperature 1, with the
same limit and the same ends: `generate` with `num_return_sequences=n` on one left-padded batch, as one
would write it; ours as the search asks. They take turns, and the median of the rounds counts. Then the
log-probability of each sample is compared with that of a plain forward pass in the same precision. The
memory of each way is that of a process of its own.

States are the `state` fields of FILE.jsonl (what `train policy` reads), or statements of qed-core.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from burnqed.data.qed_core import entries
from burnqed.policy.candidates import Sample, candidates_from
from burnqed.policy.local.sampler import LocalSampler
from burnqed.policy.models.load import Loaded, load
from burnqed.policy.prompt import FORMATS, prompt_ids
from burnqed.policy.sampled import Request


def states_of(pairs: Path | None, count: int) -> list[str]:
    if pairs is None:
        found = [f"⊢ {entry['statement']}" for entry in entries()]
    else:
        with pairs.open(encoding="utf-8") as lines:
            found = list(dict.fromkeys(json.loads(line)["state"] for line in lines))
    if len(found) < count:
        raise SystemExit(f"there are only {len(found)} states")
    step = len(found) / count
    return [found[int(i * step)] for i in range(count)]


def plain(loaded: Loaded, states: Sequence[str], n: int, seed: int) -> list[str]:
    """As one would write it with transformers alone."""
    torch.manual_seed(seed)
    prompts = [prompt_ids(loaded.tokenizer, loaded.settings, state) for state in states]
    width = max(map(len, prompts))
    pad = int(loaded.tokenizer.pad_token_id)
    ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts], device=loaded.model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=ids.device)
    stops = FORMATS[loaded.settings.format].stops
    model: Any = loaded.model
    with torch.inference_mode():
        out = model.generate(
            input_ids=ids, attention_mask=mask, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            num_return_sequences=n, max_new_tokens=loaded.settings.tactic_tokens, pad_token_id=pad,
            eos_token_id=loaded.tokenizer.eos_token_id, stop_strings=list(stops),
            tokenizer=loaded.tokenizer,
        )  # fmt: skip
    texts: list[str] = loaded.tokenizer.batch_decode(out[:, width:], skip_special_tokens=True)
    return texts


def ours(sampler: LocalSampler, states: Sequence[str], n: int, seed: int) -> list[list[Sample]]:
    return sampler.sample_now([Request(state, n, 1.0, seed) for state in states])


def off(loaded: Loaded, states: Sequence[str], found: Sequence[Sequence[Sample]]) -> tuple[float, int]:
    """The largest difference to a plain forward pass over the same tokens; over how many samples."""
    worst, compared = 0.0, 0
    for state, samples in zip(states, found, strict=True):
        prompt = prompt_ids(loaded.tokenizer, loaded.settings, state)
        for sample in {s.tokens: s for s in samples}.values():
            ids = torch.tensor([[*prompt, *sample.tokens]], device=loaded.model.device)
            with torch.inference_mode():
                logits = loaded.model(ids).logits[0, len(prompt) - 1 : -1].float()
            logprobs = torch.log_softmax(logits, -1)
            total = float(logprobs.gather(1, ids[0, len(prompt) :, None]).sum())
            worst, compared = max(worst, abs(total - sample.logprob)), compared + 1
    return worst, compared


def seconds(work: Callable[[], Any], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def memory(device: str) -> float:
    """The most that this process has used so far, in MB."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory_of(way: str) -> float:
    command = [sys.executable, *sys.argv, "--only", way]
    out = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=True)
    return float(out.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--states", type=int, default=16)
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--only", choices=["ours", "plain"], help="one way once: for its memory")
    given = parser.parse_args()
    loaded = load(given.model, given.device)
    device = loaded.model.device.type
    states = states_of(given.pairs, given.states)
    sampler = LocalSampler(loaded)
    ways: dict[str, Callable[[int], Any]] = {
        "plain": lambda seed: plain(loaded, states, given.n, seed),
        "ours": lambda seed: ours(sampler, states, given.n, seed),
    }
    if given.only:
        ways[given.only](0)
        print(memory(device))
        return
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(given.rounds + 1):
        for way, work in ways.items():
            spent = seconds(partial(work, number), device)
            if number:  # the first round warms up
                times[way].append(spent)
    lengths = [len(prompt_ids(loaded.tokenizer, loaded.settings, state)) for state in states]
    weights = sum(p.numel() for p in loaded.model.parameters())
    print(f"{given.model}: {weights / 1e6:.1f}M weights, {loaded.model.dtype} on {device}")
    print(
        f"{given.states} states × {given.n} samples, prompts of {min(lengths)}-{max(lengths)} tokens, "
        f"tactics of at most {loaded.settings.tactic_tokens}"
    )
    tell(times, given.states * given.n)
    found = ours(sampler, states, given.n, 1)
    worst, compared = off(loaded, states, found)
    print(f"log-probabilities: off by {worst:.2g} at most over {compared} samples")
    format = FORMATS[loaded.settings.format]
    distinct = [len(candidates_from(format, samples, given.n)) for samples in found]
    mean = statistics.mean(distinct)
    print(f"distinct tactics per state: {min(distinct)} to {max(distinct)}, {mean:.1f} on average")


def tell(times: dict[str, list[float]], asked: int) -> None:
    for way, rounds in times.items():
        median = statistics.median(rounds)
        span = f"{asked / max(rounds):.0f}-{asked / min(rounds):.0f}"
        print(f"{way:>6}: {asked / median:8.1f} samples/s ({span}), {memory_of(way):.0f} MB")
    ratio = statistics.median(times["plain"]) / statistics.median(times["ours"])
    print(f"ours is {ratio:.1f} times as fast")


if __name__ == "__main__":
    main()

"""How often a model's likeliest tactics have the one that the proof took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burnqed.policy.candidates import candidates_from
from burnqed.policy.local.sampler import LocalSampler
from burnqed.policy.models.load import Loaded
from burnqed.policy.prompt import FORMATS
from burnqed.policy.sampled import Request
from burnqed.training.pairs import Pair


@dataclass(frozen=True, slots=True)
class Match:
    """Of `pairs` held-out pairs: in how many the tactic came first, and among the first `n`."""

    pairs: int
    n: int
    first: int
    among: int


def match(loaded: Loaded, pairs: Sequence[Pair], n: int = 8) -> Match:
    """Exact match, character by character: another tactic may do as well, and does not count."""
    sampler = LocalSampler(loaded)
    format = FORMATS[loaded.settings.format]
    first = among = 0
    for begin in range(0, len(pairs), sampler.largest):
        batch = pairs[begin : begin + sampler.largest]
        answers = sampler.sample_now([Request(pair.state, n, 0.0, 0) for pair in batch])
        for pair, samples in zip(batch, answers, strict=True):
            said = [candidate.tactic for candidate in candidates_from(format, samples, n)]
            first += said[:1] == [pair.tactic]
            among += pair.tactic in said
    return Match(len(pairs), n, first, among)

"""From prompts to samples: which tokens are taken, and when a tactic is at its end.

Samples of one prompt that begin alike are one continuation until they part: a model that is sure of
itself is asked once and not n times. What is drawn is the same as if each were computed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from burnqed.policy.candidates import Sample
from burnqed.policy.local.attention import grid

_COLDEST = 1e-4
_STOP_TOKENS = 16  # a stop has at most ten characters, and a token at least a byte of one


class Steps(Protocol):
    """A decoder that has read some prompts (`decoder.Run`, `graphs.RecordedRun`)."""

    def step(
        self, tokens: Sequence[int], prompts: Sequence[int], parents: Sequence[int] | None
    ) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the model after a prompt: `n` samples at a temperature.

    Each prompt has a seed of its own, so its samples do not depend on the prompts beside it.
    """

    n: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class Ending:
    """When a tactic is at its end: after one of these tokens, or once its text has come to a stop."""

    tokens: frozenset[int]
    limit: int  # tokens, the end among them
    text: Callable[[Sequence[int]], str]
    stops: tuple[str, ...] = ()
    _closing: dict[int, bool] = field(default_factory=dict)  # whether a token may complete a stop

    def is_reached(self, tokens: Sequence[int]) -> bool:
        # A stop is short, and its last character came with the last token.
        last = tokens[-1]
        return last in self.tokens or (self._may_close(last) and self._has_stop(tokens[-_STOP_TOKENS:]))

    def first(self, tokens: Sequence[int], logprobs: Sequence[float]) -> Sample:
        """The sample in tokens that went on after its end."""
        said = next((i for i, token in enumerate(tokens) if token in self.tokens), len(tokens))
        if self._has_stop(tokens[:said]):
            length = next(i for i in range(1, said + 1) if self._has_stop(tokens[:i]))
            return self.sample(tokens[:length], sum(logprobs[:length]), True)
        taken = tokens[: said + 1]
        return self.sample(taken, sum(logprobs[: len(taken)]), said < len(tokens))

    def _may_close(self, token: int) -> bool:
        """Few tokens have a stop's last character, and to decode the text of all takes longer."""
        found = self._closing.get(token)
        if found is None:
            text = self.text([token])
            found = self._closing[token] = any(stop[-1] in text for stop in self.stops)
        return found

    def _has_stop(self, tokens: Sequence[int]) -> bool:
        text = self.text(tokens) if self.stops else ""
        return any(stop in text for stop in self.stops)

    def sample(self, tokens: Sequence[int], logprob: float, ended: bool) -> Sample:
        said = tokens[:-1] if ended and tokens[-1] in self.tokens else tokens
        return Sample(self.text(said), logprob, len(tokens), ended, tuple(tokens))


@dataclass(slots=True)
class _Line:
    """Tokens that were taken so far after a prompt, and the continuation that has them."""

    prompt: int
    row: int
    tokens: tuple[int, ...] = ()
    logprob: float = 0.0
    draw: int = 0  # which of the prompt's samples it is


def draw(run: Steps, logits: Tensor, wanted: Sequence[Wanted], ending: Ending) -> list[list[Sample]]:
    """Independent samples, `n` of each prompt; temperatures are above 0."""
    numbers = [numbers_of(want, ending.limit) for want in wanted]
    lines = [_Line(p, p, draw=d) for p, want in enumerate(wanted) for d in range(want.n)]
    done: list[list[Sample]] = [[] for _ in wanted]
    warmth = [want.temperature for want in wanted]
    for position in range(ending.limit):
        chances = [float(numbers[x.prompt][x.draw, position]) for x in lines]
        rows, degrees = [x.row for x in lines], [warmth[x.prompt] for x in lines]
        tokens, logprobs = _take_for(logits, rows, chances, degrees)
        going: list[_Line] = []
        for x, token, logprob in zip(lines, tokens, logprobs, strict=True):
            taken = (*x.tokens, token)
            total = x.logprob + logprob
            ended = ending.is_reached(taken)
            if ended or len(taken) == ending.limit:
                done[x.prompt].append(ending.sample(taken, total, ended))
            else:
                going.append(_Line(x.prompt, x.row, taken, total, x.draw))
        if not going:
            break
        logits, lines = _advance(run, going, first=position == 0)
    return done


def beam(run: Steps, logits: Tensor, wanted: Sequence[Wanted], ending: Ending) -> list[list[Sample]]:
    """The likeliest `n` continuations of each prompt that a beam of width `n` finds."""
    lines = [_Line(p, p) for p in range(len(wanted))]
    done: list[list[Sample]] = [[] for _ in wanted]
    width = max(want.n for want in wanted)
    ends = np.array(sorted(ending.tokens))
    for position in range(ending.limit):
        logprobs = torch.log_softmax(logits.float(), dim=-1)
        most = logprobs.topk(min(width, logprobs.shape[-1]), dim=-1)
        best, tokens = most.values.double().cpu().numpy(), most.indices.cpu().numpy()
        of_prompt: list[list[_Line]] = [[] for _ in wanted]
        for x in lines:
            of_prompt[x.prompt].append(x)
        beams = [
            _likeliest(own, best, tokens, ends, want.n)
            for own, want in zip(of_prompt, wanted, strict=True)
        ]
        going: list[_Line] = []
        for prompt, found in enumerate(beams):
            going += _continued(found, done[prompt], wanted[prompt].n, ending)
        if not going or position + 1 == ending.limit:
            break
        logits, lines = _advance(run, going, first=position == 0)
    return [
        sorted(samples, key=lambda s: (-s.logprob, s.text))[: want.n]
        for samples, want in zip(done, wanted, strict=True)
    ]


def _likeliest(
    lines: Sequence[_Line], best: np.ndarray, tokens: np.ndarray, ends: np.ndarray, n: int
) -> list[_Line]:
    """The continuations of a prompt's lines that end, and of the others all that are of the `n` best.

    There are `n` times `n` continuations, so only these become objects.
    """
    if not lines:
        return []
    rows = [line.row for line in lines]
    totals = np.array([line.logprob for line in lines])[:, None] + best[rows]
    ended = np.isin(tokens[rows], ends)
    still_open = np.sort(totals[~ended])[::-1]
    bar = still_open[n - 1] if len(still_open) >= n else -np.inf
    return [
        _Line(line.prompt, line.row, (*line.tokens, int(tokens[line.row, j])), float(totals[i, j]))
        for i, j in np.argwhere(ended | (totals >= bar)).tolist()
        for line in (lines[i],)
    ]


def _continued(found: list[_Line], done: list[Sample], n: int, ending: Ending) -> list[_Line]:
    """What of a prompt's beam goes on: the `n` best that can still come to be among the `n` best."""
    found.sort(key=lambda line: (-line.logprob, line.tokens))
    open_ends: list[_Line] = []
    for line in found:
        if line.tokens[-1] in ending.tokens:
            done.append(ending.sample(line.tokens, line.logprob, True))
        elif len(open_ends) < n:
            open_ends.append(line)
    going: list[_Line] = []
    for line in open_ends:
        if ending.is_reached(line.tokens):
            done.append(ending.sample(line.tokens, line.logprob, True))
        else:
            going.append(line)
    if len(done) < n:
        return going
    bar = sorted((sample.logprob for sample in done), reverse=True)[n - 1]
    return [line for line in going if line.logprob > bar]


def numbers_of(want: Wanted, limit: int) -> np.ndarray:
    """A number in [0, 1) for each sample and position, the same however many samples there are."""
    seed = np.random.SeedSequence(want.seed & (2**64 - 1))
    return np.random.Generator(np.random.Philox(seed)).random((want.n, limit))


def take(logits: Tensor, chances: Tensor, warmth: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens by where numbers fall, any number of them for each row of logits [rows, numbers].

    With their log-probabilities at temperature 1, whatever the row's temperature [rows, 1] is.
    """
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    # Colder than that, all but the likeliest are nothing already, and the quotient is not a number.
    cumulated = torch.softmax(logprobs / warmth.clamp(min=_COLDEST), dim=-1).cumsum(-1)
    heights = chances * cumulated[:, -1:]
    tokens = torch.searchsorted(cumulated, heights, right=True).clamp_(max=logits.shape[-1] - 1)
    return tokens, logprobs.gather(1, tokens)


def _take_for(
    logits: Tensor, rows: Sequence[int], chances: Sequence[float], warmth: Sequence[float]
) -> tuple[list[int], list[float]]:
    """A token for each line, and its log-probability."""
    device, count = logits.device, logits.shape[0]
    width, places = grid(rows)
    # All lines of a row have its temperature: they are samples of one prompt.
    by_row = torch.ones(count, 1)
    by_row[torch.tensor(rows), 0] = torch.tensor(warmth)
    by_place = torch.zeros(count * width)
    by_place[torch.tensor(places)] = torch.tensor(chances)
    tokens, logprobs = take(logits, by_place.view(count, width).to(device), by_row.to(device))
    found, logs = tokens.flatten().tolist(), logprobs.flatten().tolist()
    return [found[i] for i in places], [logs[i] for i in places]


def _advance(run: Steps, lines: Sequence[_Line], *, first: bool) -> tuple[Tensor, list[_Line]]:
    """One continuation for each distinct line, its next token, and where each line finds it."""
    places: dict[tuple[int, int], int] = {}
    for line in sorted(lines, key=lambda line: line.prompt):
        places.setdefault((line.row, line.tokens[-1]), len(places))
    rows = list(places)
    prompt_of = {places[line.row, line.tokens[-1]]: line.prompt for line in lines}
    logits = run.step(
        [token for _, token in rows],
        [prompt_of[i] for i in range(len(rows))],
        None if first else [parent for parent, _ in rows],
    )
    moved = [_Line(x.prompt, places[x.row, x.tokens[-1]], x.tokens, x.logprob, x.draw) for x in lines]
    return logits, moved

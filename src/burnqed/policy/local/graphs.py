"""Passes recorded once on a GPU and played back: a small model is otherwise slower to call than to run.

A recording has fixed shapes, so batches are rounded up to one of a few, and each continuation keeps a
place in the grid of prompts × samples.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from burnqed.policy.candidates import Sample
from burnqed.policy.local.attention import Continuations, places
from burnqed.policy.local.decoder import Decoder
from burnqed.policy.local.generate import Ending, Wanted, numbers_of, take

_LOOK = 4  # passes between two looks whether all samples are at their end
_ROOM = 16 << 30  # bytes of keys and values in all recordings
_WIDTH = 128  # prompts are as long as a multiple of it


class Shape(NamedTuple):
    """Prompts, tokens of the longest, continuations of each, tokens of a continuation."""

    prompts: int
    width: int
    per_prompt: int
    longest: int


def rounded(prompts: int, width: int, per_prompt: int, longest: int) -> Shape:
    """The smallest shape that is recorded and has room for this."""
    return Shape(1 << (prompts - 1).bit_length(), -(-width // _WIDTH) * _WIDTH, per_prompt, longest)


Pass = Callable[[], Tensor]
# From a pass, a way to do it again, and the tensor that has its result each time.
Record = Callable[[Pass], tuple[Callable[[], None], Tensor]]


def record_on_gpu(go: Pass) -> tuple[Callable[[], None], Tensor]:
    """Record a pass. Libraries set themselves up when first called, so it is done twice before."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            go()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = go()
    return graph.replay, result


class Recorder:
    """The recordings of one model, the latest few."""

    def __init__(self, decoder: Decoder, record: Record = record_on_gpu) -> None:
        self.decoder = decoder
        self.record = record
        self._recordings: OrderedDict[Shape, _Recording] = OrderedDict()

    def run(self, kept: Tensor, lengths: Sequence[int], shape: Shape) -> RecordedRun:
        """The continuations of prompts that were read; `kept` has the shape's width."""
        recording = self._recordings.pop(shape, None)
        if recording is None:
            recording = _Recording(self.decoder, shape, kept, self.record)
            while sum(r.size for r in self._recordings.values()) + recording.size > _ROOM:
                if not self._recordings:
                    break
                self._recordings.popitem(last=False)
        self._recordings[shape] = recording
        recording.begin(kept, lengths)
        return RecordedRun(recording, lengths)


class _Recording:
    """One pass over a full grid, with the tensors that it reads and writes."""

    def __init__(self, decoder: Decoder, shape: Shape, kept: Tensor, record: Record) -> None:
        layers, _, _, heads, _, size = kept.shape
        device, rows = kept.device, shape.prompts * shape.per_prompt
        self.shape = shape
        self.prompts = kept.new_zeros(layers, 2, shape.prompts, heads, shape.width, size)
        self.hidden = torch.ones(shape.prompts, shape.width, dtype=torch.bool, device=device)
        self.own = kept.new_zeros(layers, 2, rows, heads, shape.longest, size)
        self.tokens = torch.zeros(rows, dtype=torch.long, device=device)
        self.positions = torch.zeros(rows, dtype=torch.long, device=device)
        self.last = torch.zeros(1, dtype=torch.long, device=device)
        self.unseen = torch.ones(shape.longest, dtype=torch.bool, device=device)
        self.unseen[0] = False  # never none at all: that would be no number
        attending = Continuations(self.prompts, self.hidden, self.own, shape.per_prompt)
        attending.last, attending.unseen = self.last, self.unseen

        def go() -> Tensor:
            return decoder.forward(attending, self.tokens, self.positions, 0)

        self.replay, self.logits = record(go)

    @property
    def size(self) -> int:
        return self.prompts.nbytes + self.own.nbytes

    def begin(self, kept: Tensor, lengths: Sequence[int]) -> None:
        self.hidden.fill_(True)
        count = len(lengths)
        ends = torch.tensor(lengths, device=kept.device)[:, None]
        self.hidden[:count] = torch.arange(self.shape.width, device=kept.device)[None, :] >= ends
        self.prompts[:, :, :count] = kept

    def play(self, position: int) -> None:
        """One pass, for continuations that have `position` tokens already."""
        self.last.fill_(position)
        if position == 0:
            self.unseen.fill_(True)
        self.unseen[position] = False
        self.replay()


class RecordedRun:
    """`decoder.Run` by playing back."""

    def __init__(self, recording: _Recording, lengths: Sequence[int]) -> None:
        self.recording = recording
        self.lengths = list(lengths)
        self._seen = 0
        self._slots: list[int] = []

    def step(
        self, tokens: Sequence[int], prompts: Sequence[int], parents: Sequence[int] | None
    ) -> Tensor:
        this = self.recording
        device = this.tokens.device
        slots = places(prompts, this.shape.per_prompt)
        if parents is not None:
            self._rearrange(slots, [self._slots[parent] for parent in parents])
        self._slots = slots
        rows = [[0, 0] for _ in range(len(this.tokens))]
        for slot, token, prompt in zip(slots, tokens, prompts, strict=True):
            rows[slot] = [token, self.lengths[prompt] + self._seen]
        both = torch.tensor(rows, device=device)
        this.tokens.copy_(both[:, 0])
        this.positions.copy_(both[:, 1])
        this.play(self._seen)
        self._seen += 1
        return this.logits[torch.tensor(slots, device=device)]

    def draw(self, logits: Tensor, wanted: Sequence[Wanted], ending: Ending) -> list[list[Sample]]:
        """What `generate.draw` gives, each sample in a place of its own, and none looked at on the way.

        Continuations that are at their end are played on until all are: to leave them out would cost
        more than it saves. Where they end is found afterwards.
        """
        this, device = self.recording, logits.device
        count, per_prompt = len(wanted), this.shape.per_prompt
        numbers = np.zeros((count, per_prompt, ending.limit))
        for i, want in enumerate(wanted):
            numbers[i, : want.n] = numbers_of(want, ending.limit)
        chances = torch.tensor(numbers, dtype=torch.float32, device=device).flatten(0, 1)
        warmth = torch.tensor([want.temperature for want in wanted], device=device)
        warmth = warmth.repeat_interleave(per_prompt)[:, None]
        logits = logits.repeat_interleave(per_prompt, dim=0)
        rows = count * per_prompt
        ends = torch.tensor(sorted(ending.tokens), device=device)
        starts = torch.tensor(self.lengths, device=device).repeat_interleave(per_prompt)
        open_ends = torch.ones(rows, dtype=torch.bool, device=device)
        taken, logs = [], []
        for position in range(ending.limit):
            tokens, logprobs = take(logits, chances[:, position : position + 1], warmth)
            taken.append(tokens)
            logs.append(logprobs)
            open_ends &= ~torch.isin(tokens[:, 0], ends)
            last = position + 1 == ending.limit
            if last or (position % _LOOK == _LOOK - 1 and not bool(open_ends.any())):
                break
            this.tokens[:rows] = tokens[:, 0]
            this.positions[:rows] = starts + position
            this.play(position)
            logits = this.logits[:rows]
        every, each = torch.cat(taken, 1).tolist(), torch.cat(logs, 1).tolist()
        return [
            [ending.first(every[i * per_prompt + d], each[i * per_prompt + d]) for d in range(want.n)]
            for i, want in enumerate(wanted)
        ]

    def _rearrange(self, slots: Sequence[int], sources: Sequence[int]) -> None:
        if list(slots) == list(sources):
            return
        order = list(range(len(self.recording.tokens)))
        for slot, source in zip(slots, sources, strict=True):
            order[slot] = source
        own = self.recording.own[..., : self._seen, :]
        own.copy_(own.index_select(2, torch.tensor(order, device=own.device)))

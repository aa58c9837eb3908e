"""The local model as a `Sampler`: states into prompts, batches that fit into memory, a thread."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from burnqed.policy.candidates import Sample
from burnqed.policy.local.decoder import Decoder, Run
from burnqed.policy.local.generate import Ending, Steps, Wanted, beam, draw
from burnqed.policy.local.graphs import Recorder, rounded
from burnqed.policy.models.load import Loaded
from burnqed.policy.prompt import FORMATS, PromptSettings, prompt_ids
from burnqed.policy.sampled import Request

_MEMORY = {"cpu": 1 << 30, "cuda": 8 << 30}  # for the keys and values of a batch
_STATES = 64  # in one batch


Way = Callable[[Steps, Tensor, Sequence[Wanted], Ending], list[list[Sample]]]


class LocalSampler:
    """One model, asked by one batch at a time; what comes in meanwhile makes up the next."""

    concurrency = 1
    largest = _STATES

    def __init__(self, loaded: Loaded) -> None:
        self.settings: PromptSettings = loaded.settings
        self.tokenizer = loaded.tokenizer
        self.decoder = Decoder(loaded.model, self.settings.max_length)
        self.recorder = Recorder(self.decoder) if self.decoder.device.type == "cuda" else None
        format = FORMATS[self.settings.format]
        self.ending = Ending(
            tokens=_end_tokens(loaded),
            limit=self.settings.tactic_tokens,
            text=self._text,
            stops=format.stops,
        )
        self._per_token = _bytes_per_token(loaded)
        self._thread = loaded.thread

    async def sample(self, requests: Sequence[Request]) -> list[list[Sample]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self.sample_now, requests)

    async def check(self) -> tuple[str, ...]:
        return ()  # the decoder was checked when it was made

    async def close(self) -> None:
        self.decoder.closed = True  # passes that wait for the thread find it so, one by one

    @torch.inference_mode()
    def sample_now(self, requests: Sequence[Request]) -> list[list[Sample]]:
        """The samples of each request, in this thread."""
        prompts = [prompt_ids(self.tokenizer, self.settings, request.state) for request in requests]
        answers: list[list[Sample]] = [[] for _ in requests]
        for likeliest in (True, False):
            chosen = [i for i, r in enumerate(requests) if (r.temperature <= 0) == likeliest]
            wanted = {i: _wanted(requests[i]) for i in chosen}
            for batch in self._batches(wanted, prompts):
                self._answer(beam if likeliest else draw, batch, prompts, wanted, answers)
        return answers

    def _answer(
        self,
        way: Way,
        batch: Sequence[int],
        prompts: Sequence[Sequence[int]],
        wanted: Mapping[int, Wanted],
        answers: list[list[Sample]],
    ) -> None:
        """The samples of a batch; of its halves, if memory does not suffice after all."""
        try:
            found = self._generate(way, [prompts[i] for i in batch], [wanted[i] for i in batch])
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            torch.cuda.empty_cache()
            middle = len(batch) // 2
            self._answer(way, batch[:middle], prompts, wanted, answers)
            self._answer(way, batch[middle:], prompts, wanted, answers)
            return
        for i, samples in zip(batch, found, strict=True):
            answers[i] = samples

    def _generate(
        self,
        way: Way,
        prompts: Sequence[Sequence[int]],
        wanted: Sequence[Wanted],
    ) -> list[list[Sample]]:
        lengths = [len(prompt) for prompt in prompts]
        if self.recorder is None:
            logits, kept = self.decoder.read(prompts, max(lengths))
            return way(Run(self.decoder, kept, lengths), logits, wanted, self.ending)
        most = max(want.n for want in wanted)
        shape = rounded(len(prompts), max(lengths), most, self.ending.limit)
        logits, kept = self.decoder.read(prompts, shape.width)
        run = self.recorder.run(kept, lengths, shape)
        if way is draw:
            return run.draw(logits, wanted, self.ending)
        return way(run, logits, wanted, self.ending)

    def _batches(
        self, wanted: Mapping[int, Wanted], prompts: Sequence[Sequence[int]]
    ) -> Iterator[list[int]]:
        """Prompts of about the same length together, as many as memory has room for."""
        room = _MEMORY[self.decoder.device.type] // self._per_token
        batch: list[int] = []
        most = 0  # samples of a prompt
        for i in sorted(wanted, key=lambda i: len(prompts[i])):
            most = max(most, wanted[i].n)
            if batch and (len(batch) + 1) * (len(prompts[i]) + most * self.ending.limit) > room:
                yield batch
                batch, most = [], wanted[i].n
            batch.append(i)
        if batch:
            yield batch

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=False))


def _wanted(request: Request) -> Wanted:
    """Each state draws numbers of its own, whatever else is in the batch."""
    digest = hashlib.sha256(f"{request.seed} {request.state}".encode()).digest()
    return Wanted(request.n, request.temperature, int.from_bytes(digest[:8], "big"))


def _end_tokens(loaded: Loaded) -> frozenset[int]:
    """The tokenizer's end, and whatever else the model was taught to end with."""
    ends = {loaded.tokenizer.eos_token_id}
    known = getattr(loaded.model.generation_config, "eos_token_id", None)
    ends |= set(known) if isinstance(known, list) else {known}
    return frozenset(int(end) for end in ends if end is not None)


def _bytes_per_token(loaded: Loaded) -> int:
    config = loaded.model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    element = next(loaded.model.parameters()).element_size()
    return int(2 * config.num_hidden_layers * heads * size * element)

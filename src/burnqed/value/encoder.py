"""Embeddings of states: the hidden states of the policy's own backbone, pooled.

What a head was trained on it must be asked with, so an encoder has a name that says all that decides an
embedding: the weights, which layer's states, how they are pooled, and in which precision.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.policy.local.decoder import Decoder
from burnqed.policy.models.load import Loaded
from burnqed.policy.prompt import PromptSettings, prompt_ids

Pooling = Literal["mean", "last"]
LAST = -1  # layer: what the model's own head sees; others count from 0, the embeddings of tokens
Embeddings = NDArray[np.float32]  # [states, width]

_TOKENS = {"cpu": 4096, "cuda": 131_072}  # in one pass


@dataclass(frozen=True, slots=True)
class EncoderName:
    """All that decides an embedding."""

    model: str  # the identity of its weights
    prompt: str
    pooling: Pooling
    dtype: str
    width: int
    layer: int = LAST

    @property
    def settings(self) -> PromptSettings:
        """How its model is asked."""
        format, tokens = self.prompt.split()
        return PromptSettings(format, int(tokens))

    @property
    def key(self) -> str:
        """Short, for the names of files; different where anything is."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]


class LocalEncoder:
    """An encoder in this process. States are shown to it as the policy is shown them."""

    def __init__(self, loaded: Loaded, pooling: Pooling = "mean", layer: int = LAST) -> None:
        settings = loaded.settings
        layers = int(loaded.model.config.get_text_config().num_hidden_layers)
        if not LAST <= layer < layers:
            raise InputError(
                f"the model has no layer {layer}", hint=f"--layer is {LAST} (the last) to {layers - 1}"
            )
        self.name = EncoderName(
            model=loaded.identity,
            prompt=f"{settings.format} {settings.prompt_tokens}",
            pooling=pooling,
            dtype=loaded.dtype,
            width=int(loaded.model.config.get_text_config().hidden_size),
            layer=layer,
        )
        self._loaded = loaded
        self._decoder = Decoder(loaded.model, settings.max_length)

    @torch.inference_mode()
    def encode(self, states: Sequence[str]) -> Embeddings:
        """One row for each state. Raises rather than give an embedding that says nothing."""
        prompts = [prompt_ids(self._loaded.tokenizer, self._loaded.settings, state) for state in states]
        rows = np.empty((len(states), self.name.width), dtype=np.float32)
        for batch in self._batches([len(prompt) for prompt in prompts]):
            read = [prompts[i] for i in batch]
            hidden = self._decoder.hidden(read, self.name.layer).float()
            parts = hidden.split([len(prompts[i]) for i in batch])
            pooled = torch.stack(
                [part.mean(0) if self.name.pooling == "mean" else part[-1] for part in parts]
            )
            rows[batch] = pooled.cpu().numpy()
        return checked(rows, self.name.width)

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """States of about the same length together: attention works on as many as the longest has."""
        room = _TOKENS[self._decoder.device.type]
        batch: list[int] = []
        for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
            if batch and (len(batch) + 1) * lengths[i] > room:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


def checked(rows: Embeddings, width: int) -> Embeddings:
    """The embeddings, if they are some: none is zero, not a number, or of another width."""
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InfrastructureError(
            f"embeddings of the shape {rows.shape}, and {width} numbers each were expected",
            hint="this is another encoder than the one that was asked for",
        )
    if not np.isfinite(rows).all():
        raise InfrastructureError(
            f"{int((~np.isfinite(rows)).any(axis=1).sum())} of {len(rows)} embeddings are no numbers",
            hint="the model overflows in its precision: try --dtype float32",
        )
    if (empty := int((~rows.any(axis=1)).sum())) > 0:
        raise InfrastructureError(
            f"{empty} of {len(rows)} embeddings are zero", hint="the encoder does not work: restart it"
        )
    return rows

"""Embeddings of states: pooled hidden states of the policy's model.

A head must be used with the embeddings that it was trained on. So an encoder's name holds all that
decides an embedding: the weights, the layer, the pooling and the precision.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.policy.local.decoder import Decoder
from burnqed.policy.models.load import Loaded
from burnqed.policy.prompt import PromptSettings, prompt_ids

Pooling = Literal["mean", "last"]
LAST = -1  # layer: the input of the model's own head; others count from 0, the token embeddings
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
        """The prompt settings of its model."""
        format, tokens, *dialect = self.prompt.split()
        return PromptSettings(format, int(tokens), dialect=" ".join(dialect))

    @classmethod
    def of(
        cls, model: str, settings: PromptSettings, pooling: Pooling, dtype: str, width: int, layer: int
    ) -> EncoderName:
        """The name of a model with this identity, asked like this."""
        shown = [settings.format, str(settings.prompt_tokens), settings.dialect]
        return cls(model, " ".join(filter(None, shown)), pooling, dtype, width, layer)

    @property
    def key(self) -> str:
        """A short identifier for file names, different for different encoders."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]


class LocalEncoder:
    """An encoder in this process. States are prompted as they are for the policy."""

    def __init__(self, loaded: Loaded, pooling: Pooling = "mean", layer: int = LAST) -> None:
        settings = loaded.settings
        check_layer(loaded.model.config, layer)
        width = int(loaded.model.config.get_text_config().hidden_size)
        self.name = EncoderName.of(loaded.identity, settings, pooling, loaded.dtype, width, layer)
        self._loaded = loaded
        self._decoder = Decoder(loaded.model, settings.max_length)

    @torch.inference_mode()
    def encode(self, states: Sequence[str]) -> Embeddings:
        """One row for each state. Raises instead of returning a meaningless embedding."""
        prompts = [prompt_ids(self._loaded.tokenizer, self._loaded.settings, state) for state in states]
        rows = np.empty((len(states), self.name.width), dtype=np.float32)
        for batch in self._batches([len(prompt) for prompt in prompts]):
            read = [prompts[i] for i in batch]
            hidden = self._decoder.hidden(read, self.name.layer).float()
            found = pooled(hidden, [len(prompts[i]) for i in batch], self.name.pooling)
            rows[batch] = found.cpu().numpy()
        return checked(rows, self.name.width)

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Batches of states of similar length: a batch costs as much as its longest for each."""
        room = _TOKENS[self._decoder.device.type]
        batch: list[int] = []
        for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
            if batch and (len(batch) + 1) * lengths[i] > room:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


def check_layer(config: Any, layer: int) -> None:
    """Refuse a layer that a model with this configuration does not have."""
    layers = int(config.get_text_config().num_hidden_layers)
    if not LAST <= layer < layers:
        raise InputError(
            f"the model has no layer {layer}", hint=f"give --layer {LAST} (the last) to {layers - 1}"
        )


def pooled(hidden: torch.Tensor, lengths: Sequence[int], pooling: Pooling) -> torch.Tensor:
    """A row for each text, of the hidden states of all their tokens one after the other."""
    parts = hidden.split(list(lengths))
    return torch.stack([part.mean(0) if pooling == "mean" else part[-1] for part in parts])


def checked(rows: Embeddings, width: int) -> Embeddings:
    """The embeddings, unless one is zero, not a number, or of another width."""
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InfrastructureError(
            f"embeddings have the shape {rows.shape}, but {width} numbers each were expected",
            hint="this is not the encoder that was requested",
        )
    if not np.isfinite(rows).all():
        raise InfrastructureError(
            f"{int((~np.isfinite(rows)).any(axis=1).sum())} of {len(rows)} embeddings are not numbers",
            hint="the model overflows in its precision: try --dtype float32",
        )
    if (empty := int((~rows.any(axis=1)).sum())) > 0:
        raise InfrastructureError(
            f"{empty} of {len(rows)} embeddings are zero", hint="the encoder is broken: restart it"
        )
    return rows

"""Small models that start from nothing: a tokenizer for Lean and a random Llama of 6M to 30M weights.

Where no base model can be had, or none is wanted, these are trained from scratch on states and tactics.
They are ordinary Hugging Face directories, and everything that loads or trains one takes them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from burnqed.core.errors import InputError, SetupError
from burnqed.core.files import publish_directory
from burnqed.policy.models.strict import TRAIN, save_pretrained
from burnqed.policy.prompt import FORMATS, PromptSettings, write_settings
from burnqed.training.tokenizer import train_tokenizer

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

POSITIONS = 2048
SETTINGS = PromptSettings("proofstep", prompt_tokens=448, tactic_tokens=64)


@dataclass(frozen=True, slots=True)
class NanoSize:
    """The shape of a small Llama; a head has 64 dimensions."""

    name: str  # about its number of weights, with a vocabulary of 4096
    layers: int
    hidden: int
    inner: int  # of the feed-forward part
    heads: int
    shared_heads: int  # of keys and values


SIZES = {
    size.name: size
    for size in (
        NanoSize("6m", 7, 256, 704, 4, 2),
        NanoSize("15m", 8, 384, 1024, 6, 2),
        NanoSize("30m", 10, 512, 1408, 8, 2),
    )
}


def create(
    directory: Path,
    size: NanoSize | str,
    texts: Iterable[str],
    seed: int,
    settings: PromptSettings = SETTINGS,
    vocab: int = 4096,
) -> Path:
    """Make a model in a new directory, with a tokenizer trained on `texts`.

    The same arguments give the same files. What the prompt's format puts before a state and after it
    becomes one token each.
    """
    size = _size(size)
    if settings.max_length > POSITIONS:
        raise InputError(
            f"prompt and tactic have {settings.max_length} tokens, a small model has {POSITIONS}"
        )
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory} is not empty", hint="give another directory")
    format = FORMATS[settings.format]
    markers = [text for text in (format.before, format.after) if text]
    tokenizer = train_tokenizer(_some(texts), vocab, markers)
    model = _random(size, tokenizer, seed)

    def write(made: Path) -> None:
        save_pretrained(made, model, tokenizer)
        write_settings(made, settings)

    publish_directory(directory, write)
    return directory


def _size(size: NanoSize | str) -> NanoSize:
    if isinstance(size, NanoSize):
        return size
    if size not in SIZES:
        raise InputError(f"no size {size}", hint=f"one of {', '.join(SIZES)}")
    return SIZES[size]


def _some(texts: Iterable[str]) -> Iterable[str]:
    rest = iter(texts)
    first = next(rest, None)
    if first is None:
        raise InputError("there are no texts to train a tokenizer on", hint="give states and tactics")
    return itertools.chain([first], rest)


def _random(size: NanoSize, tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """Weights from a normal distribution.

    Those that add to the residual stream are the smaller the more layers there are, so that the
    stream does not grow with depth.
    """
    try:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError as error:
        raise SetupError(f"training needs a package: {error}", hint=TRAIN) from error

    config = LlamaConfig(
        vocab_size=len(tokenizer),  # no more: a token that cannot occur could still be sampled
        hidden_size=size.hidden,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.shared_heads,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        initializer_range=0.02,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                weight.mul_(1 / math.sqrt(2 * size.layers))
    return model

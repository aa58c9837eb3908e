"""Models in a GGUF file: dequantised when loaded, with the tokenizer that the file describes.

What transformers makes of a GGUF's tokenizer leaves out what changes the tokens: how a text is split
for some vocabularies, and the start and end tokens that the file asks for. That is put right here, and
a file whose way of splitting is not known is refused rather than read wrongly.
"""

from __future__ import annotations

import json
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import CorruptError, InputError, SetupError
from burnqed.policy.models.strict import (
    MODELS,
    has_tokenizer,
    need_libraries,
    quiet,
    read_tokenizer,
    read_weights,
    save_pretrained,
)

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

# Ways of splitting, by their names in the file: what transformers knows, and what has digits apart.
_SPLIT_BY_TRANSFORMERS = frozenset(
    {
        "gpt-2",
        "llama3",
        "llama-v3",
        "llama-bpe",
        "qwen2",
        "qwen35",
        "deepseek-r1-qwen",
        "tekken",
        "gpt-4o",
    }
)
_SPLIT_DIGITS = frozenset({"smollm", "starcoder", "refact", "command-r"})
_SPECIAL = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
_EMBEDDINGS, _HEAD = "token_embd.weight", "output.weight"
_ROUNDING = 0.15  # what quantising to four bits and more leaves of a difference, relative to the whole
_START_BY_DEFAULT = frozenset({"llama3", "llama-v3", "llama-bpe", "tekken"})


def read(file: Path, dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """The model, dequantised, and its tokenizer."""
    fields = _fields(file)  # first of all: transformers does not say so when a file is cut off
    model = _model(file, dtype)
    _tie(file, model)
    return model, _tokenizer(file, fields)


def convert(file: Path, directory: Path) -> None:
    """Save what is in a GGUF file as the directory that any other model is, in half precision."""
    need_libraries()
    import torch

    model, tokenizer = read(file, torch.float16)
    save_pretrained(directory, model, tokenizer)


def _model(file: Path, dtype: torch.dtype) -> PreTrainedModel:
    from transformers import GgufConfig

    if find_spec("accelerate") is None:  # transformers wants it for GGUF
        raise SetupError("reading GGUF needs accelerate", hint=MODELS)
    with redirect_stderr(StringIO()):  # its bar for GGUF is one that cannot be switched off
        return read_weights(
            file,
            file.parent,
            dtype,
            gguf_file=file.name,
            quantization_config=GgufConfig(dequantize=True),
        )


def _tie(file: Path, model: Any) -> None:
    """Make one matrix of two that were one before they were quantised, each in its own way: the finer.

    A file has the embeddings and the head apart, and does not say whether they were the same. Rounding
    leaves them within a few percent of each other; matrices that were trained apart are not near.
    """
    embeddings, head = model.get_input_embeddings(), model.get_output_embeddings()
    ours, theirs = embeddings.weight, head.weight
    if ours is theirs or ours.shape != theirs.shape:
        return
    apart = (ours - theirs).detach().float().norm() / theirs.detach().float().norm()
    if not float(apart) < _ROUNDING:
        return
    bits = _bits(file)
    finer = theirs if bits[_HEAD] >= bits[_EMBEDDINGS] else ours
    model.config.tie_word_embeddings = True
    embeddings.weight = head.weight = finer


def _bits(file: Path) -> dict[str, float]:
    """Of each tensor of the file, the bits of a weight."""
    from gguf import GGUFReader

    tensors = GGUFReader(file).tensors
    return {str(one.name): 8 * int(one.n_bytes) / int(one.n_elements) for one in tensors}


def _tokenizer(file: Path, fields: dict[str, Any]) -> PreTrainedTokenizerFast:
    """The tokenizer beside the file, or the one in it."""
    from tokenizers import Tokenizer, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    if has_tokenizer(file.parent):
        return read_tokenizer(file.parent)
    kind, split = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if kind not in ("gpt2", "llama") or (
        kind == "gpt2" and split not in _SPLIT_BY_TRANSFORMERS | _SPLIT_DIGITS
    ):
        raise InputError(
            f"{file} splits text in a way that is not known here ({kind}, {split})",
            hint="put the model's tokenizer.json and tokenizer_config.json beside it",
        )
    loader: Any = PreTrainedTokenizerFast
    try:
        with quiet():
            made = loader.from_pretrained(str(file.parent), gguf_file=file.name, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"cannot read the tokenizer in {file}: {error}") from error
    # Only what the file has: a token that transformers adds has no weights.
    content = json.loads(made.backend_tokenizer.to_str())
    known = content["model"]["vocab"]
    content["added_tokens"] = [token for token in content["added_tokens"] if token["id"] < len(known)]
    backend = Tokenizer.from_str(json.dumps(content))
    special = {
        name: made.convert_ids_to_tokens(int(fields[f"tokenizer.ggml.{key}_token_id"]))
        for name, key in _SPECIAL.items()
        if f"tokenizer.ggml.{key}_token_id" in fields
    }
    if split in _SPLIT_DIGITS:
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
    start_by_default = kind == "llama" or split in _START_BY_DEFAULT
    start = fields.get("tokenizer.ggml.add_bos_token", start_by_default) and special.get("bos_token")
    end = fields.get("tokenizer.ggml.add_eos_token", False) and special.get("eos_token")
    front, back = ([token] if token else [] for token in (start, end))
    backend.post_processor = processors.TemplateProcessing(
        single=[*front, "$A", *back],
        special_tokens=[(token, backend.token_to_id(token)) for token in sorted({*front, *back})],
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def _fields(file: Path) -> dict[str, Any]:
    """What the file says of itself, one value for each name; no vocabularies."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise SetupError("reading GGUF needs gguf", hint=MODELS) from error
    try:
        reader = GGUFReader(file)
        return {name: field.contents() for name, field in reader.fields.items() if len(field.data) == 1}
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise CorruptError(
            f"{file} is not a whole GGUF file: {error}", hint="copy or download it again"
        ) from error

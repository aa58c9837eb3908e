"""A language model from a name: weights, tokenizer, and how it is asked.

    smollm2             from a package, made once in the cache
    DIRECTORY           with safetensors, in one file or several; or with a GGUF file
    FILE.gguf
    ADAPTER             a LoRA adapter's directory; it is merged into the model that it was trained on
    owner/name          a repository of the hub, where one can be reached

Anything that is not exactly a whole causal language model is refused.
"""

from __future__ import annotations

import hashlib
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnqed.core.errors import InputError, SetupError
from burnqed.policy.models import gguf, smollm2
from burnqed.policy.models.checks import check_whole, fingerprint, read_json, weight_files
from burnqed.policy.models.cpu import usable
from burnqed.policy.models.names import ADAPTER, find, find_base
from burnqed.policy.models.strict import (
    TRAIN,
    check_keys,
    has_tokenizer,
    need_libraries,
    quiet,
    read_tokenizer,
    read_weights,
    told,
)
from burnqed.policy.prompt import SETTINGS, PromptSettings, read_settings

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

DTYPES = ("float32", "bfloat16", "float16")
NF4 = "nf4"
_ADAPTER_WEIGHTS = "adapter_model.safetensors"
# What decides, besides the weights, what a model says.
_DECIDING = ("config.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json", SETTINGS)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to be asked: in evaluation mode, without gradients, with a pad token."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    settings: PromptSettings
    device: str
    dtype: str
    path: Path
    identity: str  # a SHA-256 of what is in its files, for manifests
    note: str = ""  # what the user should be told of how it is computed
    # Where all passes are made, so that a policy and an encoder can share a model.
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "model"))


def load(name: str | Path, device: str = "auto", dtype: str = "auto") -> Loaded:
    """Load a model. `auto` is the GPU if there is one; then bfloat16 there and float32 on the CPU.

    `nf4` holds a directory's weights in four bits and computes in bfloat16.
    """
    need_libraries()
    import torch

    device = _device(device)
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    if dtype not in (*DTYPES, NF4):
        raise InputError(f"no number format {dtype}", hint=f"auto, {', '.join(DTYPES)}, {NF4}")
    path = find(name).absolute()
    note = ""
    if dtype == NF4:
        computed, note = computed_in("bfloat16", device)
        model, tokenizer, identity = _read_nf4(path, device, getattr(torch, computed))
    else:
        dtype, note = computed_in(dtype, device)
        model, tokenizer, identity = _read(path, getattr(torch, dtype))
    settings = _settings(path, model.config)
    _set_padding(model, tokenizer, path)
    # What is trained on top remembers this name, and it must mean the same model elsewhere.
    model.name_or_path = smollm2.NAME if str(name) == smollm2.NAME else str(path)
    model.requires_grad_(False)
    model.eval()
    if dtype != NF4:  # which is there already, and cannot be moved
        model.to(device)  # type: ignore[arg-type]
    return Loaded(model, tokenizer, settings, device, dtype, path, identity, note)


def computed_in(dtype: str, device: str) -> tuple[str, str]:
    """The format that is really used, and a sentence where the CPU does not let it be the plain one."""
    return usable(dtype) if device == "cpu" else (dtype, "")


def _device(device: str) -> str:
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device != "cpu" and device.split(":")[0] != "cuda":
        raise InputError(f"no device {device}", hint="auto, cpu, cuda or cuda:1")
    if device != "cpu" and not torch.cuda.is_available():
        raise SetupError("there is no GPU that torch can use", hint="leave the device out, or give cpu")
    return device


def _read(path: Path, dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, str]:
    """The model, its tokenizer and its identity."""
    if path.is_file():
        if path.suffix != ".gguf":
            raise InputError(f"{path} is not a model", hint="give a directory or a .gguf file")
        return _read_gguf(path, dtype)
    if (path / ADAPTER).is_file():
        return _read_adapter(path, dtype)
    files = sorted(path.glob("*.gguf"))
    if files and not any(path.glob("*.safetensors")):
        if len(files) > 1:
            raise InputError(
                f"{path} holds several models: {', '.join(file.name for file in files)}",
                hint="give one of the files",
            )
        return _read_gguf(files[0], dtype)
    return _read_directory(path, dtype)


def _read_gguf(file: Path, dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, str]:
    model, tokenizer = gguf.read(file, dtype)
    return model, tokenizer, fingerprint([file, *_deciding(file.parent)])


def _read_nf4(
    path: Path, device: str, computed: torch.dtype
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, str]:
    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"nf4 needs bitsandbytes: {error}",
            hint="pip install bitsandbytes, or take another precision",
        ) from error
    from transformers import BitsAndBytesConfig

    if not (path / "config.json").is_file() or (path / ADAPTER).is_file():
        raise InputError(
            f"{path} is not a directory of whole weights, which is what nf4 takes",
            hint="`burn-qed export` makes one of an adapter",
        )
    config = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=NF4,
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=computed,
    )
    how = {"quantization_config": config, "device_map": {"": device}}
    return _read_directory(path, computed, **how)


def _read_directory(
    path: Path, dtype: torch.dtype, **how: Any
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, str]:
    read_json(path / "config.json")
    weight_files(path)  # all there, before anything large is read
    _check_causal(path)
    tokenizer = read_tokenizer(path)
    model = read_weights(path, path, dtype, use_safetensors=True, **how)
    if len(tokenizer) > int(model.config.vocab_size):
        raise InputError(
            f"the tokenizer in {path} has {len(tokenizer)} tokens, more than the model knows",
            hint="it must be the tokenizer that the model was trained with",
        )
    return model, tokenizer, written_identity(path, "")


def _check_causal(path: Path) -> None:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig

    try:
        with quiet():
            config = AutoConfig.from_pretrained(str(path), local_files_only=True)
    except Exception as error:  # a wrong value ends in an exception of any kind
        raise InputError(f"cannot use {path / 'config.json'}: {told(error)}") from error
    known: Any = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), ())
    names = {kind.__name__ for kind in (known if isinstance(known, tuple) else (known,))}
    declared = config.architectures or sorted(names)
    if not names.intersection(declared):
        raise InputError(
            f"{path} is not a causal language model but {', '.join(declared) or config.model_type}",
            hint="give a model that continues text",
        )


def _read_adapter(
    path: Path, dtype: torch.dtype
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, str]:
    check_whole(path / _ADAPTER_WEIGHTS)  # before a large base is read
    model, tokenizer, base = _read(find_base(path)[1].absolute(), dtype)
    merged: Any = attach(model, path).merge_and_unload()
    return merged, adapter_tokenizer(path, tokenizer), written_identity(path, base)


def written_identity(path: Path, base: str) -> str:
    """The identity that `load` will find in a directory; `base` is that of an adapter's base."""
    if not (path / ADAPTER).is_file():
        return fingerprint([*weight_files(path), *_deciding(path)])
    own = fingerprint([path / _ADAPTER_WEIGHTS, path / ADAPTER, *_deciding(path)])
    return hashlib.sha256(f"{base} {own}".encode()).hexdigest()


def attach(model: Any, adapter: Path, *, trainable: bool = False) -> Any:
    """The model with a stored adapter on it, which has exactly the weights that it should have."""
    try:
        from peft import PeftModel, get_peft_model_state_dict
        from safetensors import safe_open
    except ImportError as error:
        raise SetupError(f"adapters need a package: {error}", hint=TRAIN) from error

    weights = adapter / _ADAPTER_WEIGHTS
    check_whole(weights)
    try:
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it only warns of missing weights, which are refused here
            adapted = PeftModel.from_pretrained(model, str(adapter), is_trainable=trainable)
        with safe_open(weights, framework="pt") as opened:
            found = set(opened.keys())
        # Not asked about embeddings, it does not ask the hub about them.
        expected = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    except Exception as error:  # a wrong value in its configuration ends in an exception of any kind
        raise InputError(
            f"the adapter {adapter} does not fit {model.name_or_path}: {told(error)}",
            hint="it has to be whole, and on the model that it was trained on",
        ) from error
    check_keys(adapter, expected - found, found - expected)
    return adapted


def adapter_tokenizer(adapter: Path, base: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The tokenizer that lies with an adapter, or else its base's."""
    return read_tokenizer(adapter) if has_tokenizer(adapter) else base


def _deciding(path: Path) -> list[Path]:
    return [path / name for name in _DECIDING if (path / name).is_file()]


def _settings(path: Path, config: Any) -> PromptSettings:
    """What is written beside the model, or beside an adapter's base; else the usual ones."""
    directory = path.parent if path.is_file() else path
    written = read_settings(directory)
    if written is None and (directory / ADAPTER).is_file():
        return _settings(find_base(directory)[1], config)
    usual = PromptSettings()
    positions = int(getattr(config, "max_position_embeddings", None) or usual.max_length)
    if written is not None:
        if written.max_length > positions:
            raise InputError(
                f"{directory / SETTINGS} allows {written.max_length} tokens, the model has {positions}"
            )
        return written
    tactic = min(usual.tactic_tokens, max(2, positions // 4))
    return PromptSettings(usual.format, min(usual.prompt_tokens, positions - tactic), tactic)


def _set_padding(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, path: Path) -> None:
    """Any token pads, since what is padded is masked; the end token is there already."""
    if tokenizer.eos_token is None:
        raise InputError(
            f"the tokenizer of {path} has no end-of-sequence token, so no tactic could end",
            hint="set eos_token in tokenizer_config.json",
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id
    if model.generation_config is not None:
        model.generation_config.pad_token_id = tokenizer.pad_token_id

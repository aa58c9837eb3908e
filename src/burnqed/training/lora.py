"""The model that is trained: a base as it is, or with a LoRA adapter on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from burnqed.core.errors import InputError, SetupError
from burnqed.policy.models import smollm2
from burnqed.policy.models.checks import fingerprint, read_json
from burnqed.policy.models.load import Loaded, adapter_tokenizer, attach, computed_in, load
from burnqed.policy.models.names import ADAPTER, exists, find, find_base
from burnqed.policy.prompt import PromptSettings, read_settings
from burnqed.training.plans import Adapting

MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class Base:
    """A model by directory or name, and an adapter on it, if that is what was given."""

    model: str
    adapter: Path | None = None


def find_model(given: str | Path) -> Base:
    """What a path or a name means: a training's best, an adapter with its base, or a model."""
    path = find(given)
    if (path / ADAPTER).is_file():
        return Base(find_base(path)[0], path.resolve())
    return Base(str(path.resolve()) if str(given) != smollm2.NAME and exists(given) else str(given))


def own_shape(base: Base, asked: Adapting) -> Adapting:
    """What is trained: of an adapter that is continued its own rank, alpha and dropout."""
    if base.adapter is None:
        return asked
    own = read_json(base.adapter / ADAPTER)
    return replace(
        asked,
        rank=own.get("r", asked.rank),
        alpha=own.get("lora_alpha", asked.alpha),
        dropout=own.get("lora_dropout", asked.dropout),
    )


def identity(base: Base) -> str:
    """A checksum of the files that decide what the base says."""
    model = find(base.model)
    places = [model] if base.adapter is None else [model, base.adapter]
    files = [
        file
        for place in places
        for file in ([place] if place.is_file() else place.iterdir())
        if file.suffix in (".safetensors", ".gguf") or file.name in ("config.json", "tokenizer.json")
    ]
    return fingerprint(files)


def own_settings(base: Base, loaded: Loaded) -> PromptSettings:
    """How the base was trained to be asked, or the usual where nothing was written down."""
    return (base.adapter and read_settings(base.adapter)) or loaded.settings


def prepare(
    base: Base, adapting: Adapting, device: str, precision: torch.dtype, resumed: Path | None
) -> Loaded:
    """The model to train, on the device; `resumed` is a checkpoint whose weights it goes on with.

    Trained weights are float32 whatever the model computes in: bfloat16 rounds a small step away.
    """
    if adapting.method == "full":
        if base.adapter is not None:
            raise InputError(
                f"{base.adapter} is an adapter, which only --method lora can train",
                hint="leave out --method, or merge it first with `burn-qed export`",
            )
        loaded = load(resumed or base.model, device, "float32")
        model: Any = loaded.model
        model.requires_grad_(True)
    else:
        name = str(precision).removeprefix("torch.")
        loaded = _load_nf4(base.model, device) if adapting.nf4 else load(base.model, device, name)
        # The adapter remembers this name, and it must mean the same model elsewhere.
        loaded.model.name_or_path = base.model
        if base.adapter is not None:
            loaded = replace(loaded, tokenizer=adapter_tokenizer(base.adapter, loaded.tokenizer))
        model = _with_adapter(loaded.model, adapting, resumed or base.adapter)
    if adapting.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    model.train()
    return replace(loaded, model=model)


def _with_adapter(model: Any, adapting: Adapting, adapter: Path | None) -> Any:
    from peft import LoraConfig, get_peft_model

    model.requires_grad_(False)
    if adapter is not None:
        return attach(model, adapter, trainable=True)
    config = LoraConfig(
        r=adapting.rank,
        lora_alpha=adapting.alpha,
        lora_dropout=adapting.dropout,
        target_modules=list(MODULES),
        task_type="CAUSAL_LM",
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise InputError(
            f"no adapter fits this model: {error}", hint="--method full trains all of it"
        ) from error


def _load_nf4(name: str, device: str) -> Loaded:
    """A base in four bits. Only an adapter on it can be trained."""
    try:
        import bitsandbytes  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"--load nf4 needs bitsandbytes: {error}",
            hint="pip install bitsandbytes, or leave out --load nf4",
        ) from error
    from peft import prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

    path = find(name).absolute()
    word, note = computed_in("bfloat16", device)
    computed: torch.dtype = getattr(torch, word)
    four = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=computed,
    )
    model = AutoModelForCausalLM.from_pretrained(
        str(path), quantization_config=four, device_map={"": device}, dtype=computed
    )
    model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    tokenizer: Any = AutoTokenizer.from_pretrained(str(path))
    settings = read_settings(path) or PromptSettings()
    return Loaded(model, tokenizer, settings, device, "nf4", path, "", note)

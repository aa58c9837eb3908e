"""What the training of a policy is given, and what is in memory when its first step is due.

Data, the base, and how the base is asked: the same for a policy that is trained alone (`policy`) and
for one that is trained with its value model (`joint`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list

from burnqed.core.errors import BurnQedError, InputError
from burnqed.core.runs import MANIFEST, open_run
from burnqed.core.watching import Watcher
from burnqed.policy.models.load import Loaded, computed_in
from burnqed.policy.models.names import POLICY, exists
from burnqed.policy.prompt import DIALECTS, Example, PromptSettings
from burnqed.training.batches import Encoded, encode
from burnqed.training.checkpoints import find_checkpoint
from burnqed.training.found_lemmas import with_found_lemmas
from burnqed.training.lora import Base, find_model, identity, own_settings, own_shape, prepare
from burnqed.training.pairs import Chosen, choose, read_source
from burnqed.training.plans import NANO, Adapting, Dtype, Mixture


@dataclass(frozen=True, slots=True)
class Given:
    """Data and a base. A prompt setting that is None is the base's own."""

    data: tuple[Path, ...]
    extra: tuple[Path, ...] = ()
    val: tuple[Path, ...] = ()
    base: str = NANO
    nano_size: str = "6m"
    mixture: Mixture = field(default_factory=Mixture)
    adapting: Adapting = field(default_factory=Adapting)
    dtype: Dtype = "auto"
    prompt: str | None = None
    max_length: int | None = None
    tactic_tokens: int | None = None
    lemmas: int | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """Examples: `repeats[i]` is how often `train[i]` comes in an epoch."""

    train: tuple[Example, ...]
    repeats: tuple[int, ...]
    val_given: tuple[Example, ...] = ()
    val_found: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """A model and its data, in memory. `train` and `val` are the pairs of `chosen` as tokens."""

    loaded: Loaded
    precision: torch.dtype  # what is computed in
    chosen: Chosen
    train: Encoded
    val: Encoded
    material: Material
    checkpoint: Path | None  # to go on from


# -------------------------------------------------------------------------------------- directory


def read_data(given: Given, watcher: Watcher) -> tuple[Chosen, dict[str, Any], dict[str, Any]]:
    """What is trained on, and how the manifest names it and its places."""
    read = {
        "data": [read_source(path, watcher.warn) for path in given.data],
        "extra_data": [read_source(path, watcher.warn, found=True) for path in given.extra],
        "val": [read_source(path, watcher.warn) for path in given.val],
    }
    told = {
        key: [{"pairs": len(s.pairs), "checksum": s.checksum} for s in sources]
        for key, sources in read.items()
    }
    places = {key: [str(s.path) for s in sources] for key, sources in read.items()}
    return choose(read["data"], read["extra_data"], read["val"], given.mixture), told, places


def find_given_base(given: Given) -> tuple[Base | None, Adapting, dict[str, str]]:
    """The base, None where it is yet to be made; what of it is trained; and where it is."""
    if given.base == NANO:
        return None, given.adapting, {}
    base = find_model(given.base)
    place = str(Path(given.base).resolve()) if exists(given.base) else given.base
    return base, own_shape(base, given.adapting), {"base": place}


def told_settings(given: Given, accelerator: Any) -> dict[str, Any]:
    """The settings in a manifest that decide the result, besides the data and the base's weights."""
    nano = {"base": NANO, "nano_size": given.nano_size} if given.base == NANO else {}
    return {
        **nano,
        **asdict(given.mixture),
        **asdict(given.adapting),
        "dtype": given.dtype,
        "prompt": given.prompt,
        "max_length": given.max_length,
        "tactic_tokens": given.tactic_tokens,
        **({"lemmas": given.lemmas} if given.lemmas is not None else {}),
        "processes": accelerator.num_processes,
    }


def open_directory(
    out: Path,
    asked: dict[str, Any],
    places: dict[str, Any],
    base: Base | None,
    accelerator: Any,
    *,
    resume: bool,
) -> None:
    """One process opens the directory; what it has against it ends the others as well."""
    problem: list[BurnQedError | None] = [None]
    if accelerator.is_main_process:
        try:
            if base is not None:
                asked["base_identity"] = identity(base)
            open_run(out, asked, resume=resume, places=places)
            find_checkpoint(out)  # tidies up
        except BurnQedError as error:
            problem = [error]
    broadcast_object_list(problem)
    if problem[0] is not None:
        raise problem[0]


@contextmanager
def nothing_begun(out: Path, accelerator: Any, *, fresh: bool) -> Iterator[None]:
    """A directory that was `fresh` is so again after an error here: the next try may be another."""
    try:
        yield
    except BurnQedError:
        if fresh and accelerator.is_main_process:
            shutil.rmtree(out / NANO, ignore_errors=True)
            (out / MANIFEST).unlink(missing_ok=True)
        raise


# ------------------------------------------------------------------------------------ model and data


def make_ready(
    given: Given,
    base: Base | None,
    chosen: Chosen,
    out: Path,
    accelerator: Any,
    watcher: Watcher,
    seed: int,
) -> Ready:
    """The model and the data, where a checkpoint or the base leaves off."""
    base = base or _nano(given, chosen, out, accelerator, seed)
    checkpoint = find_checkpoint(out)
    precision, note = _precision(given.dtype, accelerator.device)
    # It plans anew for each length of a batch, which takes longer than the attention itself.
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.manual_seed(seed)
    weights = checkpoint / POLICY if checkpoint and (checkpoint / POLICY).is_dir() else checkpoint
    loaded = prepare(base, given.adapting, device_name(accelerator), precision, weights)
    for said in {note, loaded.note} - {""}:
        watcher.warn(said)
    settings = _prompt(given, own_settings(base, loaded))
    if not settings.dialect and any(pair.dialect for pair in chosen.train):
        settings = replace(settings, dialect=DIALECTS[0])  # how it is asked where nobody says otherwise
    loaded = replace(loaded, settings=settings)
    _check_room(loaded)
    if settings.lemmas:
        with watcher.counted("finding lemmas", len(chosen.train) + len(chosen.val)) as one:
            chosen = with_found_lemmas(chosen, settings.lemmas, one)
    with watcher.counted("tokenising", len(chosen.train) + len(chosen.val)) as one:
        train = encode(loaded.tokenizer, settings, chosen.train, one)
        val = encode(loaded.tokenizer, settings, chosen.val, one)
    material = _material(chosen, train, val)
    return Ready(loaded, precision, chosen, train, val, material, checkpoint)


def _prompt(given: Given, own: PromptSettings) -> PromptSettings:
    """The base's own settings, with what was asked for in their place."""
    tactic = given.tactic_tokens or own.tactic_tokens
    longest = given.max_length or own.max_length
    if longest <= tactic:
        raise InputError(
            f"--max-length {longest} leaves no room for a prompt beside {tactic} tokens of a tactic",
            hint="a larger --max-length, or a smaller --tactic-tokens",
        )
    lemmas = own.lemmas if given.lemmas is None else given.lemmas
    return PromptSettings(given.prompt or own.format, longest - tactic, tactic, own.dialect, lemmas)


def _nano(given: Given, chosen: Chosen, out: Path, accelerator: Any, seed: int) -> Base:
    """A small model of random weights, with a tokenizer made for what it is to read."""
    from burnqed.training.nano import SETTINGS, create

    directory = out / NANO
    if accelerator.is_main_process and not directory.is_dir():
        texts = (text for pair in chosen.train for text in (pair.state, pair.tactic))
        create(directory, given.nano_size, texts, seed, _prompt(given, SETTINGS))
    accelerator.wait_for_everyone()
    return Base(str(directory.resolve()))


def device_name(accelerator: Any) -> str:
    """The device by the name that models are loaded with: of several processes' CPUs there is one."""
    return "cpu" if accelerator.device.type == "cpu" else str(accelerator.device)


def _precision(dtype: Dtype, device: torch.device) -> tuple[torch.dtype, str]:
    """What is computed in, and a sentence where the CPU does not let it be what was asked for."""
    if dtype == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if fast else torch.float32, ""
    word, note = computed_in("bfloat16" if dtype == "bf16" else "float32", device.type)
    found: torch.dtype = getattr(torch, word)
    return found, note


def _check_room(loaded: Loaded) -> None:
    room = getattr(loaded.model.config, "max_position_embeddings", None)
    if room is not None and loaded.settings.max_length > room:
        raise InputError(
            f"the model reads {room} tokens, and --max-length is {loaded.settings.max_length}",
            hint=f"--max-length {room}",
        )


def _material(chosen: Chosen, train: Encoded, val: Encoded) -> Material:
    if not train.examples:
        raise InputError(
            "every tactic is longer than a tactic may be, or has an end of the prompt's format in it",
            hint="a larger --tactic-tokens, or another --prompt",
        )
    found = [chosen.val[place].found for place in val.places]
    both = list(zip(val.examples, found, strict=True))
    return Material(
        train=train.examples,
        repeats=tuple(chosen.repeats[place] for place in train.places),
        val_given=tuple(one for one, is_found in both if not is_found),
        val_found=tuple(one for one, is_found in both if is_found),
    )

"""A head on disk, with the name of its encoder: model.safetensors and config.json.

A head only works with the embeddings of one encoder. With those of another precision, or of a model
that was trained further, its energies would be worse than none. So the encoder's name is stored with
the head, and any other encoder is refused.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import torch

from burnqed.core.cache import brought
from burnqed.core.errors import CorruptError, InputError
from burnqed.core.files import publish
from burnqed.policy.models.checks import WEIGHTS, check_whole, fingerprint, read_json
from burnqed.policy.models.names import POLICY, VALUE, left_in
from burnqed.value.encoder import EncoderName, Pooling
from burnqed.value.energy import EnergyHead, HeadConfig
from burnqed.value.words import WORDS

CONFIG = "config.json"
KIND = "burn-qed energy head"
FORMAT = 1  # increased when older heads can no longer be read

_TRAIN = "train a head for this encoder: burn-qed train value"
_OPTIONS = {"dtype": "--dtype", "pooling": "--pooling", "prompt": "--prompt", "layer": "--layer"}


@dataclass(frozen=True, slots=True)
class SavedHead:
    """A head in evaluation mode, its encoder, and its directory.

    `source` is where the encoder's model was loaded from, if it was a model. It helps to find the model
    again, and does not identify it.
    """

    head: EnergyHead
    encoder: EncoderName
    directory: Path
    source: str

    @property
    def identity(self) -> str:
        """A checksum of its files, for manifests."""
        return fingerprint([self.directory / WEIGHTS, self.directory / CONFIG])


def write_head(directory: Path, head: EnergyHead, encoder: EncoderName, source: str = "") -> None:
    """Write both files. The weights include the spectral norms' vectors, so energies stay equal."""
    from safetensors.torch import save

    weights = {name: value.detach().cpu().contiguous() for name, value in head.state_dict().items()}
    config = {
        "kind": KIND, "format": FORMAT, "head": asdict(head.config), "encoder": asdict(encoder),
        "source": source,
    }  # fmt: skip
    publish(directory / WEIGHTS, save(weights))
    publish(directory / CONFIG, json.dumps(config, indent=2) + "\n")


def read_head(directory: Path) -> SavedHead:
    """Read the head in a directory, in that of its training, or from a bundle."""
    if not directory.exists():
        directory = brought("values", str(directory)) or directory
    directory = left_in(directory, VALUE)
    if not directory.is_dir():
        raise InputError(f"there is no value model {directory}", hint="burn-qed train value makes one")
    config, encoder, source = _read_config(directory / CONFIG)
    beside = (
        directory.parent / POLICY
    )  # the two were trained together, and may have been moved together
    if directory.name == VALUE and beside.is_dir():
        source = str(beside.resolve())
    with torch.random.fork_rng(devices=[]):  # reading must not change later random numbers
        head = EnergyHead(config)
    _load_weights(directory / WEIGHTS, head)
    return SavedHead(head.eval().requires_grad_(False), encoder, directory, source)


def check_encoder(saved: SavedHead, name: EncoderName) -> None:
    """Refuse any encoder but the head's own."""
    own, given = asdict(saved.encoder), asdict(name)
    different = [key for key in own if own[key] != given[key]]
    if not different:
        return
    both = "; ".join(f"its {key} is {_short(own[key])}, here {_short(given[key])}" for key in different)
    raise InputError(
        f"the value model in {saved.directory} needs another encoder: {both}",
        hint=_fix(own, different),
    )


def _fix(own: dict[str, Any], different: list[str]) -> str:
    """The options that turn this encoder into the head's, if any; else a new head is needed."""
    if not set(different) <= set(_OPTIONS):
        return _TRAIN
    prompt = str(own["prompt"]).split()[0]
    options = [f"{_OPTIONS[key]} {prompt if key == 'prompt' else own[key]}" for key in different]
    return f"{' '.join(options)}, or {_TRAIN}"


def _short(value: object) -> str:
    """The beginning of a checksum, or anything else whole."""
    text = str(value)
    return f"{text[:12]}…" if len(text) == 64 else text


def _read_config(path: Path) -> tuple[HeadConfig, EncoderName, str]:
    content = read_json(path)
    if content.get("kind") != KIND:
        raise InputError(
            f"{path.parent} is not a value model: {path.name} is of something else",
            hint="give a directory of burn-qed train value",
        )
    if content.get("format") != FORMAT:
        raise InputError(
            f"{path} has format {content.get('format')}, but only {FORMAT} can be read",
            hint="use the burn-qed that wrote it, or train again",
        )
    try:
        config = HeadConfig(**content["head"])
        encoder = EncoderName(**content["encoder"])
        kinds = {f.name: int if f.name in ("width", "layer") else str for f in fields(encoder)}
        fitting = all(type(getattr(encoder, name)) is kind for name, kind in kinds.items())
        known = encoder.model == WORDS or encoder.settings is not None
        fitting = fitting and encoder.pooling in get_args(Pooling) and known
        if not fitting or config.width != encoder.width or config.width < 1:
            raise ValueError("its fields contradict each other")
    except (KeyError, TypeError, ValueError, InputError) as error:
        raise CorruptError(
            f"cannot read {path}: {error}", hint="copy it again, or train again"
        ) from error
    return config, encoder, str(content.get("source", ""))


def _load_weights(path: Path, head: EnergyHead) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load

    check_whole(path)
    try:
        weights = load(path.read_bytes())
        head.load_state_dict(weights)
        if not all(bool(torch.isfinite(value).all()) for value in weights.values()):
            raise ValueError("some of its weights are not numbers")
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise CorruptError(
            f"cannot read {path}: {str(error).splitlines()[0]}",
            hint="copy it again, or train again",
        ) from error

"""A model's files: whether they are all there and whole, and a name for what is in them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from burnqed.core.errors import CorruptError, InputError
from burnqed.core.files import read_object
from burnqed.policy.ranked.files import is_ranker

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def read_json(path: Path) -> dict[str, Any]:
    """An object in a file that comes with a model."""
    absent = InputError(
        f"{path.parent} holds no model: there is no {path.name}",
        hint="give the directory that has config.json and model.safetensors",
    )
    return read_object(path, "copy or download it again", absent)


def weight_files(directory: Path) -> list[Path]:
    """The files with a model's weights, all there and none cut off."""
    if (directory / INDEX).is_file():
        named = read_json(directory / INDEX).get("weight_map")
        if not isinstance(named, dict) or not named:
            raise CorruptError(
                f"{directory / INDEX} names no weights", hint="copy or download it again"
            )
        files = [directory / str(name) for name in sorted(set(named.values()))]
    elif (directory / WEIGHTS).is_file():
        files = [directory / WEIGHTS]
    elif is_ranker(directory):
        raise InputError(
            f"{directory} is a ranker, and no language model", hint="--policy ranked searches with it"
        )
    else:
        raise InputError(
            f"{directory} holds no weights: there is no {WEIGHTS}, {INDEX} or .gguf file",
            hint="weights in other formats have to be saved as safetensors first",
        )
    for file in files:
        check_whole(file)
    return files


def check_whole(file: Path) -> None:
    """Refuse a safetensors file that is not as long as its header says."""
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")  # of the header, which follows
            if length > file.stat().st_size:
                raise ValueError("it is cut off")
            header = json.loads(opened.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        if file.stat().st_size != 8 + length + max(ends, default=0):
            raise ValueError("it is cut off")
    except FileNotFoundError:
        raise CorruptError(f"{file} is missing", hint="copy or download the model again") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptError(
            f"{file} is not a whole safetensors file: {error}", hint="copy or download it again"
        ) from error


def fingerprint(files: list[Path]) -> str:
    """Names a model by what is in its files, wherever they lie."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        with file.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        digest.update(f"{file.name} {content}\n".encode())
    return digest.hexdigest()

"""Models, checkpoints and results of trainings on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import torch

from burnqed.core.errors import CorruptError
from burnqed.core.files import publish_directory, publish_json, read_object, recover
from burnqed.policy.models.names import ADAPTER, BEST
from burnqed.policy.models.strict import save_pretrained, told
from burnqed.policy.prompt import PromptSettings, write_settings

CHECKPOINT, RESULT = "checkpoint", "result.json"
_STATE, _OPTIMIZER = "state.json", "optimizer.pt"

T = TypeVar("T")


def write_model(directory: Path, model: Any, tokenizer: Any, settings: PromptSettings) -> None:
    """A model, or an adapter, with all that is needed to ask it."""
    if hasattr(model, "peft_config"):
        save_pretrained(directory, model, tokenizer, save_embedding_layers=False)
        (directory / "README.md").unlink(missing_ok=True)  # peft's, with nothing in it but blanks
        _sort_modules(directory / ADAPTER)
    else:
        save_pretrained(directory, model, tokenizer)
    write_settings(directory, settings)


def _sort_modules(path: Path) -> None:
    """Peft has them in a set, whose order is another one in each process: a file's checksum is not."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content["target_modules"], list):
        content["target_modules"].sort()
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_checkpoint(
    out: Path, write_weights: Callable[[Path], None], optimizer: Any, progress: Any
) -> None:
    """All that a training needs to go on; `progress` is its dataclass of how far it is."""

    def write(directory: Path) -> None:
        write_weights(directory)
        torch.save(optimizer.state_dict(), directory / _OPTIMIZER)
        (directory / _STATE).write_text(json.dumps(asdict(progress)) + "\n", encoding="utf-8")

    publish_directory(out / CHECKPOINT, write)


def find_checkpoint(out: Path) -> Path | None:
    """The checkpoint to go on from; None when none was written yet."""
    recover(out / CHECKPOINT)
    recover(out / BEST)
    directory = out / CHECKPOINT
    return directory if directory.is_dir() else None


def read_progress(checkpoint: Path, kind: Callable[..., T]) -> T:
    """How far the training was, as the dataclass that was written."""
    path = checkpoint / _STATE
    try:
        return kind(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise CorruptError(
            f"cannot read {path}: {error}", hint=f"remove {checkpoint} to train from the beginning"
        ) from error


def read_optimizer(checkpoint: Path, optimizer: Any) -> None:
    """Put the optimizer where the checkpoint left it."""
    path = checkpoint / _OPTIMIZER
    try:
        optimizer.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # what is no pickle, or one of something else, fails in any way
        raise CorruptError(
            f"cannot read {path}: {told(error)}",
            hint=f"remove {checkpoint} to train from the beginning",
        ) from error


def write_result(out: Path, result: dict[str, Any]) -> None:
    """What a training came to; it is written last."""
    publish_json(out / RESULT, result)


def read_result(out: Path) -> dict[str, Any]:
    """What a training that is finished came to."""
    return read_object(out / RESULT, "remove it: --resume writes it again")

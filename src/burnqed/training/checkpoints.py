"""Models and checkpoints on disk: whole or not at all, the old one kept until the new one is there."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import torch

from burnqed.core.errors import CorruptError, InfrastructureError
from burnqed.core.runs import publish
from burnqed.core.storage import remedy
from burnqed.policy.models.names import BEST
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
    else:
        save_pretrained(directory, model, tokenizer)
    write_settings(directory, settings)


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
    publish(out / RESULT, json.dumps(result, indent=2, ensure_ascii=False) + "\n")


def read_result(out: Path) -> dict[str, Any]:
    """What a training that is finished came to."""
    path = out / RESULT
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
    except (OSError, ValueError) as error:
        raise CorruptError(
            f"cannot read {path}: {error}", hint="remove it: --resume writes it again"
        ) from error
    return content


# --------------------------------------------------------------------------------- directories


def publish_directory(target: Path, write: Callable[[Path], None]) -> None:
    """Fill a directory so that it is there whole, or not at all, or as it was before."""
    recover(target)
    fresh, old = _beside(target, "new"), _beside(target, "old")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            write(fresh)
            _sync(fresh)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        if target.exists():
            target.rename(old)
        fresh.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {target}: {error.strerror or error}",
            hint=f"{remedy(error, target)}; what was there before is kept",
        ) from error


def recover(target: Path) -> None:
    """Tidy up after a process that was killed while it put a directory in the place of another."""
    old = _beside(target, "old")
    if old.exists():
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(target)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{what}")


def _sync(directory: Path) -> None:
    """Have the disk hold the files before their directory gets its name."""
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())

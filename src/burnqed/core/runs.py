"""A run's directory: what was asked for is written down first, and a second run goes on from there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from burnqed.core.errors import BurnQedError, InfrastructureError, InputError
from burnqed.core.storage import remedy

MANIFEST = "manifest.json"
SUMMARY = "summary.json"  # what came of it, written when all of it is done
PLACES = "places"  # in the manifest


def open_run(
    directory: Path,
    asked: Mapping[str, Any],
    *,
    resume: bool,
    places: Mapping[str, Any] | None = None,
) -> None:
    """Make the directory of a new run, or make sure that the one there is the run that is meant.

    `asked` is all that decides the result. Resuming with anything else would mix two runs in one
    directory, so it is refused. `places` say where it came from when the run began, for people: a run
    may be carried elsewhere, so what is there is told by its checksum in `asked`, and not by its path.
    """
    path = directory / MANIFEST
    names = _names(directory)
    if MANIFEST not in names:
        if not all(_is_leftover(name) for name in names):
            raise InputError(
                f"{directory} is not empty, and holds no run", hint="give another directory with --out"
            )
        content = {**asked, PLACES: dict(places)} if places else asked
        publish(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return
    if not resume:
        raise InputError(
            f"{directory} holds a run already", hint="--resume goes on with it; --out names another"
        )
    before = read_manifest(directory)
    _refuse_changes(directory, {key: said for key, said in before.items() if key != PLACES}, asked)


def check_out(out: Path) -> None:
    """Refuse a place that cannot be a run's directory, before anything is set up for the run."""
    for place in (out, *out.parents):
        if os.path.isfile(place):  # noqa: PTH113  (it does not raise where it may not look)
            raise InputError(f"{place} is a file", hint="give a directory with --out")


def check_resumed(directory: Path, known: Mapping[str, Any]) -> None:
    """Refuse another run as `open_run` does, by what is known before long work makes the rest known."""
    if (directory / MANIFEST).exists():
        before = read_manifest(directory)
        _refuse_changes(directory, {key: before.get(key) for key in known}, known)


def _refuse_changes(directory: Path, before: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    different = [key for key in {**before, **asked} if before.get(key) != asked.get(key)]
    if different:
        changes = ", ".join(f"{k} was {before.get(k)!r}, now {asked.get(k)!r}" for k in different)
        raise InputError(
            f"the run in {directory} is another one: {changes}",
            hint="resume with the same settings, or start another run with --out",
        )


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(
            f"cannot use {directory}: {error.strerror}", hint="give another directory with --out"
        ) from error


def _is_leftover(name: str) -> bool:
    """Whether it is what `publish` leaves of a manifest when it is killed."""
    return name.startswith(f".{MANIFEST}.") and name.endswith(".tmp")


def read_manifest(directory: Path) -> dict[str, Any]:
    """What was asked of the run in a directory."""
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a JSON object")
    except FileNotFoundError:
        raise InputError(f"{directory} holds no run: there is no {MANIFEST}") from None
    except (OSError, ValueError) as error:
        raise InfrastructureError(f"cannot read {path}: {error}") from error
    return content


# What the runs of a command are, and the command that shows them.
_SHOWN = {
    "run": ("a run of expert iteration", "status"),
    "eval": ("an evaluation", "report"),
    "search": ("a search", "summary"),
    "negatives": ("a search beside proofs", "summary"),
    "train policy": ("a training", ""),
    "train value": ("a training", ""),
    "data trace": ("a trace", "data inspect"),
}


def command_of(directory: Path) -> str:
    """The command that a run is of, as its manifest has it; "" where there is none."""
    try:
        return str(read_manifest(directory).get("command", ""))
    except BurnQedError:
        return ""


def shown_by(directory: Path) -> str:
    """What a run's directory is and how to look at it, for who took it for another; "" for no run."""
    if (command := command_of(directory)) not in _SHOWN:
        return ""
    what, by = _SHOWN[command]
    told = f"`{shlex.join(['burn-qed', *by.split(), str(directory)])}`" if by else "its result.json"
    return f"it is {what}: {told} says what it came to"


def publish(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    parts = [content] if isinstance(content, str | bytes) else content
    if not path.name:
        raise InputError(f"cannot write {path}: it names no file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                for part in parts:
                    file.write(part.encode() if isinstance(part, str) else part)
                file.flush()
                os.fsync(file.fileno())
            if path.is_file():
                shutil.copymode(path, temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_names(path.parent)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {path}: {error.strerror or error}",
            hint=remedy(error, path),
        ) from error


def sync_names(directory: Path) -> None:
    """Put what files are called there on the disk: a rename alone may be lost with the power.

    Where the folder may be written to and not read, the system does it in its own time.
    """
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

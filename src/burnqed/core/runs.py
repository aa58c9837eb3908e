"""A run's directory: its settings are written first, so that a later run can resume it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from burnqed.core.errors import BurnQedError, InputError
from burnqed.core.files import publish_json, read_object

MANIFEST = "manifest.json"
SUMMARY = "summary.json"  # the results, written when all of it is done
PLACES = "places"  # in the manifest


def open_run(
    directory: Path,
    settings: Mapping[str, Any],
    *,
    resume: bool,
    places: Mapping[str, Any] | None = None,
) -> None:
    """Make the directory of a new run, or check that the existing one is the same run.

    `settings` are all that decides the result. Resuming with others would mix two runs in a directory,
    so it is refused. `places` record for people where the inputs were. They are not compared, because a
    run may be moved: checksums in `settings` identify the inputs.
    """
    path = directory / MANIFEST
    names = _names(directory)
    if MANIFEST not in names:
        if not all(_is_leftover(name) for name in names):
            raise InputError(
                f"{directory} is not empty and holds no run", hint="give another directory with --out"
            )
        content = {**settings, PLACES: dict(places)} if places else settings
        publish_json(path, content)
        return
    if not resume:
        raise InputError(
            f"{directory} holds a run already",
            hint="continue it with --resume, or give another --out",
        )
    before = read_manifest(directory)
    _refuse_changes(directory, {key: value for key, value in before.items() if key != PLACES}, settings)


def check_out(out: Path) -> None:
    """Refuse a path that cannot be a run's directory, before anything is set up."""
    for place in (out, *out.parents):
        if os.path.isfile(place):  # noqa: PTH113  (it does not raise where it may not look)
            raise InputError(f"{place} is a file", hint="give a directory with --out")


def check_resumed(directory: Path, known: Mapping[str, Any]) -> None:
    """Refuse another run like `open_run`, by the settings that are known before long work."""
    if (directory / MANIFEST).exists():
        before = read_manifest(directory)
        _refuse_changes(directory, {key: before.get(key) for key in known}, known)


def _named(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Each setting under its whole name: those of tables in tables, too."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _named(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _refuse_changes(directory: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    before, now = dict(_named(before)), dict(_named(now))
    different = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if different:
        changes = ", ".join(f"{k} was {before.get(k)!r}, now {now.get(k)!r}" for k in different)
        raise InputError(
            f"the run in {directory} has other settings: {changes}",
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
    """Whether a file is what a killed `publish` leaves of a manifest."""
    return name.startswith(f".{MANIFEST}.") and name.endswith(".tmp")


def read_manifest(directory: Path) -> dict[str, Any]:
    """The settings of the run in a directory."""
    absent = InputError(f"{directory} holds no run: it has no {MANIFEST}")
    return read_object(directory / MANIFEST, absent=absent)


# What each command's runs are called, and the command that shows them.
_SHOWN = {
    "run": ("a run of expert iteration", "status"),
    "eval": ("an evaluation", "report"),
    "search": ("a search", "summary"),
    "negatives": ("a search for hard negatives", "summary"),
    "train policy": ("a training", ""),
    "train value": ("a training", ""),
    "data trace": ("a trace", "data inspect"),
}


def command_of(directory: Path) -> str:
    """The command of a run, from its manifest; "" if there is none."""
    try:
        return str(read_manifest(directory).get("command", ""))
    except BurnQedError:
        return ""


def shown_by(directory: Path) -> str:
    """A hint for a wrong directory: what kind of run it is and how to see it; "" if it is not a run."""
    if (command := command_of(directory)) not in _SHOWN:
        return ""
    what, by = _SHOWN[command]
    where = f"`{shlex.join(['burn-qed', *by.split(), str(directory)])}`" if by else "its result.json"
    return f"it is {what}: {where} shows its results"

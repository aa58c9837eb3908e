"""TOML into frozen dataclasses, one for each section; what nobody asked for is refused.

A section is a dataclass whose fields have defaults, and is the one home of them. Its fields are
`int`, `float`, `str`, `bool`, tuples of one of these, or one of these or None.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from burnqed.core.errors import ConfigError

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file holds, or an error that names the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # TOML's errors and UTF-8's are both
        raise ConfigError(f"{path} is not TOML: {error}") from error


def overridden(content: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """The content with `section.key=value` settings in their places; a value is TOML, or plain text."""
    changed = {name: dict(own) if isinstance(own, dict) else own for name, own in content.items()}
    for setting in settings:
        place, equals, value = setting.partition("=")
        section, dot, key = place.strip().partition(".")
        if not (equals and dot and section and key):
            raise ConfigError(
                f"no setting: {setting}", hint="write --set section.key=value, as --set run.seed=1"
            )
        own = changed.setdefault(section, {})
        if not isinstance(own, dict):
            raise ConfigError(f"{section} is no section", hint="write --set section.key=value")
        own[key] = _toml_value(value.strip())
    return changed


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # `--set policy.base=nano` should not need quotes inside quotes


def sections(kind: type[T], content: Mapping[str, Any], where: str) -> T:
    """A dataclass of sections from what a TOML file holds."""
    known = get_type_hints(kind)
    _refuse_unknown(content, known, where, "section")
    built = {}
    for name, own in content.items():
        if not isinstance(own, dict):
            raise ConfigError(f"{where}: {name} is no section", hint=f"[{name}] begins one")
        built[name] = _section(known[name], own, f"{where}, [{name}]")
    return kind(**built)


def _section(kind: type[Any], content: Mapping[str, Any], where: str) -> Any:
    known = get_type_hints(kind)
    _refuse_unknown(content, known, where, "key")
    return kind(**{key: _value(value, known[key], f"{where}: {key}") for key, value in content.items()})


def _refuse_unknown(
    content: Mapping[str, Any], known: Mapping[str, Any], where: str, what: str
) -> None:
    for name in content:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            said = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}"
            raise ConfigError(f"{where}: no {what} {name}", hint=said)


def _value(value: Any, wanted: Any, where: str) -> Any:
    if get_origin(wanted) is UnionType:
        (wanted,) = (one for one in get_args(wanted) if one is not type(None))
    if get_origin(wanted) is tuple:
        if not isinstance(value, list):
            raise ConfigError(f"{where} is no list: {value!r}", hint="write [ … ]")
        return tuple(_value(one, get_args(wanted)[0], where) for one in value)
    # TOML tells 1 from 1.0, and people do not; but true is no number.
    allowed = (int, float) if wanted is float else wanted
    if not isinstance(value, allowed) or (isinstance(value, bool) and wanted is not bool):
        said = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[wanted]
        raise ConfigError(f"{where} is not {said}: {value!r}")
    return float(value) if wanted is float else value


def as_content(config: Any) -> dict[str, Any]:
    """A dataclass of sections as JSON or TOML would hold it: every default written out."""

    def plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    return {
        section: {key: plain(value) for key, value in own.items()}
        for section, own in dataclasses.asdict(config).items()
    }

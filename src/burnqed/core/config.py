"""Settings as frozen structs: a field is the one home of a setting's default, bounds and description.

A setting is `int`, `float`, `str`, `bool`, `Path`, a choice of words, tuples of one of these, or one of
these or None, annotated with `about`. TOML sections, options of commands and keyword arguments are all
built by `build`, which refuses what no field is called and what does not fit its field.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from burnqed.core.errors import ConfigError

T = TypeVar("T", bound=msgspec.Struct)

_WORDS: dict[Any, str] = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false", Path: "a path",
}  # fmt: skip


def about(description: str, group: str = "") -> msgspec.Meta:
    """What a setting is, in a sentence, and the heading that it stands under in `--help`."""
    return msgspec.Meta(description=description, extra={"group": group})


AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a struct, taken apart."""

    name: str
    type: type
    default: Any
    required: bool
    optional: bool  # None is a value
    many: bool  # a tuple of them
    least: float | None
    most: float | None
    choices: tuple[str, ...]
    description: str
    group: str

    @property
    def wanted(self) -> str:
        """What fits, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        said = _WORDS[self.type]
        match self.least, self.most:
            case None, None:
                pass
            case least, None:
                said += f", {least:g} or more"
            case least, most:
                said += f", {least:g} to {most:g}"
        return f"a list: each is {said}" if self.many else said


@cache
def settings_of(kind: type[msgspec.Struct]) -> Mapping[str, Setting]:
    """The settings of a struct by their names."""
    found = {}
    for field in msgspec.structs.fields(kind):
        known: dict[str, Any] = {"optional": False, "many": False, "least": None, "most": None}
        known |= {"choices": (), "description": "", "group": ""}
        _take_apart(field.type, known)
        default = (
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        )
        required = default is msgspec.NODEFAULT
        found[field.name] = Setting(
            name=field.name, default=None if required else default, required=required, **known
        )
    return found


def _take_apart(annotation: Any, known: dict[str, Any]) -> None:
    origin = get_origin(annotation)
    if origin is Annotated:
        annotation, *metas = get_args(annotation)
        for meta in metas:
            known["description"] = meta.description or known["description"]
            known["group"] = (meta.extra or {}).get("group", "") or known["group"]
            known["least"] = known["least"] if meta.ge is None else meta.ge
            known["most"] = known["most"] if meta.le is None else meta.le
        _take_apart(annotation, known)
    elif origin in (UnionType, Union):
        known["optional"] = True
        (rest,) = (one for one in get_args(annotation) if one is not NoneType)
        _take_apart(rest, known)
    elif origin is tuple:
        known["many"] = True
        _take_apart(get_args(annotation)[0], known)
    elif origin is Literal:
        known["type"], known["choices"] = str, get_args(annotation)
    else:
        known["type"] = annotation


def build(
    kind: type[T], values: Mapping[str, Any], where: str = "", called: Callable[[str], str] = str
) -> T:
    """A struct of these values and its defaults; `where` they come from begins the message.

    `called` says what a setting is called where they come from.
    """
    settings = settings_of(kind)
    start = f"{where}: " if where else ""
    refuse_unknown(values, settings, where, "setting")
    hints = get_type_hints(kind, include_extras=True)
    fitting = {}
    for name, value in values.items():
        try:
            fitting[name] = msgspec.convert(value, hints[name], dec_hook=_decoded)
        except msgspec.ValidationError:
            wanted, shown = settings[name], called(name)
            said = f"{shown} is {value!r}"
            if wanted.choices and isinstance(value, str):
                said = f"no {name.replace('_', ' ')} {value}"
            raise ConfigError(start + said, hint=f"{shown} is {wanted.wanted}") from None
    for setting in settings.values():
        if setting.required and setting.name not in values:
            raise ConfigError(f"{start}no {setting.name}", hint=setting.description)
    return kind(**fitting)


def validated(config: T, where: str = "") -> T:
    """The same struct, once its values are known to fit: who makes one in Python is not checked."""
    return build(type(config), msgspec.structs.asdict(config), where)


def _decoded(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise msgspec.ValidationError(f"not a {kind}")


def refuse_unknown(values: Mapping[str, Any], known: Mapping[str, Any], where: str, what: str) -> None:
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            said = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}"
            start = f"{where}: " if where else ""
            raise ConfigError(f"{start}no {what} {name}", hint=said)


# --------------------------------------------------------------------------------------- TOML


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
    """A struct of sections, each a struct of settings, from what a TOML file holds."""
    known = get_type_hints(kind)
    refuse_unknown(content, known, where, "section")
    built = {}
    for name, own in content.items():
        if not isinstance(own, dict):
            raise ConfigError(f"{where}: {name} is no section", hint=f"[{name}] begins one")
        built[name] = build(known[name], own, f"{where}, [{name}]")
    return kind(**built)


def as_content(config: msgspec.Struct) -> dict[str, Any]:
    """A struct of settings or of sections as JSON or TOML would hold it: every default written out."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(config, enc_hook=str))
    return content

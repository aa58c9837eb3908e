"""Settings as frozen structs: each field holds a setting's default, bounds and description.

A setting is an `int`, `float`, `str`, `bool`, `Path` or choice of words, a tuple of these, or one of
these or None, annotated with `about`; or a struct of settings, which is a table within its section.
`build` makes structs from TOML sections, options of commands and keyword arguments. It refuses unknown
names and values that do not fit their field.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
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


def about(description: str, group: str = "", flag: str = "") -> msgspec.Meta:
    """A setting's description, its heading in `--help`, and its option if that has another name."""
    return msgspec.Meta(description=description, extra={"group": group, "flag": flag})


AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a struct."""

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
    flag: str  # the option on the command line

    @property
    def is_table(self) -> bool:
        """Whether it is a struct of settings itself."""
        return issubclass(self.type, msgspec.Struct)

    @property
    def is_list_of_numbers(self) -> bool:
        """On the command line such a list is one word, as 10,30,100; others are repeated options."""
        return self.many and self.type is int

    @property
    def wanted(self) -> str:
        """The values that fit, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        words = _WORDS[self.type]
        match self.least, self.most:
            case None, None:
                pass
            case least, None:
                words += f", {least:g} or more"
            case least, most:
                words += f", {least:g} to {most:g}"
        return f"a list: each is {words}" if self.many else words


@cache
def settings_of(kind: type[msgspec.Struct]) -> Mapping[str, Setting]:
    """The settings of a struct by their names."""
    found = {}
    for field in msgspec.structs.fields(kind):
        known: dict[str, Any] = {"optional": False, "many": False, "least": None, "most": None}
        known |= {"choices": (), "description": "", "group": ""}
        known["flag"] = "--" + field.name.replace("_", "-")
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
            for key in ("group", "flag"):
                known[key] = (meta.extra or {}).get(key, "") or known[key]
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
    """A struct of these values and its defaults.

    `where` the values come from begins an error's message, and `called` gives a setting's name there.
    """
    settings = settings_of(kind)
    start = f"{where}: " if where else ""
    refuse_unknown(values, settings, where, "setting")
    hints = get_type_hints(kind, include_extras=True)
    fitting = {}
    for name, value in values.items():
        if settings[name].is_table:
            fitting[name] = _table(settings[name], value, where)
            continue
        try:
            fitting[name] = msgspec.convert(value, hints[name], dec_hook=_decoded)
        except msgspec.ValidationError:
            wanted, shown = settings[name], called(name)
            problem = f"{shown} is {value!r}"
            if wanted.choices and isinstance(value, str):
                problem = f"unknown {name.replace('_', ' ')} {value}"
            raise ConfigError(start + problem, hint=f"{shown} must be {wanted.wanted}") from None
    for setting in settings.values():
        if setting.required and setting.name not in values:
            raise ConfigError(f"{start}{setting.name} is missing", hint=setting.description)
    return kind(**fitting)


def _table(setting: Setting, value: Any, where: str) -> Any:
    inner = f"{where.removesuffix(']')}.{setting.name}]" if where.endswith("]") else setting.name
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{inner}: {value!r} is not a table", hint="write its settings below it")
    return build(setting.type, value, inner)


def validated(config: T, where: str = "") -> T:
    """The same struct, once its values are checked: a struct made in Python may hold any value."""
    return build(type(config), msgspec.structs.asdict(config), where)


def _decoded(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise msgspec.ValidationError(f"not a {kind}")


def refuse_unknown(values: Mapping[str, Any], known: Mapping[str, Any], where: str, what: str) -> None:
    for name in values:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are: {', '.join(known)}"
            start = f"{where}: " if where else ""
            raise ConfigError(f"{start}unknown {what} {name}", hint=hint)


# --------------------------------------------------------------------------------------- TOML


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, or an error that names the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # TOML's errors and UTF-8's are both
        raise ConfigError(f"{path} is not TOML: {error}") from error


def overridden(content: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """The content, changed by settings `section.key=value`. A value is TOML or plain text."""
    changed = deepcopy(dict(content))
    for setting in settings:
        place, equals, value = setting.partition("=")
        *tables, key = place.strip().split(".")
        if not (equals and tables and key and all(tables)):
            raise ConfigError(
                f"not a setting: {setting}", hint="write --set section.key=value, as --set run.seed=1"
            )
        own = changed
        for name in tables:
            own = own.setdefault(name, {})
            if not isinstance(own, dict):
                raise ConfigError(f"{name} is not a section", hint="write --set section.key=value")
        own[key] = _toml_value(value.strip())
    return changed


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # `--set policy.base=nano` should not need quotes inside quotes


def sections(kind: type[T], content: Mapping[str, Any], where: str) -> T:
    """A struct of sections, each a struct of settings, from the content of a TOML file."""
    known = get_type_hints(kind)
    refuse_unknown(content, known, where, "section")
    built = {}
    for name, own in content.items():
        if not isinstance(own, dict):
            raise ConfigError(f"{where}: {name} is not a section", hint=f"begin it with [{name}]")
        built[name] = build(known[name], own, f"{where}, [{name}]")
    return kind(**built)


def as_content(config: msgspec.Struct) -> dict[str, Any]:
    """A struct of settings or sections as plain data for JSON or TOML, defaults included."""
    content: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(config, enc_hook=str))
    return content


def from_json(kind: Any, text: bytes) -> Any:
    """What `as_content` made JSON of, as the struct that it was."""
    return msgspec.json.decode(text, type=kind, dec_hook=_decoded)

"""Configurations of before there were tables: `options`, a list of words of a command line.

A run that was begun with one goes on; a file that still has one is refused with what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from burnqed.core.config import Setting, settings_of
from burnqed.core.errors import ConfigError
from burnqed.iteration import settings

OPTIONS = "options"
_RANKER = "ranker"
Tables = dict[str, type[msgspec.Struct]]


def translated(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The same configuration with tables in the place of options, and one project for all stages."""
    content = _one_project(content)
    return {name: _section(name, own, content, where) for name, own in content.items()}


def _one_project(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """A lake project was a setting of searches and of evaluations."""
    found = dict(content)
    for name in ("search", "eval"):
        tables = content.get(name)
        own = tables.get("settings") if isinstance(tables, Mapping) else None
        if isinstance(tables, Mapping) and isinstance(own, Mapping) and "project" in own:
            rest = {key: value for key, value in own.items() if key != "project"}
            found[name] = {**tables, "settings": rest}
            found["run"] = {"project": own["project"], **found.get("run", {})}
    return found


def refuse_options(content: Mapping[str, Any], where: str) -> None:
    """Say what stands in the place of options."""
    for name, own in content.items():
        if not isinstance(own, Mapping) or OPTIONS not in own:
            continue
        tables = translated({**content, name: own}, where)[name]
        written = [
            f"[{name}.{table}] {key} = {_toml(value)}"
            for table in _tables(name, content)
            for key, value in tables.get(table, {}).items()
        ]
        raise ConfigError(
            f"{where}, [{name}]: options are settings with names",
            hint=f"write {', '.join(written)}" if written else "leave out options",
        )


def _section(name: str, own: Any, content: Mapping[str, Any], where: str) -> Any:
    if not isinstance(own, Mapping) or OPTIONS not in own:
        return own
    tables, place = _tables(name, content), f"{where}, [{name}]"
    found: dict[str, dict[str, Any]] = {table: {} for table in tables}
    if name == "value":  # it was among the options, and whoever gave others had it not
        found["training"]["slower"] = False
    for table, key, value in _read(own[OPTIONS], tables, place):
        before = found[table].get(key)
        found[table][key] = [*before, *value] if isinstance(before, list) else value
    kept = {key: value for key, value in own.items() if key != OPTIONS}
    return kept | {table: values for table, values in found.items() if values}


def _tables(section: str, content: Mapping[str, Any]) -> Tables:
    """Where the options of a section are settings now."""
    policy = content.get("policy", {})
    ranked = isinstance(policy, Mapping) and policy.get("base") == _RANKER
    known: dict[str, Tables] = {
        "policy": {"ranker": settings.RankerSettings}
        if ranked
        else {"training": settings.PolicySettings},
        "search": {"settings": settings.SearchSettings},
        "value": {"training": settings.ValueSettings, "encoder": settings.EncoderSettings},
        "eval": {"settings": settings.EvalSettings},
    }
    return known.get(section, {})


def _read(options: Any, tables: Tables, where: str) -> Iterator[tuple[str, str, Any]]:
    """Each option as a setting: its table, its key and its value."""
    flags = {
        setting.flag: (table, setting)
        for table, kind in tables.items()
        for setting in settings_of(kind).values()
    }
    words = [str(word) for word in options] if isinstance(options, list | tuple) else [str(options)]
    while words:
        flag, equals, value = words.pop(0).partition("=")
        plain = flag.replace("--no-", "--", 1)
        if flag not in flags and not (plain in flags and flags[plain][1].type is bool):
            raise ConfigError(
                f"{where}: the option {flag} is not a setting of a run",
                hint="finish the run with the burn-qed that began it (its manifest.json has the "
                "version), or begin another without that option",
            )
        table, setting = flags[flag if flag in flags else plain]
        if setting.type is bool:
            yield table, setting.name, flag == setting.flag
            continue
        if not equals and not words:
            raise ConfigError(f"{where}: {flag} has no value", hint="give it one")
        yield table, setting.name, _value(setting, value if equals else words.pop(0), where)


def _value(setting: Setting, text: str, where: str) -> Any:
    given: list[Any] = text.split(",") if setting.is_list_of_numbers else [text]
    try:
        if setting.type in (int, float):
            given = [setting.type(one) for one in given]
    except ValueError:
        raise ConfigError(
            f"{where}: {setting.flag} is {text}", hint=f"{setting.name} is {setting.wanted}"
        ) from None
    return given if setting.many else given[0]


def _toml(value: Any) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case _:
            return str(value)

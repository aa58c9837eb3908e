"""Options of commands out of settings, whose fields state defaults, bounds and descriptions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from burnqed.core.config import Setting, build, settings_of
from burnqed.core.errors import InputError

Command = Callable[..., None]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="The run's directory.")]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Go on with what is in --out.")]

_FLAGS = {
    "imports": "--import",
    "matched": "--match",
}  # where an option is not called as its setting is
_METAVARS = {
    "model": "DIR", "value": "DIR", "encoder": "DIR|URL", "imports": "MODULE", "prompt": "FORMAT",
    "base": "MODEL", "budgets": "N,N,…", "policy": "KIND", "toolchain": "KIND", "embeddings": "DIR",
    "resume_from": "DIR",
}  # fmt: skip


def configured(
    kind: type[msgspec.Struct],
    parameter: str = "config",
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
) -> Callable[[Command], Command]:
    """A command with a struct for a parameter: the settings become options, beside those of its own."""
    known = settings_of(kind)
    names = [name for name in only or known if name not in without]
    settings = sorted((known[name] for name in names), key=lambda setting: setting.group != "")

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters
        kept = [one for name, one in own.items() if name != parameter]
        kept += [_parameter(setting) for setting in settings]

        @functools.wraps(command)
        def adapted(**given: Any) -> None:
            told = {name: given.pop(name) for name in names}
            values = {
                name: _value(known[name], said) for name, said in told.items() if said is not None
            }
            command(**given, **{parameter: build(kind, values, called=_flag)})

        adapted.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        adapted.__annotations__ = {one.name: one.annotation for one in kept}
        return adapted

    return decorate


def _flag(name: str) -> str:
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


def _parameter(setting: Setting) -> inspect.Parameter:
    flag = _flag(setting.name)
    if setting.type is bool and setting.default:
        flag += f"/--no-{flag.removeprefix('--')}"
    default = setting.default
    annotation: Any = str if _is_list_of_numbers(setting) else setting.type
    if _is_list_of_numbers(setting):
        default = ",".join(map(str, setting.default))
    elif setting.many:
        annotation, default = list[setting.type], None  # type: ignore[name-defined]
    if default is None and not setting.required:
        annotation = annotation | None
    numeric = setting.type in (int, float) and not setting.many
    info = typer.Option(
        flag,
        help=setting.description,
        metavar=_METAVARS.get(setting.name),
        rich_help_panel=setting.group or None,
        min=setting.least if numeric else None,
        max=setting.most if numeric else None,
    )
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if setting.required else default,
        annotation=Annotated[annotation, info],
    )


def _is_list_of_numbers(setting: Setting) -> bool:
    """Such a list is one word on the command line, as 10,30,100; other lists are repeated options."""
    return setting.many and setting.type is int


def _value(setting: Setting, said: Any) -> Any:
    if not _is_list_of_numbers(setting):
        return said
    try:
        return [int(part) for part in said.split(",")]
    except ValueError:
        raise InputError(
            f"no {setting.name}: {said}", hint="numbers with commas, as 10,30,100"
        ) from None

"""Command options made from settings, whose fields hold defaults, bounds and descriptions."""

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

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to write to.")]
TrainingOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="The training's directory.")]
ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Where to search: local, or the nodes of a Ray cluster: ray (this machine's, or that of "
        "RAY_ADDRESS), HOST:PORT or ray://HOST:PORT. --workers is then of each node. Results are "
        "the same.",
    ),
]
ResumeOption = Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")]

_A_SOURCE = (
    "a source that was fetched, SOURCE=PATH, a trace, or a file or folder whose columns say what it is"
)


def source_argument(what: str, more: str = "") -> Any:
    """The argument that names recorded proofs, in every command that reads some."""
    return typer.Argument(metavar="INPUT", help=f"{what}: {_A_SOURCE}{more}.")


_METAVARS = {
    "model": "DIR", "value": "DIR", "encoder": "DIR|URL", "imports": "MODULE", "prompt": "FORMAT",
    "base": "MODEL", "budgets": "N,N,…", "policy": "KIND", "toolchain": "KIND", "embeddings": "DIR",
    "resume_from": "DIR", "module": "PREFIX", "lean": "PATH", "leandojo": "FILE", "jsonl": "FILE",
    "theorems": "SET", "without": "SET", "unproved": "RUN", "sample": "N", "at_most": "N",
    "state": "TEXT", "tokenizer": "MODEL", "follow": "SOURCE", "source": "SOURCE",
    "renames": "FILE", "runs": "RUN",
}  # fmt: skip


def configured(
    kind: type[msgspec.Struct],
    parameter: str = "config",
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
) -> Callable[[Command], Command]:
    """Turn a command's struct parameter into options, one for each setting."""
    known = settings_of(kind)
    names = [name for name in only or known if name not in without]
    settings = sorted((known[name] for name in names), key=lambda setting: setting.group != "")

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters
        kept = [one for name, one in own.items() if name != parameter]
        kept += [_parameter(setting) for setting in settings]

        @functools.wraps(command)
        def adapted(**given: Any) -> None:
            values = {
                name: _value(known[name], value)
                for name in names
                if (value := given.pop(name)) is not None
            }
            command(**given, **{parameter: build(kind, values, called=lambda name: known[name].flag)})

        adapted.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
        adapted.__annotations__ = {one.name: one.annotation for one in kept}
        return adapted

    return decorate


def given(context: typer.Context, kind: type[msgspec.Struct]) -> list[Setting]:
    """The settings that the command line names, whatever it says of them."""
    sources = {name: context.get_parameter_source(name) for name in settings_of(kind)}
    named = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return [setting for name, setting in settings_of(kind).items() if name in named]


def _parameter(setting: Setting) -> inspect.Parameter:
    flag = setting.flag
    if setting.type is bool and setting.default:
        flag += f"/--no-{flag.removeprefix('--')}"
    default = setting.default
    annotation: Any = str if setting.is_list_of_numbers else setting.type
    if setting.is_list_of_numbers:
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


def _value(setting: Setting, given: Any) -> Any:
    if not setting.is_list_of_numbers:
        return given
    try:
        return [int(part) for part in given.split(",")]
    except ValueError:
        raise InputError(
            f"{setting.flag} cannot be {given}",
            hint="give numbers with commas, such as 10,30,100",
        ) from None

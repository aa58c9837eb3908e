"""From options to real objects: a toolchain, and how to start its REPL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from burnqed.lean.embedded.progress import Terminal
from burnqed.lean.process import LaunchSpec
from burnqed.lean.toolchain import Toolchain, find

ToolchainOption = Annotated[
    str | None,
    typer.Option(
        "--toolchain",
        metavar="KIND",
        help="embedded, native or pantograph; by itself, a native Lean if there is one.",
    ),
]
ProjectOption = Annotated[
    Path | None,
    typer.Option("--project", help="A lake project; its packages can be imported (native Lean)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def lean(
    kind: str | None, project: Path | None, arguments: Sequence[str]
) -> tuple[Toolchain, LaunchSpec]:
    """The toolchain, and how to start a REPL with these modules.

    What has to be set up for that is set up now, in front of the user.
    """
    with Terminal() as progress:
        toolchain = find(progress, kind, project.resolve() if project else None)
        return toolchain, toolchain.launch(arguments)

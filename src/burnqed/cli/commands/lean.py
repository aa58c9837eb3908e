"""`burn-qed lean install | info | bundle | clean | tactic`: toolchains, and the tactic `qed?`."""

from __future__ import annotations

import json

import typer
from rich.table import Table

from burnqed.cli import tables
from burnqed.cli.commands.lean_bundle import bundle_command
from burnqed.cli.commands.lean_clean import clean_command
from burnqed.cli.commands.lean_install import install_command
from burnqed.cli.commands.lean_tactic import tactic_command
from burnqed.cli.options import JsonOption
from burnqed.core.cache import cache_root
from burnqed.lean import installed

app = typer.Typer(
    no_args_is_help=True,
    help="Install Lean, show what is installed, bundle it, clean up; a tactic for your own Lean.",
)
app.command("install")(install_command)


@app.command()
def info(as_json: JsonOption = False) -> None:
    """Show which Leans are installed, and where."""
    found = installed.toolchains()
    if as_json:
        typer.echo(json.dumps({"cache": str(cache_root()), "toolchains": found}))
        return
    table = Table("toolchain", "version", "state", "where")
    for entry in found:
        table.add_row(entry["kind"], entry["version"], entry["state"], entry["where"])
    tables.console().print(table)


app.command("clean")(clean_command)
app.command("bundle")(bundle_command)
app.command("tactic")(tactic_command)

"""`burn-qed`: the commands, and how failures are reported.

Exit codes: 0 success; 1 a negative answer (refused, not found); 2 bad input; 3 the machinery failed,
which proves nothing about any theorem; 130 interrupted.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from burnqed.cli.commands import (
    attribute,
    check,
    compare,
    data,
    doctor,
    embed,
    embeddings,
    eval,
    export,
    lean,
    mcp,
    model,
    negatives,
    pairs,
    prove,
    repl,
    report,
    run,
    search,
    serve,
    status,
    summary,
    train,
    web,
)
from burnqed.core import screen
from burnqed.core.errors import BurnQedError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A Lean 4 theorem prover: a model proposes, search explores, Lean judges.",
    epilog="Start with **burn-qed doctor**: it shows what is installed and what is missing.",
)
app.add_typer(lean.app, name="lean")
app.add_typer(data.app, name="data")
app.add_typer(train.app, name="train")
app.add_typer(serve.app, name="serve")
app.add_typer(embeddings.app, name="embeddings")
app.command("run")(run.run_command)
app.command("iterate")(run.iterate_command)
app.command("baseline")(run.baseline_command)
app.command("lean-start")(run.lean_start_command)
app.command("smoke")(run.smoke_command)
app.command("status")(status.status_command)
app.command("reset")(status.reset_command)
app.command("prove")(prove.prove_command)
app.command("search")(search.search_command)
app.command("negatives")(negatives.negatives_command)
app.command("pairs")(pairs.pairs_command)
app.command("summary")(summary.summary_command)
app.command("eval")(eval.eval_command)
app.command("attribute")(attribute.attribute_command)
app.command("compare")(compare.compare_command)
app.command("report")(report.report_command)
app.command("web")(web.web_command)
app.command("mcp")(mcp.mcp_command)
app.command("model")(model.model_command)
app.command("embed")(embed.embed_command)
app.command("export")(export.export_command)
app.command("check")(check.check_command)
app.command("doctor")(doctor.doctor)
app.command(
    "repl",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)(repl.repl)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"burn-qed {version('burn-qed')}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """A Lean 4 theorem prover: a model proposes, search explores, Lean judges."""


def main() -> None:
    """Run the command. A failure prints one or two lines on stderr and sets the exit code."""
    with screen.shown():
        _run()


def _run() -> None:
    try:
        app()
    except BurnQedError as error:
        print(f"error: {error.message or type(error).__name__}", file=sys.stderr)
        if error.hint:
            print(f"  fix: {error.hint}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output is gone, such as `head`
        sys.stderr.close()
        sys.exit(1)

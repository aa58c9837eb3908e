"""`burn-qed prove`: a statement, or the `sorry`s of a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from burnqed.cli import tables
from burnqed.cli.asking import Wanted, prove_there, refuse_unsendable
from burnqed.cli.explaining import Explanation
from burnqed.cli.live import SearchView
from burnqed.cli.options import JsonOption, configured, given
from burnqed.cli.proof_output import end_file, end_statement, end_suggesting
from burnqed.cli.rewriting import check_rewritable
from burnqed.cli.told import machinery_of, of_attempt, of_file, of_times
from burnqed.core.errors import InputError
from burnqed.evaluation.file import FileResult
from burnqed.evaluation.prove import Attempt
from burnqed.lean.holes import sorry_at
from burnqed.lean.pool import run_sync
from burnqed.lean.source_file import read_standard_input
from burnqed.prover.assembly import Assembled, assemble
from burnqed.prover.config import Config
from burnqed.prover.leans import in_project, modules_of
from burnqed.prover.suggesting import suggestions
from burnqed.prover.task import Task, attempt, gate_of, refuse_danger, task_of

T = TypeVar("T")


@configured(Config)
def prove_command(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENT|FILE.lean|-",
            help="A proposition, a `theorem … : …`, a Lean file with `sorry`s, or - for stdin.",
        ),
    ],
    config: Config,
    write: Annotated[
        bool,
        typer.Option("--write", help="Put the proofs into FILE.lean instead of printing the file."),
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="LINE[:COL]",
            help="Prove only the `sorry` at this place. Lines count from 1 and columns from 0, as in "
            "the table; the only `sorry` of a line needs no column.",
        ),
    ] = None,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest",
            help="For editors: print what fills each `sorry` as JSON, with text edits of the Language "
            "Server Protocol.",
        ),
    ] = False,
    disprove: Annotated[
        bool,
        typer.Option(
            "--disprove",
            help="Prove that the statement is false: search for a proof of its negation. Of a file, "
            "that is its last theorem.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also say what each search chose between: log-probability, energy and score of each "
            "state.",
        ),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Ask a `burn-qed serve prove`, such as http://127.0.0.1:8200, whose Leans are warm. "
            "Its token is read from BURN_QED_TOKEN.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove a statement, or fill each `sorry` of a file, and print the finished Lean.

    A proof only counts once it is judged: it is compiled as a whole, the kernel of a second Lean that
    never sees its text checks it, and its axioms are inspected. Refused proofs are not printed. While
    other `sorry`s of its theorem stay open, a `sorry` is filled without a verdict; the table shows
    which. Lean goes to stdout, messages to stderr.

    The commands of the text may define and prove things, but not run code, as in `check`. --trust
    allows code, and then a verdict is only as trustworthy as the text.

    A file in a lake project is read with the project's own Lean, options and built modules
    (docs/projects.md). --project names another one, and gives a statement all of its modules.

    By default, tactics come from rules and from lemmas of the library, ordered by a trained ranker. A
    library that the text imports is read once. --policy portfolio uses the rules only.

    Small values and automation may show that a statement is false. "false: n = 5" means that the kernel
    accepted a proof of the negation. --disprove looks for such a proof with all of the budget. What the
    judge accepts is printed as a theorem, `¬ (…)`, and called "disproved". "not false" means that the
    negation was refuted.

    On a terminal you see the goal and the tactics in hand. At the end it says where the time went.

    Examples:

        burn-qed prove '∀ n : Nat, 2 ∣ n * (n + 1)'

        burn-qed prove Draft.lean --nodes 1000 --write

        burn-qed prove Draft.lean --at 12:20 --suggest

        burn-qed prove '∃ n : Nat, n * n = n + 1' --disprove

        burn-qed prove '∀ p q : Prop, p ∧ q → q ∧ p' --value models/joint --beta 0.8 --explain

        burn-qed prove Draft.lean --server http://127.0.0.1:8200

    --explain lists the states that were expanded, in their order, and those that each led to, the best
    score first. The score decides what is expanded next. It has the energies of a --value model;
    --alpha and --beta set its weights by hand.

    With --server, the policy, the Lean and the judge are the server's, and so are --nodes and
    --seconds by default. "proved" then is the word of its judge: `burn-qed check` asks the one here.
    Ctrl-C cancels the search there.

    With --write, a file that cannot be rewritten is refused before the search. If writing fails later,
    the proofs are printed.

    With --at, the other `sorry`s stay, and the exit code is about the theorem around this one.

    Exit codes: 0 proved, 1 false or not found within the budget, 2 bad input, 3 Lean or the server
    failed, 130 interrupted. With --disprove: 0 disproved, 1 not false or not found.
    """
    if server is not None:
        _refuse_with_server(context, explain=explain, disprove=disprove)
    task = _read(what)
    if disprove and (write or at is not None or suggest):
        raise InputError("--disprove proves one statement, and neither fills a `sorry` nor writes")
    if write and (task.path is None or not task.has_holes):
        raise InputError("--write needs a file that contains a `sorry`")
    if (at is not None or suggest) and not task.has_holes:
        raise InputError(f"{'--suggest' if suggest else '--at'} needs a text that contains a `sorry`")
    if suggest and (write or as_json):
        raise InputError("--suggest prints edits, and neither writes nor prints results")
    place = None if at is None else sorry_at(task.source.body, *_position(at))
    refuse_danger(task, trust=config.trust)
    original = check_rewritable(task.path) if write and task.path is not None else None
    if disprove or not task.has_holes:
        _ = task.theorem  # refuses a text that is not a statement
    if server is not None:
        named = given(context, Config)
        wanted = Wanted(None if at is None else _position(at), suggest, original, as_json)
        raise typer.Exit(prove_there(server, task, config, named, wanted))
    config = in_project(config, task.path)
    view = SearchView(quiet=as_json or suggest)
    with view.loading():
        modules = modules_of(config, task.imports)
        prover = assemble(config, modules, config.nodes, tables.warn, file=task.path)
    explanation = Explanation(view.begun, prover.guide.scoring) if explain else None
    work = _attempt(prover, config, task, view, place, negate=disprove)
    found = _watched(view, work, explanation)
    more: dict[str, Any] = {}
    if explanation is not None and as_json:
        more = {"explanation": explanation.to_json()}
    elif explanation is not None:
        explanation.show()
    machinery, times = machinery_of(prover), of_times(view.times)
    if isinstance(found, FileResult):
        won = found.fills if at is not None else found.proved
        told = of_file(found, task)
        if suggest:
            raise typer.Exit(end_suggesting(suggestions(found, task.text), told, won=won))
        raise typer.Exit(end_file(told, task, original, machinery, times, as_json, more, won=won))
    said = of_attempt(found, task.theorem)
    raise typer.Exit(end_statement(said, view.learnt, machinery, times, as_json, more))


def _refuse_with_server(context: typer.Context, **options: bool) -> None:
    refuse_unsendable(given(context, Config), [f"--{name}" for name, on in options.items() if on])


def _read(what: str) -> Task:
    if what == "-":
        return Task(read_standard_input())
    # `Path.exists` raises for a statement that is longer than the name of a file can be.
    is_file = what.endswith(".lean") or os.path.exists(what)  # noqa: PTH110
    return task_of(Path(what) if is_file else what)


def _position(at: str) -> tuple[int, int | None]:
    found = re.fullmatch(r"(\d{1,9})(?::(\d{1,9}))?", at, re.ASCII)
    if found is None:
        raise InputError(
            f"--at {at}: this is not a place", hint="give LINE or LINE:COL, as in --at 12:20"
        )
    return int(found[1]), None if found[2] is None else int(found[2])


async def _attempt(
    prover: Assembled,
    config: Config,
    task: Task,
    view: SearchView,
    place: int | None,
    *,
    negate: bool,
) -> Attempt | FileResult:
    workers = config.workers if task.has_holes and place is None and not negate else 1
    async with prover.opened(gate_of(trust=config.trust), workers) as opened:
        return await attempt(opened, task, config.seed, view, place, negate=negate)


def _watched(view: SearchView, work: Coroutine[Any, Any, T], explanation: Explanation | None) -> T:
    """Run with the live view on. Ctrl-C prints what the search has seen."""
    try:
        with view.shown():
            return run_sync(work)
    except KeyboardInterrupt:
        if explanation is not None:
            explanation.show()
        print(view.learnt() or "stopped before the search began", file=sys.stderr)
        raise

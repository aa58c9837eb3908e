"""What `prove` prints: Lean on stdout, words or a table on stderr, or JSON; and its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import typer
from rich.text import Text

from burnqed.cli import tables
from burnqed.cli.rewriting import rewrite
from burnqed.cli.told import FileTold, Machinery, StatementTold, TimesTold
from burnqed.core import screen
from burnqed.core.errors import BurnQedError
from burnqed.lean.verdict import rests_on
from burnqed.prover.suggesting import Suggestion
from burnqed.prover.task import Task

Json = Mapping[str, Any]

_LITTLE = 0.05  # seconds that are not worth a word
_COSTLIEST = 3  # kinds of tactics

# --------------------------------------------------------------------- one statement


def end_statement(
    told: StatementTold,
    learnt: Callable[[], str],
    machinery: Machinery,
    times: TimesTold | None,
    as_json: bool,
    more: Json,
) -> int:
    """`learnt` says what the search came to see; `more` goes into the JSON.

    `times` are None where a server proved, which does not say them.
    """
    code = _exit_code(told.outcome, told.reason)
    if as_json:
        _print_json(told, machinery, times, more)
    elif told.proof is not None:
        screen.write_exactly(told.proof)
    if not as_json:
        print(_sentence(told, learnt), file=sys.stderr)
        _print_times(None if code == 2 else times)
    return code


def _print_json(
    told: StatementTold | FileTold, machinery: Machinery, times: TimesTold | None, more: Json
) -> None:
    spent = {"times": msgspec.to_builtins(times)}
    content = {**msgspec.to_builtins(told), **msgspec.to_builtins(machinery), **spent, **more}
    typer.echo(json.dumps(content, ensure_ascii=False))


def _print_times(times: TimesTold | None) -> None:
    """Where the time went, in two lines at most; parts that took no time are left out."""
    if times is None:
        return
    parts = [f"{what} {spent:.1f} s" for what, spent in times.activities.items() if spent >= _LITTLE]
    if parts:
        print(f"time: {', '.join(parts)}", file=sys.stderr)
    tried = sum(kind.tried for kind in times.tactics)
    if tried:
        costly = [f"{one.kind} {one.seconds:.1f} s ({one.tried})" for one in times.tactics[:_COSTLIEST]]
        tactics = "1 tactic" if tried == 1 else f"{tried} tactics"
        took = sum(kind.seconds for kind in times.tactics)
        print(f"{tactics} in {took:.1f} s of Lean, most for {', '.join(costly)}", file=sys.stderr)


def _exit_code(outcome: str, reason: str) -> int:
    match outcome, reason:
        case "proved" | "found", _:
            return 0
        case "error", "statement":
            return 2
        case "error", reason if reason != "refused":
            return 3
        case _:
            return 1


def _sentence(told: StatementTold, learnt: Callable[[], str]) -> str:
    spent = f"{told.nodes} nodes, {told.seconds:.1f} s"
    match told.outcome:
        case "proved":
            axioms = rests_on(told.axioms, told.axioms_seen)
            if told.axioms is None:
                axioms += " (library proofs not inspected)"
            proved = "proved" if told.negation is None else _disproved(told)
            return f"{proved}: {spent}; judged in {told.judge_seconds:.1f} s; axioms: {axioms}"
        case "exhausted":
            what = "not found" if told.negation is None else "not disproved"
            return f"{what}: the budget of {told.reason} ran out ({spent})\n{learnt()}"
        case "false" if told.negation is not None:
            return f"not false: its negation is refuted, by {told.negation_proof}"
        case "false":
            return f"false: {told.detail}\nthis proves its negation: {told.negation_proof}"
        case _:
            return f"error ({told.reason}): {told.detail}"


def _disproved(told: StatementTold) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in (told.counterexample or {}).items())
    return f"disproved ({values})" if values else "disproved"


# ---------------------------------------------------------------------------- a file


def end_file(
    told: FileTold,
    task: Task,
    original: bytes | None,
    machinery: Machinery,
    times: TimesTold | None,
    as_json: bool,
    more: Json,
    *,
    won: bool,
) -> int:
    """`original` is the content of the file if it is to be rewritten; `more` goes into the JSON.

    `won`: what was wanted is proved, which may be one `sorry` of several.
    """
    unwritten: BurnQedError | None = None
    if original is not None and task.path is not None and told.source != task.text:
        try:
            rewrite(task.path, original, told.source)
        except BurnQedError as error:
            unwritten = error
    if as_json:
        _print_json(told, machinery, times, more)
    else:
        if original is None or unwritten:
            screen.write_exactly(told.source)
        _print_holes(told)
        _print_times(times)
    if unwritten:  # after printing the proofs, so that they are not lost
        raise unwritten
    return _code_of_file(((hole.outcome, hole.reason) for hole in told.holes), won)


def end_suggesting(suggestions: Sequence[Suggestion], told: FileTold, *, won: bool) -> int:
    content = {"file": told.file, "suggestions": suggestions}
    typer.echo(msgspec.json.encode(content).decode())
    return _code_of_file(((hole.outcome, hole.reason) for hole in told.holes), won)


def _code_of_file(outcomes: Iterable[tuple[str, str]], won: bool) -> int:
    if any(_exit_code(*outcome) == 3 for outcome in outcomes):
        return 3
    return 0 if won else 1


def _print_holes(told: FileTold) -> None:
    if not told.holes:
        print("nothing was proved: no `sorry` of this file stands for a proof", file=sys.stderr)
        return
    table = tables.folding("line", "in", "outcome", "nodes", "s", "the judge on its theorem")
    for hole in told.holes:
        judged = hole.verdict or ("accepted" if hole.accepted else "not judged")
        style = {"found": "green", "false": "red"}.get(hole.outcome, "yellow")
        colon = ":" if hole.outcome == "false" else ""
        outcome = Text(f"{hole.outcome}{colon} {hole.reason}".strip(), style=style)
        place = f"{hole.line}:{hole.column}"
        table.add_row(
            Text(place), Text(hole.declaration or "example"), outcome, str(hole.nodes),
            f"{hole.seconds:.1f}", Text(judged.split("\n")[0][:200]),
        )  # fmt: skip
    screen.console(stderr=True).print(table)
    for refused in told.refused:
        print(f"refused: {refused.theorem}: {refused.reason.splitlines()[0]}", file=sys.stderr)

"""`prove --server`: a server searches and judges, and what it answers is told as `prove` tells it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from burnqed.cli.following import FollowView
from burnqed.cli.proof_output import end_file, end_statement, end_suggesting
from burnqed.cli.told import machinery_there, of_file_there, of_statement_there
from burnqed.core.config import Setting
from burnqed.core.errors import InputError
from burnqed.core.guard import token_from_environment
from burnqed.prover.config import Config
from burnqed.prover.task import Task
from burnqed.serve.answers import Health, ProveAnswer
from burnqed.serve.client import Client
from burnqed.serve.requests import ProofRequest

_SENT = ("nodes", "seconds", "seed")  # a request may say these, and no other setting


def refuse_unsendable(given: Sequence[Setting], options: Collection[str]) -> None:
    """Refuse what a server does not do for its clients. `options` are flags that are no settings."""
    for flag in options:
        raise InputError(
            f"{flag} does not go with --server: its API does not have it",
            hint=f"leave out {flag}, or leave out --server to prove here",
        )
    for setting in given:
        if setting.name not in _SENT:
            raise InputError(
                f"{setting.flag} does not go with --server: the server has its own",
                hint=f"leave out {setting.flag}, or start the server as you want it: "
                "burn-qed serve prove --help",
            )


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a text: only the `sorry` `at` a line and perhaps a column; to `suggest` edits,
    and not to print the text. `original` is the content of the file if it is to be rewritten.
    """

    at: tuple[int, int | None] | None
    suggest: bool
    original: bytes | None
    as_json: bool


def prove_there(url: str, task: Task, config: Config, given: Sequence[Setting], wanted: Wanted) -> int:
    """Have the server prove a task, print what came of it, and return the exit code."""
    named = {setting.name for setting in given}
    line, column = wanted.at or (None, None)
    asked = ProofRequest(
        text=task.text,
        nodes=config.nodes if "nodes" in named else None,
        seconds=config.seconds if "seconds" in named else None,
        seed=config.seed,
        line=line,
        column=column,
        suggest=wanted.suggest,
    )
    client = Client(url, token_from_environment(needed=False))
    health = client.health()
    _refuse_too_much(client.url, health, asked, task)
    view = FollowView(client.url)
    answer = _followed(client, task, asked, view)
    machinery = machinery_there(health)
    if not task.has_holes:
        told = of_statement_there(answer, task)
        return end_statement(told, view.learnt, machinery, None, wanted.as_json, {})
    filled = of_file_there(answer, task)
    accepted = all(hole.outcome == "found" and hole.accepted for hole in filled.holes)
    fills = bool(filled.holes) and accepted and not filled.refused
    won = filled.proved if wanted.at is None else fills
    if wanted.suggest:
        return end_suggesting(answer.suggestions, filled, won=won)
    return end_file(filled, task, wanted.original, machinery, None, wanted.as_json, {}, won=won)


def _refuse_too_much(url: str, health: Health, asked: ProofRequest, task: Task) -> None:
    """Refuse what the server would refuse, before it gets the text."""
    absent = [module for module in task.source.imports if module not in health.modules]
    if absent:
        raise InputError(
            f"the text imports {absent[0]}, which {url} did not load",
            hint=f"start the server with --import {absent[0]}",
        )
    if not 0 <= asked.seed < 2**63:
        raise InputError(
            f"--seed is {asked.seed}, and {url} takes none below 0 or above 2^63 - 1",
            hint="give another --seed",
        )
    size = len(asked.text.encode())
    for what, wanted, most in (
        ("the text's size in bytes", size, health.most_text_bytes),
        ("--nodes", asked.nodes, health.most_nodes),
        ("--seconds", asked.seconds, health.most_seconds),
    ):
        if wanted is not None and wanted > most:
            flag = what if what.startswith("--") else "--text-bytes"
            raise InputError(
                f"{what} is {wanted:g}, and {url} allows at most {most:g}",
                hint=f"ask for less; {flag} of the server raises the limit",
            )


def _followed(client: Client, task: Task, asked: ProofRequest, view: FollowView) -> ProveAnswer:
    """The answer, with the live view on. Ctrl-C prints what the search has seen."""
    try:
        with view.shown():
            return client.prove(task, asked, view)
    except KeyboardInterrupt as stopped:
        print(view.learnt() or "stopped before the search began", file=sys.stderr)
        if str(stopped):
            print(stopped, file=sys.stderr)
        raise

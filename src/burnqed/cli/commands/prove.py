"""`burn-qed prove`: a statement, or the `sorry`s of a file."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from burnqed.cli import compose, policies, tables, values
from burnqed.cli.live import SearchView
from burnqed.core.errors import InputError
from burnqed.core.runs import publish
from burnqed.core.types import Proposition, Theorem, TheoremText
from burnqed.evaluation.file import FileResult, HoleResult, prove_file
from burnqed.evaluation.prove import Attempt, Prover, lean_source, prove
from burnqed.lean import statement as lean_text
from burnqed.lean.pool import run_sync
from burnqed.lean.process import LaunchSpec
from burnqed.lean.tokens import tokenize
from burnqed.search.best_first import Settings
from burnqed.search.budget import Budget

T = TypeVar("T")


def prove_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENT|FILE.lean|-",
            help="A proposition, a `theorem … : …`, a Lean file with sorrys, or - for standard input.",
        ),
    ],
    nodes: compose.NodesOption = 300,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Stop a search after this time, too.")
    ] = 120.0,
    policy: policies.PolicyOption = None,
    model: policies.ModelOption = None,
    url: policies.UrlOption = None,
    logprobs: policies.LogprobsOption = True,
    prompt: policies.PromptOption = None,
    prompt_tokens: policies.PromptTokensOption = None,
    tactic_tokens: policies.TacticTokensOption = None,
    device: policies.DeviceOption = "auto",
    dtype: policies.DtypeOption = "auto",
    candidates: policies.CandidatesOption = None,
    value: values.ValueOption = None,
    encoder: values.EncoderOption = None,
    value_anyway: values.AnywayOption = False,
    seed: compose.SeedOption = 0,
    imports: compose.ImportOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Rewrite FILE.lean, with the proofs that were found.")
    ] = False,
    workers: compose.WorkersOption = None,
    toolchain: compose.ToolchainOption = None,
    project: compose.ProjectOption = None,
    as_json: compose.JsonOption = False,
) -> None:
    """Prove a statement, or each `sorry` of a file in its place, and print the finished Lean.

    A proof is judged before it is called one: compiled from scratch in a fresh Lean, checked by the
    kernel, its axioms looked at; what is refused is not printed. A `sorry` of a theorem that has others
    still open is filled, and the table says so. The Lean goes to standard output, all else to stderr.

    Tactics come from rules and from lemmas of the library, in the order that a ranker has learnt; with
    imports of other libraries these are read first, once. --policy portfolio is the rules alone.

    Examples:

        burn-qed prove '∀ n : Nat, 2 ∣ n * (n + 1)'

        burn-qed prove Draft.lean --nodes 1000 --write

    Exit codes: 0 proved, 1 not found within the budget, 2 bad input, 3 Lean failed, 130 interrupted.
    """
    path, text = _read(what)
    source = lean_text.split_header(text)
    words = {token.text for token in tokenize(source.body)}
    if write and (path is None or "sorry" not in words):
        raise InputError("--write needs a file with a `sorry` to rewrite")
    modules = tuple(dict.fromkeys(["Init", *(imports or ()), *source.imports]))
    found, spec = compose.lean(toolchain, project, modules)
    if policy is None and model is None:
        model = policies.usual(found)
    chosen = policies.choice(
        policy, model, url=url, logprobs=logprobs, prompt=prompt, prompt_tokens=prompt_tokens,
        tactic_tokens=tactic_tokens, device=device, dtype=dtype,
    )  # fmt: skip
    budget = Budget(nodes=nodes, candidates=candidates or chosen.candidates, seconds=seconds)
    prepared = policies.prepare(
        chosen, lambda: compose.library(found, spec, modules, project, workers), workers
    )
    guide = values.guide(value, encoder, value_anyway, prepared)
    warmth = chosen.temperature(None, guide.value is not None)
    job = _Job(spec, prepared, guide, budget, warmth, seed, found.label)
    if "sorry" in words:
        code = _prove_file(job, path, text, source.body, workers, write, as_json)
    else:
        code = _prove_statement(job, _theorem(source.body, words), as_json)
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Job:
    spec: LaunchSpec
    policy: policies.Prepared
    guide: values.Guide
    budget: Budget
    temperature: float
    seed: int
    toolchain: str


def _read(what: str) -> tuple[Path | None, str]:
    path = None
    if what == "-":
        text = sys.stdin.read()
    # `Path.is_file` raises for a statement that is longer than the name of a file can be.
    elif what.endswith(".lean") or os.path.isfile(what):  # noqa: PTH113
        path = Path(what)
        try:
            # Not `read_text`: line ends stay as they are.
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {path}: {error}") from error
    else:
        text = what
    if not text.strip():
        raise InputError("there is nothing to prove: the input is empty")
    return path, text


def _theorem(text: str, words: set[str]) -> Theorem:
    if words & {"theorem", "lemma"}:
        named = lean_text.declarations(text)
        if not named:
            raise InputError("the theorem has no name, or is private", hint="write `theorem NAME : …`")
        return Theorem(named[-1].name, TheoremText(text))
    if "example" in words:
        raise InputError("the example has no `sorry`", hint="write `example : … := by sorry`")
    return Theorem("goal", Proposition(text.strip()))


def _watched(view: SearchView, work: Coroutine[Any, Any, T]) -> T:
    """Run with the live view on; Ctrl-C says what was learnt."""
    try:
        with view.shown():
            return run_sync(work)
    except KeyboardInterrupt:
        print(view.learnt() or "stopped before the search began", file=sys.stderr)
        raise


def _prover(job: _Job, workers: int | None) -> AbstractAsyncContextManager[Prover]:
    settings = Settings(temperature=job.temperature)
    return compose.prover(job.spec, workers, job.policy, job.budget, settings, job.guide)


# --------------------------------------------------------------------- one statement


def _prove_statement(job: _Job, theorem: Theorem, as_json: bool) -> int:
    view = SearchView()

    async def work() -> Attempt:
        async with _prover(job, 1) as prover:
            return await prove(prover, theorem, job.seed, view)

    attempt = _watched(view, work())
    if as_json:
        typer.echo(json.dumps(_attempt_json(attempt, job), ensure_ascii=False))
    elif attempt.proof is not None:
        typer.echo(lean_source(attempt.proof), nl=False)
    if not as_json:
        print(_sentence(attempt, view), file=sys.stderr)
    return _exit_code(attempt.outcome, attempt.reason)


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


def _sentence(attempt: Attempt, view: SearchView) -> str:
    searched = attempt.searched
    spent = f"{searched.nodes} nodes, {searched.seconds:.1f} s" if searched else ""
    match attempt.outcome:
        case "proved":
            assert attempt.proof is not None
            axioms = ", ".join(attempt.proof.verdict.axioms) or "none"
            return f"proved: {spent}; judged in {attempt.judge_seconds:.1f} s; axioms: {axioms}"
        case "exhausted":
            return f"not found: the budget of {attempt.reason} is spent ({spent})\n{view.learnt()}"
        case _:
            return f"error ({attempt.reason}): {attempt.detail}"


def _attempt_json(attempt: Attempt, job: _Job) -> dict[str, Any]:
    searched, proof = attempt.searched, attempt.proof
    return {
        "theorem": attempt.theorem.name,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
        "detail": attempt.detail,
        "proof": lean_source(proof) if proof else None,
        "tactics": list(proof.tactics) if proof else [],
        "axioms": list(proof.verdict.axioms) if proof else [],
        "nodes": searched.nodes if searched else 0,
        "states": len(searched.tree.nodes) if searched else 0,
        "seconds": searched.seconds if searched else 0.0,
        "lean_seconds": searched.lean_seconds if searched else 0.0,
        "judge_seconds": attempt.judge_seconds,
        **_machinery(job),
    }


def _machinery(job: _Job) -> dict[str, Any]:
    """What looked for the proof."""
    chosen = job.policy.choice
    return {"policy": chosen.kind, "model": chosen.model, "toolchain": job.toolchain}


# ---------------------------------------------------------------------------- a file


def _prove_file(
    job: _Job, path: Path | None, text: str, body: str, workers: int | None, write: bool, as_json: bool
) -> int:
    view = SearchView()

    async def work() -> FileResult:
        async with _prover(job, workers) as prover:
            return await prove_file(prover, body, job.seed, view)

    result = _watched(view, work())
    header = len(body) - len(body.lstrip())  # imports are blanks in the body
    filled = text[:header] + result.source[header:]
    if write and path is not None and filled != text:
        mark = "\ufeff" if path.read_bytes().startswith(codecs.BOM_UTF8) else ""
        publish(path.resolve(), mark + filled)
    if as_json:
        typer.echo(json.dumps(_file_json(result, filled, path, job), ensure_ascii=False))
    else:
        if not write:
            typer.echo(filled, nl=False)
        _print_holes(result)
    codes = [_exit_code(h.outcome, h.reason) for h in result.holes]
    if 3 in codes:
        return 3
    return 0 if result.proved else 1


def _file_json(result: FileResult, filled: str, path: Path | None, job: _Job) -> dict[str, Any]:
    return {
        "file": str(path) if path else None,
        "proved": result.proved,
        "holes": [_hole_json(hole) for hole in result.holes],
        "source": filled,
        **_machinery(job),
    }


def _hole_json(result: HoleResult) -> dict[str, Any]:
    return {
        "line": result.hole.line,
        "column": result.hole.column,
        "declaration": result.hole.declaration,
        "goal": result.hole.goal,
        "outcome": result.outcome,
        "reason": result.reason,
        "tactics": list(result.tactics),
        "nodes": result.nodes,
        "seconds": result.seconds,
        "accepted": result.verdict is not None and result.verdict.accepted,
        "verdict": result.verdict.reason if result.verdict else "",
        "axioms": list(result.verdict.axioms) if result.verdict else [],
    }


def _print_holes(result: FileResult) -> None:
    table = tables.folding("line", "in", "outcome", "nodes", "s", "the judge on its theorem")
    for found in result.holes:
        hole, verdict = found.hole, found.verdict
        said = "not judged" if verdict is None else verdict.reason or "accepted"
        style = "green" if found.outcome == "found" else "yellow"
        outcome = Text(f"{found.outcome} {found.reason}".strip(), style=style)
        place = f"{hole.line}:{hole.column + 1}"
        table.add_row(
            Text(place), Text(hole.declaration or "example"), outcome, str(found.nodes),
            f"{found.seconds:.1f}", Text(said.split("\n")[0][:200]),
        )  # fmt: skip
    Console(stderr=True).print(table)

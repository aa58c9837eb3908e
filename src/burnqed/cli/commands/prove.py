"""`burn-qed prove`: a statement, or the `sorry`s of a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from burnqed.cli import compose, policies, tables, values
from burnqed.cli.live import SearchView
from burnqed.cli.rewriting import check_rewritable, rewrite
from burnqed.core import screen
from burnqed.core.errors import BurnQedError, InputError, StatementError
from burnqed.core.types import Proposition, Theorem, TheoremText
from burnqed.evaluation.file import FileResult, HoleResult, prove_file
from burnqed.evaluation.prove import Attempt, Prover, lean_source, prove
from burnqed.lean import rules
from burnqed.lean import statement as lean_text
from burnqed.lean.holes import TRUST_HINT
from burnqed.lean.nesting import too_deep
from burnqed.lean.pool import run_sync
from burnqed.lean.process import LaunchSpec
from burnqed.lean.protocol import Gate
from burnqed.lean.refute import Refutation
from burnqed.lean.source_file import read_source, read_standard_input
from burnqed.lean.strangers import first_danger, forbidden_import
from burnqed.lean.tokens import tokenize
from burnqed.lean.verdict import Verdict
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
    trust: Annotated[
        bool, typer.Option("--trust", help="Let the text's own commands run code: `macro`, `#eval`, ….")
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

    The text's own commands may define and prove, and run no code, as in `check`: with --trust they may,
    and then a verdict is worth what the text is.

    Tactics come from rules and from lemmas of the library, in the order that a ranker has learnt; with
    imports of other libraries these are read first, once. --policy portfolio is the rules alone.

    What small values or automation refute is not searched for long: "false: n = 5" is said when the
    kernel has accepted a proof of the negation.

    Examples:

        burn-qed prove '∀ n : Nat, 2 ∣ n * (n + 1)'

        burn-qed prove Draft.lean --nodes 1000 --write

    With --write a file that cannot be rewritten is refused before the search; if writing fails all the
    same, the proofs are printed.

    Exit codes: 0 proved, 1 false or not found within the budget, 2 bad input, 3 Lean failed, 130
    interrupted.
    """
    path, text = _read(what)
    source = lean_text.split_header(text)
    words = {token.text for token in tokenize(source.body)}
    if write and (path is None or "sorry" not in words):
        raise InputError("--write needs a file with a `sorry` to rewrite")
    if not trust:
        _check_stranger(path, source)
    original = check_rewritable(path) if write and path is not None else None
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
    gate = None if trust else rules.gate()
    job = _Job(spec, prepared, guide, budget, warmth, seed, found.label, gate)
    if "sorry" in words:
        code = _prove_file(job, path, text, source.body, workers, original, as_json)
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
    gate: Gate | None


def _check_stranger(path: Path | None, source: lean_text.Source) -> None:
    """Refuse a text whose commands would run code, before Lean sees it."""
    said = forbidden_import(source.imports, None)
    found = first_danger(source.body)
    if found:
        said = f"line {found[0]}: {found[1]}"
    if said:
        raise StatementError(f"{path or 'the text'}: {said}", hint=TRUST_HINT)


def _read(what: str) -> tuple[Path | None, str]:
    path = None
    if what == "-":
        text = read_standard_input()
    # `Path.exists` raises for a statement that is longer than the name of a file can be.
    elif what.endswith(".lean") or os.path.exists(what):  # noqa: PTH110
        path = Path(what)
        text = read_source(path)
    else:
        text = what
    if not text.strip():
        raise InputError("there is nothing to prove: the input is empty")
    deep = too_deep(text, tokenize(text))
    if deep:
        line = text.count("\n", 0, deep.at) + 1
        raise InputError(f"Lean is not asked to read this: {deep.what}, in line {line}")
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
    return compose.prover(job.spec, workers, job.policy, job.budget, settings, job.guide, job.gate)


# --------------------------------------------------------------------- one statement


def _prove_statement(job: _Job, theorem: Theorem, as_json: bool) -> int:
    view = SearchView()

    async def work() -> Attempt:
        async with _prover(job, 1) as prover:
            return await prove(replace(prover, refutes=True), theorem, job.seed, view)

    attempt = _watched(view, work())
    if as_json:
        typer.echo(json.dumps(_attempt_json(attempt, job), ensure_ascii=False))
    elif attempt.proof is not None:
        screen.write_exactly(lean_source(attempt.proof))
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
            verdict = attempt.proof.verdict
            axioms = verdict.rests_on
            if verdict.axioms is None:
                axioms += " (library proofs not inspected)"
            return f"proved: {spent}; judged in {attempt.judge_seconds:.1f} s; axioms: {axioms}"
        case "exhausted":
            return f"not found: the budget of {attempt.reason} is spent ({spent})\n{view.learnt()}"
        case "false":
            assert attempt.refutation is not None
            return f"false: {attempt.detail}\nthis proves its negation: {attempt.refutation.tactic}"
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
        **_axioms(proof.verdict if proof else None),
        **_refuted(attempt.refutation),
        "nodes": searched.nodes if searched else 0,
        "states": len(searched.tree.nodes) if searched else 0,
        "seconds": searched.seconds if searched else 0.0,
        "lean_seconds": searched.lean_seconds if searched else 0.0,
        "judge_seconds": attempt.judge_seconds,
        **_machinery(job),
    }


def _axioms(verdict: Verdict | None) -> dict[str, Any]:
    """All that a proof rests on, null where that is not known, and those that were seen."""
    known = None if verdict is None else verdict.axioms
    seen = () if verdict is None else verdict.axioms_seen
    return {"axioms": known if known is None else list(known), "axioms_seen": list(seen)}


def _refuted(found: Refutation | None) -> dict[str, Any]:
    """Of what is false: values at which it is, if there are any, and what proves the negation."""
    values = dict(found.values) if found else {}
    return {"counterexample": values or None, "negation_proof": found.tactic if found else None}


def _machinery(job: _Job) -> dict[str, Any]:
    """What looked for the proof."""
    chosen = job.policy.choice
    return {"policy": chosen.kind, "model": chosen.model, "toolchain": job.toolchain}


# ---------------------------------------------------------------------------- a file


def _prove_file(
    job: _Job, path: Path | None, text: str, body: str, workers: int | None,
    original: bytes | None, as_json: bool,
) -> int:  # fmt: skip
    """`original` is what the file holds, if it is to be rewritten."""
    view = SearchView()

    async def work() -> FileResult:
        async with _prover(job, workers) as prover:
            return await prove_file(replace(prover, refutes=True), body, job.seed, view)

    result = _watched(view, work())
    header = len(body) - len(body.lstrip())  # imports are blanks in the body
    filled = text[:header] + result.source[header:]
    unwritten: BurnQedError | None = None
    if original is not None and path is not None and filled != text:
        try:
            rewrite(path, original, filled)
        except BurnQedError as error:
            unwritten = error
    if as_json:
        typer.echo(json.dumps(_file_json(result, filled, path, job), ensure_ascii=False))
    else:
        if original is None or unwritten:
            screen.write_exactly(filled)
        _print_holes(result)
    if unwritten:  # after the proofs: they were not found to be lost
        raise unwritten
    codes = [_exit_code(h.outcome, h.reason) for h in result.holes]
    if 3 in codes:
        return 3
    return 0 if result.proved else 1


def _file_json(result: FileResult, filled: str, path: Path | None, job: _Job) -> dict[str, Any]:
    return {
        "file": str(path) if path else None,
        "proved": result.proved,
        "holes": [_hole_json(hole) for hole in result.holes],
        "refused": [{"theorem": v.theorem, "reason": v.reason} for v in result.refused],
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
        **_axioms(result.verdict),
        **_refuted(result.refutation),
    }


def _print_holes(result: FileResult) -> None:
    if not result.holes:
        print("nothing was proved: no `sorry` of this file stands for a proof", file=sys.stderr)
        return
    table = tables.folding("line", "in", "outcome", "nodes", "s", "the judge on its theorem")
    for found in result.holes:
        hole, verdict = found.hole, found.verdict
        said = "not judged" if verdict is None else verdict.reason or "accepted"
        style = {"found": "green", "false": "red"}.get(found.outcome, "yellow")
        colon = ":" if found.outcome == "false" else ""
        outcome = Text(f"{found.outcome}{colon} {found.reason}".strip(), style=style)
        place = f"{hole.line}:{hole.column}"
        table.add_row(
            Text(place), Text(hole.declaration or "example"), outcome, str(found.nodes),
            f"{found.seconds:.1f}", Text(said.split("\n")[0][:200]),
        )  # fmt: skip
    screen.console(stderr=True).print(table)
    for verdict in result.refused:
        print(f"refused: {verdict.theorem}: {verdict.reason.splitlines()[0]}", file=sys.stderr)

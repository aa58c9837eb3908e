"""The final word on a proof.

A proof counts when its text says nothing forbidden (`rules`), the whole theorem compiles in a clean
Lean, its type is the pinned statement's, every declaration that it needs passes the kernel again in
an environment that the text has not touched, it rests on no axiom but the usual three, and, for a
theorem of the library, it does not use that theorem or what may have been proved from it.

Two ways in: `judge_proof` for a statement and tactics, `judge_file` for a file of anybody's, alone or
against a reference whose theorems end in `sorry`. Both compile the text in one Lean process
(`qed.compile`) and verify what it declared in another (`qed.verify`), which never sees the text; this
module decides what their answers mean.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from burnqed.core.errors import (
    LeanError,
    LeanLost,
    ProtocolError,
    RequestRefused,
    StatementError,
)
from burnqed.core.types import LibraryConstant, Statement, TheoremText
from burnqed.lean import protocol, rules, statement
from burnqed.lean.answers import Found, Report, errors_of, read_report
from burnqed.lean.compiling import (
    Compiled,
    Deadline,
    ask,
    ask_twice,
    compile_file,
    is_of_the_text,
    why_lost,
)
from burnqed.lean.complaints import Complaint, bare, complaints
from burnqed.lean.pool import Kind, Pool
from burnqed.lean.statement import declarations
from burnqed.lean.strangers import first_danger
from burnqed.lean.verdict import Level, Verdict

JUDGE_SECONDS = 300.0
# For a whole proof; when it was found, each of its steps had a budget. (Lean's default is 200,000.)
PROOF_HEARTBEATS = 4_000_000
TEXTS = 50  # proofs that one process compiles


async def judge_proof(pool: Pool, goal: Statement, tactics: Sequence[str]) -> Verdict:
    """Judge tactics as a proof of a pinned statement. Raises only for infrastructure and bad input.

    A process that compiled other proofs is asked before a fresh one is started. That is enough to
    accept a proof, since whoever compiles it is not believed. It is not enough to refuse one.
    """
    if pool.has_spent:
        with suppress(LeanError, StatementError):
            verdict = await _judge_proof(pool, goal, tactics, "any")
            if verdict.accepted:
                return verdict
    return await _judge_proof(pool, goal, tactics, "fresh")


async def _judge_proof(pool: Pool, goal: Statement, tactics: Sequence[str], kind: Kind) -> Verdict:
    begun, deadline = time.monotonic(), Deadline(JUDGE_SECONDS)
    text = statement.with_proof(goal, tactics)
    pinned = statement.with_sorry(goal)

    target = goal if isinstance(goal, LibraryConstant) else None
    heartbeats = 0

    def verdict(reason: str, level: Level, found: Found | None = None) -> Verdict:
        return Verdict(
            found.name if found else statement.GOAL_NAME, not reason, reason, level,
            *_axioms(found), found.type if found else "",
            target.leak_rule if target else None, text, time.monotonic() - begun, heartbeats,
        )  # fmt: skip

    forbidden = rules.first_violation("\n".join(tactics))
    if forbidden:
        return verdict(forbidden, "text")
    # As long as its steps might have taken when they were found.
    at_most = pool.limits.request_seconds * (1 + len(tactics))
    hidden = target.name if target else None
    line = protocol.qed_compile(text, _gate(pool, pinned), pinned, hidden, PROOF_HEARTBEATS, pool.gate)
    async with deadline.kept():
        reply = await ask(pool, kind, line, text, deadline, at_most=at_most, texts=TEXTS)
        report = await _verify(
            pool, Compiled(reply), text, pinned, deadline, at_most, target, PROOF_HEARTBEATS
        )
    if report.reference_errors:
        raise StatementError(f"the statement does not compile: {report.reference_errors[0]}")
    if not isinstance(goal, TheoremText) and len(report.reference_shape) != 1:
        raise StatementError("the statement is more than one proposition")
    if report.shape != report.reference_shape:
        return verdict("the proof ends the theorem and starts a command of its own", "compiled")
    # Not simply the last: `where` clauses make theorems too.
    named = declarations(pinned)
    if not named:
        raise StatementError("the theorem has no name, or a private one", hint="give it a name")
    wanted = named[-1].name
    heartbeats = report.heartbeats(wanted)
    found = next((theorem for theorem in report.theorems if bare(theorem.name) == bare(wanted)), None)
    reason, level = _decide(report, found, text)
    if not reason and (found is None or found.reference != "same"):
        reason, level = "it states something else than what was to be proved", "kernel"
    if not reason and target and found:
        if found.target != "same":
            reason, level = f"it does not state {target.name}", "kernel"
        else:
            reason = _leak(found, target.name)
    return verdict(reason, level, found)


async def judge_file(
    pool: Pool, source: str, reference: str | None = None, seconds: float = JUDGE_SECONDS
) -> list[Verdict]:
    """Judge every theorem of a file; with a reference, that it proves what the reference states.

    A definition in which the reference leaves a proof open is judged as a theorem is.
    """
    return (await examine_file(pool, source, reference, seconds)).verdicts


async def examine_file(
    pool: Pool, source: str, reference: str | None = None, seconds: float = JUDGE_SECONDS
) -> FileVerdict:
    """The same, and whether the file as a whole compiles. All of it within these seconds."""
    begun, deadline = time.monotonic(), Deadline(seconds)
    written = declarations(source, private=True)

    def verdict(name: str, reason: str, level: Level, found: Found | None = None) -> Verdict:
        return Verdict(
            name, not reason, reason, level, *_axioms(found),
            found.type if found else "", None, source, time.monotonic() - begun,
            report.heartbeats(name),
        )  # fmt: skip

    required = declarations(reference or "", private=True)
    trusted = None if pool.gate else reference
    danger = first_danger(source, trusted, notations=trusted is not None)
    if danger:
        return FileVerdict(refuse_all(source, danger[1]))
    gate = _gate(pool, reference)
    async with deadline.kept():
        compiled = await compile_file(
            pool,
            lambda text: protocol.qed_compile(text, gate, reference, reference_gate=pool.gate),
            source,
            deadline,
        )
        try:
            report = await _verify(pool, compiled, source, reference, deadline)
        except LeanLost as error:
            if not is_of_the_text(error):
                raise
            why = f"Lean dies of what the file declares, each time: {why_lost(error)}"
            return FileVerdict(refuse_all(source, why), complaints(compiled, source))
    if report.reference_errors:
        raise StatementError(f"the reference does not compile: {report.reference_errors[0]}")
    if report.nameless:
        raise StatementError(
            "the reference leaves an `example` open, which no file can be asked for",
            hint="make it a `theorem`, with a name",
        )
    definitions = [found for found in report.theorems if found.kind != "theorem"]
    if reference is not None and not report.asks:
        raise StatementError("the reference states no theorem, and leaves no proof open")
    names = {bare(d.name) for d in written}
    lacking = {bare(name) for name in report.missing}
    verdicts = []
    for found in report.theorems:
        reason, level = _decide(report, found, source)
        if not reason and bare(found.name) in lacking:
            reason, level = "it is private here or in the reference, and not in both", "kernel"
        # Accepted ones that come of `where` clauses and structures are not listed.
        if reason or bare(found.name) in names or found in definitions:
            verdicts.append(verdict(found.name, reason, level, found))
    seen = {bare(v.theorem) for v in verdicts}
    wanted = [*report.missing, *(d.name for d in (*required, *written))]
    absent = [name for name in dict.fromkeys(wanted) if bare(name) not in seen]
    verdicts += [verdict(name, _why_absent(report, name, source), "text") for name in absent]
    if not verdicts:  # nothing but definitions, then, and not the reference's
        verdicts = [
            verdict(name, "it is not what the reference says", "kernel") for name in report.changed
        ]
    order = {bare(declaration.name): index for index, declaration in enumerate(written)}
    verdicts.sort(key=lambda v: order.get(bare(v.theorem), len(order)))
    return FileVerdict(verdicts, report.errors)


async def complaint(pool: Pool, source: str, reference: str) -> tuple[bool, str]:
    """Whether the reference compiles, and what Lean first says against the file, or against that.

    A quick look, in a Lean that others have used: nothing found here is a proof, but much is none.
    """
    danger = first_danger(source, reference, notations=True)
    if danger:
        return True, danger[1]
    async with pool.lease() as worker:
        line = protocol.qed_compile(source, rules.gate(notations=True), reference, None, None)
        compiled = await worker.request(line, timeout=JUDGE_SECONDS)
    protocol.raise_if_refused(compiled)
    stated = [m["data"].strip() for m in errors_of(compiled["referenceMessages"])]
    said = stated or [m["data"].strip() for m in errors_of(compiled["messages"])]
    return not stated, said[0] if said else ""


def refuse_all(source: str, reason: str) -> list[Verdict]:
    """The same reason against every theorem of a text, which Lean does not get to see."""
    names = [declaration.name for declaration in declarations(source)] or ["(file)"]
    return [Verdict(name, False, reason, "text", source=source) for name in names]


# ------------------------------------------------------------------------ deciding


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """What became of the theorems of a file, and what Lean says against any of its commands."""

    verdicts: list[Verdict]
    errors: tuple[Complaint, ...] = ()


def _decide(report: Report, found: Found | None, source: str) -> tuple[str, Level]:
    """The first reason against a theorem, and how far it came."""
    if found is None:
        return _first_error(report) or "no theorem came of it", "text"
    said = _said_against(report, found.name, source)
    if said:
        return said, "text"
    if found.has_sorry or "sorryAx" in found.axioms:
        return _first_error(report) or "it rests on `sorry`", "compiled"
    if found.kernel is not None:
        return f"the kernel refuses it: {found.kernel}", "compiled"
    if report.changed:
        return f"{report.changed[0]} is not what the reference says", "kernel"
    if found.reference == "differs" or found.target == "differs":
        return "it states something else than what was to be proved", "kernel"
    foreign = [axiom for axiom in found.axioms if axiom not in rules.ALLOWED_AXIOMS]
    if foreign:
        return f"it rests on the axiom {', '.join(foreign)}", "kernel"
    return "", "judged"


def _axioms(found: Found | None) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """All axioms, where they are known, and those that were seen."""
    if found is None:
        return None, ()
    known = found.axioms_complete and found.kernel is None
    return found.axioms if known else None, found.axioms


def _first_error(report: Report) -> str:
    return f"it does not compile: {report.errors[0].said}" if report.errors else ""


def _why_absent(report: Report, name: str, source: str) -> str:
    if bare(name) in report.deaths:
        return f"Lean dies of it, each time: {report.deaths[bare(name)]}"
    said = _said_against(report, name, source)
    kind = report.kinds.get(bare(name), "theorem")
    if not said and kind != "theorem":
        a = "an" if kind[0] in "aio" else "a"
        there = "and a theorem in the reference"
        return f"it is not in the file as a theorem: it is {a} {kind} here {there}"
    return said or _first_error(report) or "it is not in the file"


def _said_against(report: Report, name: str, source: str) -> str:
    """What the rules or Lean say about the command that declares a theorem of this name."""
    for index in report.places.get(bare(name), ()):
        command = report.commands[index]
        text = source.encode()[command.start : command.end].decode(errors="replace")
        forbidden = rules.first_violation(text)
        if forbidden:
            return forbidden
        said = next((error.said for error in report.errors if error.command == index), None)
        if said:
            return f"it does not compile: {said}"
    return ""


def _leak(found: Found, target: str) -> str:
    if found.leak is None:
        return ""
    if found.leak == target:
        return f"it uses {target} itself"
    module = dict(found.constants).get(found.leak, "the library")
    return f"it uses {found.leak} of {module}, which may rest on {target}"


# ------------------------------------------------------------------------ asking


def _gate(pool: Pool, reference: str | None) -> protocol.Gate:
    """Notations of its own are for a file whose theorems a trusted text states."""
    return rules.gate(notations=reference is not None and pool.gate is None)


async def _verify(
    pool: Pool,
    compiled: Compiled,
    file: str,
    reference: str | None,
    deadline: Deadline,
    at_most: float = math.inf,
    target: LibraryConstant | None = None,
    heartbeats: int | None = None,
) -> Report:
    """What a second Lean says of what the first handed out.

    The first has seen the text, and is not believed: it only hands out declarations, as data. The
    second sees the reference and that data, and asks its kernel; it stays clean, and verifies again.
    """
    names = [d.name for d in declarations(file, private=True)]
    export = compiled.reply.get("export")
    line = protocol.qed_verify(export, names, reference, target, heartbeats, pool.gate)
    try:
        verified = await ask_twice(pool, "clean", line, file, deadline, trusted=True, at_most=at_most)
    except RequestRefused as error:
        if target and error.kind == "index":
            raise StatementError(f"the library has no theorem {target.name}") from error
        raise
    try:
        return read_report(compiled, verified, file)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ProtocolError(f"Lean answered the judge in an unknown shape ({error!r})") from error

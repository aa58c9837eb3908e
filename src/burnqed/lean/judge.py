"""The judge: decides whether a proof is a proof.

A proof is accepted if its text contains nothing forbidden (`rules`), the whole theorem compiles in a
clean Lean, its type is that of the pinned statement, every declaration that it needs passes the kernel
again in an environment that the text has not touched, and it uses no axiom but the usual three. A proof
of a library theorem must also not use that theorem or anything that may depend on it.

`judge_proof` takes a statement and tactics, `judge_file` an untrusted file, alone or against a
reference whose theorems end in `sorry`. Both compile the text in one Lean process (`qed.compile`) and
verify its declarations in another (`qed.verify`), which never sees the text. This module decides what
their answers mean.
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
from burnqed.lean import replies, requests, rules, statement
from burnqed.lean.answers import Found, Report, errors_in, read_report
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
# For a whole proof; in the search, each of its steps had a budget. (Lean's default is 200,000.)
PROOF_HEARTBEATS = 4_000_000
TEXTS = 50  # proofs that one process compiles


async def judge_proof(pool: Pool, goal: Statement, tactics: Sequence[str]) -> Verdict:
    """Judge tactics as a proof of a pinned statement. Raises only for infrastructure and bad input.

    A process that compiled other proofs is tried before a fresh one is started. That is enough to
    accept a proof, because the compiling process is not trusted, but not enough to refuse one.
    """
    levels = await _levels(pool, goal)
    if pool.has_spent:
        with suppress(LeanError, StatementError):
            verdict = await _judge_proof(pool, goal, tactics, levels, "any")
            if verdict.accepted:
                return verdict
    return await _judge_proof(pool, goal, tactics, levels, "fresh")


async def _levels(pool: Pool, goal: Statement) -> Sequence[str]:
    """The universes of a library constant. Unless its statement names them, a proof may choose them."""
    if not isinstance(goal, LibraryConstant):
        return ()
    line = requests.Inspect(goal.name).line
    try:
        reply = await ask_twice(pool, "clean", line, "", Deadline(JUDGE_SECONDS), trusted=True)
        return replies.read(reply, replies.Universes).levels
    except RequestRefused as error:
        if error.kind == "index":
            raise StatementError(f"the library has no theorem {goal.name}") from error
        raise


async def _judge_proof(
    pool: Pool, goal: Statement, tactics: Sequence[str], levels: Sequence[str], kind: Kind
) -> Verdict:
    begun, deadline = time.monotonic(), Deadline(JUDGE_SECONDS)
    text = statement.with_proof(goal, tactics, levels)
    pinned = statement.with_sorry(goal, levels)

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
    # As long as its steps might have taken in the search.
    at_most = pool.limits.request_seconds * (1 + len(tactics))
    hidden = (target.name,) if target else None
    gate = _gate(pool, pinned)
    line = requests.Compile(text, gate, pinned, pool.gate, hidden, PROOF_HEARTBEATS).line
    async with deadline.kept():
        reply = await ask(pool, kind, line, text, deadline, at_most=at_most, texts=TEXTS)
        report = await _verify(
            pool,
            Compiled(replies.read(reply, replies.Compiled)),
            text,
            pinned,
            deadline,
            at_most,
            target,
            PROOF_HEARTBEATS,
        )
    if report.reference_errors:
        raise StatementError(f"the statement does not compile: {report.reference_errors[0]}")
    if not isinstance(goal, TheoremText) and len(report.reference_shape) != 1:
        raise StatementError("the statement is more than one proposition")
    if report.shape != report.reference_shape:
        return verdict("the proof ends the theorem and starts a command of its own", "compiled")
    # Not simply the last one, because `where` clauses make theorems too.
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
    """Judge every theorem of a file. With a reference, it must prove what that states.

    A definition in which the reference leaves a proof open is judged like a theorem.
    """
    return (await examine_file(pool, source, reference, seconds)).verdicts


async def examine_file(
    pool: Pool, source: str, reference: str | None = None, seconds: float = JUDGE_SECONDS
) -> FileVerdict:
    """Like `judge_file`, with the errors of the whole file. `seconds` limits all of it."""
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
            lambda text: requests.Compile(text, gate, reference, pool.gate).line,
            source,
            deadline,
        )
        try:
            report = await _verify(pool, compiled, source, reference, deadline)
        except LeanLost as error:
            if not is_of_the_text(error):
                raise
            why = f"the file's declarations crash Lean every time: {why_lost(error)}"
            return FileVerdict(refuse_all(source, why), complaints(compiled, source))
    if report.reference_errors:
        raise StatementError(f"the reference does not compile: {report.reference_errors[0]}")
    if report.nameless:
        raise StatementError(
            "the reference leaves an `example` open, which a file cannot prove by name",
            hint="make it a `theorem` with a name",
        )
    definitions = [found for found in report.theorems if found.kind != "theorem"]
    if reference is not None and not report.asks:
        raise StatementError("the reference states no theorem and leaves no proof open")
    names = {bare(d.name) for d in written}
    lacking = {bare(name) for name in report.missing}
    verdicts = []
    for found in report.theorems:
        reason, level = _decide(report, found, source)
        if not reason and bare(found.name) in lacking:
            reason, level = "it is private only here or only in the reference", "kernel"
        # Accepted theorems of `where` clauses and structures are not listed.
        if reason or bare(found.name) in names or found in definitions:
            verdicts.append(verdict(found.name, reason, level, found))
    seen = {bare(v.theorem) for v in verdicts}
    wanted = [*report.missing, *(d.name for d in (*required, *written))]
    absent = [name for name in dict.fromkeys(wanted) if bare(name) not in seen]
    verdicts += [verdict(name, _why_absent(report, name, source), "text") for name in absent]
    if not verdicts:  # the file has only definitions, and not those of the reference
        verdicts = [
            verdict(name, "it is not what the reference says", "kernel") for name in report.changed
        ]
    order = {bare(declaration.name): index for index, declaration in enumerate(written)}
    verdicts.sort(key=lambda v: order.get(bare(v.theorem), len(order)))
    return FileVerdict(verdicts, report.errors)


async def complaint(pool: Pool, source: str, reference: str) -> tuple[bool, str]:
    """Whether the reference compiles, and the first error of the reference or of the file.

    A quick check in a Lean that others have used: it accepts no proof, but finds many errors.
    """
    danger = first_danger(source, reference, notations=True)
    if danger:
        return True, danger[1]
    async with pool.lease() as worker:
        line = requests.Compile(source, rules.gate(notations=True), reference).line
        compiled = replies.read(await worker.request(line, timeout=JUDGE_SECONDS), replies.Compiled)
    stated = errors_in(compiled.reference_messages)
    said = stated or errors_in(compiled.messages)
    return not stated, said[0] if said else ""


def refuse_all(source: str, reason: str) -> list[Verdict]:
    """Refuse every theorem of a text for the same reason, without showing it to Lean."""
    names = [declaration.name for declaration in declarations(source)] or ["(file)"]
    return [Verdict(name, False, reason, "text", source=source) for name in names]


# ------------------------------------------------------------------------ deciding


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """The verdicts on the theorems of a file, and the errors of all its commands."""

    verdicts: list[Verdict]
    errors: tuple[Complaint, ...] = ()


def _decide(report: Report, found: Found | None, source: str) -> tuple[str, Level]:
    """The first reason to refuse a theorem, and the level that it reached."""
    if found is None:
        return _first_error(report) or "it declares no theorem", "text"
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
    """All axioms, or None if not known, and those that were seen."""
    if found is None:
        return None, ()
    known = found.axioms_complete and found.kernel is None
    return found.axioms if known else None, found.axioms


def _first_error(report: Report) -> str:
    return f"it does not compile: {report.errors[0].said}" if report.errors else ""


def _why_absent(report: Report, name: str, source: str) -> str:
    if bare(name) in report.deaths:
        return f"it crashes Lean every time: {report.deaths[bare(name)]}"
    said = _said_against(report, name, source)
    kind = report.kinds.get(bare(name), "theorem")
    if not said and kind != "theorem":
        a = "an" if kind[0] in "aio" else "a"
        there = "and a theorem in the reference"
        return f"it is not in the file as a theorem: it is {a} {kind} here {there}"
    return said or _first_error(report) or "it is not in the file"


def _said_against(report: Report, name: str, source: str) -> str:
    """The first objection of the rules or of Lean to the command that declares this theorem."""
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


def _gate(pool: Pool, reference: str | None) -> requests.Gate:
    """The gate. A file may have its own notations only if a trusted text states its theorems."""
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
    """Verify in a second Lean what the first one declared.

    The first has seen the text and is not trusted: it only exports declarations, as data. The second
    sees the reference and this data, and runs its kernel. It stays clean, and can verify again.
    """
    names = [d.name for d in declarations(file, private=True)]
    line = requests.Verify(
        compiled.reply.export, names, reference, pool.gate,
        target.name if target else None, target.leak_rule if target else None, heartbeats,
    ).line  # fmt: skip
    try:
        verified = await ask_twice(pool, "clean", line, file, deadline, trusted=True, at_most=at_most)
    except RequestRefused as error:
        if target and error.kind == "index":
            raise StatementError(f"the library has no theorem {target.name}") from error
        raise
    try:
        return read_report(compiled, replies.read(verified, replies.Verified), file)
    except (ValueError, IndexError) as error:
        raise ProtocolError(f"Lean answered the judge in an unknown format ({error!r})") from error

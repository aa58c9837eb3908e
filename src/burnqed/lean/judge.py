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

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from burnqed.core.errors import ProtocolError, StatementError
from burnqed.core.types import LeakRule, LibraryConstant, Statement, TheoremText
from burnqed.lean import protocol, rules, statement
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations

JUDGE_SECONDS = 300.0
# For a whole proof; when it was found, each of its steps had a budget. (Lean's default is 200,000.)
PROOF_HEARTBEATS = 4_000_000
Level = Literal["text", "compiled", "kernel", "judged"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one theorem. `level` is how far it came; `reason` is empty when accepted.

    `heartbeats` is what Lean took for its command, in the thousands of the option `maxHeartbeats`: a
    proof that takes more than Lean's default compiles elsewhere only below a `set_option`.
    """

    theorem: str
    accepted: bool
    reason: str
    level: Level
    axioms: tuple[str, ...] = ()
    type: str = ""
    leak_rule: LeakRule | None = None
    source: str = ""
    seconds: float = 0.0
    heartbeats: int = 0


async def judge_proof(pool: Pool, goal: Statement, tactics: Sequence[str]) -> Verdict:
    """Judge tactics as a proof of a pinned statement. Raises only for infrastructure and bad input."""
    begun = time.monotonic()
    text = statement.with_proof(goal, tactics)
    pinned = statement.with_sorry(goal)

    target = goal if isinstance(goal, LibraryConstant) else None
    heartbeats = 0

    def verdict(reason: str, level: Level, found: Found | None = None) -> Verdict:
        return Verdict(
            found.name if found else statement.GOAL_NAME, not reason, reason, level,
            found.axioms if found else (), found.type if found else "",
            target.leak_rule if target else None, text, time.monotonic() - begun, heartbeats,
        )  # fmt: skip

    forbidden = rules.first_violation("\n".join(tactics))
    if forbidden:
        return verdict(forbidden, "text")
    report = await _check(pool, text, pinned, target, heartbeats=PROOF_HEARTBEATS)
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
    found = next((theorem for theorem in report.theorems if _bare(theorem.name) == _bare(wanted)), None)
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
    """Judge every theorem of a file; with a reference, that it proves what the reference states."""
    begun = time.monotonic()
    written = declarations(source)

    def verdict(name: str, reason: str, level: Level, found: Found | None = None) -> Verdict:
        return Verdict(
            name, not reason, reason, level, found.axioms if found else (),
            found.type if found else "", None, source, time.monotonic() - begun,
            report.heartbeats(name),
        )  # fmt: skip

    required = declarations(reference or "")
    if reference is not None and not required:
        raise StatementError("the reference states no theorem")
    poison = _poison(source, reference)
    if poison:
        return refuse_all(source, poison)
    report = await _check(pool, source, reference, seconds=seconds)
    if report.reference_errors:
        raise StatementError(f"the reference does not compile: {report.reference_errors[0]}")
    names = {_bare(d.name) for d in written}
    verdicts = []
    for found in report.theorems:
        reason, level = _decide(report, found, source)
        # Accepted ones that are private, or come of `where` clauses and structures, are not listed.
        if reason or _bare(found.name) in names:
            verdicts.append(verdict(found.name, reason, level, found))
    seen = {_bare(v.theorem) for v in verdicts}
    unseen = [d.name for d in (*required, *written) if _bare(d.name) not in seen]
    absent = dict.fromkeys((*report.missing, *unseen))
    verdicts += [verdict(name, _why_absent(report, name, source), "text") for name in absent]
    order = {_bare(declaration.name): index for index, declaration in enumerate(written)}
    return sorted(verdicts, key=lambda v: order.get(_bare(v.theorem), len(order)))


async def complaint(pool: Pool, source: str, reference: str) -> tuple[bool, str]:
    """Whether the reference compiles, and what Lean first says against the file, or against that.

    A quick look, in a Lean that others have used: nothing found here is a proof, but much is none.
    """
    poison = _poison(source, reference)
    if poison:
        return True, poison
    async with pool.lease() as worker:
        line = protocol.qed_compile(source, rules.gate(), reference, None, None)
        compiled = await worker.request(line, timeout=JUDGE_SECONDS)
    protocol.raise_if_refused(compiled)
    stated = [m["data"].strip() for m in _errors(compiled["referenceMessages"])]
    said = stated or [m["data"].strip() for m in _errors(compiled["messages"])]
    return not stated, said[0] if said else ""


def forbidden_import(imports: Sequence[str], reference: Sequence[str] | None) -> str:
    """Why a file's imports rule it out; empty when they do not.

    A reference means what it means with its own imports; a file of its own needs no metaprograms.
    """
    if reference is not None:
        more = [name for name in imports if name not in reference and name != "Init"]
        return f"it imports {more[0]}, which the reference does not" if more else ""
    machinery = [name for name in imports if name.split(".")[0] == "Lean"]
    return f"it imports {machinery[0]}, which is Lean's own machinery" if machinery else ""


def refuse_all(source: str, reason: str) -> list[Verdict]:
    """The same reason against every theorem of a text, which Lean does not get to see."""
    names = [declaration.name for declaration in declarations(source)] or ["(file)"]
    return [Verdict(name, False, reason, "text", source=source) for name in names]


# ------------------------------------------------------------------------ deciding


@dataclass(frozen=True, slots=True)
class Found:
    """A theorem as the REPL reports it."""

    name: str
    type: str
    axioms: tuple[str, ...]
    constants: tuple[tuple[str, str], ...]
    kernel: str | None
    has_sorry: bool
    reference: str | None
    target: str | None
    leak: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the text, as Lean parsed it: its bytes, and what it took."""

    kind: str
    start: int
    end: int
    heartbeats: int


@dataclass(frozen=True, slots=True)
class Report:
    """What `qed.compile` and `qed.verify` answered."""

    commands: tuple[Command, ...]
    places: dict[str, list[tuple[int, int]]]
    reference_shape: tuple[str, ...]
    errors: tuple[tuple[int, str], ...]
    reference_errors: tuple[str, ...]
    theorems: tuple[Found, ...]
    missing: tuple[str, ...]
    changed: tuple[str, ...]
    bad_declarations: tuple[str, ...]

    @property
    def shape(self) -> tuple[str, ...]:
        return tuple(command.kind for command in self.commands)

    def heartbeats(self, theorem: str) -> int:
        """What the command took that declares it."""
        places = self.places.get(_bare(theorem), ())
        return max((c.heartbeats for c in self.commands if (c.start, c.end) in places), default=0)


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
    if found.reference == "differs" or found.target == "differs":
        return "it states something else than what was to be proved", "kernel"
    if report.changed:
        return f"{report.changed[0]} is not what the reference says", "kernel"
    if report.bad_declarations:
        return f"it declares {report.bad_declarations[0]}", "kernel"
    foreign = [axiom for axiom in found.axioms if axiom not in rules.ALLOWED_AXIOMS]
    if foreign:
        return f"it rests on the axiom {', '.join(foreign)}", "kernel"
    return "", "judged"


def _first_error(report: Report) -> str:
    return f"it does not compile: {report.errors[0][1]}" if report.errors else ""


def _why_absent(report: Report, name: str, source: str) -> str:
    return _said_against(report, name, source) or _first_error(report) or "it is not in the file"


def _said_against(report: Report, name: str, source: str) -> str:
    """What the rules or Lean say about the command that declares a theorem of this name."""
    raw = source.encode()
    for start, end in report.places.get(_bare(name), ()):
        forbidden = rules.first_violation(raw[start:end].decode(errors="replace"))
        if forbidden:
            return forbidden
        for where, message in report.errors:
            if start <= where < end:
                return f"it does not compile: {message}"
    return ""


def _places(commands: Sequence[Command], source: str) -> dict[str, list[tuple[int, int]]]:
    """The byte ranges of the commands that declare a theorem, by its name."""
    starts = [command.start for command in commands]
    places: dict[str, list[tuple[int, int]]] = {}
    for declaration in declarations(source):
        at = len(source[: declaration.at].encode())
        index = bisect_right(starts, at) - 1
        if index >= 0 and at < commands[index].end:
            place = commands[index].start, commands[index].end
            places.setdefault(_bare(declaration.name), []).append(place)
    return places


def _leak(found: Found, target: str) -> str:
    if found.leak is None:
        return ""
    if found.leak == target:
        return f"it uses {target} itself"
    module = dict(found.constants).get(found.leak, "the library")
    return f"it uses {found.leak} of {module}, which may rest on {target}"


def _bare(name: str) -> str:
    return name.replace("«", "").replace("»", "")


def _poison(source: str, reference: str | None) -> str | None:
    """A reason not to let Lean see this file at all.

    What the reference, which is trusted, says in a line of its own may be said in the same line again.
    """
    trusted = {_line(reference or "", v.at) for v in rules.violations(reference or "")}
    for violation in rules.violations(source):
        if violation.dangerous and _line(source, violation.at) not in trusted:
            return violation.reason
    return None


def _line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : len(text) if end < 0 else end].strip()


# ------------------------------------------------------------------------ asking


async def _check(
    pool: Pool,
    file: str,
    reference: str | None,
    target: LibraryConstant | None = None,
    seconds: float = JUDGE_SECONDS,
    heartbeats: int | None = None,
) -> Report:
    """Compile in one Lean, verify in another; neither has seen an untrusted text before.

    The first sees this one, and is not believed: it only hands out declarations, as data. The second
    sees the reference and that data, and asks its kernel; it stays clean, and verifies again.
    """
    async with pool.lease("fresh") as worker:
        hidden = target.name if target else None
        line = protocol.qed_compile(file, rules.gate(), reference, hidden, heartbeats)
        compiled = await worker.request(line, timeout=seconds)
        worker.retire()  # nobody is to use it again, and its successor starts meanwhile
        protocol.raise_if_refused(compiled)
    names = [d.name for text in (reference or "", file) for d in declarations(text)]
    async with pool.lease("clean") as worker:
        line = protocol.qed_verify(compiled.get("export"), names, reference, target, heartbeats)
        verified = await worker.request(line, timeout=seconds, trusted=True)
        if target and verified.get("error") == "index":
            raise StatementError(f"the library has no theorem {target.name}")
        protocol.raise_if_refused(verified)
    try:
        return _read(compiled, verified, file)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ProtocolError(f"Lean answered the judge in an unknown shape ({error!r})") from error


def _read(compiled: dict[str, Any], verified: dict[str, Any], file: str) -> Report:
    lines = _line_starts(file)
    commands = tuple(
        Command(str(c["kind"]), int(c["boundary"][0]), int(c["boundary"][1]), int(c["heartbeats"]))
        for c in compiled["commands"]
    )
    return Report(
        commands=commands,
        places=_places(commands, file),
        reference_shape=tuple(c["kind"] for c in compiled["referenceCommands"]),
        errors=tuple((_offset(lines, m), m["data"].strip()) for m in _errors(compiled["messages"])),
        reference_errors=tuple(m["data"].strip() for m in _errors(compiled["referenceMessages"])),
        theorems=tuple(_found(t) for t in verified["theorems"]),
        missing=tuple(verified["missing"]),
        changed=tuple(verified["changed"]),
        bad_declarations=tuple(
            f"{d['kind']} {d['name']}"
            for d in verified["declarations"]
            if d["isUnsafe"] and not any(part.startswith("_") for part in d["name"].split("."))
        ),
    )


def _found(theorem: dict[str, Any]) -> Found:
    return Found(
        name=theorem["name"],
        type=theorem["type"]["pp"],
        axioms=tuple(theorem["axioms"]),
        constants=tuple((c["name"], c["module"]) for c in theorem["constants"]),
        kernel=theorem["kernel"],
        has_sorry=theorem["hasSorry"],
        reference=theorem["reference"],
        target=theorem.get("target"),
        leak=theorem.get("leak"),
    )


def _errors(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m for m in messages if m["severity"] == "error"]


def _line_starts(text: str) -> list[int]:
    """Byte offset of each line."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line.encode()) + 1)
    return starts


def _offset(lines: Sequence[int], message: dict[str, Any]) -> int:
    """Roughly where a message is: its line's start, moved by its column."""
    position = message.get("pos") or {"line": 1, "column": 0}
    line = min(int(position["line"]) - 1, len(lines) - 1)
    return lines[int(line)] + int(position["column"])

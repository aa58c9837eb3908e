"""The library's own proofs as steps: source files of Init and Std, each theorem proved again.

A file of the library cannot be elaborated beside the library, where all of it is there already. So a
theorem of it is proved again as the library's constant, with itself and what is seen to rest on it
hidden (leak rule `self`), by the steps of the proof that the file has. Names are written out, since
nothing is open there. The judge looks at it afterwards, and what it does not accept is taken out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from burnqed.core.errors import InputError, LeanError, LeanLost, RequestTimeout, StatementError
from burnqed.core.tasks import until_stopped
from burnqed.core.types import LibraryConstant
from burnqed.data.lean_sources import read_text
from burnqed.data.library import library_entries
from burnqed.data.trace import LOST, SourceFile, Traced, digest_of, place_in, step_rows, trace_files
from burnqed.data.trace_leans import SharedLeans
from burnqed.data.trace_replay import NotReplayed, Replayed, ReplayedStep, replay_from
from burnqed.data.trace_store import (
    FileTrace,
    TheoremTrace,
    TraceRow,
    TraceWriter,
    Warn,
    read_parts,
)
from burnqed.lean import protocol
from burnqed.lean.judge import judge_proof
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.process import LaunchSpec, Limits
from burnqed.lean.retrace import LibraryFile, LibraryProof, retrace_file
from burnqed.lean.statement import split_header
from burnqed.lean.tokens import tokenize

LIBRARY = ("Init", "Std")
ACCEPTED = "accepted"
THEOREM_SECONDS = 120.0

# Why a theorem is not recorded, as tables name it.
PRIVATE = "is private"
ABSENT = "is not in this Lean's library"
MUTUAL = "in a `mutual` block"
STATEMENT = "its statement does not elaborate here"
SYNTAX = "its proof does not parse here"
RECURSION = "proved by recursion, or by itself"
WHERE = "has a `where`, `let rec` or `decreasing_by`"
NEEDS_PRIVATE = "needs a private name"
NEEDS_LOCAL = "a step does not parse here"
UNKNOWN = "needs a name that is not there"
AMBIGUOUS = "needs an ambiguous name"
TIME = "runs out of time"
NOT_JUDGED = "the judge does not accept it"
HIDDEN = "needs a definition that is not exposed"
MACHINERY = "names Lean's own machinery"
DIFFERENT = "a step does something else here"
OTHER = "a step fails otherwise"

_UNKNOWN = re.compile(r"[Uu]nknown (?:identifier|constant) `([^`]+)`")
_REASONS = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        (r"which is the theorem itself", RECURSION),
        (r"Lean's own machinery", MACHINERY),
        (r"runs out of heartbeats|maximum recursion depth", TIME),
        (r"[Aa]mbiguous", AMBIGUOUS),
        (r"^(?:let|have) rec\b|[Uu]nknown free variable", WHERE),
        (r"<input>:\d+:\d+:", NEEDS_LOCAL),
        (
            r"exposed body|[Ff]ail(?:s|ed) to (?:unfold|delta|generate)|proof or definition name"
            r"|[Dd]id not unfold|not definitionally equal|[Tt]he rfl tactic failed",
            HIDDEN,
        ),
        (r"made no progress|unsolved goals|goals are left|Could not split|Did not find", DIFFERENT),
    )
)


_DECLARE = frozenset({"theorem", "lemma", "def", "abbrev", "opaque", "structure", "inductive"})


@dataclass(frozen=True, slots=True)
class LibraryTracer:
    """Traces files of the library. `theorems` are the names that count as premises of a step."""

    theorems: frozenset[str]

    def digest(self, path: Path) -> str:
        return digest_of(path)

    def read(self, path: Path, name: str, digest: str, loaded: frozenset[str]) -> SourceFile:
        # What it imports is there already: the library is.
        return SourceFile(name, digest, LIBRARY, split_header(read_text(path)).body)

    async def trace(self, worker: Worker, file: SourceFile, seconds: float) -> Traced:
        found = await _read(worker, file.text, seconds)
        if tokenize(file.text) and not found.proofs and len(found.bad) >= found.commands:
            raise InputError(found.bad[0].error)
        done = [await replayed_as_constant(worker, proof) for proof in found.proofs]
        record = FileTrace(file.path, file.sha256, file.imports, library=True)
        return self._traced(record, file.text, found, done)

    def _traced(
        self,
        record: FileTrace,
        text: str,
        found: LibraryFile,
        results: Sequence[Replayed | NotReplayed],
    ) -> Traced:
        place = place_in(text)

        def places(proof: LibraryProof) -> Callable[[int], tuple[int, int]]:
            return lambda at: place(proof.places[at])

        private = frozenset(_private_names(text))
        theorems: list[TheoremTrace] = []
        rows: list[TraceRow] = []
        for proof, result in zip(found.proofs, results, strict=True):
            statement = text[slice(*proof.signature)].strip()
            told = TheoremTrace(proof.name, statement, proof.start, place(proof.start)[0], "other")
            if isinstance(result, Replayed):
                grain = result.grain.name.lower()
                told = replace(told, outcome="steps", steps=len(result.steps), grain=grain)
                rows += step_rows(record.path, proof.name, result, places(proof), self._premises)
            elif proof.error == "term":
                told = replace(told, outcome="term", reason="proved by a term")
            else:
                told = replace(told, reason=_reason(proof, result, private), detail=str(result))
            theorems.append(told)
        bad = "\n".join(bad.error for bad in found.bad)
        return Traced(replace(record, theorems=tuple(theorems), detail=bad), tuple(rows))

    def _premises(self, step: ReplayedStep) -> tuple[str, ...]:
        """Theorems that it names, and those in the terms that it made; some leave no trace in these."""
        named = [token.text for token in tokenize(step.tactic) if token.kind == "identifier"]
        used = dict.fromkeys((*named, *step.constants))
        return tuple(name for name in used if name in self.theorems)


async def trace_library(
    spec: LaunchSpec,
    workers: int | None,
    sources: Sequence[tuple[Path, str]],
    seconds: float,
    writer: TraceWriter,
    on_file: Callable[[FileTrace], None],
    stop: asyncio.Event,
) -> None:
    """Trace files of the library that the Leans of this `spec` have, as `trace_files` does."""
    limits = Limits(request_seconds=THEOREM_SECONDS)
    async with Pool(spec, workers, limits) as pool:
        entries = await library_entries(pool, LIBRARY, "self")
        tracer = LibraryTracer(frozenset(entry["name"] for entry in entries))
        leans = SharedLeans(pool)
        await trace_files(leans, sources, seconds, writer, on_file, stop, tracer)


async def _read(worker: Worker, text: str, seconds: float) -> LibraryFile:
    """A Lean that is lost is asked once more: it may not be of the file."""
    try:
        return await retrace_file(worker, text, seconds)
    except RequestTimeout:
        raise
    except LeanLost:
        await worker.ready()
        return await retrace_file(worker, text, seconds)


async def replayed_as_constant(worker: Worker, proof: LibraryProof) -> Replayed | NotReplayed:
    """Its steps at the library's constant. A proof that takes Lean with it twice is left out."""
    if proof.proof is None:
        return NotReplayed(proof.error)
    trouble = NotReplayed("")
    for _ in range(2):
        if worker.due:
            worker.retire()
        await worker.ready()
        try:
            async with asyncio.timeout(THEOREM_SECONDS):
                return await _from_constant(worker, proof)
        except NotReplayed as error:
            return error
        except (TimeoutError, RequestTimeout):
            return NotReplayed(f"{TIME}: not done within {THEOREM_SECONDS:g} s")
        except LeanLost as error:
            trouble = NotReplayed(f"{LOST}: {error.message}")
    return trouble


async def _from_constant(worker: Worker, proof: LibraryProof) -> Replayed:
    assert proof.proof is not None
    constant = LibraryConstant(proof.name, "self")
    started = protocol.read_start(await worker.request(protocol.start(constant)), proof.name)
    intro = f"intro {' '.join(proof.binders)}" if proof.binders else ""
    return await replay_from(
        worker, proof.text, proof.proof, started.state, started.goals or (),
        intro=intro, opened=proof.opened,
    )  # fmt: skip


# -------------------------------------------------------------------------- the judge


async def judge_library(
    spec: LaunchSpec,
    out: Path,
    writer: TraceWriter,
    on_file: Callable[[FileTrace], None],
    warn: Warn,
    stop: asyncio.Event,
) -> None:
    """Have the judge look at every recorded proof; what it does not accept is recorded no more.

    A file is written anew when it was judged. What was judged in a run before is passed over. Where
    Lean itself fails, a proof stays as it is, not judged.
    """

    async def work(pool: Pool) -> None:
        for file, rows in read_parts(out, warn):
            if any(t.outcome == "steps" and not t.judged for t in file.theorems):
                file, rows = await _judged(pool, file, rows)
                writer.add(file, rows)
            on_file(file)

    async with Pool(spec, 2) as pool:
        await until_stopped([work(pool)], stop)


async def _judged(
    pool: Pool, file: FileTrace, rows: Sequence[TraceRow]
) -> tuple[FileTrace, list[TraceRow]]:
    tactics: dict[str, list[str]] = {}
    for row in rows:
        tactics.setdefault(row.theorem, []).append(row.tactic)
    theorems: list[TheoremTrace] = []
    for theorem in file.theorems:
        if theorem.outcome == "steps" and not theorem.judged:
            said = await _verdict(pool, theorem.name, tactics[theorem.name])
            if said == ACCEPTED:
                theorem = replace(theorem, judged=said)
            elif said:
                theorem = replace(theorem, outcome="other", steps=0, reason=NOT_JUDGED, detail=said)
        theorems.append(theorem)
    kept = {theorem.name for theorem in theorems if theorem.outcome == "steps"}
    return replace(file, theorems=tuple(theorems)), [row for row in rows if row.theorem in kept]


async def _verdict(pool: Pool, name: str, tactics: Sequence[str]) -> str:
    """What the judge says of these steps, or why not; empty where Lean failed."""
    try:
        verdict = await judge_proof(pool, LibraryConstant(name, "self"), tactics)
    except StatementError as error:
        return error.message
    except LeanError:
        return ""
    return ACCEPTED if verdict.accepted else verdict.reason


# ---------------------------------------------------------------------------- reasons


def _private_names(text: str) -> Iterator[str]:
    """The last parts of the names that a file declares for itself."""
    tokens = tokenize(text)
    for at, token in enumerate(tokens):
        if token.text == "private":
            near = tokens[at + 1 : at + 6]
            for word, name in pairwise(near):
                if word.text in _DECLARE:
                    yield name.text.rpartition(".")[2]
                    break


def _reason(proof: LibraryProof, result: NotReplayed | Replayed, private: frozenset[str]) -> str:
    """Why a theorem with tactics is not recorded, as tables name it."""
    if proof.error:
        known = {"private": PRIVATE, "absent": ABSENT, "mutual": MUTUAL}
        return known.get(proof.error, STATEMENT if proof.error.startswith("statement") else SYNTAX)
    assert proof.proof is not None
    if proof.proof.more or proof.proof.helpers:
        return WHERE
    return reason_of(str(result), private)


def reason_of(said: str, private: frozenset[str]) -> str:
    """What Lean said of the step that fails, as tables name it."""
    for reason in (LOST, TIME):
        if said.startswith(reason):
            return reason
    unknown = _UNKNOWN.search(said)
    if unknown:
        return NEEDS_PRIVATE if unknown[1].rpartition(".")[2] in private else UNKNOWN
    return next((reason for pattern, reason in _REASONS if pattern.search(said)), OTHER)

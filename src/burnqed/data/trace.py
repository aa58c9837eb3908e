"""Lean files traced: the proofs in them as steps that replay, and a word on everything else.

A file is elaborated once, and then every proof in it is replayed in the same process, step by step
(`trace_replay`). A file with errors is skipped as a whole: what follows an error may mean something
else than was meant.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import textwrap
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from burnqed.core.errors import (
    BurnQedError,
    InputError,
    LeanError,
    LeanLost,
    LeanMemoryExceeded,
    RequestTimeout,
)
from burnqed.core.tasks import until_stopped
from burnqed.data.lean_sources import imported_text, loaded_modules, read_text, relative
from burnqed.data.trace_replay import NotReplayed, Replayed, ReplayedStep, replay
from burnqed.data.trace_store import FileTrace, TheoremTrace, TraceRow, TraceWriter
from burnqed.lean.judge import judge_file, judge_proof
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.source_file import read_regular
from burnqed.lean.statement import split_header
from burnqed.lean.tokens import tokenize
from burnqed.lean.trace import TracedFile, TracedTheorem, trace_file

FILE_SECONDS = 300.0
LONG = 100  # tactics: proofs with more are counted

# Why a file is skipped, as tables name it.
NOT_TEXT = "not UTF-8"
NOT_READ = "cannot be read"
NOT_LOADED = "imports what is not loaded"
ERRORS = "does not elaborate"
TOO_LONG = "took too long"
LOST = "Lean was lost"


@dataclass(frozen=True, slots=True)
class Traced:
    """A file, with a row for each step of its proofs; `rewritten` has these steps for proofs."""

    file: FileTrace
    rows: tuple[TraceRow, ...] = ()
    rewritten: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that can be shown to Lean.

    `text` begins with that of the files it imports, where Lean has to be given it. The file's own text
    begins at `offset`. `imports` are those that it names itself.
    """

    path: str
    sha256: str
    imports: tuple[str, ...]
    text: str
    offset: int = 0


class Tracer(Protocol):
    """One way to get from a file to steps. What it raises says why there are none."""

    def read(self, path: Path, name: str, digest: str, loaded: frozenset[str]) -> SourceFile:
        """The file. `loaded` are the modules that Lean has."""
        ...

    async def trace(self, worker: Worker, file: SourceFile, seconds: float) -> Traced:
        """Its theorems and their steps."""
        ...


async def trace_files(
    pool: Pool,
    judges: Pool | None,
    sources: Sequence[tuple[Path, str]],
    seconds: float,
    writer: TraceWriter,
    on_file: Callable[[FileTrace], None],
    stop: asyncio.Event,
    tracer: Tracer | None = None,
) -> None:
    """Trace the files (as `lean_sources.sources` tells them) that were not, or are not what they were.

    As many at once as the pool has workers. When `stop` is set, those in flight are dropped: a resumed
    run starts them again.
    """
    tracer = tracer or FileTracer()
    loaded = await loaded_modules(pool)
    todo = iter(sources)

    async def work() -> None:
        for path, trouble in todo:
            name = relative(path, Path.cwd())
            digest = _digest(path)
            before = writer.earlier.get(name)
            if before is not None and before.sha256 == digest and before.problem != LOST:
                on_file(before)
                continue
            begun = time.monotonic()
            try:
                file = _read(tracer, path, trouble, name, digest, loaded)
                async with pool.lease() as worker:
                    begun = time.monotonic()
                    traced = await _elaborated(tracer, worker, file, seconds)
            except _Skipped as error:
                traced = Traced(FileTrace(name, digest, problem=error.problem, detail=error.detail))
            took = time.monotonic() - begun
            traced = replace(traced, file=replace(traced.file, seconds=took))
            if judges is not None and not traced.file.problem:
                traced = await _judged(judges, traced)
            writer.add(traced.file, traced.rows)
            on_file(traced.file)

    await until_stopped([work() for _ in range(pool.size)], stop)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return ""


class _Skipped(Exception):
    """A file of which nothing is recorded, and why, as tables name it."""

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(problem, detail)
        self.problem, self.detail = problem, detail


def _read(
    tracer: Tracer, path: Path, trouble: str, name: str, digest: str, loaded: frozenset[str]
) -> SourceFile:
    try:
        if trouble:
            raise InputError(trouble)
        return tracer.read(path, name, digest, loaded)
    except InputError as error:
        if "not UTF-8" in error.message:
            raise _Skipped(NOT_TEXT, error.message) from None
        imports = error.message.startswith("it imports")
        raise _Skipped(NOT_LOADED if imports else NOT_READ, error.message) from None


async def _elaborated(tracer: Tracer, worker: Worker, file: SourceFile, seconds: float) -> Traced:
    try:
        return await tracer.trace(worker, file, seconds)
    except (TimeoutError, RequestTimeout):
        raise _Skipped(TOO_LONG, f"not done within {seconds:g} s") from None
    except LeanMemoryExceeded as error:
        raise _Skipped(TOO_LONG, error.message) from None
    except InputError as error:
        raise _Skipped(ERRORS, error.message) from None
    except LeanError as error:
        raise _Skipped(LOST, error.message) from None


class FileTracer:
    """A file elaborated as it is, each proof replayed where it stands."""

    def read(self, path: Path, name: str, digest: str, loaded: frozenset[str]) -> SourceFile:
        source = split_header(read_text(path))
        before = imported_text(path, source.imports, loaded)
        return SourceFile(name, digest, source.imports, before + source.body, len(before))

    async def trace(self, worker: Worker, file: SourceFile, seconds: float) -> Traced:
        # Elaborating and replaying together; Lean is stopped wherever it is then.
        async with asyncio.timeout(seconds):
            return await _with_worker(worker, file, seconds)


async def _with_worker(worker: Worker, file: SourceFile, seconds: float) -> Traced:
    """Elaborate the file and replay its proofs. A proof that takes Lean with it twice is left out.

    The first time Lean elaborates what it must: a proof that is replayed to its end needs no more. If
    one is not, it may be wrong, and what follows may rest on it: then all of it is done in full.
    """
    done: dict[int, Replayed | NotReplayed] = {}
    blamed: int | None = None
    full = False
    while True:
        await worker.ready()
        found = await trace_file(worker, file.text, seconds, file.offset, full=full)
        own = [bad for bad in found.bad if bad.start >= file.offset]
        if own:
            raise InputError(_placed(own[0].error, file.text.count("\n", 0, file.offset)))
        at = 0
        try:
            for at, theorem in enumerate(found.theorems):
                if theorem.state is not None and at not in done:
                    try:
                        done[at] = await replay(worker, file.text, theorem)
                    except NotReplayed as error:
                        done[at] = error
                if theorem.assumed and not full and not isinstance(done.get(at), Replayed):
                    break
            else:
                if full or not any("rests on sorry" in theorem.error for theorem in found.theorems):
                    break
            full, done, blamed = True, {}, None
        except LeanLost as error:
            if blamed == at:
                done[at] = NotReplayed(f"{LOST}: {error.message}")
            blamed = at
    # Commands of imported files that Lean could not use here are as if they were not there.
    text = file.text
    for bad in found.bad:
        text = text[: bad.start] + re.sub(r"[^\n]", " ", text[bad.start : bad.end]) + text[bad.end :]
    return _rows(replace(file, text=text), found, done)


def _placed(error: str, before: int) -> str:
    """What Lean says, with lines of the file itself: `before` stand before it."""
    return re.sub(r"(?m)^(\d+)(?=:\d+:)", lambda line: str(int(line[1]) - before), error)


def place_in(text: str, offset: int = 0) -> Callable[[int], tuple[int, int]]:
    """Line, from 1, and column, from 0, of a character, in the file that begins at `offset`."""
    breaks = [at for at, char in enumerate(text) if char == "\n"]
    first = bisect_right(breaks, offset - 1)

    def place(at: int) -> tuple[int, int]:
        line = bisect_right(breaks, at - 1)
        return line + 1 - first, at - (breaks[line - 1] + 1 if line else 0)

    return place


def _rows(file: SourceFile, found: TracedFile, done: dict[int, Replayed | NotReplayed]) -> Traced:
    place = place_in(file.text, file.offset)
    theorems: list[TheoremTrace] = []
    rows: list[TraceRow] = []
    rewritten, end = "", 0
    for at, theorem in enumerate(found.theorems):
        name = theorem.name
        if theorem.example is not None:  # its line is that of the whole text
            name = f"{name.rpartition('_')[0]}_{place(theorem.example[0])[0]}"
        told = TheoremTrace(
            name, _statement(theorem, name, file.text), theorem.start, place(theorem.start)[0], "other"
        )
        result = done.get(at)
        if isinstance(result, Replayed):
            told = replace(
                told, outcome="steps", steps=len(result.steps), grain=result.grain.name.lower()
            )
            rows += step_rows(file.path, name, result, place)
            rewritten += file.text[end : theorem.start] + _with_steps(file.text, theorem, result)
            end = theorem.end
        elif result is None and not theorem.error and not theorem.problem:
            told = replace(told, outcome="term", reason="proved by a term")
        else:
            told = replace(
                told, reason=_reason(file.text, theorem, result), detail=_detail(theorem, result)
            )
        theorems.append(told)
    record = FileTrace(file.path, file.sha256, file.imports, file.text, theorems=tuple(theorems))
    return Traced(record, tuple(rows), rewritten + file.text[end:])


def step_rows(
    path: str,
    theorem: str,
    replayed: Replayed,
    place: Callable[[int], tuple[int, int]],
    premises: Callable[[ReplayedStep], tuple[str, ...]] = lambda _: (),
) -> Iterator[TraceRow]:
    """A row for each step of a proof; `place` is the line and column of a step's ends."""
    for depth, step in enumerate(replayed.steps):
        yield TraceRow(
            path,
            theorem,
            depth,
            step.state,
            step.tactic,
            step.after,
            step.waiting,
            *place(step.start),
            *place(step.end),
            step.constants,
            premises(step),
        )


def _detail(theorem: TracedTheorem, result: Replayed | NotReplayed | None) -> str:
    return theorem.error or theorem.problem or str(result)


def _reason(text: str, theorem: TracedTheorem, result: Replayed | NotReplayed | None) -> str:
    """Why a theorem with tactics is not recorded, as tables name it."""
    if theorem.error:
        return "in a `mutual` block" if "`mutual`" in theorem.error else "cannot stand alone"
    if str(result).startswith(LOST):
        return LOST
    assert theorem.proof is not None
    words = {t.text for t in tokenize(text[theorem.proof.block.start : theorem.end])}
    short = theorem.name.rpartition(".")[2].replace("«", "").replace("»", "")
    if "sorry" in words or "admit" in words:
        return "left open"
    if words & {theorem.name, short}:
        return "proved by recursion"
    if theorem.proof.more or theorem.proof.helpers:
        return "has a `where` or `decreasing_by`"
    if theorem.problem:
        return "cannot stand alone"
    return "does not replay"


def _statement(theorem: TracedTheorem, name: str, text: str) -> str:
    """The theorem up to the end of its type, as one that the judge takes: public, and with a name.

    Doc comment and attributes are left out; they say nothing about what is to be proved.
    """
    cut_start, cut_end = theorem.cut
    before = text[theorem.start : cut_start].rstrip()
    bare = text[cut_end : theorem.signature_end]
    if theorem.example is not None:
        start, end = (at - cut_end for at in theorem.example)
        bare = f"{bare[:start]}theorem {name.rpartition('.')[2]}{bare[end:]}"
    if theorem.private:
        mark = next((token for token in tokenize(bare) if token.text == "private"), None)
        bare = bare if mark is None else bare[: mark.start] + bare[mark.end :].lstrip()
    bare = bare.lstrip()
    return f"{before}\n{bare}" if before else bare


# ----------------------------------------------------------------------------- the judge


async def _judged(judges: Pool, traced: Traced) -> Traced:
    """What the judge says of the recorded steps: in their file, all at once; else of each alone."""
    tactics: dict[str, list[str]] = {}
    for row in traced.rows:
        tactics.setdefault(row.theorem, []).append(row.tactic)
    said: dict[str, str] = {}
    with suppress(BurnQedError):
        verdicts = await judge_file(judges, traced.rewritten)
        said = {v.theorem: "accepted" for v in verdicts if v.accepted and v.theorem in tactics}
    # What the judge does not list (it is private), or refuses for what stands before it in the file.
    for theorem in traced.file.theorems:
        if theorem.outcome == "steps" and theorem.name not in said:
            statement = traced.file.theorem(theorem).statement
            try:
                verdict = await judge_proof(judges, statement, tactics[theorem.name])
                said[theorem.name] = "accepted" if verdict.accepted else verdict.reason
            except BurnQedError as error:
                said[theorem.name] = error.message
    theorems = tuple(replace(t, judged=said.get(t.name, "")) for t in traced.file.theorems)
    return replace(traced, file=replace(traced.file, theorems=theorems))


def _with_steps(text: str, theorem: TracedTheorem, replayed: Replayed) -> str:
    """A theorem's command with its steps for a proof."""
    steps = "\n".join(textwrap.indent(step.tactic, "  ") for step in replayed.steps)
    return f"{text[theorem.start : theorem.signature_end]}\n  := by\n{steps}"

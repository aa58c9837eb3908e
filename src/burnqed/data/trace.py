"""Lean files traced: the proofs in them as steps that replay, and a word on everything else.

A file is elaborated once, and then every proof in it is replayed in the same process, step by step
(`trace_replay`). A command with errors is as if it were not there. Theorems behind it that may mean
something else without it are not recorded (`overshadowed`).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import textwrap
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from burnqed.core.errors import (
    InputError,
    LeanError,
    LeanLost,
    LeanMemoryExceeded,
    LeanStartError,
    RequestTimeout,
)
from burnqed.core.tasks import until_stopped
from burnqed.data.lean_sources import imported_text, read_text, relative
from burnqed.data.overshadowed import BEHIND, overshadowed
from burnqed.data.trace_judged import judged
from burnqed.data.trace_leans import OwnLeans, TraceLeans
from burnqed.data.trace_replay import NotReplayed, Replayed, ReplayedStep, replay
from burnqed.data.trace_store import FileTrace, TheoremTrace, TraceRow, TraceWriter
from burnqed.lean.outline import BadCommand
from burnqed.lean.pool import Worker
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
    begins at `offset`. `imports` are those that it names itself. A Lean for it has the `options` of its
    project; the `header` says that it is of the module system.
    """

    path: str
    sha256: str
    imports: tuple[str, ...]
    text: str
    offset: int = 0
    options: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


def digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return ""


class Tracer(Protocol):
    """One way to get from a file to steps. What it raises says why there are none."""

    def digest(self, path: Path) -> str:
        """Of all that decides what is traced. A file with another one is traced again."""
        ...

    def read(self, path: Path, name: str, digest: str, loaded: frozenset[str]) -> SourceFile:
        """The file. `loaded` are the modules that Lean has."""
        ...

    async def trace(self, worker: Worker, file: SourceFile, seconds: float) -> Traced:
        """Its theorems and their steps."""
        ...


async def trace_files(
    leans: TraceLeans,
    sources: Sequence[tuple[Path, str]],
    seconds: float,
    writer: TraceWriter,
    on_file: Callable[[FileTrace], None],
    stop: asyncio.Event,
    tracer: Tracer | None = None,
) -> None:
    """Trace the files (as `lean_sources.sources` tells them) that were not, or are not what they were.

    As many at once as there are Leans. When `stop` is set, those in flight are dropped: a resumed
    run starts them again.
    """
    tracer = tracer or FileTracer()
    loaded = await leans.loaded()
    todo = iter(sources)

    async def work() -> None:
        for path, trouble in todo:
            name = relative(path, Path.cwd())
            digest = tracer.digest(path)
            before = writer.earlier.get(name)
            if before is not None and before.sha256 == digest and before.problem != LOST:
                on_file(before)
                continue
            begun = time.monotonic()
            try:
                file = _read(tracer, path, trouble, name, digest, loaded)
                async with leans.worker(file) as worker:
                    begun = time.monotonic()
                    traced = await _elaborated(tracer, worker, file, seconds)
                took = time.monotonic() - begun
                traced = replace(traced, file=replace(traced.file, seconds=took))
                async with leans.judges(file) as judges:
                    if judges is not None:
                        about = await judged(judges, traced.file, traced.rows, traced.rewritten)
                        traced = replace(traced, file=about)
            except LeanStartError as error:
                if not isinstance(leans, OwnLeans):
                    raise
                took = time.monotonic() - begun
                traced = Traced(FileTrace(name, digest, (), "", LOST, error.message, took))
            except _Skipped as error:
                took = time.monotonic() - begun
                traced = Traced(FileTrace(name, digest, (), "", error.problem, error.detail, took))
            writer.add(traced.file, traced.rows)
            on_file(traced.file)

    await until_stopped([work() for _ in range(leans.size)], stop)


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

    def digest(self, path: Path) -> str:
        return digest_of(path)

    def read(self, path: Path, name: str, digest: str, loaded: frozenset[str]) -> SourceFile:
        source = split_header(read_text(path))
        before = imported_text(path, source.imports, loaded)
        return SourceFile(name, digest, source.imports, before + source.body, len(before))

    async def trace(self, worker: Worker, file: SourceFile, seconds: float) -> Traced:
        if not tokenize(file.text[file.offset :]):  # it imports others, and says no more
            return _rows(file, TracedFile((), ()), {})
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
        own = tuple(bad for bad in found.bad if bad.start >= file.offset)
        shadows = _shadows(file.text, found, own)
        if own and all(shadows):
            raise InputError(_placed(own[0].error, file.text.count("\n", 0, file.offset)))
        at = 0
        try:
            for at, theorem in enumerate(found.theorems):
                if shadows[at]:
                    done[at] = _Shadowed(shadows[at])
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
    text = file.text
    for bad in found.bad:
        text = text[: bad.start] + re.sub(r"[^\n]", " ", text[bad.start : bad.end]) + text[bad.end :]
    traced = _rows(replace(file, text=text), found, done)
    before = file.text.count("\n", 0, file.offset)
    wrong = "\n".join(_placed(bad.error, before) for bad in own)
    return replace(traced, file=replace(traced.file, detail=wrong))


class _Shadowed(NotReplayed):
    """It is in a command with errors, or behind one."""


def _shadows(text: str, found: TracedFile, bads: Sequence[BadCommand]) -> list[str]:
    """For each theorem why it is not what it was, if it is in or behind a command with errors."""
    return [
        next((bad.error for bad in bads if bad.start <= theorem.start < bad.end), "")
        or overshadowed(theorem.start, text[theorem.start : theorem.signature_end], bads, text)
        for theorem in found.theorems
    ]


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
    return (
        str(result)
        if isinstance(result, _Shadowed)
        else theorem.error or theorem.problem or str(result)
    )


def _reason(text: str, theorem: TracedTheorem, result: Replayed | NotReplayed | None) -> str:
    """Why a theorem with tactics is not recorded, as tables name it."""
    if isinstance(result, _Shadowed):
        return BEHIND if str(result).startswith(BEHIND) else ERRORS
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


def _with_steps(text: str, theorem: TracedTheorem, replayed: Replayed) -> str:
    """A theorem's command with its steps for a proof."""
    steps = "\n".join(textwrap.indent(step.tactic, "  ") for step in replayed.steps)
    return f"{text[theorem.start : theorem.signature_end]}\n  := by\n{steps}"

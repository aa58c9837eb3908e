"""The judge on a text: which of its theorems are proved, and which axioms do they use?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnqed.core.errors import InputError, StatementError
from burnqed.lean import judge, statement
from burnqed.lean.complaints import Complaint
from burnqed.lean.embedded.snapshot import WHOLE
from burnqed.lean.mathlib_words import mathlib_hint
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.process import Limits
from burnqed.lean.source_file import read_source
from burnqed.lean.strangers import first_danger, forbidden_import
from burnqed.lean.verdict import Verdict
from burnqed.prover import leans
from burnqed.prover.config import LeanConfig

MEMORY_BYTES = 8 * 2**30
SECONDS = judge.JUDGE_SECONDS


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdicts on the theorems of a text, and Lean's other errors in it.

    True if every theorem is accepted and the whole text compiles.
    """

    verdicts: tuple[Verdict, ...]
    errors: tuple[Complaint, ...]
    toolchain: str
    hint: str = ""

    def __bool__(self) -> bool:
        return not self.errors and all(verdict.accepted for verdict in self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)


def check(
    given: str | Path, against: str | Path | None, config: LeanConfig, seconds: float = SECONDS
) -> Checked:
    """Judge a text or a file. With a reference, it must prove exactly what that states.

    `seconds` is the limit for all of it, except for setting up Lean.
    """
    begun = time.monotonic()
    source = _source(given)
    reference = None if against is None else _source(against)
    unfit = forbidden_import(source.imports, reference.imports if reference else None)
    # Init is always imported, as in any Lean file. The reference, if any, decides the other imports.
    modules = ("Init", *(source.imports if reference is None else reference.imports))
    wanted = () if unfit else tuple(dict.fromkeys(modules))
    path = given if isinstance(given, Path) else None
    lean = leans.set_up(leans.in_project(config, path), wanted, seconds=seconds, file=path)
    if lean.toolchain.kind != "embedded" or WHOLE.issuperset(wanted):
        begun = time.monotonic()  # setting up Lean does not count against the file

    async def work() -> judge.FileVerdict:
        if unfit:
            return judge.FileVerdict(judge.refuse_all(source.body, unfit))
        async with Pool(lean.judging, 1, Limits(memory_bytes=MEMORY_BYTES)) as pool:
            trusted = reference.body if reference else None
            left = seconds - (time.monotonic() - begun)
            return await judge.examine_file(pool, source.body, trusted, left)

    judged = run_sync(work())
    where = str(given) if isinstance(given, Path) else "the text"
    return _checked(judged, source, where, lean.toolchain.label, wanted)


async def check_in(
    pool: Pool, text: str, against: str | None, seconds: float, about: tuple[str, Sequence[str]]
) -> Checked:
    """Judge a text by a pool that is open: `about` says its toolchain and its modules.

    If the pool has a gate, the reference must pass it like the text.
    """
    source = _source(text)
    reference = None if against is None else _source(against)
    toolchain, modules = about
    for one in (source, reference):
        if one is not None:
            refuse_absent(one.imports, modules)
    danger = first_danger(reference.body) if reference and pool.gate else None
    if danger:
        raise StatementError(f"the reference, line {danger[0]}: {danger[1]}")
    unfit = forbidden_import(source.imports, None)
    if unfit:
        judged = judge.FileVerdict(judge.refuse_all(source.body, unfit))
    else:
        trusted = reference.body if reference else None
        judged = await judge.examine_file(pool, source.body, trusted, seconds)
    return _checked(judged, source, "the text", toolchain, modules)


def refuse_absent(imports: Sequence[str], modules: Sequence[str]) -> None:
    """Raises `InputError` for imports that a prover did not load."""
    absent = [module for module in imports if module not in modules]
    if absent:
        raise InputError(
            f"the text imports {', '.join(absent)}, which this prover did not load",
            hint=f"load it where the prover is started: imports={absent!r}, or --import",
        )


def _checked(
    judged: judge.FileVerdict,
    source: statement.Source,
    where: str,
    toolchain: str,
    modules: Sequence[str],
) -> Checked:
    if not judged.verdicts:
        raise InputError(f"{where} has no theorem", hint="the judge checks `theorem` and `lemma`")
    found = Checked(tuple(judged.verdicts), tuple(judged.errors), toolchain)
    return replace(found, hint=mathlib_hint(source.body, not found, modules))


def _source(given: str | Path) -> statement.Source:
    text = read_source(given) if isinstance(given, Path) else given
    return statement.split_header(text.replace("\r\n", "\n"))  # as Lean reads it

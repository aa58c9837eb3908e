"""The judge on a text: which of its theorems are proved, and which axioms do they use?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.lean import judge, statement
from burnqed.lean.complaints import Complaint
from burnqed.lean.embedded.snapshot import WHOLE
from burnqed.lean.mathlib_words import mathlib_hint
from burnqed.lean.pool import Pool, run_sync
from burnqed.lean.process import Limits
from burnqed.lean.source_file import read_source
from burnqed.lean.strangers import forbidden_import
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
    lean = leans.set_up(config, wanted, seconds=seconds)
    if WHOLE.issuperset(wanted):
        begun = time.monotonic()  # setting up Lean does not count against the file

    async def work() -> judge.FileVerdict:
        if unfit:
            return judge.FileVerdict(judge.refuse_all(source.body, unfit))
        async with Pool(lean.spec, 1, Limits(memory_bytes=MEMORY_BYTES)) as pool:
            trusted = reference.body if reference else None
            left = seconds - (time.monotonic() - begun)
            return await judge.examine_file(pool, source.body, trusted, left)

    judged = run_sync(work())
    if not judged.verdicts:
        where = given if isinstance(given, Path) else "the text"
        raise InputError(f"{where} has no theorem", hint="the judge checks `theorem` and `lemma`")
    found = Checked(tuple(judged.verdicts), tuple(judged.errors), lean.toolchain.label)
    hint = mathlib_hint(source.body, not found, wanted)
    return Checked(found.verdicts, found.errors, found.toolchain, hint)


def _source(given: str | Path) -> statement.Source:
    text = read_source(given) if isinstance(given, Path) else given
    return statement.split_header(text.replace("\r\n", "\n"))  # as Lean reads it

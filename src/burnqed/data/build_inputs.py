"""The sources of a build: found, fetched where that is needed, and looked through before it begins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from burnqed.core.errors import CorruptError, InputError
from burnqed.data.lean_sources import sources as lean_sources
from burnqed.data.recipe import Source
from burnqed.data.sources.fetch import fetch_source
from burnqed.data.sources.files import checksum
from burnqed.data.sources.lean_library import lean_path
from burnqed.data.sources.open import Opened, open_source, source, sources
from burnqed.data.sources.rows import Notes
from burnqed.data.sources.stored import folder_of, is_stored

Kind = Literal["lean", "proofs", "steps"]
_TOLD = 1000  # rows between two calls of `on_rows`


@dataclass(frozen=True, slots=True)
class Input:
    """A source that has been found. Lean files are `files`; anything else is `opened`."""

    name: str
    wish: Source
    kind: Kind
    opened: Opened | None
    files: tuple[tuple[Path, str], ...] = ()

    @property
    def rows(self) -> Opened:
        assert self.opened is not None
        return self.opened

    def checksum(self) -> str:
        """Of what is in it, wherever it lies."""
        if self.opened is not None:
            return self.opened.checksum()
        digest = hashlib.sha256()
        for path, _ in self.files:
            digest.update(f"{path.name}\0".encode())
            digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()

    def look_through(self, on_rows: Callable[[int], None]) -> None:
        """Refuse what is damaged: a file that is not what was fetched, or that does not end well."""
        if self.opened is None:
            return
        record = self.opened.record
        for name, sha256 in ({} if record is None else record.sha256).items():
            if checksum(folder_of(self.opened.info) / name, "sha256") != sha256:
                raise CorruptError(
                    f"{name} of {self.opened.info.name} is not what was fetched: its SHA-256 differs",
                    hint=f"burn-qed data fetch {self.opened.info.name} --again",
                )
        notes = Notes(on_bad=lambda _told_later: None)
        for number, _ in enumerate(self.opened.records(notes), start=1):
            if number % _TOLD == 0:
                on_rows(_TOLD)


def find_input(name: str, wish: Source, warn: Callable[[str], None]) -> Input:
    """The source that a section means; a published one that is not here is fetched now."""
    given = wish.input or name
    known = {info.name for info in sources()}
    if given in known:
        try:
            info = source(given)
        except InputError:  # a benchmark
            raise _no_proofs(name, given) from None
        if not is_stored(info):
            fetch_source(info, None, wish.revision or None, Notes(warn))
    elif wish.revision:
        raise InputError(f"[sources.{name}]: {given} has no revision", hint="leave it out")
    if files := _lean_files(lean_path(Path(given))):
        return Input(name, wish, "lean", None, files)
    opened = replace(open_source(given), label=name)
    if opened.index is not None:
        raise _no_proofs(name, given)
    if "steps" in opened.info.gives:
        return Input(name, wish, "steps", opened)
    if "proofs" in opened.info.gives:
        return Input(name, wish, "proofs", opened)
    lean = tuple((part.path, "") for part in opened.parts if part.path.suffix == ".lean")
    if not lean:
        raise _no_proofs(name, given)
    return Input(name, wish, "lean", None, lean)


def _no_proofs(name: str, given: str) -> InputError:
    return InputError(
        f"[sources.{name}]: {given} states theorems, and has no proofs to learn from",
        hint="`burn-qed data index --source` makes a set to search of it",
    )


def _lean_files(path: Path) -> tuple[tuple[Path, str], ...]:
    if path.suffix != ".lean" and not path.is_dir():
        return ()
    found = tuple(lean_sources([path]))
    return found if any(file.suffix == ".lean" and file.is_file() for file, _ in found) else ()

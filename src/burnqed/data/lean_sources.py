"""Lean files on the disk: which there are, what stands in them, and what they import of each other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.lean import replies, requests
from burnqed.lean.pool import Pool
from burnqed.lean.source_file import decoded, read_regular
from burnqed.lean.statement import scope_names, split_header
from burnqed.lean.tokens import tokenize

_NOT_SOURCES = frozenset({".lake", "build"})


def sources(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each file once, with what is wrong with it as far as the file system tells."""
    seen: set[Path] = set()
    for path in paths:
        for source, trouble in _below(path) if path.is_dir() else [(path, "")]:
            if source.resolve() not in seen:
                seen.add(source.resolve())
                yield source, trouble


def _below(folder: Path) -> Iterator[tuple[Path, str]]:
    """The sources in a folder, sorted: nothing hidden, and nothing that a build made."""
    closed: list[OSError] = []
    found: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NOT_SOURCES]
        found += [Path(parent, name) for name in files if name.endswith(".lean") and name[0] != "."]
    yield from ((path, "") for path in sorted(found))
    yield from ((Path(error.filename), f"cannot be read: {error.strerror}") for error in closed)
    if not found and not closed:
        yield folder, "there is no .lean file in it"


def read_text(path: Path) -> str:
    """As Lean reads it: without carriage returns."""
    try:
        return decoded(read_regular(path)).replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from error


def relative(path: Path, root: Path) -> str:
    here, root = path.absolute(), root.absolute()
    return (here.relative_to(root) if here.is_relative_to(root) else path).as_posix()


async def loaded_modules(pool: Pool) -> frozenset[str]:
    """What is loaded; Lean cannot load more after its start."""
    async with pool.lease() as worker:
        reply = await worker.request(requests.DescribeEnvironment().line, trusted=True)
    return frozenset(replies.read(reply, replies.Modules).modules)


# ------------------------------------------------------------- files that import each other

_PROJECT = ("lakefile.toml", "lakefile.lean", "lean-toolchain")


def imported_text(path: Path, imports: Sequence[str], loaded: frozenset[str]) -> str:
    """What a file imports of its own project, as text to stand before it: Lean cannot load modules.

    Each of those files is a section, so that what it opens, and its variables, end with it. Raises
    `InputError` for a module that is neither loaded nor a file; what those files import besides may be
    missing, and costs the commands that need it.
    """
    texts: dict[Path, str] = {}
    for module in imports:
        if module not in loaded and _module_file(path, module) is None:
            raise InputError(f"it imports {module}, which is not loaded")
    _add_imports(path, imports, loaded, texts, (path.resolve(),))
    return "".join(f"section\n{text}\n{_ends(text)}end\n" for text in texts.values())


def _ends(text: str) -> str:
    """Ends for what a file leaves open, which Lean closes where a file ends."""
    scopes: list[str] = []
    tokens = tokenize(text)
    for word, after in zip_longest(tokens, tokens[1:]):
        name = text[after.start : after.end] if after and after.kind == "identifier" else ""
        if word.text in ("namespace", "section", "mutual"):
            # Where a name stands on another line it is the next command's.
            own = name if after and "\n" not in text[word.end : after.start] else ""
            scopes += scope_names(own)
        elif word.text == "end":
            own = name if after and "\n" not in text[word.end : after.start] else ""
            del scopes[-len(scope_names(own)) :]
    return "".join(f"end {name}\n" for name in reversed(scopes))


def _add_imports(
    path: Path,
    imports: Sequence[str],
    loaded: frozenset[str],
    texts: dict[Path, str],
    above: tuple[Path, ...],
) -> None:
    """Adds the texts of these modules behind those of what they import themselves."""
    for module in imports:
        found = None if module in loaded else _module_file(path, module)
        if found in above:
            raise InputError(f"it imports {module}, which imports it")
        if found is not None and found not in texts:
            source = split_header(read_text(found))
            _add_imports(found, source.imports, loaded, texts, (*above, found))
            texts[found] = source.body


def _module_file(path: Path, module: str) -> Path | None:
    """A module of the project that a file is of: below one of the folders that it is in."""
    name = Path(*module.replace("«", "").replace("»", "").split(".")).with_suffix(".lean")
    for folder in path.resolve().parents:
        if (folder / name).is_file():
            return folder / name
        if any((folder / mark).is_file() for mark in _PROJECT):
            return None
    return None

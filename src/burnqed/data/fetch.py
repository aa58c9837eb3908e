"""Named benchmarks brought onto this machine: downloaded, taken from a copy, or made from the library.

Each is checked against its pin and kept as an index in the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from burnqed.core.errors import CorruptError, InputError
from burnqed.data.benchmarks import (
    UNPINNED,
    Benchmark,
    IndexFile,
    LibrarySample,
    Packaged,
    Repository,
    load,
    read_object,
    stored,
)
from burnqed.data.git import fetch_commit, has_commit, read_commit
from burnqed.data.index import TheoremIndex, parse_index, write_index
from burnqed.data.lean_sources import read_text
from burnqed.data.library import library_entries, sample, with_statements
from burnqed.data.prover_jsonl import parse_prover_jsonl
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations, split_header
from burnqed.lean.tokens import Token, tokenize


def fetch(benchmark: Benchmark, local: Path | None) -> TheoremIndex:
    """Fetch a set that comes as files, check it, and keep it. `local` is a copy to take instead."""
    if isinstance(benchmark.origin, Packaged) and local is None:
        return load(benchmark)
    index, content = _taken(benchmark, local)
    _keep(benchmark, index, content)
    return index


def read_copy(benchmark: Benchmark, local: Path) -> TheoremIndex:
    """The theorems of a copy that is here, which is read and not kept."""
    return _taken(benchmark, local)[0]


def _taken(benchmark: Benchmark, local: Path | None) -> tuple[TheoremIndex, dict[str, Any]]:
    match benchmark.origin:
        case Repository() as origin:
            content = _from_repository(benchmark.name, origin, local)
        case IndexFile(sha256):
            content = _from_file(benchmark, local, sha256)
        case _:
            raise InputError(f"{benchmark.name} is made here, not fetched", hint="leave out --from")
    index = parse_index(benchmark.name, benchmark.name, content)
    if not index.entries:
        raise InputError(f"there is no theorem of {benchmark.name} in {local or 'what was fetched'}")
    return index, content


async def build(benchmark: Benchmark, origin: LibrarySample, pool: Pool) -> TheoremIndex:
    """Make a set of the running Lean's theorems, check it, and keep it."""
    every = await library_entries(pool, origin.modules, origin.leak_rule)
    entries = await with_statements(pool, sample(every, origin.count, origin.seed))
    content = {
        "name": benchmark.name, "revision": benchmark.pin, "imports": list(origin.modules),
        "theorems": entries,
    }  # fmt: skip
    index = parse_index(benchmark.name, benchmark.name, content)
    if index.checksum != origin.checksum:
        raise CorruptError(
            f"{benchmark.name} comes out as another set with this Lean (checksum {index.checksum})",
            hint="it is defined for the embedded Lean (--toolchain embedded); of another one, make an "
            "index of your own with `burn-qed data index --module`",
        )
    _keep(benchmark, index, content)
    return index


def _keep(benchmark: Benchmark, index: TheoremIndex, content: dict[str, Any]) -> None:
    more = {key: value for key, value in content.items() if key in ("revision", "imports", "files")}
    more["checksum"] = index.checksum
    write_index(stored(benchmark), benchmark.name, content["theorems"], more)


def _from_repository(name: str, origin: Repository, local: Path | None) -> dict[str, Any]:
    revision = f"commit {origin.commit} of {origin.url}"
    if local is None:
        files = fetch_commit(origin.url, origin.commit, [origin.path])
    elif has_commit(local, origin.commit):
        files = read_commit(local, origin.commit, [origin.path])
    elif local.suffix == ".json":
        # An index of the same theorems that somebody made.
        return {**read_object(local), "name": name, "revision": _unpinned(local)}
    else:
        files = _local_files(local, origin)
        revision = _unpinned(local)
    if origin.form == "lean":
        return _of_lean_files(name, revision, files)
    return _of_json_lines(name, revision, files, origin.split)


def _unpinned(local: Path) -> str:
    return f"{UNPINNED} ({local.name}), not checked against a pin"


def _local_files(local: Path, origin: Repository) -> dict[str, str]:
    """A copy that is no checkout of the commit: a folder of .lean files, or the JSON lines."""
    inside = local / origin.path
    try:
        place = inside if inside.exists() else local
        if place.is_dir() and origin.form == "jsonl":
            raise InputError(f"{local} has no {origin.path}", hint="give the file itself with --from")
        paths = sorted(place.rglob("*.lean")) if place.is_dir() else [place]
        if not paths:
            raise InputError(f"{local} has no .lean files")
        return {path.relative_to(place.parent).as_posix(): _copied(path, local) for path in paths}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the copy in {local}: {error}") from error


def _copied(path: Path, local: Path) -> str:
    if path.suffix != ".lean":
        return path.read_text(encoding="utf-8")
    try:
        return read_text(path)
    except InputError as error:
        raise InputError(f"cannot read the copy in {local}: {path.name} {error.message}") from error


def _of_lean_files(name: str, revision: str, files: dict[str, str]) -> dict[str, Any]:
    """A theorem a file, left open with `sorry`, behind its imports, options and `open`s.

    By its text alone, since the Lean of the moment need not have the modules that it wants. What is not
    like that is an error, and counts.
    """
    theorems, imports = list[dict[str, Any]](), dict[str, None]()
    for path, text in files.items():
        # One that is empty but for imports, as an overview of others is, has nothing to prove.
        if path.endswith(".lean") and _code(text):
            entry, modules = _of_lean_file(path, text)
            theorems.append(entry)
            imports.update(dict.fromkeys(modules))
    return {"name": name, "revision": revision, "imports": list(imports), "theorems": theorems}


def _code(text: str) -> Sequence[Token]:
    with suppress(InputError):
        return tokenize(split_header(text).body)
    return tokenize(text)


def _of_lean_file(path: str, text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    try:
        source = split_header(text)
        found = declarations(source.body)
        if not found:
            raise InputError("it has no theorem")
        if any(token.text == "sorry" for token in tokenize(source.body[: found[-1].at])):
            raise InputError("it has more than one theorem left open")
    except InputError as error:
        return {"name": path, "statement": "", "file_path": path, "error": error.message}, ()
    theorem = found[-1]
    entry = {
        "name": theorem.name,
        "statement": source.body[theorem.at :].strip(),
        "context": source.body[: theorem.at].strip(),
        "file_path": path,
    }
    return entry, source.imports


def _of_json_lines(name: str, revision: str, files: dict[str, str], split: str) -> dict[str, Any]:
    ((path, text),) = files.items()
    read = parse_prover_jsonl(path, text.split("\n"))
    chosen = [e for e in read.entries if not split or e.get("split", split) == split]
    return {"name": name, "revision": revision, "imports": read.imports, "theorems": chosen}


def _from_file(benchmark: Benchmark, local: Path | None, sha256: str) -> dict[str, Any]:
    if local is None:
        raise InputError(
            f"{benchmark.name} cannot be downloaded", hint="give the file that you have with --from"
        )
    content = read_object(local)
    found = hashlib.sha256(local.read_bytes()).hexdigest()
    if found != sha256:
        raise CorruptError(
            f"{local} is not {benchmark.name}: its SHA-256 is {found}, not {sha256}",
            hint="it can be used as the set that it is, by its path",
        )
    return {**content, "name": benchmark.name, "revision": benchmark.pin}

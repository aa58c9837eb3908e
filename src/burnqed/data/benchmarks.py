"""Benchmarks by name: what each is, what pins it, and where it comes from.

A pin is what the set is checked against before it is used. For a repository it is a commit, whose name
is a hash over all of its files; for a file, its SHA-256; for what is made here, the checksum of its
names and statements. Two evaluations are of the same benchmark when that checksum, which every result
holds, is the same.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from burnqed.core.cache import cache_root
from burnqed.core.errors import CorruptError, InputError
from burnqed.core.types import LeakRule
from burnqed.data import qed_core
from burnqed.data.fetch import fetch_commit, has_commit, read_commit
from burnqed.data.index import TheoremIndex, parse_index, read_index, read_json, write_index
from burnqed.data.library import library_entries, sample, with_statements
from burnqed.data.prover_jsonl import parse_prover_jsonl
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations, split_header
from burnqed.lean.tokens import Token, tokenize


@dataclass(frozen=True, slots=True)
class Packaged:
    """It comes with burn-qed."""

    checksum: str


@dataclass(frozen=True, slots=True)
class LibrarySample:
    """A sample of the running Lean's own theorems; the checksum is for one version of Lean."""

    modules: tuple[str, ...]
    count: int
    seed: int
    leak_rule: LeakRule
    checksum: str


@dataclass(frozen=True, slots=True)
class Repository:
    """Files of a commit: a folder of .lean files, or JSON lines, of which perhaps only one split."""

    url: str
    commit: str
    path: str
    form: Literal["lean", "jsonl"]
    split: str = ""


@dataclass(frozen=True, slots=True)
class IndexFile:
    """An index that is not to be downloaded: whoever has it gives it with --from."""

    sha256: str


Origin = Packaged | LibrarySample | Repository | IndexFile


@dataclass(frozen=True, slots=True)
class Benchmark:
    name: str
    about: str
    origin: Origin
    licence: str

    @property
    def pin(self) -> str:
        match self.origin:
            case Packaged(checksum) | LibrarySample(checksum=checksum):
                return f"checksum {checksum}"
            case Repository(commit=commit):
                return f"commit {commit}"
            case IndexFile(sha256):
                return f"sha256 {sha256}"


_MINIF2F = "https://github.com/yangky11/miniF2F-lean4"
_MINIF2F_COMMIT = "5746b7d6c47855ce1294bed87329618ff7f1bc31"
_MINIF2F_V2 = "https://github.com/roozbeh-yz/miniF2F_v2"
_MINIF2F_V2_COMMIT = "0492ceae4275794c3661b466a7effe4abd6e1237"
_PROOFNET = "https://github.com/deepseek-ai/DeepSeek-Prover-V1.5"
_PROOFNET_COMMIT = "2c4ba9119eef74d0d611f494261b2c5bae98c69a"


def _minif2f(split: Literal["valid", "test"]) -> Benchmark:
    origin = Repository(_MINIF2F, _MINIF2F_COMMIT, f"MiniF2F/{split.title()}", "lean")
    about = f"miniF2F {split}: olympiad and school problems; needs Mathlib"
    return Benchmark(f"minif2f-{split}", about, origin, "MIT")


def _minif2f_v2(variant: Literal["v2s", "v2c"], split: Literal["valid", "test"]) -> Benchmark:
    path = f"datasets/miniF2F_{variant}.jsonl"
    origin = Repository(_MINIF2F_V2, _MINIF2F_V2_COMMIT, path, "jsonl", split)
    kind = {"v2s": "answers given", "v2c": "as in the competition"}[variant]
    about = f"miniF2F-{variant} {split}: statements corrected, {kind}; needs Mathlib"
    return Benchmark(f"minif2f-{variant}-{split}", about, origin, "as its repository says")


def _proofnet(split: Literal["valid", "test"]) -> Benchmark:
    origin = Repository(_PROOFNET, _PROOFNET_COMMIT, "datasets/proofnet.jsonl", "jsonl", split)
    about = f"ProofNet {split}: undergraduate mathematics; needs Mathlib"
    return Benchmark(f"proofnet-{split}", about, origin, "MIT")


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "qed-core",
            "150 theorems of core Lean in five levels, from one step to hard",
            Packaged("c9eff4d974b5890271c20a35a44a2cd6d70e85a905371ada0fc5f82fd275bdc8"),
            "Apache-2.0",
        ),
        Benchmark(
            "core-300",
            "300 theorems of Lean's own library (Init, Std), each to be proved without itself",
            LibrarySample(
                modules=("Init", "Std"),
                count=300,
                seed=0,
                leak_rule="self",
                checksum="51aab338f8aa2e71a79d8102a4fb56be82f4ddb757de251268d9d755435cb13d",
            ),
            "Apache-2.0",
        ),
        Benchmark(
            "minif2f-core-valid",
            "100 problems of miniF2F valid restated in core Lean",
            IndexFile("3d6ce4f73d5e438631e7f5c8657a5f0d8db940369020350629e4ca9276f83b0e"),
            "MIT",
        ),
        _minif2f("valid"),
        _minif2f("test"),
        _minif2f_v2("v2s", "valid"),
        _minif2f_v2("v2s", "test"),
        _minif2f_v2("v2c", "valid"),
        _minif2f_v2("v2c", "test"),
        _proofnet("valid"),
        _proofnet("test"),
    )
}


_UNPINNED = "a local copy"


# --------------------------------------------------------------------------------- using one


def stored(benchmark: Benchmark) -> Path:
    """Where a fetched benchmark lies, as an index."""
    return cache_root() / "benchmarks" / f"{benchmark.name}.json"


def is_here(benchmark: Benchmark) -> bool:
    # Not `Path.is_file`, which raises where it may not look.
    return isinstance(benchmark.origin, Packaged) or os.path.isfile(stored(benchmark))  # noqa: PTH113


def load(benchmark: Benchmark, leak_rule: LeakRule | None = None) -> TheoremIndex:
    """The benchmark's theorems, if they are here."""
    path = stored(benchmark)
    if isinstance(benchmark.origin, Packaged):
        content = {"name": benchmark.name, "revision": benchmark.pin, "theorems": qed_core.entries()}
    elif is_here(benchmark):
        content = _json(path)
    else:
        local = " --from FILE" if isinstance(benchmark.origin, IndexFile) else ""
        raise InputError(
            f"{benchmark.name} is not on this machine yet",
            hint=f"burn-qed data fetch {benchmark.name}{local}",
        )
    index = parse_index(benchmark.name, benchmark.name, content)
    _check_pin(benchmark, index, content.get("checksum"))
    return parse_index(benchmark.name, benchmark.name, content, leak_rule) if leak_rule else index


def _check_pin(benchmark: Benchmark, index: TheoremIndex, kept: Any) -> None:
    """Refuse what is not the pinned set any more: another version's, or a file that was changed."""
    match benchmark.origin:
        case Packaged(checksum) | LibrarySample(checksum=checksum):
            kept = checksum
    if index.checksum != kept or not index.revision.startswith((benchmark.pin, _UNPINNED)):
        raise CorruptError(
            f"what is here as {benchmark.name} is not what is pinned ({index.revision})",
            hint=f"burn-qed data fetch {benchmark.name}",
        )


def theorem_set(
    given: str, leak_rule: LeakRule | None = None, split: str | None = None
) -> TheoremIndex:
    """A benchmark by its name, or the index in a file; perhaps only one split of it."""
    benchmark = BENCHMARKS.get(given)
    if benchmark is not None:
        index = load(benchmark, leak_rule)
    elif Path(given).suffix == "" and not os.path.exists(given):  # noqa: PTH110
        raise InputError(
            f"there is no benchmark and no file {given}",
            hint="`burn-qed data benchmarks` lists the names; `burn-qed data index` makes files",
        )
    elif Path(given).suffix == ".lean" or os.path.isdir(given):  # noqa: PTH112
        raise InputError(
            f"{given} is no index",
            hint=f"burn-qed data index --lean {given} --out INDEX.json makes one",
        )
    else:
        index = read_index(Path(given), leak_rule)
    return index if split is None else index.part(split)


# ------------------------------------------------------------------------------ fetching one


def fetch(benchmark: Benchmark, local: Path | None) -> TheoremIndex:
    """Fetch a set that comes as files, check it, and keep it. `local` is a copy to take instead."""
    match benchmark.origin:
        case Repository() as origin:
            content = _from_repository(benchmark.name, origin, local)
        case IndexFile(sha256):
            content = _from_file(benchmark, local, sha256)
        case Packaged() if local is None:
            return load(benchmark)
        case _:
            raise InputError(f"{benchmark.name} is made here, not fetched", hint="leave out --from")
    index = parse_index(benchmark.name, benchmark.name, content)
    if not index.entries:
        raise InputError(f"there is no theorem of {benchmark.name} in {local or 'what was fetched'}")
    _keep(benchmark, index, content)
    return index


async def build(benchmark: Benchmark, origin: LibrarySample, pool: Pool) -> TheoremIndex:
    """Make a set of the running Lean's theorems, check it, and keep it."""
    every = await library_entries(pool, origin.modules, origin.leak_rule, statements=False)
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
        return {**_json(local), "name": name, "revision": _unpinned(local)}
    else:
        files = _local_files(local, origin)
        revision = _unpinned(local)
    if origin.form == "lean":
        return _of_lean_files(name, revision, files)
    return _of_json_lines(name, revision, files, origin.split)


def _unpinned(local: Path) -> str:
    return f"{_UNPINNED} ({local.name}), not checked against a pin"


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
        return {
            path.relative_to(place.parent).as_posix(): path.read_text(encoding="utf-8")
            for path in paths
        }
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the copy in {local}: {error}") from error


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


def _code(text: str) -> list[Token]:
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
    content = _json(local)
    found = hashlib.sha256(local.read_bytes()).hexdigest()
    if found != sha256:
        raise CorruptError(
            f"{local} is not {benchmark.name}: its SHA-256 is {found}, not {sha256}",
            hint="it can be used as the set that it is, by its path",
        )
    return {**content, "name": benchmark.name, "revision": benchmark.pin}


def _json(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is no index")
    return content

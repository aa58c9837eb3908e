"""Benchmarks by name: what each is, what pins it, and where it comes from; those that are here.

A pin is what the set is checked against before it is used. For a repository it is a commit, whose name
is a hash over all of its files; for a file, its SHA-256; for what is made here, the checksum of its
names and statements. Two evaluations are of the same benchmark when that checksum, which every result
holds, is the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from burnqed.core.cache import brought, cache_root
from burnqed.core.errors import CorruptError, InputError
from burnqed.core.types import LeakRule
from burnqed.data import qed_core
from burnqed.data.index import TheoremIndex, parse_index, read_index, read_json


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


# How the revision of a set begins that was checked against no pin.
UNPINNED = "a local copy"


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
        content = read_object(path)
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
    if index.checksum != kept or not index.revision.startswith((benchmark.pin, UNPINNED)):
        raise CorruptError(
            f"what is here as {benchmark.name} is not what is pinned ({index.revision})",
            hint=f"burn-qed data fetch {benchmark.name}",
        )


def theorem_set(
    given: str, leak_rule: LeakRule | None = None, split: str | None = None
) -> TheoremIndex:
    """A benchmark by its name, a file's index, or what a bundle brought; perhaps one split of it."""
    benchmark = BENCHMARKS.get(given)
    carried = None if os.path.exists(given) else brought("sets", given)  # noqa: PTH110
    if benchmark is not None:
        index = load(benchmark, leak_rule)
    elif carried is not None:
        index = read_index(carried, leak_rule)
    elif Path(given).suffix == "" and not os.path.exists(given):  # noqa: PTH110
        raise InputError(
            f"there is no benchmark and no file {given}",
            hint="`burn-qed data benchmarks` lists the names; `burn-qed data index` makes files",
        )
    elif Path(given).suffix == ".lean" or os.path.isdir(given):  # noqa: PTH112
        raise InputError(
            f"{given} is not an index",
            hint=f"burn-qed data index --lean {given} --out INDEX.json makes one",
        )
    else:
        index = read_index(Path(given), leak_rule)
    return index if split is None else index.part(split)


def read_object(path: Path) -> dict[str, Any]:
    """An index as its JSON."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} is not an index")
    return content

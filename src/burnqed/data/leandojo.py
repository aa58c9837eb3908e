"""LeanDojo benchmark files (`random/train.json` and the like) as an index.

A list of theorems of a traced repository, mostly Mathlib: `full_name`, `file_path`, `url`, `commit`,
`start`, `end`, `traced_tactics`, newer ones with `theorem_statement`. They are theorems of a library,
so they are proved as that library's constants, by a Lean that has it (`--project`); what LeanDojo
recorded of their statements is only for reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path, PurePosixPath
from typing import Any

from burnqed.core.errors import InputError
from burnqed.core.types import LeakRule
from burnqed.data.json_stream import NotAList, elements

# Where Lean's own sources lie: `src/lean/Init/Core.lean`, `src/lean/lake/Lake/Build.lean`.
_SOURCE_FOLDERS = ("src", "lean", "lake", "library")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The entries; what is left out: private, listed twice, without a name; the libraries to import."""

    entries: list[dict[str, Any]]
    left_out: list[str]

    @property
    def roots(self) -> list[str]:
        return sorted({str(entry["module"]).split(".")[0] for entry in self.entries})


def read_leandojo(paths: Sequence[Path], leak_rule: LeakRule) -> Benchmark:
    """An entry for each theorem of these files, in their order."""
    entries: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    for path in paths:
        for number, theorem in _listed(path):
            if isinstance(theorem, dict) and theorem.get("full_name", "") is None:
                left_out.append(f"theorem {number}")
                continue
            entry = _entry(path, number, theorem, leak_rule)
            name = str(entry["name"])
            # A private theorem has no name that another file could say.
            if name in entries or "_private." in name:
                left_out.append(name)
            else:
                entries[name] = entry
    return Benchmark(list(entries.values()), left_out)


def module_of(file_path: str) -> str:
    """`Mathlib/Data/Nat/Basic.lean` is `Mathlib.Data.Nat.Basic`, also inside of a lake package."""
    parts = PurePosixPath(file_path.removesuffix(".lean")).parts
    for folder in ("packages", "lake-packages"):
        if folder in parts:
            parts = parts[parts.index(folder) + 2 :]
    return ".".join(dropwhile(lambda part: part in _SOURCE_FOLDERS, parts))


def _listed(path: Path) -> Iterator[tuple[int, Any]]:
    """Each theorem with its number. The files are too long to be held in memory whole."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from elements(file)
    except NotAList as error:
        raise InputError(
            f"{path} is not a LeanDojo benchmark: it is not a list of theorems",
            hint="give one of its split files, such as random/test.json",
        ) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


def _entry(path: Path, number: int, theorem: Any, leak_rule: LeakRule) -> dict[str, Any]:
    match theorem:
        case {"full_name": str(name), "file_path": str(file_path)} if name and file_path:
            pass
        case _:
            raise InputError(f"{path}: theorem {number} has no `full_name` and `file_path`")
    traced = theorem.get("traced_tactics")
    tactics: list[Any] = traced if isinstance(traced, list) else []
    return {
        "name": name,
        "statement": _statement(theorem, tactics),
        "file_path": file_path,
        "module": module_of(file_path),
        "constant": name,
        "leak_rule": leak_rule,
        "difficulty": len(tactics),
        **{key: theorem[key] for key in ("url", "commit", "start", "end") if key in theorem},
    }


def _statement(theorem: dict[str, Any], tactics: Sequence[Any]) -> str:
    """As written, where LeanDojo has it; else the goal that the first tactic saw."""
    match theorem.get("theorem_statement"), list(tactics[:1]):
        case str(text), _ if text:
            return text
        case _, [{"state_before": str(state)}]:
            return state
    return ""

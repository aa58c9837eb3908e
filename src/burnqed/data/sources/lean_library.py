"""Lean's own library, Init and Std, as Lean files: `burn-qed data trace` makes steps of them."""

from __future__ import annotations

from pathlib import Path

from burnqed.core.errors import CorruptError
from burnqed.data.sources.declared import Git, Package, SourceInfo
from burnqed.data.sources.stored import folder_of, stored

_FILES = ("src/Init.lean", "src/Init", "src/Std.lean", "src/Std", "LICENSE")

INFO = SourceInfo(
    name="lean-library",
    about="Lean's own library (Init and Std) as Lean files, with the proofs of its theorems",
    gives=("files",),
    # The commit that the embedded Lean says it was made of (`#eval Lean.githash`).
    origin=Git(
        "https://github.com/leanprover/lean4", "38f3c0c45b8df6da2652faff6dcaa15afb5a6981", _FILES
    ),
    licence="Apache-2.0",
    lean="4.28.0-pre, that of the embedded Lean",
    # A client for Lean whose source archive holds Lean's tree of December 2025 (4.27.0-pre).
    instead=Package(
        "leanclient",
        "0.6.2",
        "cc5265b7d15c8b5ca3e7da03dd87bfa9dcc2c57f1a835bdcc09c1f1b75efa905",
        _FILES,
    ),
)


def check_text(folder: Path) -> None:
    """Each Lean file in it is text."""
    for path in folder.rglob("*.lean"):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise CorruptError(f"{path.relative_to(folder)} is not UTF-8: {error}") from error


def lean_path(given: Path) -> Path:
    """What is here under the source's name (`lean-library/Init/Data`); any other path as given."""
    if given.parts[:1] != (INFO.name,) or given.exists():
        return given
    record, _ = stored(INFO)
    place = Path(next(iter(record.files))).parts[0]
    return folder_of(INFO).joinpath(place, "src", *given.parts[1:])

"""The tactic `qed?`: a Lean file of ours for a lake project. It asks `burn-qed prove` for a proof."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from burnqed.core.errors import InputError
from burnqed.core.files import publish
from burnqed.lean.source_file import read_source

NAME = "BurnQed.lean"
# What a project's lakefile must say for `import BurnQed` to find the file.
LISTED = {"lakefile.toml": '[[lean_lib]]\nname = "BurnQed"\n', "lakefile.lean": "lean_lib BurnQed\n"}
_OURS = "/-\nBurnQed: the tactic `qed?`"


@dataclass(frozen=True, slots=True)
class Written:
    """Where the file is, whether it changed, and the lakefile that does not name it yet, if any."""

    path: Path
    changed: bool
    unlisted: Path | None


def source() -> str:
    return Path(__file__).with_name(NAME).read_text(encoding="utf-8")


def write(project: Path) -> Written:
    """Put the file into a lake project. An older one of ours is replaced, another is refused."""
    lakefile = next((project / name for name in LISTED if (project / name).is_file()), None)
    if lakefile is None:
        raise InputError(
            f"{project} is not a lake project: it has no lakefile",
            hint="name the folder that has lakefile.toml or lakefile.lean",
        )
    path, content = project / NAME, source()
    known = read_source(path) if path.exists() else None
    if known is not None and not known.startswith(_OURS):
        raise InputError(
            f"{path} is there, and burn-qed did not write it",
            hint="rename it: `import BurnQed` can only mean one file",
        )
    if known != content:
        publish(path, content)
    listed = "BurnQed" in read_source(lakefile)
    return Written(path, known != content, None if listed else lakefile)

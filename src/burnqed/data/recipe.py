"""What a build does with each source: sections of a recipe, whose fields state defaults and bounds."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from burnqed.core.config import AtLeast0, about

When = Literal["never", "due", "always"]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of the TOML file."""


class Source(Section, frozen=True, kw_only=True):
    """A source of steps, of whole proofs or of Lean files; `[sources.NAME]` names its rows NAME."""

    input: Annotated[
        str,
        about(
            "A published source (it is fetched), SOURCE=PATH, a trace, a file or folder of rows, .lean "
            "files. By default what the section is called."
        ),
    ] = ""
    library: Annotated[
        bool, about("The Lean files are sources of Lean's own library, Init and Std.")
    ] = False
    revision: Annotated[str, about("Of a published source that is unpinned.")] = ""
    validate: Annotated[
        AtLeast0, about("Theorems or whole proofs to try on this Lean first; 0: none.")
    ] = 0
    re_extract: Annotated[
        When,
        about("Replay all steps and take this Lean's states: never, always, or due by the verdict."),
    ] = "due"
    migrate: Annotated[
        When,
        about("Change by rules the whole proofs that fail: never, always, or due by the verdict."),
    ] = "due"


FileSeconds = Annotated[
    Annotated[float, msgspec.Meta(ge=1)], about("A file that takes longer is skipped.")
]
Judged = Annotated[bool, about("Have the judge look at every recorded proof as well.")]


class Trace(Section, frozen=True, kw_only=True):
    """Lean files, and whole proofs, as steps."""

    file_seconds: FileSeconds = 300.0
    judge: Judged = False

"""Files of strangers: what they are refused for before Lean sees them.

By their text alone. What is let through here passes Lean's own parse next (`repl/Gate.lean`), and what
comes of it the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burnqed.lean import rules


def forbidden_import(imports: Sequence[str], reference: Sequence[str] | None) -> str:
    """Why a file's imports rule it out; empty when they do not.

    A reference means what it means with its own imports; a file of its own needs no metaprograms.
    """
    if reference is not None:
        more = [name for name in imports if name not in reference and name != "Init"]
        return f"it imports {more[0]}, which the reference does not" if more else ""
    machinery = [name for name in imports if name.split(".")[0] == "Lean"]
    return f"it imports {machinery[0]}, which is Lean's own machinery" if machinery else ""


def first_danger(
    source: str, trusted: str | None = None, *, notations: bool = False
) -> tuple[int, str] | None:
    """Where a file would run code, as a line, and by what; a reason not to let Lean see it at all.

    What a trusted text says in a line of its own may be said in that line again. A file's own
    `notations` are let in where a trusted text says what its theorems have to mean.
    """
    found = next((v for v in _dangers(source, trusted) if not (notations and v.notation)), None)
    return (source.count("\n", 0, found.at) + 1, found.reason) if found else None


def _dangers(source: str, trusted: str | None) -> Iterator[rules.Violation]:
    lines = {_line(trusted or "", v.at) for v in rules.violations(trusted or "")}
    for violation in rules.violations(source):
        if violation.dangerous and _line(source, violation.at) not in lines:
            yield violation


def _line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : len(text) if end < 0 else end].strip()

"""Refuses untrusted files before Lean sees them, by their text alone.

What passes here must then pass the gate on Lean's own parse (`repl/Gate.lean`), and the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from burnqed.lean import rules


def forbidden_import(imports: Sequence[str], reference: Sequence[str] | None) -> str:
    """Why a file's imports are refused; empty if they are fine.

    A reference has its meaning only with its own imports. Other files need no metaprograms.
    """
    if reference is not None:
        more = [name for name in imports if name not in reference and name != "Init"]
        return f"it imports {more[0]}, but the reference does not" if more else ""
    machinery = [name for name in imports if name.split(".")[0] == "Lean"]
    return f"it imports {machinery[0]}, which is Lean's own machinery" if machinery else ""


def first_danger(
    source: str, trusted: str | None = None, *, notations: bool = False
) -> tuple[int, str] | None:
    """The line where a file would run code, and the reason: Lean must not see such a file.

    A line of a trusted text may be repeated. A file's own `notations` are allowed if a trusted text
    pins what its theorems mean.
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

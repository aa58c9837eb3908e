"""What became of a stage, as its process writes it down when it ends: nobody has to search its log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from burnqed.core.config import as_content, from_json
from burnqed.core.errors import BurnQedError, InfrastructureError, InputError
from burnqed.core.files import publish

Kind = type[BurnQedError]


class _Outcome(msgspec.Struct, frozen=True, kw_only=True, tag_field="outcome"):
    pass


class Done(_Outcome, frozen=True, kw_only=True, tag="done"):
    """It came to its end. `errors` counts what could not be done in it, by kind."""

    errors: Mapping[str, int] = {}

    @property
    def told(self) -> str:
        if not self.errors:
            return ""
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.errors.items())
        return f"with errors, which are counted: {kinds}"


class Skipped(_Outcome, frozen=True, kw_only=True, tag="skipped"):
    """It had not enough to work with, and the run goes on without it."""

    why: str


class Failed(_Outcome, frozen=True, kw_only=True, tag="error"):
    """An error, with its fix; `type` is that of the exception."""

    type: str
    text: str
    hint: str = ""
    exit_code: int = 1

    @property
    def why(self) -> str:
        return f"{self.text}; fix: {self.hint}" if self.hint else self.text

    @property
    def kind(self) -> Kind:
        """Whether what was given is wrong, or the machinery failed."""
        return InputError if self.exit_code == InputError.exit_code else InfrastructureError


class Stopped(_Outcome, frozen=True, kw_only=True, tag="stopped"):
    """A signal asked it to end; what it has is saved."""


Outcome = Done | Skipped | Failed | Stopped


def failure(error: Exception) -> Failed:
    """An exception as an outcome; what burn-qed did not raise on purpose is a bug, and has no fix."""
    if isinstance(error, BurnQedError):
        text = error.message or type(error).__name__
        return Failed(type=type(error).__name__, text=text, hint=error.hint, exit_code=error.exit_code)
    return Failed(type=type(error).__name__, text=f"{type(error).__name__}: {error}")


def write_outcome(path: Path, outcome: Outcome) -> None:
    publish(path, msgspec.json.format(msgspec.json.encode(as_content(outcome)), indent=2) + b"\n")


def read_outcome(path: Path) -> Outcome | None:
    """None where the process died before it could write one."""
    try:
        outcome: Outcome = from_json(Outcome, path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise InfrastructureError(
            f"cannot read {path}: {error}", hint="running again does the stage again"
        ) from error
    return outcome

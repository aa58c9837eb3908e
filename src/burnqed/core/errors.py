"""Every exception burn-qed raises on purpose.

    BurnQedError
    ├── InputError               exit 2: the input is wrong; running again will not help
    │   ├── StatementError       Lean does not accept the statement, or there is no such theorem
    │   ├── ConfigError          a wrong configuration key or value
    │   └── NotEnough            exit 1: the input is right, but there is not enough of it
    └── InfrastructureError      exit 3: nothing is known about any theorem or tactic
        ├── SetupError           a toolchain, model or file is missing
        │   ├── NetworkError     a download failed
        │   └── CorruptError     a file is damaged
        ├── LeanError            a conversation with Lean failed
        │   ├── LeanStartError   a process did not become ready
        │   ├── LeanLost         the process is gone, and its states with it
        │   │   ├── LeanDied             it exited, or was killed by others
        │   │   ├── LeanMemoryExceeded   too much memory, by our limit or by its own
        │   │   ├── RequestTimeout       killed by us: no reply in time
        │   │   └── ProtocolError        killed by us: an unreadable reply
        │   ├── NodeLost         the machine of a cluster that worked on it is gone
        │   ├── RequestRefused   Lean answered `{"error": …}` to a request that should have worked
        │   └── ReplayDiverged   a replayed state differs from the original
        ├── PoolClosed           the pool was closed while somebody waited for a worker
        ├── Busy                 our own server has all the requests that it can hold
        └── ServerError          a model server does not answer, or its answers are useless
            └── PromptRefused    it answers, but refuses this state at any length

A tactic that fails is not an exception but a value, `core.types.StepOutcome`. A wrong call (a state of
another session, a goal that does not exist) raises `ValueError`.

Every class can be pickled, so that other processes can send it.
"""

from __future__ import annotations


class BurnQedError(Exception):
    """What went wrong (`message`) and the one-line fix (`hint`, may be empty)."""

    exit_code = 1

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(BurnQedError):
    exit_code = 2


class StatementError(InputError):
    pass


class ConfigError(InputError):
    pass


class NotEnough(InputError):
    exit_code = 1


class InfrastructureError(BurnQedError):
    exit_code = 3


class SetupError(InfrastructureError):
    pass


class NetworkError(SetupError):
    pass


class CorruptError(SetupError):
    pass


class LeanError(InfrastructureError):
    pass


class LeanStartError(LeanError):
    pass


class LeanLost(LeanError):
    """The process is gone. `diagnostics` is the end of what it wrote besides replies."""

    def __init__(self, message: str = "", *, hint: str = "", diagnostics: str = "") -> None:
        super().__init__(message, hint=hint)
        self.diagnostics = diagnostics


class LeanDied(LeanLost):
    """It was not ended by us. `returncode` is Python's: negative means killed by that signal."""

    def __init__(
        self,
        message: str = "",
        *,
        hint: str = "",
        diagnostics: str = "",
        returncode: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint, diagnostics=diagnostics)
        self.returncode = returncode

    @property
    def signal(self) -> int | None:
        """The number of the signal that ended it, if one did."""
        if self.returncode is None or self.returncode >= 0:
            return None
        return -self.returncode


class LeanMemoryExceeded(LeanLost):
    pass


class RequestTimeout(LeanLost):
    """No reply within `seconds`."""

    def __init__(
        self, message: str = "", *, hint: str = "", diagnostics: str = "", seconds: float = 0.0
    ) -> None:
        super().__init__(message, hint=hint, diagnostics=diagnostics)
        self.seconds = seconds


class ProtocolError(LeanLost):
    pass


def is_own_fault(error: LeanLost) -> bool:
    """Whether the request itself ended the process, and not a signal or garbled output."""
    return isinstance(error, LeanMemoryExceeded) or (
        isinstance(error, LeanDied) and error.signal is None
    )


class NodeLost(LeanError):
    pass


class RequestRefused(LeanError):
    """Lean's `{"error": kind, "desc": text}`; the process is fine and takes more requests."""

    def __init__(self, message: str = "", *, hint: str = "", kind: str = "", desc: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.desc = desc


class ReplayDiverged(LeanError):
    pass


class PoolClosed(InfrastructureError):
    pass


class Busy(InfrastructureError):
    """There may be room in `seconds`."""

    def __init__(self, message: str = "", *, hint: str = "", seconds: int = 1) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds


class ServerError(InfrastructureError):
    pass


class PromptRefused(ServerError):
    """Ends the search as an error: a policy that proposes nothing does not mean that nothing helps."""

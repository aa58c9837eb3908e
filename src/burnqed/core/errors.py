"""Every exception burn-qed raises on purpose.

    BurnQedError
    ├── InputError               exit 2: what the user gave is wrong; running again will not help
    │   ├── StatementError       Lean does not accept the statement, or there is no such theorem
    │   ├── ConfigError          a configuration key or value
    │   └── NotEnough            exit 1: nothing is wrong with it, and there is not enough of it
    └── InfrastructureError      exit 3: says nothing about any theorem or tactic
        ├── SetupError           a toolchain, model or file that must be there is not
        │   ├── NetworkError     it could not be fetched
        │   └── CorruptError     it is there, and is not what it should be
        ├── LeanError            a conversation with Lean failed
        │   ├── LeanStartError   a process did not become ready
        │   ├── LeanLost         the process is gone; what lived in it must be made again
        │   │   ├── LeanDied             it ended by itself
        │   │   ├── LeanMemoryExceeded   too much memory, by our limit or by its own
        │   │   ├── RequestTimeout       killed by us: no reply in time
        │   │   └── ProtocolError        killed by us: a reply nobody can read
        │   ├── RequestRefused   Lean answered `{"error": …}` to a request that should have worked
        │   └── ReplayDiverged   a state made a second time came out different
        ├── PoolClosed           the pool was closed while somebody still wanted a worker
        └── ServerError          a model server does not answer, or answers what nobody can use
            └── PromptRefused    it answers, but takes this state in no length

A tactic that fails is none of these: it is a value, `core.types.StepOutcome`. A call that makes no
sense (a state of another session, a goal that is not there) is Python's own `ValueError`.

Every class can be pickled, because workers on other machines send them home.
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
    """It ended by itself. `returncode` is Python's: negative means killed by that signal."""

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
    """Whether the process ended of what it was asked, and not of a signal or of garbled output."""
    return isinstance(error, LeanMemoryExceeded) or (
        isinstance(error, LeanDied) and error.signal is None
    )


class RequestRefused(LeanError):
    """Lean's `{"error": kind, "desc": text}`; the process is well and can be asked again."""

    def __init__(self, message: str = "", *, hint: str = "", kind: str = "", desc: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.desc = desc


class ReplayDiverged(LeanError):
    pass


class PoolClosed(InfrastructureError):
    pass


class ServerError(InfrastructureError):
    pass


class PromptRefused(ServerError):
    """Ends the search that asked, as an error: that nothing was proposed is not that nothing helps."""

"""A Lean 4 theorem prover: a model proposes, search explores, Lean judges.

    import burnqed

    print(burnqed.prove("∀ n : Nat, n + 0 = n").proof)

These are the public names; all else may change. They are loaded when they are first used, so that
`import burnqed` takes no time and pulls no torch. docs/python.md has a page on them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnqed.core.errors import BurnQedError as BurnQedError
    from burnqed.core.types import Advanced as Advanced
    from burnqed.core.types import Closed as Closed
    from burnqed.core.types import Rejected as Rejected
    from burnqed.core.types import TimedOut as TimedOut
    from burnqed.iteration.api import run as run
    from burnqed.iteration.arms import attribute as attribute
    from burnqed.prover.api import check as check
    from burnqed.prover.api import compare as compare
    from burnqed.prover.api import evaluate as evaluate
    from burnqed.prover.api import prove as prove
    from burnqed.prover.api import prove_async as prove_async
    from burnqed.prover.config import Config as Config
    from burnqed.prover.results import Failed as Failed
    from burnqed.prover.results import NotFound as NotFound
    from burnqed.prover.results import Proved as Proved
    from burnqed.prover.results import Refuted as Refuted
    from burnqed.prover.stepping import Lean as Lean
    from burnqed.prover.trainers import train_joint as train_joint
    from burnqed.prover.trainers import train_policy as train_policy
    from burnqed.prover.trainers import train_ranker as train_ranker
    from burnqed.prover.trainers import train_value as train_value
    from burnqed.prover.warm import Prover as Prover

_HOMES = {
    "burnqed.core.errors": ("BurnQedError",),
    "burnqed.core.types": ("Advanced", "Closed", "Rejected", "TimedOut"),
    "burnqed.iteration.api": ("run",),
    "burnqed.iteration.arms": ("attribute",),
    "burnqed.prover.api": ("check", "compare", "evaluate", "prove", "prove_async"),
    "burnqed.prover.config": ("Config",),
    "burnqed.prover.results": ("Failed", "NotFound", "Proved", "Refuted"),
    "burnqed.prover.stepping": ("Lean",),
    "burnqed.prover.trainers": ("train_joint", "train_policy", "train_ranker", "train_value"),
    "burnqed.prover.warm": ("Prover",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "Advanced",
    "BurnQedError",
    "Closed",
    "Config",
    "Failed",
    "Lean",
    "NotFound",
    "Proved",
    "Prover",
    "Refuted",
    "Rejected",
    "TimedOut",
    "attribute",
    "check",
    "compare",
    "evaluate",
    "prove",
    "prove_async",
    "run",
    "train_joint",
    "train_policy",
    "train_ranker",
    "train_value",
]


if not TYPE_CHECKING:  # a type checker is to complain of a name that is not there

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

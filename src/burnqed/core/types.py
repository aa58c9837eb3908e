"""The vocabulary: theorems, proof states and outcomes of tactics.

All of it is immutable and independent of Lean processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from burnqed.core.errors import LeanLost
from burnqed.core.facts import Facts

# ------------------------------------------------------------------------------ theorems


@dataclass(frozen=True, slots=True)
class Proposition:
    """A statement as one Lean term: `∀ n : Nat, n + 0 = n`; `levels` names its universes."""

    text: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TheoremText:
    """A whole `theorem name binders : type := …`, with the `open`s and `variable`s before it."""

    source: str


# Which theorems of the library a new proof of a library theorem may use.
#   module: those of modules that the theorem's own module imports; none of them can depend on it
#   self:   all but the theorem itself and what visibly depends on it; the embedded Lean has no bodies
#           of library proofs, but most bodies of definitions
LeakRule = Literal["module", "self"]


@dataclass(frozen=True, slots=True)
class LibraryConstant:
    """A theorem of the running Lean's own library, to be proved again.

    `simp`, `grind` and the like must not use it, so it is removed from their lemmas. A step whose term
    breaks the leak rule is rejected, and the judge checks the finished proof again.
    """

    name: str
    leak_rule: LeakRule = "module"


@dataclass(frozen=True, slots=True)
class FileHole:
    """One `sorry` of a file: the file's text without its imports, and the number of the hole.

    The proof begins at the `sorry`, with its hypotheses, its open namespaces and the declarations
    before it. Earlier theorems may be used even if they are not proved yet.
    """

    source: str
    index: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A theorem of a set whose statement could not be read: always an error."""

    why: str


@dataclass(frozen=True, slots=True)
class Negation:
    """`¬ T` for a whole statement: its binders and variables are quantified under the `¬`.

    For a hole, these are its hypotheses.
    """

    statement: Proposition | TheoremText | LibraryConstant | FileHole


Statement = Proposition | TheoremText | LibraryConstant | FileHole | Unreadable | Negation


@dataclass(frozen=True, slots=True)
class Theorem:
    """A statement to be proved, and its name in every table."""

    name: str
    statement: Statement


# -------------------------------------------------------------------------- proof states

# Lean breaks a line that would be longer than this (its option `format.width`).
_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One line of the context. A `let` has a `value`, an inaccessible name has its dagger."""

    name: str
    type: str
    value: str | None = None
    inaccessible: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """One open goal. `name` is Lean's internal name, which changes when the state is replayed."""

    name: str
    target: str
    hypotheses: tuple[Hypothesis, ...] = ()
    user_name: str | None = None
    fragment: Literal["tactic", "conv", "calc"] = "tactic"
    # Open metavariables in the target or a hypothesis, by internal name; None if unknown.
    holes: tuple[str, ...] | None = None
    # What Lean says of the goal besides; None where it does not. It is not part of what the goal is.
    facts: Facts | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The goal as Lean prints it."""
        lines = [f"case {self.user_name}"] if self.user_name else []
        lines += _context_lines(self.hypotheses)
        mark = "|" if self.fragment == "conv" else "⊢"
        lines.append(f"{mark} " + self.target.replace("\n", "\n  "))
        return "\n".join(lines)


def _context_lines(hypotheses: tuple[Hypothesis, ...]) -> list[str]:
    """Neighbours of the same type share a line, as in `p q : Prop`; a `let` has its own."""
    lines: list[str] = []
    names: list[str] = []
    for index, this in enumerate(hypotheses):
        names.append(this.name)
        after = hypotheses[index + 1] if index + 1 < len(hypotheses) else None
        joins = after is not None and after.type == this.type
        if joins and this.value is None and after is not None and after.value is None:
            continue
        body = this.type if this.value is None else f"{this.type} := {this.value}"
        head = " ".join(names)
        names = []
        if "\n" in body or len(head) + 3 + len(body) > _WIDTH:
            lines.append(f"{head} :\n  " + body.replace("\n", "\n  "))
        else:
            lines.append(f"{head} : {body}")
    return lines


def state_text(goals: Sequence[Goal]) -> str:
    """Goals that are worked on together, as Lean prints them. This text identifies a state."""
    return "\n\n".join(goal.text for goal in goals)


@dataclass(frozen=True, slots=True)
class ProofState:
    """A handle (`id`) of one environment, and its goals."""

    id: int
    goals: tuple[Goal, ...]

    @property
    def text(self) -> str:
        """All goals, a blank line between them, as Lean prints them."""
        return state_text(self.goals)


# ------------------------------------------------------------------------------ outcomes


@dataclass(frozen=True, slots=True)
class Message:
    """A message of Lean besides the result, such as `Try this: …`."""

    severity: Literal["information", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What one tactic took, as reported by Lean; heartbeats in thousands, None if not counted."""

    seconds: float
    heartbeats: int | None = None


@dataclass(frozen=True, slots=True)
class _Worked:
    """What a tactic did that worked.

    `suggestions` are the concrete tactics that a searching one (`exact?`, `simp?`) suggests. A proof
    contains one of those instead.

    The `cost` of any outcome is None if Lean did not report it. It does not count in comparisons.
    """

    state: ProofState
    messages: tuple[Message, ...] = ()
    suggestions: tuple[str, ...] = ()
    cost: Cost | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Advanced(_Worked):
    """The tactic worked and goals remain."""


@dataclass(frozen=True, slots=True)
class Closed(_Worked):
    """The tactic worked and no goal remains: a candidate for the judge, not yet a proof."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The tactic is refused.

    It does not parse, fails, cheats with `sorry`, may not be given to Lean, or breaks the leak rule.
    """

    error: str
    kind: Literal["parse", "tactic", "sorry", "forbidden", "leak"]
    cost: Cost | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The tactic was stopped.

    `deterministic`: by Lean's own heartbeats (the same on every machine), and not by the wall clock (a
    faster or less busy machine might have finished).
    """

    seconds: float
    deterministic: bool
    cost: Cost | None = field(default=None, compare=False)


StepOutcome = Advanced | Closed | Rejected | TimedOut

# One entry of a batch. A tactic that killed two processes in a row has no outcome: its entry is the
# error, so that the others keep theirs. This never means that the tactic failed.
StepResult = StepOutcome | LeanLost


# ---------------------------------------------------------------------------- candidates


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tactic that a policy proposes: its log-probability, summed over `length` tokens of a model.

    `cost` is the logarithm of the time that it will take, as a multiple of what tactics take on
    average; 0 where nothing is known.
    """

    tactic: str
    logprob: float
    length: int = 1
    cost: float = 0.0


# -------------------------------------------------------------------------- certificates


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the library that a proof uses, and the module that declares it."""

    name: str
    module: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The kernel's verdict on a finished state, and what its term uses."""

    ok: bool
    desc: str
    axioms: tuple[str, ...] | None  # all of them; None if not known
    axioms_seen: tuple[str, ...]
    constants: tuple[Constant, ...]

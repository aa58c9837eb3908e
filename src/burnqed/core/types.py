"""The vocabulary: what a theorem, a proof state and the outcome of a tactic are.

All of it is immutable and knows nothing of Lean processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from burnqed.core.errors import LeanLost

# ------------------------------------------------------------------------------ theorems


@dataclass(frozen=True, slots=True)
class Proposition:
    """A statement as one Lean term: `∀ n : Nat, n + 0 = n`; `levels` names its universes."""

    text: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TheoremText:
    """A whole `theorem name binders : type := …` with its `open`s and `variable`s before it."""

    source: str


# Which other theorems of the library a new proof of a library theorem may use.
#   module: those of modules that the theorem's own module imports; none of them can rest on it
#   self:   all but the theorem itself and what is seen to be made from it; in the embedded Lean the
#           bodies of library proofs are not there to look into, those of definitions mostly are
LeakRule = Literal["module", "self"]


@dataclass(frozen=True, slots=True)
class LibraryConstant:
    """A theorem of the running Lean's own library, to be proved again.

    It is taken out of what `simp`, `grind` and the like know, so that this is work. A step whose term
    breaks the leak rule is rejected, and the judge looks once more at the finished proof.
    """

    name: str
    leak_rule: LeakRule = "module"


@dataclass(frozen=True, slots=True)
class FileHole:
    """One `sorry` of a file: the file's text without its imports, and which of its holes.

    The proof begins where the `sorry` stands: with the hypotheses there, what is open there, and what
    the file declares before it. Earlier theorems may be used also where they are not proved yet.
    """

    source: str
    index: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A theorem of a set of which nobody could read what it states: an error wherever it is tried."""

    why: str


@dataclass(frozen=True, slots=True)
class Negation:
    """`¬ T` for all that a statement says: its binders and variables are quantified under the `¬`.

    Of a hole these are the hypotheses that it has.
    """

    statement: Proposition | TheoremText | LibraryConstant | FileHole


Statement = Proposition | TheoremText | LibraryConstant | FileHole | Unreadable | Negation


@dataclass(frozen=True, slots=True)
class Theorem:
    """What is to be proved, and the name it goes by in every table."""

    name: str
    statement: Statement


# -------------------------------------------------------------------------- proof states

# Lean breaks a line that would be longer than this (its option `format.width`).
_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One line of the context; a `let` has a `value`, an inaccessible name has its dagger."""

    name: str
    type: str
    value: str | None = None
    inaccessible: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """One open goal. `name` is Lean's internal one and changes when the state is replayed."""

    name: str
    target: str
    hypotheses: tuple[Hypothesis, ...] = ()
    user_name: str | None = None
    fragment: Literal["tactic", "conv", "calc"] = "tactic"
    # Open metavariables in the target or a hypothesis, by internal name; None where Lean did not say.
    holes: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The goal as Lean prints it."""
        lines = [f"case {self.user_name}"] if self.user_name else []
        lines += _context_lines(self.hypotheses)
        mark = "|" if self.fragment == "conv" else "⊢"
        lines.append(f"{mark} " + self.target.replace("\n", "\n  "))
        return "\n".join(lines)


def _context_lines(hypotheses: tuple[Hypothesis, ...]) -> list[str]:
    """Neighbours of the same type share a line, as in `p q : Prop`; a `let` stands alone."""
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
    """Goals that are worked on together, as Lean prints them: what a state is known by everywhere."""
    return "\n\n".join(goal.text for goal in goals)


@dataclass(frozen=True, slots=True)
class ProofState:
    """A handle of one environment (`id`) and the goals that were open when it was made."""

    id: int
    goals: tuple[Goal, ...]

    @property
    def text(self) -> str:
        """All goals, a blank line between them, as Lean prints them."""
        return "\n\n".join(goal.text for goal in self.goals)


# ------------------------------------------------------------------------------ outcomes


@dataclass(frozen=True, slots=True)
class Message:
    """What Lean said beside the result, such as `Try this: …`."""

    severity: Literal["information", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What Lean says that one tactic took; heartbeats in thousands, None where it counted none."""

    seconds: float
    heartbeats: int | None = None


@dataclass(frozen=True, slots=True)
class Advanced:
    """The tactic worked and goals remain.

    `suggestions` are the concrete tactics that a searching one (`exact?`, `simp?`) says to put in its
    place; a proof may hold those, and not the searching one.

    The `cost` of any outcome is None where Lean did not say; it is no part of what the outcome is.
    """

    state: ProofState
    messages: tuple[Message, ...] = ()
    suggestions: tuple[str, ...] = ()
    cost: Cost | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Closed:
    """The tactic worked and no goal remains: a candidate for the judge, not yet a proof."""

    state: ProofState
    messages: tuple[Message, ...] = ()
    suggestions: tuple[str, ...] = ()
    cost: Cost | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    """The tactic is refused.

    It does not parse, fails, cheats with `sorry`, is not shown to Lean, or breaks the leak rule.
    """

    error: str
    kind: Literal["parse", "tactic", "sorry", "forbidden", "leak"]
    cost: Cost | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The tactic was stopped.

    `deterministic` says by what: Lean's own heartbeats (the same on every machine), or the wall
    clock (a faster or idler machine might have finished).
    """

    seconds: float
    deterministic: bool
    cost: Cost | None = field(default=None, compare=False)


StepOutcome = Advanced | Closed | Rejected | TimedOut

# One entry of a batch: a tactic that killed two processes in a row has no outcome, and its error
# stands in its place so that the others keep theirs. Never to be read as "the tactic failed".
StepResult = StepOutcome | LeanLost


# ---------------------------------------------------------------------------- candidates


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tactic that a policy proposes: its log-probability, over `length` tokens of a model's."""

    tactic: str
    logprob: float
    length: int = 1


# -------------------------------------------------------------------------- certificates


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant used by a proof and the module it comes from."""

    name: str
    module: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the kernel says of a finished state: accepted or not, and what the term rests on."""

    ok: bool
    desc: str
    axioms: tuple[str, ...] | None  # all of them; None where they are not known
    axioms_seen: tuple[str, ...]
    constants: tuple[Constant, ...]

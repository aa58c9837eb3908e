"""A task, which is a statement or a text with `sorry`s, and one attempt at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from burnqed.core.errors import InputError, StatementError
from burnqed.core.types import Proposition, Theorem, TheoremText
from burnqed.evaluation.disprove import disprove
from burnqed.evaluation.file import FileResult, prove_file
from burnqed.evaluation.prove import Attempt, Prover, prove
from burnqed.lean import rules, statement
from burnqed.lean.holes import TRUST_HINT
from burnqed.lean.nesting import too_deep
from burnqed.lean.requests import Gate
from burnqed.lean.source_file import read_source
from burnqed.lean.strangers import first_danger, forbidden_import
from burnqed.lean.tokens import tokenize
from burnqed.search.events import EventSink, ignore


@dataclass(frozen=True)
class Task:
    """A text, and the file that it comes from, if any."""

    text: str
    path: Path | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InputError("nothing to prove: the input is empty")
        deep = too_deep(self.text, tokenize(self.text))
        if deep:
            line = self.text.count("\n", 0, deep.at) + 1
            raise InputError(f"this is too deep for Lean to read: {deep.what}, in line {line}")

    @cached_property
    def source(self) -> statement.Source:
        """The text, split into its imports and the rest."""
        return statement.split_header(self.text)

    @property
    def imports(self) -> tuple[str, ...] | None:
        """What it imports; None for a bare statement, which says nothing about that."""
        is_text = self.path is not None or self.has_holes
        return self.source.imports or (() if is_text else None)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in tokenize(self.source.body))

    @property
    def has_holes(self) -> bool:
        """Whether there are `sorry`s to prove. If not, it is a single statement."""
        return "sorry" in self.words

    @property
    def theorem(self) -> Theorem:
        """The single statement."""
        body = self.source.body
        if self.words & {"theorem", "lemma"}:
            named = statement.declarations(body)
            if not named:
                raise InputError(
                    "the theorem has no name, or is private", hint="write `theorem NAME : …`"
                )
            return Theorem(named[-1].name, TheoremText(body))
        if "example" in self.words:
            raise InputError("the example has no `sorry`", hint="write `example : … := by sorry`")
        return Theorem("goal", Proposition(body.strip()))

    def filled(self, body: str) -> str:
        """The whole text with a new body. In a body, the imports are blanks."""
        own = self.source.body
        header = len(own) - len(own.lstrip())
        return self.text[:header] + body[header:]


def task_of(given: str | Path) -> Task:
    """The task in a string, or in the file at a path."""
    return Task(read_source(given), given) if isinstance(given, Path) else Task(given)


def refuse_danger(task: Task, *, trust: bool) -> None:
    """Refuse a text whose commands would run code before Lean sees it, unless it is trusted."""
    if trust:
        return
    said = forbidden_import(task.source.imports, None)
    found = first_danger(task.source.body)
    if found:
        said = f"line {found[0]}: {found[1]}"
    if said:
        raise StatementError(f"{task.path or 'the text'}: {said}", hint=TRUST_HINT)


def gate_of(*, trust: bool) -> Gate | None:
    """The gate that the commands of a text must pass before Lean elaborates them."""
    return None if trust else rules.gate()


async def attempt(
    prover: Prover,
    task: Task,
    seed: int,
    events: EventSink = ignore,
    at: int | None = None,
    *,
    negate: bool = False,
) -> Attempt | FileResult:
    """Search for proofs, and for a refutation if none is found at once.

    `at` is where the only `sorry` that is wanted starts. `negate`: the negation of the text's last
    theorem is wanted instead.
    """
    if negate:
        return await disprove(prover, task.theorem, seed, events)
    prover = replace(prover, refutes=True)
    if task.has_holes:
        return await prove_file(prover, task.source.body, seed, events, at)
    return await prove(prover, task.theorem, seed, events)

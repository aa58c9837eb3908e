"""The negation of a statement, as a text that can be proved, judged and shown.

`Negation` (core/types) is made inside Lean and has no text. Here the binders of a `theorem` go below
a `¬`, by its tokens. Lean then says whether that is the same proposition as its own negation, and it is
refused if not. What stays outside of the `¬`, such as a `variable`, is bound below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from burnqed.core.errors import StatementError
from burnqed.core.types import Goal, Hypothesis, Negation, Proposition, Theorem, TheoremText
from burnqed.lean.session import Session
from burnqed.lean.statement import declarations, strip_proof
from burnqed.lean.tokens import CLOSERS, Token, tokenize

_FIX = "state it without `variable`s, as `theorem NAME : ∀ …, …`"


async def negated(session: Session, theorem: Theorem) -> Theorem:
    """The theorem that this one is false. Raises `StatementError` and `LeanError`."""
    statement = theorem.statement
    if not isinstance(statement, Proposition | TheoremText):
        raise StatementError("only a proposition or a `theorem` can be disproved")
    wanted = (await session.start(Theorem(theorem.name, Negation(statement)))).goals[0]
    outside: Sequence[Hypothesis] = ()
    for brackets in ("", "()", "{}"):
        text = negation_of(statement, [_binder(bound, brackets) for bound in outside])
        try:
            goal = (await session.start(Theorem(theorem.name, text))).goals[0]
        except StatementError as error:
            raise StatementError(f"its negation is not accepted: {error.message}") from error
        if _is_same(goal, wanted):
            return Theorem(named(text) or theorem.name, text)
        outside = outside or goal.hypotheses  # what Lean binds for itself belongs below the `¬`
    raise StatementError(f"its negation cannot be written as a theorem: {_FIX}")


def _is_same(goal: Goal, wanted: Goal) -> bool:
    return not goal.hypotheses and goal.target == wanted.target


def named(statement: Proposition | TheoremText) -> str | None:
    """The name of a theorem; None for a proposition."""
    if isinstance(statement, Proposition):
        return None
    found = declarations(statement.source)
    return found[-1].name if found else None


def text_of(theorem: Theorem) -> str:
    """What a proposition or a `theorem` says, as it is written."""
    statement = theorem.statement
    assert isinstance(statement, Proposition | TheoremText)
    return statement.text if isinstance(statement, Proposition) else statement.source


def negation_of(
    statement: Proposition | TheoremText, outside: Sequence[str] = ()
) -> Proposition | TheoremText:
    """`¬ (∀ BINDERS, TYPE)`; `outside` are binders to put before those."""
    more = " ".join(outside)
    if isinstance(statement, Proposition):
        return replace(statement, text=_not(more, statement.text.strip()))
    source = strip_proof(statement)
    found = declarations(source)
    if not found:
        raise StatementError("the theorem has no name, or is private", hint="write `theorem NAME : …`")
    tokens = [token for token in tokenize(source) if token.start >= found[-1].at]
    colon = _colon(tokens)
    if colon is None:
        raise StatementError("the theorem has no type", hint="write `theorem NAME BINDERS : TYPE`")
    end = _end_of_name(source, tokens)
    binders = " ".join(part for part in (more, source[end : colon.start].strip()) if part)
    name = source[tokens[1].start : tokens[1].end]
    levels = source[tokens[1].end : end]
    negation = _not(binders, source[colon.end :].strip())
    return TheoremText(f"{source[: tokens[1].start]}{name}.negation{levels} : {negation}")


def _not(binders: str, body: str) -> str:
    """A comment at the end of a line must swallow nothing of ours."""
    comma = "\n, " if "--" in binders.rsplit("\n", 1)[-1] else ", "
    end = "\n)" if "--" in body.rsplit("\n", 1)[-1] else ")"
    return f"¬ (∀ {binders}{comma}{body}{end}" if binders else f"¬ ({body}{end}"


def _binder(bound: Hypothesis, brackets: str) -> str:
    """As Lean prints it. An instance has no name of its own."""
    if bound.inaccessible:
        return f"[{bound.type}]"
    return f"{brackets[0]}{bound.name} : {bound.type}{brackets[1]}"


def _end_of_name(source: str, tokens: Sequence[Token]) -> int:
    """The end of the name and its universes, `t.{u, v}`."""
    end = tokens[1].end
    if not source.startswith(".{", end):
        return end
    return next((token.end for token in tokens if token.start > end and token.text == "}"), end)


def _colon(tokens: Sequence[Token]) -> Token | None:
    """The `:` before the type."""
    depth = 0
    for token in tokens:
        if token.text in CLOSERS:
            depth += 1
        elif token.text in CLOSERS.values():
            depth -= 1
        elif depth == 0 and token.text == ":":
            return token
    return None

"""What an answer of a server must have to be passed on: it is about the text that was asked about.

This finds contradictions, and no lies: whether a proof is one, only a judge knows.
"""

from __future__ import annotations

import re

from burnqed.lean.rules import ALLOWED_AXIOMS
from burnqed.lean.statement import header, split_header
from burnqed.lean.strangers import first_danger
from burnqed.lean.tokens import tokenize
from burnqed.prover.suggesting import applied
from burnqed.prover.task import Task
from burnqed.serve.answers import HoleAnswer, ProveAnswer

_RAISED = re.compile(r"set_option maxHeartbeats [0-9]+ in\s")


def doubt(task: Task, answer: ProveAnswer) -> str:
    """Why an answer is not passed on; empty if it is."""
    draft = answer.draft
    if draft is not None and not _filled(task.text, draft):
        return "the text that it filled in is not the one that it was sent"
    if draft is not None and first_danger(split_header(draft).body):
        return "the proofs that it filled in would run code"
    if odd := _odd_suggestion(task, answer):
        return odd
    if answer.outcome == "refuted" and not answer.negation_proof:
        return 'it says "false", and has no proof of the negation'
    if answer.outcome == "proved":
        return _unproved(task, answer)
    if answer.proof is not None:
        return f'it has a proof, and says "{answer.outcome}"'
    return ""


def _odd_suggestion(task: Task, answer: ProveAnswer) -> str:
    """Why its suggestions are none for the text. Who takes them runs them in a Lean without walls."""
    for one in answer.suggestions:
        try:
            filled = applied(task.text, one.edits)
        except (ValueError, IndexError):
            return "its suggestions are for another text"
        if not _filled(task.text, filled):
            return "its suggestions are for another text"
        tactics = ["\n".join(proof) for proof in one.tactics]
        if first_danger(split_header(filled).body) or any(map(first_danger, tactics)):
            return "its suggestions would run code"
    return ""


def _unproved(task: Task, answer: ProveAnswer) -> str:
    proof = answer.proof or ""
    if not proof or any(token.text in ("sorry", "admit") for token in tokenize(proof)):
        return 'it says "proved", and has no whole proof'
    odd = sorted(_axioms(answer) - ALLOWED_AXIOMS)
    if odd:
        return f'it says "proved", and its proof rests on {odd[0]:.100}'
    if not task.has_holes:
        if first_danger(proof):
            return "its proof would run code"
        claim = _plain(header(task.theorem.statement))
        if _plain(_RAISED.sub("", proof, count=1)).startswith(f"{claim} := by "):
            return ""
        return 'it says "proved", and its proof is of another statement'
    judged = all(hole.outcome == "found" and hole.accepted for hole in answer.holes)
    if not answer.holes or not judged or answer.refused or proof != answer.draft:
        return 'it says "proved", and its judge did not accept every theorem'
    return ""


def _axioms(answer: ProveAnswer) -> set[str]:
    every: list[ProveAnswer | HoleAnswer] = [answer, *answer.holes]
    return {axiom for one in every for axiom in (*(one.axioms or ()), *one.axioms_seen)}


def _filled(text: str, draft: str) -> bool:
    """Whether a text is another one with something in place of its `sorry`s."""
    rest, kept = _plain(draft), [_plain(piece) for piece in _between_sorries(text)]
    first, *between = kept
    if not rest.startswith(first):
        return False
    rest = rest[len(first) :]
    for piece in filter(None, between[:-1]):
        _, found, rest = rest.partition(piece)
        if not found:
            return False
    return not between or rest.endswith(between[-1])


def _between_sorries(text: str) -> list[str]:
    pieces, at = [], 0
    for token in tokenize(text):
        if token.text == "sorry":
            pieces.append(text[at : token.start])
            at = token.end
    return [*pieces, text[at:]]


def _plain(text: str) -> str:
    """Without what a filled-in proof may change around it: blanks and line ends."""
    return " ".join(text.split())

"""Results are values: only the judge makes one that is true, and what a notebook shows is escaped."""

from __future__ import annotations

import re

import pytest

from burnqed.core.types import Proposition, Rejected, Theorem
from burnqed.evaluation.prove import Attempt
from burnqed.lean.fake import Script
from burnqed.lean.verdict import Verdict
from burnqed.prover.drawing import DEEP, SHOWN, tree_html
from burnqed.prover.results import Failed, NotFound, Proved, Refuted, Result, result_of
from burnqed.prover.task import Task
from burnqed.search.budget import Budget
from burnqed.search.tree import Tree
from tests.search.problems import search

NASTY = "<script>alert('x')</script> & \u202e\x1b[31m"


async def tree_of(script: Script, root: str) -> Tree:
    searched, _ = await search(script, root, budget=Budget(nodes=400, depth=400, candidates=400))
    return searched.tree


@pytest.mark.parametrize(
    ("accepted", "proof"), [((), "p"), ((False,), "p"), ((True, False), "p"), ((True,), None)]
)
def test_nothing_but_accepted_verdicts_makes_a_proof(
    accepted: tuple[bool, ...], proof: str | None
) -> None:
    verdicts = tuple(Verdict("t", yes, "", "kernel") for yes in accepted)
    with pytest.raises(ValueError, match=r"proof|judge"):
        Proved(statement="s", proof=proof, verdicts=verdicts)


def test_only_what_is_proved_is_true() -> None:
    accepted = Verdict("t", True, "", "kernel")
    assert Proved(statement="s", proof="p", verdicts=(accepted,))
    others: list[Result] = [
        NotFound(statement="s", limit="nodes"),
        Refuted(statement="s", negation_proof="decide"),
        Failed(statement="s", reason="LeanDied"),
    ]
    assert not any(others)


def test_an_attempt_that_says_proved_without_a_proof_is_not_believed() -> None:
    attempt = Attempt(Theorem("goal", Proposition("1 = 1")), "proved")
    assert isinstance(result_of(Task("1 = 1"), attempt), Failed)


async def test_all_that_is_drawn_is_escaped() -> None:
    tree = await tree_of({NASTY: {NASTY: (f"{NASTY} 2",), "no": Rejected(NASTY, "tactic")}}, NASTY)
    drawn = NotFound(statement=NASTY, limit=NASTY, tree=tree)._repr_html_()
    assert "&lt;script&gt;" in drawn
    tags = set(re.findall(r"</?([^\s>/]+)", drawn))
    assert tags <= {"div", "b", "pre", "code", "ul", "li", "details", "summary"}
    assert not re.search(r"<\w+[^>]*=", drawn), "no tag has an attribute"
    assert not set(drawn) & {"\u202e", "\x1b"}


async def test_a_proof_is_drawn_first_and_a_loop_ends() -> None:
    script: Script = {"a": {"round": ("b",), "way": ("c",)}, "b": {"back": ("a",)}, "c": {"done": ()}}
    tree = await tree_of(script, "a")
    drawn = tree_html(tree)
    assert drawn.index("✓ <code>way</code>") < drawn.index("<code>round</code>")
    assert drawn.count("<pre>⊢ a</pre>") == 1


async def test_a_long_search_is_cut_and_says_so() -> None:
    deep: Script = {str(n): {"next": (str(n + 1),)} for n in range(DEEP + 50)}
    drawn = tree_html(await tree_of(deep, "0"))
    assert drawn.count("<pre>") == DEEP + 1
    assert drawn.count("more nodes are not shown") == 1
    wide: Script = {"0": {f"to {n}": (f"{n}",) for n in range(1, SHOWN + 50)}}
    drawn = tree_html(await tree_of(wide, "0"))
    assert drawn.count("<pre>") == SHOWN
    assert "more nodes are not shown" in drawn

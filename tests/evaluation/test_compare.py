"""Evaluations beside each other, on results that are made up so that the answer is known."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.core.errors import InputError
from burnqed.evaluation.compare import (
    Change,
    Comparison,
    compare,
    escaped,
    markdown,
    p_text,
    sentence,
)
from burnqed.evaluation.metrics import wilson
from burnqed.evaluation.results import IterationResult
from burnqed.trajectories.schema import TheoremOutcome
from tests.evaluation.samples import Outcomes, result_of

HARD: tuple[TheoremOutcome, int] = ("exhausted", 1000)
EASY: tuple[TheoremOutcome, int] = ("proved", 1)

FIRST: Outcomes = {
    "easy": ("proved", 1),
    "kept late": ("proved", 60),
    "lost": ("proved", 5),
    "found": HARD,
    "found late": HARD,
    "broke": ("proved", 5),
    "mended": ("error", 1),
    "never": HARD,
}
SECOND: Outcomes = {
    **FIRST,
    "lost": HARD,
    "found": ("proved", 20),
    "found late": ("proved", 90),
    "broke": ("error", 15),
    "mended": ("proved", 1),
}
THIRD: Outcomes = {**SECOND, "lost": ("proved", 5), "broke": ("proved", 5), "never": ("proved", 100)}


def two(**options: bool) -> Comparison:
    return compare([("A", result_of(FIRST)), ("B", result_of(SECOND))], **options)


def test_a_row_for_each_result() -> None:
    first, second = two().rows
    assert (first.label, first.benchmark, first.attempts) == ("A", "made-up", 1)
    assert [(s.solved, s.total, s.errors) for s in first.budgets.values()] == [
        (3, 8, 1), (3, 8, 1), (4, 8, 1),
    ]  # fmt: skip
    assert [(s.solved, s.errors) for s in second.budgets.values()] == [(2, 0), (3, 1), (5, 1)]
    assert list(second.budgets) == [10, 30, 100]
    assert second.cumulative.rate == 5 / 8
    assert second.cumulative.interval == wilson(5, 8)
    assert second.cumulative.errors == 1


def test_the_delta_is_the_last_minus_the_first() -> None:
    delta = two().delta
    assert delta.budgets == {10: Change(-1, -12.5), 30: Change(0, 0.0), 100: Change(1, 12.5)}
    assert delta.cumulative == Change(1, 12.5)


def test_a_pair_theorem_by_theorem() -> None:
    (pair,) = two().pairs
    assert (pair.label, pair.against) == ("B", "A")
    least, middle, most = pair.budgets.values()
    assert (most.gained, most.lost, most.undecided) == (
        ("found", "found late"), ("lost",), ("broke", "mended"),
    )  # fmt: skip
    assert (most.both, most.neither, most.tested) == (2, 1, 6)
    assert most.p_value == 1.0
    assert most.verdict == "no difference shown"
    assert (middle.gained, middle.lost, middle.undecided) == (
        ("found",),
        ("lost",),
        ("broke", "mended"),
    )
    # Within ten nodes the search had not come to its error yet.
    assert (least.gained, least.lost, least.undecided) == ((), ("broke", "lost"), ("mended",))


@pytest.mark.parametrize(
    ("before", "after"),
    [("proved", "error"), ("error", "proved"), ("error", "exhausted"), ("error",) * 2],
)
def test_an_error_says_nothing(before: TheoremOutcome, after: TheoremOutcome) -> None:
    """However many there are."""
    names = [f"t{i}" for i in range(50)]
    first = result_of(dict.fromkeys(names, (before, 1)))
    second = result_of(dict.fromkeys(names, (after, 1)))
    for it in compare([("A", first), ("B", second)]).pairs[0].budgets.values():
        assert (it.gained, it.lost, it.both, it.neither, it.p_value) == ((), (), 0, 0, 1.0)
        assert it.undecided == tuple(sorted(names))
        assert it.verdict == "no difference shown"


def many(gained: int, lost: int) -> Comparison:
    new, old = [f"g{i}" for i in range(gained)], [f"l{i}" for i in range(lost)]
    first = {**dict.fromkeys(new, HARD), **dict.fromkeys(old, EASY)}
    second = {**dict.fromkeys(new, EASY), **dict.fromkeys(old, HARD)}
    return compare([("A", result_of(first, (10,))), ("B", result_of(second, (10,)))])


@pytest.mark.parametrize(
    ("gained", "lost", "verdict", "told"),
    [
        (10, 2, "better", "p = 0.039"),
        (2, 10, "worse", "p = 0.039"),
        (5, 2, "no difference shown", "p = 0.45"),
        (5, 0, "no difference shown", "p = 0.062"),
        (6, 0, "better", "p = 0.031"),
        (60, 3, "better", "p < 0.0001"),
        (3, 60, "worse", "p < 0.0001"),
    ],
)
def test_verdicts(gained: int, lost: int, verdict: str, told: str) -> None:
    pair = many(gained, lost).pairs[0]
    it = pair.budgets[10]
    assert (len(it.gained), len(it.lost), it.verdict) == (gained, lost, verdict)
    assert sentence(pair, 10) == (
        f"B against A at 10 nodes: {gained} gained, {lost} lost, {told} "
        f"(exact McNemar, {gained + lost} pairs): {verdict}"
    )


def test_the_sentence_says_what_was_left_out() -> None:
    assert sentence(two().pairs[0], 10) == (
        "B against A at 10 nodes: 0 gained, 2 lost, p = 0.5 "
        "(exact McNemar, 7 pairs; 1 left out because of errors): no difference shown"
    )


@given(st.floats(0, 1))
def test_p_is_never_shown_as_zero_nor_on_the_other_side(p: float) -> None:
    word, sign, shown = p_text(p).split()
    assert word == "p"
    assert float(shown) > 0
    if sign == "<":
        assert p < float(shown) == 0.0001
    else:
        assert float(shown) == pytest.approx(p, rel=0.051)
        assert (float(shown) < 0.05) == (p < 0.05)


def test_p_at_the_level() -> None:
    assert [p_text(p) for p in (0.05, 0.0499, 0.04996, 0.0501, 1.0)] == [
        "p = 0.05", "p = 0.0499", "p = 0.04996", "p = 0.05", "p = 1",
    ]  # fmt: skip


def test_three_results() -> None:
    found = compare([("A", result_of(FIRST)), ("B", result_of(SECOND)), ("C", result_of(THIRD))])
    assert [(pair.label, pair.against) for pair in found.pairs] == [("B", "A"), ("C", "B"), ("C", "A")]
    against_second, against_first = (pair.budgets[100] for pair in found.pairs[1:])
    assert (against_second.gained, against_second.undecided) == (("lost", "never"), ("broke",))
    assert (against_first.gained, against_first.lost) == (("found", "found late", "never"), ())
    assert against_first.undecided == ("mended",)
    assert found.delta.cumulative == Change(4, 50.0)
    assert found.newly_solved == {"B": ("found", "found late", "mended"), "C": ("never",)}
    assert "9 tests, each at the 5% level" in markdown(found)


def test_only_common_budgets_count() -> None:
    wide = result_of(FIRST, budgets=(5, 10, 30, 300))
    found = compare([("A", wide), ("B", result_of(SECOND, budgets=(1, 10, 30)))])
    assert found.budgets == (10, 30)
    assert list(found.pairs[0].budgets) == list(found.delta.budgets) == [10, 30]
    assert found.rows[0].cumulative.solved == 3, "not the one that took sixty nodes"
    assert found.newly_solved == {"B": ("found", "mended")}


def test_cumulative_is_over_all_budgets() -> None:
    """Also where a smaller budget proved what a larger one, searched anew, did not."""
    small, large = (
        result_of({"a": ("proved", 5), "b": HARD}),
        result_of({"a": ("error", 50), "b": HARD}),
    )
    mixed = dataclasses.replace(small, budget_results=(small.at(10), large.at(100)))
    found = compare([("A", mixed), ("B", large)])
    assert found.budgets == (10, 100)
    assert [(row.cumulative.solved, row.cumulative.errors) for row in found.rows] == [(1, 0), (0, 1)]


def test_no_common_budget() -> None:
    labelled = [("A", result_of(FIRST, (10, 30))), ("B", result_of(FIRST, (100,)))]
    with pytest.raises(InputError, match="no budget in common: A has 10, 30; B has 100") as told:
        compare(labelled)
    assert "--budgets" in told.value.hint


@pytest.mark.parametrize("labelled", [[], [("A", result_of(FIRST))]])
def test_too_few(labelled: list[tuple[str, IterationResult]]) -> None:
    with pytest.raises(InputError, match="only one result"):
        compare(labelled)


def test_labels_tell_apart() -> None:
    with pytest.raises(ValueError, match="the same label"):
        compare([("A", result_of(FIRST)), ("A", result_of(SECOND))])


# ------------------------------------------------------------------------- other theorems


def different() -> list[tuple[str, IterationResult]]:
    more = {**SECOND, "only here": ("proved", 1), "nor there": HARD}
    return [
        ("A", result_of(FIRST, checksum="aa" * 32)),
        ("B", result_of(more, benchmark="larger", checksum="bb" * 32)),
    ]


def test_other_theorems_are_refused() -> None:
    with pytest.raises(InputError, match="not the same theorems") as told:
        compare(different())
    assert "A is on made-up (8 theorems, checksum aaaaaaaaaaaa)" in told.value.message
    assert "B is on larger (10 theorems, checksum bbbbbbbbbbbb)" in told.value.message
    assert "--allow-different" in told.value.hint


def test_other_theorems_are_compared_where_they_are_common() -> None:
    found = compare(different(), allow_different=True)
    assert (found.same_theorems, found.common) == (False, 8)
    assert found.pairs == two().pairs, "paired over the common names"
    assert [row.cumulative.total for row in found.rows] == [8, 10], "rates are of each run's own set"
    assert found.rows[1].budgets[100].rate == 6 / 10
    assert found.delta.cumulative.theorems is None
    assert found.delta.cumulative.points == pytest.approx(10.0)
    assert found.newly_solved == two().newly_solved, "what the first never saw is not new"
    text = markdown(found)
    assert "8 theorems in common by name, A has 8, B has 10" in text
    assert re.search(r"^\| B minus A \|.*\| \+10\.0 points \|$", text, re.MULTILINE)


def test_the_same_theorems_may_be_allowed_to_differ() -> None:
    assert two(allow_different=True) == two()


def test_nothing_in_common() -> None:
    labelled = [("A", result_of({"a": HARD})), ("B", result_of({"b": HARD}))]
    with pytest.raises(InputError, match="no theorem in common"):
        compare(labelled, allow_different=True)
    with pytest.raises(InputError, match="no theorem in common"):
        compare([("A", result_of({})), ("B", result_of({}))])


def test_a_checksum_that_is_not_true() -> None:
    labelled = [
        ("A", result_of({"a": HARD}, checksum="x")),
        ("B", result_of({"b": HARD}, checksum="x")),
    ]
    with pytest.raises(InputError, match="the same checksum, but not the same theorems"):
        compare(labelled)


# ------------------------------------------------------------------------------- settings


def test_what_else_is_different() -> None:
    first = result_of(FIRST, settings={"seed": 0, "temperature": 0, "budgets": (10, 30), "policy": "p"})
    second = result_of(
        FIRST,
        settings={"seed": 1, "temperature": 0.0, "budgets": [10, 30], "policy": "p", "new": None},
        attempts=4,
        iteration=1,
    )
    third = dataclasses.replace(second, ebm_path="ebm/iter_1", timestamp="later")
    found = compare([("A", first), ("B", second), ("C", third)])
    assert found.differences == {
        "attempts": (1, 4, 4),
        "ebm_path": (None, None, "ebm/iter_1"),
        "seed": (0, 1, 1),
    }
    text = markdown(found)
    assert "| attempts | 1 | 4 | 4 |" in text
    assert "| ebm_path | - | - | ebm/iter_1 |" in text


# ------------------------------------------------------------------------- what is printed


def test_json() -> None:
    found = two()
    read = json.loads(found.to_json())
    assert read["pairs"][0]["budgets"]["100"]["gained"] == ["found", "found late"]
    assert read["pairs"][0]["budgets"]["100"]["undecided"] == ["broke", "mended"]
    assert read["delta"]["cumulative"] == {"theorems": 1, "points": 12.5}
    assert read["newly_solved"] == {"B": ["found", "found late", "mended"]}
    assert len(read["rows"]) == 2
    assert found.to_json().count("\n") == 0


def test_markdown() -> None:
    lines = markdown(two()).splitlines()
    assert lines[:5] == [
        "| result | benchmark | attempts | 10 nodes | 30 nodes | 100 nodes | cumulative |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| A | made-up | 1 | 3/8 37.5% (13.7 to 69.4), 1 error | 3/8 37.5% (13.7 to 69.4), 1 error "
        "| 4/8 50.0% (21.5 to 78.5), 1 error | 4/8 50.0% (21.5 to 78.5), 1 error |",
        "| B | made-up | 1 | 2/8 25.0% (7.1 to 59.1) | 3/8 37.5% (13.7 to 69.4), 1 error "
        "| 5/8 62.5% (30.6 to 86.3), 1 error | 5/8 62.5% (30.6 to 86.3), 1 error |",
        "| B minus A |  |  | -1, -12.5 points | +0, +0.0 points "
        "| +1, +12.5 points | +1, +12.5 points |",
    ]
    at = lines.index(f"- {sentence(two().pairs[0], 100)}")
    assert lines[at + 1 : at + 4] == [
        "  - gained: found, found late", "  - lost: lost", "  - left out: broke, mended",
    ]  # fmt: skip
    assert "## Newly solved since A" in lines
    assert "- B: found, found late, mended" in lines
    assert lines[-2:] == ["", "none"], "no setting differs"
    assert "significant" not in "\n".join(lines)


def test_markdown_of_names_that_look_like_markdown() -> None:
    odd = ["a|b", "[bold]c[/bold]", "*d*", "_e_", "Nat.add_comm", "<b>f", "g`h"]
    first, second = result_of(dict.fromkeys(odd, HARD)), result_of(dict.fromkeys(odd, EASY))
    text = markdown(compare([("x|y", first), ("B", second)]))
    (names,) = {line for line in text.splitlines() if line.startswith("  - gained")}
    for shown in (
        r"a\|b",
        r"\[bold\]c\[/bold\]",
        r"\*d\*",
        r"\_e\_",
        "Nat.add_comm",
        r"\<b>f",
        r"g\`h",
    ):
        assert shown in names.removeprefix("  - gained: ").split(", ")
    assert r"| x\|y | made-up |" in text
    assert "p = 0.016" in text, "a plain < or = is left alone"
    tables = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {8}


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"])))
def test_escaping_only_adds_backslashes(text: str) -> None:
    shown = escaped(text)
    assert re.sub(r"\\(.)", r"\1", shown) == text
    assert not re.search(r"[|`*\[\]~]|<[a-zA-Z/!?]", re.sub(r"\\.", "", shown))


OUTCOMES = st.tuples(st.sampled_from(["proved", "exhausted", "error"]), st.integers(1, 120))


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.tuples(OUTCOMES, OUTCOMES), min_size=1))
def test_every_pair_is_somewhere_once(
    ends: dict[str, tuple[tuple[TheoremOutcome, int], tuple[TheoremOutcome, int]]],
) -> None:
    first = result_of({name: before for name, (before, _) in ends.items()})
    second = result_of({name: after for name, (_, after) in ends.items()})
    there, back = compare([("A", first), ("B", second)]), compare([("B", second), ("A", first)])
    for budget, it in there.pairs[0].budgets.items():
        assert it.tested + len(it.undecided) == len(ends)
        assert not {*it.gained} & {*it.lost}
        assert not {*it.gained, *it.lost} & {*it.undecided}
        other = back.pairs[0].budgets[budget]
        assert (it.gained, it.lost, it.p_value) == (other.lost, other.gained, other.p_value)
        if not it.undecided:
            change = there.delta.budgets[budget].theorems
            assert change == len(it.gained) - len(it.lost)
    assert set(there.newly_solved["B"]) == second.cumulative - first.cumulative

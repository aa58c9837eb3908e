"""Edits for editors: applied as an editor applies them, they give the text that `prove` prints."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from burnqed.core.errors import InputError
from burnqed.evaluation.file import FileResult, HoleResult
from burnqed.lean.holes import Hole, fill, sorry_at
from burnqed.lean.verdict import Verdict
from burnqed.prover.suggesting import suggestions

LINES = [
    "-- 𝔸 is two units of UTF-16, é is one",
    "theorem a (𝔸 é : Nat) : 𝔸 = 𝔸 ∧ True := ⟨sorry, trivial⟩",
    "theorem b : 1 = 1 :=",
    "  sorry",
    "theorem c : p ∧ q := by constructor <;> sorry",
    "-- sorry",
    "theorem d : p ∧ q := ⟨by sorry, by sorry⟩",
    "theorem e : p := by sorry",
]
TACTICS = {
    0: ("rfl",), 1: ("intro h", "exact h"), 2: ("exact hp",), 3: ("exact hq",), 4: ("simp",),
    5: ("exact h",),
}  # fmt: skip


def apply(text: str, edits: list[dict[str, Any]]) -> str:
    """As the protocol has it: on UTF-16, all ranges in the text as it was."""
    lines = text.split("\n")
    units = text.encode("utf-16-le")

    def offset(position: dict[str, int]) -> int:
        before = "\n".join(lines[: position["line"]]) + ("\n" if position["line"] else "")
        return len(before.encode("utf-16-le")) + 2 * position["character"]

    for edit in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        units = units[:start] + edit["newText"].encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le")


def holes_of(text: str) -> list[Hole]:
    """As Lean would find them: the second is a term, `<;> sorry` has two goals."""
    starts = [sorry_at(text, 2), sorry_at(text, 4), sorry_at(text, 5), sorry_at(text, 5)]
    last = text.split("\n")[6]
    starts += [sorry_at(text, 7, last.index("sorry")), sorry_at(text, 7, last.rindex("sorry"))]
    starts += [sorry_at(text, 8)]
    return [
        Hole(
            index=index, line=1, column=0, start=at, end=at + 5, kind="term" if index < 2 else "tactic",
            declaration="abccdde"[index], goal=f"goal {index}",
        )
        for index, at in enumerate(starts)
    ]  # fmt: skip


def result_of(text: str, *, accepted: bool = True) -> FileResult:
    holes = holes_of(text)
    why = "" if accepted else "leaves something open"
    found = [
        HoleResult(hole, "found", verdict=Verdict(hole.declaration or "", accepted, why, "judged"))
        if hole.index in TACTICS
        else HoleResult(hole, "exhausted", "nodes")
        for hole in holes
    ]
    return FileResult(tuple(found), fill(text, TACTICS, holes), put_in=TACTICS)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_each_suggestion_is_what_fill_writes(newline: str) -> None:
    text = newline.join(LINES)
    told = json.loads(msgspec.json.encode(suggestions(result_of(text), text)))
    assert len(told) == 6, "one for each `sorry`, however many goals it has"
    for one, indices in zip(told, ([0], [1], [2, 3], [4], [5], [6]), strict=True):
        alone = {index: TACTICS[index] for index in indices if index in TACTICS}
        assert apply(text, one["edits"]) == fill(text, alone, holes_of(text))
        start, end = one["range"]["start"], one["range"]["end"]
        assert end["character"] - start["character"] == 5
    first, second, third, fourth, fifth, sixth = told
    assert first["range"]["start"] == {"line": 1, "character": LINES[1].index("sorry") + 3}
    assert (first["title"], first["proved"]) == ("Try this: rfl", True)
    assert second["title"] == "Try this: intro h …"
    assert len(second["edits"]) == 2, "the `by` goes to the line above"
    assert third["goals"] == ["goal 2", "goal 3"]
    assert fourth["edits"][0]["newText"] == "simp"
    assert (second["tactics"], sixth["tactics"]) == ([["intro h", "exact h"]], [])
    assert third["tactics"] == [["exact hp"], ["exact hq"]], "of each goal"
    for one in (second, third, fourth, fifth):
        assert not one["proved"], "its theorem may rest on one before it, or has another `sorry`"
        assert "with the suggestions for other" in one["reason"]
    assert (sixth["edits"], sixth["proved"], sixth["reason"]) == ([], False, "exhausted: nodes")
    assert sixth["title"] == "nothing to suggest"


def test_only_the_judge_makes_proved() -> None:
    text = "\n".join(LINES)
    told = suggestions(result_of(text, accepted=False), text)
    assert not any(one.proved for one in told)
    assert told[0].reason == "leaves something open"


def test_the_place_of_a_sorry() -> None:
    text = "\n".join(LINES)
    column = LINES[6].index("sorry")
    first = text.index(LINES[6]) + column
    assert sorry_at(text, 7, column) == sorry_at(text, 7, column + 5) == first
    assert sorry_at(text, 2) == sorry_at(text, 2, 0) == text.index("sorry"), "the only one of its line"
    for line, column_, said in (
        (7, None, "line 7 has several `sorry`s"),
        (7, 0, "line 7 has several `sorry`s, and none at column 0"),
        (1, None, "line 1 has no `sorry`"),
        (6, None, "line 6 has no `sorry`"),
        (0, None, "line 0 has no `sorry`"),
        (99, 3, "line 99 has no `sorry`"),
    ):
        with pytest.raises(InputError) as raised:
            sorry_at(text, line, column_)
        assert raised.value.message == said
        assert f"7:{column}" in raised.value.hint

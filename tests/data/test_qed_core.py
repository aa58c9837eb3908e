"""The benchmark of our own: its statements are true, since the judge accepts a proof of each."""

from __future__ import annotations

import re

import pytest

from burnqed.core.types import TheoremText
from burnqed.data import qed_core
from burnqed.data.index import parse_index
from burnqed.data.qed_core import LEVELS, level_source
from burnqed.data.verify import verify
from burnqed.lean.judge import judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations, header, with_sorry
from burnqed.lean.tokens import tokenize
from tests.lanes import some

ENTRIES = qed_core.entries()
SOURCES = {f"qed_core/level{level}.lean": level_source(level) for level in LEVELS}
PLACES = {(path, d.name): d.at for path, source in SOURCES.items() for d in declarations(source)}


def proof(path: str, name: str) -> str:
    """From the `:=` behind the signature to the blank line behind all of it."""
    block = SOURCES[path][PLACES[path, name] :].split("\n\n", 1)[0]
    (statement,) = (entry["statement"] for entry in ENTRIES if entry["name"] == name)
    return block.removeprefix(statement).strip()


def test_names_are_unique_and_every_level_has_thirty() -> None:
    assert [sum(path == place[0] for place in PLACES) for path in SOURCES] == [30] * 5
    assert len({name for _, name in PLACES}) == 150


def test_there_is_an_entry_for_each_theorem_in_order() -> None:
    assert [(entry["file_path"], entry["name"]) for entry in ENTRIES] == list(PLACES)
    assert [entry["group"] for entry in ENTRIES] == [f"level {i}" for i in LEVELS for _ in range(30)]


def test_every_statement_is_the_files() -> None:
    """Whole, from the keyword to where the proof begins."""
    for entry in ENTRIES:
        place = PLACES[entry["file_path"], entry["name"]]
        text = SOURCES[entry["file_path"]][place:]
        assert text.startswith(f"theorem {entry['name'].removeprefix('QedCore.')}")
        assert text.startswith(entry["statement"])
        assert re.match(r"\s*:=", text.removeprefix(entry["statement"])), entry["name"]


def test_every_context_is_what_the_file_has_before_it_less_the_theorems() -> None:
    for path, source in SOURCES.items():
        blocks = source.strip().split("\n\n")
        theorems = {i for i, b in enumerate(blocks) if any(t.text == "theorem" for t in tokenize(b))}
        entries = iter(entry for entry in ENTRIES if entry["file_path"] == path)
        for at in sorted(theorems):
            kept = [block for i, block in enumerate(blocks[:at]) if i not in theorems]
            assert next(entries)["context"] == "\n\n".join(kept)


def test_no_entry_holds_a_proof_or_another_theorem() -> None:
    """A search is to find them."""
    proofs = [proof(path, name) for path, name in PLACES]
    assert all(text.startswith(":=") and len(text) > len(":= by") for text in proofs)
    names = {word for _, name in PLACES for word in (name, name.removeprefix("QedCore."))}
    for entry in ENTRIES:
        text = f"{entry['context']}\n{entry['statement']}"
        words = {token.text for token in tokenize(text)}
        assert words & names == {entry["name"].removeprefix("QedCore.")}
        assert [found for found in proofs if found in text] == []
        assert "sorry" not in words


def test_every_entry_is_a_theorem_left_open() -> None:
    for theorem in parse_index("qed-core", "qed-core", ENTRIES).theorems:
        assert isinstance(theorem.statement, TheoremText)
        assert header(theorem.statement) == theorem.statement.source
        assert [d.name for d in declarations(with_sorry(theorem.statement))] == [theorem.name]


@pytest.mark.lean
@pytest.mark.parametrize("level", some(LEVELS, 5))
async def test_every_reference_proof_is_accepted(level: int, lean_pool: Pool) -> None:
    verdicts = await judge_file(lean_pool, level_source(level))
    assert {v.theorem: v.reason for v in verdicts if not v.accepted} == {}
    assert len(verdicts) == 30


@pytest.mark.lean
@pytest.mark.parametrize("level", some(LEVELS, 5))
async def test_entries_are_fine(level: int, lean_pool: Pool) -> None:
    """Without the theorems before it, and without its proof, it says what it says; and it is true.

    Every sixth of a level and its last: `burn-qed data verify qed-core` looks at all of them.
    """
    entries = [entry for entry in ENTRIES if entry["group"] == f"level {level}"]
    theorems = parse_index("qed-core", "qed-core", [*entries[::6], entries[-1]]).theorems
    found = await verify(lean_pool, theorems, lambda _: None)
    assert [v for v in found if v.verdict != "fine"] == []
    assert len(found) == 6

"""Which theorems go into an index: never one that is held out, whatever it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.data.choice import Choice, choose, choose_and_print
from burnqed.data.contamination import Held, held_out
from burnqed.data.index import parse_index, statement_sha

SHARES = (100.0, 0.0, 0.0)
# Names and what they state; the library has some statements twice.
LIBRARY = {f"Lib.t{i}": f"∀ (n : Nat), n + {i % 8} = {i % 8} + n" for i in range(10)}


def entries() -> list[dict[str, Any]]:
    return [{"name": name, "constant": name, "statement": ""} for name in LIBRARY]


class Printer:
    """Gives statements as Lean would, and counts."""

    def __init__(self) -> None:
        self.printed: list[str] = []

    async def __call__(self, drawn: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        self.printed += [entry["name"] for entry in drawn]
        return [{**entry, "statement": LIBRARY[entry["name"]]} for entry in drawn]


def held(*given: dict[str, str]) -> Held:
    return held_out([parse_index("held", "held", {"theorems": list(given)})])


ONE = {"name": "bench", "constant": "Lib.t1", "statement": LIBRARY["Lib.t1"]}


async def test_held_out_by_name_constant_and_statement() -> None:
    """t9 states what t1 does, with other names."""
    sets = held(ONE, {"name": "other", "statement": "theorem other (k : ℕ) : k + 2 = 2 + k"})
    every = Printer()
    found = await choose_and_print(Choice(SHARES, held=sets), entries(), every)
    assert {e["name"] for e in found.entries} == LIBRARY.keys() - {"Lib.t1", "Lib.t9", "Lib.t2"}
    assert found.left_out == {"held out by name": 1, "held out by statement": 2}
    assert "Lib.t1" not in every.printed
    again = choose(Choice(SHARES, held=sets), await Printer()(entries()))
    assert (again.entries, again.left_out) == (found.entries, found.left_out)


async def test_what_is_not_taken_is_replaced_and_little_is_printed() -> None:
    sets = held({"name": "other", "statement": "∀ (k : Nat), k + 0 = 0 + k"})
    for seed in range(8):
        printer = Printer()
        found = await choose_and_print(Choice(SHARES, size=4, seed=seed, held=sets), entries(), printer)
        names = [entry["name"] for entry in found.entries]
        assert len(set(names)) == 4
        assert not {"Lib.t0", "Lib.t8"} & set(names)
        assert len(printer.printed) == 4 + found.left_out.get("held out by statement", 0)
    plain = await choose_and_print(Choice(SHARES, size=4, seed=3), entries(), Printer())
    assert plain.entries == choose(Choice(SHARES, size=4, seed=3), await Printer()(entries())).entries
    with pytest.raises(InputError, match="a sample of"):
        await choose_and_print(Choice(SHARES, size=9, held=sets), entries(), Printer())
    most = Choice(SHARES, size=9, fewer=True, held=sets)
    found = await choose_and_print(most, entries(), Printer())
    assert len(found.entries) == len(choose(most, await Printer()(entries())).entries) == 8


async def test_what_is_proved_is_known_by_name_and_statement() -> None:
    given = parse_index("given", "given", {"theorems": entries()}).theorems
    proved = {(t.name, statement_sha(t.statement)) for t in given[:3]}
    proved.add((given[5].name, "of another statement"))
    choice = Choice(SHARES, held=held(ONE), proved=frozenset(proved))
    found = await choose_and_print(choice, entries(), Printer())
    assert found.left_out == {"held out by name": 1, "proved": 2, "held out by statement": 1}
    assert {e["name"] for e in found.entries} == {f"Lib.t{i}" for i in range(3, 9)}


def test_contexts_of_files_are_known() -> None:
    entry = {"name": "t", "statement": "theorem t : p = p", "context": {"file": "F", "length": 14}}
    files = {"F": "def p := 1 -- rest"}
    (theorem,) = parse_index("i", "i", {"theorems": [entry], "files": files}).theorems
    proved = frozenset({("t", statement_sha(theorem.statement))})
    other = {"name": "u", "statement": "1 = 1"}
    assert [
        e["name"] for e in choose(Choice(SHARES, proved=proved), [entry, other], files).entries
    ] == ["u"]
    with pytest.raises(InputError, match="--unproved leaves no theorem: 1 proved"):
        choose(Choice(SHARES, proved=proved), [entry], files)

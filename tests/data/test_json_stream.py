"""Long JSON files, value by value."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnqed.data import json_stream
from burnqed.data.json_stream import NotAList, elements, first_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=8), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_blocks_of_any_length_give_what_json_gives(
    rows: list[Any], block: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "BLOCK", block)
        assert [value for _, value in elements(io.StringIO(f" {text}\n"))] == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, {"a": ', "row 2: it ends too early"),
        ('[{"a": 1}, {"a": "bcd', "row 2: it ends too early"),
        ('[{"a": 1}, ', "row 2: it ends too early"),
        ('[{"a": 1}', "after row 1 .* the end of the file"),
        ('[{"a": 1} {"a": 2}]', "after row 1 ',' or ']' is expected"),
        ('[{"a": nul}, {"b": "a text that is longer than what is cut"}]', "row 1: Expecting value"),
        ('[{"a": 1}] x', "something follows"),
        ("\n[" + "[" * 100_000, "row 1: it is nested too deeply|row 1: it ends too early"),
    ],
)
def test_what_is_broken_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        list(elements(io.StringIO(text)))


def test_what_is_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("3", '"text"', "null", '{"theorems": []}'):
        with pytest.raises(NotAList):
            list(elements(io.StringIO(text)))
    monkeypatch.setattr(json_stream, "BLOCK", 8)
    monkeypatch.setattr(json_stream, "LONGEST", 100)
    with pytest.raises(ValueError, match="more than 100 characters"):
        list(elements(io.StringIO('["' + "x" * 1000 + '"]')))


def test_only_what_is_asked_for_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """One element is here before the next is even read: a broken end does no harm to it."""
    monkeypatch.setattr(json_stream, "BLOCK", 16)
    file = io.StringIO("[" + '{"a": 1}, ' * 1000 + "broken")
    found = elements(file)
    assert next(found) == (1, {"a": 1})
    assert file.tell() < 50
    assert first_value(io.StringIO('[{"a": 1}, broken')) == {"a": 1}
    assert first_value(io.StringIO("[ ]")) is None

"""Coloured Lean is the same Lean."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from burnqed.lean import highlight
from burnqed.lean.highlight import coloured

PROOF = """theorem t (n : Nat) : n + 0 = n := by -- easy
  /- no /- really -/ -/
  simp [foo, s!"a{n + 1}b"]
  exact «by» 12
"""


def test_kinds_of_pieces() -> None:
    pieces = coloured(PROOF)
    assert "".join(text for _, text in pieces) == PROOF
    kinds = {text.strip(): kind for kind, text in pieces}
    assert kinds["theorem"] == kinds["by"] == "word"
    assert kinds["simp"] == kinds["exact"] == "tactic"
    assert kinds["12"] == "number"
    assert kinds['"a{n + 1}b"'] == "string"
    assert any(kind == "comment" and "no /- really" in text for kind, text in pieces)
    assert kinds["«by»"] == "word" or "«by»" in "".join(text for kind, text in pieces if not kind)


@given(st.text(alphabet=st.sampled_from("abc ⊢∀\"'\\{}/-!\n«»s.0λ\u202e\ud800"), max_size=60))
def test_no_character_is_lost(text: str) -> None:
    assert "".join(piece for _, piece in coloured(text)) == text


def test_a_long_text_is_plain() -> None:
    long = "simp " * highlight.MOST_COLOURED
    assert coloured(long) == [("", long)]

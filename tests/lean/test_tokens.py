"""The tokenizer: it reads any text, and what it calls code is what Lean calls code."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnqed.lean.tokens import Token, tokenize
from tests.lean.cheats import CHEAT_FILES
from tests.lean.honest import HONEST

# Pieces that open, close or look like something, so that random texts reach every branch.
MARKS = '/- -/ -- " \' \\ « » r# # "# s! { } . := @[ ] ( λ é ∀ ! ? _ ⁻¹ 1 0x1F x foo.bar sorry'
PIECES = st.lists(st.sampled_from([*MARKS.split(), "\n", " "]), max_size=30).map("".join)
TEXT = st.one_of(st.text(max_size=60), PIECES)


def words(source: str) -> list[str]:
    return [t.text for t in tokenize(source) if t.kind == "identifier"]


def texts(source: str) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in tokenize(source)]


@given(TEXT)
def test_every_text_is_read(source: str) -> None:
    for token in tokenize(source):
        assert 0 <= token.start < token.end <= len(source)


@given(TEXT)
@example('!"{000')
def test_tokens_come_in_order(source: str) -> None:
    tokens = tokenize(source)
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)
    for before, after in pairwise(tokens):
        # Code of an interpolation, which may lack its end.
        inside = before.kind in ("string", "broken") and after.end <= before.end
        assert inside or overlaps_nothing(before, after)


def overlaps_nothing(before: Token, after: Token) -> bool:
    return before.end <= after.start


@given(TEXT)
def test_reading_is_the_same_each_time(source: str) -> None:
    assert tokenize(source) == tokenize(source)


@given(st.text(alphabet="ab c\n\"'{}«»#\\", max_size=30))
def test_a_comment_holds_no_tokens(inner: str) -> None:
    line = inner.replace("\n", " ")
    assert words(f"x -- {line}\ny") == ["x", "y"]
    assert words(f"x /- {inner} -/ y") == ["x", "y"]
    assert words(f"x /-- {inner} /- {inner} -/ {inner} -/ y") == ["x", "y"]


@given(st.text(alphabet="ab c\n'{}«»#-/\\\"", max_size=30))
def test_a_string_is_one_token(inner: str) -> None:
    literal = '"' + inner.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert texts(f"x {literal} y") == [
        ("identifier", "x"),
        ("string", literal),
        ("identifier", "y"),
    ]


@given(st.text(alphabet="ab c\n'{}«»-/\\\"", max_size=30))
def test_a_raw_string_is_one_token(inner: str) -> None:
    literal = f'r#"{inner}"#'
    assert texts(f"x {literal} y") == [
        ("identifier", "x"),
        ("string", literal),
        ("identifier", "y"),
    ]


@pytest.mark.parametrize("literal", ["'a'", "'\"'", "'\\n'", "'\\''", "'\\\\'", "'\\x41'", "'∀'"])
def test_a_character_is_one_token(literal: str) -> None:
    assert texts(f"({literal})")[1] == ("string", literal)


def test_names_keep_dots_and_primes_and_lose_quotes() -> None:
    assert words("Nat.add_comm h' x₁ «a b».c foo? bar! _x α.β") == [
        "Nat.add_comm", "h'", "x₁", "a b.c", "foo?", "bar!", "_x", "α.β",
    ]  # fmt: skip


def test_a_prime_belongs_to_its_name() -> None:
    assert words("h' \"a\" h'' x'y") == ["h'", "h''", "x'y"]


def test_a_dot_that_is_no_name() -> None:
    assert words("h.1.x ..y .z") == ["h", "x", "y", "z"]


def test_commands_are_one_word() -> None:
    assert texts("#eval x")[0] == ("symbol", "#eval")


def test_code_in_an_interpolation_is_code() -> None:
    found = words('s!"a {b} c {f (g d)} \\{e}"')
    assert found[-4:] == ["b", "f", "g", "d"]


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("/-/- -/ axiom h : False", "axiom"),
        ("rw [<--x] | sorry", "sorry"),
        ("{x : Int //-x = 0} | sorry", "sorry"),
        ("(1 = 1 \\/-x) | sorry", "sorry"),
        ("Eq.refl 1axiom h : False", "axiom"),
        ("iterate 1sorry", "sorry"),
        ("x⁻¹axiom h : False", "axiom"),
        ("by_elabλ_ => x", "by_elab"),
        ('s! "{sorry}"', "sorry"),
        ('s!"{"a" ++ sorry ++ "b"}"', "sorry"),
        ('dbg_trace "{sorry}"; 1', "sorry"),
    ],
)
def test_what_lean_reads_as_code_is_code(source: str, hidden: str) -> None:
    """Lean 4.28 sees the word in each of these; a text that hides it would pass the rules."""
    assert hidden in words(source)


SOURCES = {h.name: h.source for h in HONEST} | {c.name: c.submission for c in CHEAT_FILES}


@pytest.mark.parametrize("name", SOURCES)
def test_the_corpora_are_read(name: str) -> None:
    source = SOURCES[name]
    tokens = tokenize(source)
    assert tokens
    assert all(t.kind == "string" or source[t.start : t.end].strip() for t in tokens)

"""What a text may not say: found wherever it is code, and nowhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnqed.lean import rules
from burnqed.lean.rules import first_violation, violations
from burnqed.lean.strangers import first_danger
from tests.lean.cheats import CHEAT_FILES, CHEAT_PROOFS, CheatFile, CheatProof
from tests.lean.honest import HONEST, HONEST_PROOFS, HonestFile, HonestProof

ALWAYS = sorted(
    word for word in rules.WORDS if word not in rules.ONLY_AS_TACTIC and not word.endswith("%")
)
# Words that are names too, and are refused only where a tactic begins.
BANNED = st.sampled_from([word for word in ALWAYS if word != "stop"])
# Honest code around it, none of which ends inside a comment, a string or a name.
BEFORE = st.sampled_from(
    [
        "",
        "theorem a : 1 = 1 := by ",
        "exact (",
        "· ",
        "simp; ",
        "/- x -/ ",
        '"a" ',
        "-- x\n",
        "⟨1, ",
    ]
)
AFTER = st.sampled_from(["", " x", ")", "\n", " -- x", ", 2⟩", "; rfl", " /- y -/"])
FILLER = st.text(alphabet="ab 1\n(){}[]∀", max_size=20)


@given(BEFORE, BANNED, AFTER)
def test_a_banned_word_is_found_in_code(before: str, word: str, after: str) -> None:
    assert first_violation(before + word + after)


@given(BEFORE, BANNED)
def test_quotes_around_it_do_not_hide_it(before: str, word: str) -> None:
    assert first_violation(f"{before}«{word}»")


@given(BANNED, FILLER)
def test_not_in_a_comment(word: str, filler: str) -> None:
    line = filler.replace("\n", " ")
    assert first_violation(f"/- {filler} {word} {filler} -/ rfl") is None
    assert first_violation(f"/- /- {word} -/ {word} -/ rfl -- {line} {word}") is None
    assert first_violation(f"/-- {word} -/ theorem a : 1 = 1 := rfl") is None


@given(st.sampled_from(sorted(rules.UNPROVED | rules.COMPILED | rules.SEARCHES)))
def test_not_in_a_string(word: str) -> None:
    """Words that only fail to prove; those that run code may be refused in a string as well."""
    assert first_violation(f'exact f "{word} \\" {word}"') is None
    assert first_violation(f'exact f r#"{word} " {word}"#') is None


@given(BANNED)
def test_not_as_part_of_another_name(word: str) -> None:
    assert first_violation(f"exact my_{word}_lemma x{word}") is None


@pytest.mark.parametrize("word", sorted(rules.EVEN_DOTTED))
def test_some_names_are_the_cheat_behind_any_dot(word: str) -> None:
    assert first_violation(f"exact Lean.{word} x")
    assert first_violation(f"exact _root_.{word}")


def test_a_word_of_the_grammar_behind_a_dot_is_a_name() -> None:
    assert first_violation("exact List.prefix l.macro x.syntax") is None


def test_an_anchor_of_grind_is_no_command() -> None:
    assert first_violation("grind only [#ef78, #6b2f, #ad79]") is None
    assert first_violation("grind =>\n  cases #dead <;> lia") is None
    assert first_violation("#eval 1")
    assert first_violation("#add x")


@given(st.text(max_size=60))
def test_any_text_is_judged(source: str) -> None:
    for violation in violations(source):
        assert violation.reason


FORBIDDEN_OPTIONS = (
    "debug.skipKernelTC", "debug.byAsSorry", "compiler.extract_closed", "interpreter.prefer_native",
    "doc.verso", "«debug».x", "debug.«skipKernelTC»",
)  # fmt: skip
FORBIDDEN_ATTRIBUTES = (
    "macro X", "tactic X", "term_elab X", "implemented_by f", 'extern "x"', "csimp", "init",
    "simp, local macro X", "cpass", "grind_propagator", "simprocAttr", "builtin_term_parser",
    "to_additive (attr := macro X)", "to_additive (attr := simp, csimp) foo", "simps!, norm_num _ + _",
    "to_additive existing (attr := simp (config := f), tactic X)",
)  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN_OPTIONS)
def test_options_that_a_proof_may_not_set(name: str) -> None:
    assert "options" in str(first_violation(f"set_option {name} true in rfl"))


@pytest.mark.parametrize("name", ["maxHeartbeats", "maxRecDepth", "pp.all", "autoImplicit"])
def test_options_that_it_may(name: str) -> None:
    assert first_violation(f"set_option {name} true in rfl") is None


@pytest.mark.parametrize("name", FORBIDDEN_ATTRIBUTES)
def test_attributes_that_install_code(name: str) -> None:
    assert first_violation(f"@[{name}] def f := 1")
    assert first_violation(f"attribute [{name}] f")


@pytest.mark.parametrize(
    "name",
    [
        "simp",
        "local simp",
        "-simp",
        "ext",
        "reducible, inline",
        "grind =",
        "instance 100",
        'to_additive (attr := simp, norm_cast) foo "x"',
        "to_additive (reorder := 1 2), mono",
        "gcongr",
    ],
)
def test_attributes_that_do_not(name: str) -> None:
    assert first_violation(f"attribute [{name}] f") is None


@pytest.mark.parametrize("name", [
    "Mathlib.Tactic.Ring.ring1", "open Mathlib Nat", "_root_.Aesop.RuleTac", "Batteries.Tactic.Lint.f",
    "open Lake", "Qq.Quoted",
])  # fmt: skip
def test_the_machinery_of_libraries(name: str) -> None:
    assert "machinery" in str(first_violation(f"theorem a : p := by\n  exact {name}"))


@pytest.mark.parametrize(
    "name", ["Mathlib.Vector.map f v", "open Batteries", "Batteries.RBMap", "my.Lean"]
)
def test_what_is_no_machinery(name: str) -> None:
    assert first_violation(f"exact {name}") is None


@pytest.mark.parametrize("word", sorted(rules.RUNS_CODE_IN_MATHLIB))
def test_what_runs_code_in_mathlib_is_no_tactic(word: str) -> None:
    assert first_violation(f"by\n  {word} x") if not word.endswith("%") else True
    assert word in rules.gate()["words"]


@pytest.mark.parametrize("char", list("\u200b\u202e\u00ad\ufeff\u0430\uff53\x00"))
def test_characters_that_deceive(char: str) -> None:
    assert first_violation(f"theorem a{char} : 1 = 1 := rfl")


@pytest.mark.parametrize("entry", HONEST, ids=lambda e: e.name)
def test_honest_files_pass(entry: HonestFile) -> None:
    """With a notation, or what else changes the syntax, only beside a reference that has it."""
    beside = entry.reference
    assert [v.reason for v in violations(entry.source) if not (v.dangerous and beside)] == []
    assert first_danger(entry.source, beside, notations=beside is not None) is None


@pytest.mark.parametrize("entry", HONEST_PROOFS, ids=lambda e: e.name)
def test_honest_proofs_pass(entry: HonestProof) -> None:
    assert first_violation("\n".join(entry.tactics)) is None


# Cheats that the words alone give away: their reason can be no other than one of the rules'.
TEXTUAL = re.compile(r"searches|look-alike|invisible|runs code|nobody proved|compiled code\b(?!\|)")


@pytest.mark.parametrize(
    "entry", [c for c in CHEAT_FILES if TEXTUAL.search(c.reason)], ids=lambda e: e.name
)
def test_cheating_files_are_seen(entry: CheatFile) -> None:
    assert first_violation(entry.submission)


@pytest.mark.parametrize(
    "entry",
    [c for c in CHEAT_PROOFS if TEXTUAL.search(c.reason) and "compile" not in c.reason],
    ids=lambda e: e.name,
)
def test_cheating_proofs_are_seen(entry: CheatProof) -> None:
    found = first_violation("\n".join(entry.tactics))
    assert found
    assert re.search(entry.reason, found)

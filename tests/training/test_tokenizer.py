"""The tokenizer for Lean: nothing is lost, symbols stay whole, text cannot spell what is special."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from burnqed.core.errors import InputError
from burnqed.training.tokenizer import BOS, EOS, PAD, SYMBOLS, train_tokenizer
from tests.policy.tiny import TEXTS

MARKERS = ("[GOAL]", "[PROOFSTEP]")
CORPUS = [*TEXTS, *["rw [Nat.add_comm, Nat.mul_comm]\n  exact n ≤ m"] * 20]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer(CORPUS, 1024, MARKERS)


def ids(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return list(tokenizer(text)["input_ids"])


def pieces(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    return [str(tokenizer.decode([token])) for token in ids(tokenizer, text)]


LEAN = st.text(st.sampled_from([*SYMBOLS, *" \n\tabXY01._'[]()<>:=|⁂é日𝔸\r\x00"]), max_size=60)


@given(st.one_of(st.text(), LEAN))
@example("<0xE2><0x8A><0xA2>")  # how bytes are written in the vocabulary
@example(f"{EOS}{PAD}{BOS}[GOAL][PROOFSTEP]")
@example(" \n  \t \r\n x")
@example("e\u0301 \u200b\ufeff")  # nothing is normalised
def test_every_text_comes_back(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    assert tokenizer.decode(ids(tokenizer, text)) == text
    assert tokenizer.decode(ids(tokenizer, text), skip_special_tokens=True) == text


def test_a_symbol_is_one_token_even_where_no_text_has_it() -> None:
    untaught = train_tokenizer(["abc"], 700)
    for symbol in SYMBOLS:
        assert len(ids(untaught, symbol)) == 1
        assert pieces(untaught, f"x{symbol}y") == ["x", symbol, "y"]


def test_the_symbols_of_lean_are_among_them() -> None:
    assert set("⊢∀∃≤≥→↔←∧∨¬≠∣∈∉⊆∅∪∩×·⟨⟩λαβγ✝∘▸ℕ") <= set(SYMBOLS)
    assert len(SYMBOLS) == len(set(SYMBOLS))


def test_a_space_may_join_a_symbol(tokenizer: PreTrainedTokenizerFast) -> None:
    assert pieces(tokenizer, "n ≤ m") == ["n", " ≤", " m"]


def test_names_are_split_where_lemmas_share(tokenizer: PreTrainedTokenizerFast) -> None:
    assert pieces(tokenizer, "Nat.add_comm") == ["Nat", ".add", "_comm"]
    assert pieces(tokenizer, " [Nat.mul_comm") == [" [", "Nat", ".mul", "_comm"]
    camel = train_tokenizer(["isLt getElem toNat HEq"] * 5, 1024)
    assert pieces(camel, "isLt") == ["is", "Lt"]
    assert pieces(camel, "HEq") == ["H", "Eq"]


def test_digits_stand_alone_and_a_line_takes_its_indentation(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    many = train_tokenizer(["2024 + 2024\n  simp\n    omega"] * 50, 1024)
    assert pieces(many, "2024") == ["2", "0", "2", "4"]
    assert pieces(many, "2024\n  simp\n    omega")[4:] == ["\n  ", "simp", "\n    ", "omega"]


@pytest.mark.parametrize("special", [EOS, BOS, PAD])
def test_text_cannot_spell_a_special_token(
    tokenizer: PreTrainedTokenizerFast, special: str, tmp_path: Path
) -> None:
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    token = tokenizer.get_vocab()[special]
    for known in (tokenizer, again):
        for text in (special, f"s = {special}", f"a{special}b"):
            assert token not in known(text)["input_ids"]
            assert token not in known(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode([token], skip_special_tokens=True) == "", "it is special all the same"


def test_nothing_is_put_around_a_text(tokenizer: PreTrainedTokenizerFast) -> None:
    assert ids(tokenizer, "") == []
    assert (tokenizer.eos_token, tokenizer.bos_token, tokenizer.pad_token) == (EOS, BOS, PAD)
    assert len({tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id}) == 3


def test_markers_are_one_token_each_and_stay_text(tokenizer: PreTrainedTokenizerFast) -> None:
    assert pieces(tokenizer, "[GOAL]⊢ n[PROOFSTEP]rw") == [
        "[GOAL]", "⊢", " n", "[PROOFSTEP]", "rw"
    ]  # fmt: skip
    assert tokenizer.decode(ids(tokenizer, "[GOAL]"), skip_special_tokens=True) == "[GOAL]"


def test_saved_and_read_it_is_the_same(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    for text in (*CORPUS, f"{EOS} ⁂ é", "[GOAL]x[PROOFSTEP]"):
        assert list(again(text)["input_ids"]) == ids(tokenizer, text)


def test_the_same_texts_give_the_same_tokenizer(tokenizer: PreTrainedTokenizerFast) -> None:
    again = train_tokenizer(iter(CORPUS), 1024, MARKERS)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    other = train_tokenizer(CORPUS[:-20], 1024, MARKERS)
    assert other.backend_tokenizer.to_str() != tokenizer.backend_tokenizer.to_str()


@pytest.mark.parametrize("vocab", [560, 600])
def test_the_vocabulary_is_as_large_as_asked(vocab: int) -> None:
    tokenizer = train_tokenizer(CORPUS, vocab, MARKERS)
    assert len(tokenizer) == vocab
    assert max(tokenizer.get_vocab().values()) == vocab - 1


def test_a_vocabulary_without_room_is_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        train_tokenizer(CORPUS, 300)

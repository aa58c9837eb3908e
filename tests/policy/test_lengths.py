"""Lengths in tokens are those of training: what is dropped here is what would be cut there."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnqed.core.errors import InputError
from burnqed.policy.lengths import ESTIMATE, lengths
from burnqed.policy.prompt import FORMATS, PromptSettings, examples, prompt_text
from burnqed.training.tokenizer import train_tokenizer

STATES = [f"x : Nat\nh : {'x + ' * n}1 = {n}\n⊢ x ≤ {n}" for n in range(0, 60, 3)]
TACTICS = [f"simp [{', '.join(f'lemma_{i}' for i in range(n))}]" for n in range(20)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_pair_fits_where_it_makes_a_whole_example(tmp_path: Path, format: str) -> None:
    made = train_tokenizer([*STATES, *TACTICS], 800)
    made.save_pretrained(tmp_path)
    prompts = sorted(len(made(prompt_text(FORMATS[format], state))["input_ids"]) for state in STATES)
    tactics = sorted(len(made(tactic)["input_ids"]) for tactic in TACTICS)
    settings = PromptSettings(format, prompts[13], tactics[10])
    pairs = list(zip(STATES, TACTICS[::-1], strict=True))
    answers = lengths(str(tmp_path)).unfit(settings, pairs)
    assert set(answers) == {"", "prompt_tokens", "tactic_tokens"}
    for (state, tactic), answer in zip(pairs, answers, strict=True):
        whole = len(made(prompt_text(FORMATS[format], state))["input_ids"]) <= settings.prompt_tokens
        assert (answer == "prompt_tokens") == (not whole)
        if whole:
            assert (answer == "tactic_tokens") == (
                next(examples(made, settings, [(state, tactic)])) is None
            )


def test_a_token_before_every_text_counts(tmp_path: Path) -> None:
    from tokenizers.processors import TemplateProcessing

    made = train_tokenizer(STATES, 800)
    template = TemplateProcessing(single="<bos> $A <eos>", special_tokens=[("<bos>", 1), ("<eos>", 2)])
    made.backend_tokenizer.post_processor = template
    made.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert lengths(str(tmp_path)).start == 1
    assert lengths(str(tmp_path)).count(["⊢ x"]) == [
        len(made("⊢ x", add_special_tokens=False)["input_ids"])
    ]


def test_what_ends_a_tactic_cannot_be_in_one() -> None:
    pairs = [("⊢ p", "exact h"), ("⊢ p", "exact h ```")]
    assert lengths(None).unfit(PromptSettings(), pairs) == ["", "ends_tactic"]
    assert lengths(None).unfit(PromptSettings("colons"), pairs) == ["", ""]


def test_the_estimate_is_two_bytes_to_a_token() -> None:
    measure = lengths(None)
    assert measure.identity == ESTIMATE
    assert measure.count(["", "a", "ab", "abc", "∀"]) == [0, 1, 1, 2, 2]


def test_a_tokenizer_is_known_by_its_content(tmp_path: Path) -> None:
    for name, texts in (("a", STATES), ("b", STATES), ("c", TACTICS)):
        train_tokenizer(texts, 800).save_pretrained(tmp_path / name)
    first, same, other = (lengths(str(tmp_path / n)).identity.split(": ")[1] for n in "abc")
    assert first == same != other


def test_what_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no tokenizer\.json"):
        lengths(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="cannot read the tokenizer"):
        lengths(str(tmp_path))
    with pytest.raises(InputError, match="there is no tokenizer nowhere"):
        lengths("nowhere")

"""Prompts: what is trained on is what is generated from, and a long state keeps its target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import processors
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from burnqed.core.errors import InputError
from burnqed.core.types import Goal, Hypothesis, state_text
from burnqed.policy.prompt import (
    FORMATS,
    SETTINGS,
    PromptSettings,
    completion_ids,
    examples,
    prompt_ids,
    prompt_text,
    read_settings,
    tactic_of,
    write_settings,
)
from burnqed.training.tokenizer import train_tokenizer
from tests.policy.tiny import KINDS, TEXTS, Kind, tiny_llama, tiny_tokenizer

STATE = "n m : Nat\nh : n ≤ m\n⊢ n < m + 1"
TACTICS = ("omega", "simp [Nat.add_comm, h]", "obtain ⟨x, hx⟩ := h\nexact hx")
TOKENIZERS: dict[str, PreTrainedTokenizerFast] = {
    **{kind: tiny_tokenizer(kind) for kind in KINDS},
    "lean": train_tokenizer(TEXTS, 600, ("[GOAL]", "[PROOFSTEP]")),
}
STARTS = {"bytes": [], "metaspace": ["<s>"], "both": ["<|start|>"], "wordpiece": ["[CLS]"], "lean": []}

every_tokenizer = pytest.mark.parametrize("kind", TOKENIZERS)
every_format = pytest.mark.parametrize("format", FORMATS)


def bare(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


# ------------------------------------------------------------------------- training = search


@every_tokenizer
@every_format
@pytest.mark.parametrize("tactic", TACTICS)
def test_what_is_trained_on_is_what_is_generated_from(kind: str, format: str, tactic: str) -> None:
    tokenizer, settings = TOKENIZERS[kind], PromptSettings(format, 400, 60)
    found = next(examples(tokenizer, settings, [(STATE, tactic)]))
    assert found is not None
    prompt, completion = list(found.ids[: found.prompt_length]), list(found.ids[found.prompt_length :])
    assert prompt == prompt_ids(tokenizer, settings, STATE), "the search asks with these"
    assert completion == completion_ids(tokenizer, tactic)
    # The first token that counts is the first of the tactic, the last is the end.
    assert completion == [*bare(tokenizer, tactic), tokenizer.eos_token_id]
    assert completion.count(tokenizer.eos_token_id) == 1
    assert tokenizer.eos_token_id not in prompt


@every_tokenizer
@every_format
def test_a_prompt_starts_as_the_tokenizer_starts_a_text(kind: str, format: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = prompt_ids(tokenizer, PromptSettings(format, 400, 60), STATE)
    start = [tokenizer.get_vocab()[token] for token in STARTS[kind]]
    text = prompt_text(FORMATS[format], STATE)
    assert ids == [*start, *bare(tokenizer, text)]
    whole = list(
        tokenizer(text)["input_ids"]
    )  # what a server makes of the prompt, but for an end token
    assert whole[: len(ids)] == ids
    assert whole[len(ids) :] in ([], [tokenizer.eos_token_id])


def test_an_end_token_is_no_start_token() -> None:
    """Some have one token for both, and put it behind a text."""
    backend = Backend.from_str(tiny_tokenizer("bytes").backend_tokenizer.to_str())
    backend.post_processor = processors.TemplateProcessing(
        single="$A <|end|>", special_tokens=[("<|end|>", backend.token_to_id("<|end|>"))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|end|>", eos_token="<|end|>"
    )
    assert tokenizer("a")["input_ids"][-1] == tokenizer.eos_token_id
    ids = prompt_ids(tokenizer, PromptSettings("colons", 100, 20), STATE)
    assert ids == bare(tokenizer, f"{STATE}:::")


@every_tokenizer
@given(state=st.text(max_size=80), tactic=st.text(max_size=30))
def test_nothing_merges_across_the_seam(kind: str, state: str, tactic: str) -> None:
    tokenizer, settings = TOKENIZERS[kind], PromptSettings("colons", 2000, 500)
    found = next(examples(tokenizer, settings, [(state, tactic)]))
    assert found is not None
    assert list(found.ids[: found.prompt_length]) == prompt_ids(tokenizer, settings, state)
    assert found.ids[-1] == tokenizer.eos_token_id


@pytest.mark.parametrize("kind", ["bytes", "metaspace", "both", "lean"])
@pytest.mark.parametrize("tactic", TACTICS)
def test_a_tactic_comes_back_from_its_tokens(kind: str, tactic: str) -> None:
    tokenizer = TOKENIZERS[kind]
    said = str(tokenizer.decode(completion_ids(tokenizer, tactic), skip_special_tokens=True))
    for format in FORMATS.values():
        assert tactic_of(format, said) == tactic


@pytest.mark.parametrize("kind", KINDS[:3])
def test_a_model_trained_on_an_example_generates_it(kind: Kind, tmp_path: Path) -> None:
    """With the loss on the tokens from `prompt_length` on, and nothing else told to the model."""
    tokenizer, settings = TOKENIZERS[kind], PromptSettings("proofstep", 200, 40)
    model: Any = AutoModelForCausalLM.from_pretrained(tiny_llama(tmp_path, kind=kind))
    found = next(examples(tokenizer, settings, [(STATE, TACTICS[1])]))
    assert found is not None
    ids = torch.tensor([found.ids])
    labels = ids.clone()
    labels[:, : found.prompt_length] = -100
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(40):
        optimizer.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
    prompt = torch.tensor([prompt_ids(tokenizer, settings, STATE)])
    said = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=settings.tactic_tokens,
        do_sample=False,
        pad_token_id=tokenizer.eos_token_id,
    )[0, prompt.shape[1] :]
    assert said[-1] == tokenizer.eos_token_id, "it learned where to end, too"
    text = str(tokenizer.decode(said, skip_special_tokens=True))
    assert tactic_of(FORMATS["proofstep"], text) == TACTICS[1]


def test_a_tactic_that_is_too_long_is_no_example() -> None:
    tokenizer = TOKENIZERS["bytes"]
    length = len(completion_ids(tokenizer, TACTICS[1]))
    assert (
        next(examples(tokenizer, PromptSettings("colons", 400, length), [(STATE, TACTICS[1])]))
        is not None
    )
    assert (
        next(examples(tokenizer, PromptSettings("colons", 400, length - 1), [(STATE, TACTICS[1])]))
        is None
    )


def test_a_tokenizer_without_an_end_is_refused() -> None:
    endless = PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer().backend_tokenizer)
    with pytest.raises(InputError, match="no end-of-sequence token"):
        completion_ids(endless, "simp")


# ---------------------------------------------------------------------------- long states

NAMES = st.text("abcxyz", min_size=1, max_size=6)
TYPES = st.text("Nat →∀≤()+ xyz01", min_size=1, max_size=40).map(lambda t: t.strip() or "p")
GOALS = st.builds(
    Goal,
    st.just("g"),
    st.lists(TYPES, min_size=1, max_size=4).map("\n".join),  # targets of several lines among them
    st.lists(st.builds(Hypothesis, NAMES, TYPES), max_size=8).map(tuple),
    st.none() | NAMES,
    st.sampled_from(["tactic", "conv"]),
)


def kept_of(state: str, kind: str, format: str, limit: int) -> str:
    """What of a state is in its prompt."""
    tokenizer, around = TOKENIZERS[kind], FORMATS[format]
    ids = prompt_ids(tokenizer, PromptSettings(format, limit, 20), state)
    assert len(ids) <= limit
    text = str(tokenizer.decode(ids, skip_special_tokens=True))
    assert text.startswith(around.before)
    assert text.endswith(around.after)
    return text.removeprefix(around.before).removesuffix(around.after)


@pytest.mark.parametrize("kind", ["bytes", "lean"])
@every_format
@given(goals=st.lists(GOALS, min_size=1, max_size=4), limit=st.integers(60, 260))
def test_a_long_state_keeps_the_first_goals_target(
    kind: str, format: str, goals: list[Goal], limit: int
) -> None:
    state = state_text(goals)
    kept = kept_of(state, kind, format, limit)
    first = goals[0].text
    mark = "|" if goals[0].fragment == "conv" else "⊢"
    target = f"{mark} " + goals[0].target.replace("\n", "\n  ")
    if kept == state:
        return
    if len(kept) > len(first):  # whole goals, from the front
        assert state.startswith(f"{kept}\n\n")
    elif len(kept) >= len(target):  # hypotheses go before the target does
        assert first.endswith(kept)
        assert first[: -len(kept)].endswith("\n") or kept == first
    else:
        assert target.startswith(kept)
        assert kept, "there is room for some of it"


@given(goals=st.lists(GOALS, min_size=2, max_size=4))
def test_no_more_is_cut_than_has_to_be(goals: list[Goal]) -> None:
    state, tokenizer = state_text(goals), TOKENIZERS["lean"]
    fewer = state_text(goals[:-1])
    room = len(bare(tokenizer, f"{fewer}:::"))
    assume(room < len(bare(tokenizer, f"{state}:::")))
    assert kept_of(state, "lean", "colons", room) == fewer


def test_of_a_long_target_the_beginning_is_kept() -> None:
    state = "x : Nat\n⊢ " + " + ".join(f"f x {n}" for n in range(100)) + "\n    = 0"
    kept = kept_of(state, "bytes", "colons", 50)
    assert kept.startswith("⊢ f x 0 + f x 1")


@every_tokenizer
def test_a_state_that_fits_exactly_is_whole(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    whole = prompt_ids(tokenizer, PromptSettings("colons", 1000, 20), STATE)
    assert prompt_ids(tokenizer, PromptSettings("colons", len(whole), 20), STATE) == whole
    shorter = prompt_ids(tokenizer, PromptSettings("colons", len(whole) - 1, 20), STATE)
    assert len(shorter) < len(whole)
    assert "n m" not in str(tokenizer.decode(shorter)), "the first hypotheses go"


def test_a_limit_below_the_frame_is_refused() -> None:
    with pytest.raises(InputError, match="a prompt may have 5 tokens"):
        prompt_ids(TOKENIZERS["bytes"], PromptSettings("deepseek", 5, 20), STATE)


# ------------------------------------------------------------------------------- formats


def test_formats_are_what_other_models_were_trained_with() -> None:
    texts = {name: prompt_text(format, "⊢ True") for name, format in FORMATS.items()}
    assert texts == {
        "deepseek": "Complete the following Lean 4 code:\n\n```lean4\n"
        "/- tactic state:\n⊢ True\n-/\n```\n",
        "proofstep": "[GOAL]⊢ True[PROOFSTEP]",
        "colons": "⊢ True:::",
    }


@pytest.mark.parametrize(
    ("format", "said", "tactic"),
    [
        ("deepseek", "  simp\n", "simp"),
        ("deepseek", "simp\n```\nThe proof", "simp"),
        ("deepseek", "intro x\n/- now -/", "intro x"),
        ("deepseek", "intro x\nexact x", "intro x\nexact x"),
        ("deepseek", "```", ""),
        ("proofstep", "omega[GOAL]n : Nat", "omega"),
        ("proofstep", "omega [PROOFSTEP] simp [GOAL]", "omega"),
        ("colons", "rfl:::rfl", "rfl"),
        ("colons", "exact (x :: xs)", "exact (x :: xs)"),
        ("colons", "", ""),
    ],
)
def test_a_tactic_ends_at_a_stop(format: str, said: str, tactic: str) -> None:
    assert tactic_of(FORMATS[format], said) == tactic


def test_a_state_is_its_goals_as_lean_prints_them() -> None:
    goals = [Goal("g1", "p", (Hypothesis("h", "q"),), "inl"), Goal("g2", "q")]
    assert state_text(goals) == "case inl\nh : q\n⊢ p\n\n⊢ q"
    assert state_text([]) == ""


# ------------------------------------------------------------------------------ settings


@every_format
def test_settings_come_back(format: str, tmp_path: Path) -> None:
    assert read_settings(tmp_path) is None
    settings = PromptSettings(format, 300, 40)
    write_settings(tmp_path, settings)
    assert read_settings(tmp_path) == settings
    assert settings.max_length == 340


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"prompt": {}}',
        '{"prompt": {"format": "colons"}}',
        '{"prompt": {"format": "colons", "prompt_tokens": "many", "tactic_tokens": 20}}',
        '{"prompt": {"format": "colons", "prompt_tokens": null, "tactic_tokens": 20}}',
        '{"prompt": {"format": "colons", "prompt_tokens": Infinity, "tactic_tokens": 20}}',
        '{"prompt": {"format": "colons", "prompt_tokens": 0, "tactic_tokens": 20}}',
        '{"prompt": {"format": "colons", "prompt_tokens": 20, "tactic_tokens": 1}}',
        '{"prompt": {"format": "other", "prompt_tokens": 20, "tactic_tokens": 20}}',
        '{"prompt": {"format": ["colons"], "prompt_tokens": 20, "tactic_tokens": 20}}',
    ],
)
def test_broken_settings_are_refused_by_name(content: str, tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text(content)
    with pytest.raises(InputError, match=SETTINGS):
        read_settings(tmp_path)


def test_a_tag_stands_before_the_state_and_is_off_by_default(tmp_path: Path) -> None:
    tokenizer = TOKENIZERS["lean"]
    plain, core = PromptSettings("proofstep"), PromptSettings("proofstep", dialect="core")
    assert prompt_text(plain.shape, STATE) == f"[GOAL]{STATE}[PROOFSTEP]"
    assert prompt_text(core.shape, STATE) == f"[GOAL]tactics: core\n{STATE}[PROOFSTEP]"
    whole = bare(tokenizer, prompt_text(core.shape, STATE))
    assert prompt_ids(tokenizer, core, STATE) == whole
    short = PromptSettings("proofstep", len(whole) - 3, dialect="core")
    cut = str(tokenizer.decode(prompt_ids(tokenizer, short, STATE)))
    assert cut.startswith("[GOAL]tactics: core\n"), "of a long state the tag is not cut"
    write_settings(tmp_path, core)
    assert read_settings(tmp_path) == core
    older = {"prompt": {"format": "colons", "prompt_tokens": 9, "tactic_tokens": 8}}
    (tmp_path / SETTINGS).write_text(json.dumps(older))
    assert read_settings(tmp_path) == PromptSettings("colons", 9, 8)
    with pytest.raises(InputError, match="no dialect lean3"):
        PromptSettings(dialect="lean3")


def test_settings_of_which_only_bytes_are_known(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=SETTINGS):
        read_settings(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / SETTINGS).mkdir()
    with pytest.raises(InputError, match=SETTINGS):
        read_settings(tmp_path / "taken")


def test_settings_keep_to_the_file_that_servers_and_people_read(tmp_path: Path) -> None:
    write_settings(tmp_path, PromptSettings())
    assert json.loads((tmp_path / SETTINGS).read_text()) == {
        "prompt": {"format": "deepseek", "prompt_tokens": 1920, "tactic_tokens": 128}
    }


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="no prompt format") as caught:
        PromptSettings("gpt")
    assert "deepseek, proofstep, colons" in caught.value.hint
    for tokens in ((0, 20), (20, 1)):
        with pytest.raises(InputError, match="at least"):
            PromptSettings("colons", *tokens)

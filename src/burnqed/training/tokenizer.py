"""A tokenizer made for Lean, trained on states and tactics.

It is a BPE over characters that falls back to bytes:

- The alphabet is ASCII and the symbols that Lean is written with, so `⊢` or `≤` is one token or part of
  one (` ≤`), however rare it is in the texts. Any other character becomes the bytes of its UTF-8. So
  every text comes back as it was.
- Texts are split before anything is merged, and a token never reaches across. Names are split at `.`,
  `_` and capitals, with the separator in front: `Nat.add_comm` is `Nat`, `.add`, `_comm`. So a piece
  that many lemmas share is one token. A digit stands alone. A line break takes the indentation along.
- `<pad>`, `<bos>` and `<eos>` are tokens that no text can spell: in a text `<eos>` is five characters.
- Nothing is put around a text. A model that starts fresh has no use for a start token.
- The markers of a prompt are one token wherever they stand. They are not special: text may spell them,
  and has to stay the same text when it comes back.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from burnqed.core.errors import InputError, SetupError
from burnqed.policy.models.strict import TRAIN

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"

SYMBOLS = (
    "⊢∀∃∄λ→←↔⇒⇐⇔↦↑↓⇑⟶⟹∧∨¬⊕⊻"  # logic and arrows
    "=≠≤≥<>≮≰≡≢≈≃≅≼≺∼∣∤∥"  # relations
    "∈∉∋⊆⊂⊇⊃∅∪∩∖⊓⊔⊤⊥⨆⨅⋃⋂𝒫∁"  # sets and orders
    "×·∘▸•∙⋅÷√∞∑∏∫∂∇±∓⊗⊙†‖⌊⌋⌈⌉"  # operations
    "⟨⟩⟦⟧‹›«»⦃⦄⟪⟫✝…▹◃◁▷□◇★"  # brackets and marks
    "₀₁₂₃₄₅₆₇₈₉₊₋ₙₘᵢⱼₖ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵒᵖ"  # indices
    "ℕℤℚℝℂℙℵℓ𝓝𝕜"  # letters
    "αβγδεζηθικμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"
)

# In this order: a line break and its indentation; a word of a name, with what stands before it;
# a digit; an operator or a symbol with the space before it (` :=`, ` ⟨`); other space.
_PIECES = (
    r"\r?\n *"
    r"| ?[._]?(?:\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{L}\p{M}])"
    r"| ?\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}][=:|&.>+*]*"
    r"|\s+?(?= \S)|\s+"
)


def train_tokenizer(
    texts: Iterable[str], vocab: int = 4096, markers: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """A tokenizer of at most `vocab` tokens. The same texts in the same order give the same one."""
    try:
        from tokenizers import (
            AddedToken,
            Regex,
            Tokenizer,
            decoders,
            models,
            pre_tokenizers,
            trainers,
        )
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise SetupError(f"training needs a package: {error}", hint=TRAIN) from error

    alphabet = sorted({*string.ascii_letters, *string.digits, *string.punctuation, *" \n\t", *SYMBOLS})
    given = [PAD, BOS, EOS, *(f"<0x{byte:02X}>" for byte in range(256))]
    if vocab < len(given) + len(alphabet) + len(markers):
        raise InputError(
            f"a vocabulary of {vocab} has no room for bytes and symbols",
            hint=f"{len(given) + len(alphabet) + len(markers)} at least, 4096 as a rule",
        )
    tokenizer = Tokenizer(models.BPE(byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_PIECES), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - len(given) - len(markers),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),  # what else is in the texts is left to the bytes
        min_frequency=2,
        show_progress=False,
    )
    tokenizer.train_from_iterator((_without(markers, text) for text in texts), trainer)

    # The bytes come into the vocabulary by hand: the trainer would take them for special tokens.
    content = json.loads(tokenizer.to_str())
    learned = sorted(content["model"]["vocab"], key=content["model"]["vocab"].__getitem__)
    content["model"]["vocab"] = {token: index for index, token in enumerate([*given, *learned])}
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.add_special_tokens([PAD, BOS, EOS])
    tokenizer.add_tokens([AddedToken(marker, normalized=False) for marker in markers])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        split_special_tokens=True,  # in texts
        clean_up_tokenization_spaces=False,
    )


def _without(markers: Sequence[str], text: str) -> str:
    """A marker has its token already: nothing is to be learned from it."""
    for marker in markers:
        text = text.replace(marker, "\n")
    return text

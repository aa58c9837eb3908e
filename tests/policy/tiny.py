"""Tiny random models and tokenizers, made on the spot, for tests that need a real one.

Tokenizers differ in what they do at the edges of a text, so there is one of each kind:

- `bytes`: byte-level BPE, nothing put around a text (GPT-2, SmolLM2);
- `metaspace`: a start token and a `▁` in front (Llama 2);
- `both`: byte-level BPE, a start and an end token around a text;
- `wordpiece`: lower case, `[CLS]` and `[SEP]` around; space is lost (BERT).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

import gguf
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

Kind = Literal["bytes", "metaspace", "both", "wordpiece"]
KINDS: tuple[Kind, ...] = ("bytes", "metaspace", "both", "wordpiece")
VOCABULARY = 512

TEXTS = (
    "n m : Nat\nh : n ≤ m\n⊢ n < m + 1",
    "case inr\nα : Type\ns : List α\nx✝ : α\n⊢ ∀ (t : List α), (s ++ t).length = s.length + t.length",
    "p q : Prop\nhp : p\n⊢ p ∨ q → ¬ (¬ p ∧ ¬ q)",
    "Complete the following Lean 4 code:\n\n```lean4\n/- tactic state:\n\n-/\n```\n",
    "[GOAL]n : Nat\n⊢ n + 0 = n[PROOFSTEP]simp",
    "n : Nat\n⊢ n + 0 = n:::rfl",
    "induction n with | zero => rfl | succ n ih => simp [Nat.add_comm, ih]",
    "omega",
    "exact Nat.lt_succ_of_le h",
    "rw [Nat.mul_comm, ← Nat.mul_assoc]",
    "obtain ⟨x, hx⟩ := h",
    "rcases h with hp | hq",
    "intro h\nexact h.elim",
)


@cache
def tiny_tokenizer(kind: Kind = "bytes") -> PreTrainedTokenizerFast:
    """A tokenizer of one kind, trained on a few states and tactics. It is shared: do not change it."""
    if kind == "wordpiece":
        return _wordpiece()
    if kind == "metaspace":
        return _around(_metaspace(), "<s>", "</s>", "<s> $A")
    if kind == "both":
        return _around(
            _byte_level("<|start|>", "<|end|>"), "<|start|>", "<|end|>", "<|start|> $A <|end|>"
        )
    return _around(_byte_level("<|end|>"), "<|end|>", "<|end|>", "$A")  # one token for both, as SmolLM2


def _around(tokenizer: Tokenizer, start: str, end: str, template: str) -> PreTrainedTokenizerFast:
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template,
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in sorted({start, end})],
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=start, eos_token=end)


def _byte_level(*special: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def _metaspace() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 256, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    content = json.loads(tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    vocabulary |= {f"<0x{byte:02X}>": len(vocabulary) + byte for byte in range(256)}
    return Tokenizer.from_str(json.dumps(content))


def _wordpiece() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[PAD]"], show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        bos_token="[CLS]",
        eos_token="[SEP]",
        pad_token="[PAD]",
    )


def tiny_llama(
    directory: Path,
    *,
    hidden: int = 32,
    layers: int = 2,
    vocab: int = VOCABULARY,
    positions: int = 2048,
    seed: int = 0,
    tied: bool = True,
    kind: Kind = "bytes",
) -> Path:
    """A random Llama with grouped-query attention and its tokenizer, saved as a Hugging Face directory.

    The weights are larger than a fresh model's, so that what it says depends on what it is asked.
    """
    tokenizer = tiny_tokenizer(kind)
    config = LlamaConfig(
        vocab_size=max(vocab, len(tokenizer)),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        tie_word_embeddings=tied,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        initializer_range=0.2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


IDS = torch.tensor([[5, 300, 17, 42, 99, 7]])


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(input_ids=IDS).logits
    return found


def plain(directory: Path) -> PreTrainedModel:
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    return model


def write_gguf(
    source: Path, file: Path, split: str = "smollm", head: torch.Tensor | None = None, **flags: bool
) -> Path:
    """The tiny Llama and its tokenizer as llama.cpp would write them, in 32 bits.

    With a `head` the embeddings are in 16 bits and the head beside them is this.
    """
    model, tokenizer = plain(source), tiny_tokenizer()
    config = model.config
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(split)
    known = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    tokens = [*known, *(f"[PAD{n}]" for n in range(config.vocab_size - len(known)))]
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token == "<|end|>" else 1 for token in tokens])
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(merge) for merge in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    for name, flag in flags.items():
        writer.add_bool(f"tokenizer.ggml.{name}", flag)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        for part, count in heads.items():
            if part in name:  # llama.cpp turns pairs of neighbours, transformers halves
                weight = (
                    weight.reshape(count, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
                )
        found = names.get_name(name, try_suffixes=(".weight",))
        assert found, name
        half = head is not None and "embed_tokens" in name
        writer.add_tensor(
            found, weight.to(torch.float16 if half else torch.float32).contiguous().numpy()
        )
    if head is not None:
        writer.add_tensor("output.weight", head.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file

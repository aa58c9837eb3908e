"""Attention for a row of examples that lie one after the other, each of which sees itself only.

No token is padding, so no layer works on any. The model is Hugging Face's own; only its attention
function is replaced, and that the two mean the same is checked before anything is trained.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from burnqed.core.errors import SetupError
from burnqed.policy.models.agreement import disagreement

_NAME = "burn_qed_packed"


def pack(model: Any, longest: int) -> None:
    """Have a model read rows of examples of at most `longest` tokens. Raises where it cannot.

    Called under the precision that it will be trained in, if that is not the weights' own.
    """
    from transformers import AttentionInterface

    plain = model.config._attn_implementation
    if plain == _NAME:
        return
    AttentionInterface.register(_NAME, attend)
    window = getattr(model.config, "sliding_window", None)
    if window is not None and window < longest and getattr(model.config, "use_sliding_window", True):
        raise _refusal(model, f"it sees {window} tokens back, and {longest} are needed")
    if not getattr(model, "_supports_attention_backend", False):
        raise _refusal(model, "its attention cannot be replaced")
    size = int(model.config.get_text_config().vocab_size)
    texts = [[(7 * i + 3) % size for i in range(9)], [(5 * i + 1) % size for i in range(4)]]
    trained = model.training
    model.eval()
    with torch.no_grad():
        alone = torch.cat([_read(model, text).logits[0] for text in texts])
        model.config._attn_implementation = _NAME
        starts = torch.tensor([0, 9, 13], dtype=torch.int32, device=model.device)
        positions = torch.tensor([[*range(9), *range(4)]], device=model.device)
        told = segments(starts, longest)
        together = _read(model, [*texts[0], *texts[1]], position_ids=positions, **told).logits[0]
    model.train(trained)
    if why := disagreement(together, alone):
        model.config._attn_implementation = plain
        raise _refusal(model, why)


def segments(starts: Tensor, longest: int) -> dict[str, Any]:
    """What a model hands through to its attention: where the examples of a row begin and end."""
    return {"cu_seq_lens_q": starts, "max_length_q": longest}


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    cu_seq_lens_q: Tensor,
    max_length_q: int,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, None]:
    """Of tokens in one row [1, heads, tokens, size]; the result is [1, tokens, heads, size]."""
    assert dropout == 0.0, "no model that is trained here drops attention"
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    # Positions may have been worked into these in a higher precision than what is computed in.
    query, key = query.to(value.dtype), key.to(value.dtype)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    if query.device.type == "cuda" and query.dtype != torch.float32:
        from torch.nn.attention.varlen import varlen_attn

        found = varlen_attn(
            _tokens_first(query), _tokens_first(key), _tokens_first(value), cu_seq_lens_q,
            cu_seq_lens_q, max_length_q, max_length_q, scale=scale, window_size=(-1, 0),
        )  # fmt: skip
        assert isinstance(found, Tensor)
        return found[None], None
    parts = [
        functional.scaled_dot_product_attention(
            query[:, :, start:end], key[:, :, start:end], value[:, :, start:end],
            is_causal=True, scale=scale,
        )
        for start, end in pairwise(cu_seq_lens_q.tolist())
    ]  # fmt: skip
    return torch.cat(parts, dim=2).transpose(1, 2), None


def _tokens_first(row: Tensor) -> Tensor:
    return row[0].transpose(0, 1).contiguous()


def _read(model: Any, text: list[int], **how: Any) -> Any:
    return model(torch.tensor([text], device=model.device), use_cache=False, **how)


def _refusal(model: Any, why: str) -> SetupError:
    return SetupError(
        f"{type(model).__name__} cannot be trained on packed examples: {why}",
        hint="another base: any of the Llama, Qwen or Mistral families will do",
    )

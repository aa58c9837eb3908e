"""A trained model as a directory of its own: an adapter merged into its base, ready for any server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from burnqed.core.errors import InfrastructureError, InputError
from burnqed.core.files import publish_directory
from burnqed.core.runs import MANIFEST
from burnqed.policy.models.load import Loaded, adapter_tokenizer, attach, load
from burnqed.policy.models.strict import save_pretrained
from burnqed.policy.prompt import (
    FORMATS,
    PromptSettings,
    prompt_ids,
    tactic_of,
    write_settings,
)
from burnqed.training.card import card
from burnqed.training.lora import Base, find_model, own_settings

Dtype = Literal["bf16", "fp32"]
STATE = "n : Nat\n⊢ n + 0 = n"
# Prompts on which two models are compared: short and long, with hypotheses, cases and several goals.
STATES = (
    STATE,
    "p q : Prop\nhp : p\nhq : q\n⊢ p ∧ q",
    "case succ\nn : Nat\nih : 0 + n = n\n⊢ 0 + (n + 1) = n + 1",
    "α : Type\nxs ys : List α\n⊢ (xs ++ ys).length = xs.length + ys.length",
    "case left\na b c : Nat\nh : a ≤ b\n⊢ a ≤ b + c\n\ncase right\na b c : Nat\nh : a ≤ b\n⊢ c ≤ b + c",
)
# Of the largest logit: what float32 sums may differ by, and what rounding weights to bfloat16 may do.
_TOLERANCE: dict[Dtype, float] = {"fp32": 1e-4, "bf16": 0.1}


@dataclass(frozen=True, slots=True)
class Verified:
    """How far the logits of what was written are from those of what was trained, and what it says."""

    merge_difference: float  # by the merge alone, in float32
    saved_difference: float  # of what was written and read again
    largest_logit: float
    state: str
    tactic: str


def export(
    source: Path, out: Path, *, dtype: Dtype, shard: str, verify: bool, state: str = STATE
) -> Verified | None:
    """Write the model to `out`, whole or not at all; nothing is written that fails its check."""
    if not source.is_dir():
        raise InputError(
            f"{source} is not a training's directory, an adapter or a model", hint="name a directory"
        )
    base = find_model(source)
    out = out.resolve()  # it has a name then, also as `.`
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already, and not empty", hint="give another --out")
    loaded = load(base.model, dtype="float32")
    settings = own_settings(base, loaded)
    model: Any = loaded.model
    if base.adapter:
        loaded = replace(loaded, tokenizer=adapter_tokenizer(base.adapter, loaded.tokenizer))
        model = attach(model, base.adapter)
    model.eval()
    prompts = [prompt_ids(loaded.tokenizer, settings, text) for text in (*STATES, state)]
    before = logits_of(model, prompts) if verify else []
    if base.adapter:
        model = model.merge_and_unload()
    merged = logits_of(model, prompts) if verify else []
    model = model.to(torch.bfloat16 if dtype == "bf16" else torch.float32)
    verified: list[Verified] = []

    def write(directory: Path) -> None:
        save_pretrained(directory, model, loaded.tokenizer, max_shard_size=shard)
        write_settings(directory, settings)
        said = card(out.name, _name(base), settings, *_records(source))
        (directory / "README.md").write_text(said, encoding="utf-8")
        if verify:
            again = load(directory, dtype="float32")
            verified.append(_verify(again, settings, prompts, before, merged, state, dtype))

    publish_directory(out, write)
    return verified[0] if verified else None


def logits_of(model: Any, prompts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """What a model predicts at each token of each prompt."""
    device = next(model.parameters()).device
    with torch.no_grad():
        return [
            model(torch.tensor([list(ids)], device=device), use_cache=False).logits[0].float().cpu()
            for ids in prompts
        ]


def _verify(
    again: Loaded, settings: PromptSettings, prompts: Sequence[Sequence[int]],
    before: Sequence[torch.Tensor], merged: Sequence[torch.Tensor], state: str, dtype: Dtype,
) -> Verified:  # fmt: skip
    again.model.eval()
    saved = logits_of(again.model, prompts)
    largest = max(float(logits.abs().max()) for logits in before)
    verified = Verified(
        merge_difference=_difference(before, merged),
        saved_difference=_difference(before, saved),
        largest_logit=largest,
        state=state,
        tactic=greedy(again, settings, state),
    )
    for difference, tolerance, what in (
        (verified.merge_difference, _TOLERANCE["fp32"], "the merged model"),
        (verified.saved_difference, _TOLERANCE[dtype], "the model that was written"),
    ):
        if not difference <= tolerance * max(1.0, largest):
            raise InfrastructureError(
                f"{what} is not the one that was trained: logits differ by {difference:.3g}, "
                f"the largest is {largest:.3g}",
                hint="nothing was written; try --dtype fp32"
                if dtype == "bf16"
                else "nothing was written",
            )
    if not verified.tactic:
        raise InfrastructureError(
            f"the model that was written says no tactic of the state {state!r}",
            hint="nothing was written; ask about another state with --state, or train for longer",
        )
    return verified


def _difference(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(one, other, strict=True))


def greedy(loaded: Loaded, settings: PromptSettings, state: str) -> str:
    """The tactic that the model says of a state when it always takes the likeliest token."""
    ids = prompt_ids(loaded.tokenizer, settings, state)
    tokens = torch.tensor([ids], device=loaded.device)
    end = loaded.tokenizer.eos_token_id
    with torch.no_grad():
        for _ in range(settings.tactic_tokens):
            token = loaded.model(tokens, use_cache=False).logits[:, -1].argmax(-1, keepdim=True)
            if int(token) == end:
                break
            tokens = torch.cat([tokens, token], dim=1)
    said = loaded.tokenizer.decode(tokens[0, len(ids) :], skip_special_tokens=True)
    return tactic_of(FORMATS[settings.format], str(said))


def _name(base: Base) -> str | None:
    """The base's name where it has one that others know."""
    return None if Path(base.model).is_dir() else base.model


def _records(source: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest and the result of the training that a model comes from, as far as they are there."""
    for directory in (source, source.resolve().parent):
        if (directory / MANIFEST).is_file():
            manifest, result = (_read(directory / name) for name in (MANIFEST, "result.json"))
            return manifest, result
    return {}, {}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}

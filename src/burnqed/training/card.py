"""The model card: what a model is, what it was trained on, how it is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnqed.core.runs import PLACES
from burnqed.policy.prompt import PromptSettings, prompt_text

_LOSSES = (
    ("best_val_loss", "validation loss per tactic token"),
    ("best_val_trajectory_loss", "the same, on steps found by search"),
    ("best_val_accuracy", "validation tactic tokens that are the likeliest"),
    ("first_val_loss", "validation loss before training"),
    ("baseline_val_loss", "validation loss of common and copied tokens"),
    ("train_loss", "training loss at the end"),
)


def card(
    name: str,
    base: str | None,
    settings: PromptSettings,
    manifest: Mapping[str, Any],
    result: Mapping[str, Any],
) -> str:
    """README.md with the header that the Hugging Face hub reads."""
    header = ["---", "library_name: transformers", "pipeline_tag: text-generation"]
    if base is not None:
        header.append(f"base_model: {json.dumps(base)}")
    header += ["tags:", "- lean4", "- theorem-proving", "- burn-qed", "---"]
    parts = ["\n".join(header), f"# {name}", _what(base, manifest)]
    if manifest:
        parts += ["## Training", _training(manifest, result)]
    if losses := _losses(result):
        parts += ["## Losses", losses]
    parts += ["## Prompt", _prompt(settings), "## Use", _use(name)]
    return "\n\n".join(parts) + "\n"


def _what(base: str | None, manifest: Mapping[str, Any]) -> str:
    said = "A Lean 4 tactic model: it reads a proof state and says a tactic."
    if manifest.get("base") == "nano":
        return f"{said} It was made from random weights (nano, {manifest.get('nano_size')})."
    return f"{said} It was made from `{base}`." if base else said


def _training(manifest: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    rows = ["| data | pairs | checksum |", "|---|---|---|"]
    for key in ("data", "extra_data", "val"):
        sources = manifest.get(key, ())
        places = manifest.get(PLACES, {}).get(key) or [one["path"] for one in sources]
        for source, place in zip(sources, places, strict=True):
            name = Path(place).name
            rows.append(f"| {key}: {name} | {source['pairs']} | `{source['checksum'][:12]}` |")
    method = manifest.get("method")
    if method == "lora":
        method = f"LoRA (rank {manifest.get('rank')}, alpha {manifest.get('alpha')})"
    said = [
        f"- method: {method}, learning rate {manifest.get('lr')}, seed {manifest.get('seed')}",
        f"- batch: {manifest.get('batch')} × {manifest.get('accumulate')} × "
        f"{manifest.get('processes')} processes",
    ]
    if result:
        said += [
            f"- examples: {result.get('train_examples')} of {result.get('train_theorems')} theorems; "
            f"validation {result.get('val_examples')} of {result.get('val_theorems')} others",
            f"- steps: {result.get('steps')} ({result.get('epochs')} epochs), "
            f"{result.get('tokens')} tokens, the best at step {result.get('best_step')}",
        ]
    return "\n".join([*rows, "", *said])


def _losses(result: Mapping[str, Any]) -> str:
    rows = [f"| {said} | {result[key]:.4f} |" for key, said in _LOSSES if result.get(key) is not None]
    return "\n".join(["| what | figure |", "|---|---|", *rows]) if rows else ""


def _prompt(settings: PromptSettings) -> str:
    shown = prompt_text(settings.shape, "n : Nat\n⊢ n + 0 = n").rstrip("\n")
    return (
        f"Format `{settings.format}`, at most {settings.prompt_tokens} tokens; the tactic follows, "
        f"at most {settings.tactic_tokens} tokens with the end token (`burn_qed.json`):"
        f"\n\n~~~text\n{shown}\n~~~"
    )


def _use(name: str) -> str:
    return (
        "```sh\n"
        f"burn-qed prove '∀ n : Nat, n + 0 = n' --model {name}\n"
        f"burn-qed eval qed-core --model {name} --out runs/{name}\n"
        "```\n\n"
        "What it says is a proposal: only Lean says what is a proof."
    )

"""Tokens a second of `train policy`, against what the GPU does in one large matrix product.

    python bench/training.py [MODEL] [--shape 0.5b] [--rows 8192 32768] [--rank 64] [--steps 30]

MODEL is a directory or a .gguf file. Without one, a model of random weights in the shape of
Qwen2.5-Coder-0.5B (or 1.5B) is made: what is computed does not depend on the weights. The examples are
random tokens, of lengths as those of LeanDojo's steps with that tokenizer: a median of 169 tokens, and
17 of them are the tactic's on average.

For each number of tokens in a row the real loop takes steps, after some that compile and warm up:
tokens a second, the share of the GPU's limit, and memory. `--full` trains all weights, `--plain` does
not compile. On a CPU there is no limit to compare with.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from burnqed.data.qed_core import entries
from burnqed.policy.models import gguf
from burnqed.policy.models.load import load
from burnqed.policy.prompt import Example
from burnqed.training.given import Material
from burnqed.training.log import LOG, read_log
from burnqed.training.lora import Base, prepare
from burnqed.training.nano import NanoSize, create
from burnqed.training.plans import Adapting, PolicyPlan
from burnqed.training.sft import Loop
from burnqed.training.speed import compile_layers

SHAPES = {
    "0.5b": NanoSize("0.5b", layers=24, hidden=896, inner=4864, heads=14, shared_heads=2),
    "1.5b": NanoSize("1.5b", layers=28, hidden=1536, inner=8960, heads=12, shared_heads=2),
    "tiny": NanoSize("tiny", layers=2, hidden=128, inner=256, heads=2, shared_heads=1),
}
VOCABULARY = 151_936
WARM_UP = 10  # steps
EXAMPLES = 256  # of a step


def random_model(place: Path, shape: str) -> Path:
    """Of the shape, with embeddings for as many tokens as Qwen's tokenizer has."""
    made = create(place / "small", SHAPES[shape], (e["statement"] for e in entries()), seed=0)
    loaded = load(made, "cpu", "float32")
    model: Any = loaded.model
    model.resize_token_embeddings(VOCABULARY, mean_resizing=False)
    out = place / shape
    model.to(torch.bfloat16).save_pretrained(out)
    loaded.tokenizer.save_pretrained(out)
    return out


def examples(count: int, vocabulary: int) -> tuple[Example, ...]:
    draw = random.Random(0)
    found = []
    for _ in range(count):
        said = max(2, min(128, round(draw.lognormvariate(2.5, 0.8))))
        length = said + max(16, min(1400, round(draw.lognormvariate(5.03, 0.62))))
        found.append(Example(tuple(draw.randrange(vocabulary) for _ in range(length)), length - said))
    return tuple(found)


def measured(base: Path, room: int, given: argparse.Namespace) -> dict[str, float | None]:
    adapting = Adapting(
        method="full" if given.full else "lora", rank=given.rank, alpha=2 * given.rank,
        checkpointing=given.checkpointing,
    )  # fmt: skip
    accelerator = Accelerator(mixed_precision="no")
    cuda = accelerator.device.type == "cuda"
    precision = torch.bfloat16 if cuda else torch.float32
    torch.backends.cuda.enable_cudnn_sdp(False)
    device = "cuda" if cuda else "cpu"
    loaded = prepare(Base(str(base)), adapting, device, precision, None)
    longest = loaded.settings.max_length
    batch = max(1, room // longest)
    plan = PolicyPlan(
        batch=batch, accumulate=max(1, given.examples // batch), steps=WARM_UP + given.steps,
        lr=1e-5, save_every=10**9,
    )  # fmt: skip
    vocabulary = int(loaded.model.config.vocab_size)
    train = examples(batch * plan.accumulate * 8, vocabulary)
    if not given.plain:
        compile_layers(loaded.model, tokens=10**12)  # the loop does it for a long training only
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as out:
        loop = Loop(loaded, Material(train, (1,) * len(train)), plan, Path(out), accelerator, precision)
        loop.run(lambda: False, lambda _standing: None)
        steps = [e for e in read_log(Path(out) / LOG) if e["kind"] == "train" and e["step"] > WARM_UP]
    memory = torch.cuda.max_memory_allocated() / 2**30 if cuda else None
    accelerator.free_memory()
    return {
        "row_tokens": batch * longest,
        "step_tokens": statistics.mean(e["tokens"] for e in steps),
        "tokens_per_second": statistics.median(e["tokens_per_second"] for e in steps),
        "utilisation": statistics.median(e["utilisation"] for e in steps) if cuda else None,
        "tflops_of_gpu": loop.limit / 1e12 if loop.limit else None,
        "memory_gb": memory,
    }


def tell(found: Sequence[dict[str, float | None]]) -> None:
    for one in found:
        share = f"{one['utilisation']:.1%}" if one["utilisation"] is not None else "-"
        memory = f"{one['memory_gb']:.1f} GB" if one["memory_gb"] is not None else "-"
        print(
            f"rows of {one['row_tokens']:7,.0f} tokens, {one['step_tokens']:9,.0f} a step: "
            f"{one['tokens_per_second']:11,.0f} tokens/s, {share} of the GPU's limit, {memory}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--shape", choices=SHAPES, default="0.5b")
    parser.add_argument("--rows", type=int, nargs="+", default=[8192, 32768])
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30, help="that are measured, for each row")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="of a step")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--checkpointing", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        base = given.model
        if base is None:
            base = random_model(Path(place), given.shape)
        elif base.suffix == ".gguf":  # once, and not for each measurement
            gguf.convert(base, Path(place) / "model")
            base = Path(place) / "model"
        found = [measured(base, room, given) for room in given.rows]
    if given.json:
        print(json.dumps(found, indent=2))
    else:
        tell(found)


if __name__ == "__main__":
    main()

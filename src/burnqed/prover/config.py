"""All settings of a prover, as frozen structs.

Commands, keyword arguments and manifests take their defaults, bounds and descriptions from here, and
nothing states them a second time. Each struct adds to the one before it:

    LeanConfig → PolicyConfig → GuidedConfig → Config                one statement, or a file
                              |              → SetConfig → SearchConfig, EvalConfig
                              → NegativesConfig, MixtureConfig

`data_config` has those of the commands that make data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from burnqed.core.config import AtLeast0, AtLeast1, about
from burnqed.core.types import LeakRule
from burnqed.evaluation.negatives import Effort
from burnqed.evaluation.prove import DEFAULT_HEARTBEATS, EFFORT, HEARTBEATS
from burnqed.evaluation.run import SAVE_EVERY
from burnqed.lean.toolchain import Kind as ToolchainKind
from burnqed.search.budget import Budget

Kind = Literal["portfolio", "ranked", "local", "mix", "sglang", "openai"]
# The temperature of a search with noise: it also tries unlikely steps, to find new proofs.
NOISE = 1.2
LEAN, POLICY, MODEL, VALUE, SEARCH, SET = (
    "Lean", "Policy", "Language model", "Value model", "Search", "Theorems",
)  # fmt: skip
WITHOUT = "Leave out the theorems of this set, by name and by what they state; repeatable."
_BUDGET, _EFFORT = Budget(), Effort()
Seconds = Annotated[float, Meta(ge=0.1)]
Weight = Annotated[float, Meta(ge=0, le=1000)]
Prompt = Annotated[
    str | None,
    about(
        "The prompt format of the model's training: deepseek, proofstep or colons. Directories "
        "written by burn-qed record it.",
        MODEL,
    ),
]
Device = Annotated[str, about("Where a local model runs: auto, cpu or cuda.", MODEL)]
Dtype = Annotated[
    str,
    about(
        "Precision of a local model: float32, bfloat16, nf4 (4 bits, needs bitsandbytes), or auto "
        "(bfloat16 on a GPU).",
        MODEL,
    ),
]
Trust = Annotated[
    bool, about("Allow commands of the text to run code: `macro`, `#eval` and the like.", LEAN)
]
Heartbeats = Annotated[
    AtLeast1, about("Limit of one tactic, in units of Lean's maxHeartbeats.", SEARCH)
]
NODES = about("Most nodes per theorem: a node is as many tactics as are candidates at a state.")
Split = Annotated[
    Literal["train", "val", "test"] | None,
    about("Use only this split of the set: train, val or test.", SET),
]
Rule = Annotated[
    LeakRule | None,
    about(
        "What a proof of a library theorem may use: module (only imported modules) or self (all but "
        "the theorem itself). By default the set's own rule.",
        SET,
    ),
]


class LeanConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which Lean, and how many of them."""

    toolchain: Annotated[
        ToolchainKind | None,
        about("embedded, native or pantograph; by default native if installed, else embedded.", LEAN),
    ] = None
    project: Annotated[
        Path | None,
        about(
            "A lake project: its Lean, its modules and packages, its options (native Lean). By default "
            "the one that the file is in.",
            LEAN,
        ),
    ] = None
    imports: Annotated[
        tuple[str, ...], about("A module to import, such as Std; repeatable.", LEAN, "--import")
    ] = ()
    workers: Annotated[
        AtLeast1 | None, about("Parallel Lean processes; by default 3/4 of the cores.", LEAN)
    ] = None


class PolicyConfig(LeanConfig, frozen=True, kw_only=True):
    """Where tactics come from, and how a search tries them."""

    policy: Annotated[
        Kind | None,
        about(
            "Where tactics come from: portfolio (rules), ranked (rules and library lemmas, ordered by "
            "a ranker), local (a language model), mix (a language model with rules), sglang or "
            "openai (a model on a server). By default the kind that fits --model. Without --model: "
            "ranked with Lean's own library, portfolio in a lake project and with Pantograph.",
            POLICY,
        ),
    ] = None
    model: Annotated[
        str | None,
        about(
            "A model's directory (safetensors, GGUF or an adapter), smollm2, a ranker's directory, "
            "core (the ranker that comes with burn-qed), or the name of a model on the server.",
            POLICY,
        ),
    ] = None
    candidates: Annotated[
        AtLeast1 | None,
        about("Tactics to try at a state; by default 32, or 8 from a model alone.", POLICY),
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        about(
            "0 tries the likeliest tactics; above 0 they are sampled. By default 0, but 1 with a "
            "server, with several attempts, and for a local model with --value.",
            POLICY,
        ),
    ] = None
    url: Annotated[
        str | None,
        about(
            "The server's address, for sglang and openai; or those of several servers of one model, "
            "with commas: the least busy of those that are well is asked.",
            MODEL,
        ),
    ] = None
    logprobs: Annotated[
        bool,
        about("Use the openai server's log-probabilities. If off, all samples count the same.", MODEL),
    ] = True
    prompt: Prompt = None
    dialect: Annotated[
        Literal["core", "mathlib"] | None,
        about(
            "Of a model trained for both: ask for tactics of core Lean, or for Mathlib's as well. By "
            "default as its directory says.",
            MODEL,
        ),
    ] = None
    prompt_tokens: Annotated[
        AtLeast1 | None, about("Longest prompt in tokens; by default as in training, or 1920.", MODEL)
    ] = None
    tactic_tokens: Annotated[
        Annotated[int, Meta(ge=2)] | None,
        about("Longest tactic in tokens; by default as in training, or 128.", MODEL),
    ] = None
    ranker: Annotated[
        str | None,
        about(
            "For mix: a ranker, such as core. Its rules and lemmas go with the model, instead of the "
            "portfolio's rules.",
            MODEL,
        ),
    ] = None
    device: Device = "auto"
    dtype: Dtype = "auto"
    depth: Annotated[AtLeast1, about("Most tactics in a row.", SEARCH)] = _BUDGET.depth
    seconds: Annotated[
        Seconds | None,
        about("Time limit per theorem. Results then depend on the machine's speed.", SEARCH),
    ] = None
    heartbeats: Heartbeats = HEARTBEATS
    seed: Annotated[int, about("The same seed gives the same search.", SEARCH)] = 0


class MixtureConfig(PolicyConfig, frozen=True, kw_only=True):
    """A model and rules, of which it is learnt how far to follow each."""

    policy: Annotated[Kind | None, about("mix: a language model with rules.", POLICY)] = "mix"
    without: Annotated[tuple[str, ...], about(WITHOUT)] = ()


class GuidedConfig(PolicyConfig, frozen=True, kw_only=True):
    """And what comes first: a small effort for each tactic, and by a value model what is provable."""

    effort: Annotated[
        AtLeast1,
        about(
            "Limit of a tactic's first try, in the same units. What it stops is tried again with "
            "--heartbeats when nothing better is left. With as many as --heartbeats there is no such "
            "first try.",
            SEARCH,
        ),
    ] = EFFORT

    value: Annotated[
        Path | None,
        about("A value model of `burn-qed train value`. It prefers states that look provable.", VALUE),
    ] = None
    encoder: Annotated[
        str | None,
        about(
            "The model that encodes states for --value, if it was moved, or the address of a "
            "`burn-qed serve encode`. By default the model that --value was trained with.",
            VALUE,
        ),
    ] = None
    value_anyway: Annotated[
        bool,
        about(
            "Use --value even if its training did not show it to be better than log-probability.", VALUE
        ),
    ] = False
    alpha: Annotated[
        Weight | None,
        about(
            "Weight of log-probability in a state's score, by hand. By default as calibrated with "
            "--value.",
            VALUE,
        ),
    ] = None
    beta: Annotated[
        Weight | None,
        about(
            "Weight of --value's energy in a state's score, by hand. By default as calibrated with "
            "--value.",
            VALUE,
        ),
    ] = None


# These settings without a value model.
UNGUIDED: dict[str, Any] = {
    "value": None, "encoder": None, "value_anyway": False, "alpha": None, "beta": None,
}  # fmt: skip


class Config(GuidedConfig, frozen=True, kw_only=True):
    """A prover of statements and files: the settings of `prove` and of the Python API."""

    nodes: Annotated[AtLeast1, NODES] = 300
    seconds: Annotated[Seconds | None, about("Time limit per theorem.")] = 120.0
    trust: Trust = False


class SetConfig(GuidedConfig, frozen=True, kw_only=True):
    """A set of theorems. It has no time limit, so that a seed gives the same result everywhere."""

    split: Split = None
    leak_rule: Rule = None
    iteration: Annotated[
        AtLeast0, about("The number of an iteration, to store with the results.", SET)
    ] = 0


class SearchConfig(SetConfig, frozen=True, kw_only=True):
    """A set of theorems, searched for training data."""

    nodes: Annotated[AtLeast1, NODES] = _BUDGET.nodes
    noise: Annotated[
        bool,
        about(
            f"Sample unlikely tactics too, to find new proofs: at temperature {NOISE:g} by default. "
            "The rows record it.",
            POLICY,
        ),
    ] = False
    follow: Annotated[
        str | None,
        about(
            "Steps of recorded proofs, such as a contrastive_pool.jsonl: at their states their tactics "
            "are tried, and nothing else.",
            POLICY,
        ),
    ] = None
    save_every: Annotated[AtLeast1, about("Save after this many theorems.", SET)] = SAVE_EVERY


class EvalConfig(SetConfig, frozen=True, kw_only=True):
    """A set of theorems, to measure a prover on."""

    budgets: Annotated[
        tuple[AtLeast1, ...],
        about("Budgets in nodes, per theorem and attempt; one search gives the results of all."),
    ] = (10, 30, 100)
    pass_n: Annotated[AtLeast1, about("Attempts at each theorem, each with its own seed.")] = 1
    ablate: Annotated[bool, about("Evaluate with --value and without, and compare.", VALUE)] = False


class NegativesConfig(PolicyConfig, frozen=True, kw_only=True):
    """Searches near known proofs, for a value model to learn from."""

    siblings: Annotated[
        AtLeast0, about("Siblings to search at each state of a proof, drawn at random.")
    ] = _EFFORT.siblings
    min_steps: Annotated[
        AtLeast1, about("Skip shorter proofs: siblings in a one-step proof are mostly as easy.")
    ] = 2
    walks: Annotated[AtLeast0, about("Random walks away from each proof.")] = _EFFORT.walks
    walk_length: Annotated[Annotated[int, Meta(ge=2)], about("Steps of a walk.")] = _EFFORT.length
    nodes: Annotated[AtLeast1, about("Most states at which a sibling's search tries tactics.")] = (
        _EFFORT.nodes
    )
    split: Split = None
    leak_rule: Rule = None


class ExportConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a trained model is written."""

    verify: Annotated[bool, about("Compare logits with the adapter's, and say one tactic.")] = False
    shard: Annotated[str, about("The largest file of weights, such as 5GB.")] = "5GB"
    dtype: Annotated[Literal["bf16", "fp32"], about("What weights are kept in: bf16 or fp32.")] = "bf16"
    state: Annotated[str | None, about("The state that --verify asks about.")] = None


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A language model in this process."""

    prompt: Prompt = None
    device: Device = "auto"
    dtype: Dtype = "auto"


class EncoderConfig(ModelConfig, frozen=True, kw_only=True):
    """A model whose hidden states are a proof state's embedding."""

    pooling: Annotated[
        Literal["mean", "last"],
        about("The mean of the tokens' hidden states, or the last of them.", MODEL),
    ] = "mean"
    layer: Annotated[
        Annotated[int, Meta(ge=-1)],
        about("The layer of the hidden states: 0 is the token embeddings, -1 the last layer.", MODEL),
    ] = -1


FEWEST_STATES = 10  # that an encoder is looked at with


class LookConfig(EncoderConfig, frozen=True, kw_only=True):
    """The states that an encoder is looked at with."""

    states: Annotated[
        Annotated[int, Meta(ge=FEWEST_STATES)],
        about("Most states to embed, of theorems drawn by the seed."),
    ] = 10_000
    val_share: Annotated[
        Annotated[float, Meta(ge=0, le=0.9)],
        about(
            "Take only theorems that a training with this --val-share did not learn from; 0: take all."
        ),
    ] = 0.0
    mapped: Annotated[
        Annotated[int, Meta(ge=10, le=5000)], about("Most states to draw on a map, each a dot.")
    ] = 1000
    seed: Annotated[int, about("Same seed, same states and maps.")] = 0


class StepConfig(LeanConfig, frozen=True, kw_only=True):
    """A Lean for stepping through proofs."""

    heartbeats: Heartbeats = DEFAULT_HEARTBEATS
    trust: Trust = False

"""The settings of what makes data: sets of theorems, pairs to train on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from burnqed.core.config import AtLeast0, AtLeast1, about
from burnqed.core.types import LeakRule
from burnqed.data.prepare import Dialect, Rules
from burnqed.data.recipe import FileSeconds, Judged, Trace
from burnqed.prover.config import WITHOUT, LeanConfig

CHOICE, LENGTHS = "Which of them", "Lengths"
_RULES, _TRACE = Rules(), Trace()
Stated = Annotated[
    str | None,
    about(
        "A benchmark or index with the statements, by name. Else a trace's own context, or what the "
        "first state of a proof says."
    ),
]


class PrepareConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which steps a policy is trained on."""

    without: Annotated[tuple[str, ...], about(WITHOUT)] = ()
    tokenizer: Annotated[
        str | None,
        about(
            "Count tokens with this model's tokenizer: a directory, smollm2, or a hub name. By default "
            "an estimate: two bytes of text to a token.",
            LENGTHS,
        ),
    ] = None
    prompt: Annotated[
        str, about("The prompt that it is for: deepseek, proofstep or colons.", LENGTHS)
    ] = "deepseek"
    max_length: Annotated[
        Annotated[int, Meta(ge=4)],
        about("Tokens of prompt and tactic; pairs that are longer are dropped.", LENGTHS),
    ] = 2048
    tactic_tokens: Annotated[
        Annotated[int, Meta(ge=2)], about("Of those, tokens of a tactic with its end.", LENGTHS)
    ] = 128
    state_chars: Annotated[AtLeast1, about("A state has fewer characters.", LENGTHS)] = (
        _RULES.state_chars
    )
    keep_trivial: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        about("Share of bare automation (`simp`, `rfl`, …) that is kept."),
    ] = _RULES.keep_trivial
    dialect: Annotated[
        Dialect,
        about(
            "core: leave out tactics that only Mathlib has. mathlib: leave out none. both: none, and "
            "each row says as `dialect` whether its proof has one, for a tag in the prompt.",
            flag="--for",
        ),
    ] = _RULES.dialect
    pool_depth: Annotated[
        AtLeast0, about("Proofs with a step at this depth go into the contrastive pool.")
    ] = _RULES.pool_depth
    splits: Annotated[str, about("Shares of train/val/test, by the hash of the theorem's name.")] = (
        "90/5/5"
    )
    seed: Annotated[int, about("Same seed and input, same files.")] = 0


class IndexConfig(LeanConfig, frozen=True, kw_only=True):
    """A set of theorems to write down: one source, and which theorems of it.

    A lake project without another source means the theorems of its own modules.
    """

    module: Annotated[
        tuple[str, ...], about("Library theorems of modules that begin so; repeatable.")
    ] = ()
    lean: Annotated[
        tuple[Path, ...], about("Theorems of a .lean file, or of all in a folder; repeatable.")
    ] = ()
    leandojo: Annotated[tuple[Path, ...], about("A LeanDojo benchmark's JSON file; repeatable.")] = ()
    jsonl: Annotated[Path | None, about("JSON lines: header, formal_statement.")] = None
    source: Annotated[
        str | None,
        about(
            "What a source states (published statements, whole proofs, steps, a trace): its name, "
            "SOURCE=PATH, or a file or folder."
        ),
    ] = None
    theorems: Annotated[str | None, about("A benchmark, or another index.")] = None
    leak_rule: Annotated[
        LeakRule | None,
        about(
            "What a new proof of a library theorem may use: module (of earlier modules; the default), "
            "self (all but it)."
        ),
    ] = None
    splits: Annotated[str, about("Shares of train/val/test, by the hash of the name.", CHOICE)] = (
        "90/5/5"
    )
    split: Annotated[str | None, about("Only the theorems of this split.", CHOICE)] = None
    without: Annotated[tuple[str, ...], about(WITHOUT, CHOICE)] = ()
    unproved: Annotated[
        tuple[Path, ...], about("Leave out what this run has proved; repeatable.", CHOICE)
    ] = ()
    sample: Annotated[AtLeast1 | None, about("Only N of them.", CHOICE)] = None
    at_most: Annotated[
        AtLeast1 | None, about("N of them, or all where there are not so many.", CHOICE)
    ] = None
    seed: Annotated[int, about("Which N: same seed, same sample.", CHOICE)] = 0


class PairsConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of the proofs that searches found."""

    without: Annotated[tuple[str, ...], about(WITHOUT)] = ()
    easy_share: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        about("Of the theorems, at most so many with proofs of one step."),
    ] = 0.5
    seed: Annotated[int, about("Which of those: same seed, same theorems.")] = 0


class TraceConfig(LeanConfig, frozen=True, kw_only=True):
    """Proofs in Lean files, and whole proofs, as steps."""

    file_seconds: FileSeconds = _TRACE.file_seconds
    judge: Judged = _TRACE.judge
    library: Annotated[
        bool, about("The files are this Lean's own library: prove its theorems again.")
    ] = False


class ReExtractConfig(LeanConfig, frozen=True, kw_only=True):
    """Steps with the states that this Lean prints."""

    theorems: Stated = None


class ValidateConfig(LeanConfig, frozen=True, kw_only=True):
    """A sample of steps or whole proofs, tried on this Lean."""

    sample: Annotated[AtLeast1, about("Theorems to draw.")] = 200
    theorems: Stated = None
    renames: Annotated[tuple[Path, ...], about("A table of old and new names (TOML or JSON).")] = ()
    judge: Annotated[bool, about("Have the judge look at every proof that replays.")] = False
    seed: Annotated[int, about("Same seed, same theorems.")] = 0


class MigrateConfig(LeanConfig, frozen=True, kw_only=True):
    """Whole proofs, moved to this Lean."""

    renames: Annotated[
        tuple[Path, ...],
        about("A table of renames and rules (TOML or JSON), before those that are here; repeatable."),
    ] = ()
    sample: Annotated[AtLeast1 | None, about("Only so many proofs, drawn by the seed.")] = None
    target: Annotated[
        Annotated[float, Meta(ge=0, le=1)], about("The share of proofs that has to survive.")
    ] = 0.95
    seed: Annotated[int, about("Same seed, same sample.")] = 0

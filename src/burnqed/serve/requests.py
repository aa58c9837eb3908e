"""What a request may say. The structs are the format: names, bounds and descriptions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(min_length=1)]


class ProofRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prove a statement, or the `sorry`s of a text."""

    text: Annotated[
        Text, Meta(description="A proposition, a `theorem … : …`, or a Lean text with `sorry`s.")
    ]
    nodes: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Most nodes for each theorem or `sorry`: a node is as many tactics as are "
            "candidates at a state."
        ),
    ] = None
    seconds: Annotated[
        Annotated[float, Meta(ge=0.1)] | None,
        Meta(description="Most seconds of search. The `sorry`s of a text share them."),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="The same seed, the same search.")] = 0
    line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Prove only the `sorry` in this line of the text, from 1. The others stay."),
    ] = None
    column: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Where in `line` it is, from 0, if there are several."),
    ] = None
    suggest: Annotated[
        bool, Meta(description="Also say what fills each `sorry` as edits for an editor.")
    ] = False


class ProveRequest(ProofRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prove a statement, or the `sorry`s of a text, and be answered in one of three ways."""

    mode: Annotated[
        Literal["wait", "stream", "background"],
        Meta(
            description="`wait`: the answer is the outcome. `stream`: events as they come "
            "(text/event-stream), the outcome is the last. `background`: a job, to be asked for later."
        ),
    ] = "wait"


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Have the judge check a text."""

    text: Annotated[Text, Meta(description="Lean source with theorems and their proofs.")]
    against: Annotated[
        Text | None,
        Meta(
            description="Theorems that end in `sorry`, which the text must prove exactly. It may not "
            "run code either."
        ),
    ] = None
    seconds: Annotated[
        Annotated[float, Meta(ge=1)] | None, Meta(description="Time limit for the verdict.")
    ] = None


class StartRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Start a proof by hand."""

    text: Annotated[Text, Meta(description="A proposition, or a `theorem … : …`.")]


class StepRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Apply a tactic to a state of a proof by hand."""

    state: Annotated[int, Meta(ge=0, description="Any state that the proof has had; the first is 0.")]
    tactic: Annotated[Text, Meta(description="Lean tactics, which act on the goals of the state.")]


class HighlightRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Colour Lean texts."""

    texts: Annotated[
        tuple[str, ...], Meta(max_length=200, description="Lean source, tactics, or goals.")
    ]


class LemmasRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Search the library for lemmas that a proof may need."""

    text: Annotated[Text, Meta(description="A goal as Lean prints it, or a statement.")]
    count: Annotated[int, Meta(ge=1, le=100, description="Most lemmas.")] = 10

"""What a job tells while it works: enough to draw its search trees as they grow.

Each event is JSON with its kind in `event`. States and tactics have the shapes of `search/shown`. A
state that comes again replaces the earlier one of the same number in its search; a tactic, the earlier
one at the same state.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from burnqed.search.shown import Edge, Node
from burnqed.search.tree import Result
from burnqed.serve.answers import ProveAnswer, Refusal


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="begun"):
    """The job's turn has come."""


class Searching(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="searching"):
    """A search begins: one for each `sorry` of a text, and another where the judge refused a proof."""

    search: int
    theorem: str
    nodes: tuple[Node, ...]


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A tactic that did not work, and Lean's answer."""

    tactic: str
    logprob: float | None
    outcome: Result
    answer: str
    at: float
    seconds: float | None
    heartbeats: int | None


class Expanded(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="expanded"):
    """Tactics were tried at a state. `nodes` are the states that are new, or not what they were.

    A state is closed where tactics close all its goals. Only the judge makes a proof of that.
    """

    search: int
    node: int
    at: float
    spent: int
    goals: tuple[str, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    refused: tuple[Tried, ...]


class Accepted(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="accepted"):
    """The judge accepted the proof: the states and tactics of the tree that it came from."""

    search: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="answer"):
    """The last event of a job that has an outcome. `left_out`: events that found no room."""

    answer: ProveAnswer
    left_out: int = 0


class Unanswered(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="refusal"):
    """The last event of a job without an outcome."""

    refusal: Refusal
    left_out: int = 0


Progress = Begun | Searching | Expanded | Accepted
JobEvent = Progress | Answered | Unanswered
Say = Callable[[Progress], None]

"""How far a set is: nodes are counted once, whether events tell of them or only the record does."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from burnqed.core.types import Proposition, Theorem
from burnqed.evaluation.prove import Attempt
from burnqed.evaluation.run import record_of
from burnqed.prover.progress import SetCounts
from burnqed.search.events import Event
from tests.search.problems import search


async def nodes_told(heard: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    """The rate after one second in which two searches ended, and the nodes that they spent."""
    now = [0.0]
    monkeypatch.setattr("burnqed.prover.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    counts, spent = SetCounts(2, 0), 0
    for _ in range(2):
        events: list[Event] = []
        searched, _ = await search({"root": {"a": ("left",)}, "left": {"b": ("right",)}}, "root",
                                   events=events.append)  # fmt: skip
        tell(counts, events if heard else [])
        record = record_of(Attempt(Theorem("t", Proposition("root")), "exhausted", "", "", searched), 0)
        counts.record(record)
        spent += record.nodes
    now[0] = 1.0
    return counts.said, spent


def tell(counts: SetCounts, events: Sequence[Event]) -> None:
    for event in events:
        counts.event(event)


@pytest.mark.parametrize("heard", [True, False])
async def test_nodes_are_counted_once(heard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said, spent = await nodes_told(heard, monkeypatch)
    assert spent > 2
    assert said.endswith(f"{spent:.1f} nodes/s")

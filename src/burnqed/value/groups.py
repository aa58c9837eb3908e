"""Training data of the head: states that led to a proof, and siblings that were searched in vain.

A sibling is a negative only if everything tried at it failed, or if a probe spent a whole search on it.
States that were not explored, or not to the end, are unknown and not evidence. They once counted as
negatives, and the model learned which states a search happens to visit.

States are identified by their text. All searches of a theorem, of all runs, are read together, because
one may have proved what another did not, and siblings are mostly searched one at a time. A state that
was searched in vain, but can be proved by known steps, is not a negative either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from burnqed.trajectories.schema import StepRow


@dataclass(frozen=True, slots=True)
class State:
    """A state that a step led to.

    `text` is what an encoder is shown: its goals as Lean prints them. Where several steps lead to it,
    `logprob` is that of the likeliest.
    """

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """A state that led to a proof, and states that did not.

    `siblings` are children of the same state as the positive: a search must distinguish these. `others`
    are the ends of walks in the same theorem. `slower` are siblings that led to longer proofs: they are
    not negatives, but a search should not begin with them. `remaining_steps` is the number of steps
    from the positive to the end of its proof.
    """

    theorem: str
    root_goal: str
    depth: int
    positive: State
    siblings: tuple[State, ...]
    others: tuple[str, ...]
    remaining_steps: int
    slower: tuple[State, ...] = ()


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The groups of some runs, and counts of what was left out.

    Positives that are `alone`, but have a slower sibling, are kept in `paced`.
    """

    groups: tuple[Contrast, ...]
    positives: int  # states on a judged path, below a root, once for each step to them
    alone: int  # of these, those without a negative sibling
    dual: int  # states searched in vain that another search proved: not negatives
    paced: tuple[Contrast, ...] = ()

    @property
    def by_depth(self) -> Mapping[int, int]:
        """The number of groups at each depth."""
        return dict(sorted(Counter(group.depth for group in self.groups).items()))

    @property
    def statistics(self) -> dict[str, Any]:
        """For tables and results."""
        negatives = {(g.theorem, s.text) for g in self.groups for s in g.siblings}
        return {
            "groups": len(self.groups),
            "theorems": len({group.theorem for group in self.groups}),
            "positives": self.positives,
            "positives without a sibling": self.alone,
            "hard negatives": len(negatives),
            "negatives of walks": len({(g.theorem, o) for g in self.groups for o in g.others}),
            "states with both labels": self.dual,
            "groups of slower siblings alone": len(self.paced),
            "groups by depth": ", ".join(f"{d}: {n}" for d, n in self.by_depth.items()),
        }


def contrasts(*runs: Iterable[StepRow]) -> Contrasts:
    """Groups from the steps of some runs."""
    theorems = _read(runs)
    provable = {text for theorem in theorems.values() for text in theorem.provable()}
    failed = {text for theorem in theorems.values() for text in theorem.failed}
    groups: list[Contrast] = []
    paced: list[Contrast] = []
    positives = alone = 0
    for name, theorem in theorems.items():
        for contrast in theorem.contrasts(name, provable):
            positives += 1
            alone += not contrast.siblings
            if contrast.siblings:
                groups.append(contrast)
            elif contrast.slower:
                paced.append(contrast)
    return Contrasts(tuple(groups), positives, alone, len(provable & failed), tuple(paced))


@dataclass(slots=True)
class _Node:
    """The rows of one node."""

    text: str
    depth: int
    failed: bool = True  # unless a step shows otherwise
    steps: list[tuple[tuple[int, ...], float]] = field(default_factory=list)  # that Lean accepted


@dataclass(slots=True)
class _Theorem:
    """What all searches of a theorem show about its states."""

    root_goal: str
    proved: dict[str, int] = field(default_factory=dict)  # steps that remain, by state
    failed: set[str] = field(default_factory=set)
    walked: set[str] = field(default_factory=set)  # failed at the end of a walk
    # By the state where steps were tried: its depth, and the states they led to.
    below: dict[str, tuple[int, dict[str, float]]] = field(default_factory=dict)
    steps: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)  # to known states

    def add(self, nodes: Mapping[int, _Node], walked: bool) -> None:
        for node in nodes.values():
            if node.failed:
                self.failed.add(node.text)
                if walked:
                    self.walked.add(node.text)
            depth, known = self.below.get(node.text, (node.depth, {}))
            for children, logprob in node.steps:
                texts = tuple(nodes[child].text for child in children if child in nodes)
                if len(texts) == len(children):
                    self.steps.add((node.text, texts))
                for text in texts:
                    known[text] = max(logprob, known.get(text, logprob))
            self.below[node.text] = (min(depth, node.depth), known)

    def provable(self) -> set[str]:
        """The states on a judged path, and those from which accepted steps lead there."""
        found = set(self.proved)
        while True:
            more = {text for text, after in self.steps if found.issuperset(after)} - found
            if not more:
                return found
            found |= more

    def contrasts(self, name: str, provable: set[str]) -> Iterator[Contrast]:
        walked = tuple(text for text in sorted(self.walked) if text not in provable)
        for parent, (depth, below) in self.below.items():
            lost = tuple(
                State(text, logprob)
                for text, logprob in below.items()
                if text in self.failed and text not in provable and text != parent
            )
            siblings = {state.text for state in lost}
            for text, logprob in below.items():
                if text in self.proved:
                    yield Contrast(
                        theorem=name,
                        root_goal=self.root_goal,
                        depth=depth + 1,
                        positive=State(text, logprob),
                        siblings=lost,
                        others=tuple(other for other in walked if other not in siblings),
                        remaining_steps=self.proved[text],
                        slower=self._slower(text, below),
                    )

    def _slower(self, text: str, below: Mapping[str, float]) -> tuple[State, ...]:
        steps = self.proved[text]
        return tuple(State(t, logprob) for t, logprob in below.items() if self.proved.get(t, 0) > steps)


def _read(runs: Iterable[Iterable[StepRow]]) -> dict[str, _Theorem]:
    """The states of each theorem. A search is one run's rows of one theorem and origin."""
    theorems: dict[str, _Theorem] = {}
    for rows in runs:
        searches: dict[tuple[str, str, str], dict[int, _Node]] = defaultdict(dict)
        for row in rows:
            theorem = theorems.setdefault(row.theorem, _Theorem(row.root_goal))
            nodes = searches[row.theorem, row.run, row.origin]
            node = nodes.setdefault(row.node, _Node(row.state, row.depth))
            node.failed &= row.label == "negative"
            if row.children or row.outcome == "closed":
                node.steps.append((row.children, row.logprob))
            if row.on_proof_path and row.remaining_steps is not None:
                known = theorem.proved.get(row.state, row.remaining_steps)
                theorem.proved[row.state] = min(known, row.remaining_steps)
        for (name, _run, origin), nodes in searches.items():
            theorems[name].add(nodes, walked=origin == "walk")
    return theorems

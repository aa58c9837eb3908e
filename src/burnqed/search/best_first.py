"""The search: expand the best open node until the root is proved or the budget runs out.

A pure function of its arguments: the same theorem, environment, policy, value, budget and seed give the
same tree, if Lean's answers are the same and no time limit cuts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from burnqed.core.errors import LeanError, LeanLost, is_own_fault
from burnqed.core.ports import Environment, Policy, Value
from burnqed.core.types import Candidate, ProofState, Theorem
from burnqed.search.budget import Budget, Limit, Meter
from burnqed.search.events import Doing, EventSink, Expanded, Started, ignore
from burnqed.search.frontier import Frontier
from burnqed.search.keys import Key, bridge, key_of
from burnqed.search.scoring import Scoring, promise, score, together
from burnqed.search.split import Part, independent
from burnqed.search.tree import Child, Edge, Node, Status, Tree
from burnqed.search.trials import BUNCH, Trials

_WIDEST = 8  # times the budget's candidates: a model that samples would never run out


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search, apart from the budget.

    `merge` makes equal states one node, and `split` proves independent goals separately. Both are on,
    except for measurements and for the second try after the judge refused a proof.

    `by_visits`: try a node's candidates in visits of a bunch each, the likeliest per second first. What
    is not tried yet waits until it is the best that there is to do. Off: all at once.

    `effort` is the limit of a tactic's first try, in heartbeats. What it stops waits as well, and is
    tried again with all that the environment gives.
    """

    temperature: float = 0.0
    batch: int = 1  # nodes in one request to the policy
    scoring: Scoring = field(default_factory=Scoring)
    merge: bool = True
    split: bool = True
    by_visits: bool = False
    effort: int | None = None  # None: at once with all that the environment gives


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The end of a search.

    `limit` is None if the root is proved (not judged yet), or if there is a `failure`: Lean died again
    and again, and the search could not continue.
    """

    tree: Tree
    limit: Limit | None
    nodes: int
    seconds: float
    lean_seconds: float
    lost: tuple[tuple[str, LeanLost], ...] = ()  # tactics that killed Lean, and how
    # Nodes spent when a tactic was first lost through no fault of its own, or when the search failed.
    # A search with fewer nodes is conclusive.
    lost_at: int | None = None
    failure: LeanError | None = None

    @property
    def conclusive(self) -> bool:
        """Whether a missing proof can only mean that the budget was too small.

        Not if a process was killed from outside, or if everything left to try was lost.
        """
        if self.failure is not None:
            return False
        if not self.lost:
            return True
        return self.limit in ("nodes", "seconds") and all(is_own_fault(error) for _, error in self.lost)


async def best_first(
    theorem: Theorem,
    environment: Environment,
    policy: Policy,
    value: Value | None,
    budget: Budget,
    seed: int = 0,
    events: EventSink = ignore,
    settings: Settings | None = None,
) -> SearchResult:
    """Search for a proof. Raises `StatementError`, and `LeanError` if it cannot begin."""
    search = _Search(theorem, environment, policy, value, budget, seed, events, settings or Settings())
    return await search.run()


class _Search:
    """The state of one search."""

    def __init__(
        self,
        theorem: Theorem,
        environment: Environment,
        policy: Policy,
        value: Value | None,
        budget: Budget,
        seed: int,
        events: EventSink,
        settings: Settings,
    ) -> None:
        self.theorem = theorem
        self.environment = environment
        self.policy = policy
        self.value = value
        self.budget = budget
        self.seed = seed
        self.events = events
        self.settings = settings
        self.meter = Meter(budget)
        self.tree = Tree()
        self.frontier = Frontier(self.tree)
        self.too_deep = False
        self.width: dict[int, int] = {}  # candidates requested at a node, if there may be more
        self.trials = Trials(environment, self.meter, self._children, theorem.name, events)

    async def run(self) -> SearchResult:
        state = await self.environment.start(self.theorem)
        root = self._node(state, tuple(range(len(state.goals))), key_of(state.goals), None, 0.0)
        await self._rank([root])
        self.events(Started(self.theorem, self.tree, self.meter))
        limit, failure = None, None
        try:
            limit = await self._loop()
        except LeanError as error:
            failure = error
        lost_at = self.trials.lost_at
        return SearchResult(
            tree=self.tree,
            limit=limit,
            nodes=self.meter.nodes,
            seconds=self.meter.seconds,
            lean_seconds=self.environment.lean_seconds,
            lost=tuple(self.trials.lost.items()),
            lost_at=lost_at if failure is None or lost_at is not None else self.meter.nodes,
            failure=failure,
        )

    async def _loop(self) -> Limit | None:
        while not self.tree.proved:
            if self.trials.cut:
                return "seconds"
            # Check for nodes before the budget: if none are left, no larger budget would help, and the
            # answer is the same for all of them.
            nodes = self._next_nodes()
            more = None if nodes else await self._more()
            if not nodes and more is None:
                return "depth" if self.too_deep else "candidates"
            if spent := self.meter.spent():
                return spent
            if more is not None:
                await self._expand(*more)
                continue
            width = self.budget.candidates
            fresh = [node for node in nodes if node.status is Status.OPEN]
            proposed = dict(zip(fresh, await self._propose(fresh, width), strict=True))
            for node in nodes:
                if not self.tree.wanted(node):
                    continue  # an earlier node of the batch has settled it
                if spent := self.meter.spent():
                    return spent
                await self._expand(node, proposed.get(node))
                if node in proposed:
                    self._remember(node, proposed[node], width)
        return None

    def _next_nodes(self) -> list[Node]:
        nodes: list[Node] = []
        while len(nodes) < self.settings.batch:
            node = self.frontier.pop()
            if node is None:
                break
            if node.depth >= self.budget.depth:
                self.too_deep = True
            elif node not in nodes:  # it may have been pushed twice
                nodes.append(node)
        return nodes

    async def _more(self) -> tuple[Node, list[Candidate]] | None:
        """If no node is open: more candidates, at the best node of those that had the fewest.

        Requests cost no budget, and a node is only expanded again if something new comes.
        """
        while self.width:
            useful = self.tree.worth_more(self.width)
            if not useful:
                return None
            node = min(useful, key=lambda n: (self.width[n.id], -n.score, n.id))
            width = 2 * self.width.pop(node.id)
            (candidates,) = await self._propose([node], width)
            self._remember(node, candidates, width)
            known = self.trials.tried[node.id] | {c.tactic for c in node.waiting}
            if fresh := [*node.waiting, *(c for c in candidates if c.tactic not in known)]:
                return node, fresh
        return None

    def _remember(self, node: Node, candidates: Sequence[Candidate], width: int) -> None:
        """Note that a node may have more candidates if all that were requested came."""
        if len(candidates) == width and 2 * width <= _WIDEST * self.budget.candidates:
            self.width[node.id] = width

    async def _propose(self, nodes: Sequence[Node], width: int) -> list[list[Candidate]]:
        if not nodes:
            return []
        self.events(Doing(self.theorem.name, "choosing tactics", nodes[0]))
        return await self.policy.propose(
            [node.goals for node in nodes], width, self.settings.temperature, self.seed
        )

    async def _expand(self, node: Node, candidates: Sequence[Candidate] | None) -> None:
        """Visit a node, to try these candidates. None: more of those that wait there."""
        widened = candidates is not None and node.status is not Status.OPEN
        if candidates is not None:
            node.waiting = sorted(candidates, key=lambda one: -promise(one))
            node.asked = len(node.waiting)
        most = BUNCH if self.settings.by_visits and not widened else len(node.waiting)
        todo, node.waiting = node.waiting[:most], node.waiting[most:]
        self.meter.begin(Fraction(len(todo), node.asked) if todo else Fraction(1))
        await self._grow(node, await self.trials.run(node, todo, self.settings.effort), widened)
        self.events(Expanded(self.theorem, node, self.meter.nodes))
        if not self.tree.proved:
            self.trials.give_up()

    def _children(self, node: Node, candidate: Candidate, state: ProofState) -> Iterable[Child]:
        every = tuple(range(len(state.goals)))
        for part in independent(state.goals) if self.settings.split else (every,):
            goals = tuple(state.goals[i] for i in part)
            key = key_of(goals)
            known = self.tree.find(key) if self.settings.merge else None
            if known is None:
                logprob = node.logprob + candidate.logprob
                yield Child(self._node(state, part, key, node, logprob), part)
            else:
                yield Child(known, part, bridge(goals, key, known.key))

    def _node(
        self, state: ProofState, part: Part, key: Key, source: Node | None, logprob: float
    ) -> Node:
        return self.tree.add_node(state, part, key, source, logprob, self.meter.seconds)

    async def _grow(self, node: Node, edges: Sequence[Edge], widened: bool) -> None:
        """Add the edges to the tree, and their children to the frontier."""
        again: dict[int, Node] = {}
        if node.status is Status.OPEN:
            self.tree.expand(node, edges)
        elif not widened:
            self.tree.resume(node, edges)
        else:
            self.tree.widen(node, edges)
            # Some abandoned nodes are wanted again.
            again = {o.id: o for o in self.tree.nodes if o.status is Status.OPEN or o.waiting}
        fresh: dict[int, Node] = {}
        for edge in edges:
            for child in edge.children:
                target, logprob = child.node, node.logprob + edge.candidate.logprob
                if target.status is Status.EXPANDED:
                    # Perhaps wanted only now: what is left below was dropped while nothing wanted it.
                    again |= {one.id: one for one in self.tree.left_below(target)}
                if target.status is not Status.OPEN:
                    # The scores below it build on its path when it was expanded. A later path may come
                    # from below: each turn of a loop of likely steps would improve the mean.
                    continue
                if target.parents[0] is edge:
                    fresh[target.id] = target
                else:
                    # Reached again: perhaps by a better path, perhaps wanted only now.
                    if _better(logprob, node.length + 1, target, self.settings.scoring):
                        target.logprob, target.length = logprob, node.length + 1
                    again[target.id] = target
        await self._rank(list(fresh.values()))
        if node.waiting:
            node.later = self._later(node)
            self.frontier.push(node)
        for target in again.values():
            target.score = self._score(target)
            self.frontier.push(target)

    async def _rank(self, nodes: Sequence[Node]) -> None:
        if self.value is not None and nodes:
            root = self.tree.root.goals
            self.events(Doing(self.theorem.name, "rating states"))
            energies = await self.value.energies(root, [node.goals for node in nodes])
            for node, energy in zip(nodes, energies, strict=True):
                node.energy = energy
        for node in nodes:
            node.score = self._score(node)
            self.frontier.push(node)

    def _later(self, node: Node) -> float:
        """Of the next visit: as of one more step, which is as promising as its candidates together."""
        step = together([promise(one) for one in node.waiting[:BUNCH]])
        logprob = node.logprob + min(0.0, step)
        return score(self.settings.scoring, logprob, node.length + 1, node.energy)

    def _score(self, node: Node) -> float:
        return score(self.settings.scoring, node.logprob, node.length, node.energy)


def _better(logprob: float, length: int, node: Node, scoring: Scoring) -> bool:
    return score(scoring, logprob, length, None) > score(scoring, node.logprob, node.length, None)

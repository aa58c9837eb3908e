"""A proof as a tree of tactics and as the lines of a tactic block; and the path to a state."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from burnqed.search.split import Part
from burnqed.search.tree import Child, Edge, Node, Tree

_ALTERNATIVE = re.compile(r"=> \?_$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """A tactic, and a script for each part of the goals that it leaves."""

    tactic: str
    parts: tuple[Part, ...] = ()
    rest: tuple[Script, ...] = ()
    bridge: bool = False  # it only renames, because the rest was found under other names

    @property
    def steps(self) -> int:
        return 1 + sum(script.steps for script in self.rest)

    def walk(self) -> Iterator[Script]:
        yield self
        for script in self.rest:
            yield from script.walk()


def script_of(tree: Tree) -> Script:
    """The proof of the root. A merged goal has the other goal's proof, with its names."""
    return _of_node(tree.root)


def _of_node(node: Node) -> Script:
    assert node.proof is not None
    rest = []
    for child in node.proof.children:
        script = _of_node(child.node)
        if child.bridge:
            script = Script(child.bridge, (tuple(range(len(child.part))),), (script,), bridge=True)
        rest.append(script)
    parts = tuple(child.part for child in node.proof.children)
    return Script(node.proof.candidate.tactic, parts, tuple(rest))


@dataclass(frozen=True, slots=True)
class WayStep:
    """A tactic on some of the goals (by index) that the previous step leaves."""

    tactic: str
    goals: Part
    bridge: bool = False


def way_to(node: Node) -> tuple[list[WayStep], Part]:
    """A shortest path from the root to a node, and the node's goals in the state where it ends.

    It has as many steps as the node's depth, plus bridges. Lean can run them in order.
    """
    hops: list[tuple[Edge, Child]] = []
    while (edge := node.before) is not None:
        hops.append((edge, next(child for child in edge.children if child.node is node)))
        node = edge.source
    steps: list[WayStep] = []
    goals = node.part
    for edge, child in reversed(hops):
        steps.append(WayStep(edge.candidate.tactic, goals))
        goals = child.part
        if child.bridge:
            steps.append(WayStep(child.bridge, goals, bridge=True))
            goals = tuple(range(len(goals)))
    return steps, goals


def tactics_of(script: Script) -> list[str]:
    """The tactic block, with an entry for each tactic or bullet."""
    tactics = []
    while True:
        if len(script.rest) <= 1:
            tactics.append(script.tactic)
            if not script.rest:
                return tactics
            script = script.rest[0]
            continue
        inline = _inline(script)
        if inline is not None:
            return [*tactics, inline]
        tactics.append(script.tactic)
        tactics += _bullets(script)
        coupled = [s for s, part in zip(script.rest, script.parts, strict=True) if len(part) > 1]
        if not coupled:
            return tactics
        script = coupled[0]


def _bullets(script: Script) -> list[str]:
    """Each independent goal under a bullet, in order. Coupled goals are rotated to the end."""
    owner = {i: n for n, part in enumerate(script.parts) for i in part}
    singles = [i for i, n in owner.items() if len(script.parts[n]) == 1]
    coupled = [i for i in owner if i not in singles]
    # Rotating all of the coupled goals, or none, keeps their order.
    rotate = bool(coupled) and min(coupled) < max(singles)
    lines = []
    for i in sorted(owner):
        if i in singles:
            lines.append(_block(script.rest[owner[i]], "· ", "  "))
        elif rotate:
            lines.append("rotate_left")
    return lines


def _inline(script: Script) -> str | None:
    """A tactic such as `| zero => ?_` with the proofs of its cases in place of `?_`, or None."""
    if len(_ALTERNATIVE.findall(script.tactic)) != len(script.rest) or script.tactic.count("?_") != len(
        script.rest
    ):
        return None
    if any(len(part) != 1 for part in script.parts):
        return None
    blocks = iter(script.rest)

    def fill(_match: re.Match[str]) -> str:
        tactics = tactics_of(next(blocks))
        if len(tactics) == 1 and "\n" not in tactics[0]:
            return f"=> {tactics[0]}"
        return "=>\n" + textwrap.indent("\n".join(tactics), "  ")

    return _ALTERNATIVE.sub(fill, script.tactic)


def _block(script: Script, first: str, others: str) -> str:
    lines = "\n".join(tactics_of(script)).split("\n")
    return "\n".join((first if i == 0 else others) + line for i, line in enumerate(lines))

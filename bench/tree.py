"""Draw the tree of one search: `burn-qed search` on one theorem, then an SVG of what it tried.

    python bench/tree.py --out docs/proof-tree.svg
    python bench/tree.py --statement '∀ n : Nat, 2 ∣ n * (n + 1)' --out tree.svg

The drawing is made from the trajectories alone. Budgets are nodes, so the same command gives the same
tree on every machine. Options after `--` go to `burn-qed search`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from burnqed.trajectories.schema import StepRow, TheoremRecord
from burnqed.trajectories.store import find_trajectories, iter_rows, read_records

STATEMENT = "∀ n : Nat, n % 2 = 1 → n ^ 2 % 8 = 1"
SEARCH = ("--policy", "portfolio", "--nodes", "30", "--candidates", "6", "--workers", "1")

COLUMN, ROW, WIDTH, HEIGHT, TOP = 268, 46, 236, 34, 74
LETTERS = 34  # that fit into a box
# Fill, border and text of a box, by what became of its node.
COLOURS = {
    "proof": ("#e3f4e8", "#1a7f37", "#0b3d1a"),
    "closed": ("#ffffff", "#1a7f37", "#202428"),
    "failed": ("#f4f5f6", "#c3c8cd", "#5a6168"),
    "open": ("#ffffff", "#c3c8cd", "#5a6168"),
}
LEGEND = (
    ("proof", "part of the proof"),
    ("closed", "closed, but not needed"),
    ("failed", "expanded in vain"),
    ("open", "never expanded"),
)


@dataclass
class Box:
    """A node of the search, where it stands in the picture, and the boxes that it first led to."""

    node: int
    tactic: str  # that first led here
    kind: str
    text: str
    column: int
    children: list[Box] = field(default_factory=list)
    row: float = 0.0

    @property
    def left(self) -> int:
        return 12 + self.column * COLUMN

    @property
    def middle(self) -> float:
        return TOP + self.row * ROW + HEIGHT / 2


def search(statement: str, options: Sequence[str], directory: Path) -> Path:
    """Search for a proof with the command line, as a user would; its trajectories."""
    index = directory / "theorems.json"
    theorems = {"name": "tree", "theorems": [{"name": "tree", "statement": statement}]}
    index.write_text(json.dumps(theorems), encoding="utf-8")
    run = directory / "run"
    command = [sys.executable, "-m", "burnqed", "search", str(index), "--out", str(run)]
    subprocess.run([*command, *SEARCH, *options], check=True, timeout=600)
    return find_trajectories(run)


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LETTERS else line[: LETTERS - 1] + "…"


def kind_of(rows: Sequence[StepRow]) -> str:
    if any(row.on_proof_path for row in rows):
        return "proof"
    if any(row.outcome == "closed" for row in rows):
        return "closed"
    return "failed" if rows else "open"


def text_of(rows: Sequence[StepRow]) -> str:
    """A node in a line: its goal, and the tactic that closed it, if one did."""
    if not rows:
        return "not expanded"
    goal = rows[0].state.splitlines()[-1]
    closing = [row for row in rows if row.outcome == "closed"]
    if closing:
        best = next((row for row in closing if row.on_proof_path), closing[0])
        return f"{best.tactic} ✓   {goal}"
    return goal


def grown(steps: Sequence[StepRow]) -> tuple[Box, list[tuple[int, int]]]:
    """The boxes as a tree of first ways, and the ways by which a node was reached once more."""
    rows: dict[int, list[StepRow]] = {}
    for step in steps:
        rows.setdefault(step.node, []).append(step)
    again: list[tuple[int, int]] = []
    seen = {0}

    def box(node: int, tactic: str, column: int) -> Box:
        here = rows.get(node, [])
        made = Box(node, tactic, kind_of(here), text_of(here), column)
        for row in here:
            for child in row.children:
                first = rows[child][0].parent if child in rows else node
                if child in seen or first != node:
                    again.append((node, child))
                else:
                    seen.add(child)
                    made.children.append(box(child, row.tactic, column + 1))
        return made

    return box(0, "", 0), again


def placed(box: Box, row: float = 0.0) -> float:
    """Give each leaf a row of its own, each other box the middle of its children's; the next row."""
    if not box.children:
        box.row = row
        return row + 1
    for child in box.children:
        row = placed(child, row)
    box.row = (box.children[0].row + box.children[-1].row) / 2
    return row


def walk(box: Box) -> list[Box]:
    return [box, *(below for child in box.children for below in walk(child))]


def curve(start: Box, end: Box, style: str) -> str:
    left, right = start.left + WIDTH, end.left
    bend = (left + right) / 2
    return (
        f'<path d="M{left} {start.middle:g} C{bend:g} {start.middle:g} {bend:g} {end.middle:g} '
        f'{right} {end.middle:g}" fill="none" {style}/>'
    )


def drawn(box: Box) -> list[str]:
    fill, border, ink = COLOURS[box.kind]
    dashes = ' stroke-dasharray="3 3"' if box.kind == "open" else ""
    top, left = box.middle - HEIGHT / 2, box.left
    lines = [
        f'<rect x="{left}" y="{top:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{fill}" '
        f'stroke="{border}"{dashes}/>'
    ]
    said = [(box.text, ink)] if not box.tactic else [(box.tactic, "#6a7076"), (box.text, ink)]
    for number, (text, colour) in enumerate(said):
        base = top + (21 if len(said) == 1 else 14 + 13 * number)
        lines.append(f'<text x="{left + 8}" y="{base:g}" fill="{colour}">{escape(short(text))}</text>')
    return lines


def legend() -> list[str]:
    lines, left = [], 12
    for kind, meaning in LEGEND:
        fill, border, _ = COLOURS[kind]
        dashes = ' stroke-dasharray="3 3"' if kind == "open" else ""
        lines.append(
            f'<rect x="{left}" y="40" width="14" height="14" rx="3" fill="{fill}" '
            f'stroke="{border}"{dashes}/>'
        )
        lines.append(f'<text x="{left + 20}" y="51" fill="#5a6168">{meaning}</text>')
        left += 40 + 7 * len(meaning)
    return lines


def svg(steps: Sequence[StepRow], record: TheoremRecord, statement: str) -> str:
    root, again = grown(steps)
    rows = placed(root)
    boxes = walk(root)
    by_node = {box.node: box for box in boxes}
    width = max(box.left for box in boxes) + WIDTH + 12
    height = TOP + rows * ROW
    refused = sum(step.outcome == "rejected" for step in steps)
    title = (
        f"{statement}: {record.outcome}. {record.nodes} nodes expanded, {len(steps)} tactics tried, "
        f"{refused} rejected by Lean, {record.proof_steps} steps in the proof"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
        f'height="{height:g}" font-family="monospace" font-size="10.5" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height:g}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="12.5" fill="#202428">{escape(title)}</text>',
        *legend(),
    ]
    for start, end in again:
        if by_node[start].column < by_node[end].column:
            style = 'stroke="#dfe2e5" stroke-dasharray="2 3"'
            lines.append(curve(by_node[start], by_node[end], style))
    for box in boxes:
        for child in box.children:
            proof = box.kind == child.kind == "proof"
            style = f'stroke="{"#1a7f37" if proof else "#c3c8cd"}" stroke-width="{2 if proof else 1}"'
            lines.append(curve(box, child, style))
    lines += [line for box in boxes for line in drawn(box)]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--statement", default=STATEMENT)
    parser.add_argument("--out", type=Path, required=True, help="the SVG file")
    parser.add_argument("search", nargs="*", help="more options of `burn-qed search`, after --")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        trajectories = search(given.statement, given.search, Path(directory))
        (record,) = read_records(trajectories)
        picture = svg(list(iter_rows(trajectories)), record, given.statement)
    given.out.write_text(picture, encoding="utf-8")
    print(f"{given.out}: {record.outcome}, {record.nodes} nodes")
    print(record.proof)


if __name__ == "__main__":
    main()

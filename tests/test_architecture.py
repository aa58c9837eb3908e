"""The folders are the architecture: imports point down, and the map in docs is true."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "burnqed"
# From the bottom up; rooms on one line do not import each other.
LAYERS = (
    ("core",),
    ("lean",),
    ("search", "policy", "data"),
    ("trajectories",),
    ("value",),
    ("training", "evaluation"),
    ("prover",),
    ("cluster",),
    ("iteration",),
    ("report", "serve"),
    ("web",),
    ("cli",),
)
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
# Loaded where they are used, and not with the command line.
HEAVY = {
    "torch", "transformers", "peft", "accelerate", "ray", "httpx", "pyarrow", "matplotlib",
    "starlette", "uvicorn", "mcp", "mcp_types", "anyio", "sklearn", "umap",
}  # fmt: skip
PLAIN = {"pyarrow", "matplotlib", "starlette", "uvicorn"}  # of these, what a plain install brings
EXTRA = HEAVY - PLAIN


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "burnqed" and len(parts) > 1 else None


def test_every_room_is_in_the_plan() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert rooms <= HEIGHT.keys()


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        return
    for module in imported(path):
        room = room_of(module)
        if room and room != parts[0]:
            assert HEIGHT[room] < HEIGHT[parts[0]], f"{parts[0]} imports {module}"


def test_only_the_command_line_knows_the_command_line() -> None:
    """A default that a bench or a script needs is at a setting, and not at an option."""
    others = [*(ROOT / "bench").glob("*.py"), *(ROOT / "examples").glob("*.py"), *modules()]
    outside = [path for path in others if PACKAGE / "cli" not in path.parents]
    knowing = {path.name for path in outside for name in imported(path) if room_of(name) == "cli"}
    assert knowing == {"__main__.py", "data.py"}, "bench/data.py measures the command itself"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_the_core_needs_nothing_heavy() -> None:
    code = "import sys, burnqed.cli.main; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in out.stdout.split()}
    assert not loaded & HEAVY
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = project.split("dependencies = [", 1)[1].split("]", 1)[0]
    assert not any(name in needed for name in EXTRA)


def tree_of_the_architecture() -> list[str]:
    """Paths of the annotated tree in docs/architecture.md; those of folders end with a slash."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = text.split("```text\n", 1)[1].split("```", 1)[0]
    folders: list[str] = []
    found = []
    for line in block.splitlines():
        match = re.match(r"^((?:  )*)(\S+)(\s{2,}\S.*)?$", line)
        assert match, f"not a line of a tree: {line!r}"
        depth, name, phrase = len(match[1]) // 2, match[2], match[3]
        assert phrase, f"{name} has no phrase"
        folders = [*folders[:depth], name]
        found.append("".join(folders))
    return found


def test_what_the_tree_names_exists() -> None:
    named = tree_of_the_architecture()
    assert len(named) == len(set(named))
    for name in named:
        path = ROOT / name
        assert path.is_dir() if name.endswith("/") else path.is_file(), name


def test_the_tree_names_every_room() -> None:
    rooms = {f"src/burnqed/{p.name}/" for p in PACKAGE.iterdir() if p.is_dir() and any(p.glob("*.py"))}
    assert rooms <= set(tree_of_the_architecture())


def test_nothing_names_this_machine_or_a_registry() -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", ".ci/run"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"index-url|registry|https?://", text), name

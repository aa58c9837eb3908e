"""The documents as far as a machine can tell: links lead somewhere, commands and files exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from burnqed.cli.main import app
from burnqed.iteration.config import read_config
from burnqed.prover.building import read_recipe

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "burnqed"
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("recipes/*.md")])
EVERY_RECIPE = sorted(path for path in ROOT.glob("recipes/*") if path.suffix in (".sh", ".toml"))
# What `burn-qed data build` takes; the others are of a figure.
OF_DATA = [path for path in EVERY_RECIPE if "\n[sources." in path.read_text(encoding="utf-8")]
RECIPES = [path for path in EVERY_RECIPE if path not in OF_DATA]

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"^(?:\S*/)?burn-qed (.+)$")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(text: str) -> tuple[str, str]:
    """A page's prose, and its blocks of code: those in fences, and those that are indented."""
    prose, code, fenced = [], [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            code.append(line.strip())
        else:
            prose.append(line)
    return "\n".join(prose), "\n".join(code)


def anchors(page: Path) -> set[str]:
    """The headings of a page, as they are linked to."""
    prose, _ = blocks(page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    prose, _ = blocks(page.read_text(encoding="utf-8"))
    for link in LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{link}: nothing is there"
        assert not anchor or anchor in anchors(there), f"{link}: no such heading"


@cache
def root_command() -> Any:
    return typer.main.get_command(app)


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the words after them."""
    command = root_command()
    while words and hasattr(command, "commands"):
        word, *rest = words
        if word.startswith("-"):
            break
        assert word in command.commands, f"no command {word!r}"
        command, words = command.commands[word], rest
    return command, words


def options_of(command: Any) -> set[str]:
    every = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    return {*every, "--help", "--version"}


def check_mention(text: str) -> None:
    """A command within a sentence: its options exist; their values may be left out."""
    command, rest = command_of([word for word in text.split() if word not in ("…", "...")])
    for word in rest:
        if word.startswith("--"):
            option = word.split("=")[0]
            assert option in options_of(command), f"burn-qed {text}: no option {option}"


def check_line(text: str) -> None:
    """A command to be typed: the parser of the command line takes it."""
    words = shlex.split(text.replace("'…'", "x"), comments=True)
    if "|" in words:  # alternatives: `burn-qed lean install | info`
        return check_mention(text.split("|")[0])
    command, rest = command_of([word for word in words if word not in ("…", "...")])
    assert not hasattr(command, "commands") or rest, f"burn-qed {text}: which command?"
    context = command.context_class(command, info_name="burn-qed")
    command.make_parser(context).parse_args(rest)
    return None


def commands_in(code: str) -> Iterator[str]:
    for line in re.sub(r"\\\n\s*", " ", code).splitlines():
        if found := COMMAND.match(line.strip()):
            yield found[1]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    prose, code = blocks(page.read_text(encoding="utf-8"))
    for text in commands_in(code):
        check_line(text)
    for span in CODE.findall(prose):
        if found := COMMAND.match(span):
            check_mention(found[1].split(" #")[0])


MISTAKES = ("no-such-command", "eval SET --no-such-option", "data nothing", "prove --no")


@pytest.mark.parametrize("text", MISTAKES)
def test_what_does_not_exist_is_noticed(text: str) -> None:
    with pytest.raises(Exception, match=r"[Nn]o (such option|command|option)"):
        check_line(text)
    with pytest.raises(AssertionError, match=r"no (command|option)"):
        check_mention(text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    prose, code = blocks(page.read_text(encoding="utf-8"))
    rooms = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir())
    named = [
        (ROOT, name) for name in re.findall(r"\b(?:bench|tests|recipes)/[\w/-]+\.\w+", prose + code)
    ]
    for span in CODE.findall(prose):
        if re.fullmatch(rf"(?:{rooms})/[\w/]+(?:\.\w+)?/?", span):
            named.append((PACKAGE, span))
    for folder, name in named:
        exists = (folder / name).exists() or (folder / f"{name}.py").exists()
        assert exists, f"{name_of(page)} names {name}"


@pytest.mark.parametrize("recipe", OF_DATA, ids=name_of)
def test_recipes_of_data_are_read_and_name_their_command(recipe: Path) -> None:
    assert read_recipe(recipe).sources
    (command,) = commands_in(recipe.read_text(encoding="utf-8").replace("\n#", "\n"))
    check_line(command)
    assert f"recipes/{recipe.name}" in command


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_recipes_run_and_name_a_commit(recipe: Path) -> None:
    text = recipe.read_text(encoding="utf-8")
    assert re.search(r"^# Recorded in commit [0-9a-f]{7,40}\b", text, re.MULTILINE)
    if recipe.suffix == ".toml":
        read_config(str(recipe))
        return
    commands = list(commands_in(text))
    assert commands or "python bench/" in text
    for command in commands:
        check_line(command)

"""Cuts a script down to what it uses: the reachable part of emscripten's JavaScript.

Emscripten puts its whole library beside a module that can load others: 1,200 functions for sound,
windows, sockets, `eval`. Here a script is taken apart into its top-level statements, and only those
stay that something which stays refers to. So what Lean can reach is said once, by the list of its
imports (`glue`), and not by a list of all that it must not reach.

It reads JavaScript as far as that needs: strings, templates, regular expressions and brackets. A name
counts as a reference wherever it occurs, so that at worst something unneeded stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from burnqed.core.errors import CorruptError

_TOKEN = re.compile(
    r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|//[^\n]*|/\*.*?\*/|[A-Za-z_$][\w$]*|\d[\w.]*|\s+|.""", re.S
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_BEFORE_REGEX = frozenset("(,=:[!&|?{};+-*%<>~^") | {"", "return", "typeof"}
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_BLOCK = re.compile(r"\s*((async )?function|class|if|for|while|try)\b|\s*\{")
_CONTINUES = re.compile(r"\s*(else|catch|finally)\b")
_DECLARES = re.compile(r"\s*(?:(var|let|const) |(?:async )?function ([\w$]+)|class ([\w$]+))")
_PUBLISHES = re.compile(r'\s*Module\["[^"]+"\]=')


def prune(script: str, roots: Collection[str], weak: Collection[str]) -> str:
    """What is reachable from the roots, and from what runs when the script is loaded.

    What the declarations in `weak` mention, which are tables of everything there is, does not stay for
    that. Statements that only publish a name as a property of `Module` go.
    """
    statements = [s for s in split(script) if not _PUBLISHES.match(s)]
    declared = [declared_names(statement) for statement in statements]
    owner = {name: index for index, names in enumerate(declared) for name in names}
    followers: dict[str, list[int]] = {}
    todo = [owner[name] for name in roots if name in owner]
    missing = [name for name in (*roots, *weak) if name not in owner]
    if missing:
        raise CorruptError(f"lean.js: it declares no {missing[0]}")
    for index, statement in enumerate(statements):
        if declared[index]:
            continue
        # `FS.staticInit();` belongs to FS: it runs where FS stays.
        about = next((n for n in _NAME.findall(statement) if n in owner), None)
        if about is None or re.match(r"\s*(if\b|\{)", statement):
            todo.append(index)
        else:
            followers.setdefault(about, []).append(index)
    kept: set[int] = set()
    while todo:
        index = todo.pop()
        if index in kept:
            continue
        kept.add(index)
        for name in declared[index]:
            todo += followers.get(name, ())
        if not set(declared[index]) & set(weak):
            todo += {owner[name] for name in _NAME.findall(statements[index]) if name in owner}
    return "".join(statements[index] for index in sorted(kept))


def redefine(script: str, changes: Mapping[str, str]) -> str:
    """Put other statements in place of those that begin with a key."""
    statements = split(script)
    for start, other in changes.items():
        places = [i for i, statement in enumerate(statements) if statement.startswith(start)]
        if len(places) != 1:
            raise CorruptError(f"lean.js: expected one statement {start!r}, found {len(places)}")
        statements[places[0]] = other
    return "".join(statements)


def split(script: str) -> list[str]:
    """The top-level statements, which joined are the script."""
    found = []
    start = 0
    for token, end, depth in tokens(script):
        if depth or token not in (";", "}"):
            continue
        if token == "}" and (not _BLOCK.match(script, start) or _CONTINUES.match(script, end)):
            continue
        found.append(script[start:end])
        start = end
    if start < len(script):
        found.append(script[start:])
    return found


def declared_names(statement: str) -> list[str]:
    """The names that a statement declares; none for one that only does something."""
    head = _DECLARES.match(statement)
    if not head:
        return []
    if not head[1]:
        return [head[2] or head[3]]
    names, before = [], ","
    for token, _, depth in tokens(statement[head.end() :]):
        if depth == 0 and before == "," and _NAME.fullmatch(token):
            names.append(token)
        before = token if depth == 0 else ""
    return names


def tokens(script: str) -> Iterator[tuple[str, int, int]]:
    """Each token without blanks and comments, the position behind it and its depth in brackets.

    A closing bracket has the depth of what is around it. A template is a token for each of its pieces.
    """
    at = depth = 0
    before = ""
    templates: list[int] = []  # the depths at which one is interrupted by a `${`
    while at < len(script):
        char = script[at]
        if char == "`" or (char == "}" and templates and templates[-1] == depth - 1):
            if char == "}":
                depth = templates.pop()
            at, interrupted = _template(script, at + 1)
            if interrupted:
                templates.append(depth)
                depth += 1
            before = "{" if interrupted else "`"
            yield "`", at, depth
            continue
        regex = _REGEX.match(script, at) if before in _BEFORE_REGEX else None
        found = regex if regex and script[at + 1] != "*" else _TOKEN.match(script, at)
        assert found  # the last alternative takes anything
        at = found.end()
        token = found[0]
        if token.isspace() or (token.startswith(("//", "/*")) and not regex):
            continue
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        before = token if not regex else "`"
        yield token, at, depth


def _template(script: str, at: int) -> tuple[int, bool]:
    """The end of a piece of a template, and whether a `${` ended it."""
    while at < len(script) and script[at] != "`":
        if script.startswith("${", at):
            return at + 2, True
        at += 2 if script[at] == "\\" else 1
    return at + 1, False

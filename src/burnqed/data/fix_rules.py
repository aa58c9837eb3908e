"""Tables of what changed between versions of Lean, and what they make of a text.

A table is TOML or JSON:

    [renames]                        identifiers, token by token: never inside a comment or a string
    "List.join" = "List.flatten"

    [[syntax]]                       a regular expression that begins where a token does
    name = "simp_arith"
    match = 'simp_arith\\b'
    replace = 'simp +arith'

    [[imports]]                      where names (by prefix) and tactics come from
    module = "Std.Data.HashMap"
    names = ["Std.HashMap"]
    tactics = []

`fixes/` has those that come with burn-qed. A table proposes, and the judge decides: a wrong entry costs
time and changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

from burnqed.core.errors import InputError
from burnqed.lean.tokens import tokenize

_KEYS = {"renames", "syntax", "imports"}
_FORM = 'a table has [renames] with "old" = "new", [[syntax]] with name, match, replace, [[imports]]'


@dataclass(frozen=True, slots=True)
class Syntax:
    """What is written otherwise now. In a statement it is only used where it is said to be `safe`:
    another way to write the same."""

    name: str
    pattern: re.Pattern[str]
    replace: str
    safe: bool = False

    def apply(self, text: str) -> str:
        starts = {token.start for token in tokenize(text)}

        def change(found: re.Match[str]) -> str:
            return found.expand(self.replace) if found.start() in starts else found[0]

        return self.pattern.sub(change, text)


@dataclass(frozen=True, slots=True)
class Fixes:
    """Tables together; what was given first has the first word."""

    renames: Mapping[str, str] = field(default_factory=dict)
    syntax: tuple[Syntax, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # their prefixes, to modules
    tactics: Mapping[str, str] = field(default_factory=dict)

    def renamed(self, name: str) -> str | None:
        """What it is called now, itself or the thing it is a field of."""
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            new = self.renames.get(".".join(parts[:length]))
            if new is not None:
                return ".".join([new, *parts[length:]])
        return None

    def digest(self) -> str:
        """Of all that the tables say: another table, another run."""
        said = [sorted(self.renames.items()), sorted(self.names.items()), sorted(self.tactics.items())]
        rules = [[one.name, one.pattern.pattern, one.replace, one.safe] for one in self.syntax]
        return hashlib.sha256(json.dumps([said, rules]).encode()).hexdigest()

    def module_of(self, name: str) -> str:
        parts = name.split(".")
        prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        return next((self.names[p] for p in prefixes if p in self.names), "")

    def module_of_tactic(self, word: str) -> str:
        return self.tactics.get(word, "")


def load_fixes(given: Sequence[Path] = ()) -> Fixes:
    """The user's tables, and behind them the ones that are here."""
    own = resources.files("burnqed.data") / "fixes"
    texts = [(str(path), _text(path)) for path in given]
    texts += [
        (entry.name, entry.read_text(encoding="utf-8"))
        for entry in sorted(own.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    ]
    renames: dict[str, str] = {}
    syntax: list[Syntax] = []
    names: dict[str, str] = {}
    tactics: dict[str, str] = {}
    for where, text in texts:
        table = _parsed(where, text)
        for old, new in table.get("renames", {}).items():
            renames.setdefault(old, new)
        syntax += [_syntax(where, one) for one in table.get("syntax", [])]
        for one in table.get("imports", []):
            for name in one.get("names", []):
                names.setdefault(name, one["module"])
            for word in one.get("tactics", []):
                tactics.setdefault(word, one["module"])
    return Fixes(renames, tuple(syntax), names, tactics)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8") from error


def _parsed(where: str, text: str) -> dict[str, Any]:
    try:
        table = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is neither TOML nor JSON: {error}", hint=_FORM) from error
    if table and not table.keys() & _KEYS:  # only names: a table of renames
        table = {"renames": table}
    strange = sorted(table.keys() - _KEYS)
    if strange:
        raise InputError(f"{where} has unknown `{strange[0]}`", hint=_FORM)
    renames = table.get("renames", {})
    if not isinstance(renames, dict) or not all(
        isinstance(text, str) and text.strip() for pair in renames.items() for text in pair
    ):
        raise InputError(f"{where}: `renames` are not names for names", hint=_FORM)
    for part, needed in (("syntax", {"name", "match", "replace"}), ("imports", {"module"})):
        for one in table.get(part, []):
            if not isinstance(one, dict) or not needed <= one.keys():
                lacking = ", ".join(sorted(needed - set(one)))
                raise InputError(f"{where}: one of `{part}` lacks {lacking}", hint=_FORM)
    return dict(table)


def _syntax(where: str, one: Mapping[str, Any]) -> Syntax:
    try:
        pattern = re.compile(one["match"], re.MULTILINE)
        re.compile(one["match"]).sub(one["replace"], "")
    except (re.error, TypeError) as error:
        raise InputError(f"{where}: `match` of {one['name']} is not a pattern: {error}") from error
    return Syntax(one["name"], pattern, one["replace"], bool(one.get("safe", False)))


# ------------------------------------------------------------------------------------ changing


def rename(text: str, old: str, new: str) -> str:
    """Every identifier `old` as `new`, with the fields behind it; nothing else."""
    return _replaced(text, lambda name: _renamed(name, old, new))


def rename_field(text: str, old: str, new: str) -> str:
    """`x.old` as `x.new`, whatever `x` is."""

    def change(name: str) -> str:
        head, *fields = name.split(".")
        return ".".join([head, *(new if field == old else field for field in fields)])

    text = _replaced(text, change)
    # Behind a bracket it is a token of its own: `(f x).old`.
    tokens = tokenize(text)
    for before, this in reversed(list(pairwise(tokens))):
        fields = this.text.split(".")
        if before.text == "." and before.end == this.start and fields[0] == old:
            text = text[: this.start] + ".".join([new, *fields[1:]]) + text[this.end :]
    return text


def _replaced(text: str, change: Callable[[str], str]) -> str:
    for token in reversed(tokenize(text)):
        if token.kind == "identifier" and change(token.text) != token.text:
            text = text[: token.start] + change(token.text) + text[token.end :]
    return text


def _renamed(name: str, old: str, new: str) -> str:
    root = "_root_." if name.startswith("_root_.") else ""
    bare = name.removeprefix("_root_.")
    if bare == old or bare.startswith(f"{old}."):
        return f"{root}{new}{bare[len(old) :]}"
    return name

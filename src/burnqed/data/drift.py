"""Why something that worked in another Lean does not work in this one: sorted by what Lean says.

lemma rename          a name that is gone, and no namespace has it
missing open          a name that is known once its namespace is open
missing import        a name or tactic of a module that is not loaded
tactic API change     syntax, options or names that a tactic does not take, or make, any more
pretty-printer drift  it works, and prints otherwise
other                 anything else: a lemma that says something else, a tactic that is weaker
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from burnqed.data.fix_rules import Fixes
from burnqed.data.known_names import KnownNames
from burnqed.lean.tokens import tokenize

Category = Literal[
    "lemma rename", "tactic API change", "missing import", "pretty-printer drift", "missing open",
    "other",
]  # fmt: skip
CATEGORIES: tuple[Category, ...] = (
    "lemma rename", "tactic API change", "missing import", "pretty-printer drift", "missing open",
    "other",
)  # fmt: skip

# Quoted in one way or another; a name may end with primes.
_NAME = r"(?:`([^`\s]+)`|['‘]([^`‘’\s]+?)['’](?![\w'’]))"
_UNKNOWN = (
    re.compile(rf"[Uu]nknown (?:identifier|constant|declaration|namespace|free variable) {_NAME}"),
    re.compile(rf"environment does not contain {_NAME}"),
    re.compile(rf"[Ii]dentifier {_NAME} is unknown"),
)
_SYNTAX = re.compile(
    r"unknown tactic|expected (?:token|term|command|end of input|identifier)|unexpected (?:token|"
    r"identifier|syntax)|[Cc]annot parse|elaboration function .* has not been implemented|"
    r"<input>:\d+:\d+:"
)
_CHANGED = re.compile(
    r"has been (?:deprecated|removed)|is deprecated|(?:does not have a field named|is not a field of)|"
    r"[Ii]nvalid alternative name|[Uu]nknown option|[Ii]nvalid (?:option|argument|pattern|location)|"
    r"[Uu]nused alternative|[Tt]oo many (?:variable names|identifiers|arguments)|"
    r"[Ii]nvalid (?:field|named argument)|no additional binders|has not been implemented"
)
_OPENS = 3  # namespaces that one step may lack
_TRIED = 12  # namespaces that are tried for one name

# With these namespaces open: what Lean says then; nothing if it works.
Attempt = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step or a statement fails on this Lean.

    `detail` is what a person wants to know: the name, its new name, the namespace, the module.
    """

    category: Category
    detail: str


@dataclass(frozen=True, slots=True)
class Scene:
    """What failed (a tactic, or a statement), as text, and what was known there.

    `recorded` and `here` are the names of the hypotheses in the recorded state and in this Lean's;
    `likely` are namespaces to try first.
    """

    text: str
    recorded: Collection[str] = ()
    here: Collection[str] = ()
    likely: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Sorter:
    """Knows this Lean's names, the tables, and which modules the data wants and this Lean has not."""

    names: KnownNames
    fixes: Fixes
    absent: tuple[str, ...] = ()

    async def sort(self, error: str, scene: Scene, attempt: Attempt) -> Failure:
        unknown = unknown_names(error)
        if unknown:
            return await self._of_name(unknown[0], scene, attempt)
        if _SYNTAX.search(error):
            return await self._of_syntax(error, scene, attempt)
        if _CHANGED.search(error):
            return Failure("tactic API change", _first_line(error))
        return Failure("other", _first_line(error))

    async def _of_name(self, name: str, scene: Scene, attempt: Attempt) -> Failure:
        head = name.split(".")[0]
        if head in scene.recorded and head not in scene.here:
            return Failure("tactic API change", f"an earlier tactic does not name {head} any more")
        opened = await self._opened(name, scene, attempt)
        if opened:
            return Failure("missing open", f"{name} is known with `open {opened}`")
        renamed = self.fixes.renamed(name)
        if renamed is not None and renamed in self.names.full:
            return Failure("lemma rename", f"{name} is {renamed} now")
        module = self.fixes.module_of(name)
        if module:
            return Failure("missing import", f"{name} is of {module}")
        if self.absent:
            return Failure("missing import", f"{name}; {', '.join(self.absent)} is not loaded")
        nearest = get_close_matches(name, self._like(name), n=1, cutoff=0.6)
        return Failure(
            "lemma rename", f"{name} is gone" + (f"; perhaps {nearest[0]}" if nearest else "")
        )

    async def _of_syntax(self, error: str, scene: Scene, attempt: Attempt) -> Failure:
        for space in scene.likely:  # notation may be of a namespace
            if not await attempt(space):
                return Failure("missing open", f"it is understood with `open {space}`")
        words = [token.text for token in tokenize(scene.text) if token.kind == "identifier"]
        for word in words:
            module = self.fixes.module_of_tactic(word)
            if module:
                return Failure("missing import", f"`{word}` is of {module}")
        return Failure("tactic API change", _first_line(error))

    async def _opened(self, name: str, scene: Scene, attempt: Attempt) -> str:
        """Namespaces that make it work, if a few of them do."""
        spaces: list[str] = []
        while len(spaces) < _OPENS:
            found = self.names.namespaces(name)
            said = set(_parts(scene.text)) | set(scene.likely)
            found.sort(key=lambda space: space not in said)
            for space in found[:_TRIED]:
                error = await attempt(" ".join([*spaces, space]))
                if not error:
                    return " ".join([*spaces, space])
                others = [other for other in unknown_names(error) if other != name]
                if others and name not in unknown_names(error):
                    spaces.append(space)
                    name = others[0]
                    break
            else:
                return ""
        return ""

    def _like(self, name: str) -> list[str]:
        """Names of the same namespace."""
        prefix = name.rpartition(".")[0]
        inside = f"{prefix}." if prefix else ""
        return [one for one in self.names.full if one.startswith(inside) and inside]


def unknown_names(error: str) -> list[str]:
    """The names that Lean does not know, in the order in which it says so."""
    found = [(m.start(), m[1] or m[2]) for pattern in _UNKNOWN for m in pattern.finditer(error)]
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _parts(text: str) -> list[str]:
    """The namespaces that a text mentions."""
    return [
        prefix
        for token in tokenize(text)
        if token.kind == "identifier" and (prefix := token.text.rpartition(".")[0])
    ]


def _first_line(error: str) -> str:
    return error.strip().split("\n")[0][:300]

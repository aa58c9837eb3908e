"""What could be done about a proof that fails, from what Lean says: changes, the likeliest first.

Each change is small and named. They are proposals: whoever asks tries them, and the judge decides.

A statement is never made easier. Where it elaborates, no change touches it or what stands before it,
except that a module is imported. Where it does not, it says nothing yet in this Lean; then the names
that Lean does not know may be replaced by what they are called now, the one namespace that has such a
name be opened, or another way to write the same be used. What it says then is what has to be proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from burnqed.data.drift import unknown_names
from burnqed.data.fix_rules import Fixes, rename, rename_field
from burnqed.data.known_names import KnownNames
from burnqed.lean.statement import split_header
from burnqed.lean.tokens import tokenize

_NAMESPACES = 4  # that are tried for one name


@dataclass(frozen=True, slots=True)
class Change:
    """A rule, and what it did: `renames`, `List.join → List.flatten`."""

    rule: str
    what: str
    in_statement: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A theorem with its proof, and what was changed so far."""

    context: str
    statement: str
    proof: str
    changes: tuple[Change, ...] = ()

    @property
    def imports(self) -> tuple[str, ...]:
        return split_header(self.context).imports

    def changed(self, rule: str, what: str, *, in_statement: bool = False, **parts: str) -> Draft:
        change = Change(rule, what, in_statement)
        texts = {"context": self.context, "statement": self.statement, "proof": self.proof, **parts}
        return Draft(**texts, changes=(*self.changes, change))

    def said(self) -> tuple[str, str, str]:
        return self.context, self.statement, self.proof


@dataclass(frozen=True, slots=True)
class Proposer:
    """Knows this Lean's names and the tables."""

    names: KnownNames
    fixes: Fixes

    def of_proof(self, draft: Draft, error: str) -> Iterator[Draft]:
        """Changes to the proof."""
        for name in unknown_names(error)[:1]:
            yield from self._renamed(draft, name, draft.proof, "proof")
            yield from self._imported(draft, name)
            for space in self.names.namespaces(name)[:_NAMESPACES]:
                yield draft.changed("open", f"open {space}", proof=f"open {space} in {draft.proof}")
            for space in self.names.namespaces(name)[:_NAMESPACES]:
                text = rename(draft.proof, name, f"{space}.{name}")
                yield draft.changed("qualify", f"{name} → {space}.{name}", proof=text)
        if "unknown tactic" in error:
            words = (token.text for token in tokenize(draft.proof))
            for module in dict.fromkeys(self.fixes.tactics.get(word, "") for word in words):
                yield from self._import(draft, module)
        for rule in self.fixes.syntax:
            text = rule.apply(draft.proof)
            if text != draft.proof:
                yield draft.changed("syntax", rule.name, proof=text)

    def of_statement(self, draft: Draft, error: str) -> Iterator[Draft]:
        """Changes to what is stated, where Lean does not understand it."""
        for name in unknown_names(error)[:1]:
            yield from self._renamed(draft, name, draft.statement, "statement")
            yield from self._renamed(draft, name, draft.context, "context")
            yield from self._imported(draft, name)
            spaces = self.names.namespaces(name)
            if len(spaces) == 1:  # else nobody knows which one was meant
                context = f"{draft.context}\nopen {spaces[0]}".strip()
                yield draft.changed("open", f"open {spaces[0]}", in_statement=True, context=context)
        for rule in self.fixes.syntax:
            if rule.safe and rule.apply(draft.statement) != draft.statement:
                yield draft.changed(
                    "syntax", rule.name, in_statement=True, statement=rule.apply(draft.statement)
                )  # fmt: skip

    def _renamed(self, draft: Draft, name: str, text: str, part: str) -> Iterator[Draft]:
        """In one part of the draft, where the table knows the name or the field."""
        new = self.fixes.renamed(name)
        spaces = [w for w in _opened(draft.context) if self.fixes.renamed(f"{w}.{name}")]
        if new is None and spaces:
            new = self.fixes.renamed(f"{spaces[0]}.{name}")
        if new is None:
            return
        stated = part != "proof"
        what = f"{name} → {new}"
        by_name = rename(text, name, new)
        if by_name != text:
            yield draft.changed("renames", what, in_statement=stated, **{part: by_name})
        by_field = rename_field(text, name.rpartition(".")[2], new.rpartition(".")[2])
        if by_field not in (text, by_name) and name.rpartition(".")[0] == new.rpartition(".")[0]:
            yield draft.changed("renames", what, in_statement=stated, **{part: by_field})

    def _imported(self, draft: Draft, name: str) -> Iterator[Draft]:
        yield from self._import(draft, self.fixes.module_of(name))

    def _import(self, draft: Draft, module: str) -> Iterator[Draft]:
        if module and not any(has == module or has.startswith(f"{module}.") for has in draft.imports):
            context = f"import {module}\n{draft.context}".strip()
            yield draft.changed("imports", f"import {module}", context=context)


def _opened(context: str) -> list[str]:
    """The namespaces that a context opens, or is in."""
    spaces: list[str] = []
    for line in context.splitlines():
        words = line.split()
        if words[:1] in (["open"], ["namespace"]):
            spaces += [word for word in words[1:] if word not in ("scoped", "in")]
    return spaces

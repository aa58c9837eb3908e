"""What a goal's text says: its shape, its variables, its hypotheses, the terms in it.

Lean's own terms are not at hand here, only what it prints. A misreading costs one rejected tactic and
nothing else, so the reading is simple: brackets, binders, and the connectives by their precedence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from burnqed.core.types import Goal, Hypothesis

_IDENT = r"[^\W\d][\w'!?₀-₉✝]*(?:\.[^\W\d][\w'!?₀-₉]*|\.\d+)*"
TOKEN = re.compile(rf"{_IDENT}|\d+|::|\+\+|&&|\|\||==|!=|>>>|<<<|\S")
IDENT = re.compile(_IDENT)
_OPEN, _CLOSE = "([{⟨", ")]}⟩"
_BINDERS = ("∀", "∃", "fun", "λ", "∃!")
# By precedence, the loosest first; → is right associative, and so are ∨ and ∧.
_CONNECTIVES = (("↔", "iff"), ("→", "implies"), ("∨", "or"), ("∧", "and"))
_RELATIONS = {
    "=": "eq", "≠": "ne", "≤": "le", "<": "lt", "≥": "ge", ">": "gt", "∣": "dvd", "∈": "mem",
    "∉": "not_mem", "⊆": "subset", "~": "perm", "==": "beq", "<+": "sublist",
}  # fmt: skip
_PROP_MARKS = frozenset("=≠≤<≥>∣∈∉↔∧∨¬∃∀⊆~")
KEYWORDS = frozenset({
    "fun", "if", "then", "else", "let", "have", "match", "with", "in", "do", "show", "from", "by", "at",
})  # fmt: skip
_UNIVERSE = re.compile(r"u_\d+")
_NO_CONSTANTS = KEYWORDS | {"Type", "Prop", "Sort", "True", "False", "true", "false"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The outermost connective or relation, and what stands on its sides."""

    kind: str
    left: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class Binder:
    """A ∀-variable or a premise that `intro` would take; a premise has no name."""

    name: str | None
    type: str


def shape_of(text: str) -> Shape:
    """The shape of a proposition."""
    text = strip_brackets(" ".join(text.split()))
    if text.startswith("∀"):
        return Shape("forall", text)
    if text.startswith("∃"):
        return Shape("exists", text)
    if text == "False":
        return Shape("false")
    for mark, kind in _CONNECTIVES:
        at = _top_level(text, (mark,))
        if at is not None:
            return Shape(kind, text[: at[0]].strip(), text[at[0] + len(mark) :].strip())
    if text.startswith("¬"):
        return Shape("not", text[1:].strip())
    at = _top_level(text, tuple(_RELATIONS))
    if at is not None:
        mark = at[1]
        return Shape(_RELATIONS[mark], text[: at[0]].strip(), text[at[0] + len(mark) :].strip())
    return Shape("other", text)


def is_numeral(text: str) -> bool:
    """Whether it is a number written out, and one to compute with: `²` and a page of digits are not."""
    return text.isdecimal() and len(text) < 20


def strip_brackets(text: str) -> str:
    """Without brackets around the whole of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for i, char in enumerate(text):
            depth += (char in _OPEN) - (char in _CLOSE)
            if depth == 0 and i < len(text) - 1:
                return text
        text = text[1:-1].strip()
    return text


def _top_level(text: str, marks: Sequence[str]) -> tuple[int, str] | None:
    """Where the first of these operators stands outside brackets and before any binder's body."""
    depth = 0
    for token in TOKEN.finditer(text):
        word = token.group()
        if word in _OPEN:
            depth += 1
        elif word in _CLOSE:
            depth -= 1
        elif depth == 0 and word in _BINDERS and token.start() > 0:
            return None
        elif depth == 0 and word in marks:
            return token.start(), word
    return None


def premises(text: str) -> tuple[list[Binder], str]:
    """The ∀-variables and premises in front, as `intro` would take them, and what is left."""
    binders: list[Binder] = []
    rest = strip_brackets(" ".join(text.split()))
    while len(binders) < 40:
        if rest.startswith("∀"):
            comma = _comma(rest)
            if comma is None:
                break
            binders += _binder_group(rest[1:comma].strip())
            rest = rest[comma + 1 :].strip()
            continue
        shape = shape_of(rest)
        if shape.kind == "implies":
            binders.append(Binder(None, shape.left))
            rest = shape.right
        elif shape.kind == "not":
            binders.append(Binder(None, shape.left))
            return binders, "False"
        else:
            break
    return binders, rest


def _comma(text: str) -> int | None:
    depth = 0
    for i, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and char == ",":
            return i
    return None


_BINDING = re.compile(r"(?:fun|λ|∀|∃!?)\s+([^,=↦]*)")
# Names in front of what is said about them: `x y : Nat`, `x ∈ s`, `(x y : Nat) (h : p)`, `x y`.
_NAMES = re.compile(rf"(?:^|[({{\[⦃])\s*({_IDENT}(?:\s+{_IDENT})*)\s*(?=[:∈∉<≤>≥≠]|$)")
_NAMING = re.compile(rf"\b(?:if|let|have)\s+({_IDENT})\s*[:←]")  # `if h : p then`, `let x := a`
_PATTERN = re.compile(r"(?<!\|)\|\s([^|=]+)=>")  # of an arm of `match`
_FIELD = re.compile(r"\s*:=")  # behind the name of one, in `{ fst := a }`


def _binder_group(text: str) -> list[Binder]:
    """`(x y : Nat) (h : p)`, `x y`, `x ∈ s`, `x < n`, `[inst : C]`."""
    found: list[Binder] = []
    depth, start = 0, 0
    if not text.startswith(tuple("({[⦃")):
        match = re.match(r"([^\s]+) (∈|<|≤|>|≥|≠|∉) (.*)", text)
        if match:
            return [Binder(match[1], ""), Binder(None, f"{match[1]} {match[2]} {match[3]}")]
        names, _, type = text.partition(":")
        return [Binder(name, type.strip()) for name in names.split()]
    for i, char in enumerate(text):
        if char in "({[⦃":
            start = i if depth == 0 else start
            depth += 1
        elif char in ")}]⦄":
            depth -= 1
            if depth == 0:
                names, _, type = text[start + 1 : i].partition(" : ")
                if not type:
                    found.append(Binder(None, names))
                found += [Binder(name, type.strip()) for name in names.split()] if type else []
    return found


@dataclass(frozen=True, slots=True)
class Variable:
    """A hypothesis that is data."""

    name: str
    type: str

    @property
    def head(self) -> str:
        """What its type is of: `List` of `List Nat`; a function's is not the type of its argument."""
        if _top_level(self.type, ("→",)):
            return "Function"
        if _top_level(self.type, ("×",)):
            return "Prod"
        return self.type.split(maxsplit=1)[0] if self.type else ""


class Reading:
    """One goal, read. All hypotheses here have names that a tactic may say."""

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.target = " ".join(goal.target.split())
        self.shape = shape_of(self.target)
        self.unnamed = [h for h in goal.hypotheses if h.inaccessible]

    @cached_property
    def _named(self) -> list[Hypothesis]:
        latest = {h.name: h for h in self.goal.hypotheses}
        return [h for h in latest.values() if not h.inaccessible and "✝" not in h.name]

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {h.name: " ".join(h.type.split()) for h in self._named}

    @cached_property
    def variables(self) -> list[Variable]:
        return [Variable(n, t) for n, t in self._kinds.items() if not self.is_proposition(t)]

    @cached_property
    def facts(self) -> dict[str, str]:
        """The hypotheses that are propositions, by name."""
        return {n: t for n, t in self._kinds.items() if self.is_proposition(t)}

    @cached_property
    def fact_shapes(self) -> dict[str, Shape]:
        return {name: shape_of(type) for name, type in self.facts.items()}

    def is_proposition(self, type: str) -> bool:
        if type in ("Prop", "Type") or type.startswith(("Type", "Sort")):
            return False
        if any(char in _PROP_MARKS for char in type):
            return True
        head = (IDENT.match(type) or [""])[0]
        own = self._kinds.get(head)
        if own is not None:
            return own == "Prop" or own.endswith("→ Prop")
        return head in ("True", "False") or head.rpartition(".")[2] in PREDICATES

    def fresh(self, wanted: str, used: Collection[str] = ()) -> str:
        """A name that nothing in the context has yet, nor any of `used`."""
        taken = {h.name for h in self.goal.hypotheses} | set(used)
        if wanted not in taken:
            return wanted
        return next(f"{wanted}{i}" for i in range(1, 1000) if f"{wanted}{i}" not in taken)

    def of_type(self, *heads: str) -> list[Variable]:
        return [v for v in self.variables if v.head in heads]

    @cached_property
    def all_text(self) -> str:
        return " ; ".join([*self.facts.values(), self.target])

    @cached_property
    def numerals(self) -> list[int]:
        """Numbers written in the goal, the smallest first; those of more than six digits left out."""
        found = {int(t) for t in re.findall(r"(?<![\w.])\d{1,6}(?![\w.])", self.all_text)}
        return sorted(found)

    @cached_property
    def binders(self) -> list[Binder]:
        """What `intro` would take of the target."""
        return premises(self.target)[0]

    @cached_property
    def bound(self) -> frozenset[str]:
        """Names that are bound in the target: no tactic can say them yet."""
        groups = [names for group in _BINDING.findall(self.target) for names in _NAMES.findall(group)]
        arms = [word for arm in _PATTERN.findall(self.target) for word in IDENT.findall(arm)]
        return frozenset([
            *(b.name for b in self.binders if b.name),
            *(name for names in groups for name in names.split()),
            *_NAMING.findall(self.target),
            *(word for word in arms if "." not in word),  # with a dot it is a constructor
        ])  # fmt: skip

    @cached_property
    def constants(self) -> list[str]:
        """Names in the target that are neither hypotheses nor bound nor keywords."""
        local = set(self._kinds) | {h.name for h in self.goal.hypotheses} | self.bound
        types = {v.name: v.head for v in self.variables}
        found: dict[str, None] = {}
        for match in IDENT.finditer(self.target):
            word = match.group()
            head, *_ = path = word.split(".")
            # Behind a dot it is a field, and the name of its constant is not in the text; behind a
            # question mark it is what is to be found.
            if self.target[max(0, match.start() - 1)] in ".?" or _FIELD.match(self.target, match.end()):
                continue
            if word in _NO_CONSTANTS or "✝" in word:
                continue
            if head in types and head != word:
                for field in path[1:]:
                    if not field.isdecimal():
                        found[f"{types[head]}.{field}"] = None  # `t.height` of a `t : Tree α`
            elif _UNIVERSE.fullmatch(word) or {word, head} & local:
                continue
            elif len(word) > 1:
                found[word] = None
                if len(path) > 2 and path[-2][0].islower():
                    found[".".join([*path[:-2], path[-1]])] = None  # `Tree.leaf.height`
        return list(found)

    def mentions(self, name: str, text: str) -> bool:
        return any(t == name or t.startswith(name + ".") for t in TOKEN.findall(text))

    @property
    def arithmetic(self) -> bool:
        """Whether numbers are compared or computed with."""
        return bool(self.of_type("Nat", "Int", "Fin", "Rat", "BitVec")) or bool(
            re.search(r"\d|[+*^%]|\.length|Nat\b|Int\b", self.target)
        )

    @property
    def closed(self) -> bool:
        """No variable of the context is in the target."""
        return not any(self.mentions(v.name, self.target) for v in self.variables) and not any(
            self.mentions(h.name, self.target) for h in self.unnamed
        )


PREDICATES = frozenset({
    "Nodup", "Pairwise", "Perm", "Sublist", "IsPrefix", "IsSuffix", "IsInfix", "Coprime", "WF",
    "WellFounded", "Nonempty", "Injective", "Surjective", "Sorted", "Even", "Odd", "Prime", "Subset",
    "Disjoint", "Acc", "Equiv", "Mem", "LawfulBEq", "Inhabited",
})  # fmt: skip

# ruff: noqa: E501 (an entry is a line, however long its Lean is)
"""Tasks whose names look as if Lean had made them, and files that change one thing in them.

A task is Lean with three places: `NAME`, a name of the list below; `WHAT`, the one thing that a mutation
changes; `PROOF`. Each way to fill `WHAT` comes with a proof that Lean accepts, so that nothing but the
comparison with the task stands between a mutation and a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMES = (
    "plain", "induct", "elim", "match_1", "match_x", "inj", "injEq", "eq_1", "eq_def", "below", "_x", "_proof_1",
    "ext_iff", "sizeOf_spec", "congr_simp", "hcongr_2", "proof_1", "fun_cases", "noConfusion", "ctorIdx", "recOn",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Task:
    """The first of `ways` is the task's own; each of the others means something else."""

    title: str
    text: str
    ways: tuple[tuple[str, str], ...]

    def reference(self, name: str) -> str:
        return self._filled(name, self.ways[0][0], "by sorry")

    def files(self, name: str) -> list[str]:
        """The honest file, and then the mutations."""
        return [self._filled(name, what, proof) for what, proof in self.ways]

    def _filled(self, name: str, what: str, proof: str) -> str:
        text = self.text.replace("WHAT", what).replace("PROOF", proof)
        return text.replace("NAME", name) + "\n"


def _task(title: str, text: str, *ways: str | tuple[str, str], proof: str = "rfl") -> Task:
    return Task(title, text, tuple(way if isinstance(way, tuple) else (way, proof) for way in ways))


TASKS = (
    _task("a constructor's premise",
          "inductive Good : Nat → Prop\n  | NAME (n : Nat) : WHAT → Good n\ntheorem t : Good 0 := PROOF",
          ("n = 0", ".NAME 0 rfl"), ("n = n", ".NAME 0 rfl"), ("n = 0 ∨ n = 7", ".NAME 0 (.inl rfl)")),
    _task("a constructor more",
          "inductive Good : Nat → Prop\n  | zero : Good 0\nWHAT\ntheorem t : Good 0 := PROOF",
          "", "  | NAME : Good 7", "  | NAME (n : Nat) : Good n", proof=".zero"),
    _task("a constructor less",
          "inductive Way where\n  | NAME\nWHAT\n  | last\ntheorem t : Way.last = .last := PROOF",
          "  | other", "", "  | other (n : Nat)"),
    _task("a structure's constructor",
          "structure Box where\n  NAME ::\n  size : Nat\nWHAT\ntheorem t (b : Box) : b.size = b.size := PROOF",
          "", "  bad : False", "  more : size = 0"),
    _task("a field", "structure Box where\n  NAME : WHAT\ntheorem t (b : Box) : b = b := PROOF",
          "Nat", "Int", "Fin 3", "Nat → Nat"),
    _task("a class", "class Much (α : Type) where\n  NAME : WHAT\ntheorem t [Much Nat] : 1 = 1 := PROOF",
          "α", "α × α", "False"),
    _task("a mutual block",
          "mutual\ninductive A where\n  | NAME : B → A\n  | stop : A\ninductive B where\n"
          "  | NAME : WHAT → B\nend\ntheorem t : A.stop = .stop := PROOF",
          "A", "A → B", "Nat → A"),
    _task("a parameter or an index",
          "inductive Same {α : Type} WHAT\ntheorem t : Same 1 1 := PROOF",
          ("(a : α) : α → Prop\n  | NAME : Same a a", ".NAME"),
          (": α → α → Prop\n  | NAME (a b : α) : Same a b", ".NAME 1 1")),
    _task("a definition", "def Foo.NAME : Nat := WHAT\ntheorem t : Foo.NAME = Foo.NAME := PROOF", "1", "2", "1 + 0"),
    _task("a definition's type",
          "def Foo.NAME (n : WHAT) : Bool := n == n\ntheorem t : Foo.NAME 1 = Foo.NAME 1 := PROOF", "Nat", "Int", "Fin 2"),
    _task("a predicate",
          "def Foo.NAME (n : Nat) : Prop := WHAT\ntheorem t : Foo.NAME 7 := PROOF",
          ("n > 3", "by show 7 > 3; omega"), ("True", "trivial"), ("n = n", "rfl")),
    _task("a definition by cases",
          "def Foo.NAME : Nat → Nat\n  | 0 => 0\n  | n + 1 => WHAT\ntheorem t : Foo.NAME 0 = 0 := PROOF",
          "n", "n + 1", "Foo.NAME n"),
    _task("a private definition", "private def NAME : Nat := WHAT\ntheorem t : NAME = NAME := PROOF", "1", "2", "0"),
    _task("a definition below another",
          "def Foo.f : Nat := NAME + 1\nwhere NAME : Nat := WHAT\ntheorem t : Foo.f = Foo.f := PROOF", "1", "2"),
    _task("an instance",
          "structure N where\n  n : Nat\ninstance NAME : Add N := ⟨fun a b => WHAT⟩\n"
          "theorem t (a b : N) : a + b = a + b := PROOF",
          "⟨a.n + b.n⟩", "a", "b", "⟨0⟩"),
    _task("a namespace",
          "namespace NAME\ndef v : Nat := WHAT\ninductive P : Nat → Prop\n  | of : P v\nend NAME\n"
          "theorem t : NAME.P NAME.v := PROOF",
          "1", "2", proof=".of"),
    _task("a definition that nothing mentions", "def Foo.NAME : Nat := WHAT\ntheorem t : 1 = 1 := PROOF", "1", "2"),
    _task("a private theorem", "private theorem Foo.NAME : WHAT\ntheorem t : 1 = 1 := PROOF",
          "1 + 1 = 2 := rfl", "1 + 1 = 2 := sorry", "1 = 1 := rfl"),
    _task("a theorem that is left out", "WHAT\ntheorem t : 1 = 1 := PROOF",
          "theorem Foo.NAME : 1 + 1 = 2 := rfl", "", "theorem Foo.NAME : 2 = 2 := rfl",
          "def Foo.NAME : 1 + 1 = 2 := rfl", "theorem Foo.NAME : 1 + 1 = 2 := sorry"),
    _task("a private theorem that is left out", "WHAT\ntheorem t : 1 = 1 := PROOF",
          "private theorem NAME : 1 + 1 = 2 := rfl", "", "theorem NAME : 1 + 1 = 2 := rfl"),
    _task("a match in a statement",
          "theorem NAME (n : Nat) : (match n with | 0 => True | k + 1 => WHAT) := PROOF",
          *((what, "by cases n <;> simp") for what in ("k < n", "k = k", "n > 0", "k ≤ n"))),
    _task("a proof in a statement",
          "theorem NAME (x : Fin 5) (h : x = WHAT) : x = x := PROOF", "⟨2, by omega⟩", "⟨3, by omega⟩"),
    _task("data beside an open proof",
          "def NAME : { n : Nat // n < 9 } := ⟨WHAT, PROOF⟩\ntheorem t : NAME.val < 9 := NAME.property",
          "3", "4", "0", proof="by decide"),
    _task("what an open proof proves",
          "def NAME : { n : Nat // WHAT } := ⟨3, PROOF⟩\ntheorem t : NAME.val = NAME.val := rfl",
          "n < 9", "n < 10", "n = 3", proof="by decide"),
    _task("an open proof in a definition, left open",
          "def NAME : { n : Nat // n < 9 } := ⟨3, PROOF⟩\ntheorem t : 1 = 1 := WHAT",
          ("rfl", "by decide"), ("rfl", "by sorry"), ("rfl", "(sorry : 3 < 9)")),
    _task("what stands beside an open proof in a statement",
          "def NAME (x : Fin 5) : Nat := x.val\ntheorem t : NAME ⟨WHAT, PROOF⟩ < 5 := by decide",
          "2", "3", proof="by decide"),
    _task("data that is left open", "def NAME : Nat := WHAT\ntheorem t : 1 = 1 := PROOF",
          ("1", "rfl"), ("sorry", "rfl"), ("2", "rfl")),
)  # fmt: skip

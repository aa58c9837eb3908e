# ruff: noqa: E501 (an entry is a line, however long its Lean is)
"""Honest Lean, of many kinds, that the judge must accept.

All of it compiles in plain Lean 4.28 with the core library alone, without errors and without
`sorry`. `theorems` is how many theorems of a file are to be accepted; with a reference, those that
the reference leaves open are among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from burnqed.core.types import LibraryConstant, Proposition, Statement, TheoremText
from tests.lean.cheats import AESOP


@dataclass(frozen=True, slots=True)
class HonestFile:
    name: str
    source: str
    theorems: int
    reference: str | None = None

    @property
    def only_theorems(self) -> bool:
        """Whether nothing in it could change what stands below it in a longer file."""
        commands = [line for line in self.source.splitlines() if line and not line.startswith(" ")]
        return self.reference is None and all(line.startswith("theorem ") for line in commands)


@dataclass(frozen=True, slots=True)
class HonestProof:
    name: str
    statement: Statement
    tactics: tuple[str, ...]


def _file(name: str, source: str, theorems: int = 1, reference: str | None = None) -> HonestFile:
    return HonestFile(name, source, theorems, reference)


def _prove(name: str, text: str, *tactics: str) -> HonestProof:
    return HonestProof(name, Proposition(text), tactics)


def _library(name: str, *tactics: str) -> HonestProof:
    return HonestProof(f"library {name}", LibraryConstant(name), tactics)


def _text(name: str, source: str, *tactics: str) -> HonestProof:
    return HonestProof(name, TheoremText(source), tactics)


TREE = """\
inductive Tree (α : Type) where
  | leaf : Tree α
  | node : Tree α → α → Tree α → Tree α

namespace Tree

def mirror {α : Type} : Tree α → Tree α
  | leaf => leaf
  | node l x r => node r.mirror x l.mirror

"""

MATCHED = "(n : Nat) : (match n with | 0 => True | _ => n > 0)"
BOUNDED = "(x : Fin 5) (h : x = ⟨2, by omega⟩) : x.val = 2"

HONEST: tuple[HonestFile, ...] = (
    _file("rfl", "theorem a : 2 + 2 = 4 := rfl\n"),
    _file("several", "theorem a : 1 = 1 := rfl\ntheorem b : a = a := rfl\n", 2),
    _file("decide", "theorem a : ∀ b : Bool, (!!b) = b := by decide\n"),
    _file("decide in the kernel", "theorem a : (List.range 50).length = 50 := by decide +kernel\n"),
    _file("omega", "theorem a (x y : Int) (h : 2 * x + 1 = 2 * y) : False := by omega\n"),
    _file("grind", "theorem a (f : Nat → Nat) (h : f 0 = 1) (g : x = 0) : f x = 1 := by grind\n"),
    _file("simp", "theorem a (l : List Nat) : (l ++ []).length = l.length := by simp\n"),
    _file("term", "theorem a {p q : Prop} : p ∧ q → q ∧ p := fun ⟨x, y⟩ => ⟨y, x⟩\n"),
    _file(
        "a reference met",
        "theorem aux (n : Nat) : n + 0 = n := rfl\n\ntheorem a (n : Nat) : 0 + n = n := by\n"
        "  rw [Nat.add_comm]\n  exact aux n\n",
        2,
        "theorem a (n : Nat) : 0 + n = n := by\n  sorry\n",
    ),
    _file(
        "a reference with definitions",
        "def double (n : Nat) : Nat := n + n\n\n"
        "theorem helper (n : Nat) : double n = 2 * n := by unfold double; omega\n\n"
        "theorem even (n : Nat) : double n % 2 = 0 := by\n  rw [helper]\n  omega\n",
        2,
        "def double (n : Nat) : Nat := n + n\n\ntheorem even (n : Nat) : double n % 2 = 0 := sorry\n",
    ),
    _file(
        "a reference with two goals",
        "theorem a : 1 + 1 = 2 := rfl\n\ntheorem b (p : Prop) (h : p) : p ∨ False := Or.inl h\n",
        2,
        "theorem a : 1 + 1 = 2 := sorry\n\ntheorem b (p : Prop) (h : p) : p ∨ False := sorry\n",
    ),
    _file(
        "a reference written otherwise",
        "theorem a (m k : Nat) (h : m < k) : ¬ k ≤ m := by\n  omega\n",
        1,
        "theorem a (n m : Nat) : n < m → ¬ (m ≤ n) := by sorry\n",
    ),
    _file(
        "a reference with a namespace",
        TREE + "theorem mirror_mirror {α : Type} (t : Tree α) : t.mirror.mirror = t := by\n"
        "  induction t with\n  | leaf => rfl\n  | node l x r hl hr => simp [mirror, hl, hr]\n\n"
        "end Tree\n",
        1,
        TREE + "theorem mirror_mirror {α : Type} (t : Tree α) : t.mirror.mirror = t := by\n"
        "  sorry\n\nend Tree\n",
    ),
    _file(
        "a helper shares a match with the statement",
        f"theorem h {MATCHED} := by cases n <;> simp\n\ntheorem a {MATCHED} := h n\n",
        2,
        f"theorem a {MATCHED} := by\n  sorry\n",
    ),
    _file(
        "two theorems that share a match, in the other order",
        f"theorem b {MATCHED} := by cases n <;> simp\n\ntheorem a {MATCHED} := by cases n <;> simp\n",
        2,
        f"theorem a {MATCHED} := sorry\n\ntheorem b {MATCHED} := sorry\n",
    ),
    _file(
        "a helper shares a proof with the statement",
        f"theorem h {BOUNDED} := by simp [h]\n\ntheorem a {BOUNDED} := by simp [h]\n",
        2,
        f"theorem a {BOUNDED} := sorry\n",
    ),
    _file(
        "a helper shares an index with the statement",
        "theorem h (l : List Nat) (p : 0 < l.length) : l[0] = l[0] + 0 := rfl\n\n"
        "theorem a (l : List Nat) (p : 0 < l.length) : l[0] + 0 = l[0] := rfl\n",
        2,
        "theorem a (l : List Nat) (p : 0 < l.length) : l[0] + 0 = l[0] := sorry\n",
    ),
    _file(
        "unseal and seal",
        "@[irreducible] def q : Nat := 1\n\nunseal q in\ntheorem a : q = 1 := rfl\n\nunseal q\n\ntheorem b : q = 1 := rfl\n\nseal q\n",
        2,
    ),
    _file(
        "notation among the helpers",
        'local notation "two" => (2 : Nat)\ninfixl:65 " +++ " => Nat.add\n\n'
        "theorem h : 1 +++ 1 = two := rfl\n\ntheorem a : 1 + 1 = 2 := h\n",
        2,
        "theorem a : 1 + 1 = 2 := sorry\n",
    ),
    _file(
        "an unused attribute of the reference is gone",
        "def f (n : Nat) : Nat := n + 1\n\ntheorem a : f 1 = 2 := rfl\n",
        1,
        "def f (n : Nat) : Nat := n + 1\n\nattribute [simp] f\n\ntheorem a : f 1 = 2 := sorry\n",
    ),
    _file(
        "universes by other names",
        "theorem a.{v} {α : Type v} (x : α) : x = x := rfl\n",
        1,
        "theorem a.{u} {α : Type u} (x : α) : x = x := sorry\n",
    ),
    _file(
        "induction with cases",
        "theorem a (n : Nat) : 0 + n = n := by\n  induction n with\n  | zero => rfl\n"
        "  | succ k ih =>\n    rw [← Nat.add_assoc, ih]\n",
    ),
    _file(
        "strong induction",
        "theorem a (P : Nat → Prop) (h : ∀ n, (∀ m, m < n → P m) → P n) (n : Nat) : P n := by\n"
        "  induction n using Nat.strongRecOn with\n  | ind k ih => exact h k ih\n",
    ),
    _file(
        "recursion as induction",
        "theorem a : (n : Nat) → 0 + n = n\n  | 0 => rfl\n"
        "  | k + 1 => congrArg Nat.succ (a k)\n",
    ),
    _file(
        "cases and bullets",
        "theorem a (p q r : Prop) : p ∧ (q ∨ r) ↔ (p ∧ q) ∨ (p ∧ r) := by\n  constructor\n"
        "  · rintro ⟨hp, hq | hr⟩\n    · left\n      exact ⟨hp, hq⟩\n    · right\n      exact ⟨hp, hr⟩\n"
        "  · rintro (⟨hp, hq⟩ | ⟨hp, hr⟩)\n    · exact ⟨hp, .inl hq⟩\n    · exact ⟨hp, .inr hr⟩\n",
    ),
    _file(
        "obtain and exists",
        "theorem a (h : ∃ x : Nat, x > 3 ∧ x < 5) : ∃ y : Nat, y = 4 := by\n"
        "  obtain ⟨x, hgt, hlt⟩ := h\n  have hx : x = 4 := by omega\n  exists x\n",
    ),
    _file(
        "match in tactics",
        "theorem a (n : Nat) : n = 0 ∨ 0 < n := by\n  match n with\n  | 0 => exact Or.inl rfl\n"
        "  | k + 1 => exact Or.inr (Nat.succ_pos k)\n",
    ),
    _file(
        "calc in tactics",
        "theorem a (x y z : Nat) (h : x = y) (g : y = z + 1) : x = 1 + z := by\n"
        "  calc x = y := h\n    _ = z + 1 := g\n    _ = 1 + z := by rw [Nat.add_comm]\n",
    ),
    _file(
        "calc as a term",
        "theorem a {x y z : Nat} (h : x ≤ y) (g : y < z) : x < z :=\n  calc\n    x ≤ y := h\n"
        "    _ < z := g\n",
    ),
    _file(
        "conv",
        "theorem a (x y : Nat) (h : y = x) : (x + y) * 1 = x + x := by\n  conv =>\n    lhs\n"
        "    rw [Nat.mul_one, h]\n",
    ),
    _file(
        "have suffices show",
        "theorem a (p q : Prop) (hp : p) (hpq : p → q) : q ∧ p := by\n"
        "  suffices h : q from ⟨h, hp⟩\n  have step := hpq hp\n  show q\n  exact step\n",
    ),
    _file(
        "term chain",
        "theorem a (p q r : Prop) (f : p → q) (g : q → r) (hp : p) : r :=\n  have hq : q := f hp\n"
        "  show r from\n    g\n      hq\n",
    ),
    _file(
        "all_goals and first",
        "theorem a (p q : Prop) (hp : p) (hq : q) : p ∧ q ∧ p := by\n  refine ⟨?_, ?_, ?_⟩\n"
        "  all_goals first | exact hp | exact hq\n",
    ),
    _file(
        "then for all",
        "theorem a (b c : Bool) : (b && c) = (c && b) := by cases b <;> cases c <;> rfl\n",
    ),
    _file("nofun", "theorem a : ¬ (1 : Nat) = 0 := nofun\ntheorem b (h : False) : 1 = 2 := nomatch h\n", 2),
    _file(
        "injection and subst",
        "theorem a (x y : Nat) (h : x + 1 = y + 1) : x = y := by\n  injection h with h\n"
        "theorem b (x y : Nat) (h : x = y) : y = x := by\n  subst h\n  rfl\n",
        2,
    ),
    _file(
        "split",
        "theorem a (n : Nat) : (if n = 0 then 1 else n) ≠ 0 := by\n  split\n  · decide\n"
        "  · assumption\n",
    ),
    _file(
        "structure",
        "structure Point where\n  x : Nat\n  y : Nat\n  deriving DecidableEq\n\n"
        "def Point.swap (p : Point) : Point := { x := p.y, y := p.x }\n\n"
        "@[simp] theorem Point.swap_swap (p : Point) : p.swap.swap = p := by cases p; rfl\n\n"
        "theorem two : (Point.mk 1 2).swap = ⟨2, 1⟩ := by decide\n",
        2,
    ),
    _file(
        "inductive predicate",
        "inductive Even : Nat → Prop\n  | zero : Even 0\n  | step (n : Nat) : Even n → Even (n + 2)\n\n"
        "theorem four : Even 4 := .step _ (.step _ .zero)\n\n"
        "theorem not_one : ¬ Even 1 := by\n  intro h\n  cases h\n\n"
        "theorem double (n : Nat) : Even (n + n) := by\n  induction n with\n  | zero => exact .zero\n"
        "  | succ k ih =>\n    have : k + 1 + (k + 1) = k + k + 2 := by omega\n    rw [this]\n"
        "    exact .step _ ih\n",
        3,
    ),
    _file(
        "mutual recursion",
        "mutual\ndef isEven : Nat → Bool\n  | 0 => true\n  | n + 1 => isOdd n\n"
        "def isOdd : Nat → Bool\n  | 0 => false\n  | n + 1 => isEven n\nend\n\n"
        "theorem even_four : isEven 4 = true := by simp [isEven, isOdd]\n",
    ),
    _file(
        "mutual theorems",
        "inductive Ev : Nat → Prop\n  | z : Ev 0\n  | s : Ev n → Ev (n + 2)\n\nmutual\n"
        "theorem up : (n : Nat) → 0 ≤ n\n  | 0 => Nat.le_refl 0\n  | n + 1 => Nat.le_succ_of_le (down n)\n"
        "theorem down : (n : Nat) → 0 ≤ n\n  | 0 => Nat.le_refl 0\n  | n + 1 => Nat.le_succ_of_le (up n)\n"
        "end\n",
        2,
    ),
    _file(
        "well-founded recursion",
        "def log2 (n : Nat) : Nat := if n ≤ 1 then 0 else log2 (n / 2) + 1\ntermination_by n\n"
        "decreasing_by omega\n\n"
        "theorem log2_one : log2 1 = 0 := by\n  unfold log2\n  simp\n",
    ),
    _file(
        "well-founded theorem",
        "theorem a (n : Nat) : n % 2 = 0 ∨ n % 2 = 1 :=\n  if h : n < 2 then by omega\n"
        "  else by\n    have := a (n - 2)\n    omega\ntermination_by n\n",
    ),
    _file(
        "partial beside a theorem",
        "partial def collatz (n : Nat) : Nat := if n ≤ 1 then 0 else collatz (n / 2) + 1\n\n"
        "theorem a : 1 + 1 = 2 := rfl\n",
    ),
    _file(
        "class and instance",
        "class Magma (α : Type u) where\n  op : α → α → α\n\nclass Semi (α : Type u) extends Magma α where\n"
        "  assoc : ∀ a b c : α, op (op a b) c = op a (op b c)\n\n"
        "instance : Semi Nat where\n  op x _ := x\n  assoc _ _ _ := rfl\n\n"
        "theorem four {α : Type u} [Semi α] (a b c d : α) :\n"
        "    Magma.op (Magma.op (Magma.op a b) c) d = Magma.op a (Magma.op b (Magma.op c d)) := by\n"
        "  rw [Semi.assoc, Semi.assoc]\n",
    ),
    _file(
        "local instance",
        "def Mod3 := Fin 3\n\nlocal instance : Add Mod3 := ⟨fun x _ => x⟩\n\n"
        "theorem a (x y : Mod3) (h : x = y) : x + y = y + x := by rw [h]\n",
    ),
    _file(
        "sections and variables",
        "section\nvariable {α : Type} (f : α → α) (x : α)\n\ndef twice : α := f (f x)\n\n"
        "theorem twice_id : twice id x = x := rfl\n\nvariable (h : f x = x)\ninclude h in\n"
        "theorem twice_fix : twice f x = x := by unfold twice; rw [h, h]\nend\n",
        2,
    ),
    _file(
        "namespaces and open in",
        "namespace Deep.Down\ntheorem here : True := trivial\nend Deep.Down\n\n"
        "open Deep.Down in\ntheorem there : True := here\n\nopen Deep\n"
        "theorem again : True := Down.here\n",
        3,
    ),
    _file(
        "universes",
        "universe u v\n\ntheorem a {α : Type u} {β : Type v} (f : α → β) (x y : α) (h : x = y) :\n"
        "    f x = f y := h ▸ rfl\n\ntheorem b.{w} (α : Sort w) (x : α) : x = x := rfl\n",
        2,
    ),
    _file(
        "where clause",
        "theorem a (n : Nat) : n * 0 + 0 = 0 := by\n  rw [step n]\nwhere\n"
        "  step (n : Nat) : n * 0 = 0 := Nat.mul_zero n\n",
    ),
    _file(
        "let rec",
        "theorem a (n : Nat) : n ≤ n + n := by\n"
        "  let rec go : (k : Nat) → k ≤ k + k\n    | 0 => Nat.le_refl 0\n"
        "    | k + 1 => by have := go k; omega\n  exact go n\n",
    ),
    _file(
        "a function named eval",
        "inductive Term where\n  | lit (n : Nat)\n  | add (a b : Term)\n\n"
        "def Term.eval : Term → Nat\n  | .lit n => n\n  | .add a b => a.eval + b.eval\n\n"
        "def eval (t : Term) : Nat := t.eval\n\n"
        "theorem eval_add_comm (a b : Term) : eval (.add a b) = eval (.add b a) := by\n"
        "  simp only [eval, Term.eval]\n  exact Nat.add_comm _ _\n",
    ),
    _file(
        "hypotheses named like tactics",
        "theorem a (hint init native : Nat) (says : hint = init) (h : init = native) :\n"
        "    hint = native := by\n  rw [says, h]\n",
    ),
    _file("a binder named hint", "theorem a (p : Prop) (hint : p) : p := hint\n"),
    _file(
        "hint in a pattern",
        "theorem a (p q : Prop) (h : p ∨ q) : q ∨ p := by\n  obtain h | hint := h\n  · exact .inr h\n"
        "  · exact Or.inl\n      hint\n",
    ),
    _file("have named native", "theorem a (p : Prop) (h : p) : p := by\n  have native := h\n  exact native\n"),
    _file(
        "an argument named stop",
        "theorem a (start stop : Nat) (h : start < stop) : 0 < stop := by omega\n\n"
        "theorem b (l : Array Nat) (k : Nat) (h : l.foldl (· + ·) 0 (stop := k) = 0) :\n"
        "    l.foldl (· + ·) 0 0 k = 0 := h\n",
        2,
    ),
    _file(
        "simp only everywhere",
        "theorem a (x y : Nat) (h : x + 0 = y) (g : y * 1 = 3) : x = 3 := by\n"
        "  simp only [Nat.add_zero, Nat.mul_one] at *\n  rw [h]\n  exact g\n",
    ),
    _file(
        "rw at",
        "theorem a (x y z : Nat) (h : x = y) (g : x + z = 5) : y + z = 5 := by\n  rw [h] at g\n"
        "  exact g\n",
    ),
    _file("funext", "theorem a (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g := by\n  funext x\n  exact h x\n"),
    _file(
        "classical",
        "theorem a (p q : Prop) (h : ¬ p → q) : p ∨ q := by\n  by_cases hp : p\n  · exact .inl hp\n"
        "  · exact .inr (h hp)\n\ntheorem b (p : Prop) : ¬ ¬ p → p := fun h =>\n"
        "  (Classical.em p).elim id (fun n => absurd n h)\n",
        2,
    ),
    _file(
        "choice",
        "noncomputable def pick {α : Type} (h : Nonempty α) : α := Classical.choice h\n\n"
        "theorem a (r : Nat → Nat → Prop) (h : ∀ x, ∃ y, r x y) : ∃ f : Nat → Nat, ∀ x, r x (f x) :=\n"
        "  ⟨fun x => Classical.choose (h x), fun x => Classical.choose_spec (h x)⟩\n",
    ),
    _file(
        "quotients",
        "def parity : Setoid Nat where\n  r a b := a % 2 = b % 2\n  iseqv := {\n    refl := fun _ => rfl\n"
        "    symm := fun h => h.symm\n    trans := fun h g => h.trans g }\n\n"
        "theorem same : (Quotient.mk parity 1) = Quotient.mk parity 3 :=\n  Quotient.sound (s := parity) rfl\n\n"
        "theorem raw {α : Type} (r : α → α → Prop) (a b : α) (h : r a b) :\n"
        "    Quot.mk r a = Quot.mk r b := Quot.sound h\n",
        2,
    ),
    _file(
        "lists",
        "theorem a {α : Type} (l m : List α) : (l ++ m).length = l.length + m.length := by\n"
        "  induction l with\n  | nil => simp\n  | cons x xs ih =>\n"
        "    simp only [List.cons_append, List.length_cons, ih]\n    omega\n",
    ),
    _file("array literals", "theorem a : #[1, 2, 3].size = 3 := rfl\n\ntheorem b : #[1].push 2 = #[1, 2] := rfl\n", 2),
    _file("vectors", "theorem a : (#v[1, 2] : Vector Nat 2).toArray = #[1, 2] := rfl\n"),
    _file("bit vectors", "theorem a (x : BitVec 8) : x + 0#8 = x := by simp\n\ntheorem b : 5#4 &&& 3#4 = 1#4 := by decide\n", 2),
    _file(
        "words in strings and comments",
        "-- sorry, no axiom here: /- admit\n/- sorry /- native_decide -/ macro -/\n"
        "/-- `sorry` is only a word, as is `run_tac`. -/\n"
        'theorem a : "sorry".length = 5 := by decide -- admit\n\n'
        "/-! unsafe axiom -/\n"
        'theorem b : "sorry \\" admit".length = 13 := by decide\n',
        2,
    ),
    _file("raw strings and characters", "theorem a : r#\"a \"sorry\" b\"#.length = 11 := by decide\n\ntheorem b : '\"' ≠ 'a' := by decide\n", 2),
    _file("a quote as a character", "theorem a : '\\'' ≠ '\"' := by decide\n\ntheorem b (x' : Nat) : x' = x' := rfl\n", 2),
    _file("interpolation", 'def greet (n : Nat) : String := s!"{n} is {"not"} {n + 1}"\n\ntheorem a : greet 1 = greet 1 := rfl\n'),
    _file(
        "unicode names",
        "theorem σ₁ {α β : Type} (f : α → β) (x₁ x₂ : α) (h' : x₁ = x₂) : f x₁ = f x₂ := by\n  rw [h']\n\n"
        "theorem «a b» : True := trivial\n\ntheorem ℓ (ε δ : Nat) (h : ε < δ) : ¬ δ ≤ ε := by omega\n",
        3,
    ),
    _file("options", "set_option maxHeartbeats 400000 in\ntheorem a : True := trivial\n\nset_option pp.all true in\ntheorem b : True := by\n  set_option maxRecDepth 1000 in\n  trivial\n", 2),
    _file(
        "attributes",
        "def f (n : Nat) : Nat := n\n\ntheorem f_eq (n : Nat) : f n = n := rfl\nattribute [simp] f_eq\n\n"
        "theorem a (n : Nat) : f (f n) = n := by simp\n\nattribute [local grind =] f_eq\n"
        "attribute [-simp] f_eq\n\ntheorem b (n : Nat) : f (f n) = n := by grind\n\n"
        "@[reducible, inline] def g : Nat := 1\n\n@[ext] structure S where\n  v : Nat\n\n"
        "theorem c (s t : S) (h : s.v = t.v) : s = t := by ext; exact h\n",
        4,
    ),
    _file("private and protected", "private theorem aux : 1 = 1 := rfl\n\nprotected theorem Foo.a : 1 = 1 := aux\n", 2),
    _file("anonymous constructors", "theorem a : ∃ x y : Nat, x + y = 3 ∧ x ≠ y := ⟨1, 2, rfl, by decide⟩\n"),
    _file("exact fun", "theorem a (p q r : Prop) : (p → q) → (q → r) → p → r := by\n  exact fun f g h =>\n    g (f h)\n"),
    _file("example and check", "#check Nat.add_comm\n#print axioms Nat.add_comm\n\nexample : 1 = 1 := rfl\n\ntheorem a : 1 = 1 := rfl\n"),
    _file("instance arguments", "theorem a {α : Type u} [DecidableEq α] (x y : α) : (x == y) = decide (x = y) := by\n  by_cases h : x = y <;> simp [h]\n"),
    _file("subtype without spaces", "def Pos := {n : Nat // 0 < n}\n\ntheorem a (p : Pos) : p.1≠0 := by\n  have := p.2\n  omega\n"),
    _file("arrows of ASCII", "theorem a (x y : Nat) (h : y = x) : x = y /\\ (x = y \\/ False) := by\n  rw [<- h]\n  exact ⟨rfl, .inl rfl⟩\n"),
    _file("configuration", "theorem a (x : Nat) : x + 0 = x := by simp (config := { decide := true })\n\ntheorem b (p : Prop) (h : p) : p ∧ True := by simp (maxSteps := 1000) +contextual [h]\n", 2),
    _file("clauses of aesop", f"{AESOP}\ntheorem a (n : Nat) : n = n := by\n  aesop (config := {{ maxRules := 10 }}) (add safe apply Nat.le_refl, safe (by simp))\n", 1, f"{AESOP}\ntheorem a (n : Nat) : n = n := sorry\n"),
    _file("names that Mathlib makes words of", "theorem polyrith (hint says : Nat) : hint + says = says + hint := by omega\n\nnamespace Batteries\n\ntheorem plausible (trace : Nat) : trace = trace := rfl\n\nend Batteries\n", 2),
    _file("generalize and revert", "theorem a (x y : Nat) (h : x + y = 3) : y + x = 3 := by\n  revert h\n  generalize hz : x + y = z\n  intro h\n  rw [Nat.add_comm]\n  omega\n"),
    _file("contradiction", "theorem a (p : Prop) (h : p) (n : ¬ p) : 1 = 2 := by contradiction\n\ntheorem b (h : 1 = 2) : False := by\n  exfalso\n  cases h\n", 2),
    _file("by_contra through absurd", "theorem a (n : Nat) (h : n ≠ 0) : 0 < n := by\n  apply Nat.pos_of_ne_zero\n  intro e\n  exact absurd e h\n"),
    _file("tabular cases", "theorem a (x : Fin 3) : x = 0 ∨ x = 1 ∨ x = 2 := by\n  match x with\n  | 0 => simp\n  | 1 => simp\n  | 2 => simp\n"),
    _file("deriving", "inductive Colour\n  | red | green\n  deriving DecidableEq, Repr\n\nderiving instance Inhabited for Colour\n\ntheorem a : Colour.red ≠ .green := by decide\n"),
    _file("grind pattern", "def h (n : Nat) : Nat := n + 1\n\ntheorem h_pos (n : Nat) : 0 < h n := Nat.succ_pos n\n\ngrind_pattern h_pos => h n\n\ntheorem a (n : Nat) : h n ≠ 0 := by grind\n", 2),
    _file("functional induction", "def len : List Nat → Nat\n  | [] => 0\n  | _ :: t => len t + 1\n\ntheorem a (l : List Nat) : len l = l.length := by\n  fun_induction len l with\n  | case1 => rfl\n  | case2 x t ih => simp [ih]\n"),
    _file("export and abbreviations", "namespace N\ndef k : Nat := 3\nend N\n\nexport N (k)\n\nabbrev Num := Nat\n\ntheorem a : (k : Num) = 3 := rfl\n"),
    _file("coercions", "theorem a (n : Nat) : ((n : Int) + 1) = ((n + 1 : Nat) : Int) := by\n  simp\n\ntheorem b (x : Rat) (h : x⁻¹ = 2) : 2 = x⁻¹ := h.symm\n", 2),
    _file("a module doc first", "/-!\n# A file\nwith a title\n-/\n\ntheorem a : 1 = 1 := rfl\n", 1, "/-!\n# A file\nwith a title\n-/\n\ntheorem a : 1 = 1 := sorry\n"),
    _file("noncomputable section", "noncomputable section\ndef f : Nat := Classical.choice ⟨1⟩\n\ntheorem a : f = f := rfl\nend\n"),
    _file("no final newline", "theorem a : 1 = 1 := rfl"),
    _file("semicolons", "theorem a (p q : Prop) (h : p ∧ q) : q ∧ p := by cases h; constructor; assumption; assumption\n"),
    _file("a structure with a stop", "structure Span where\n  start : Nat\n  stop : Nat\n\ntheorem a : ({ start := 1, stop := 2 } : Span).stop = 2 := rfl\n"),
    _file("an open definition as a theorem", "theorem a (n : Nat) : n % 2 = 0 ∨ n % 2 = 1 := by omega\n", 1, "def a (n : Nat) : n % 2 = 0 ∨ n % 2 = 1 := sorry\n"),
    _file("a definition by an open theorem", "theorem T : 1 = 1 := rfl\ndef H : 1 = 1 := T\n", 1, "theorem T : 1 = 1 := sorry\ndef H : 1 = 1 := T\n"),
    _file("a type by an open theorem", "theorem T : 2 < 3 := by decide\ninductive Foo : Fin 3 → Prop\n  | mk : Foo ⟨2, T⟩\n", 1, "theorem T : 2 < 3 := sorry\ninductive Foo : Fin 3 → Prop\n  | mk : Foo ⟨2, T⟩\n"),
    _file("an open end of a recursion", "def down (n : Nat) : Nat := if h : n = 0 then 0 else down (n - 1)\ntermination_by n\ndecreasing_by omega\n", 1, "def down (n : Nat) : Nat := if h : n = 0 then 0 else down (n - 1)\ntermination_by n\ndecreasing_by sorry\n"),
    _file("a closed example in the reference", "theorem t : 1 = 1 := rfl\n", 1, "theorem t : 1 = 1 := sorry\nexample : 2 = 2 := rfl\n"),
    _file("a partial helper", "partial def loop (n : Nat) : Nat := loop (n + 1)\ntheorem t : 1 = 1 := rfl\n", 1, "theorem t : 1 = 1 := sorry\n"),
)  # fmt: skip

HONEST_PROOFS: tuple[HonestProof, ...] = (
    _prove("rfl", "2 + 2 = 4", "rfl"),
    _prove("intro and omega", "∀ n : Nat, n < n + 1", "intro n", "omega"),
    _prove("many steps", "∀ p q : Prop, p ∧ q → q ∧ p", "intro p q h", "obtain ⟨hp, hq⟩ := h", "exact ⟨hq, hp⟩"),
    _prove("bullets", "∀ p : Prop, p ↔ p", "intro p", "constructor", "· exact id", "· exact id"),
    _prove("nested bullets", "∀ p q : Prop, p → q → (p ∧ q) ∧ True", "intro p q hp hq", "constructor\n· constructor\n  · exact hp\n  · exact hq\n· trivial"),
    _prove("indented already", "∀ n : Nat, n = n ∧ True", "  intro n", "    refine ⟨?_, ?_⟩", "  · rfl\n  · trivial"),
    _prove("structured induction", "∀ n : Nat, 0 + n = n", "intro n", "induction n with\n| zero => rfl\n| succ k ih => rw [← Nat.add_assoc, ih]"),
    _prove("goals by name", "∀ b : Bool, (b || true) = true", "intro b", "cases b", "case false => rfl", "case true => rfl"),
    _prove("calc", "∀ a b : Nat, a = b → a + 0 = b", "intro a b h", "calc a + 0 = a := Nat.add_zero a\n  _ = b := h"),
    _prove("have with a block", "∀ n : Nat, n ≤ n * n + n", "intro n", "have h : 0 ≤ n * n := by\n  exact Nat.zero_le _", "omega"),
    _prove("a comment in it", "1 = 1", "-- sorry is only a word\nrfl"),
    _prove("a string in it", '"sorry" ≠ "admit"', "decide"),
    _prove("where in it", "∀ n : Nat, n + 0 = n", "exact step\nwhere step (n : Nat) : n + 0 = n := rfl"),
    _prove("let rec in it", "∀ n : Nat, 0 ≤ n", "let rec go : (n : Nat) → 0 ≤ n\n  | 0 => Nat.le_refl 0\n  | k + 1 => Nat.le_succ_of_le (go k)", "exact go"),
    HonestProof("universe level", Proposition("∀ (α : Type u) (x : α), x = x", ("u",)), ("intro α x", "rfl")),
    _prove("an array", "#[1, 2].size = 2", "show #[1, 2].size = 2", "rfl"),
    _prove("match", "∀ o : Option Nat, o = none ∨ ∃ x, o = some x", "intro o", "match o with\n| none => exact .inl rfl\n| some x => exact .inr ⟨x, rfl⟩"),
    _prove("classical", "∀ p : Prop, p ∨ ¬ p", "intro p", "exact Classical.em p"),
    _prove("empty lines", "True ∧ True", "constructor\n\n\n· trivial", "\n· trivial\n"),
    _text("binders", "theorem t (p q : Prop) (hp : p) : p ∨ q := by sorry", "exact Or.inl hp"),
    _text("opens and variables", "open Nat\nvariable (n : Nat)\n\ntheorem t (h : n = 0) : n + n = 0 := sorry", "subst h", "rfl"),
    _text("definitions before", "def f (n : Nat) := n + 1\n\ntheorem t (n : Nat) : f n ≠ 0 :=", "unfold f", "omega"),
    _text("open in", "open Nat in\ntheorem t : 1 ≤ 2 := by", "exact le_succ 1"),
    _text("comment behind", "theorem t : 1 = 1 := by\n  sorry -- to do", "rfl"),
    _library(
        "Nat.add_comm", "intro n m",
        "have z : ∀ k : Nat, 0 + k = k := by\n  intro k\n  induction k using Nat.rec with\n  | zero => rfl\n"
        "  | succ k ih => exact congrArg Nat.succ ih",
        "have s : ∀ a b : Nat, Nat.succ a + b = Nat.succ (a + b) := by\n  intro a b\n"
        "  induction b using Nat.rec with\n  | zero => rfl\n  | succ k ih => exact congrArg Nat.succ ih",
        "induction m using Nat.rec with\n| zero => exact (z n).symm\n"
        "| succ k ih => exact (congrArg Nat.succ ih).trans (s k n).symm",
    ),
    # The eliminator that `induction` takes, Nat.recAux, stands in the theorem's own module.
    _library("Nat.zero_add", "intro n", "induction n with\n| zero => rfl\n| succ k ih => exact congrArg Nat.succ ih"),
    _library("List.append_nil", "intro α as", "induction as with\n| nil => rfl\n| cons x xs ih => exact congrArg (List.cons x) ih"),
    _library("List.length_map", "intro α β as f", "induction as with\n| nil => rfl\n| cons x xs ih => exact congrArg Nat.succ ih"),
    _library("and_comm", "intro a b", "exact Iff.intro (fun h => ⟨h.2, h.1⟩) (fun h => ⟨h.2, h.1⟩)"),
    _library("Option.map_id", "intro α", "funext o", "cases o with\n| none => rfl\n| some x => rfl"),
    _library("Bool.and_comm", "intro x y", "cases x <;> cases y <;> rfl"),
)  # fmt: skip

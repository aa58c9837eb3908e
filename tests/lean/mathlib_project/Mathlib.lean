/-
A stand-in for Mathlib, for machines without it: tactics of those names, with the grammar that Mathlib's have, which
expand to tactics of core Lean; and types that print as Mathlib's do. They prove far less than the real ones.
-/

open Lean.Parser.Tactic

/-! ## Types -/

abbrev Real := Rat
notation "ℝ" => Real
notation "ℕ" => Nat
notation "ℤ" => Int
notation "ℚ" => Rat

structure Complex where
  re : ℝ
  im : ℝ
notation "ℂ" => Complex

theorem Complex.ext {z w : ℂ} (hr : z.re = w.re) (hi : z.im = w.im) : z = w := by
  cases z; cases w; simp_all

def Set (α : Type u) := α → Prop
instance : Membership α (Set α) := ⟨fun s x => s x⟩
instance : HasSubset (Set α) := ⟨fun s t => ∀ x, x ∈ s → x ∈ t⟩
instance : Inter (Set α) := ⟨fun s t x => x ∈ s ∧ x ∈ t⟩

structure Finset (α : Type u) where
  items : List α
instance : Membership α (Finset α) := ⟨fun s x => x ∈ s.items⟩

def Finset.range (n : Nat) : Finset Nat := ⟨List.range n⟩
def Finset.sum [Add β] [OfNat β 0] (s : Finset α) (f : α → β) : β := s.items.foldl (fun a x => a + f x) 0

syntax "∑ " ident " ∈ " term ", " term:67 : term
macro_rules | `(∑ $x ∈ $s, $f) => `(Finset.sum $s (fun $x => $f))
@[app_unexpander Finset.sum] def Finset.unexpandSum : Lean.PrettyPrinter.Unexpander
  | `($_ $s fun $x:ident => $f) => `(∑ $x ∈ $s, $f)
  | _ => throw ()

@[simp] theorem Finset.sum_range_zero [Add β] [OfNat β 0] (f : Nat → β) : ∑ i ∈ Finset.range 0, f i = 0 := rfl
theorem Finset.sum_range_succ [Add β] [OfNat β 0] (f : Nat → β) (n : Nat) :
    ∑ i ∈ Finset.range (n + 1), f i = ∑ i ∈ Finset.range n, f i + f n := by
  simp [Finset.sum, Finset.range, List.range_succ]

/-! ## Lemmas that rules name -/

theorem sq_nonneg (a : ℝ) : 0 ≤ a ^ 2 := by
  rw [Rat.pow_succ, Rat.pow_succ, Rat.pow_zero, Rat.one_mul]
  rcases Rat.le_total (a := 0) (b := a) with h | h
  · exact Rat.mul_nonneg h h
  · have := Rat.mul_nonneg (a := -a) (b := -a) (by grind) (by grind)
    grind

/-! ## Tactics -/

syntax "norm_num" optConfig (simpArgs)? (location)? : tactic
macro_rules
  | `(tactic| norm_num $_:optConfig $[$_:simpArgs]?) => `(tactic| first | (simp; done) | grind)
  | `(tactic| norm_num $_:optConfig $[$_:simpArgs]? $_:location) => `(tactic| simp at *)
syntax "linarith" "!"? optConfig (&" only")? (" [" term,* "]")? : tactic
macro_rules
  | `(tactic| linarith $[!]? $_:optConfig $[only]? $[[$ts,*]]?) => `(tactic| first | omega | grind)
syntax "nlinarith" "!"? optConfig (&" only")? (" [" term,* "]")? : tactic
macro_rules
  | `(tactic| nlinarith $[!]? $_:optConfig $[only]?) => `(tactic| grind)
  | `(tactic| nlinarith $[!]? $_:optConfig $[only]? [$t]) => `(tactic| (try have := $t); grind)
  | `(tactic| nlinarith $[!]? $_:optConfig $[only]? [$t, $_,*]) => `(tactic| (try have := $t); grind)
macro "positivity" : tactic => `(tactic| first | omega | grind | simp)
macro "ring" : tactic => `(tactic| first | rfl | ac_rfl | grind)
syntax "ring_nf" (location)? : tactic
macro_rules | `(tactic| ring_nf $[$_:location]?) => `(tactic| simp [Nat.mul_add, Nat.add_mul])
syntax "field_simp" optConfig (simpArgs)? (location)? : tactic
macro_rules | `(tactic| field_simp $_:optConfig $[$_:simpArgs]? $[$_:location]?) => `(tactic| simp)
syntax "linear_combination" ppSpace colGt term : tactic
macro_rules | `(tactic| linear_combination $_) => `(tactic| grind)
syntax "push_neg" (location)? : tactic
macro_rules | `(tactic| push_neg $[$_:location]?) => `(tactic| simp at *)
syntax "by_contra!" (ppSpace colGt ident)? : tactic
macro_rules
  | `(tactic| by_contra! $h:ident) => `(tactic| refine Classical.byContradiction fun $h => ?_)
  | `(tactic| by_contra!) => `(tactic| refine Classical.byContradiction fun _ => ?_)
syntax "contrapose!" ppSpace colGt ident : tactic
macro_rules | `(tactic| contrapose! $h) => `(tactic| (revert $h:ident; simp))
syntax "interval_cases" ppSpace colGt ident : tactic
macro_rules | `(tactic| interval_cases $x) => `(tactic| (clear $x; skip))
syntax "fin_cases" ppSpace colGt term : tactic
macro_rules | `(tactic| fin_cases $x) => `(tactic| cases $x:term)
macro "gcongr" : tactic => `(tactic| first | omega | grind)
syntax aesopClause := " (" &"config" " := " term ")"
syntax "aesop" (aesopClause)* : tactic
macro_rules | `(tactic| aesop $_*) => `(tactic| simp_all)
macro "tauto" : tactic => `(tactic| grind)
macro "abel" : tactic => `(tactic| grind)
macro "group" : tactic => `(tactic| simp)
macro "noncomm_ring" : tactic => `(tactic| grind)
macro "module" : tactic => `(tactic| grind)
macro "bound" : tactic => `(tactic| grind)
macro "continuity" : tactic => `(tactic| fail)
macro "measurability" : tactic => `(tactic| fail)
macro "fun_prop" : tactic => `(tactic| fail)
syntax "use " term,+ : tactic
macro_rules | `(tactic| use $t) => `(tactic| (refine ⟨$t, ?_⟩; try trivial))
syntax "zify" (location)? : tactic
macro_rules | `(tactic| zify $[$_:location]?) => `(tactic| simp)
syntax "qify" (location)? : tactic
macro_rules | `(tactic| qify $[$_:location]?) => `(tactic| simp)

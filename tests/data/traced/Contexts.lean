/-! What stands before a theorem: namespaces, sections, variables, notation; and proofs that are not by tactics. -/

universe u v

namespace Trace

def double (n : Nat) : Nat := n + n

/-- with a doc comment -/
@[simp] theorem double_zero : double 0 = 0 := by
  rfl

theorem double_eq (n : Nat) : double n = 2 * n := by
  unfold double
  omega

section Variables

variable {α : Type u} {β : Type v} (xs ys : List α)
variable (f : α → β)

theorem length_append : (xs ++ ys).length = xs.length + ys.length := by
  induction xs with
  | nil => simp
  | cons x xs ih => simp [Nat.add_right_comm]

include f in
theorem a_value_of (x : α) : ∃ y : β, y = f x := by
  exists f x

end Variables

section Classes

class Unit' (α : Type u) where
  one : α
  op : α → α → α
  one_op : ∀ a, op one a = a

variable {α : Type u} [Unit' α]

theorem one_one_op (a : α) : (Unit'.op Unit'.one (Unit'.op Unit'.one a) : α) = a := by
  rw [Unit'.one_op]
  exact Unit'.one_op a

instance : Unit' Nat where
  one := 0
  op := (· + ·)
  one_op := by intro a; simp

theorem by_instance (n : Nat) : (Unit'.op Unit'.one n : Nat) = n := by
  apply Unit'.one_op

end Classes

open Nat in
theorem opened (n : Nat) : succ n = n + 1 := by
  rfl

private theorem hidden (n : Nat) : double n = n + n := by
  rfl

protected theorem uses_hidden (n : Nat) : double n ≤ n + n := by
  rw [hidden]
  exact Nat.le_refl _

example (n : Nat) : double n = n + n := by
  exact hidden n

set_option maxRecDepth 2000 in
theorem with_option : double 2 = 4 := by
  decide

theorem by_term (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩

theorem term_with_by (a b : Nat) (h : a < b) : a ≤ b ∧ a ≠ b :=
  ⟨by omega, by
    intro e
    omega⟩

theorem fun_with_by : ∀ n : Nat, n ≤ n + 1 := fun n => by
  apply Nat.le_succ

theorem by_equations : ∀ n : Nat, n = 0 ∨ 0 < n
  | 0 => by left; rfl
  | n + 1 => by
    right
    exact Nat.succ_pos n

theorem recursion : ∀ n : Nat, 0 + n = n
  | 0 => by rfl
  | n + 1 => by rw [Nat.add_succ, recursion n]

theorem well_founded (n : Nat) : n / 2 ≤ n := by
  if h : n < 2 then
    omega
  else
    have := well_founded (n - 2)
    omega
termination_by n

mutual
theorem even_or (n : Nat) : n = 0 ∨ 0 < n := by
  cases n with
  | zero => exact Or.inl rfl
  | succ n => exact odd_or n
theorem odd_or (n : Nat) : n + 1 = 0 ∨ 0 < n + 1 := by
  exact Or.inr (Nat.succ_pos n)
end

theorem where_clause (n : Nat) : n = n := by
  exact aux n
where
  aux (m : Nat) : m = m := by
    rfl

structure Point where
  x : Nat
  y : Nat

@[ext] theorem Point.same (p q : Point) (hx : p.x = q.x) (hy : p.y = q.y) : p = q := by
  cases p
  cases q
  simp_all

inductive Tree (α : Type u) where
  | leaf : Tree α
  | node : Tree α → α → Tree α → Tree α

variable {α : Type u}

def Tree.mirror : Tree α → Tree α
  | leaf => leaf
  | node l x r => node r.mirror x l.mirror

theorem Tree.mirror_mirror (t : Tree α) : t.mirror.mirror = t := by
  induction t with
  | leaf => rfl
  | node l x r ihl ihr =>
    simp only [mirror]
    rw [ihl, ihr]

theorem «a name» (s : String) : s = s := by
  rfl

theorem Unicode.«naïve ∀» (α₁ : Type u) (x' : α₁) : x' = x' := by
  exact rfl

end Trace

theorem _root_.Trace.rooted (n : Nat) : Trace.double n = 2 * n := by
  exact Trace.double_eq n

/-! Tactics that run tactics. -/

theorem both (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor <;> assumption

theorem both_chained (p q r : Prop) (hp : p) (hq : q) (hr : r) : (p ∧ q) ∧ r := by
  constructor <;> (try constructor) <;> assumption

theorem both_in_a_bullet (p q r : Prop) (h : p ∨ q) (hr : r) : (q ∨ p) ∧ r := by
  constructor
  · cases h <;> simp [*]
  · exact hr

theorem both_of_one (n : Nat) (h : n + 0 = 3) : n = 3 := by
  simp at h <;> exact h

theorem both_open (a b : Nat) (h : a = b ∨ b = a) : a + 0 = b := by
  cases h <;> rename_i h <;> (rw [Nat.add_zero])
  · exact h
  · exact h.symm

theorem first_of (n : Nat) : n + 1 > n := by
  first
  | exact absurd rfl
  | rfl
  | omega

theorem first_line (n : Nat) : n * 1 = n := by
  first | done | (rw [Nat.mul_comm]; rfl) | simp

theorem all_of (p q : Prop) (hp : p) (hq : q) : p ∧ q ∧ p := by
  refine ⟨?_, ?_, ?_⟩
  all_goals assumption

theorem all_then_rest (a b : Nat) (h : a = b) : a + 0 = b ∧ b + 0 = a := by
  constructor
  all_goals rw [Nat.add_zero]
  · exact h
  · exact h.symm

theorem any_of (p q : Prop) (hp : p) (hq : p → q) : p ∧ q := by
  constructor
  any_goals exact hp
  exact hq hp

theorem tried (n m : Nat) (h : n = m) : m = n := by
  try rfl
  try simp only [Nat.add_comm]
  symm
  exact h

theorem repeated (p q r s : Prop) (hp : p) (hq : q) (hr : r) (hs : s) : p ∧ q ∧ r ∧ s := by
  repeat' constructor
  all_goals assumption

theorem repeated_on_the_first (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q ∧ r := by
  repeat (first | assumption | constructor)

theorem repeated_intro : ∀ (a b c : Nat), a = b → b = c → a = c := by
  repeat intro _
  rename_i a b c h₁ h₂
  exact h₁.trans h₂

theorem iterated : ∀ (a b : Nat), a + b = b + a := by
  iterate 2 intro _
  omega

theorem parentheses (p q : Prop) (h : p ∧ q) : q ∧ p := by
  (have hp := h.1; have hq := h.2)
  (constructor; exact hq; exact hp)

theorem semicolons (p q : Prop) : p ∧ q → q := by
  intro h; cases h; assumption

theorem conv_side (a b c : Nat) (h : a * b = c) : b * a + 0 = c := by
  conv =>
    lhs
    rw [Nat.add_zero]
  conv => lhs; rw [Nat.mul_comm]
  exact h

theorem conv_in (a b : Nat) : a + b + 0 = b + a := by
  conv in a + b => rw [Nat.add_comm]
  rfl

theorem rotated (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  rotate_left
  · exact hq
  · exact hp

theorem rotated_in_a_bullet (p q r : Prop) (hp : p) (hq : q) (hr : r) : (p ∧ q) ∧ r := by
  constructor
  · constructor
    rotate_left
    · exact hq
    · exact hp
  · exact hr

theorem all_in_a_bullet (p q r : Prop) (hp : p) (hr : r) (hq : p → q) : (p ∧ q) ∧ r := by
  constructor
  · constructor
    all_goals try apply hq
    all_goals exact hp
  · exact hr

theorem a_goal_that_another_assigns : ∃ n : Nat, n + 2 = 5 := by
  apply Exists.intro
  · show 3 + 2 = 5
    rfl

theorem options_and_opens (a b : Nat) : Nat.succ a = b → b = a + 1 := by
  intro h
  set_option maxRecDepth 1000 in
  open Nat in
  rw [← h, succ_eq_add_one]

theorem dot_then (xs : List Nat) : xs ++ [] = xs := by
  cases xs with
  | nil => rfl
  | cons x xs =>
    simp only [List.cons_append]
    congr <;> simp

theorem an_exact_with_by (a b : Nat) (h : a < b) : a ≤ b ∧ a ≠ b := by
  exact ⟨by omega, fun e => by
    rw [e] at h
    exact Nat.lt_irrefl b h⟩

theorem a_rewrite_with_by (a b : Nat) (h : b ≤ a) : a - b + b = a := by
  rw [Nat.sub_add_cancel (by exact h)]

theorem a_long_tactic (a b c d : Nat) (h : a = b) (h' : c = d) :
    a + c + 0 = b + d := by
  simp only [
    h,
    h', Nat.add_zero]

theorem comments (p : Prop) (hp : p) : p ∧ True := by
  -- two goals
  constructor
  · /- the first -/ exact hp -- done
  -- the second
  · trivial

theorem specialised (p : Nat → Prop) (h : ∀ n, p n → p (n + 1)) (h0 : p 0) : p 2 := by
  have h1 := h 0 h0
  specialize h 1 h1
  exact h

theorem contradicted (n : Nat) (h : n < 0) : False := by
  exact absurd h (by simp)

theorem split_up (n : Nat) : (if n = 0 then 0 else n) = n := by
  split
  next h => exact h.symm
  next => rfl

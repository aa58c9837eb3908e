/-! Proofs in blocks: bullets, cases, alternatives, and what is stated on the way. -/

theorem bullets (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  · exact hp
  · exact hq

theorem nested_bullets (p q r : Prop) (h : p ∨ q) (hr : r) : (p ∨ q) ∧ (r ∧ (q ∨ p)) := by
  constructor
  · cases h
    · apply Or.inl
      assumption
    · apply Or.inr
      assumption
  · constructor
    · exact hr
    · cases h with
      | inl hp => right; exact hp
      | inr hq =>
        left
        exact hq

theorem ascii_bullets (p q : Prop) (h : p ∧ q) : q ∧ p := by
  apply And.intro
  . exact h.right
  . exact h.left

theorem by_case (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h
  case inl hp => exact Or.inr hp
  case inr hq => exact Or.inl hq

theorem case_out_of_order (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h
  case inr hq =>
    left
    exact hq
  case inl hp =>
    right
    exact hp

theorem case_shared (p q : Prop) (h : p ∨ q) (hr : p → q) : q := by
  cases h
  case inl | inr => simp_all

theorem by_next (n : Nat) (h : n = 0 ∨ n = 1) : n < 2 := by
  rcases h with h | h
  next => omega
  next =>
    subst h
    decide

theorem next_names (n : Nat) : n = 0 ∨ 0 < n := by
  cases n
  next => left; rfl
  next m => right; exact Nat.succ_pos m

theorem braces (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  { exact hp }
  { exact hq }

theorem focused (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  focus
    skip
    exact hp
  exact hq

theorem induction_with (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.add_succ, ih]

theorem induction_generalizing (xs ys : List Nat) : (xs ++ ys).length = ys.length + xs.length := by
  induction xs generalizing ys with
  | nil => simp
  | cons x xs ih =>
    have h := ih ys
    simp only [List.cons_append, List.length_cons]
    omega

theorem induction_wildcard (n : Nat) : n * 0 = 0 := by
  induction n with
  | zero => rfl
  | _ => simp

theorem induction_first_tactic (n : Nat) : n ≤ n + n := by
  induction n with skip
  | zero => exact Nat.le_refl 0
  | succ n ih => omega

theorem induction_using (n : Nat) : n = 0 ∨ 1 ≤ n := by
  induction n using Nat.strongRecOn with
  | ind n ih =>
    by_cases h : n = 0
    · exact Or.inl h
    · right
      omega

theorem induction_bare (n : Nat) : n + 0 = n := by
  induction n
  · rfl
  · rename_i n ih
    simp

theorem nested_cases (p q r : Prop) (h : (p ∨ q) ∧ r) : (p ∧ r) ∨ (q ∧ r) := by
  cases h with
  | intro hpq hr =>
    cases hpq with
    | inl hp =>
      left
      constructor
      · exact hp
      · exact hr
    | inr hq =>
      right
      exact ⟨hq, hr⟩

theorem patterns (α : Type) (p q : α → Prop) (h : ∃ x, p x ∧ (q x ∨ ¬ p x)) : ∃ x, q x := by
  rcases h with ⟨x, hp, hq | hn⟩
  · exact ⟨x, hq⟩
  · exact absurd hp hn

theorem obtained (n : Nat) (h : ∃ k, n = 2 * k) : ∃ k, n * n = 2 * k := by
  obtain ⟨k, rfl⟩ := h
  refine ⟨k * (2 * k), ?_⟩
  rw [Nat.mul_assoc]

theorem obtained_by (n : Nat) : ∃ k, k > n ∧ k > 0 := by
  obtain ⟨m, hm⟩ : ∃ m, m = n + 1 := by
    refine ⟨n + 1, ?_⟩
    rfl
  exact ⟨m, by omega, by omega⟩

theorem introduced : ∀ (p q : Prop), p ∧ q → q ∧ p := by
  rintro p q ⟨hp, hq⟩
  exact ⟨hq, hp⟩

theorem matched (p q : Prop) (h : p ∨ q) : q ∨ p := by
  match h with
  | Or.inl hp => exact Or.inr hp
  | Or.inr hq =>
    apply Or.inl
    exact hq

theorem matched_many (m n : Nat) : m + n = n + m := by
  match m, n with
  | 0, 0 => rfl
  | 0, n + 1 => simp
  | m + 1, n => omega

theorem decided (n : Nat) : n = 0 ∨ n ≠ 0 := by
  if h : n = 0 then
    left
    exact h
  else
    right
    exact h

theorem stated (a b c : Nat) (h₁ : a ≤ b) (h₂ : b ≤ c) : a ≤ c + 1 := by
  have h₃ : a ≤ c := by
    apply Nat.le_trans
    · exact h₁
    · exact h₂
  have h₄ : c ≤ c + 1 := Nat.le_succ c
  exact Nat.le_trans h₃ h₄

theorem stated_twice (n : Nat) (h : 4 ≤ n) : 2 ≤ n := by
  have h2 : 3 ≤ n := by
    have h3 : n = n := by rfl
    omega
  have : 2 ≤ 3 := by decide
  omega

theorem enough (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  suffices h : q ∧ p by
    constructor
    · exact h.2
    · exact h.1
  exact ⟨hq, hp⟩

theorem shown (n : Nat) : n + 1 = Nat.succ n := by
  show n + 1 = n + 1
  rfl

theorem let_in (n : Nat) : ∃ m, m = n + 2 := by
  let k := n + 1
  have hk : k + 1 = n + 2 := by
    show n + 1 + 1 = n + 2
    rfl
  exact ⟨k + 1, hk⟩

theorem chain (a b c d : Nat) (h₁ : a = b) (h₂ : b ≤ c) (h₃ : c = d) : a ≤ d := by
  calc a = b := h₁
    _ ≤ c := by exact h₂
    _ = d := by
      rw [h₃]

theorem chain_of_terms (a b c : Nat) (h₁ : a < b) (h₂ : b < c) : a < c :=
  calc
    a < b := h₁
    _ < c := h₂

theorem chain_with_bullets (a b : Nat) : (a + b) * 2 = b * 2 + a * 2 := by
  calc
    (a + b) * 2 = a * 2 + b * 2 := by rw [Nat.add_mul]
    _ = b * 2 + a * 2 := by
      apply Nat.add_comm

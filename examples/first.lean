/-! Three theorems and their proofs. `burn-qed check examples/first.lean` asks Lean about them. -/

theorem sum_comm (a b : Nat) : a + b = b + a := by
  omega

theorem length_doubled {α : Type} (xs : List α) : (xs ++ xs).length = 2 * xs.length := by
  simp
  omega

/-- The sum of the first `n` odd numbers. -/
def oddSum : Nat → Nat
  | 0 => 0
  | n + 1 => oddSum n + (2 * n + 1)

theorem oddSum_eq (n : Nat) : oddSum n = n * n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [oddSum, ih]
    grind

/-! Sums of numbers. -/

namespace Sums

/-- `1 + 2 + … + n`. -/
def upTo : Nat → Nat
  | 0 => 0
  | n + 1 => upTo n + (n + 1)

@[simp] theorem upTo_zero : upTo 0 = 0 := rfl

@[simp] theorem upTo_succ (n : Nat) : upTo (n + 1) = upTo n + (n + 1) := rfl

theorem two_mul_upTo (n : Nat) : 2 * upTo n = n * (n + 1) := by
  induction n with
  | zero => simp
  | succ n ih =>
    rw [upTo_succ, Nat.mul_add, ih]
    rw [← Nat.add_mul, Nat.mul_comm]

theorem le_upTo (n : Nat) : n ≤ upTo n := by
  cases n with
  | zero => simp
  | succ n =>
    rw [upTo_succ]
    exact Nat.le_add_left _ _

private theorem upTo_mono_one (n : Nat) : upTo n ≤ upTo (n + 1) := by
  simp

theorem upTo_mono {m n : Nat} (h : m ≤ n) : upTo m ≤ upTo n := by
  induction h with
  | refl => exact Nat.le_refl _
  | step _ ih => exact Nat.le_trans ih (upTo_mono_one _)

end Sums

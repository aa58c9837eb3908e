import Coins.Sums

namespace Sums

/-- `1 + 3 + … + (2 n - 1)`. -/
def odds : Nat → Nat
  | 0 => 0
  | n + 1 => odds n + (2 * n + 1)

@[simp] theorem odds_zero : odds 0 = 0 := rfl

@[simp] theorem odds_succ (n : Nat) : odds (n + 1) = odds n + (2 * n + 1) := rfl

theorem odds_eq_square (n : Nat) : odds n = n * n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    simp only [odds_succ, ih]
    rw [Nat.add_mul, Nat.mul_add]
    omega

theorem odds_add_self (n : Nat) : odds n + n = 2 * upTo n := by
  rw [odds_eq_square, two_mul_upTo]
  rw [Nat.mul_add, Nat.mul_one]

theorem odds_le_odds_succ (n : Nat) : odds n ≤ odds (n + 1) := by
  sorry

end Sums

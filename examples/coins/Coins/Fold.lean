import Coins.Purse
import Coins.Squares

/-! Purses filled by a rule, and sums again. -/

namespace Purse

variable {α : Type}

/-- The coins that a rule gives for `0`, `1`, …, `n - 1`, the last one first. -/
def fill (rule : Nat → Coin) : Nat → Purse
  | 0 => []
  | n + 1 => rule n :: fill rule n

theorem length_fill (rule : Nat → Coin) (n : Nat) : (fill rule n).length = n := by
  induction n with
  | zero => rfl
  | succ n ih => simp [fill, ih]

theorem total_fill_const (c : Coin) (n : Nat) : total (fill (fun _ => c) n) = n * c.value := by
  induction n with
  | zero => simp [fill]
  | succ n ih =>
    rw [fill, total_cons, ih, Nat.succ_mul, Nat.add_comm]

theorem total_fill_le (rule : Nat → Coin) (n : Nat) : total (fill rule n) ≤ n * 10 := by
  induction n with
  | zero => simp [fill]
  | succ n ih =>
    have := (rule n).value_le_ten
    rw [fill, total_cons]
    omega

theorem twice_upTo_is_even (n : Nat) : 2 ∣ n * (n + 1) := by
  rw [← Sums.two_mul_upTo]
  exact Nat.dvd_mul_right 2 _

theorem map_id_total (p : Purse) : total (p.map id) = total p := by
  sorry

end Purse

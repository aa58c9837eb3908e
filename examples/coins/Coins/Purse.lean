import Coins.Basic
import Coins.Tactic

/-! A purse is a list of coins. -/

abbrev Purse := List Coin

namespace Purse

open Coin

def total (p : Purse) : Nat := (p.map value).sum

@[simp] theorem total_nil : total [] = 0 := rfl

@[simp] theorem total_cons (c : Coin) (p : Purse) : total (c :: p) = c.value + total p := by
  simp [total]

@[simp] theorem total_append (p q : Purse) : total (p ++ q) = total p + total q := by
  induction p with
  | nil => simp
  | cons c p ih =>
    simp only [List.cons_append, total_cons, ih]
    omega

theorem total_reverse (p : Purse) : total p.reverse = total p := by
  induction p with
  | nil => rfl
  | cons c p ih => rw [List.reverse_cons, total_append, ih]; count_coins

theorem length_le_total (p : Purse) : p.length ≤ total p := by
  induction p with
  | nil => exact Nat.le_refl _
  | cons c p ih =>
    have := value_pos c
    count_coins

theorem total_eq_zero_iff (p : Purse) : total p = 0 ↔ p = [] := by
  cases p with
  | nil => simp
  | cons c p =>
    have := value_pos c
    simp only [total_cons, reduceCtorEq, iff_false]
    omega

theorem total_singleton (c : Coin) : total [c] = c.value := by
  sorry

end Purse

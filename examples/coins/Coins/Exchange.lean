import Coins.Purse

/-! Coins changed into others of the same worth. -/

namespace Coin

open Purse

/-- Coins of one. -/
def ones (n : Nat) : Purse := List.replicate n one

def change : Coin → Purse
  | one => [one]
  | five => ones 5
  | ten => [five, five]

theorem total_ones (n : Nat) : total (ones n) = n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    have step : ones (n + 1) = one :: ones n := rfl
    rw [step, total_cons, ih, value_one, Nat.add_comm]

theorem total_change (c : Coin) : total c.change = c.value := by
  cases c with
  | one => rfl
  | five => exact total_ones 5
  | ten => rfl

def changeAll (p : Purse) : Purse := p.flatMap change

theorem total_changeAll (p : Purse) : total (changeAll p) = total p := by
  induction p with
  | nil => rfl
  | cons c p ih =>
    unfold changeAll at *
    rw [List.flatMap_cons, total_append, total_change, ih, total_cons]

theorem length_ones (n : Nat) : (ones n).length = n := by
  sorry

end Coin

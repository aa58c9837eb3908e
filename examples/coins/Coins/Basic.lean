/-! Coins and what they are worth. -/

inductive Coin where
  | one
  | five
  | ten
  deriving DecidableEq, Repr

namespace Coin

def value : Coin → Nat
  | one => 1
  | five => 5
  | ten => 10

@[simp] theorem value_one : one.value = 1 := rfl
@[simp] theorem value_five : five.value = 5 := rfl
@[simp] theorem value_ten : ten.value = 10 := rfl

theorem value_pos (c : Coin) : 0 < c.value := by
  cases c <;> simp

theorem value_le_ten (c : Coin) : c.value ≤ 10 := by
  cases c
  · simp
  · simp
  · simp

theorem value_injective {c d : Coin} (h : c.value = d.value) : c = d := by
  cases c <;> cases d <;> simp_all [value]

theorem value_ne_zero (c : Coin) : c.value ≠ 0 := by
  sorry

end Coin

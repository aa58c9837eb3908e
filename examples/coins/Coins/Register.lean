import Coins.Exchange

/-! A till that takes and gives coins. -/

structure Register where
  coins : Purse
  owed : Nat

namespace Register

open Purse Coin

def balance (r : Register) : Nat := total r.coins + r.owed

def take (r : Register) (c : Coin) : Register := { r with coins := c :: r.coins }

def lend (r : Register) (n : Nat) : Register := { r with owed := r.owed + n }

theorem balance_take (r : Register) (c : Coin) : (r.take c).balance = c.value + r.balance := by
  unfold balance take
  simp only [total_cons]
  omega

theorem balance_lend (r : Register) (n : Nat) : (r.lend n).balance = r.balance + n := by
  simp only [balance, lend]
  omega

theorem take_lend (r : Register) (c : Coin) (n : Nat) : (r.take c).lend n = (r.lend n).take c := by
  rfl

theorem balance_take_lt (r : Register) (c : Coin) : r.balance < (r.take c).balance := by
  have h := value_pos c
  rw [balance_take]
  omega

theorem owed_take (r : Register) (c : Coin) : (r.take c).owed = r.owed := by
  sorry

theorem balance_and_owed (r : Register) (n : Nat) :
    (r.lend n).coins = r.coins ∧ r.owed ≤ (r.lend n).owed := by
  constructor
  · sorry
  · sorry

end Register

import Coins.Fold
import Coins.Register

/-! Takings of several days. -/

namespace Register

open Coin

/-- The till after the coins of a purse were taken, one after the other. -/
def takeAll (r : Register) : Purse → Register
  | [] => r
  | c :: p => (r.take c).takeAll p

theorem owed_takeAll (r : Register) (p : Purse) : (r.takeAll p).owed = r.owed := by
  induction p generalizing r with
  | nil => rfl
  | cons c p ih =>
    show ((r.take c).takeAll p).owed = r.owed
    rw [ih]
    rfl

theorem balance_takeAll (r : Register) (p : Purse) :
    (r.takeAll p).balance = Purse.total p + r.balance := by
  induction p generalizing r with
  | nil => simp [takeAll]
  | cons c p ih =>
    rw [takeAll, ih, balance_take, Purse.total_cons]
    omega

theorem takeAll_append (r : Register) (p q : Purse) :
    r.takeAll (p ++ q) = (r.takeAll p).takeAll q := by
  induction p generalizing r with
  | nil => rfl
  | cons c p ih => exact ih _

theorem balance_le_takeAll (r : Register) (p : Purse) : r.balance ≤ (r.takeAll p).balance := by
  sorry

end Register

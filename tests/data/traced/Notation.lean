/-! Syntax of the file's own, which the judge takes from the context of a theorem only. -/

namespace Signs

local infixl:70 " ⋆ " => Nat.add
local notation "𝟘" => Nat.zero
macro "close" : tactic => `(tactic| omega)

theorem zero_star (n : Nat) : 𝟘 ⋆ n = n := by
  show 0 + n = n
  close

end Signs

/-! Five theorems of rising difficulty, left open: `burn-qed prove examples/five.lean` proves them. -/

/-- Arithmetic. -/
theorem consecutive_product_is_even (n : Nat) : 2 ∣ n * (n + 1) := by
  sorry

/-- Lists. -/
theorem length_of_both_ways (xs ys : List Nat) :
    (xs ++ ys).reverse.length = ys.length + xs.length := by
  sorry

/-- Logic. -/
theorem some_implication_holds (p q r : Prop) (h : p ∨ q) (hp : p → r) (hq : q → ¬¬r) : r := by
  sorry

/-- Induction. -/
theorem sum_of_odd_numbers (n : Nat) : ((List.range n).map fun k => 2 * k + 1).sum = n ^ 2 := by
  sorry

/-- A competition problem (AIME 1991, problem 1, as in miniF2F): no single tactic proves it. -/
theorem aime_1991_p1 (x y : Nat) (h₀ : 0 < x ∧ 0 < y) (h₁ : x * y + (x + y) = 71)
    (h₂ : x ^ 2 * y + x * y ^ 2 = 880) : x ^ 2 + y ^ 2 = 146 := by
  sorry

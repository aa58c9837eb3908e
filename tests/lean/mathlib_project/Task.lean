import Mathlib

theorem sum_of_squares (a b : ℝ) : 2 * a * b ≤ a ^ 2 + b ^ 2 := by
  sorry

theorem gauss (n : ℕ) : 2 * ∑ i ∈ Finset.range (n + 1), i = n * (n + 1) := by
  sorry

theorem between (x y : ℝ) (h : x < y) : ∃ z : ℝ, x < z ∧ z < y := by
  sorry

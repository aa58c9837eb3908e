/-! A tactic of the project's own: other files use it. -/

/-- Simplify with the hypotheses, then do the arithmetic. -/
macro "count_coins" : tactic => `(tactic| (simp_all <;> omega))

/-- Split a conjunction into its parts. -/
macro "split_all" : tactic => `(tactic| (repeat' constructor))

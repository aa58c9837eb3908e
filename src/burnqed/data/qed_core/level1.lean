namespace QedCore

/-- Exchanges the two components of a pair. -/
def swap (p : α × β) : β × α :=
  (p.2, p.1)

/-- The product of the numbers from 1 to `n`. -/
def fact : Nat → Nat
  | 0 => 1
  | n + 1 => (n + 1) * fact n

/-- The sequence 2, 1, 3, 4, 7, 11, … of Lucas. -/
def lucas : Nat → Nat
  | 0 => 2
  | 1 => 1
  | n + 2 => lucas n + lucas (n + 1)

/-- Adds up a list from its head, with an accumulator. -/
def sumLoop (acc : Nat) : List Nat → Nat
  | [] => acc
  | x :: xs => sumLoop (acc + x) xs

/-- Whether a list reads the same in both directions. -/
def palindrome (xs : List Nat) : Bool :=
  xs.reverse == xs

/-- The rounded down mean of two numbers lies between them. -/
theorem mean_between (a b : Nat) (h : a ≤ b) : a ≤ (a + b) / 2 ∧ (a + b) / 2 ≤ b := by
  omega

/-- A number or its opposite is not negative. -/
theorem max_neg_self_nonneg (x : Int) : 0 ≤ max x (-x) := by
  omega

/-- Sum and difference determine two integers. -/
theorem sum_and_difference (x y : Int) (hs : x + y = 10) (hd : x - y = 4) : x = 7 ∧ y = 3 := by
  omega

/-- The difference of two cubes factors. -/
theorem difference_of_cubes (a b : Int) :
    a ^ 3 - b ^ 3 = (a - b) * (a ^ 2 + a * b + b ^ 2) := by
  grind

/-- A product of two sums of two squares is a sum of two squares. -/
theorem two_squares_product (a b c d : Int) :
    (a * a + b * b) * (c * c + d * d)
      = (a * c - b * d) * (a * c - b * d) + (a * d + b * c) * (a * d + b * c) := by
  grind

/-- Two halves make a whole. -/
theorem two_halves (x : Rat) : x / 2 + x / 2 = x := by
  grind

/-- Paying in fives and fewer than five ones, the total decides how. -/
theorem fives_and_ones (a b c : Nat) (h : 5 * a + b = 5 * c + 3) (hb : b < 5) :
    b = 3 ∧ a = c := by
  omega

/-- A multiple of both two and three is a multiple of six. -/
theorem six_dvd_of_two_of_three (n : Nat) (h2 : 2 ∣ n) (h3 : 3 ∣ n) : 6 ∣ n := by
  omega

/-- A twelve hour clock does not notice that a day has passed. -/
theorem clock_after_a_day (h k : Nat) : (h + 24 + k) % 12 = (k + h) % 12 := by
  omega

/-- One of two consecutive integers is even. -/
theorem even_of_consecutive (n : Int) : n % 2 = 0 ∨ (n + 1) % 2 = 0 := by
  omega

/-- Squares modulo eight are zero, one or four. -/
theorem squares_mod_eight : ∀ x : Fin 8, x * x = 0 ∨ x * x = 1 ∨ x * x = 4 := by
  decide

/-- No sum of two squares leaves three modulo four. -/
theorem two_squares_mod_four : ∀ a b : Fin 4, a * a + b * b ≠ 3 := by
  decide

/-- A power of seven that ends in 01. -/
theorem seven_pow_last_digits : 7 ^ 2024 % 100 = 1 := by
  omega

/-- Masking with the same key twice gives the message back. -/
theorem xor_twice (x key : BitVec 32) : x ^^^ key ^^^ key = x := by
  grind

/-- Bytes add modulo 256. -/
theorem byte_overflow : 200#8 + 100#8 = 44#8 := by
  decide

/-- A bit that is set in a word is set in its union with any other. -/
theorem bit_of_or (x y : BitVec 16) (i : Nat) (h : x.getLsbD i = true) :
    (y ||| x).getLsbD i = true := by
  simp_all

/-- Reversing two joined lists keeps all elements. -/
theorem length_reverse_join (xs ys : List α) :
    (xs ++ ys).reverse.length = ys.length + xs.length := by
  grind

/-- Mapping twice in both directions is mapping the composition. -/
theorem map_reverse_map (f : α → β) (g : β → γ) (xs : List α) :
    ((xs.map f).reverse.map g).reverse = xs.map (g ∘ f) := by
  simp

/-- A filter does not see elements that it throws away. -/
theorem filter_drops_head (p : α → Bool) (x : α) (xs ys : List α) (h : p x = false) :
    (xs ++ x :: ys).filter p = xs.filter p ++ ys.filter p := by
  simp_all

/-- The squares of 1, 2 and 3 add up to 14. -/
theorem sum_of_three_squares : ([1, 2, 3].map fun x => x * x).foldl (· + ·) 0 = 14 := by
  rfl

/-- The law of Peirce. -/
theorem peirce_law (p q : Prop) : ((p → q) → p) → p := by
  grind

/-- Equivalence is associative. -/
theorem iff_associative (p q r : Prop) : ((p ↔ q) ↔ r) ↔ (p ↔ (q ↔ r)) := by
  grind

/-- Two predicates that never meet exclude each other. -/
theorem disjoint_predicates (p q : α → Prop) : (¬∃ x, p x ∧ q x) ↔ ∀ x, p x → ¬q x := by
  simp

/-- What a composition tells apart, its first function tells apart. -/
theorem apart_of_comp (f : α → β) (g : β → γ) (x y : α) (h : g (f x) ≠ g (f y)) : f x ≠ f y := by
  grind

/-- The larger of two numbers, chosen by cases, is not below the first. -/
theorem larger_by_cases (a b : Nat) : a ≤ (if a ≤ b then b else a) := by
  grind

/-- Exchanging twice changes nothing. -/
theorem swap_swap (p : α × β) : swap (swap p) = p := by
  rfl

/-- The factorial of six is 720. -/
theorem fact_six : fact 6 = 720 := by
  rfl

/-- The tenth Lucas number is 123. -/
theorem lucas_ten : lucas 10 = 123 := by
  rfl

/-- One round of the loop adds the head to the accumulator. -/
theorem sum_loop_step (acc x : Nat) (xs : List Nat) :
    sumLoop acc (x :: xs) = sumLoop (acc + x) xs := by
  rfl

/-- Seven numbers that read the same in both directions. -/
theorem a_palindrome : palindrome [1, 2, 3, 4, 3, 2, 1] = true := by
  decide

end QedCore

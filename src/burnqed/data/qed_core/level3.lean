namespace QedCore

/-- The sum of the first `n` odd numbers. -/
def sumOdds : Nat → Nat
  | 0 => 0
  | n + 1 => sumOdds n + (2 * n + 1)

/-- The sum of the powers of two below the `n`-th. -/
def sumPowers : Nat → Nat
  | 0 => 0
  | n + 1 => sumPowers n + 2 ^ n

/-- The product of the numbers from 1 to `n`. -/
def fact : Nat → Nat
  | 0 => 1
  | n + 1 => (n + 1) * fact n

/-- The Fibonacci numbers. -/
def fib : Nat → Nat
  | 0 => 0
  | 1 => 1
  | n + 2 => fib n + fib (n + 1)

/-- Half of a number, two steps at a time. -/
def half : Nat → Nat
  | 0 => 0
  | 1 => 0
  | n + 2 => half n + 1

/-- Applies a function `n` times. -/
def iter (f : α → α) : Nat → α → α
  | 0, x => x
  | n + 1, x => iter f n (f x)

/-- Binary trees with labels at the inner nodes. -/
inductive Tree (α : Type) where
  | leaf
  | node (l : Tree α) (x : α) (r : Tree α)

/-- The number of labels. -/
def Tree.size : Tree α → Nat
  | .leaf => 0
  | .node l _ r => l.size + 1 + r.size

/-- The number of labels on the longest path from the root. -/
def Tree.height : Tree α → Nat
  | .leaf => 0
  | .node l _ r => max l.height r.height + 1

/-- The tree seen in a mirror. -/
def Tree.mirror : Tree α → Tree α
  | .leaf => .leaf
  | .node l x r => .node r.mirror x l.mirror

/-- The labels from left to right. -/
def Tree.toList : Tree α → List α
  | .leaf => []
  | .node l x r => l.toList ++ x :: r.toList

/-- Every other element of a list, beginning with the first. -/
def everyOther : List α → List α
  | [] => []
  | [x] => [x]
  | x :: _ :: xs => x :: everyOther xs

/-- Writes every element twice. -/
def stutter : List α → List α
  | [] => []
  | x :: xs => x :: x :: stutter xs

/-- Puts an element between any two neighbours. -/
def intersperse (a : α) : List α → List α
  | [] => []
  | [x] => [x]
  | x :: y :: xs => x :: a :: intersperse a (y :: xs)

/-- The largest element of a list, or zero. -/
def maximum : List Nat → Nat
  | [] => 0
  | x :: xs => max x (maximum xs)

/-- A table of keys and values. -/
def Table := List (Nat × Nat)

/-- The value of a key, zero where there is none. -/
def Table.get (k : Nat) : Table → Nat
  | [] => 0
  | (k', v) :: rest => if k = k' then v else get k rest

/-- Gives a key a new value, in place where it has one. -/
def Table.set (k v : Nat) : Table → Table
  | [] => [(k, v)]
  | (k', v') :: rest => if k = k' then (k, v) :: rest else (k', v') :: set k v rest

/-- Expressions with one variable. -/
inductive Expr where
  | const (n : Int)
  | var
  | add (a b : Expr)
  | mul (a b : Expr)

/-- The value of an expression. -/
def Expr.eval (x : Int) : Expr → Int
  | .const n => n
  | .var => x
  | .add a b => a.eval x + b.eval x
  | .mul a b => a.eval x * b.eval x

/-- A sum, less the work that is known to be none. -/
def Expr.plus : Expr → Expr → Expr
  | .const 0, b => b
  | a, .const 0 => a
  | a, b => .add a b

/-- Simplifies the sums in an expression. -/
def Expr.simplify : Expr → Expr
  | .const n => .const n
  | .var => .var
  | .add a b => a.simplify.plus b.simplify
  | .mul a b => .mul a.simplify b.simplify

/-- Even integers. -/
def Even (n : Int) : Prop :=
  ∃ k, n = 2 * k

/-- The first odd numbers add up to a square. -/
theorem sum_odds (n : Nat) : sumOdds n = n * n := by
  induction n with
  | zero => rfl
  | succ n ih => grind [sumOdds]

/-- Powers of two add up to one less than the next power. -/
theorem sum_powers (n : Nat) : sumPowers n + 1 = 2 ^ n := by
  induction n with
  | zero => rfl
  | succ n ih => grind [sumPowers]

/-- Factorials grow faster than powers of two. -/
theorem two_pow_le_fact (n : Nat) : 2 ^ n ≤ fact (n + 1) := by
  induction n with
  | zero => decide
  | succ n ih =>
    rw [fact, Nat.pow_succ, Nat.mul_comm]
    exact Nat.mul_le_mul (by omega) ih

/-- Each number times its factorial, added up, is one less than a factorial. -/
theorem sum_mul_fact (n : Nat) : ((List.range n).map fun k => k * fact k).sum + 1 = fact n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [List.range_succ, List.map_append, List.sum_append_nat]
    simp [fact] at *
    grind

/-- The sum of the first Fibonacci numbers is one less than a Fibonacci number. -/
theorem sum_fib (n : Nat) : ((List.range n).map fib).sum + 1 = fib (n + 1) := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [List.range_succ, List.map_append, List.sum_append_nat]
    simp [fib] at *
    omega

/-- Halving in steps of two is dividing by two. -/
theorem half_eq_div (n : Nat) : half n = n / 2 := by
  fun_induction half n <;> omega

/-- Applying a function `m + n` times is applying it `m` times and then `n` times. -/
theorem iter_add (f : α → α) (m n : Nat) (x : α) :
    iter f (m + n) x = iter f n (iter f m x) := by
  induction m generalizing x with
  | zero => simp [iter]
  | succ m ih =>
    rw [Nat.succ_add]
    exact ih (f x)

/-- A mirror shows the labels in reverse. -/
theorem mirror_to_list (t : Tree α) : t.mirror.toList = t.toList.reverse := by
  induction t with
  | leaf => rfl
  | node l x r hl hr => simp [Tree.mirror, Tree.toList, hl, hr]

/-- A tree is not higher than it has labels. -/
theorem height_le_size (t : Tree α) : t.height ≤ t.size := by
  induction t with
  | leaf => simp [Tree.height]
  | node l x r hl hr =>
    simp only [Tree.height, Tree.size]
    omega

/-- A tree of height `h` has fewer than `2 ^ h` labels. -/
theorem size_lt_two_pow_height (t : Tree α) : t.size < 2 ^ t.height := by
  induction t with
  | leaf => simp [Tree.size, Tree.height]
  | node l x r hl hr =>
    simp only [Tree.height, Tree.size, Nat.pow_succ]
    have h1 : 2 ^ l.height ≤ 2 ^ max l.height r.height :=
      Nat.pow_le_pow_right (by decide) (Nat.le_max_left _ _)
    have h2 : 2 ^ r.height ≤ 2 ^ max l.height r.height :=
      Nat.pow_le_pow_right (by decide) (Nat.le_max_right _ _)
    omega

/-- Every other element is half of the elements, rounded up. -/
theorem length_every_other (xs : List α) : (everyOther xs).length = (xs.length + 1) / 2 := by
  fun_induction everyOther xs <;> simp_all
  omega

/-- Every other element of a stuttered list is the list. -/
theorem every_other_stutter (xs : List α) : everyOther (stutter xs) = xs := by
  induction xs with
  | nil => rfl
  | cons x xs ih => simp [stutter, everyOther, ih]

/-- Interspersing doubles the length, less one. -/
theorem length_intersperse (a : α) (xs : List α) :
    (intersperse a xs).length = 2 * xs.length - 1 := by
  fun_induction intersperse a xs <;> simp_all
  omega

/-- Two sums over a list may be taken in one. -/
theorem sum_map_add (f g : α → Nat) (xs : List α) :
    (xs.map fun x => f x + g x).sum = (xs.map f).sum + (xs.map g).sum := by
  induction xs with
  | nil => rfl
  | cons x xs ih => simp [ih]; omega

/-- A sum is at most the number of terms times a bound of the terms. -/
theorem sum_le_length_mul (b : Nat) (xs : List Nat) (h : ∀ x ∈ xs, x ≤ b) :
    xs.sum ≤ xs.length * b := by
  induction xs with
  | nil => simp
  | cons x xs ih =>
    have h1 := ih fun y hy => h y (List.mem_cons_of_mem _ hy)
    have h2 := h x (by simp)
    simp [Nat.add_mul]
    omega

/-- The maximum of two joined lists is the larger of their maxima. -/
theorem maximum_append (xs ys : List Nat) :
    maximum (xs ++ ys) = max (maximum xs) (maximum ys) := by
  induction xs with
  | nil => simp [maximum]
  | cons x xs ih => simp only [List.cons_append, maximum, ih]; omega

/-- The maximum of a nonempty list is one of its elements. -/
theorem maximum_mem (xs : List Nat) (h : xs ≠ []) : maximum xs ∈ xs := by
  induction xs with
  | nil => contradiction
  | cons x xs ih =>
    cases xs with
    | nil => simp [maximum]
    | cons y ys =>
      have := ih (by simp)
      grind [maximum]

/-- A key that was set has its value, and other keys keep theirs. -/
theorem get_set (k k' v : Nat) (t : Table) :
    (t.set k v).get k' = if k' = k then v else t.get k' := by
  induction t with
  | nil => simp [Table.set, Table.get]
  | cons p rest ih => grind [Table.set, Table.get]

/-- Simplifying an expression does not change its value. -/
theorem eval_simplify (e : Expr) (x : Int) : e.simplify.eval x = e.eval x := by
  have plus (a b : Expr) : (a.plus b).eval x = a.eval x + b.eval x := by
    fun_cases Expr.plus a b <;> simp [Expr.eval]
  induction e with
  | const n => rfl
  | var => rfl
  | add a b ha hb => simp [Expr.simplify, Expr.eval, plus, ha, hb]
  | mul a b ha hb => simp [Expr.simplify, Expr.eval, ha, hb]

/-- A function on truth values, applied three times, is the function applied once. -/
theorem bool_thrice (f : Bool → Bool) (b : Bool) : f (f (f b)) = f b := by
  cases b <;> cases ht : f true <;> cases hf : f false <;> simp [ht, hf]

/-- Three divides the product of three consecutive numbers. -/
theorem three_dvd_consecutive (n : Nat) : 3 ∣ n * (n + 1) * (n + 2) := by
  have : n % 3 = 0 ∨ n % 3 = 1 ∨ n % 3 = 2 := by omega
  apply Nat.dvd_of_mod_eq_zero
  rcases this with h | h | h <;> simp [Nat.mul_mod, Nat.add_mod, h]

/-- Powers of four leave one when divided by three. -/
theorem four_pow_mod_three (n : Nat) : 4 ^ n % 3 = 1 := by
  induction n with
  | zero => rfl
  | succ n ih => omega

/-- The square of an odd number leaves one when divided by eight. -/
theorem odd_square_mod_eight (n : Nat) (h : n % 2 = 1) : n * n % 8 = 1 := by
  have : n % 8 = 1 ∨ n % 8 = 3 ∨ n % 8 = 5 ∨ n % 8 = 7 := by omega
  rcases this with h | h | h | h <;> simp [Nat.mul_mod, h]

/-- A sum is even when both terms are, or neither is. -/
theorem even_add_iff (a b : Int) : Even (a + b) ↔ (Even a ↔ Even b) := by
  have even (n : Int) : Even n ↔ n % 2 = 0 :=
    ⟨fun ⟨k, hk⟩ => by omega, fun h => ⟨n / 2, by omega⟩⟩
  simp only [even]
  omega

/-- There are more sets of elements than elements. -/
theorem cantor (f : α → α → Prop) : ∃ s, ∀ x, f x ≠ s := by
  refine ⟨fun x => ¬f x x, fun x h => ?_⟩
  have := congrFun h x
  grind

/-- A function that grows with every step is nowhere below its argument. -/
theorem le_of_growing (f : Nat → Nat) (h : ∀ n, f n < f (n + 1)) (n : Nat) : n ≤ f n := by
  induction n with
  | zero => exact Nat.zero_le _
  | succ n ih => exact Nat.lt_of_le_of_lt ih (h n)

/-- The lowest bit of a word is its parity. -/
theorem bv_low_bit (x : BitVec 8) : x &&& 1#8 = 0#8 ↔ x.toNat % 2 = 0 := by
  have h : (x &&& 1#8).toNat = x.toNat % 2 := by simp
  constructor
  · intro hx
    rw [← h, hx]
    rfl
  · intro hx
    apply BitVec.eq_of_toNat_eq
    rw [h, hx]
    rfl

/-- Where no bit is common to two words, their union is their symmetric difference. -/
theorem bv_or_eq_xor (x y : BitVec w) (h : x &&& y = 0#w) : x ||| y = x ^^^ y := by
  ext i hi
  have := congrArg (fun z => z.getLsbD i) h
  simp at this ⊢
  grind

/-- When two squares of rational numbers cancel, the numbers are zero. -/
theorem rat_squares_cancel (x y : Rat) (h : x * x + y * y = 0) : x = 0 ∧ y = 0 := by
  have nonneg (z : Rat) : 0 ≤ z * z := by
    rcases Rat.le_total (a := 0) (b := z) with hz | hz
    · exact Rat.mul_nonneg hz hz
    · have := Rat.mul_nonneg (a := -z) (b := -z) (by grind) (by grind)
      grind
  have hx := nonneg x
  have hy := nonneg y
  have hx : x * x = 0 := by grind
  have hy : y * y = 0 := by grind
  grind

/-- Powers of minus one alternate. -/
theorem neg_one_pow (n : Nat) : (-1 : Int) ^ n = if n % 2 = 0 then 1 else -1 := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [Int.pow_succ, ih]
    grind

end QedCore

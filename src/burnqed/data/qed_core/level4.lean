namespace QedCore

/-- The product of the numbers from 1 to `n`. -/
def fact : Nat → Nat
  | 0 => 1
  | n + 1 => (n + 1) * fact n

/-- The factorial as a loop. -/
def factLoop : Nat → Nat → Nat
  | 0, acc => acc
  | n + 1, acc => factLoop n ((n + 1) * acc)

/-- The Fibonacci numbers. -/
def fib : Nat → Nat
  | 0 => 0
  | 1 => 1
  | n + 2 => fib n + fib (n + 1)

/-- The Fibonacci numbers as a loop over two neighbours. -/
def fibLoop : Nat → Nat → Nat → Nat
  | 0, a, _ => a
  | n + 1, a, b => fibLoop n b (a + b)

/-- Sums over the numbers below a bound. -/
def sumBelow (f : Nat → Nat) : Nat → Nat
  | 0 => 0
  | n + 1 => sumBelow f n + f n

/-- Binary trees with labels at the inner nodes. -/
inductive Tree (α : Type) where
  | leaf
  | node (l : Tree α) (x : α) (r : Tree α)

/-- The labels from left to right. -/
def Tree.toList : Tree α → List α
  | .leaf => []
  | .node l x r => l.toList ++ x :: r.toList

/-- The labels from left to right, in front of a list. -/
def Tree.onto : Tree α → List α → List α
  | .leaf, acc => acc
  | .node l x r, acc => l.onto (x :: r.onto acc)

/-- Arithmetic expressions. -/
inductive Expr where
  | const (n : Int)
  | add (a b : Expr)
  | mul (a b : Expr)

/-- The value of an expression. -/
def Expr.eval : Expr → Int
  | .const n => n
  | .add a b => a.eval + b.eval
  | .mul a b => a.eval * b.eval

/-- Instructions of a machine with a stack. -/
inductive Instr where
  | push (n : Int)
  | add
  | mul

/-- One instruction on a stack; without operands nothing happens. -/
def Instr.step : Instr → List Int → List Int
  | .push n, s => n :: s
  | .add, b :: a :: s => (a + b) :: s
  | .mul, b :: a :: s => (a * b) :: s
  | _, s => s

/-- A program on a stack. -/
def run : List Instr → List Int → List Int
  | [], s => s
  | i :: is, s => run is (i.step s)

/-- The program that computes an expression. -/
def Expr.compile : Expr → List Instr
  | .const n => [.push n]
  | .add a b => a.compile ++ b.compile ++ [.add]
  | .mul a b => a.compile ++ b.compile ++ [.mul]

/-- Puts one more letter in front of runs. -/
def encodeOne (x : Nat) : List (Nat × Nat) → List (Nat × Nat)
  | [] => [(x, 1)]
  | (y, n) :: rest => if x = y then (y, n + 1) :: rest else (x, 1) :: (y, n) :: rest

/-- A list as runs of equal letters. -/
def encode : List Nat → List (Nat × Nat)
  | [] => []
  | x :: xs => encodeOne x (encode xs)

/-- The list of some runs. -/
def decode : List (Nat × Nat) → List Nat
  | [] => []
  | (x, n) :: rest => List.replicate n x ++ decode rest

/-- The number with these binary digits, the lowest first. -/
def value : List Bool → Nat
  | [] => 0
  | b :: bs => b.toNat + 2 * value bs

/-- Adds one to a number in binary. -/
def increment : List Bool → List Bool
  | [] => [true]
  | false :: bs => true :: bs
  | true :: bs => false :: increment bs

/-- Applies a function `n` times. -/
def iter (f : α → α) : Nat → α → α
  | 0, x => x
  | n + 1, x => iter f n (f x)

/-- Moves the first element of a list to its end. -/
def turn : List α → List α
  | [] => []
  | x :: xs => xs ++ [x]

/-- All ways to keep some elements of a list. -/
def choices : List α → List (List α)
  | [] => [[]]
  | x :: xs => choices xs ++ (choices xs).map (x :: ·)

/-- Numbers that are larger than one and have no other divisors than one and themselves. -/
def Prime (p : Nat) : Prop :=
  2 ≤ p ∧ ∀ d, d ∣ p → d = 1 ∨ d = p

/-- The loop computes the factorial. -/
theorem fact_loop (n : Nat) : factLoop n 1 = fact n := by
  have main (n acc : Nat) : factLoop n acc = fact n * acc := by
    induction n generalizing acc with
    | zero => simp [factLoop, fact]
    | succ n ih => rw [factLoop, fact, ih]; grind
  simp [main]

/-- The loop computes the Fibonacci numbers. -/
theorem fib_loop (n : Nat) : fibLoop n 0 1 = fib n := by
  have main (n k : Nat) : fibLoop n (fib k) (fib (k + 1)) = fib (k + n) := by
    induction n generalizing k with
    | zero => rfl
    | succ n ih =>
      show fibLoop n (fib (k + 1)) (fib (k + 1 + 1)) = _
      rw [ih (k + 1), Nat.add_right_comm, Nat.add_assoc]
  simpa using main n 0

/-- Writing the labels of a tree in front of a list costs no joining. -/
theorem tree_onto (t : Tree α) : t.onto [] = t.toList := by
  have main (t : Tree α) (acc : List α) : t.onto acc = t.toList ++ acc := by
    induction t generalizing acc with
    | leaf => rfl
    | node l x r hl hr => simp [Tree.onto, Tree.toList, hl, hr]
  simp [main]

/-- A compiled expression leaves its value on the stack. -/
theorem compile_correct (e : Expr) : run e.compile [] = [e.eval] := by
  have run_append (p q : List Instr) (s : List Int) : run (p ++ q) s = run q (run p s) := by
    induction p generalizing s with
    | nil => rfl
    | cons i is ih => exact ih _
  have main (e : Expr) (s : List Int) : run e.compile s = e.eval :: s := by
    induction e generalizing s with
    | const n => rfl
    | add a b ha hb => simp [Expr.compile, run_append, ha, hb, run, Instr.step, Expr.eval]
    | mul a b ha hb => simp [Expr.compile, run_append, ha, hb, run, Instr.step, Expr.eval]
  exact main e []

/-- What was encoded as runs is decoded again. -/
theorem decode_encode (xs : List Nat) : decode (encode xs) = xs := by
  have one (x : Nat) (rs : List (Nat × Nat)) : decode (encodeOne x rs) = x :: decode rs := by
    cases rs with
    | nil => rfl
    | cons r rest =>
      obtain ⟨y, n⟩ := r
      by_cases h : x = y <;> simp [encodeOne, h, decode, List.replicate_succ]
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [encode, one, ih]

/-- Counting up `n` times in binary, from nothing, reaches `n`. -/
theorem value_count_up (n : Nat) : value (iter increment n []) = n := by
  have inc (bs : List Bool) : value (increment bs) = value bs + 1 := by
    fun_induction increment bs <;> simp_all [value]
    all_goals omega
  have main (n : Nat) (bs : List Bool) : value (iter increment n bs) = value bs + n := by
    induction n generalizing bs with
    | zero => rfl
    | succ n ih => rw [iter, ih, inc]; omega
  simpa [value] using main n []

/-- A list that is turned by one place as often as it is long is back where it was. -/
theorem turn_around (xs : List α) : iter turn xs.length xs = xs := by
  have main (xs ys : List α) : iter turn xs.length (xs ++ ys) = ys ++ xs := by
    induction xs generalizing ys with
    | nil => simp [iter]
    | cons x xs ih => simp [iter, turn, ih]
  simpa using main xs []

/-- For an associative operation with a neutral element both folds agree. -/
theorem folds_agree (f : α → α → α) (e : α) (assoc : ∀ a b c, f (f a b) c = f a (f b c))
    (left : ∀ a, f e a = a) (right : ∀ a, f a e = a) (xs : List α) :
    xs.foldl f e = xs.foldr f e := by
  have main (xs : List α) (a : α) : xs.foldl f a = f a (xs.foldr f e) := by
    induction xs generalizing a with
    | nil => simp [right]
    | cons x xs ih => simp [ih, assoc]
  rw [main, left]

/-- What may be chosen from a list are its sublists. -/
theorem mem_choices (xs ys : List α) : ys ∈ choices xs ↔ ys.Sublist xs := by
  induction xs generalizing ys with
  | nil => simp [choices]
  | cons x xs ih =>
    simp only [choices, List.mem_append, List.mem_map, ih, List.sublist_cons_iff]
    grind

/-- A property of some number is a property of a smallest number. -/
theorem well_ordering (p : Nat → Prop) (h : ∃ n, p n) : ∃ n, p n ∧ ∀ m, m < n → ¬p m := by
  obtain ⟨n, hn⟩ := h
  induction n using Nat.strongRecOn with
  | _ n ih =>
    by_cases hm : ∃ m, m < n ∧ p m
    · obtain ⟨m, hlt, hp⟩ := hm
      exact ih m hlt hp
    · exact ⟨n, hn, fun m hlt hp => hm ⟨m, hlt, hp⟩⟩

/-- With stamps of three and five one can pay any amount from eight on. -/
theorem stamps (n : Nat) (h : 8 ≤ n) : ∃ a b, n = 3 * a + 5 * b := by
  have : n % 3 = 0 ∨ n % 3 = 1 ∨ n % 3 = 2 := by omega
  rcases this with h | h | h
  · exact ⟨n / 3, 0, by omega⟩
  · exact ⟨n / 3 - 3, 2, by omega⟩
  · exact ⟨n / 3 - 1, 1, by omega⟩

/-- A positive number is a power of two times an odd number. -/
theorem odd_part (n : Nat) (h : 0 < n) : ∃ k m, n = 2 ^ k * (2 * m + 1) := by
  induction n using Nat.strongRecOn with
  | _ n ih =>
    by_cases he : n % 2 = 0
    · obtain ⟨k, m, hk⟩ := ih (n / 2) (by omega) (by omega)
      refine ⟨k + 1, m, ?_⟩
      rw [Nat.pow_succ, Nat.mul_right_comm, ← hk]
      omega
    · exact ⟨0, n / 2, by omega⟩

/-- A number larger than one has a prime divisor. -/
theorem prime_divisor (n : Nat) (h : 2 ≤ n) : ∃ p, Prime p ∧ p ∣ n := by
  induction n using Nat.strongRecOn with
  | _ n ih =>
    by_cases hd : ∃ d, d ∣ n ∧ d ≠ 1 ∧ d ≠ n
    · obtain ⟨d, hdn, h1, hn⟩ := hd
      have hle := Nat.le_of_dvd (by omega) hdn
      have hpos := Nat.pos_of_dvd_of_pos hdn (by omega)
      obtain ⟨p, hp, hpd⟩ := ih d (by omega) (by omega)
      exact ⟨p, hp, Nat.dvd_trans hpd hdn⟩
    · exact ⟨n, ⟨h, fun d hdn => by grind⟩, Nat.dvd_refl n⟩

/-- Numbers cannot descend forever. -/
theorem no_infinite_descent (f : Nat → Nat) : ¬∀ n, f (n + 1) < f n := by
  intro h
  have main (n : Nat) : f n + n ≤ f 0 := by
    induction n with
    | zero => simp
    | succ n ih => have := h n; omega
  have := main (f 0 + 1)
  omega

/-- Induction that may use the two cases before. -/
theorem two_step_induction (p : Nat → Prop) (h0 : p 0) (h1 : p 1)
    (step : ∀ n, p n → p (n + 1) → p (n + 2)) (n : Nat) : p n := by
  have main (n : Nat) : p n ∧ p (n + 1) := by
    induction n with
    | zero => exact ⟨h0, h1⟩
    | succ n ih => exact ⟨ih.2, step n ih.1 ih.2⟩
  exact (main n).1

/-- What holds for arbitrarily large numbers and is passed down holds for all. -/
theorem downward_induction (p : Nat → Prop) (large : ∀ n, ∃ m, n ≤ m ∧ p m)
    (down : ∀ n, p (n + 1) → p n) (n : Nat) : p n := by
  have main (k n : Nat) (h : p (n + k)) : p n := by
    induction k with
    | zero => exact h
    | succ k ih => exact ih (down _ h)
  obtain ⟨m, hm, hp⟩ := large n
  apply main (m - n)
  rwa [Nat.add_sub_cancel' hm]

/-- The addition formula of the Fibonacci numbers. -/
theorem fib_add (m n : Nat) :
    fib (m + n + 1) = fib m * fib n + fib (m + 1) * fib (n + 1) := by
  induction m generalizing n with
  | zero => simp [fib]
  | succ m ih =>
    have := ih (n + 1)
    rw [show m + 1 + n + 1 = m + (n + 1) + 1 by omega, this]
    simp only [fib]
    grind

/-- The identity of Cassini. -/
theorem cassini (n : Nat) :
    (fib n : Int) * fib (n + 2) - (fib (n + 1) : Int) * fib (n + 1) = (-1) ^ (n + 1) := by
  induction n with
  | zero => rfl
  | succ n ih =>
    simp only [fib] at *
    rw [Int.pow_succ, ← ih]
    grind

/-- Consecutive Fibonacci numbers have no common divisor. -/
theorem fib_coprime (n : Nat) : Nat.gcd (fib n) (fib (n + 1)) = 1 := by
  induction n with
  | zero => simp [fib]
  | succ n ih =>
    rw [fib, Nat.gcd_comm, Nat.gcd_add_self_left]
    exact ih

/-- The sum of the first cubes is the square of the sum of the first numbers. -/
theorem sum_cubes (n : Nat) : sumBelow (· ^ 3) n = sumBelow id n ^ 2 := by
  have gauss (n : Nat) : 2 * sumBelow id (n + 1) = n * (n + 1) := by
    induction n with
    | zero => rfl
    | succ n ih => rw [sumBelow, Nat.mul_add, ih]; grind
  induction n with
  | zero => rfl
  | succ n ih =>
    have := gauss n
    grind [sumBelow]

/-- From four on, powers of two are at least squares. -/
theorem square_le_two_pow (n : Nat) (h : 4 ≤ n) : n * n ≤ 2 ^ n := by
  obtain ⟨k, rfl⟩ := Nat.exists_eq_add_of_le h
  induction k with
  | zero => decide
  | succ k ih =>
    have := ih (by omega)
    have : 2 ^ (4 + (k + 1)) = 2 * 2 ^ (4 + k) := by grind
    grind

/-- The inequality of Bernoulli. -/
theorem bernoulli (x n : Nat) : 1 + n * x ≤ (1 + x) ^ n := by
  induction n with
  | zero => simp
  | succ n ih =>
    have := Nat.mul_le_mul_right (1 + x) ih
    have : 0 ≤ n * x * x := Nat.zero_le _
    grind

/-- A base less one divides each power less one. -/
theorem sub_one_dvd_pow_sub_one (a : Int) (n : Nat) : a - 1 ∣ a ^ n - 1 := by
  induction n with
  | zero => simp
  | succ n ih =>
    obtain ⟨k, hk⟩ := ih
    exact ⟨a * k + 1, by grind⟩

/-- Between the squares of two neighbours there is no square. -/
theorem no_square_between (n m : Nat) (h : n * n < m * m) : (n + 1) * (n + 1) ≤ m * m := by
  have : n < m := by
    apply Nat.lt_of_not_le
    intro hle
    have := Nat.mul_le_mul hle hle
    omega
  exact Nat.mul_le_mul this this

/-- When three divides a sum of two squares, it divides both numbers. -/
theorem three_dvd_squares (a b : Nat) (h : 3 ∣ a * a + b * b) : 3 ∣ a ∧ 3 ∣ b := by
  have ha : a % 3 = 0 ∨ a % 3 = 1 ∨ a % 3 = 2 := by omega
  have hb : b % 3 = 0 ∨ b % 3 = 1 ∨ b % 3 = 2 := by omega
  have h := Nat.mod_eq_zero_of_dvd h
  rw [Nat.add_mod, Nat.mul_mod a, Nat.mul_mod b] at h
  rcases ha with ha | ha | ha <;> rcases hb with hb | hb | hb <;> simp [ha, hb] at h
  omega

/-- A positive number and its inverse add up to two at least. -/
theorem rat_add_inverse (x : Rat) (h : 0 < x) : 2 ≤ x + 1 / x := by
  have hs : 0 ≤ (x - 1) * (x - 1) := by
    rcases Rat.le_total (a := 0) (b := x - 1) with hz | hz
    · exact Rat.mul_nonneg hz hz
    · have := Rat.mul_nonneg (a := -(x - 1)) (b := -(x - 1)) (by grind) (by grind)
      grind
  have hi : 0 ≤ x⁻¹ := Rat.le_of_lt (Rat.inv_pos.mpr h)
  have := Rat.mul_nonneg hs hi
  have hx : x * x⁻¹ = 1 := Rat.mul_inv_cancel x (by grind)
  have : (x - 1) * (x - 1) * x⁻¹ = x - 2 + x⁻¹ := by grind
  grind

/-- A sequence in finitely many colours shows one of them again and again. -/
theorem recurring_colour (k : Nat) (f : Nat → Nat) (h : ∀ n, f n < k) :
    ∃ c, ∀ n, ∃ m, n ≤ m ∧ f m = c := by
  apply Classical.byContradiction
  intro hn
  have last (c : Nat) : ∃ n, ∀ m, n ≤ m → f m ≠ c := by
    apply Classical.byContradiction
    intro hc
    exact hn ⟨c, fun n => Classical.byContradiction fun hm =>
      hc ⟨n, fun m hle he => hm ⟨m, hle, he⟩⟩⟩
  have main (k : Nat) : ∃ n, ∀ m, n ≤ m → k ≤ f m := by
    induction k with
    | zero => exact ⟨0, fun m _ => Nat.zero_le _⟩
    | succ k ih =>
      obtain ⟨n, hn⟩ := ih
      obtain ⟨n', hn'⟩ := last k
      refine ⟨max n n', fun m hm => ?_⟩
      have := hn m (by omega)
      have := hn' m (by omega)
      omega
  obtain ⟨n, hn⟩ := main k
  have := hn n (Nat.le_refl n)
  have := h n
  omega

/-- If every function from `α` to `β` is listed by `α`, each self-map of `β` fixes a point. -/
theorem lawvere (e : α → α → β) (h : ∀ f, ∃ a, e a = f) (g : β → β) : ∃ b, g b = b := by
  obtain ⟨a, ha⟩ := h fun x => g (e x x)
  exact ⟨e a a, (congrFun ha a).symm⟩

/-- Different numbers have different Gray codes. -/
theorem gray_code (a b : Nat) (h : a ^^^ a / 2 = b ^^^ b / 2) : a = b := by
  have hc : a ^^^ b = (a ^^^ b) / 2 := by
    apply Nat.eq_of_testBit_eq
    intro i
    have := congrArg (fun n => n.testBit i) h
    simp only [Nat.xor_div_two, Nat.testBit_xor] at this ⊢
    revert this
    cases a.testBit i <;> cases b.testBit i <;> cases (a / 2).testBit i <;>
      cases (b / 2).testBit i <;> decide
  have hz : a ^^^ b = 0 := by omega
  calc
    a = a ^^^ (a ^^^ b) := by rw [hz, Nat.xor_zero]
    _ = b := by rw [← Nat.xor_assoc, Nat.xor_self, Nat.zero_xor]

/-- No rational number has the square two. -/
theorem rat_sqrt_two (x : Rat) : x * x ≠ 2 := by
  intro h
  have hn : (x ^ 2).num = x.num ^ 2 := Rat.num_pow x 2
  rw [Rat.pow_succ, Rat.pow_one, h] at hn
  have hn : x.num * x.num = 2 := by
    rw [Int.pow_succ, Int.pow_one] at hn
    exact hn.symm
  have hle : x.num ≤ 1 ∧ -1 ≤ x.num := by
    constructor
    · apply Int.le_of_not_gt
      intro hgt
      have := Int.mul_le_mul (a := 2) (b := 2) (c := x.num) (d := x.num) (by omega) (by omega)
        (by omega) (by omega)
      omega
    · apply Int.le_of_not_gt
      intro hlt
      have := Int.mul_le_mul (a := 2) (b := 2) (c := -x.num) (d := -x.num) (by omega) (by omega)
        (by omega) (by omega)
      grind
  have : x.num = -1 ∨ x.num = 0 ∨ x.num = 1 := by omega
  rcases this with h | h | h <;> simp [h] at hn

end QedCore

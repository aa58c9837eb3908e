namespace QedCore

/-- The product of the numbers from 1 to `n`. -/
def fact : Nat → Nat
  | 0 => 1
  | n + 1 => (n + 1) * fact n

/-- The Fibonacci numbers. -/
def fib : Nat → Nat
  | 0 => 0
  | 1 => 1
  | n + 2 => fib n + fib (n + 1)

/-- Numbers that are larger than one and have no other divisors than one and themselves. -/
def Prime (p : Nat) : Prop :=
  2 ≤ p ∧ ∀ d, d ∣ p → d = 1 ∨ d = p

/-- The product of a list of numbers. -/
def product : List Nat → Nat
  | [] => 1
  | x :: xs => x * product xs

/-- Trial division by the numbers up to the square root. -/
def isPrime (n : Nat) : Bool :=
  decide (2 ≤ n) && (List.range n).all fun d => d < 2 || n < d * d || n % d != 0

/-- Different arguments have different values. -/
def Injective (f : α → β) : Prop :=
  ∀ x y, f x = f y → x = y

/-- Every element is a value. -/
def Surjective (f : α → β) : Prop :=
  ∀ y, ∃ x, f x = y

/-- Puts a number in its place in a sorted list. -/
def insertSorted (x : Nat) : List Nat → List Nat
  | [] => [x]
  | y :: ys => if x ≤ y then x :: y :: ys else y :: insertSorted x ys

/-- Insertion sort. -/
def sort : List Nat → List Nat
  | [] => []
  | x :: xs => insertSorted x (sort xs)

/-- The inner product of two lists, as far as both go. -/
def dot : List Int → List Int → Int
  | x :: xs, y :: ys => x * y + dot xs ys
  | _, _ => 0

/-- Narrows an interval in which `p` changes from false to true. -/
def search (p : Nat → Bool) : Nat → Nat → Nat → Nat
  | 0, _, hi => hi
  | fuel + 1, lo, hi =>
    if hi ≤ lo + 1 then hi
    else if p ((lo + hi) / 2) then search p fuel lo ((lo + hi) / 2)
    else search p fuel ((lo + hi) / 2) hi

/-- Exponentiation by squaring. -/
def powLoop : Nat → Nat → Nat → Nat → Nat
  | 0, _, _, acc => acc
  | fuel + 1, b, n, acc =>
    if n = 0 then acc
    else powLoop fuel (b * b) (n / 2) (if n % 2 = 0 then acc else acc * b)

/-- The greatest common divisor by subtraction. -/
def gcdLoop : Nat → Nat → Nat → Nat
  | 0, a, b => a + b
  | fuel + 1, a, b =>
    if a = 0 then b
    else if b = 0 then a
    else if a ≤ b then gcdLoop fuel a (b - a)
    else gcdLoop fuel (a - b) b

/-- Binary trees with numbers at the inner nodes. -/
inductive Tree where
  | leaf
  | node (l : Tree) (x : Nat) (r : Tree)

/-- The numbers from left to right. -/
def Tree.toList : Tree → List Nat
  | .leaf => []
  | .node l x r => l.toList ++ x :: r.toList

/-- Inserts a number into a search tree. -/
def Tree.insert (x : Nat) : Tree → Tree
  | .leaf => .node .leaf x .leaf
  | .node l y r =>
    if x < y then .node (l.insert x) y r
    else if y < x then .node l y (r.insert x)
    else .node l y r

/-- The function of Ackermann. -/
def ack : Nat → Nat → Nat
  | 0, n => n + 1
  | m + 1, 0 => ack m 1
  | m + 1, n + 1 => ack m (ack (m + 1) n)

/-- The candidate of a vote in which different votes cancel, with the votes it is ahead. -/
def vote : List Nat → Nat → Nat → Nat
  | [], c, _ => c
  | x :: xs, _, 0 => vote xs x 1
  | x :: xs, c, k + 1 => if x = c then vote xs c (k + 2) else vote xs c k

/-- The sum of a list of integers. -/
def total : List Int → Int
  | [] => 0
  | x :: xs => x + total xs

/-- The largest sum of a segment, given the best that ends here and the best so far. -/
def bestSegment : List Int → Int → Int → Int
  | [], _, best => best
  | x :: xs, here, best =>
    bestSegment xs (max 0 (here + x)) (max best (max 0 (here + x)))

/-- Sums over the numbers below a bound. -/
def sumBelow (f : Nat → Nat) : Nat → Nat
  | 0 => 0
  | n + 1 => sumBelow f n + f n

/-- Binomial coefficients by the rule of Pascal. -/
def choose : Nat → Nat → Nat
  | _, 0 => 1
  | 0, _ + 1 => 0
  | n + 1, k + 1 => choose n k + choose n (k + 1)

/-- No positive cube is twice a cube plus four times a cube. -/
theorem cubes_descent (a b c : Nat) (h : a ^ 3 = 2 * b ^ 3 + 4 * c ^ 3) : a = 0 := by
  have even (n : Nat) (hn : n ^ 3 % 2 = 0) : ∃ k, n = 2 * k := by
    have : n % 2 = 0 ∨ n % 2 = 1 := by omega
    rcases this with h | h
    · exact ⟨n / 2, by omega⟩
    · simp [Nat.pow_mod, h] at hn
  induction a using Nat.strongRecOn generalizing b c with
  | _ a ih =>
    obtain ⟨a', rfl⟩ := even a (by omega)
    have e1 : (2 * a') ^ 3 = 8 * a' ^ 3 := by grind
    obtain ⟨b', rfl⟩ := even b (by omega)
    have e2 : (2 * b') ^ 3 = 8 * b' ^ 3 := by grind
    obtain ⟨c', rfl⟩ := even c (by omega)
    have e3 : (2 * c') ^ 3 = 8 * c' ^ 3 := by grind
    by_cases h0 : a' = 0
    · omega
    · have := ih a' (by omega) b' c' (by omega)
      omega

/-- Three times a positive square is not a sum of two squares. -/
theorem three_times_square (a b c : Nat) (h : a * a + b * b = 3 * (c * c)) : c = 0 := by
  have dvd (a b : Nat) (h : (a * a + b * b) % 3 = 0) : a % 3 = 0 ∧ b % 3 = 0 := by
    have ha : a % 3 = 0 ∨ a % 3 = 1 ∨ a % 3 = 2 := by omega
    have hb : b % 3 = 0 ∨ b % 3 = 1 ∨ b % 3 = 2 := by omega
    rw [Nat.add_mod, Nat.mul_mod a, Nat.mul_mod b] at h
    rcases ha with ha | ha | ha <;> rcases hb with hb | hb | hb <;> simp [ha, hb] at h ⊢
  induction c using Nat.strongRecOn generalizing a b with
  | _ c ih =>
    obtain ⟨ha, hb⟩ := dvd a b (by omega)
    obtain ⟨x, rfl⟩ := Nat.dvd_of_mod_eq_zero ha
    obtain ⟨y, rfl⟩ := Nat.dvd_of_mod_eq_zero hb
    have hc : c * c = 3 * (x * x + y * y) := by grind
    obtain ⟨hc', -⟩ := dvd c 0 (by omega)
    obtain ⟨z, rfl⟩ := Nat.dvd_of_mod_eq_zero hc'
    by_cases hz : z = 0
    · omega
    · have := ih z (by omega) x y (by grind)
      omega

/-- There are primes above every number. -/
theorem primes_unbounded (n : Nat) : ∃ p, n < p ∧ Prime p := by
  have divisor (n : Nat) (h : 2 ≤ n) : ∃ p, Prime p ∧ p ∣ n := by
    induction n using Nat.strongRecOn with
    | _ n ih =>
      by_cases hd : ∃ d, d ∣ n ∧ d ≠ 1 ∧ d ≠ n
      · obtain ⟨d, hdn, h1, hn⟩ := hd
        have hle := Nat.le_of_dvd (by omega) hdn
        have hpos := Nat.pos_of_dvd_of_pos hdn (by omega)
        obtain ⟨p, hp, hpd⟩ := ih d (by omega) (by omega)
        exact ⟨p, hp, Nat.dvd_trans hpd hdn⟩
      · exact ⟨n, ⟨h, fun d hdn => by grind⟩, Nat.dvd_refl n⟩
  have dvd_fact (n d : Nat) (h : 0 < d) (hd : d ≤ n) : d ∣ fact n := by
    induction n with
    | zero => omega
    | succ n ih =>
      rw [fact]
      by_cases he : d = n + 1
      · exact he ▸ Nat.dvd_mul_right _ _
      · exact Nat.dvd_trans (ih (by omega)) (Nat.dvd_mul_left _ _)
  have fact_pos (n : Nat) : 0 < fact n := by
    induction n with
    | zero => decide
    | succ n ih => exact Nat.mul_pos (by omega) ih
  obtain ⟨p, hp, hdvd⟩ := divisor (fact n + 1) (by have := fact_pos n; omega)
  refine ⟨p, Nat.lt_of_not_le fun hle => ?_, hp⟩
  have h2 := hp.1
  have := (Nat.dvd_add_right (dvd_fact n p (by omega) hle)).mp hdvd
  have := Nat.dvd_one.mp this
  omega

/-- A number is a product of primes in one way only, up to their order. -/
theorem factorisation_unique (ps qs : List Nat) (hp : ∀ p ∈ ps, Prime p)
    (hq : ∀ q ∈ qs, Prime q) (h : product ps = product qs) : ps.Perm qs := by
  have euclid (p a b : Nat) (hp : Prime p) (h : p ∣ a * b) : p ∣ a ∨ p ∣ b := by
    rcases hp.2 _ (Nat.gcd_dvd_left p a) with hg | hg
    · exact Or.inr (Nat.Coprime.dvd_of_dvd_mul_left hg h)
    · exact Or.inl (hg ▸ Nat.gcd_dvd_right p a)
  have mem (p : Nat) (hp : Prime p) (qs : List Nat) (hq : ∀ q ∈ qs, Prime q)
      (h : p ∣ product qs) : p ∈ qs := by
    have h2 := hp.1
    induction qs with
    | nil =>
      have := Nat.dvd_one.mp h
      omega
    | cons q qs ih =>
      rcases euclid p q _ hp h with h | h
      · rcases (hq q (by simp)).2 p h with h1 | h1
        · omega
        · simp [h1]
      · exact List.mem_cons_of_mem q (ih (fun r hr => hq r (by simp [hr])) h)
  have perm (xs ys : List Nat) (h : xs.Perm ys) : product xs = product ys := by
    induction h with
    | nil => rfl
    | cons x _ ih => simp only [product, ih]
    | swap x y zs => simp only [product, Nat.mul_left_comm]
    | trans _ _ ih1 ih2 => exact ih1.trans ih2
  induction ps generalizing qs with
  | nil =>
    cases qs with
    | nil => exact List.Perm.refl _
    | cons q qs =>
      have h2 := (hq q (by simp)).1
      have := Nat.dvd_one.mp (show q ∣ 1 from ⟨product qs, h⟩)
      omega
  | cons p ps ih =>
    have hpp := hp p (by simp)
    have h2 := hpp.1
    have hpq := List.perm_cons_erase (mem p hpp qs hq ⟨product ps, h.symm⟩)
    have hc : p * product ps = p * product (qs.erase p) := h.trans (perm _ _ hpq)
    have := ih (qs.erase p) (fun r hr => hp r (by simp [hr]))
      (fun r hr => hq r (List.mem_of_mem_erase hr)) (Nat.eq_of_mul_eq_mul_left (by omega) hc)
    exact (this.cons p).trans hpq.symm

/-- Trial division up to the square root decides whether a number is prime. -/
theorem is_prime_correct (n : Nat) : isPrime n = true ↔ Prime n := by
  simp only [isPrime, Bool.and_eq_true, decide_eq_true_eq, List.all_eq_true, List.mem_range,
    Bool.or_eq_true, bne_iff_ne, ne_eq, Prime]
  constructor
  · rintro ⟨h2, h⟩
    refine ⟨h2, fun d hd => ?_⟩
    obtain ⟨e, rfl⟩ := hd
    have small (d e : Nat) (hle : d ≤ e) (h2 : 2 ≤ d * e)
        (h : ∀ x, x < d * e → (x < 2 ∨ d * e < x * x) ∨ ¬d * e % x = 0) : d = 1 := by
      have hd : 0 < d := Nat.pos_of_ne_zero fun h0 => by simp [h0] at h2
      by_cases h1 : d = 1
      · exact h1
      · have hlt : d * 1 < d * e := Nat.mul_lt_mul_of_pos_left (by omega) hd
        have hsq : d * d ≤ d * e := Nat.mul_le_mul_left d hle
        have := h d (by omega)
        simp at this
        omega
    rcases Nat.le_total d e with hle | hle
    · exact Or.inl (small d e hle h2 h)
    · rw [Nat.mul_comm d e] at h2 h
      have := small e d hle h2 h
      exact Or.inr (by simp [this])
  · rintro ⟨h2, h⟩
    refine ⟨h2, fun d hd => ?_⟩
    by_cases hm : n % d = 0
    · have := h d (Nat.dvd_of_mod_eq_zero hm)
      omega
    · exact Or.inr hm

/-- The greatest common divisor is a combination of the two numbers. -/
theorem bezout (a b : Nat) : ∃ x y : Int, (Nat.gcd a b : Int) = x * a + y * b := by
  induction a, b using Nat.gcd.induction with
  | H0 n => exact ⟨0, 1, by simp⟩
  | H1 m n hm ih =>
    obtain ⟨x, y, h⟩ := ih
    refine ⟨y - x * ((n / m : Nat) : Int), x, ?_⟩
    rw [Nat.gcd_rec, h]
    have := congrArg (fun k : Nat => (k : Int)) (Nat.div_add_mod n m)
    simp only [Int.natCast_add, Int.natCast_mul] at this
    grind

/-- Remainders by two coprime numbers can be prescribed. -/
theorem chinese_remainder (m n : Nat) (h : Nat.Coprime m n) (a b : Int) :
    ∃ x : Int, (m : Int) ∣ x - a ∧ (n : Int) ∣ x - b := by
  have bezout (a b : Nat) : ∃ x y : Int, (Nat.gcd a b : Int) = x * a + y * b := by
    induction a, b using Nat.gcd.induction with
    | H0 n => exact ⟨0, 1, by simp⟩
    | H1 m n hm ih =>
      obtain ⟨x, y, h⟩ := ih
      refine ⟨y - x * ((n / m : Nat) : Int), x, ?_⟩
      rw [Nat.gcd_rec, h]
      have := congrArg (fun k : Nat => (k : Int)) (Nat.div_add_mod n m)
      simp only [Int.natCast_add, Int.natCast_mul] at this
      grind
  obtain ⟨u, v, huv⟩ := bezout m n
  rw [h.gcd_eq_one] at huv
  exact ⟨a * v * n + b * u * m, ⟨u * (b - a), by grind⟩, ⟨v * (a - b), by grind⟩⟩

/-- The greatest common divisor of Fibonacci numbers is a Fibonacci number. -/
theorem fib_gcd (m n : Nat) : fib (Nat.gcd m n) = Nat.gcd (fib m) (fib n) := by
  have add (m n : Nat) : fib (m + n + 1) = fib m * fib n + fib (m + 1) * fib (n + 1) := by
    induction m generalizing n with
    | zero => simp [fib]
    | succ m ih =>
      have := ih (n + 1)
      rw [show m + 1 + n + 1 = m + (n + 1) + 1 by omega, this]
      simp only [fib]
      grind
  have coprime (n : Nat) : Nat.Coprime (fib n) (fib (n + 1)) := by
    induction n with
    | zero => simp [fib]
    | succ n ih =>
      rw [fib, Nat.coprime_iff_gcd_eq_one, Nat.gcd_comm, Nat.gcd_add_self_left]
      exact ih
  have step (m n : Nat) : Nat.gcd (fib m) (fib (m + n)) = Nat.gcd (fib m) (fib n) := by
    cases n with
    | zero => simp [fib]
    | succ n =>
      rw [← Nat.add_assoc, add, Nat.gcd_add_left_right_of_dvd _ (Nat.dvd_mul_right _ _)]
      exact Nat.Coprime.gcd_mul_left_cancel_right _ (coprime m).symm
  have main (k m n : Nat) (h : m + n ≤ k) : fib (Nat.gcd m n) = Nat.gcd (fib m) (fib n) := by
    induction k generalizing m n with
    | zero =>
      obtain ⟨rfl, rfl⟩ : m = 0 ∧ n = 0 := by omega
      simp [fib]
    | succ k ih =>
      by_cases hm : m = 0
      · simp [hm, fib]
      by_cases hn : n = 0
      · simp [hn, fib]
      rcases Nat.le_total m n with hle | hle
      · obtain ⟨d, rfl⟩ := Nat.exists_eq_add_of_le hle
        rw [step, ← ih m d (by omega)]
        simp
      · obtain ⟨d, rfl⟩ := Nat.exists_eq_add_of_le hle
        rw [Nat.gcd_comm (fib _), step, ← ih n d (by omega)]
        simp [Nat.gcd_comm]
  exact main (m + n) m n (Nat.le_refl _)

/-- Every number is a sum of Fibonacci numbers, no two of them neighbours. -/
theorem zeckendorf (n : Nat) : ∃ ks : List Nat,
    ks.Pairwise (fun i j => j + 2 ≤ i) ∧ (∀ k ∈ ks, 2 ≤ k) ∧ (ks.map fib).sum = n := by
  have grows (n : Nat) : fib n ≤ fib (n + 1) := by
    cases n with
    | zero => decide
    | succ n => rw [fib]; omega
  have mono (m n : Nat) : fib m ≤ fib (m + n) := by
    induction n with
    | zero => exact Nat.le_refl _
    | succ n ih => exact Nat.le_trans ih (grows _)
  have large (n : Nat) : n ≤ fib (n + 1) := by
    induction n using Nat.strongRecOn with
    | _ n ih =>
      match n, ih with
      | 0, _ => decide
      | 1, _ => decide
      | 2, _ => decide
      | n + 3, ih =>
        have h1 : n + 2 ≤ fib (n + 3) := ih (n + 2) (by omega)
        have h2 : n + 1 ≤ fib (n + 2) := ih (n + 1) (by omega)
        show n + 3 ≤ fib (n + 2) + fib (n + 3)
        omega
  have between (n : Nat) (h : 0 < n) : ∃ k, 2 ≤ k ∧ fib k ≤ n ∧ n < fib (k + 1) := by
    have main (j : Nat) (hj : n < fib (j + 3)) : ∃ k, 2 ≤ k ∧ fib k ≤ n ∧ n < fib (k + 1) := by
      induction j with
      | zero => exact ⟨2, by omega, by simp [fib]; omega, hj⟩
      | succ j ih =>
        by_cases hlt : n < fib (j + 3)
        · exact ih hlt
        · exact ⟨j + 3, by omega, by omega, hj⟩
    apply main n
    have : n + 1 ≤ fib (n + 2) := large (n + 1)
    have : fib (n + 2) ≤ fib (n + 3) := grows (n + 2)
    omega
  induction n using Nat.strongRecOn with
  | _ n ih =>
    by_cases h0 : n = 0
    · exact ⟨[], by simp [h0]⟩
    · obtain ⟨k, hk, hle, hlt⟩ := between n (by omega)
      have hpos : 0 < fib k := by
        have := mono 2 (k - 2)
        rw [Nat.add_sub_cancel' hk] at this
        exact Nat.lt_of_lt_of_le (by decide) this
      obtain ⟨ks, hp, h2, hs⟩ := ih (n - fib k) (by omega)
      refine ⟨k :: ks, List.pairwise_cons.mpr ⟨fun j hj => ?_, hp⟩, by grind, by
        simp only [List.map_cons, List.sum_cons, hs]; omega⟩
      have mem_le (ks : List Nat) (hj : j ∈ ks) : fib j ≤ (ks.map fib).sum := by
        induction ks with
        | nil => simp at hj
        | cons i is ih =>
          rcases List.mem_cons.mp hj with rfl | hj
          · simp
          · have := ih hj
            simp
            omega
      have hj' := mem_le ks hj
      apply Nat.le_of_not_lt
      intro hgt
      have := mono (k - 1) (j - (k - 1))
      rw [Nat.add_sub_cancel' (by omega)] at this
      obtain ⟨i, rfl⟩ : ∃ i, k = i + 2 := ⟨k - 2, by omega⟩
      simp [fib] at *
      omega

/-- Insertion sort returns the same numbers in ascending order. -/
theorem sort_correct (xs : List Nat) : (sort xs).Perm xs ∧ (sort xs).Pairwise (· ≤ ·) := by
  have perm (x : Nat) (ys : List Nat) : (insertSorted x ys).Perm (x :: ys) := by
    induction ys with
    | nil => exact List.Perm.refl _
    | cons y ys ih =>
      unfold insertSorted
      split
      · exact List.Perm.refl _
      · exact (ih.cons y).trans (List.Perm.swap x y ys)
  have sorted (x : Nat) (ys : List Nat) (h : ys.Pairwise (· ≤ ·)) :
      (insertSorted x ys).Pairwise (· ≤ ·) := by
    induction ys with
    | nil => simp [insertSorted]
    | cons y ys ih =>
      obtain ⟨hy, hys⟩ := List.pairwise_cons.mp h
      unfold insertSorted
      split
      · refine List.pairwise_cons.mpr ⟨fun z hz => ?_, h⟩
        grind
      · refine List.pairwise_cons.mpr ⟨fun z hz => ?_, ih hys⟩
        have := (perm x ys).mem_iff.mp hz
        grind
  induction xs with
  | nil => simp [sort]
  | cons x xs ih => exact ⟨(perm x _).trans (ih.1.cons x), sorted x _ ih.2⟩

/-- Inserting into a search tree keeps its order and adds just that number. -/
theorem tree_insert_correct (x : Nat) (t : Tree) (h : t.toList.Pairwise (· < ·)) :
    (t.insert x).toList.Pairwise (· < ·) ∧
      ∀ y, y ∈ (t.insert x).toList ↔ y = x ∨ y ∈ t.toList := by
  induction t with
  | leaf => simp [Tree.insert, Tree.toList]
  | node l y r hl hr =>
    simp only [Tree.toList, List.pairwise_append, List.pairwise_cons] at h
    obtain ⟨h1, ⟨h2, h3⟩, h4⟩ := h
    have hy : ∀ a, a ∈ l.toList → a < y := fun a ha => h4 a ha y (by simp)
    replace hl := hl h1
    replace hr := hr h3
    unfold Tree.insert
    split
    · simp only [Tree.toList, List.pairwise_append, List.pairwise_cons]
      exact ⟨⟨hl.1, ⟨h2, h3⟩, by grind⟩, by grind⟩
    · split
      · simp only [Tree.toList, List.pairwise_append, List.pairwise_cons]
        clear hl
        exact ⟨⟨h1, ⟨by grind, hr.1⟩, by grind⟩, by grind⟩
      · simp only [Tree.toList, List.pairwise_append, List.pairwise_cons]
        exact ⟨⟨h1, ⟨h2, h3⟩, h4⟩, by grind⟩

/-- Of more letters than boxes, two go to the same box. -/
theorem pigeonhole (n : Nat) (f : Nat → Nat) (h : ∀ i, i ≤ n → f i < n) :
    ∃ i j, i < j ∧ j ≤ n ∧ f i = f j := by
  induction n generalizing f with
  | zero => exact absurd (h 0 (Nat.le_refl 0)) (Nat.not_lt_zero _)
  | succ n ih =>
    by_cases hc : ∃ i, i ≤ n ∧ f i = f (n + 1)
    · obtain ⟨i, hi, he⟩ := hc
      exact ⟨i, n + 1, by omega, by omega, he⟩
    · have hlast := h (n + 1) (Nat.le_refl _)
      obtain ⟨i, j, hij, hj, he⟩ := ih (fun i => if f i = n then f (n + 1) else f i) (by
        intro i hi
        have := h i (by omega)
        have : f i ≠ f (n + 1) := fun he => hc ⟨i, hi, he⟩
        grind)
      have hi' : f i ≠ f (n + 1) := fun he => hc ⟨i, by omega, he⟩
      have hj' : f j ≠ f (n + 1) := fun he => hc ⟨j, hj, he⟩
      exact ⟨i, j, hij, by omega, by grind⟩

/-- The inequality of Cauchy and Schwarz. -/
theorem cauchy_schwarz (xs ys : List Int) : dot xs ys ^ 2 ≤ dot xs xs * dot ys ys := by
  have square (z : Int) : 0 ≤ z * z := by
    have := Int.sq_nonnneg z
    grind
  have nonneg (xs : List Int) : 0 ≤ dot xs xs := by
    induction xs with
    | nil => simp [dot]
    | cons x xs ih =>
      have := square x
      simp only [dot]
      omega
  have form (xs ys : List Int) (s t : Int) :
      0 ≤ s * s * dot xs xs - 2 * s * t * dot xs ys + t * t * dot ys ys := by
    induction xs generalizing ys with
    | nil =>
      have := Int.mul_nonneg (square t) (nonneg ys)
      simpa [dot] using this
    | cons x xs ih =>
      cases ys with
      | nil =>
        have := Int.mul_nonneg (square s) (nonneg (x :: xs))
        simpa [dot] using this
      | cons y ys =>
        have := ih ys
        have := square (s * x - t * y)
        simp only [dot]
        grind
  induction xs generalizing ys with
  | nil => simp [dot]
  | cons x xs ih =>
    cases ys with
    | nil => simp [dot]
    | cons y ys =>
      have := ih ys
      have := form xs ys y x
      simp only [dot]
      grind

/-- Three times a product of three numbers is at most the sum of their cubes. -/
theorem am_gm_three (a b c : Int) (ha : 0 ≤ a) (hb : 0 ≤ b) (hc : 0 ≤ c) :
    3 * (a * b * c) ≤ a ^ 3 + b ^ 3 + c ^ 3 := by
  have h1 := Int.sq_nonnneg (a - b)
  have h2 := Int.sq_nonnneg (b - c)
  have h3 := Int.sq_nonnneg (c - a)
  have := Int.mul_nonneg (a := a + b + c) (b := (a - b) ^ 2 + (b - c) ^ 2 + (c - a) ^ 2)
    (by omega) (by omega)
  grind

/-- Binary search finds where a property that once gained is kept begins. -/
theorem search_correct (p : Nat → Bool) (n : Nat) (h0 : p 0 = false) (hn : p n = true)
    (keep : ∀ k, p k = true → p (k + 1) = true) (k : Nat) :
    p k = true ↔ search p n 0 n ≤ k := by
  have main (fuel lo hi : Nat) (hlo : p lo = false) (hhi : p hi = true) (hlt : lo < hi)
      (hf : hi ≤ lo + fuel + 1) :
      p (search p fuel lo hi) = true ∧ 0 < search p fuel lo hi ∧
        p (search p fuel lo hi - 1) = false := by
    induction fuel generalizing lo hi with
    | zero =>
      obtain rfl : hi = lo + 1 := by omega
      simp [search, hlo, hhi]
    | succ fuel ih =>
      unfold search
      split
      · obtain rfl : hi = lo + 1 := by omega
        simp [hlo, hhi]
      · split
        · next hm => exact ih _ _ hlo hm (by omega) (by omega)
        · next hm => exact ih _ _ (by simpa using hm) hhi (by omega) (by omega)
  have pos : 0 < n := Nat.pos_of_ne_zero fun h => by simp [h, h0] at hn
  obtain ⟨h1, h2, h3⟩ := main n 0 n h0 hn pos (by omega)
  have up (i d : Nat) (h : p i = true) : p (i + d) = true := by
    induction d with
    | zero => exact h
    | succ d ih => exact keep _ ih
  constructor
  · intro hk
    apply Nat.le_of_not_lt
    intro hlt
    have := up k (search p n 0 n - 1 - k) hk
    rw [Nat.add_sub_cancel' (by omega), h3] at this
    contradiction
  · intro hle
    have := up _ (k - search p n 0 n) h1
    rwa [Nat.add_sub_cancel' hle] at this

/-- Exponentiation by squaring is exponentiation. -/
theorem pow_loop_correct (b n : Nat) : powLoop n b n 1 = b ^ n := by
  have main (fuel b n acc : Nat) (h : n ≤ fuel) : powLoop fuel b n acc = acc * b ^ n := by
    induction fuel generalizing b n acc with
    | zero =>
      obtain rfl : n = 0 := by omega
      simp [powLoop]
    | succ fuel ih =>
      unfold powLoop
      split
      · next h0 => simp [h0]
      · rw [ih _ _ _ (by omega), ← Nat.pow_two, ← Nat.pow_mul]
        split
        · next he => rw [show 2 * (n / 2) = n by omega]
        · next ho =>
          rw [Nat.mul_assoc, ← Nat.pow_succ', show Nat.succ (2 * (n / 2)) = n by omega]
  simpa using main n b n 1 (Nat.le_refl n)

/-- Repeated subtraction finds the greatest common divisor. -/
theorem gcd_loop_correct (a b : Nat) : gcdLoop (a + b) a b = Nat.gcd a b := by
  have main (fuel a b : Nat) (h : a + b ≤ fuel) : gcdLoop fuel a b = Nat.gcd a b := by
    induction fuel generalizing a b with
    | zero =>
      obtain ⟨rfl, rfl⟩ : a = 0 ∧ b = 0 := by omega
      simp [gcdLoop]
    | succ fuel ih =>
      unfold gcdLoop
      split
      · next h0 => simp [h0]
      · split
        · next h0 => simp [h0]
        · split
          · next hle =>
            rw [ih _ _ (by omega)]
            obtain ⟨d, rfl⟩ := Nat.exists_eq_add_of_le hle
            simp
          · next hle =>
            rw [ih _ _ (by omega)]
            obtain ⟨d, rfl⟩ := Nat.exists_eq_add_of_le (Nat.le_of_not_le hle)
            simp
  exact main (a + b) a b (Nat.le_refl _)

/-- The function of Ackermann grows in its second argument. -/
theorem ack_grows (m n : Nat) : ack m n < ack m (n + 1) := by
  have above (m n : Nat) : n < ack m n := by
    induction m generalizing n with
    | zero => simp [ack]
    | succ m ih =>
      induction n with
      | zero =>
        have := ih 1
        rw [ack]
        omega
      | succ n ihn =>
        have := ih (ack (m + 1) n)
        rw [ack]
        omega
  cases m with
  | zero => simp [ack]
  | succ m =>
    rw [ack]
    exact above m _

/-- A function on the numbers with `f (f n) < f (n + 1)` changes nothing. -/
theorem below_next_is_identity (f : Nat → Nat) (h : ∀ n, f (f n) < f (n + 1)) (n : Nat) :
    f n = n := by
  have above (k n : Nat) (hn : k ≤ n) : k ≤ f n := by
    induction k generalizing n with
    | zero => exact Nat.zero_le _
    | succ k ih =>
      obtain ⟨m, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
      have := ih (f m) (ih m (by omega))
      have := h m
      omega
  have step (n : Nat) : f n < f (n + 1) := Nat.lt_of_le_of_lt (above _ _ (Nat.le_refl _)) (h n)
  have mono (n d : Nat) : f n ≤ f (n + d) := by
    induction d with
    | zero => exact Nat.le_refl _
    | succ d ih => exact Nat.le_trans ih (Nat.le_of_lt (step _))
  have h1 := above n n (Nat.le_refl n)
  apply Nat.le_antisymm _ h1
  apply Nat.le_of_not_lt
  intro hlt
  have := mono (n + 1) (f n - (n + 1))
  rw [Nat.add_sub_cancel' hlt] at this
  have := h n
  omega

/-- Of injections in both directions one can make a bijection. -/
theorem schroeder_bernstein (f : α → β) (g : β → α) (hf : Injective f) (hg : Injective g) :
    ∃ h : α → β, Injective h ∧ Surjective h := by
  classical
  let c : α → Prop := fun x => ∀ s : α → Prop,
    (∀ y, (¬∃ b, g b = y) → s y) → (∀ y, s y → s (g (f y))) → s x
  have base (y : α) (hy : ¬∃ b, g b = y) : c y := fun s h1 _ => h1 y hy
  have next (y : α) (hy : c y) : c (g (f y)) := fun s h1 h2 => h2 y (hy s h1 h2)
  have inv (x : α) (hx : c x) : (¬∃ b, g b = x) ∨ ∃ y, c y ∧ g (f y) = x := by
    refine (hx (fun x => c x ∧ ((¬∃ b, g b = x) ∨ ∃ y, c y ∧ g (f y) = x)) ?_ ?_).2
    · exact fun y hy => ⟨base y hy, Or.inl hy⟩
    · exact fun y hy => ⟨next y hy.1, Or.inr ⟨y, hy.1, rfl⟩⟩
  have back (x : α) (hx : ¬c x) : ∃ b, g b = x := Classical.byContradiction fun h => hx (base x h)
  refine ⟨fun x => if hx : c x then f x else (back x hx).choose, fun x y hxy => ?_, fun b => ?_⟩
  · by_cases hx : c x <;> by_cases hy : c y <;> simp only [hx, hy, dite_true, dite_false] at hxy
    · exact hf x y hxy
    · have := (back y hy).choose_spec
      rw [← hxy] at this
      exact absurd (this ▸ next x hx) hy
    · have := (back x hx).choose_spec
      rw [hxy] at this
      exact absurd (this ▸ next y hy) hx
    · rw [← (back x hx).choose_spec, ← (back y hy).choose_spec, hxy]
  · by_cases hb : c (g b)
    · rcases inv _ hb with h | ⟨y, hy, he⟩
      · exact absurd ⟨b, rfl⟩ h
      · exact ⟨y, by simp only [hy, dite_true]; exact hg _ _ he⟩
    · refine ⟨g b, ?_⟩
      simp only [hb, dite_false]
      exact hg _ _ (back (g b) hb).choose_spec

/-- Who has more than half of the votes is found by cancelling different votes. -/
theorem majority_vote (xs : List Nat) (m : Nat) (h : xs.length < 2 * xs.count m) :
    vote xs 0 0 = m := by
  have main (xs : List Nat) (c k : Nat)
      (h : xs.length + k < 2 * (xs.count m + if c = m then k else 0)) : vote xs c k = m := by
    induction xs generalizing c k with
    | nil =>
      simp at h
      grind [vote]
    | cons x xs ih =>
      cases k with
      | zero =>
        apply ih
        grind
      | succ k =>
        unfold vote
        split <;> apply ih <;> grind
  exact main xs 0 0 (by simpa using h)

/-- One pass finds the largest sum of a segment of a list. -/
theorem best_segment_correct (xs : List Int) :
    (∀ as bs cs, xs = as ++ bs ++ cs → total bs ≤ bestSegment xs 0 0) ∧
      ∃ as bs cs, xs = as ++ bs ++ cs ∧ total bs = bestSegment xs 0 0 := by
  have upper (xs : List Int) (here best : Int) (h0 : 0 ≤ here) (hb : here ≤ best) :
      best ≤ bestSegment xs here best ∧
        (∀ bs cs, xs = bs ++ cs → here + total bs ≤ bestSegment xs here best) ∧
        ∀ as bs cs, xs = as ++ bs ++ cs → total bs ≤ bestSegment xs here best := by
    induction xs generalizing here best with
    | nil =>
      simp only [bestSegment]
      refine ⟨Int.le_refl _, fun bs cs h => ?_, fun as bs cs h => ?_⟩
      · obtain ⟨rfl, rfl⟩ := List.append_eq_nil_iff.mp h.symm
        simpa [total] using hb
      · simp at h
        simp [h, total]
        omega
    | cons x xs ih =>
      obtain ⟨i1, i2, i3⟩ := ih (max 0 (here + x)) (max best (max 0 (here + x)))
        (by omega) (by omega)
      simp only [bestSegment]
      have front (bs cs : List Int) (h : x :: xs = bs ++ cs) : here + total bs ≤
          bestSegment xs (max 0 (here + x)) (max best (max 0 (here + x))) := by
        cases bs with
        | nil =>
          simp [total]
          omega
        | cons b bs =>
          simp at h
          have := i2 bs cs h.2
          simp only [total, ← h.1]
          omega
      refine ⟨by omega, front, fun as bs cs h => ?_⟩
      cases as with
      | nil =>
        have := front bs cs h
        omega
      | cons a as =>
        simp at h
        exact i3 as bs cs (by simp [h.2])
  have attained (xs : List Int) (here best : Int) : bestSegment xs here best = best ∨
      (∃ bs cs, xs = bs ++ cs ∧ here + total bs = bestSegment xs here best) ∨
      ∃ as bs cs, xs = as ++ bs ++ cs ∧ total bs = bestSegment xs here best := by
    induction xs generalizing here best with
    | nil => exact Or.inl rfl
    | cons x xs ih =>
      simp only [bestSegment]
      have here' : max 0 (here + x) = 0 ∨ max 0 (here + x) = here + x := by omega
      rcases ih (max 0 (here + x)) (max best (max 0 (here + x))) with h | ⟨bs, cs, h, hs⟩ |
          ⟨as, bs, cs, h, hs⟩
      · have : max best (max 0 (here + x)) = best ∨ max best (max 0 (here + x)) = 0 ∨
            max best (max 0 (here + x)) = here + x := by omega
        rcases this with h' | h' | h'
        · exact Or.inl (h.trans h')
        · exact Or.inr (Or.inr ⟨[], [], x :: xs, rfl, by simp [total]; omega⟩)
        · exact Or.inr (Or.inl ⟨[x], xs, rfl, by simp [total]; omega⟩)
      · rcases here' with h' | h'
        · exact Or.inr (Or.inr ⟨[x], bs, cs, by simp [h], by omega⟩)
        · exact Or.inr (Or.inl ⟨x :: bs, cs, by simp [h], by simp only [total]; omega⟩)
      · exact Or.inr (Or.inr ⟨x :: as, bs, cs, by simp [h], hs⟩)
  refine ⟨(upper xs 0 0 (by omega) (by omega)).2.2, ?_⟩
  rcases attained xs 0 0 with h | ⟨bs, cs, h, hs⟩ | h
  · exact ⟨[], [], xs, rfl, by simp [total, h]⟩
  · exact ⟨[], bs, cs, h, by omega⟩
  · exact h

/-- A row of the triangle of Pascal adds up to a power of two. -/
theorem pascal_row_sum (n : Nat) : sumBelow (choose n) (n + 1) = 2 ^ n := by
  have add (f g : Nat → Nat) (n : Nat) :
      sumBelow (fun k => f k + g k) n = sumBelow f n + sumBelow g n := by
    induction n with
    | zero => rfl
    | succ n ih => simp only [sumBelow, ih]; omega
  have first (f : Nat → Nat) (n : Nat) :
      sumBelow f (n + 1) = f 0 + sumBelow (fun k => f (k + 1)) n := by
    induction n with
    | zero => simp [sumBelow]
    | succ n ih =>
      rw [sumBelow, ih, sumBelow]
      omega
  have beyond (n d : Nat) : choose n (n + 1 + d) = 0 := by
    induction n generalizing d with
    | zero => rw [show 0 + 1 + d = d + 1 by omega]; rfl
    | succ n ih =>
      rw [show n + 1 + 1 + d = n + 1 + d + 1 by omega, choose, ih, Nat.add_assoc, ih]
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [first]
    have hz : choose n 0 = 1 := by cases n <;> rfl
    have hs : sumBelow (fun k => choose (n + 1) (k + 1)) (n + 1) =
        sumBelow (choose n) (n + 1) + sumBelow (fun k => choose n (k + 1)) (n + 1) := by
      rw [← add]
      rfl
    have hf := first (choose n) (n + 1)
    have hl : sumBelow (choose n) (n + 1 + 1) = sumBelow (choose n) (n + 1) := by
      have := beyond n 0
      rw [sumBelow]
      simpa using this
    have h1 : choose (n + 1) 0 = 1 := rfl
    rw [Nat.pow_succ]
    omega

/-- Numbers that never rise stay the same from some place on. -/
theorem eventually_constant (f : Nat → Nat) (h : ∀ n, f (n + 1) ≤ f n) :
    ∃ m, ∀ n, m ≤ n → f n = f m := by
  have main (v : Nat) (f : Nat → Nat) (hv : f 0 = v) (h : ∀ n, f (n + 1) ≤ f n) :
      ∃ m, ∀ n, m ≤ n → f n = f m := by
    induction v using Nat.strongRecOn generalizing f with
    | _ v ih =>
      by_cases hk : ∃ k, f k < v
      · obtain ⟨k, hk⟩ := hk
        obtain ⟨m, hm⟩ := ih (f k) hk (fun n => f (k + n)) rfl fun n => h (k + n)
        refine ⟨k + m, fun n hn => ?_⟩
        have := hm (n - k) (by omega)
        simpa [Nat.add_sub_cancel' (show k ≤ n by omega)] using this
      · have le (n : Nat) : f n ≤ f 0 := by
          induction n with
          | zero => exact Nat.le_refl _
          | succ n ih => exact Nat.le_trans (h n) ih
        refine ⟨0, fun n _ => ?_⟩
        have := le n
        have : ¬f n < v := fun hn => hk ⟨n, hn⟩
        omega
  exact main _ f rfl h

/-- A monotone operation on sets has a least fixed point. -/
theorem least_fixed_point (f : (α → Prop) → α → Prop)
    (mono : ∀ s t : α → Prop, (∀ x, s x → t x) → ∀ x, f s x → f t x) :
    ∃ s, f s = s ∧ ∀ t, f t = t → ∀ x, s x → t x := by
  let s : α → Prop := fun x => ∀ t : α → Prop, (∀ y, f t y → t y) → t x
  have sub (x : α) (h : f s x) : s x := by
    intro t ht
    exact ht x (mono s t (fun y hy => hy t ht) x h)
  have sup (x : α) (h : s x) : f s x := h (f s) (mono (f s) s sub)
  refine ⟨s, ?_, fun t ht x hx => hx t fun y hy => ht ▸ hy⟩
  funext x
  exact propext ⟨sub x, sup x⟩

/-- Two sequences of numbers both fail to fall between some two places. -/
theorem both_not_falling (f g : Nat → Nat) : ∃ i j, i < j ∧ f i ≤ f j ∧ g i ≤ g j := by
  have least (p : Nat → Prop) (v : Nat → Nat) (h : ∃ n, p n) :
      ∃ n, p n ∧ ∀ m, p m → v n ≤ v m := by
    obtain ⟨n, hn⟩ := h
    have main (k n : Nat) (hn : p n) (hk : v n = k) : ∃ n, p n ∧ ∀ m, p m → v n ≤ v m := by
      induction k using Nat.strongRecOn generalizing n with
      | _ k ih =>
        by_cases hm : ∃ m, p m ∧ v m < k
        · obtain ⟨m, hpm, hlt⟩ := hm
          exact ih (v m) hlt m hpm rfl
        · refine ⟨n, hn, fun m hpm => ?_⟩
          have : ¬v m < k := fun h => hm ⟨m, hpm, h⟩
          omega
    exact main _ n hn rfl
  have tail (n : Nat) : ∃ m, n ≤ m ∧ ∀ k, m ≤ k → f m ≤ f k := by
    obtain ⟨m, hm, hl⟩ := least (fun k => n ≤ k) f ⟨n, Nat.le_refl n⟩
    exact ⟨m, hm, fun k hk => hl k (Nat.le_trans hm hk)⟩
  obtain ⟨i, hi, hg⟩ := least (fun m => ∀ k, m ≤ k → f m ≤ f k) g
    ⟨(tail 0).choose, (tail 0).choose_spec.2⟩
  obtain ⟨j, hj, hf⟩ := tail (i + 1)
  exact ⟨i, j, by omega, hi j (by omega), hg j hf⟩

/-- A number that shares no bit with its predecessor is a power of two. -/
theorem power_of_two_mask (n : Nat) (h0 : 0 < n) (h : n &&& (n - 1) = 0) : ∃ k, n = 2 ^ k := by
  induction n using Nat.strongRecOn with
  | _ n ih =>
    have hd : (n / 2) &&& ((n - 1) / 2) = 0 := by rw [← Nat.and_div_two, h]
    by_cases he : n % 2 = 0
    · obtain ⟨k, hk⟩ := ih (n / 2) (by omega) (by omega) (by
        rwa [show (n - 1) / 2 = n / 2 - 1 by omega] at hd)
      refine ⟨k + 1, ?_⟩
      rw [Nat.pow_succ, ← hk]
      omega
    · rw [show (n - 1) / 2 = n / 2 by omega, Nat.and_self] at hd
      exact ⟨0, by omega⟩

/-- The mean of two words can be computed without overflow. -/
theorem bv_mean (x y : BitVec w) :
    ((x &&& y) + ((x ^^^ y) >>> 1)).toNat = (x.toNat + y.toNat) / 2 := by
  have add (n a b : Nat) (h : a ≤ n) : a + b = (a ^^^ b) + 2 * (a &&& b) := by
    induction n generalizing a b with
    | zero =>
      obtain rfl : a = 0 := by omega
      simp
    | succ n ih =>
      by_cases ha : a = 0
      · simp [ha]
      have hx : (a ^^^ b) / 2 = a / 2 ^^^ b / 2 := Nat.xor_div_two
      have hy : (a &&& b) / 2 = a / 2 &&& b / 2 := Nat.and_div_two
      have hx' := @Nat.xor_mod_two_eq_one a b
      have hy' := @Nat.and_mod_two_eq_one a b
      have := ih (a / 2) (b / 2) (by omega)
      omega
  have := add x.toNat x.toNat y.toNat (Nat.le_refl _)
  have hx := x.isLt
  have hy := y.isLt
  simp only [BitVec.toNat_add, BitVec.toNat_and, BitVec.toNat_ushiftRight, BitVec.toNat_xor,
    Nat.shiftRight_eq_div_pow]
  rw [Nat.mod_eq_of_lt (by omega)]
  omega

/-- In any company the hands shaken, counted by all who shook them, are even in number. -/
theorem handshakes_even (r : Nat → Nat → Bool) (irrefl : ∀ i, r i i = false)
    (symm : ∀ i j, r i j = r j i) (n : Nat) :
    sumBelow (fun i => sumBelow (fun j => (r i j).toNat) n) n % 2 = 0 := by
  have add (f g : Nat → Nat) (n : Nat) :
      sumBelow (fun k => f k + g k) n = sumBelow f n + sumBelow g n := by
    induction n with
    | zero => rfl
    | succ n ih => simp only [sumBelow, ih]; omega
  induction n with
  | zero => rfl
  | succ n ih =>
    simp only [sumBelow, add, irrefl]
    have : (fun i => (r i n).toNat) = fun i => (r n i).toNat := funext fun i => by rw [symm]
    rw [this]
    simp
    omega

/-- Among six people three know each other, or three do not. -/
theorem three_of_six (r : Nat → Nat → Bool) :
    ∃ i j k, i < j ∧ j < k ∧ k < 6 ∧ r i j = r i k ∧ r i j = r j k := by
  have star (i j k : Nat) (hi : 0 < i) (hij : i < j) (hjk : j < k) (hk : k < 6)
      (h : r 0 i = r 0 j ∧ r 0 i = r 0 k) :
      ∃ i j k, i < j ∧ j < k ∧ k < 6 ∧ r i j = r i k ∧ r i j = r j k := by
    by_cases h1 : r 0 i = r i j
    · exact ⟨0, i, j, hi, hij, by omega, h.1, h1⟩
    by_cases h2 : r 0 i = r i k
    · exact ⟨0, i, k, hi, by omega, hk, h.2, h2⟩
    by_cases h3 : r 0 j = r j k
    · exact ⟨0, j, k, by omega, hjk, hk, by grind, h3⟩
    have other : ∀ a b c : Bool, ¬a = b → ¬a = c → b = c := by decide
    exact ⟨i, j, k, hij, hjk, hk, other _ _ _ h1 h2, other _ _ _ h1 (by rwa [h.1])⟩
  have three (a b c d e : Bool) :
      (a = b ∧ a = c) ∨ (a = b ∧ a = d) ∨ (a = b ∧ a = e) ∨ (a = c ∧ a = d) ∨ (a = c ∧ a = e) ∨
      (a = d ∧ a = e) ∨ (b = c ∧ b = d) ∨ (b = c ∧ b = e) ∨ (b = d ∧ b = e) ∨ (c = d ∧ c = e) := by
    revert a b c d e
    decide
  rcases three (r 0 1) (r 0 2) (r 0 3) (r 0 4) (r 0 5) with
    h | h | h | h | h | h | h | h | h | h
  · exact star 1 2 3 (by decide) (by decide) (by decide) (by decide) h
  · exact star 1 2 4 (by decide) (by decide) (by decide) (by decide) h
  · exact star 1 2 5 (by decide) (by decide) (by decide) (by decide) h
  · exact star 1 3 4 (by decide) (by decide) (by decide) (by decide) h
  · exact star 1 3 5 (by decide) (by decide) (by decide) (by decide) h
  · exact star 1 4 5 (by decide) (by decide) (by decide) (by decide) h
  · exact star 2 3 4 (by decide) (by decide) (by decide) (by decide) h
  · exact star 2 3 5 (by decide) (by decide) (by decide) (by decide) h
  · exact star 2 4 5 (by decide) (by decide) (by decide) (by decide) h
  · exact star 3 4 5 (by decide) (by decide) (by decide) (by decide) h

end QedCore

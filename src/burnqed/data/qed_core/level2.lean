namespace QedCore

/-- The nearest number to `x` in the interval from `lo` to `hi`. -/
def clamp (lo hi x : Int) : Int :=
  if x < lo then lo else if hi < x then hi else x

/-- Odd integers. -/
def Odd (n : Int) : Prop :=
  ∃ k, n = 2 * k + 1

/-- Different arguments have different values. -/
def Injective (f : α → β) : Prop :=
  ∀ x y, f x = f y → x = y

/-- Every element is a value. -/
def Surjective (f : α → β) : Prop :=
  ∀ y, ∃ x, f x = y

/-- Inclusion of sets that are given as predicates. -/
def Subset (s t : α → Prop) : Prop :=
  ∀ x, s x → t x

/-- The image of a set under a function. -/
def image (f : α → β) (s : α → Prop) : β → Prop :=
  fun y => ∃ x, s x ∧ f x = y

/-- Division that fails on zero. -/
def safeDiv (a b : Nat) : Option Nat :=
  if b = 0 then none else some (a / b)

/-- Exchanges the two sides of a sum. -/
def flip (s : Sum α β) : Sum β α :=
  match s with
  | .inl a => .inr a
  | .inr b => .inl b

/-- The lights of a traffic light. -/
inductive Light where
  | red
  | green
  | amber

/-- The light after this one. -/
def Light.next : Light → Light
  | .red => .green
  | .green => .amber
  | .amber => .red

/-- Gaussian integers. -/
structure Gauss where
  re : Int
  im : Int

/-- The product of two Gaussian integers. -/
def Gauss.mul (x y : Gauss) : Gauss :=
  ⟨x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re⟩

/-- The square of the absolute value of a Gaussian integer. -/
def Gauss.norm (x : Gauss) : Int :=
  x.re * x.re + x.im * x.im

/-- Whether a year is a leap year. -/
def leap (y : Nat) : Bool :=
  y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)

/-- Every other element of a list, beginning with the first. -/
def everyOther : List α → List α
  | [] => []
  | [x] => [x]
  | x :: _ :: xs => x :: everyOther xs

/-- A clamped number lies in the interval. -/
theorem clamp_bounds (lo hi x : Int) (h : lo ≤ hi) :
    lo ≤ clamp lo hi x ∧ clamp lo hi x ≤ hi := by
  unfold clamp
  grind

/-- Clamping into an interval and then into a part of it is clamping into the part. -/
theorem clamp_clamp (a b c d x : Int) (hab : a ≤ b) (hbc : b ≤ c) (hcd : c ≤ d) :
    clamp b c (clamp a d x) = clamp b c x := by
  grind [clamp]

/-- The product of odd integers is odd. -/
theorem odd_mul (a b : Int) (ha : Odd a) (hb : Odd b) : Odd (a * b) := by
  obtain ⟨k, rfl⟩ := ha
  obtain ⟨l, rfl⟩ := hb
  exact ⟨2 * k * l + k + l, by grind⟩

/-- Between two rational numbers there is a third. -/
theorem rat_dense (a b : Rat) (h : a < b) : ∃ c, a < c ∧ c < b := by
  exact ⟨(a + b) / 2, by grind, by grind⟩

/-- Multiples of a positive number exceed every bound. -/
theorem multiples_unbounded (n m : Nat) (h : 0 < m) : ∃ k, n < k * m := by
  have := Nat.le_mul_of_pos_right (n + 1) h
  exact ⟨n + 1, by omega⟩

/-- There is a right triangle with integer sides, the shortest longer than twenty. -/
theorem long_right_triangle : ∃ a b c : Nat, 20 < a ∧ a < b ∧ a * a + b * b = c * c := by
  exact ⟨28, 45, 53, by decide⟩

/-- A number that is a sum of two positive cubes in two ways. -/
theorem taxicab : ∃ n a b c d : Nat, 0 < a ∧ a < c ∧ c ≤ d ∧ d < b ∧
    n = a ^ 3 + b ^ 3 ∧ n = c ^ 3 + d ^ 3 := by
  exact ⟨1729, 1, 12, 9, 10, by decide⟩

/-- Twice a product is at most the sum of the squares. -/
theorem two_mul_le_squares (a b : Int) : 2 * (a * b) ≤ a * a + b * b := by
  have : 0 ≤ (a - b) ^ 2 := Int.sq_nonnneg _
  grind

/-- A common divisor divides every combination. -/
theorem dvd_combination (d a b x y : Int) (ha : d ∣ a) (hb : d ∣ b) : d ∣ x * a + y * b := by
  obtain ⟨k, rfl⟩ := ha
  obtain ⟨l, rfl⟩ := hb
  exact ⟨x * k + y * l, by grind⟩

/-- The product of two consecutive numbers is even. -/
theorem consecutive_product_even (n : Nat) : n * (n + 1) % 2 = 0 := by
  rw [Nat.mul_mod]
  have : n % 2 = 0 ∨ n % 2 = 1 := by omega
  rcases this with h | h <;> simp [h, Nat.add_mod]

/-- A divisor of a number and of its successor is one. -/
theorem dvd_consecutive (d n : Nat) (h : d ∣ n) (h' : d ∣ n + 1) : d = 1 := by
  have := (Nat.dvd_add_right h).mp h'
  exact Nat.dvd_one.mp this

/-- A list on which a function has no effect, element by element, is its own image. -/
theorem map_of_fixed (f : α → α) (xs : List α) (h : ∀ x ∈ xs, f x = x) : xs.map f = xs := by
  conv => rhs; rw [← List.map_id xs]
  exact List.map_congr_left (by simpa using h)

/-- A list of even length at least two has two elements in front. -/
theorem two_in_front (xs : List α) (h : xs.length % 2 = 0) (h' : xs ≠ []) :
    ∃ x y ys, xs = x :: y :: ys := by
  rcases xs with _ | ⟨x, _ | ⟨y, ys⟩⟩
  · contradiction
  · simp at h
  · exact ⟨x, y, ys, rfl⟩

/-- Two filters in a row may be exchanged. -/
theorem filter_exchange (p q : α → Bool) (xs : List α) :
    (xs.filter p).filter q = (xs.filter q).filter p := by
  simp [List.filter_filter, Bool.and_comm]

/-- In every pub there is one who, when drinking, has everybody drink. -/
theorem drinker [Inhabited α] (p : α → Prop) : ∃ x, p x → ∀ y, p y := by
  by_cases h : ∀ y, p y
  · exact ⟨default, fun _ => h⟩
  · grind

/-- No barber shaves exactly those who do not shave themselves. -/
theorem no_barber (shaves : α → α → Prop) : ¬∃ b, ∀ x, shaves b x ↔ ¬shaves x x := by
  intro ⟨b, h⟩
  have := h b
  grind

/-- The first of two functions is injective when their composition is. -/
theorem injective_first (f : α → β) (g : β → γ) (h : Injective (g ∘ f)) : Injective f := by
  intro x y hxy
  exact h x y (congrArg g hxy)

/-- The composition of surjective functions is surjective. -/
theorem surjective_comp (f : α → β) (g : β → γ) (hf : Surjective f) (hg : Surjective g) :
    Surjective (g ∘ f) := by
  intro z
  obtain ⟨y, rfl⟩ := hg z
  obtain ⟨x, rfl⟩ := hf y
  exact ⟨x, rfl⟩

/-- Sets that contain each other are equal. -/
theorem subset_antisymm (s t : α → Prop) (h : Subset s t) (h' : Subset t s) : s = t := by
  funext x
  exact propext ⟨h x, h' x⟩

/-- The image of a union is the union of the images. -/
theorem image_union (f : α → β) (s t : α → Prop) (y : β) :
    image f (fun x => s x ∨ t x) y ↔ image f s y ∨ image f t y := by
  grind [image]

/-- Subtracting is adding the complement and one. -/
theorem bv_sub_by_complement (x y : BitVec w) : x + ~~~y + 1#w = x - y := by
  rw [BitVec.sub_eq_add_neg, BitVec.neg_eq_not_add, BitVec.add_assoc]

/-- A quotient that was found fits into the dividend. -/
theorem safe_div_fits (a b q : Nat) (h : safeDiv a b = some q) : q * b ≤ a := by
  unfold safeDiv at h
  split at h
  · simp at h
  · have := Nat.div_mul_le_self a b
    grind

/-- Exchanging the sides twice changes nothing. -/
theorem flip_flip (s : Sum α β) : flip (flip s) = s := by
  cases s <;> rfl

/-- After three changes the light is what it was. -/
theorem light_cycle (l : Light) : l.next.next.next = l := by
  cases l <;> rfl

/-- The norm of Gaussian integers is multiplicative. -/
theorem gauss_norm_mul (x y : Gauss) : (x.mul y).norm = x.norm * y.norm := by
  simp only [Gauss.mul, Gauss.norm]
  grind

/-- Leap years are divisible by four. -/
theorem leap_dvd (y : Nat) (h : leap y = true) : 4 ∣ y := by
  simp [leap] at h
  omega

/-- Only the empty list has no every other element. -/
theorem every_other_nil (xs : List α) (h : everyOther xs = []) : xs = [] := by
  rcases xs with _ | ⟨x, _ | ⟨y, ys⟩⟩
  · rfl
  · simp [everyOther] at h
  · simp [everyOther] at h

/-- A part of a word is not larger than the word. -/
theorem bv_and_le (x y : BitVec w) : (x &&& y).toNat ≤ x.toNat := by
  rw [BitVec.toNat_and]
  exact Nat.and_le_left

/-- Shifting left by one is adding a word to itself. -/
theorem bv_double (x : BitVec w) : x <<< 1 = x + x := by
  apply BitVec.eq_of_toNat_eq
  simp [Nat.shiftLeft_eq, Nat.mul_two]

/-- Three is a common divisor, so it divides the greatest. -/
theorem three_dvd_gcd (m n : Nat) : 3 ∣ Nat.gcd (3 * m) (6 * n) := by
  exact Nat.dvd_gcd (by omega) (by omega)

end QedCore

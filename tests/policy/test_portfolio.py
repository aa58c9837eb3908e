"""Each rule of the portfolio on a theorem that it is there for, in Lean; and all of it parses."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from burnqed.core.types import Advanced, Closed, Rejected, StepResult, Theorem, TheoremText
from burnqed.evaluation.prove import HEARTBEATS
from burnqed.lean.pool import Pool
from burnqed.lean.session import open_session
from burnqed.policy.portfolio.portfolio import rate

pytestmark = pytest.mark.lean

TREE = """inductive Tree (α : Type) where
  | leaf : Tree α
  | node : Tree α → α → Tree α → Tree α

def Tree.mirror {α : Type} : Tree α → Tree α
  | .leaf => .leaf
  | .node l x r => .node r.mirror x l.mirror

"""
HALF = "def half : Nat → Nat\n  | 0 => 0\n  | 1 => 0\n  | n + 2 => half n + 1\n\n"
SHIFT = "def shift : Nat → Nat → Nat\n  | 0, m => m\n  | n + 1, m => shift n (m + 1)\n\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A theorem; what the rule's tactics look like; and what one of them does: close it, or lead to
    goals whose text has this in it."""

    source: str
    tactics: str
    leads_to: str | None = None


def case(statement: str, tactics: str, leads_to: str | None = None, given: str = "") -> Case:
    return Case(f"{given}theorem t {statement}", tactics, leads_to)


CASES = {
    # structure
    "intro": case(": ∀ (p q : Prop), p → q → p", r"^intro ", "h : p\nh1 : q\n⊢ p"),
    "intro up to an induction": case(
        ": ∀ (xs ys : List Nat), xs.length ≤ (ys ++ xs).length",
        r"^intro xs$",
        "⊢ ∀ (ys : List Nat)",
    ),
    "intro of a negation": case("(p : Prop) (hp : p) : ¬¬p", r"^intro h; simp_all"),
    "and": case("(p q : Prop) (hp : p) (hq : q) : p ∧ q", r"^constructor$", "⊢ p\n\ncase right"),
    "or": case("(p q : Prop) (hp : p) : q ∨ p", r"^(left|right)$", "⊢ p"),
    "iff": case("(p q : Prop) : p ∧ q ↔ q ∧ p", r"^constructor <;> "),
    "contradiction": case("(n : Nat) (h : ¬ n < 3) : 3 ≤ n", r"byContradiction", "hn : ¬3 ≤ n"),
    "a condition": case("(n : Nat) : (if n = 0 then 1 else n) ≠ 0", r"^(split|by_cases.*) <;> "),
    "cases": case("(b : Bool) : (b && !b) = false", r"^cases b with", "case true\n⊢ (true && !true) ="),
    "cases finished": case("(o : Option Nat) : o = none ∨ ∃ n, o = some n", r"^cases o <;> "),
    "a pair": case(
        "(p : Nat × Nat) : (p.1, p.2) = p", r"^obtain ", "⊢ ((x, y).fst, (x, y).snd) = (x, y)"
    ),
    # witnesses
    "a number": case(": ∃ n : Nat, n * n = 144 ∧ n < 13 ∧ 12 ≤ n", r"^exact ⟨12, by decide⟩$"),
    "numbers that are far from what is written": case(
        ": ∃ x y : Nat, 7 * x + 11 * y = 5000 ∧ x < y ∧ 440 < y", r"^exact ⟨\d+, \d+, by decide⟩$"
    ),
    "a negative number": case(": ∃ x : Int, x * x = 49 ∧ x < 0", r"^exact ⟨\(-7\), by decide⟩$"),
    "a number of a list": case(": ∃ n : Nat, n ∈ [4, 9, 15] ∧ n % 5 = 0", r"^exact ⟨15, by decide⟩$"),
    "a term": case("(n : Nat) : ∃ m, m > n ∧ m % 7 = 3", r"^exact ⟨7 \* n \+ 3, by omega⟩$"),
    "a term, behind ∀": case(
        ": ∀ a b : Nat, a < b → ∃ c, b = a + c ∧ 0 < c", r"^intro a b h\nexact ⟨b - a, by omega⟩$"
    ),
    "a rational term": case(
        "(ε : Rat) (h : 0 < ε) : ∃ δ : Rat, 0 < δ ∧ δ < ε", r"^exact ⟨ε / 2, by grind⟩$"
    ),
    "between two rationals": case(
        ": ∀ a b : Rat, a < b → ∃ c, a < c ∧ c < b", r"^intro a b h\nexact ⟨\(a \+ b\) / 2, by grind⟩$"
    ),
    "a rational number": case(": ∃ x : Rat, 3 * x = 7", r"^exact ⟨\(7/3\), by grind⟩$"),
    "several terms": case(
        "(n : Nat) : ∃ q r, n = 7 * q + r ∧ r < 7", r"^exact ⟨n / 7, n % 7, by omega⟩$"
    ),
    "a term that a hypothesis allows": case(
        "(n : Int) (h : n % 2 = 1) : ∃ k, n = 2 * k + 1", r"^exact ⟨.*, by omega⟩$"
    ),
    "cases for a term that rounds": case(
        "(n : Nat) : ∃ k, n ^ 2 = 4 * k ∨ n ^ 2 = 4 * k + 1", r"^obtain ⟨k1, rfl \| rfl⟩ : ",
        "⊢ ∃ k, (2 * k1 + 1) ^ 2 = 4 * k"
    ),
    "a polynomial": case(
        "(n : Nat) : ∃ k, (2 * n + 1) ^ 2 = 4 * k + 1", r"^exact ⟨n \* n \+ n, by grind⟩$"
    ),
    "a function": case(
        ": ∃ f : Nat → Nat, f 0 = 5 ∧ ∀ n, f (n + 1) = f n + 3", r"^exact ⟨fun i => 3 \* i \+ 5, "
    ),
    "a power": case(
        ": ∃ f : Nat → Nat, f 0 = 1 ∧ ∀ n, f (n + 1) = 2 * f n", r"^exact ⟨fun i => 2 \^ i, "
    ),
    "a diagonal": case(
        "(α : Type) (f : α → α → Prop) : ∃ g : α → Prop, ∀ x, f x ≠ g", r"^exact ⟨fun x => ¬f x x, "
    ),
    "a diagonal of numbers": case(
        ": ∀ f : Nat → Nat → Nat, ∃ g : Nat → Nat, ∀ n, f n ≠ g",
        r"^intro f\nexact ⟨fun x => f x x \+ 1, "
    ),
    "a diagonal against a hypothesis": case(
        "(α : Type) (f : α → α → Bool) (h : ∀ g, ∃ x, f x = g) : False",
        r"^obtain ⟨x, hx⟩ := h \(fun x "
    ),
    "cases on what a claim says besides": case(
        "(α : Type) [Nonempty α] (p : α → Prop) : ∃ x, p x → ∀ y, p y",
        r"^by_cases hc : ∀ \(y : α\), p y$", "hc : ¬∀ (y : α), p y"
    ),
    "induction on a Nat": case(
        "(n : Nat) : 0 + n = n", r"^induction n with", "ih : 0 + n = n\n⊢ 0 + (n + 1)"
    ),
    "induction on a list": case(
        "(xs : List Nat) : xs ++ [] = xs", r"^induction xs with", "ih : xs ++ [] = xs\n⊢ x :: xs ++ []"
    ),
    "induction generalizing": case(
        "(n m : Nat) : shift n m = n + m",
        r"^induction n generalizing m with",
        "ih : ∀ (m : Nat), shift n m = n + m",
        SHIFT,
    ),
    "induction, and finished": case(
        "(n m : Nat) : shift n m = n + m", r"^induction n generalizing m <;> .*shift", None, SHIFT
    ),
    "strong induction": case(
        "(n : Nat) : half n ≤ n", r"strongRecOn", "ih : ∀ (m : Nat), m < n → half m ≤ m", HALF
    ),
    "induction with a later start": case(
        "(n : Nat) (h : 5 ≤ n) : n < 2 ^ n",
        r"^obtain ⟨k, rfl⟩ : .*\nclear h", "k : Nat\n⊢ k + 5 < 2 ^ (k + 5)"
    ),
    "induction on one's own type": case(
        "(α : Type) (a : Tree α) : a.mirror.mirror = a", r"^induction a <;> .*Tree", None, TREE
    ),
    "generalize": case(
        "(f : Nat → Nat) (a b : Nat) : f (a + b) = f (a + b) + 0", r"^generalize ", "⊢ f g = f g + 0"
    ),
    # definitions
    "fun_induction": case("(n : Nat) : half n + half n ≤ n", r"^fun_induction half n <;> ", None, HALF),
    "unfold": case("(m : Nat) : shift 0 m = m", r"^(unfold|simp \[|rw \[)", None, SHIFT),
    # automation
    "exact?": case("(a b c : Nat) (h : a ∣ b) (k : b ∣ c) : a ∣ c", r"^exact\?$"),
    "funext": case(
        "(f : Nat → Nat) : (fun n => f (n + 0)) = f", r"^funext", "x : Nat\n⊢ f (x + 0) = f x"
    ),
    "ext": case("(xs : List Nat) : xs.map (fun n => n) = xs", r"^ext <;> simp"),
    "bit vectors": case("(v : BitVec 8) : v + 1#8 - 1#8 = v", r"^bv_omega"),
    # hypotheses
    "rcases": case(
        "(p q r : Prop) (h : p ∨ q) (k : q → p) : p", r"^rcases h with h \| h$", "k : q → p\nh : q"
    ),
    "obtain": case(
        "(p : Nat → Prop) (h : ∃ n, p n ∧ 3 < n) : ∃ n, p n", r"^obtain ", "h1 : p n\nh2 : 3 < n\n⊢ ∃ n"
    ),
    "obtain from several": case(
        "(p : Nat → Prop) (h : ∃ n, p n) (k : ∃ n, ¬p n ∧ 3 < n) : False",
        r"^obtain .*\nobtain ", "⊢ False"
    ),
    "apply": case("(p q : Prop) (h : p → q) (hp : p) : q", r"^apply h$", "⊢ p"),
    "rewriting forwards": case(
        "(f : Nat → Nat) (a b : Nat) (h : f a = b) : f (f a) = f b", r"^rw \[h\]"
    ),
    "rewriting backwards": case(
        "(f : Nat → Nat) (a b : Nat) (h : f a = b) : b + 1 = f a + 1", r"^rw \[← h\]"
    ),
    "rewriting a hypothesis": case(
        "(a b c : Nat) (h : a = b + 1) (k : a * a = c) : (b + 1) * (b + 1) = c",
        r"^rw \[h\] at k", "k : (b + 1) *"
    ),
    "subst": case("(a b : Nat) (h : a = b + 1) : 0 < a", r"^subst h$", "⊢ 0 < b + 1"),
    "an instance": case(
        "(f : Nat → Nat) (h : ∀ n, f n < f (n + 1)) : f 3 < f 4",
        r"^have hi := h", "hi : f 3 < f (3 + 1)"
    ),
    "instances, and finished": case(
        "(f : Nat → Nat) (h : ∀ n, f (n + 1) = f n + n) (k : f 0 = 5) : f 3 = 8", r"^have hi0(.*\n)+"
    ),
    "instances at two terms": case(
        "(f : Nat → Nat → Nat) (h : ∀ a b, f a b ≤ f b a) (x y : Nat) : f x y = f y x",
        r"^have hi0(.*\n)+grind"
    ),
    "a function put in": case(
        "(f : Nat → Nat) (h : ∀ n, f n = 2 * n) (k : ∀ n, f n < 9 → n < 5) (m : Nat) : f m = m + m",
        r"^simp only \[h\] at k ⊢$", "m : Nat\nk : ∀ (n : Nat), 2 * n < 9 → n < 5\n⊢ 2 * m"
    ),
    "a predicate put in": case(
        "(S : Nat → Nat → Prop) (h : ∀ a b, S a b ↔ a < b + 2) (k : ¬S 5 3) (n : Nat) : S n n",
        r"^simp only \[h\] at k ⊢$", "⊢ n < n + 2"
    ),
    # numbers
    "all that is smaller": case(
        "(t k : Nat) (hk : t < k) (h : Nat.lcm t 6 = 24) : 8 ≤ t", r"^refine Decidable.*\+kernel$"
    ),
    "a sum for a difference": case(
        "(n : Nat) (u : Nat → Nat) (h : u n + 1 = 3 ^ n) : u n = 3 ^ n - 1",
        r"^refine Nat.eq_sub_of_add_eq", "⊢ u n + 1 = 3 ^ n"
    ),
    "a least element": case(
        "(u : Nat) (h : (0 < u ∧ 9 * u % 50 = 22) ∧ ∀ x, 0 < x ∧ 9 * x % 50 = 22 → u ≤ x) : u = 8",
        r"^have hu0 := h\.2 8\n"
    ),
    "the least but one": case(
        "(u v : Nat) (hu : u = 8) (h : (0 < v ∧ 9 * v % 50 = 22) ∧ v ≠ u) "
        "(k : ∀ x, (0 < x ∧ 9 * x % 50 = 22) ∧ x ≠ u → v ≤ x) : v = 58",
        r"^have hu0 := k 8\n(.*\n)*have hu1 := k 58"
    ),
    "a range": case("(n : Nat) (h : n < 5) : n * n * n < 65", r"^rcases \(by omega : n = 0 ∨ .* <;> "),
    "a longer range": case(
        "(n : Nat) (h : n < 24) (e : n * n = 361) : n = 19", r"^have hk : n ∈ \[0, "
    ),
    "a range of integers": case(
        "(n : Int) (h : n < 16) (k : 0 ≤ n) (e : n * n = 169) : n = 13",
        r"^obtain ⟨k1, rfl⟩(.*\n)have hk"
    ),
    "a bound": case("(n m : Nat) (h : n + m = 50) : n * n < 2601", r"^have hb : n < 51", "hb : n < 51"),
    "finite search": case(
        "(n : Nat) (h : n < 30) (k : n * n % 31 = 5) : n = 6 ∨ n = 25", r"revert n\ndecide \+kernel$"
    ),
    "finite search of two": case(
        "(m n : Nat) (h : m + n = 20) (k : m * n = 91) : m = 7 ∨ m = 13", r"m < 21 .*decide \+kernel$"
    ),
    "finite search in integers": case(
        "(a : Int) (h : -12 < a) (k : a < 12) (e : a * a * a = -27) : a = -3", r"decide \+kernel$"
    ),
    "squares": case("(a b : Int) : 2 * a * b ≤ a * a + b * b", r"Int\.sq_nonnneg"),
    "products of hypotheses": case(
        "(a b : Int) (ha : 1 ≤ a) (hb : 1 ≤ b) : a + b ≤ a * b + 1", r"Int\.mul_nonneg"
    ),
    "a difference of naturals": case(
        "(a b : Nat) : 2 * a * b ≤ a * a + b * b", r"^rcases Nat\.le_total"
    ),
    "monotone products": case(
        "(a b c : Nat) (h : a ≤ b) (k : 5 ≤ c * a) : 5 ≤ c * b",
        r"^refine Nat\.le_trans .*left", "⊢ 5 ≤ c * a"
    ),
    "casts": case("(n : Nat) (h : (n : Rat) + 2 = 5) : n = 3", r"exact_mod_cast"),
    "casts pushed": case(
        "(a b : Nat) (h : ((a + b : Nat) : Int) = 5) (k : (a : Int) = 2) : b = 3", r"^push_cast.*omega"
    ),
    # divisibility
    "divisors": case("(d : Nat) (h : d ∣ 21) (k : 3 < d) : d = 7 ∨ d = 21", r"d ∣ 21 .* <;> omega"),
    "factors": case(
        "(a b : Nat) (h : a * b = 35) (k : a < b) (l : 1 < a) : b = 7", r"∣ 35(.*\n)+.* <;> omega"
    ),
    "a combination of multiples": case(
        "(a b c : Int) (h : a ∣ b) (k : a ∣ c) : a ∣ 3 * b - 2 * c", r"^grind \[Int\.dvd_add"
    ),
    "a multiple taken apart": case(
        "(a b : Nat) (h : a ∣ b) : b % a = 0", r"^obtain ⟨k, rfl⟩ := h$", "⊢ a * k % a = 0"
    ),
    "residues": case("(n : Nat) : n * n % 3 ≠ 2", r"^rcases \(by omega : n % 3 = 0 ∨"),
    "residues of an integer": case(
        "(n : Int) : (n * n * n - n) % 3 = 0", r"^rcases \(by omega : n % 3 = 0 ∨"
    ),
    "residues for a divisor": case(
        "(n : Nat) : 2 ∣ n * (n + 1)", r"^rcases \(by omega : n % 2 = 0 ∨.*dvd_iff"
    ),
    "powers modulo": case(
        "(n : Nat) : 3 ^ (4 * n + 1) % 10 = 3", r"^have hp0 : 3 \^ \(4 \* n \+ 1\) % 10 = 3"
    ),
    "powers by the period": case(
        "(n : Nat) : 4 ^ n % 5 = 1 ∨ 4 ^ n % 5 = 4",
        r"^obtain ⟨q, rfl \| rfl⟩", "⊢ 4 ^ (2 * q + 1) % 5 = 1"
    ),
    "powers of two": case("(n : Nat) : n + 1 ≤ 2 ^ n", r"lt_two_pow_self"),
    # recurrences, and powers
    "powers by their remainders": case("(n : Nat) : ¬5 ∣ 3 ^ n + 5 * n", r"^have hp0 \(i : Nat\)"),
    "what a power says of its exponent": case(
        "(n : Nat) (h : 9 ∣ 4 ^ n - 1) : 3 ∣ n", r"^have hp0 \(i : Nat\)"
    ),
    "a recurrence, term by term": case(
        "(f : Nat → Nat) (h₀ : f 0 = 1) (h : ∀ n, f (n + 1) = 2 * f n + 3) : f 10 = 4093",
        r"^have ht1 : f 1 = 5"
    ),
    "a recurrence of rationals, term by term": case(
        "(f : Nat → Rat) (h₀ : f 1 = 1) (h : ∀ n ≥ 1, f (n + 1) = 1 / (1 + f n)) : f 8 = 21 / 34",
        r"^have ht2 : f 2 = \(1 / 2\)"
    ),
    "a recurrence that comes round": case(
        "(x : Nat → Int) (h₁ : x 1 = 3) (h₂ : x 2 = 5) (h : ∀ n ≥ 3, x n = x (n - 1) - x (n - 2)) : "
        "x 100 + x 2024 = 2",
        r"^have ho : .*have hc1 : x 2024 = 5"
    ),
    "a recurrence of rationals that comes round": case(
        "(t : Nat → Rat) (h₁ : t 0 = 2) (h₂ : t 1 = 3) (h : ∀ n, t (n + 2) = (1 + t (n + 1)) / t n) : "
        "t 1002 = 2",
        r"^have ho : "
    ),
    "remainders that come round": case(
        "(a b : Nat) (t : Nat → Nat) (h₀ : t 0 = 0) (h₁ : t 1 = 1) "
        "(h : ∀ n > 1, t n = t (n - 2) + t (n - 1)) (k : a % 8 = 3) (l : b % 16 = 7 % 16) : "
        "(t a + t b) % 3 = 0",
        r"ho : .* % 3 = a0"
    ),
    "an exponent": case("(k : Nat) (h : 2 ^ k = 32) : k = 5", r"^have he0", "he0 : k < 6"),
    "the exponent of a factor": case(
        "(m k : Nat) (h : m * 3 ^ k = 54) : k ≤ 3", r"^have he0", "he0 : k < 4"
    ),
    # membership
    "a list by its members": case(
        "(S : List Nat) (hn : S.Nodup) (h : ∀ x, x ∈ S ↔ x < 20 ∧ x % 6 = 1) : S.length = 4",
        r"range 21.*\.Perm"
    ),
    "the sum of a list": case(
        "(S : List Nat) (hn : S.Nodup) (h : ∀ x, x ∈ S ↔ x ∣ 28) : S.sum = 56",
        r"range 29.*\.Perm.*sum_nat"
    ),
    "a list of moduli": case(
        "(S : List Nat) (hn : S.Nodup) (h : ∀ m, m ∈ S ↔ 2 ≤ m ∧ 40 % m = 12 % m) : S.sum = 55",
        r"mod_eq_of_lt.*sum_nat"
    ),
    "a list of integers": case(
        "(S : List Int) (hn : S.Nodup) (h : ∀ x, x ∈ S ↔ -3 ≤ x ∧ x ≤ 3) : S.length = 7",
        r"range 8.*\.Perm"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_rule_does_what_it_is_for(lean_pool: Pool, case: Case) -> None:
    async with open_session(lean_pool, HEARTBEATS) as session:
        state = await session.start(Theorem("t", TheoremText(case.source)))
        rated = dict(rate(state.goals[0]))
        tactics = [tactic for tactic in rated if re.search(case.tactics, tactic, re.DOTALL)]
        assert tactics, sorted(rated, key=lambda t: -rated[t])
        results = await session.apply_batch(state, tactics)
        assert any(does(result, case.leads_to) for result in results), shown(tactics, results)


def does(result: StepResult, leads_to: str | None) -> bool:
    if leads_to is None:
        return isinstance(result, Closed)
    return isinstance(result, Advanced) and leads_to in result.state.text


def shown(tactics: list[str], results: list[StepResult]) -> str:
    """What every tactic led to, for whoever reads that none of them did it."""
    lines = []
    for tactic, result in zip(tactics, results, strict=True):
        after = result.state.text if isinstance(result, Advanced) else str(result)
        lines += [f"{tactic}\n  gave {type(result).__name__}", after[:500]]
    return "\n".join(lines)


async def test_what_searches_is_replaced_by_what_it_finds(lean_pool: Pool) -> None:
    """`exact?` may not stand in a proof; the suggestion that comes with it may, and does the same."""
    async with open_session(lean_pool, HEARTBEATS) as session:
        state = await session.start(Theorem("t", TheoremText(CASES["exact?"].source)))
        found = await session.apply(state, "exact?")
        assert isinstance(found, Closed)
        assert found.suggestions == ("exact Nat.dvd_trans h k",)
        assert isinstance(await session.apply(state, found.suggestions[0]), Closed)


# Goals with all that may be in the way of writing a tactic: names that one cannot say, primes,
# subscripts and spaces in names, tuples, matches, conditions, empty ranges, numbers behind a dot.
CORPUS = [
    "theorem t (a' b₁ : Nat) (h' : a' ≤ b₁) : a' < b₁ + 1",
    "theorem t («my var» : Nat) (h : «my var» < 3) : «my var» * 2 < 6",
    "theorem t (n : Nat) : n = n → n < 0 → (n + 1) * (n + 1) = 2 ^ (n + 1)",
    "theorem t (n : Nat) (h : n < 0) (k : 0 > n) : n * n = 3",
    "theorem t (p : Nat × Nat) (f : Nat × Nat → Nat) : f (p.1, p.2) = f (p.1, p.2) + p.2.succ",
    "theorem t (x : Nat) : (match x with | 0 => 1 | k + 1 => k + 2) > 0",
    "theorem t (b : Bool) (f : Nat → Bool) : (if f 3 then if b then 1 else 2 else f 4 |>.toNat) ≤ 2",
    "theorem t (x : Nat) : let y := x + 1; y > x",
    "theorem t : ∃ x y : Nat, x * y = 12 ∧ x + y = 7",
    "theorem t : ∃ x, x < 5 ∧ ∃ y ∈ [1, 2], x = y",
    "theorem t : ¬ ∃ n : Nat, n * n = 2",
    "theorem t : ∀ x ∈ [1, 2, 3], x < 4",
    "theorem t (l : List Nat) (h : ∀ x ∈ l, ∃ y, x = 2 * y) : ∃ k, l.sum = 2 * k",
    "theorem t (f : Nat → Nat) (h : ∀ ⦃a b⦄, a < b → f a < f b) : f 1 < f 5",
    "theorem t (f : Nat → Nat) (h : f = fun x => 2 * x + 1) : (fun y => f (y + 0)) 3 = 7",
    "theorem t (h : (∃ x y, x + y = 3 ∧ x < y) ∧ ∃ x : Nat, x < 3 ∨ x > 9) (k : ∃ x ≤ 3, x = 2) : True",
    "theorem t (x y : Int) (h : x * y = -12) (k : -5 ≤ x ∧ x ≤ 5) (l : 0 < y) : x ^ 2 % 4 ≠ 3",
    "theorem t (x y : Rat) (h : x + y = 3) (k : x / y = 1) : x * 2 = 3",
    "theorem t (f : Nat → Rat) (h : f 0 = 0) (k : ∀ n, f (n + 1) = 1 / f n) : f 9 + f 900 = 0",
    "theorem t (f g : Nat → Nat) (h : f 0 = 1) (k : ∀ n, f (n + 1) = g n) (l : ∀ n, g n = f n) : f 9=1",
    "theorem t (n : Nat) (h : ∀ x, x < 3 → n ≤ x) (k : ∀ x, n ≤ x) : 3 ^ (n * n) % 7 = 1 ^ n",
    "theorem t (n : Nat) (h : 2 ^ n * 3 ^ (2 * n + 1) % 7 = 1) (k : n ∣ 36) : n % 3 = 0",
    "theorem t (a : Array Nat) (i : Nat) (h : i < a.size) : a[i]'h = a[i] + 0",
    'theorem t (c : Char) (s : String) : s.push c ≠ "" ∧ c.toNat = c.1.toNat',
    "theorem t (v : BitVec 4) (i : Fin 5) (h : v &&& 1#4 = 0#4) : v = v ||| 0#4 ∧ i.val < 5",
    "theorem t {α : Type} [DecidableEq α] (x : α) (l : List α) : x ∈ l ↔ l.contains x = true",
    "theorem t (S : List Int) (hS : S.Nodup) (h : ∀ (n : Int), n ∈ S ↔ n ∣ 12 ∧ ¬ n = 3) : S.sum = 0",
    "theorem t (a : Nat) (h₀ : a = 3 * 5) : ((a : Int) - 1) % 7 = 0",
    "theorem t (R : Nat → Nat → Prop) (h : ∀ a b, R a b → R b a) (x y : Nat) : R x y ↔ R y x",
    "theorem t (f g : Nat → Nat) (h : g ∘ f = id) (k : max (f 1) 3 = 3) : (fun x => g (f x)) = id",
    f"{HALF}theorem t (n : Nat) : (if half n = 0 then half (n + 2) else half n) ≤ n + 1",
    f"{TREE}theorem t (α : Type) (a b : Tree α) (h : a.mirror = b) : b.mirror = a",
]


@pytest.mark.parametrize("source", CORPUS, ids=lambda source: source.rpartition("theorem t ")[2][:40])
async def test_every_tactic_parses(lean_pool: Pool, source: str) -> None:
    """At the goal, and at what comes of taking it apart without giving names.

    Behind a `fail` a tactic is parsed and not run.
    """
    async with open_session(lean_pool, HEARTBEATS) as session:
        states = [await session.start(Theorem("t", TheoremText(source)))]
        for step in ("intros", "constructor", "induction n", "simp at *", "split", "cases a"):
            after = await session.apply(states[0], step)
            states += [after.state] if isinstance(after, Advanced) else []
        for state in states:
            tactics = [tactic for tactic, _ in rate(state.goals[0])]
            results = await session.apply_batch(state, [f"fail\n{tactic}" for tactic in tactics])
            for tactic, result in zip(tactics, results, strict=True):
                assert isinstance(result, Rejected), tactic
                assert result.kind == "tactic", f"{tactic}\n{result.error}"

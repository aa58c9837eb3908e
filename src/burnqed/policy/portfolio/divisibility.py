"""Divisibility and remainders: divisors listed, residues as cases, powers modulo a number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import gcd, lcm, prod

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.numbers import among, is_used, numbers_of
from burnqed.policy.portfolio.reading import Reading, is_numeral

_MOST_RESIDUES = 13
_MOST_REMAINDERS = 24  # of exponents, all together
_NAT_MOD = "Nat.pow_succ, Nat.pow_mod, Nat.mul_mod, Nat.add_mod"
_INT_MOD = "Int.pow_succ, Int.mul_emod, Int.add_emod, Int.sub_emod"
_POWER = re.compile(r"(?<![\w.^*])(\d{1,18}) \^ (\w[\w₀-₉']*|\([^()]*\))")


def divisors(r: Reading) -> Iterator[Rated]:
    """A divisor of a number, or a factor of it, is one of its divisors."""
    for variable, number, why in _divisibilities(r):
        if not 2 <= number <= 5000:
            continue
        found = [d for d in range(1, number + 1) if number % d == 0]
        if len(found) > 36:
            continue
        hd = r.fresh("hd")
        below = f"(Nat.lt_succ_of_le (Nat.le_of_dvd (by decide) {why}))"
        fact = f"∀ d, d < {number + 1} → d ∣ {number} → d ∈ {found}"
        split = among(hd, f"(by decide +kernel : {fact}) {variable} {below} {why}", variable, found)
        yield f"{split} <;> omega", -1.8
        yield f"{split} <;> simp_all", -2.2
        yield f"{split} <;> simp_all <;> omega", -2.4
        yield split, -3.6


def _divisibilities(r: Reading) -> Iterator[tuple[str, int, str]]:
    """Variables that divide a number: which, what, and the proof of it."""
    nats = {v.name for v in r.of_type("Nat")}
    for name, shape in r.fact_shapes.items():
        if shape.kind == "dvd" and shape.left in nats and is_numeral(shape.right):
            yield shape.left, int(shape.right), name
        factors = re.fullmatch(r"(\w+) \* (\w+)", shape.left)
        if shape.kind == "eq" and factors and is_numeral(shape.right):
            if factors[1] in nats:
                yield factors[1], int(shape.right), f"⟨{factors[2]}, {name}.symm⟩"
            if factors[2] in nats:
                turned = f"by rw [Nat.mul_comm]; exact {name}.symm"
                yield factors[2], int(shape.right), f"⟨{factors[1]}, {turned}⟩"


def combinations(r: Reading) -> Iterator[Rated]:
    """What divides two numbers divides their sums and multiples."""
    given = [(name, shape) for name, shape in r.fact_shapes.items() if shape.kind == "dvd"]
    if r.shape.kind == "dvd" and given:
        of = "Int" if r.of_type("Int") else "Nat"
        lemmas = ["dvd_add", "dvd_sub", "dvd_trans", "dvd_mul_right", "dvd_mul_left"]
        yield f"grind [{', '.join(f'{of}.{lemma}' for lemma in lemmas)}]", -1.4
    variables = {v.name for v in r.variables}
    k = r.fresh("k")
    for i, (name, shape) in enumerate(given[-3:]):
        free = shape.right in variables and not r.mentions(shape.right, shape.left)
        yield f"obtain ⟨{k}, {'rfl' if free else r.fresh('hk')}⟩ := {name}", -2.0 - 0.3 * i


def exponents(r: Reading) -> Iterator[Rated]:
    """A power that divides a number, or is one, has a small exponent."""
    nats = {v.name for v in r.of_type("Nat")}
    steps: list[str] = []
    for name, shape in r.fact_shapes.items():
        if shape.kind != "eq" or not is_numeral(shape.right):
            continue
        factors = shape.left.split(" * ")
        for i, factor in enumerate(factors):
            match = re.fullmatch(r"(\d{1,18}) \^ (\w+)", factor)
            if match is None or match[2] not in nats or int(match[1]) < 2 or len(factors) > 2:
                continue
            base, number, bound = int(match[1]), int(shape.right), 1
            while base**bound <= number:
                bound += 1
            turn = "" if i == 0 else "rw [Nat.mul_comm]; "
            other = factors[1 - i] if len(factors) == 2 else "1"
            divides = f"⟨{other}, by {turn}exact {name}.symm⟩" if len(factors) == 2 else "⟨1, by omega⟩"
            k = len(steps)
            steps.append(
                f"have {r.fresh(f'he{k}')} : {match[2]} < {bound} := "
                "Decidable.byContradiction fun hc => by\n"
                f"  have h1 := Nat.pow_le_pow_right (show 0 < {base} by decide) (Nat.le_of_not_lt hc)\n"
                f"  have h2 := Nat.le_of_dvd (by decide) ({divides} : {base} ^ {match[2]} ∣ {number})\n"
                "  simp at h1; omega"
            )
    if steps:
        yield "\n".join(steps), -1.0


def residues(r: Reading) -> Iterator[Rated]:
    """A variable modulo a small number, as cases for which `simp` computes."""
    if r.target.startswith("∀") or not re.search(r"%|∣", r.all_text):
        return
    small = [m for m in moduli(r.all_text) if m <= _MOST_RESIDUES] or [2, 3]
    for i, v in enumerate([v for v in numbers_of(r) if v.head in ("Nat", "Int") and is_used(r, v)][:3]):
        for j, m in enumerate(small[:3]):
            lower = 0.3 * i + 0.3 * j
            h = r.fresh("hr")
            cases = " ∨ ".join(f"{v.name} % {m} = {k}" for k in range(m))
            split = f"rcases (by omega : {cases}) with {' | '.join([h] * m)}"
            mod = _NAT_MOD if v.head == "Nat" else _INT_MOD
            dvd = "Nat.dvd_iff_mod_eq_zero" if v.head == "Nat" else "Int.dvd_iff_emod_eq_zero"
            lemmas = f"{dvd}, {mod}, {h}" if "∣" in r.target else f"{mod}, {h}"
            yield f"{split} <;> simp [{lemmas}]", -1.6 - lower
            yield f"{split} <;> simp_all [{lemmas}]", -2.4 - lower
            yield f"{split} <;> omega", -2.4 - lower
            yield split, -3.6 - lower
    if "^" in r.target or "*" in r.target:
        lemmas = _INT_MOD if r.of_type("Int") else _NAT_MOD
        yield f"simp [{lemmas}]", -2.4
        yield f"simp_all [{lemmas}]", -2.4
        yield f"simp [{lemmas}] <;> omega", -2.8


def powers(r: Reading) -> Iterator[Rated]:
    """A power of a number modulo another: its exponent by residues of the period."""
    nats = {v.name for v in r.of_type("Nat")}
    facts: list[str] = []
    named: list[str] = []
    for base_text, exponent in dict.fromkeys(_POWER.findall(r.all_text)):
        base = int(base_text)
        for modulus in moduli(r.all_text)[:2]:
            period = order(base, modulus)
            if period is None or period > 12:
                continue
            if exponent in nats:
                q = r.fresh("q")
                forms = [f"{period} * {q}" + (f" + {k}" if k else "") for k in range(period)]
                cases = " ∨ ".join(f"{exponent} = {form}" for form in forms)
                pattern = " | ".join(["rfl"] * period)
                yield (
                    f"obtain ⟨{q}, {pattern}⟩ : ∃ {q}, {cases} := ⟨{exponent} / {period}, by omega⟩",
                    -1.8,
                )
                continue
            inner = exponent.strip("()")
            match = re.fullmatch(r"(\d{1,18}) \* (\w+)(?: \+ (\d{1,18}))?", inner)
            if match and int(match[1]) % period == 0:
                rest = pow(base, int(match[3] or 0), modulus)
                simp = "simp [Nat.pow_add, Nat.pow_mul, Nat.pow_mod, Nat.mul_mod]"
                name = r.fresh(f"hp{len(facts)}")
                facts.append(f"have {name} : {base} ^ {exponent} % {modulus} = {rest} := by {simp}")
                named.append(f"generalize {base} ^ {exponent} = {r.fresh(f'p{len(named)}')} at *")
    if facts:
        # Named, since linear arithmetic has ideas of its own about powers of two.
        yield "\n".join([*facts, *dict.fromkeys(named), "omega"]), -0.8
        yield "\n".join(facts), -2.6
    twos = [e for b, e in dict.fromkeys(_POWER.findall(r.all_text)) if b == "2"]
    if twos:
        hints = [
            f"have {r.fresh(f'hp{i}')} := @Nat.lt_two_pow_self ({e.strip('()')})"
            for i, e in enumerate(twos[:3])
        ]
        yield "\n".join([*hints, "grind"]), -2.4
        yield "\n".join([*hints, "simp_all [Nat.pow_succ]", "omega"]), -2.6


def remainders(r: Reading) -> Iterator[Rated]:
    """Powers modulo what is divided by, by the remainder of their exponents."""
    if r.shape.kind in ("forall", "implies", "exists"):
        return
    names = {v.name for v in r.of_type("Nat")}
    orders: dict[str, dict[tuple[int, int], int]] = {}  # by exponent, of (base, modulus)
    for base_text, exponent in dict.fromkeys(_POWER.findall(r.all_text)):
        if any(r.mentions(name, exponent) for name in names):
            for modulus in moduli(r.all_text)[:3]:
                found = order(int(base_text), modulus)
                if found is not None:
                    orders.setdefault(exponent, {})[int(base_text), modulus] = found
    periods = {exponent: lcm(*own.values()) for exponent, own in orders.items()}
    if not orders or prod(periods.values()) > _MOST_REMAINDERS:
        return
    facts: list[str] = []
    splits: list[str] = []
    named: list[str] = []
    for exponent, of in orders.items():
        own: list[str] = []
        for base, modulus in of:
            own.append(r.fresh(f"hp{len(facts)}"))
            facts.append(_power_cycle(base, modulus, periods[exponent], own[-1], exponent))
        h = r.fresh(f"hr{len(splits)}")
        cases = " ∨ ".join(f"{exponent} % {periods[exponent]} = {k}" for k in range(periods[exponent]))
        pattern = " | ".join([h] * periods[exponent])
        splits.append(f"rcases (by omega : {cases}) with {pattern} <;> rw [{h}] at {' '.join(own)}")
        # Named, since linear arithmetic has ideas of its own about powers of two.
        for base in dict.fromkeys(base for base, _ in of):
            named.append(f"generalize {base} ^ {exponent} = {r.fresh(f'p{len(named)}')} at *")
    yield "\n".join([*facts, " <;> ".join([*splits, *named, "omega"])]), -0.8


def _power_cycle(base: int, modulus: int, period: int, fact: str, exponent: str) -> str:
    return (
        f"have {fact} (i : Nat) : {base} ^ i % {modulus} = {base} ^ (i % {period}) % {modulus} :="
        " by\n"
        f"  have h : {base} ^ i = ({base} ^ {period}) ^ (i / {period}) * {base} ^ (i % {period})"
        " := by\n"
        "    rw [← Nat.pow_mul, ← Nat.pow_add, Nat.div_add_mod]\n"
        f"  rw [h, Nat.mul_mod, Nat.pow_mod ({base} ^ {period}) (i / {period}) {modulus}]\n"
        "  simp\n"
        f"replace {fact} := {fact} {exponent}"
    )


def moduli(text: str) -> list[int]:
    """Numbers that something is divided by, as remainder or divisor."""
    found = re.findall(r"% (\d{1,4})\b", text)
    found += re.findall(r"(?<![\w.])(\d{1,4}) ∣", text)
    return list(dict.fromkeys(int(m) for m in found if 2 <= int(m) <= 1000))


def order(base: int, modulus: int) -> int | None:
    """The order of `base` modulo `modulus`: after how many steps its powers begin again with 1."""
    if gcd(base, modulus) != 1:
        return None
    power, k = base % modulus, 1
    while power != 1 and k < 40:
        power, k = power * base % modulus, k + 1
    return k if power == 1 else None

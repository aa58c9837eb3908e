"""Sequences given by a recurrence: their terms one by one, or by the rounds that they go in.

Of a sequence that repeats, or whose remainders do, it is proved once what follows in one round, and by
induction that each round begins alike. Then a term far away is a matter of where in a round it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from burnqed.policy.candidates import Rated
from burnqed.policy.portfolio.arithmetic import Kind, Quantity, Unreadable, compute, parse
from burnqed.policy.portfolio.divisibility import moduli
from burnqed.policy.portfolio.reading import Reading
from burnqed.policy.portfolio.sequences import Recurrence, place, sequences

_MOST_CASES = 40  # of a round of a sequence
_MOST_STEPS = 60  # of a sequence that is computed term by term
_MOD: dict[Kind, str] = {
    "Nat": "Nat.add_mod, Nat.mul_mod",
    "Int": "Int.add_emod, Int.mul_emod, Int.sub_emod",
}


def recurrences(r: Reading) -> Iterator[Rated]:
    """A sequence given by a recurrence: its terms one by one, or by the rounds that it goes in."""
    if r.shape.kind in ("forall", "implies", "exists"):
        return
    for sequence in sequences(r):
        calls = _calls(r, sequence.name)
        numbers = [int(c) for c in calls if c.isdecimal()]
        if numbers and len(numbers) == len(calls):
            steps = _term_by_term(r, sequence, numbers)
            if steps is not None:
                yield steps, -0.9
                continue
        wanted = [None, *(moduli(r.target)[:2] if sequence.kind != "Rat" else [])]
        for modulus in wanted if calls else []:
            round_ = _round(sequence, modulus)
            steps = None if round_ is None else _by_rounds(r, sequence, calls, round_, modulus)
            if steps is not None:
                yield steps, -0.8
                break


def _calls(r: Reading, name: str) -> list[str]:
    """What the target applies the sequence to."""
    argument = r"(\d{1,5}\b|\([^()]*\)|[^\W\d][\w₀-₉']*)"
    found = re.findall(rf"(?<![\w.]){re.escape(name)} {argument}", r.target)
    return list(dict.fromkeys(found))[:6]


def _number(value: Quantity, kind: Kind) -> str:
    if value.denominator != 1:
        return f"({value.numerator} / {value.denominator})"
    return f"({value})" if value < 0 else str(value)


def _term_by_term(r: Reading, s: Recurrence, wanted: Sequence[int]) -> str | None:
    """Each term up to the last that is wanted, from those before it."""
    first = s.begin + s.width
    if not first <= max(wanted) < first + _MOST_STEPS:
        return None
    values, facts = dict(s.values), dict(s.stated)
    lines = []
    for n in range(first, max(wanted) + 1):
        try:
            values[n] = s.following([values[n - s.width + j] for j in range(s.width)])
        except Unreadable:
            return None
        facts[n] = r.fresh(f"ht{n}")
        said = f"{s.name} {n} = {_number(values[n], s.kind)}"
        known = [facts[n - s.width + j] for j in s.used()]
        lines.append(f"have {facts[n]} : {said} := {_computed(s.equation('', n), known)}")
    return "\n".join([*lines, _ending([facts[n] for n in wanted if n in facts], s.kind)])


def _computed(equation: str, known: Sequence[str]) -> str:
    return f"{equation}.trans (by rw [{', '.join(known)}] <;> first | rfl | decide +kernel)"


def _ending(facts: Sequence[str], kind: Kind) -> str:
    known = ", ".join(facts)
    ways = [f"(simp only [{known}]; done)", f"(simp only [{known}]; first | rfl | decide +kernel)"]
    if kind != "Rat":
        ways += [f"(simp [{_MOD[kind]}, {known}]; done)", "omega"]
    return f"first | {' | '.join([*ways, 'grind'])}"


def _round(s: Recurrence, modulus: int | None) -> list[Quantity] | None:
    """The terms, or their remainders, until the first come again; None if they do not, or late."""

    def seen(value: Quantity) -> Quantity:
        return value if modulus is None else value % modulus

    values = [seen(s.values[s.begin + j]) for j in range(s.width)]
    first = values[:]
    try:
        while len(values) <= _MOST_CASES:
            values.append(seen(s.following(values[-s.width :])))
            if values[-s.width :] == first:
                return values[: -s.width]
    except (Unreadable, ZeroDivisionError):
        pass
    return None


def _by_rounds(
    r: Reading, s: Recurrence, calls: Sequence[str], around: Sequence[Quantity], modulus: int | None
) -> str | None:
    period, width = len(around), s.width
    part = "" if modulus is None else f" % {modulus}"
    once, often = r.fresh("ho"), r.fresh("ha")

    def says(index: str, k: int) -> str:
        return f"{s.name} {index}{part} = {_number(around[k % period], s.kind)}"

    new = range(width, period + width)
    window = " → ".join(says(place("m", k), k) for k in range(width))
    lines = [
        *_step(r, s, once, modulus),
        f"have {once} : ∀ m : Nat, {s.begin} ≤ m → {window} →",
        f"    {' ∧ '.join(says(place('m', k), k) for k in new)} := by",
        f"  intro m hm {' '.join(f'h{k}' for k in range(width))}",
    ]
    for k in new:
        known = " ".join(f"h{k - width + j}" for j in range(width))
        first = place("m", k - width)
        given = " ".join(_number(around[(k - width + j) % period], s.kind) for j in range(width))
        bound = "hm" if k == width else "(Nat.le_add_right_of_le hm)"
        proof = f"{once} {first} {given} {bound} {known}"
        how = "by decide +kernel" if s.kind == "Rat" else "rfl"
        proof = f"({proof}).trans ({how})"
        lines.append(f"  have h{k} : {says(place('m', k), k)} := {proof}")

    def begins(q: str) -> str:
        return f"({s.begin} + {period} * {q})" if s.begin else f"({period} * {q})"

    least = f"(Nat.le_add_right {s.begin} _)" if s.begin else "(Nat.zero_le _)"
    starts = ", ".join(_at_first(s, k, modulus) for k in range(width))
    begun = " ∧ ".join(says(place(begins("q"), k), k) for k in range(width))
    followed = " ".join(_path("ih", k, width) for k in range(width))
    again = ", ".join(_path("h", period - width + k, period) for k in range(width))
    lines += [
        f"  exact ⟨{', '.join(f'h{k}' for k in new)}⟩",
        f"have {often} : ∀ q : Nat, {begun} := by",
        "  intro q",
        "  induction q with",
        f"  | zero => exact ⟨{starts}⟩",
        "  | succ q ih =>",
        f"    have h := {once} {begins('q')} {least} {followed}",
        f"    rw [Nat.mul_succ{', ← Nat.add_assoc' if s.begin else ''}]",
        f"    exact ⟨{again}⟩",
    ]
    facts: list[str] = []
    for call in calls:
        where = _where(r, s, call, period)
        if where is None:
            continue
        k = where
        fact, index = r.fresh(f"hc{len(facts)}"), r.fresh(f"he{len(facts)}")
        q = str((int(call) - s.begin) // period) if call.isdecimal() else f"({call} / {period})"
        if not call.isdecimal() and s.begin:
            q = f"(({call} - {s.begin}) / {period})"
        start = " ".join(_path(f"({often} {q})", j, width) for j in range(width))
        found = _path(f"({often} {q})", k, width)
        if k >= width:
            found = _path(f"({once} {begins(q)} {least} {start})", k - width, period)
        if call.isdecimal():
            lines.append(f"have {fact} : {says(call, k)} := {found}")
        else:
            lines.insert(0, f"have {index} : {place(begins(q), k)} = {call} := by omega")
            lines += [f"have {fact} := {found}", f"rw [{index}] at {fact}"]
        facts.append(fact)
    return "\n".join([*lines, _ending(facts, s.kind)]) if facts else None


def _step(r: Reading, s: Recurrence, name: str, modulus: int | None) -> list[str]:
    """What follows a window of any values."""
    part = "" if modulus is None else f" % {modulus}"
    names = [f"a{j}" for j in range(s.width)]
    window = " → ".join(f"{s.name} {place('m', j)}{part} = {a}" for j, a in enumerate(names))
    value = s.ruled(lambda j: names[j])
    value = value if modulus is None else f"({value}) % {modulus}"
    lines = [
        f"have {name} : ∀ (m : Nat) ({' '.join(names)} : {s.kind}), {s.begin} ≤ m → {window} →",
        f"    {s.name} {place('m', s.width)}{part} = {value} := by",
        f"  intro m {' '.join(names)} hm {' '.join(f'h{j}' for j in range(s.width))}",
        f"  have h := {s.equation('m', s.width)}",
    ]
    used = ", ".join(f"h{j}" for j in s.used())
    if modulus is None:
        return [*lines, f"  rw [h, {used}]"]
    spoken = " ".join(names[j] for j in s.used())
    plain, reduced = s.ruled(lambda j: names[j]), s.ruled(lambda j: f"({names[j]} % {modulus})")
    hp = r.fresh("hp")
    return [
        f"have {hp} : ∀ {spoken} : {s.kind}, ({plain}) % {modulus} = ({reduced}) % {modulus} := by",
        f"  clear {' '.join(r.facts)}",  # which linear arithmetic would look at
        f"  intros; first | (simp [{_MOD[s.kind]}]; done) | omega",
        *lines,
        f"  rw [h, {hp}, {used}]",
    ]


def _path(conjunction: str, k: int, length: int) -> str:
    """The k-th of as many propositions as are joined by ∧."""
    if length == 1:
        return conjunction
    return conjunction + ".2" * k + ("" if k == length - 1 else ".1")


def _at_first(s: Recurrence, k: int, modulus: int | None) -> str:
    fact = s.stated[s.begin + k]
    return fact if modulus is None else f"(congrArg (fun y => y % {modulus}) {fact})"


def _where(r: Reading, s: Recurrence, call: str, period: int) -> int | None:
    """Where in a round a term is: of a number, or of a variable whose remainder is stated."""
    if call.isdecimal():
        return (int(call) - s.begin) % period if int(call) >= s.begin else None
    for said in r.fact_shapes.values():
        match = re.fullmatch(rf"{re.escape(call)} % (\d{{1,6}})", said.left)
        if said.kind == "eq" and match and int(match[1]) % period == 0:
            try:
                return int(compute(parse(said.right), "Nat", {}, {}) - s.begin) % period
            except Unreadable:
                continue
    return None

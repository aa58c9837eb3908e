// Symbols by their names, as in Lean's editors: \forall and a space, a comma or the like write ∀.

const SYMBOLS = {
  forall: "∀", all: "∀", exists: "∃", ex: "∃", nexists: "∄", fun: "λ", lambda: "λ", to: "→", r: "→", imp: "→",
  "->": "→", l: "←", "<-": "←", leftarrow: "←", iff: "↔", "<->": "↔", lr: "↔", mapsto: "↦", "|->": "↦", "=>": "⇒",
  and: "∧", wedge: "∧", or: "∨", v: "∨", vee: "∨", not: "¬", neg: "¬", n: "¬", ne: "≠", neq: "≠", "!=": "≠",
  le: "≤", leq: "≤", "<=": "≤", ge: "≥", geq: "≥", ">=": "≥", lt: "<", gt: ">", equiv: "≡", sim: "∼", approx: "≈",
  in: "∈", mem: "∈", notin: "∉", sub: "⊆", subseteq: "⊆", ss: "⊆", ssub: "⊂", union: "∪", un: "∪", cup: "∪",
  inter: "∩", i: "∩", cap: "∩", empty: "∅", emptyset: "∅", top: "⊤", bot: "⊥", vdash: "⊢", "|-": "⊢", goal: "⊢",
  dvd: "∣", mid: "∣", "|": "∣", x: "×", times: "×", cdot: "⬝", ".": "·", circ: "∘", o: "∘", comp: "∘", inv: "⁻¹",
  "-1": "⁻¹", sqrt: "√", sum: "∑", prod: "∏", t: "▸", "<": "⟨", langle: "⟨", ">": "⟩", rangle: "⟩",
  alpha: "α", a: "α", beta: "β", b: "β", gamma: "γ", g: "γ", delta: "δ", epsilon: "ε", e: "ε", eta: "η", theta: "θ",
  mu: "μ", pi: "π", Pi: "Π", rho: "ρ", sigma: "σ", Sigma: "Σ", tau: "τ", phi: "φ", varphi: "φ", psi: "ψ", omega: "ω",
  N: "ℕ", nat: "ℕ", Z: "ℤ", int: "ℤ", Q: "ℚ", rat: "ℚ", R: "ℝ", real: "ℝ", C: "ℂ", "0": "₀", "1": "₁", "2": "₂",
  "3": "₃", "4": "₄", "5": "₅", "6": "₆", "7": "₇", "8": "₈", "9": "₉", "_0": "₀", "_1": "₁", "_2": "₂", "^2": "²", "^3": "³",
};
const WRITTEN = /\\([^\s\\,;:()[\]{}]+)([\s,;:()[\]{}])$/;

/** Write symbols for their names while somebody types. A blank after a name goes; an unknown name stays. */
export function writeSymbols(field) {
  field.addEventListener("input", (event) => {
    if (event.inputType !== "insertText" && event.inputType !== "insertLineBreak") return;
    const end = field.selectionStart, found = WRITTEN.exec(field.value.slice(0, end));
    const symbol = found && Object.hasOwn(SYMBOLS, found[1]) ? SYMBOLS[found[1]] : null;
    if (symbol === null) return;
    field.setRangeText(symbol + (found[2] === " " ? "" : found[2]), found.index, end, "end");
  });
}

# ruff: noqa: E501 (an entry is a line, however long its Lean is)
"""Proofs that are none, of every kind we could think of. The judge must refuse them all.

`reason` is a pattern that the verdict's reason must contain; `plain_lean` says that plain Lean
compiles the text without an error, so that nothing but the judge stands in the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from burnqed.core.types import LibraryConstant, Proposition, Statement, TheoremText


@dataclass(frozen=True, slots=True)
class CheatFile:
    name: str
    submission: str
    reference: str | None
    theorem: str
    reason: str
    plain_lean: bool


@dataclass(frozen=True, slots=True)
class CheatProof:
    name: str
    statement: Statement
    tactics: tuple[str, ...]
    reason: str


UNPROVED = r"sorry|unproved|admit"
COMPILED = r"compiled code|axiom|nativeDecide|machinery"
DECLARES = r"nobody proved"
CODE = r"runs code|installs code|among the options|nobody proved|belongs to programs|machinery"
DIFFERS = r"something else|not what the reference says|not in the file|does not compile"
BROKEN = r"does not compile|not in the file|kernel|does not end"
# For texts that may be refused at one wall or another; which one first is not the point.
ANY = r"."


def _file(
    name: str,
    submission: str,
    reason: str,
    *,
    reference: str | None = None,
    theorem: str = "a",
    lean: bool = True,
) -> CheatFile:
    return CheatFile(name, submission, reference, theorem, reason, lean)


def _against(
    name: str,
    submission: str,
    reference: str,
    reason: str = DIFFERS,
    *,
    theorem: str = "a",
    lean: bool = True,
) -> CheatFile:
    return CheatFile(name, submission, reference, theorem, reason, lean)


def _prove(name: str, text: str, reason: str, *tactics: str) -> CheatProof:
    return CheatProof(name, Proposition(text), tactics, reason)


# ------------------------------------------------------------------------ nothing is proved

SORRIES = (
    _file("sorry", "theorem a : 1 = 2 := sorry\n", UNPROVED),
    _file("sorry by", "theorem a : 1 = 2 := by sorry\n", UNPROVED),
    _file("exact sorry", "theorem a : 1 = 2 := by exact sorry\n", UNPROVED),
    _file("sorry in brackets", "theorem a : 1 = 2 := by exact (by sorry : _)\n", UNPROVED),
    _file("admit", "theorem a : 1 = 2 := by admit\n", UNPROVED),
    _file("sorryAx", "theorem a : 1 = 2 := sorryAx _ false\n", UNPROVED),
    _file("sorryAx named", "theorem a : 1 = 2 := sorryAx (α := 1 = 2) (synthetic := true)\n", UNPROVED),
    _file("sorryAx rooted", "theorem a : 1 = 2 := @_root_.sorryAx (1 = 2) false\n", UNPROVED),
    _file("sorryAx quoted", "theorem a : 1 = 2 := «sorryAx» _ false\n", UNPROVED),
    _file("sorry quoted", "theorem a : 1 = 2 := «sorry»\n", UNPROVED, lean=False),
    _file("sorry in have", "theorem a : 1 = 2 := by\n  have h : False := sorry\n  exact h.elim\n", UNPROVED),
    _file("sorry in a helper", "theorem h : False := sorry\n\ntheorem a : 1 = 2 := h.elim\n", UNPROVED),
    _file("sorry in a private helper", "private theorem h : False := by sorry\n\ntheorem a : 1 = 2 := h.elim\n", UNPROVED),
    _file("sorry in a def", "def h : 1 = 2 := sorry\n\ntheorem a : 1 = 2 := h\n", UNPROVED),
    _file("sorry as data", "def w : {n : Nat // n = n + 1} := ⟨0, sorry⟩\n\ntheorem a : ∃ n : Nat, n = n + 1 := ⟨w.1, w.2⟩\n", UNPROVED),
    _file("sorry in an instance", "instance i : Decidable (1 = 2) := .isTrue sorry\n\ntheorem a : 1 = 2 := of_decide_eq_true (inst := i) rfl\n", UNPROVED),
    _file("sorry in a class", "class C : Prop where\n  bad : False\n\ninstance : C := ⟨sorry⟩\n\ntheorem a : 1 = 2 := (C.bad).elim\n", UNPROVED),
    _file("sorry in where", "theorem a : 1 = 2 := h\nwhere h : 1 = 2 := sorry\n", UNPROVED),
    _file("sorry in let rec", "theorem a : 1 = 2 := by\n  let rec h : 1 = 2 := sorry\n  exact h\n", UNPROVED),
    _file("sorry in decreasing_by", "theorem a (n : Nat) : n = n + 1 := Nat.succ.inj (a (n + 1))\ntermination_by n\ndecreasing_by sorry\n", UNPROVED),
    _file("stop", "theorem a : 1 = 2 := by\n  stop\n  rfl\n", UNPROVED),
    _file("an error behind it", "theorem h : 1 = 2 := by rfl\n\ntheorem a : 1 = 2 := h\n", r"sorry|compile", lean=False),
    _file("an unknown name", "theorem a : 1 = 2 := nothing_of_that_name\n", r"compile|sorry", lean=False),
    _file("an open goal", "theorem a : 1 = 1 ∧ 1 = 2 := by\n  constructor\n  · rfl\n", r"compile|sorry", lean=False),
    _file("an empty block", "theorem a : 1 = 2 := by\n", r"compile|sorry", lean=False),
    _file("no proof", "theorem a : 1 = 2\n", r"compile|not in the file|sorry", lean=False),
    _file("sorry in its type", "theorem a : (sorry : Nat) = 3 := sorry\n", UNPROVED),
    _file("sorry taken modulo", "theorem h (f : ∀ n : Nat, n < 2 → 1 = 2) : 1 = 2 := f (sorry%2) (Nat.mod_lt _ (by decide))\n\ntheorem a : (∀ n : Nat, n < 2 → 1 = 2) → 1 = 2 := h\n", UNPROVED),
    _file("sorry modulo only", "def k : Nat := (sorry%2)\n\ntheorem a : k = k := rfl\n", UNPROVED),
    _file("sorry glued to a number", "theorem a : 1 = 2 := by iterate 1sorry\n", UNPROVED),
    _file("sorry in an interpolation", 'theorem a : 1 = 2 := by\n  have h : ∀ _ : String, 1 = 2 := fun _ => by sorry\n  exact h s!"{(sorry : Nat)}"\n', UNPROVED),
    _file("lcProof", "theorem a : 1 = 2 := lcProof\n", UNPROVED, lean=False),
    _file("lcUnreachable", "def h : 1 = 2 := lcUnreachable\n\ntheorem a : 1 = 2 := h\n", ANY, lean=False),
)  # fmt: skip

# ------------------------------------------------------------------- the compiler is believed

NATIVE = (
    _file("native_decide", "theorem a : 10 < 20 := by native_decide\n", COMPILED),
    _file("decide +native", "theorem a : 10 < 20 := by decide +native\n", COMPILED),
    _file("native := true", "theorem a : 10 < 20 := by decide (config := { native := true })\n", COMPILED),
    _file("native option", "theorem a : 10 < 20 := by decide (native := true)\n", COMPILED),
  
    _file("native by position", "theorem a : 10 < 20 := by decide (config := ⟨false, true, false, false⟩)\n", COMPILED),
    _file("native by constructor", "theorem a : 10 < 20 := by decide (config := .mk false true false false)\n", COMPILED),
    _file("native in a helper", "theorem h : 10 < 20 := by native_decide\n\ntheorem a : 10 < 20 := h\n", COMPILED),
    _file("ofReduceBool", "def t : Bool := true\n\ntheorem a : t = true := Lean.ofReduceBool t true rfl\n", COMPILED),
    _file("ofReduceBool opened", "def t : Bool := true\n\nopen Lean in\ntheorem a : t = true := ofReduceBool t true rfl\n", COMPILED),
    _file("ofReduceNat", "def t : Nat := 3\n\ntheorem a : t = 3 := Lean.ofReduceNat t 3 rfl\n", COMPILED),
    _file("reduceBool", "def t : Bool := true\n\ntheorem a : Lean.reduceBool t = true := rfl\n", COMPILED),
    _file("trustCompiler", "theorem a : True := Lean.trustCompiler\n", COMPILED),
    _file("implemented_by and native", "def f : Bool := true\n\n@[implemented_by f] def g : Bool := false\n\ntheorem h : g = true := by native_decide\n\ntheorem a : 1 = 2 := absurd h (by decide)\n", CODE),
    _file("csimp", "def f : Nat := 1\ndef g : Nat := 1\n\n@[csimp] theorem f_eq : @f = @g := rfl\n\ntheorem a : f = 1 := rfl\n", CODE),
    _file("extern", '@[extern "lean_nat_add"] def f (a b : Nat) : Nat := a\n\ntheorem a : f 1 2 = 1 := rfl\n', CODE),
    _file("export attribute", "@[export lean_mine] def f (a : Nat) : Nat := a\n\ntheorem a : f 1 = 1 := rfl\n", CODE),
    _file("bv_decide", "theorem a (x y : BitVec 8) : x + y = y + x := by bv_decide\n", COMPILED, lean=False),
    _file("bv_decide?", "theorem a (x y : BitVec 8) : x + y = y + x := by bv_decide?\n", r"compiled|searches|axiom|compile", lean=False),
)  # fmt: skip

# ----------------------------------------------------------------------- things are declared

AXIOMS = (
    _file("axiom", "axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("axiom in a namespace", "namespace N\naxiom h : False\nend N\n\ntheorem a : 1 = 2 := N.h.elim\n", DECLARES),
    _file("private axiom", "private axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("simp axiom", "@[simp] axiom h : 1 = 2\n\ntheorem a : 1 = 2 := by simp only [h]\n", DECLARES),
    _file("axiom that is named as the theorem", "axiom a : 1 = 2\n", DECLARES),
    _file("axiom named like an allowed one", "namespace Classical\naxiom choice' : False\nend Classical\n\ntheorem a : 1 = 2 := Classical.choice'.elim\n", DECLARES),
    _file("propext of one's own", "namespace N\naxiom propext : False\ntheorem a : 1 = 2 := propext.elim\nend N\n", DECLARES, theorem="N.a"),
    _file("axiom glued to a number", "theorem b : 1 = 1 := Eq.refl 1axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("axiom glued to a binary number", "def n := 0b1axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("axiom glued to an option", "set_option maxRecDepth 1000axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("axiom glued to an inverse", "theorem b (x : Rat) : x⁻¹ = x⁻¹ := @rfl _ x⁻¹axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("axiom behind a comment", "/-/- -/ axiom h : False\n\ntheorem a : 1 = 2 := h.elim\n", DECLARES),
    _file("opaque", "opaque w : Nat\n\ntheorem a : w = w := rfl\n", DECLARES),
    _file("unsafe def", "unsafe def h : Nat := h\n\ntheorem a : 1 = 1 := rfl\n", DECLARES),
    _file("unsafe theorem", "unsafe theorem a : 1 = 2 := a\n", DECLARES, lean=False),
    _file("unsafe term", "theorem a : 1 = 1 := unsafe rfl\n", DECLARES, lean=False),
    _file("unsafe inductive", "unsafe inductive B\n  | mk : (B → False) → B\n\ntheorem a : 1 = 1 := rfl\n", DECLARES),
    _file("implemented_by", "def f : Nat := 1\n\n@[implemented_by f] def g : Nat := 2\n\ntheorem a : g = 2 := rfl\n", CODE),
    _file("initialize", "initialize pure ()\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("a hypothesis for a proof", "variable (h : False)\ninclude h\n\ntheorem a : 1 = 2 := h.elim\n", DIFFERS, reference="theorem a : 1 = 2 := sorry\n"),
)  # fmt: skip

# ------------------------------------------------------------------ code runs, syntax changes

CODE_FILES = (
    _file("macro", 'macro "easy" : tactic => `(tactic| sorry)\n\ntheorem a : 1 = 2 := by easy\n', CODE),
    _file("macro of a term", 'macro "triv" : term => `(sorryAx _ false)\n\ntheorem a : 1 = 2 := triv\n', CODE),
    _file("macro_rules", "macro_rules | `(tactic| rfl) => `(tactic| sorry)\n\ntheorem a : 1 = 2 := by rfl\n", CODE),
    _file("macro over theorem", "macro_rules | `(tactic| decide) => `(tactic| sorry)\n\ntheorem a : 1 = 2 := by decide\n", CODE),
    _file("syntax", 'syntax "easy" : tactic\nmacro_rules | `(tactic| easy) => `(tactic| sorry)\n\ntheorem a : 1 = 2 := by easy\n', CODE),
    _file("notation", 'local notation "two" => 1\n\ntheorem a : 1 = two := rfl\n', CODE),
    _file("notation over a relation", 'local notation:50 x " ≤ " y => x = x ∨ y = y\n\ntheorem a : 3 ≤ 2 := Or.inl rfl\n', CODE, lean=False),
    _file("infix", "local infix:50 (priority := high) \" = \" => fun (_ _ : Nat) => True\n\ntheorem a : 1 = 2 := trivial\n", CODE),
    _file("infix over plus", "local infixl:65 (priority := high) \" + \" => Nat.mul\n\ntheorem a : 1 + 1 = 1 := rfl\n", CODE),
    _file("prefix", 'local prefix:max "¬" => id\n\ntheorem a : ¬ True := trivial\n', CODE, lean=False),
    _file("binder_predicate", 'binder_predicate x " ≻ " y:term => `($x > $y)\n\ntheorem a : 1 = 1 := rfl\n', CODE),
    _file("unif_hint", "unif_hint (x : Nat) where ⊢ x =?= x\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("eval", "#eval 1 + 1\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("eval!", "#eval! 1 + 1\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("exit before it", "#exit\n\ntheorem a : 1 = 2 := rfl\n", CODE),
    _file("run_cmd", "run_cmd Lean.Elab.Command.modifyEnv fun e => e\n\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("run_cmd addDecl", "open Lean in\nrun_cmd liftCoreM <| addDecl (.axiomDecl { name := `h, levelParams := [], type := .const `False [], isUnsafe := false })\n\ntheorem a : 1 = 2 := h.elim\n", CODE, lean=False),
    _file("run_tac", "theorem a : 1 = 2 := by run_tac Lean.Elab.Tactic.getMainGoal >>= fun g => g.admit\n", CODE, lean=False),
    _file("run_elab", "run_elab Lean.logInfo m!\"x\"\n\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("run_meta", "run_meta Lean.logInfo m!\"x\"\n\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("by_elab", "theorem a : 1 = 2 := by_elab Lean.Meta.mkSorry (.const `False []) true\n", CODE, lean=False),
    _file("by_elab before a lambda", "theorem a : 1 = 2 := by_elabλ_ => Lean.Meta.mkSorry (.const `False []) true\n", CODE, lean=False),
    _file("elab", 'elab "easy" : tactic => pure ()\n\ntheorem a : 1 = 2 := by easy\n', CODE, lean=False),
    _file("elab_rules", "elab_rules : tactic | `(tactic| rfl) => pure ()\n\ntheorem a : 1 = 2 := by rfl\n", CODE, lean=False),
    _file("simproc", "simproc s (1 = 2) := fun _ => return .done { expr := .const `True [] }\n\ntheorem a : 1 = 2 := by simp\n", CODE, lean=False),
    _file("simproc_decl", "simproc_decl s (1 = 2) := fun _ => return .done { expr := .const `True [] }\n\ntheorem a : 1 = 2 := by simp [s]\n", CODE, lean=False),
    _file("macro attribute", "@[macro Lean.Parser.Term.app] def m : Lean.Macro := fun _ => `(sorry)\n\ntheorem a : 1 = 2 := id rfl\n", CODE),
    _file("macro attribute later", "def m : Lean.Macro := fun _ => `(sorry)\n\nattribute [simp, local macro Lean.Parser.Term.app] m\n\ntheorem a : 1 = 2 := id rfl\n", CODE),
    _file("compiler pass", "@[cpass] def m : Nat := 1\n\ntheorem a : 1 = 1 := rfl\n", r"attribute|installs", lean=False),
    _file("grind propagator", "@[grind_propagator] def m : Nat := 1\n\ntheorem a : 1 = 1 := rfl\n", r"attribute|installs", lean=False),
    _file("init attribute", "@[init] def m : IO Unit := pure ()\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("tactic attribute", "@[tactic Lean.Parser.Tactic.tacticRfl] def m : Nat := 1\n\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("skip the kernel", "set_option debug.skipKernelTC true in\ntheorem a : 1 = 2 := by rfl\n", CODE, lean=False),
    _file("skip the kernel for all", "set_option debug.skipKernelTC true\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("skip the kernel, quoted", "set_option «debug».«skipKernelTC» true\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("skip the kernel, a comment between", "set_option /- maxHeartbeats -/ debug.skipKernelTC true\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("skip the kernel behind a number", "set_option maxRecDepth 999set_option debug.skipKernelTC true\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("by as sorry", "set_option debug.byAsSorry true in\ntheorem a : 1 = 2 := by rfl\n", CODE),
    _file("terminates by sorry", "set_option debug.terminalTacticsAsSorry true in\ntheorem a : 1 = 2 := by omega\n", CODE),
    _file("asynchronous", "set_option Elab.async true\n\ntheorem a : 1 = 2 := by rfl\n", ANY, lean=False),
    _file("open private", "open private foo from Init.Core\n\ntheorem a : 1 = 1 := rfl\n", ANY, lean=False),
    _file("internal name", "theorem a : 1 = 1 := _private.Init.Core.foo\n", r"internal|compile", lean=False),
    _file("include_str", 'def s : String := include_str "/etc/passwd"\n\ntheorem a : 1 = 1 := rfl\n', CODE, lean=False),
  
    _file("code in a configuration", "def k (n : Nat) : Nat := dbgTrace \"ran\" fun _ => n\n\ntheorem a : 1 + 1 = 2 := by simp (maxSteps := k 1000)\n", ANY),
    _file("IO in a configuration", "theorem w : Unit = Void IO.RealWorld := by omega\n\ndef k : Nat :=\n  match (IO.eprintln \"ran\" : IO Unit) (cast w ()) with\n  | .ok _ _ => 3000\n  | .error _ _ => 4000\n\ntheorem a : 1 + 1 = 2 := by simp (maxSteps := k)\n", ANY, lean=False),
    _file("IO in a configuration, with sorry", "def k : Nat :=\n  match (IO.eprintln \"ran\" : IO Unit) (cast (sorry : Unit = Void IO.RealWorld) ()) with\n  | .ok _ _ => 3000\n  | .error _ _ => 4000\n\ntheorem a : 1 + 1 = 2 := by simp (maxSteps := k)\n", ANY),
  
    _file("eval in an open string", 'def s : String := "\n#eval 1 + 1\n\ntheorem a : 1 = 1 := rfl\n', ANY, lean=False),
    _file("eval in a broken string", 'def s : String := "\\q\n#eval 1 + 1\n"\n\ntheorem a : 1 = 1 := rfl\n', ANY, lean=False),
    _file("eval in a broken character", "def s := '\\#eval 'a'.toNat\n\ntheorem a : 1 = 1 := rfl\n", ANY, lean=False),
    _file("eval in an open name", "def s := «\n#eval 1 + 1\n\ntheorem a : 1 = 1 := rfl\n", ANY, lean=False),
    _file("eval in an open raw string", 'def s := r#"\n#eval 1 + 1\n\ntheorem a : 1 = 1 := rfl\n', ANY, lean=False),
    _file("eval behind a nested comment", "/-/- -/\n#eval 1 + 1\n\ntheorem a : 1 = 1 := rfl\n", CODE),
    _file("macro behind a nested comment", '/-/- -/ macro "easy" : tactic => `(tactic| sorry)\n\ntheorem a : 1 = 2 := by easy\n', CODE),
    _file("run_tac behind an arrow", "theorem a : 1 = 2 := by first | rw [<--x] | run_tac pure ()\n", CODE, lean=False),
    _file("sorry behind a nested comment", "theorem a : 1 = 2 := by\n  show 1 = 2/-/- -/; sorry\n", UNPROVED),
    _file("sorry behind an arrow", "theorem a : 1 = 2 := by first | rw [<--x] | sorry\n", UNPROVED),
    _file("sorry behind a subtype", "theorem a : 1 = 2 := by first | exact (fun x : {x : Int //-x = 0} => x) | sorry\n", UNPROVED),
    _file("sorry behind an or", "theorem a : 1 = 2 := by first | exact (1 = 1 \\/-x) | sorry\n", UNPROVED),
    _file("run_tac in an interpolation", 'theorem a : 1 = 2 := by first | exact (s! "{by run_tac pure ()}") | rfl\n', CODE, lean=False),
    _file("run_tac between strings", 'theorem a : 1 = 2 := by first | exact (s!"{"a" ++ (by run_tac pure ()) ++ "b"}") | rfl\n', CODE, lean=False),
    _file("run_tac in dbg_trace", 'def k : Nat := dbg_trace "{(by run_tac pure () : Nat)}"; 1\n\ntheorem a : 1 = 1 := rfl\n', CODE, lean=False),
    _against("macro behind a trusted line", '/-\n-/\nmacro "easy" : tactic => `(tactic| sorry)\n\ntheorem a : 1 = 2 := by easy\n', "/-!\nA title.\n-/\n\ntheorem a : 1 = 2 := sorry\n", CODE),
    _against("a trusted word elsewhere", "theorem h : 1 = 2 := by\nrun_tac pure ()\n\ntheorem a : 1 = 2 := h\n", "/- Do not write\nrun_tac pure ()\n-/\ntheorem a : 1 = 2 := sorry\n", CODE, lean=False),
)  # fmt: skip

# -------------------------------------------------------------------- another statement

ONE = "theorem a (n : Nat) : n < n + 2 := by sorry\n"
DOUBLE = "def double (n : Nat) : Nat := n + n\n\n"
SHAPE = "structure Box where\n  size : Nat\n  pos : 0 < size\n\ntheorem a (b : Box) : b.size ≠ 0 := by sorry\n"
KIND = "inductive K\n  | x\n  | y\n\ntheorem a (k : K) : k = .x ∨ k = .y := by sorry\n"
LESS = "theorem a (x y : Nat) (h : x < y) : ¬ y < x := by sorry\n"

STATEMENTS = (
    _against("weaker", "theorem a (n : Nat) : n ≤ n + 2 := by omega\n", ONE),
    _against("True", "theorem a (n : Nat) : True := trivial\n", ONE),
    _against("another binder", "theorem a (n : Int) : n < n + 2 := by omega\n", ONE),
    _against("another number", "theorem a (n : Nat) : n < n + 3 := by omega\n", ONE),
    _against("an extra hypothesis", "theorem a (n : Nat) (h : n < n + 2) : n < n + 2 := h\n", ONE),
    _against("an implicit False", "theorem a {h : False} (n : Nat) : n < n + 2 := h.elim\n", ONE),
    _against("False by variable", "variable (h : False)\n\ninclude h in\ntheorem a (n : Nat) : n < n + 2 := h.elim\n", ONE),
    _against("an instance that none has", "class Bad : Prop where\n  bad : False\n\ntheorem a [Bad] (n : Nat) : n < n + 2 := Bad.bad.elim\n", ONE),
    _against("a default argument", "theorem a (n : Nat) (h : False := by trivial) : n < n + 2 := h.elim\n", ONE),
    _against("swapped", "theorem a (n : Nat) : n + 2 > n + 0 := by omega\n", "theorem a (n : Nat) : n + 2 < n + 3 := sorry\n"),
    _against("swapped hypotheses", "theorem a (x y : Nat) (h : y < x) : ¬ x < y := by omega\n", LESS),
    _against("converse", "theorem a (p q : Prop) (h : p → q) : ¬ q → ¬ p := fun n x => n (h x)\n", "theorem a (p q : Prop) (h : p → q) : ¬ p → ¬ q := sorry\n"),
    _against("exists for all", "theorem a : ∃ n : Nat, n * n = n := ⟨0, rfl⟩\n", "theorem a : ∀ n : Nat, n * n = n := sorry\n"),
    _against("a name bound by itself", "set_option autoImplicit true\n\ntheorem a (n : m) (h : HEq n n) : HEq n n := h\n", ONE),
    _against("a constant bound by itself", "set_option autoImplicit true\n\ntheorem a {P : Nat → Prop} (h : P 0) : P 0 := h\n", "def P (n : Nat) : Prop := n = 1\n\ntheorem a : P 0 := sorry\n"),
    _against("a smaller universe", "theorem a (α : Type) (x : α) : x = x := rfl\n", "theorem a (α : Type u) (x : α) : x = x := sorry\n"),
    _against("a fixed type", "theorem a (x y : Unit) : x = y := rfl\n", "theorem a (α : Type) (x y : α) : x = y := sorry\n"),
    _against("a name in a namespace", "namespace N\ntheorem a (n : Nat) : n < n + 2 := by omega\nend N\n", ONE),
    _against("ended too early", "namespace N\nend N\n\ntheorem a (n : Nat) : n < n + 2 := by omega\n", "namespace N\n\ntheorem a (n : Nat) : n < n + 2 := by sorry\n\nend N\n", theorem="N.a"),
    _against("an example", "example (n : Nat) : n < n + 2 := by omega\n", ONE),
    _against("missing", "theorem b (n : Nat) : n < n + 2 := by omega\n", ONE),
    _against("commented out", "/-\ntheorem a (n : Nat) : n < n + 2 := by omega\n-/\ntheorem b : True := trivial\n", ONE),
    _against("nested comment around it", "/- /- -/\ntheorem a (n : Nat) : n < n + 2 := by omega\n/- -/ -/\ntheorem b : True := trivial\n", ONE),
    _against("half in a comment", "theorem a (n : Nat) : n < n /- + 2 := by omega -/ + 3 := by omega\n", ONE),
    _against("private", "private theorem a (n : Nat) : n < n + 2 := by omega\n", ONE, r"private"),
    _against("only the reference again", ONE, ONE, UNPROVED),
    _against("twice", ONE + "\ntheorem a (n : Nat) : n < n + 2 := by omega\n", ONE, r"sorry|compile|unproved", lean=False),
    _against("a def", "def a (n : Nat) : Nat := n\n", ONE),
    _against("an abbreviation", "abbrev a (n : Nat) : Prop := n < n + 2\n", ONE),
    _against("two theorems in one", "theorem a (n : Nat) : n < n + 2 ∨ True := .inr trivial\n", ONE),
    _against("behind let", "theorem a (n : Nat) : let n := 0; n < n + 2 := by decide\n", ONE),
    _against("a definition changed", "def double (n : Nat) : Nat := 0\n\ntheorem a (n : Nat) : double n % 2 = 0 := rfl\n", DOUBLE + "theorem a (n : Nat) : double n % 2 = 0 := sorry\n"),
    _against("a definition made variable", "variable (double : Nat → Nat) (h : ∀ n, double n = 0)\n\ninclude h in\ntheorem a (n : Nat) : double n % 2 = 0 := by rw [h]\n", DOUBLE + "theorem a (n : Nat) : double n % 2 = 0 := sorry\n"),
    _against("a definition left out", "theorem double (n : Nat) : n = n := rfl\n\ntheorem a (n : Nat) : 0 % 2 = 0 := rfl\n", DOUBLE + "theorem a (n : Nat) : double n % 2 = 0 := sorry\n"),
    _against("an inductive type changed", "inductive K\n  | x\n\ntheorem a (k : K) : k = .x ∨ k = .x := by cases k; simp\n", KIND),
    _against("a constructor renamed away", "inductive K\n  | x\n  | z\n\ndef K.y : K := .z\n\ntheorem a (k : K) : k = .x ∨ k = .y := by cases k <;> simp [K.y]\n", KIND),
    _against("a structure with a falsehood", "structure Box where\n  size : Nat\n  pos : 0 < size\n  bad : False\n\ntheorem a (b : Box) : b.size ≠ 0 := b.bad.elim\n", SHAPE),
    _against("a field that changed", "structure Box where\n  size : Nat\n  pos : size ≠ 0\n\ntheorem a (b : Box) : b.size ≠ 0 := b.pos\n", SHAPE),
    _against("an inductive proposition", "inductive Good : Nat → Prop\n  | any (n : Nat) : Good n\n\ntheorem a : Good 7 := .any 7\n", "inductive Good : Nat → Prop\n  | zero : Good 0\n  | step : Good n → Good (n + 2)\n\ntheorem a : Good 7 := sorry\n"),
    _against("an instance changed", "structure W where\n  v : Nat\n\ninstance : LT W := ⟨fun _ _ => True⟩\n\ntheorem a (x : W) : x < ⟨5⟩ := trivial\n", "structure W where\n  v : Nat\n\ninstance : LT W := ⟨fun x y => x.v < y.v⟩\n\ntheorem a (x : W) : x < ⟨5⟩ := sorry\n"),
    _against("Nat of one's own", "namespace N\ninductive Nat\n  | zero\n\ntheorem a (x y : Nat) : x = y := by cases x; cases y; rfl\nend N\n", "namespace N\ntheorem a (x y : Nat) : x = y := sorry\nend N\n", theorem="N.a"),
    _against("And of one's own", "namespace N\ninductive And (p q : Prop) : Prop\n  | l : p → And p q\n\ntheorem a (p q : Prop) (h : p) : And p q := .l h\nend N\n", "namespace N\ntheorem a (p q : Prop) (h : p) : And p q := sorry\nend N\n", theorem="N.a"),
    _against("length of one's own", "namespace N\ndef List.length (_ : List Nat) : Nat := 0\n\ntheorem a (l : List Nat) : List.length l = 0 := rfl\nend N\n", "namespace N\ntheorem a (l : List Nat) : List.length l = 0 := sorry\nend N\n", theorem="N.a"),
    _against("a shadow that is opened", "namespace S\ndef Even (_ : Nat) : Prop := True\nend S\n\nopen S\n\ntheorem a : Even 3 := trivial\n", "def Even (n : Nat) : Prop := n % 2 = 0\n\ntheorem a : Even 3 := sorry\n"),
    _against("less of one's own", "local instance : LT Nat := ⟨fun _ _ => True⟩\n\ntheorem a (n : Nat) : n + 2 < n := trivial\n", "theorem a (n : Nat) : n + 2 < n := sorry\n"),
    _against("plus of one's own", "local instance : HAdd Nat Nat Nat := ⟨fun _ _ => 0⟩\n\ntheorem a (n m : Nat) : n + m = 0 := rfl\n", "theorem a (n m : Nat) : n + m = 0 := sorry\n"),
    _against("numbers of one's own", "local instance (n : Nat) : OfNat Nat n := ⟨0⟩\n\ntheorem a : (1 : Nat) = 2 := rfl\n", "theorem a : (1 : Nat) = 2 := sorry\n"),
    _against("instance by attribute", "def L : LE Nat := ⟨fun _ _ => True⟩\n\nattribute [local instance] L\n\ntheorem a : 3 ≤ 2 := trivial\n", "theorem a : 3 ≤ 2 := sorry\n"),
    _against("instance taken away", "attribute [-instance] instLENat\n\ninstance L : LE Nat := ⟨fun _ _ => True⟩\n\ntheorem a : 3 ≤ 2 := trivial\n", "theorem a : 3 ≤ 2 := sorry\n"),
    _against("a coercion of one's own", "instance : Coe Bool Nat := ⟨fun _ => 0⟩\n\ntheorem a (b : Bool) : ((b : Nat)) = 0 := rfl\n", "theorem a (b : Bool) : b.toNat = 0 := sorry\n"),
    _against("a local variable for a constant", "theorem a (p : Nat → Prop) (h : p 4) : p 4 := h\n", "def p (n : Nat) : Prop := n = 5\n\ntheorem a : p 4 := sorry\n"),
    _against("a Greek capital", "inductive Νat\n  | zero\n\ntheorem a (x y : Νat) : x = y := by cases x; cases y; rfl\n", "theorem a (x y : Nat) : x = y := sorry\n"),
    _against("a Cyrillic letter", "def dоuble (n : Nat) : Nat := 0\n\ntheorem a (n : Nat) : dоuble n = 0 := rfl\n", DOUBLE + "theorem a (n : Nat) : double n = 0 := sorry\n", r"look-alike", lean=False),
    _file("fullwidth", "theorem a : 1 = 2 := ｓorry\n", r"look-alike", lean=False),
    _file("zero width", "theorem a : 1 = 2 := so\u200brry\n", r"invisible", lean=False),
    _file("right to left", "theorem a : 1 = 1 := rfl -- \u202e yrros\n", r"invisible"),
    _file("soft hyphen", "theorem a : 1 = 2 := sor\u00adry\n", r"invisible", lean=False),
)  # fmt: skip

# ------------------------------------------------------------------ circles and false beginnings

LOGIC = (
    _file("itself", "theorem a : 1 = 2 := a\n", BROKEN, lean=False),
    _file("itself by tactic", "theorem a (n : Nat) : n = n + 1 := by exact a n\n", BROKEN, lean=False),
    _file("each other", "mutual\ntheorem a : 1 = 2 := b\ntheorem b : 1 = 2 := a\nend\n", BROKEN, lean=False),
    _file("itself through an instance", "class C : Prop where\n  bad : 1 = 2\n\ninstance c : C := ⟨c.bad⟩\n\ntheorem a : 1 = 2 := C.bad\n", BROKEN, lean=False),
    _file("itself, always larger", "theorem a (n : Nat) : n = n + 1 := absurd (a (n + 1)) (by omega)\ntermination_by n\n", BROKEN, lean=False),
    _file("partial theorem", "partial theorem a : 1 = 2 := a\n", BROKEN, lean=False),
    _file("partial def", "partial def h (u : Unit) : 1 = 2 := h u\n\ntheorem a : 1 = 2 := h ()\n", BROKEN, lean=False),
    _file("not positive", "inductive B\n  | mk : (B → False) → B\n\ntheorem a : False := by\n  have f : B → False := fun b => match b with | .mk g => g b\n  exact f (.mk f)\n", BROKEN, lean=False),
    _file("too large an elimination", "inductive T : Prop\n  | x\n  | y\n\ndef d : T → Bool\n  | .x => true\n  | .y => false\n\ntheorem a : false = true := congrArg d (rfl : T.y = T.x)\n", BROKEN, lean=False),
    _file("too large a universe", "structure U : Type where\n  t : Type\n\ntheorem a : 1 = 2 := nofun\n", BROKEN, lean=False),
    _file("quotient lifted badly", "def q : Quot (fun _ _ : Nat => True) → Nat := Quot.lift id (fun _ _ _ => rfl)\n\ntheorem a : 1 = 2 := congrArg q (Quot.sound trivial)\n", BROKEN, lean=False),
    _file("a wrong decision", "instance i : Decidable (1 = 2) := .isTrue (by decide)\n\ntheorem a : 1 = 2 := by decide\n", BROKEN, lean=False),
    _file("a wrong rfl", "theorem a : (2 : Nat) ^ 64 = 0 := rfl\n", BROKEN, lean=False),
    _file("a def of a theorem", "def a : 1 = 1 := rfl\n", r"a def here", reference="theorem a : 1 = 1 := sorry\n"),
    _file("deep recursion", "theorem a : " + "(" * 3000 + "1" + ")" * 3000 + " = 2 := rfl\n", ANY, lean=False),
    _file("unbalanced", "theorem a : (1 = 2 := rfl\n", BROKEN, lean=False),
    _file("a comment left open", "theorem a : 1 = 2 := by /- rfl\n", ANY, lean=False),
    _file("library search in a term", "theorem a : True := by exact exact?%\n", r"searches"),
    _file("library search, quoted name", "theorem «x y» : True := by exact?\n", r"searches", theorem="«x y»"),
    _file("exact?", "theorem a (n : Nat) : n ≤ n := by exact?\n", r"searches"),
    _file("simp?", "theorem a : True := by simp?\n", r"searches"),
    _file("simp?!", "theorem a : True := by simp?!\n", r"searches"),
    _file("grind?", "theorem a (p : Prop) (h : p) : p := by grind?\n", r"searches"),
    _file("try?", "theorem a : 1 = 1 := by try?\n", r"searches"),
    _file("apply?", "theorem a (n : Nat) : n ≤ n := by apply?\n", r"searches|sorry"),
    _file("show_term", "theorem a : True := by show_term trivial\n", r"searches"),
    _against("sorry in a definition that used an open theorem", "theorem T : 1 = 1 := rfl\ndef a : 1 = 1 := sorry\n", "theorem T : 1 = 1 := sorry\ndef a : 1 = 1 := T\n", UNPROVED),
    _against("sorry in a type that used an open theorem", "theorem T : 2 < 3 := by decide\ninductive a : Fin 3 → Prop\n  | mk : a ⟨2, by sorry⟩\n", "theorem T : 2 < 3 := sorry\ninductive a : Fin 3 → Prop\n  | mk : a ⟨2, T⟩\n", UNPROVED),
    _against("a theorem that a macro states, left out", "def f : Nat := 5\ntheorem t : 1 = 1 := rfl\n", 'macro "mk" n:ident : command => `(def $n : Nat := 5\n theorem $(Lean.mkIdent (n.getId.appendAfter "_a")) : $n = 6 := sorry)\nmk f\ntheorem t : 1 = 1 := sorry\n', theorem="f_a"),
    _against("an open `let rec`, left out", "def f : Nat := 3\ntheorem t : f = 3 := rfl\n", "def f : Nat := let rec a : 1 = 2 := sorry; 3\ntheorem t : f = 3 := sorry\n", theorem="f.a"),
    _against("sorry in a definition of its own", "def a : 1 = 2 := sorry\ntheorem t : 1 = 1 := rfl\n", "theorem t : 1 = 1 := sorry\n", UNPROVED),
    _file("sorry in a definition", "def a : Nat := sorry\ntheorem t : 1 = 1 := rfl\n", UNPROVED),
    _against("another proposition, as a theorem", "theorem a (n : Nat) : n = n ∨ n = 0 := .inl rfl\n", "def a (n : Nat) : n = n := sorry\n", DIFFERS),
)  # fmt: skip

# ------------------------------------------------------------------------ found by attackers

MACRO = 'def P (n : Nat) : Prop := n = n\nlocal macro "E" n:term : term => `(P $n)\n'
ATTACKS = (
    _file(
        "syntax that nobody parsed",
        "def s : Lean.Syntax := .missing\n\ntheorem a (h : autoParam (1 = 1) s) : 1 = 1 := h\n",
        r"machinery",
    ),
    _file(
        "autoParam without the name",
        "theorem a (h : autoParam (1 = 1) .missing) : 1 = 1 := h\n",
        r"runs code",
    ),
    _file("open Lean", "open Lean\n\ntheorem a : 1 = 1 := rfl\n", r"machinery"),
    _file(
        "namespace Lean",
        "namespace Lean\ntheorem a : 1 = 1 := rfl\nend Lean\n",
        r"machinery",
        theorem="Lean.a",
    ),
    _against(
        "a trusted command elsewhere",
        "namespace N\ndef P (n : Nat) : Prop := True\n"
        + 'local macro "E" n:term : term => `(P $n)\n'
        + "end N\n"
        + MACRO
        + "theorem a : E 3 := rfl\n",
        MACRO + "theorem a : E 3 := sorry\n",
        r"runs code|not allowed|compile|not what",
    ),
    _against(
        "a name that looks generated",
        "theorem b : True := trivial\n",
        "theorem proof_main : 1 = 2 := sorry\n",
        r"not in the file",
        theorem="proof_main",
    ),
    _against(
        "a name like an eliminator's",
        "theorem b : True := trivial\n",
        "theorem Foo.elim : 1 = 2 := sorry\n",
        r"not in the file",
        theorem="Foo.elim",
    ),
    _against(
        "a constructor called induct",
        "inductive Good : Nat → Prop | induct (n : Nat) : Good n\n\ntheorem a : Good 7 := .induct 7\n",
        "inductive Good : Nat → Prop | induct (n : Nat) : n = 0 → Good n\n\ntheorem a : Good 7 := sorry\n",
        r"Good is not what the reference says",
    ),
    _against(
        "a structure's constructor called elim",
        "structure Box where elim :: (size : Nat) (bad : False)\n\ntheorem a (b : Box) : b.size = 3 := b.bad.elim\n",
        "structure Box where elim :: (size : Nat)\n\ntheorem a (b : Box) : b.size = 3 := sorry\n",
        r"Box is not what the reference says",
    ),
    _against(
        "a private theorem left out",
        "theorem a : True := trivial\n",
        "private theorem Foo.elim : 1 = 2 := sorry\n\ntheorem a : True := sorry\n",
        r"not in the file",
        theorem="Foo.elim",
    ),
    _against(
        "a private theorem left open",
        "private theorem Foo.elim : 1 = 2 := sorry\n\ntheorem a : True := trivial\n",
        "private theorem Foo.elim : 1 = 2 := sorry\n\ntheorem a : True := sorry\n",
        r"unproved",
        theorem="Foo.elim",
    ),
    _file(
        "a private theorem left open, and no reference",
        "private theorem Foo.elim : 1 = 2 := sorry\n",
        r"unproved",
        theorem="Foo.elim",
    ),
    _against(
        "a program inside a notation",
        'notation "run" => $(dbgTrace "ran" fun _ => Unhygienic.run `(True))\n\ntheorem a : True := trivial\n',
        "theorem a : True := sorry\n",
        r"belongs to programs|quotation|runs code",
    ),
    _against(
        "a notation that becomes a program",
        'notation "one" => $(⟨.node .none (.str .anonymous "num") #[.atom .none "1"]⟩)\n\ntheorem a : 1 = 1 := (rfl : one = 1)\n',
        "theorem a : 1 = 1 := sorry\n",
        r"does not compile",
    ),
    _against(
        "a notation over the statement",
        'local infix:50 (priority := high) " = " => fun (_ _ : Nat) => True\n\ntheorem a : 1 = 2 := trivial\n',
        "theorem a : 1 = 2 := sorry\n",
    ),
    _file(
        "a truth value of one's own",
        "namespace N\ndef spin : Nat → Nat → Bool\n  | 0, m => Nat.beq m 3\n  | n+1, m => spin n (m+1)\ndef true : Bool := spin 100000000000 0\ntheorem a (x : Nat) : x + 0 = x := by simp (contextual := true)\nend N\n",
        r"plain literal",
        theorem="N.a",
        lean=False,
    ),
    _file(
        "strings in strings",
        "def x := " + 's!"{' * 12 + "1" + '}"' * 12 + "\n\ntheorem a : 1 = 1 := rfl\n",
        ANY,
    ),
)

# --------------------------------------------- what Mathlib and the libraries below it bring along

# Clauses of `aesop` as Aesop's own grammar has them, and `trace` of a term, which Mathlib evaluates: for a
# Lean that has neither. A trusted reference declares them, and a file may repeat that.
AESOP = """declare_syntax_cat aesop_rule (behavior := symbol)
syntax "safe " aesop_rule : aesop_rule
syntax "apply " aesop_rule : aesop_rule
syntax "tactic " aesop_rule : aesop_rule
syntax ident : aesop_rule
syntax "(" term ")" : aesop_rule
declare_syntax_cat aesop_clause
syntax " (" &"add " aesop_rule,+,? ")" : aesop_clause
syntax " (" &"config" " := " term ")" : aesop_clause
syntax " (" &"simp_config" " := " term ")" : aesop_clause
syntax "aesop" (ppSpace colGt aesop_clause)* : tactic
macro_rules | `(tactic| aesop $_*) => `(tactic| trivial)
"""
TRACE = 'syntax (name := Lean.Parser.Tactic.trace) "trace " term : tactic\n'
OWN = "def k : Nat := 3\n"


def _with(name: str, given: str, proof: str, reason: str, theorem: str = "1 = 1") -> CheatFile:
    head = f"{given}{OWN}\n"
    return _against(
        name,
        f"{head}theorem a : {theorem} := by\n  {proof}\n",
        f"{head}theorem a : {theorem} := sorry\n",
        reason,
    )


BUILDER = r"needs a builder"
MATHLIB = (
    _with("a configuration of aesop that is a program", AESOP, "aesop (config := k)", r"plain literal"),
    _with("a program in a configuration of aesop", AESOP, "aesop (add safe apply k) (simp_config := { maxSteps := k })", r"plain literal"),
    _with("a rule of aesop that is a program", AESOP, "aesop (add safe tactic k)", BUILDER),
    _with("a rule of aesop that may be a program", AESOP, "aesop (add safe k)", BUILDER),
    _with("two rules of aesop, one of them a program", AESOP, "aesop (add safe apply k, safe (k))", BUILDER),
    _with("sorry in a rule of aesop", AESOP, "aesop (add safe (by sorry))", UNPROVED),
    _with("code in a rule of aesop", AESOP, "aesop (add safe (by run_tac pure ()))", CODE),
    _with("a term that is evaluated to be said", TRACE, "trace toString k\n  rfl", r"plain literal"),
    _file("polyrith", "theorem a (x : Int) : x = x := by\n  polyrith\n", CODE, lean=False),
    _file("plausible", "theorem a (x : Int) : x = x + 1 := by plausible\n", CODE, lean=False),
    _file("leansearch", 'theorem a (x : Int) : x = x := by\n  #leansearch "x = x"\n', CODE, lean=False),
    _file("an attribute given on", "@[to_additive (attr := tactic foo)] def f : Nat := 1\n\ntheorem a : f = 1 := rfl\n", CODE, lean=False),
    _file("the second attribute given on", "@[to_additive (attr := simp, implemented_by g)] def f : Nat := 1\n\ntheorem a : f = 1 := rfl\n", CODE, lean=False),
    _file("a metaprogram of Mathlib's", "def f := Mathlib.Tactic.Ring.RingNF.cleanup\n\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("metaprograms of Mathlib's opened", "open Mathlib Tactic in\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("a tactic of Aesop's type", "def f : Aesop.RuleTac := fun _ => default\n\ntheorem a : 1 = 1 := rfl\n", CODE, lean=False),
    _file("proof_wanted", "proof_wanted h : 1 = 2\n\ntheorem a : 1 = 2 := h\n", ANY, lean=False),
    _against("an alias of what is left open", "theorem h : 1 = 2 := sorry\n\nalias a := h\n", "theorem a : 1 = 2 := sorry\n", ANY),
)  # fmt: skip

CHEAT_FILES: tuple[CheatFile, ...] = (
    SORRIES + NATIVE + AXIOMS + CODE_FILES + STATEMENTS + LOGIC + ATTACKS + MATHLIB
)

# --------------------------------------------------------------------------- tactics

OWN_COMMAND = r"command of its own|does not compile|runs code|nobody proved"
LEAK = r"uses .* itself|may rest on"

CHEAT_PROOFS: tuple[CheatProof, ...] = (
    _prove("sorry", "1 = 2", UNPROVED, "sorry"),
    _prove("sorry second", "1 = 2", UNPROVED, "have h : False := by\n  sorry", "exact h.elim"),
    _prove("admit", "1 = 2", UNPROVED, "admit"),
    _prove("wrong", "1 = 2", BROKEN, "rfl"),
    _prove("nothing", "1 = 2", r"compile|sorry"),
    _prove("an empty tactic", "1 = 2", r"compile|sorry", ""),
    _prove("a comment only", "1 = 2", r"compile|sorry", "-- rfl"),
    _prove("native_decide", "10 < 20", COMPILED, "native_decide"),
    _prove("a command behind", "1 = 1", OWN_COMMAND, "rfl\n\ntheorem x : 1 = 2 := by\n  rfl"),
    _prove("another theorem proved", "1 = 2", OWN_COMMAND, "skip\n\ntheorem x : True := trivial"),
    _prove("an instance behind", "1 = 1", OWN_COMMAND, "rfl\n\ninstance : Inhabited Nat := ⟨3⟩"),
    _prove("the goal once more", "1 = 2", OWN_COMMAND, "skip\n\nnamespace N", "theorem qed_goal : True := trivial\nend N"),
    _prove("an end", "1 = 1", OWN_COMMAND, "rfl\nend"),
    _prove("an exit", "1 = 1", OWN_COMMAND, "rfl\n#exit"),
    _prove("a section", "1 = 1", OWN_COMMAND, "rfl\nsection"),
    _prove("a check", "1 = 1", OWN_COMMAND, "rfl\n#check Nat"),
    _prove("a mutual end", "1 = 1", OWN_COMMAND, "rfl", "mutual\ntheorem x : True := trivial\nend"),
    _prove("an axiom behind", "1 = 2", OWN_COMMAND, "exact h.elim", "axiom h : False"),
    _prove("an axiom glued behind", "1 = 1", OWN_COMMAND, "exact Eq.refl 1axiom h : False"),
    _prove("a closing bracket", "1 = 2", BROKEN, "exact (rfl))"),
    _prove("an opening bracket", "1 = 2", BROKEN, "exact (rfl"),
    _prove("an open comment", "1 = 2", BROKEN, "skip /-", "rfl"),
    _prove("a closed comment", "1 = 2", BROKEN, "skip -/", "rfl"),
    _prove("a comment across tactics", "1 = 2", BROKEN, "skip /- ", "-/ skip"),
    _prove("an open string", "1 = 2", BROKEN, 'exact "', 'rfl"'),
    _prove("itself", "1 = 2", BROKEN, "exact qed_goal"),
    _prove("itself, always larger", "∀ n : Nat, n = n + 1", BROKEN, "intro n", "exact absurd (qed_goal (n + 1)) (by omega)", "termination_by n => n"),
  
    _prove("another theorem in where", "1 = 2", r"compile|sorry|something else", "exact h\nwhere h : True := trivial"),
    _prove("another theorem in let rec", "1 = 2", r"compile|sorry|something else", "let rec h : True := trivial", "rfl"),
    _prove("the goal in where", "1 = 2", r"compile|sorry|something else", "exact qed_goal\nwhere qed_goal : True := trivial"),
    _prove("sorry in where", "1 = 2", UNPROVED, "exact h\nwhere h : 1 = 2 := sorry"),
    _prove("run_tac", "1 = 2", CODE, "run_tac pure ()"),
    _prove("set_option in", "1 = 2", CODE, "set_option debug.skipKernelTC true in", "rfl"),
    _prove("macro behind", "1 = 2", CODE, "rfl", "macro \"x\" : tactic => `(tactic| sorry)"),
    _prove("code in a configuration", "1 + 1 = 2", ANY, "simp (maxSteps := dbgTrace \"ran\" fun _ => 1000)"),
    _prove("exact?", "∀ n : Nat, n ≤ n", r"searches", "exact?"),
    _prove("hint", "True", r"searches|compile", "hint"),
    _prove("hint behind", "True ∧ True", r"searches|compile", "constructor <;> hint"),
    _prove("rw?", "∀ n : Nat, n + 0 = n", r"searches", "intro n", "rw?"),
    CheatProof("with binders", TheoremText("theorem t (n : Nat) : n = n + 1 := sorry"), ("omega",), BROKEN),
    CheatProof("binders and a second theorem", TheoremText("theorem t (n : Nat) : n = n + 1 := sorry"), ("skip", "theorem t' : True := trivial"), OWN_COMMAND),
    CheatProof("where beside binders", TheoremText("theorem t (n : Nat) : n = n + 1 := sorry"), ("exact h\nwhere h : True := trivial",), r"compile|sorry"),
    CheatProof("a library theorem by itself", LibraryConstant("Nat.add_comm"), ("exact Nat.add_comm",), LEAK),
    CheatProof("by itself, rooted", LibraryConstant("Nat.add_comm"), ("intro n m", "exact _root_.Nat.add_comm n m"), LEAK),
    CheatProof("by itself, opened", LibraryConstant("Nat.add_comm"), ("open Nat in exact fun n m => Nat.add_comm n m",), LEAK),
    CheatProof("by rw with itself", LibraryConstant("Nat.add_comm"), ("intro n m", "rw [Nat.add_comm]"), LEAK),
    CheatProof("by simp with itself", LibraryConstant("Nat.add_comm"), ("intro n m", "simp [Nat.add_comm]"), LEAK),
    CheatProof("by itself in have", LibraryConstant("Nat.add_comm"), ("have h := Nat.add_comm", "exact h"), LEAK),
    CheatProof("by itself in where", LibraryConstant("Nat.add_comm"), ("exact h\nwhere h (n m : Nat) : n + m = m + n := Nat.add_comm n m",), LEAK),
    CheatProof("by a later lemma", LibraryConstant("Nat.add_comm"), ("intro n m", "omega"), LEAK),
    CheatProof("by a sibling", LibraryConstant("Nat.add_left_comm"), ("intro n m k", "rw [← Nat.add_assoc, Nat.add_comm n m, Nat.add_assoc]"), LEAK),
    CheatProof("by an instance of it", LibraryConstant("List.append_assoc"), ("intro α as bs cs", "exact Std.Associative.assoc as bs cs"), LEAK),
    CheatProof("by grind", LibraryConstant("List.append_assoc"), ("intros", "grind"), LEAK),
    CheatProof("by its symmetric form", LibraryConstant("List.append_nil"), ("intro α as", "exact (List.append_right_eq_self.mpr rfl)"), LEAK),
    CheatProof("by an alias", LibraryConstant("and_comm"), ("intro a b", "exact And.comm"), LEAK),
    CheatProof("a library theorem by sorry", LibraryConstant("Nat.add_comm"), ("intro n m", "sorry"), UNPROVED),
    CheatProof("a library theorem, something else", LibraryConstant("Nat.add_comm"), ("exact fun n _ => rfl",), BROKEN),
)  # fmt: skip

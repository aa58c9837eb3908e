/-
Print: expressions, hypotheses and goals as the protocol's JSON. A pretty-printer that fails costs the
text it was asked for, never the reply.
-/

namespace Repl

/-! ## S-expressions (`printExprAST`) -/

/-- `succ^k l` as `(l, k)`. -/
def levelOffset : Level → Nat → Level × Nat
  | .succ l, k => levelOffset l (k + 1)
  | l, k => (l, k)

partial def levelSexp (l : Level) : String :=
  let (u, k) := levelOffset l 0
  let base := match u with
    | .zero => "0"
    | .succ _ => "0"
    | .max a b => "(:max " ++ levelSexp a ++ " " ++ levelSexp b ++ ")"
    | .imax a b => "(:imax " ++ levelSexp a ++ " " ++ levelSexp b ++ ")"
    | .param n => nameStr n
    | .mvar m => "(:mv " ++ nameStr m.name ++ ")"
  match k, u with
  | 0, _ => base
  | _, .zero => Nat.repr k
  | _, _ => "(+ " ++ base ++ " " ++ Nat.repr k ++ ")"

def binderSexp : BinderInfo → String
  | .default => "" | .implicit => " :i" | .strictImplicit => " :si" | .instImplicit => " :ii"

def binderName (n : Name) : String := nameStr n.eraseMacroScopes

partial def exprSexp (mctx : MetavarContext) (e : Expr) : String :=
  match e with
  | .bvar i => Nat.repr i
  | .fvar f => "(:fv " ++ nameStr f.name ++ ")"
  | .mvar m => (if (mctx.dAssignment.find? m).isSome then "(:mvd " else "(:mv ") ++ nameStr m.name ++ ")"
  | .sort l => "(:sort " ++ levelSexp l ++ ")"
  | .const n _ => "(:c " ++ nameStr n ++ ")"
  | .app .. => Id.run do
    let (f, args) := spine e []
    let mut out := "(" ++ exprSexp mctx f
    for a in args do
      out := out ++ " " ++ exprSexp mctx a
    return out ++ ")"
  | .lam n t b i => "(:lambda " ++ binderName n ++ " " ++ exprSexp mctx t ++ " " ++ exprSexp mctx b ++ binderSexp i ++ ")"
  | .forallE n t b i => "(:forall " ++ binderName n ++ " " ++ exprSexp mctx t ++ " " ++ exprSexp mctx b ++ binderSexp i ++ ")"
  | .letE n t v b _ => "(:let " ++ binderName n ++ " " ++ exprSexp mctx t ++ " " ++ exprSexp mctx v ++ " " ++ exprSexp mctx b ++ ")"
  | .lit (.natVal n) => "(:lit " ++ Nat.repr n ++ ")"
  | .lit (.strVal s) => "(:lit " ++ (Json.str s).compress ++ ")"
  | .mdata _ e => exprSexp mctx e
  | .proj s i e => "(:proj " ++ nameStr s ++ " " ++ Nat.repr i ++ " " ++ exprSexp mctx e ++ ")"

/-! ## Expressions -/

@[noinline] def ppText (e : Expr) : MetaM String := do
  try
    let f ← ppExpr e
    return f.pretty
  catch _ => return "<failed to pretty print>"

@[noinline] def mvarsOf (e : Expr) : MetaM (Array MVarId) := getMVars e

/-- The protocol's `Expression`. `e` must have been instantiated. -/
def jexpr (cfg : Config) (e : Expr) : MetaM Json := do
  let mut fields : List (String × Json) := []
  if cfg.printDependentMVars then
    let ms ← mvarsOf e
    fields := [("dependentMVars", jnames (mapList (fun m => m.name) ms.toList))]
  if cfg.printExprAST then
    fields := ("sexp", .str (exprSexp (← getMCtx) e)) :: fields
  if cfg.printExprPretty then
    fields := ("pp", .str (← ppText e)) :: fields
  return Json.mkObj fields

@[noinline] def inst (e : Expr) : MetaM Expr := if e.hasMVar then instantiateMVars e else pure e

/-! ## Goals -/

def jvar (cfg : Config) (known : Bool) (d : LocalDecl) : MetaM Json := do
  let user := d.userName.simpMacroScopes
  let mut fields : List (String × Json) := []
  if !known then
    match d.value? with
    | some v => fields := [("value", ← jexpr cfg (← inst v))]
    | none => pure ()
    fields := ("type", ← jexpr cfg (← inst d.type)) :: fields
  return Json.mkObj (("name", jname d.fvarId.name) :: ("userName", jname user) ::
    ("isInaccessible", .bool (isInaccessible user)) :: fields)

partial def jvars (cfg : Config) (old : Option LocalContext) (lctx : LocalContext) (i : Nat) (acc : Array Json) : MetaM (Array Json) := do
  if i < lctx.numIndices then
    match lctx.getAt? i with
    | none => jvars cfg old lctx (i + 1) acc
    | some d =>
      if (!cfg.printAuxDecls && d.isAuxDecl) || (!cfg.printImplementationDetailHyps && d.isImplementationDetail && !d.isAuxDecl) then
        jvars cfg old lctx (i + 1) acc
      else
        let known := match old with | some o => (o.find? d.fvarId).isSome | none => false
        jvars cfg old lctx (i + 1) (acc.push (← jvar cfg known d))
  else return acc

def fragmentOf (fs : List (MVarId × Fragment)) (g : MVarId) : Option Fragment :=
  match fs with
  | [] => none
  | (m, f) :: l => if m.name == g.name then some f else fragmentOf l g

def fragmentText : Option Fragment → String
  | none => "tactic"
  | some (.calc _) => "calc"
  | some _ => "conv"

@[noinline] def jgoalIn (cfg : Config) (fragment : String) (old : Option LocalContext) (g : MVarId) (d : MetavarDecl)
    (lctx : LocalContext) : MetaM Json := do
  let vars ← jvars cfg old lctx 0 #[]
  let target ← inst d.type
  -- inside `conv` the target is `lhs = ?rhs`, marked; what the user works on is the left-hand side
  let target := match fragment with
    | "conv" => match isLHSGoal? target with | some lhs => lhs | none => target
    | _ => target
  let fields := [("fragment", .str fragment), ("target", ← jexpr cfg target), ("vars", .arr vars)]
  let fields := if d.userName.isAnonymous then fields else ("userName", jname d.userName.eraseMacroScopes) :: fields
  return Json.mkObj (("name", jname g.name) :: fields)

@[noinline] def sane (opts : Options) (lctx : LocalContext) : LocalContext :=
  (lctx.sanitizeNames { options := opts }).1

/-- The protocol's `Goal`. `old`: with `noRepeat`, variables of that context are named only. -/
def jgoal (cfg : Config) (fragments : List (MVarId × Fragment)) (old : Option LocalContext) (g : MVarId) : MetaM Json := do
  let d ← g.getDecl
  let lctx := sane (← getOptions) d.lctx
  fun mc ms cc cs => jgoalIn cfg (fragmentText (fragmentOf fragments g)) old g d lctx
    { mc with lctx := lctx, localInstances := d.localInstances } ms cc cs

@[noinline] def jgoalsTerm (cfg : Config) (fragments : List (MVarId × Fragment)) (old : Option LocalContext) (gs : List MVarId) :
    TermElabM (Array Json) := do
  let mut out := #[]
  for g in gs do
    let j ← (jgoal cfg fragments old g : MetaM Json)
    out := out.push j
  return out

/-- A goal that could not be printed is still a goal: it must be in the list. -/
def unprinted (fragments : List (MVarId × Fragment)) (g : MVarId) : Json :=
  Json.mkObj [("name", jname g.name), ("fragment", .str (fragmentText (fragmentOf fragments g))),
    ("target", Json.mkObj [("pp", .str "<failed to pretty print>")]), ("vars", .arr #[])]

/-- The open goals of a state. Printing has a budget of its own; a goal over it is printed without text. -/
def jgoals (cfg : Config) (st : GState) : IO Json := do
  match st.goals with
  | [] => return .arr #[]
  | gs =>
    let old := match cfg.noRepeat, st.parents with
      | true, p :: _ => match st.mctx.findDecl? p with | some d => some d.lctx | none => none
      | _, _ => none
    let r ← runTerm cfg st (jgoalsTerm cfg st.fragments old gs)
    match r.val with
    | .ok a => return .arr a
    | .error _ =>
      let mut out := #[]
      for g in gs do
        let r ← runTerm cfg st (jgoalsTerm cfg st.fragments old [g])
        match r.val with
        | .ok a => out := pushAll a.toList out
        | .error _ => out := out.push (unprinted st.fragments g)
      return .arr out

/-- `ppGoal`, as Lean's own views show a goal. -/
@[noinline] def goalText (g : MVarId) : MetaM String := do
  try
    let f ← ppGoal g
    return f.pretty
  catch _ => return "<failed to pretty print>"

end Repl

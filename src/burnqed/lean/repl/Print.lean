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

/-- The protocol's `Expression`. `e` must have been instantiated. `text`: how it prints, where that is known. -/
def jexprAs (cfg : Config) (e : Expr) (text : Option String) : MetaM Json := do
  let mut fields : List (String × Json) := []
  if cfg.printDependentMVars then
    let ms ← mvarsOf e
    fields := [("dependentMVars", jnames (mapList (fun m => m.name) ms.toList))]
  if cfg.printExprAST then
    fields := ("sexp", .str (exprSexp (← getMCtx) e)) :: fields
  if cfg.printExprPretty then
    let pp ← match text with | some t => pure t | none => ppText e
    fields := ("pp", .str pp) :: fields
  return Json.mkObj fields

def jexpr (cfg : Config) (e : Expr) : MetaM Json := jexprAs cfg e none

@[noinline] def inst (e : Expr) : MetaM Expr := if e.hasMVar then instantiateMVars e else pure e

/-! ## Goals -/

def jvar (cfg : Config) (known : Bool) (d : LocalDecl) : MetaM Json := do
  let user := d.userName.simpMacroScopes
  let mut fields : List (String × Json) := []
  if !known then
    match d.value? with
    | some v => fields := [("value", ← jexpr cfg (← inst v))]
    | none => pure ()
    let type ← inst d.type
    if cfg.printExprPretty && !isInstance (← getEnv) type && (← isProofType type) then
      let (text, facts) ← jproposition type false
      fields := ("type", ← jexprAs cfg type (some text)) :: ("proposition", facts) :: fields
    else
      fields := ("type", ← jexpr cfg type) :: ("data", ← jtype type) :: fields
  return Json.mkObj (("name", jname d.fvarId.name) :: ("userName", jname user) ::
    ("isInaccessible", .bool (isInaccessible user)) :: fields)

@[noinline] def sameExpr (a b : Expr) : Bool := a == b

def sameValue (a b : Option Expr) : Bool :=
  match a, b with
  | none, none => true
  | some x, some y => sameExpr x y && !x.hasMVar
  | _, _ => false

/-- The entry of a variable, and what follows it. -/
def dropTo (f : Name) : List PrintedVar → Option (PrintedVar × List PrintedVar)
  | [] => none
  | p :: l => if p.fvar == f then some (p, l) else dropTo f l

/-- Hypotheses as JSON. `cache`: how an earlier goal's were printed. The text of a hypothesis depends on its
type and on the names of the variables before it, so an entry is good while no name has changed. -/
partial def jvars (cfg : Config) (old : Option LocalContext) (lctx : LocalContext) (i : Nat) (cache : List PrintedVar) (valid : Bool)
    (acc : List PrintedVar) : MetaM (List PrintedVar) := do
  if i < lctx.numIndices then
    match lctx.getAt? i with
    | none => jvars cfg old lctx (i + 1) cache valid acc
    | some d =>
      if (!cfg.printAuxDecls && d.isAuxDecl) || (!cfg.printImplementationDetailHyps && d.isImplementationDetail && !d.isAuxDecl) then
        jvars cfg old lctx (i + 1) cache valid acc
      else
        let hit := if valid then dropTo d.fvarId.name cache else none
        match hit with
        | some (p, rest) =>
          if p.user != d.userName then
            let known := match old with | some o => (o.find? d.fvarId).isSome | none => false
            let j ← jvar cfg known d
            jvars cfg old lctx (i + 1) [] false ({ fvar := d.fvarId.name, user := d.userName, type := d.type, value := d.value?, json := j } :: acc)
          else if !d.type.hasMVar && sameExpr p.type d.type && sameValue p.value d.value? then
            jvars cfg old lctx (i + 1) rest valid (p :: acc)
          else
            let j ← jvar cfg false d
            jvars cfg old lctx (i + 1) rest valid ({ p with type := d.type, value := d.value?, json := j } :: acc)
        | none =>
          let known := match old with | some o => (o.find? d.fvarId).isSome | none => false
          let j ← jvar cfg known d
          jvars cfg old lctx (i + 1) cache valid ({ fvar := d.fvarId.name, user := d.userName, type := d.type, value := d.value?, json := j } :: acc)
  else return rev acc

def fragmentOf (fs : List (MVarId × Fragment)) (g : MVarId) : Option Fragment :=
  match fs with
  | [] => none
  | (m, f) :: l => if m.name == g.name then some f else fragmentOf l g

def fragmentText : Option Fragment → String
  | none => "tactic"
  | some (.calc _) => "calc"
  | some _ => "conv"

/-- Unassigned metavariables in `e`. Of a delayed one, which stands for what a goal's proof will be, those that it
waits for. -/
def holesIn (e : Expr) : MetaM (List MVarId) := do
  if !e.hasExprMVar then return []
  let mctx ← getMCtx
  return keep (fun m => (mctx.dAssignment.find? m).isNone) (← mvarsOf e).toList

/-- The holes of a goal: with another goal that has the same one, it stands or falls. -/
def holesOf (target : Expr) (vars : List PrintedVar) : MetaM (List MVarId) := do
  let mut found ← holesIn target
  for p in vars do
    found := add (← holesIn p.type) found
    match p.value with
    | some v => found := add (← holesIn v) found
    | none => pure ()
  return found
where
  add (new old : List MVarId) : List MVarId := app old (keep (fun m => !hasGoal old m) new)

def valueHasMVar (p : PrintedVar) : Bool := match p.value with | some v => v.hasMVar | none => false

@[noinline] def jgoalIn (cfg : Config) (fragment : String) (old : Option LocalContext) (cache : List PrintedVar) (g : MVarId) (d : MetavarDecl)
    (lctx : LocalContext) : MetaM Printed := do
  let vars ← jvars cfg old lctx 0 cache true []
  let target ← inst d.type
  -- inside `conv` the target is `lhs = ?rhs`, marked; what the user works on is the left-hand side
  let target := match fragment with
    | "conv" => match isLHSGoal? target with | some lhs => lhs | none => target
    | _ => target
  let (text, facts) ← match fragment, cfg.printExprPretty with
    | "tactic", true => do let (t, j) ← jproposition target true; pure (some t, [("proposition", j)])
    | _, _ => pure (none, [])
  let fields := app facts [("fragment", Json.str fragment), ("target", ← jexprAs cfg target text), ("vars", .arr (toArr (mapList (fun (p : PrintedVar) => p.json) vars)))]
  let fields := if d.userName.isAnonymous then fields else ("userName", jname d.userName.eraseMacroScopes) :: fields
  let fields := ("holes", jnames (mapList (fun (m : MVarId) => m.name) (← holesOf d.type vars))) :: fields
  let isOpen := d.type.hasMVar || some? (fun (p : PrintedVar) => p.type.hasMVar || valueHasMVar p) vars
  return { goal := g.name, fragment := fragment, closed := !isOpen, vars := vars, json := Json.mkObj (("name", jname g.name) :: fields) }

@[noinline] def sane (opts : Options) (lctx : LocalContext) : LocalContext :=
  (lctx.sanitizeNames { options := opts }).1

/-- The protocol's `Goal`. `old`: with `noRepeat`, variables of that context are named only. -/
def jgoal (cfg : Config) (fragment : String) (old : Option LocalContext) (cache : List PrintedVar) (g : MVarId) : MetaM Printed := do
  let d ← g.getDecl
  let lctx := sane (← getOptions) d.lctx
  fun mc ms cc cs => jgoalIn cfg fragment old cache g d lctx
    { mc with lctx := lctx, localInstances := d.localInstances } ms cc cs

def printedGoal (g : MVarId) : List Printed → Option Printed
  | [] => none
  | p :: l => if p.goal == g.name then some p else printedGoal g l

/-- How the goal that the last step acted on had been printed; else any goal's, since contexts are much alike. -/
def likelyVars (st : GState) (before : List Printed) : List PrintedVar :=
  match st.parents, before with
  | _, [] => []
  | p :: _, q :: _ => match printedGoal p before with | some x => x.vars | none => q.vars
  | [], q :: _ => q.vars

@[noinline] def jgoalsTerm (cfg : Config) (st : GState) (before : List Printed) (old : Option LocalContext) (gs : List MVarId) :
    TermElabM (List Printed) := do
  let likely := likelyVars st before
  let mut out : List Printed := []
  for g in gs do
    let fragment := fragmentText (fragmentOf st.fragments g)
    match printedGoal g before with
    | some p =>
      if p.closed && p.fragment == fragment then out := p :: out
      else
        let q ← (jgoal cfg fragment old p.vars g : MetaM Printed)
        out := q :: out
    | none =>
      let q ← (jgoal cfg fragment old likely g : MetaM Printed)
      out := q :: out
  return rev out

/-- A goal that could not be printed is still a goal: it must be in the list. -/
def unprinted (fragments : List (MVarId × Fragment)) (g : MVarId) : Json :=
  Json.mkObj [("name", jname g.name), ("fragment", .str (fragmentText (fragmentOf fragments g))),
    ("target", Json.mkObj [("pp", .str "<failed to pretty print>")]), ("vars", .arr #[])]

def goalsJson (ps : List Printed) : Json := .arr (toArr (mapList (fun (p : Printed) => p.json) ps))

/-- The open goals of a state, and the state with them kept. `prev`: the state it came from. Printing has a
budget of its own; a goal over it is printed without text. -/
def printGoals (cfg : Config) (prev st : GState) : IO (Json × GState) := do
  match st.goals with
  | [] => return (.arr #[], { st with printed := [] })
  | gs =>
    let before := if cfg.noRepeat || prev.printedAt != cfg.epoch then [] else prev.printed
    let old := match cfg.noRepeat, st.parents with
      | true, p :: _ => match st.mctx.findDecl? p with | some d => some d.lctx | none => none
      | _, _ => none
    let r ← runTerm cfg st (jgoalsTerm cfg st before old gs)
    match r.val with
    | .ok ps => return (goalsJson ps, { st with printed := if cfg.noRepeat then [] else ps, printedAt := cfg.epoch })
    | .error _ =>
      let mut out := #[]
      for g in gs do
        let r ← runTerm cfg st (jgoalsTerm cfg st [] old [g])
        match r.val with
        | .ok ps => out := pushAll (mapList (fun (p : Printed) => p.json) ps) out
        | .error _ => out := out.push (unprinted st.fragments g)
      return (.arr out, { st with printed := [] })

/-- The open goals of a state. -/
def jgoals (cfg : Config) (st : GState) : IO Json := do
  let (j, _) ← printGoals cfg st st
  return j

/-- `ppGoal`, as Lean's own views show a goal. -/
@[noinline] def goalText (g : MVarId) : MetaM String := do
  try
    let f ← ppGoal g
    return f.pretty
  catch _ => return "<failed to pretty print>"

end Repl

/-
Goal: the `goal.*` commands and `qed.batch`. Owns how a proof starts, how a step is applied to a state,
and what a step's reply looks like.
-/

namespace Repl

@[noinline] def instMVars (e : Expr) : TermElabM Expr := instantiateMVars e

/-! ## Parsing -/

@[noinline] def inputOf (source : String) : Parser.InputContext :=
  { inputString := source, fileName := "<input>", fileMap := FileMap.ofString source,
    endPos := source.rawEndPos, endPos_valid := by simp }

def parserScope (env : Environment) (sc : Scope) : Parser.ParserModuleContext :=
  { env := env, options := sc.opts, currNamespace := sc.ns, openDecls := sc.opened }

/-- Runs a parser from the first token of `source`: the syntax and where the parse ended. -/
@[noinline] def runParser (env : Environment) (sc : Scope) (p : Parser.ParserFn) (source : String) : Except String (Syntax × Nat) :=
  let ictx := inputOf source
  let s0 := Parser.mkParserState source
  let s := Parser.ParserFn.run p ictx (parserScope env sc) (Parser.getTokenTable env) s0
  if s.hasError || s.recoveredErrors.size != 0 then .error (s.toErrorMsg ictx)
  else .ok (s.stxStack.back, s.pos.byteIdx)

@[noinline] def skipBlanks (p : Parser.ParserFn) : Parser.ParserFn := fun c s =>
  let s := Parser.whitespace c s
  if s.hasError then s else p c s

@[noinline] def categoryFn (cat : Name) : Parser.ParserFn := fun c s =>
  Parser.categoryParserFnImpl cat c s

@[noinline] def tacticSeqFn : Parser.ParserFn := fun c s =>
  (Parser.withPosition Parser.Tactic.tacticSeq).fn c s

/-- Parses all of `source` in a category. -/
def parseAll (env : Environment) (sc : Scope) (p : Parser.ParserFn) (what source : String) : Except String Syntax :=
  match runParser env sc (skipBlanks p) source with
  | .error e => .error e
  | .ok (stx, stop) => if stop < source.utf8ByteSize then .error ("Cannot parse as one " ++ what) else .ok stx

def parseTerm (env : Environment) (sc : Scope) (source : String) : Except String Syntax :=
  parseAll env sc (categoryFn `term) "term" source

def parseTermM (env : Environment) (sc : Scope) (source : String) : M Syntax :=
  match parseTerm env sc source with
  | .ok stx => pure stx
  | .error e => fail "parse" e

/-! ## Starting a proof -/

@[noinline] def elabTypeTerm (stx : Syntax) : TermElabM Expr := do
  let e ← Term.elabType stx
  Term.synthesizeSyntheticMVarsNoPostponing
  instantiateMVars e

@[noinline] def newRoot (type : Expr) : TermElabM MVarId := do
  let m ← mkFreshExprMVar (some type) MetavarKind.syntheticOpaque .anonymous
  return m.mvarId!

def levelParamsOf (e : Expr) : List Name := (collectLevelParams {} e).params.toList

/-- A state whose only goal is `type`. -/
def startGoal (cfg : Config) (g : GState) (type : Expr) (levels : List Name) : M GState := do
  let r ← runTerm cfg g (newRoot type)
  let m ← okOr "elab" r
  return { (g.after r [m]) with root := m, levels := levels }

@[noinline] def introduce (g : MVarId) (n : Nat) : TermElabM MVarId := do
  if n == 0 then return g
  let (_, g) ← (g.introNP n : MetaM _)
  return g

/-- The message texts of errors that a run logged without throwing. -/
def loggedErrors (l : MessageLog) : IO (List String) := do
  let mut out := []
  for m in logged l do
    if isError m then out := (← messageText m) :: out
  return rev out

/-- Elaborates a type that is to be proved: closed, without metavariables, without errors on the way. -/
def elabStatement (cfg : Config) (g : GState) (text : String) : M Expr := do
  let stx ← parseTermM g.env g.scope text
  let r ← runTerm cfg g (elabTypeTerm stx) text
  let e ← okOr "elab" r
  match (← loggedErrors r.core.messages) with
  | m :: _ => fail "elab" m
  | [] => pure ()
  if e.hasExprMVar then fail "elab" "the statement contains metavariables" else
  -- universe metavariables become parameters, as in a theorem's header
  let r ← runTerm cfg { (g.after r []) with decl := g.decl } (levelsToParams e)
  okOr "elab" r
where
  levelsToParams (e : Expr) : TermElabM Expr := do
    let r := (← getMCtx).levelMVarToParam (fun n => hasName g.levels n) (fun _ => false) e
    return r.expr

@[noinline] def isProposition (e : Expr) : MetaM Bool := do
  let s ← inferType e
  let s ← whnf s
  let s ← instantiateMVars s
  match s with
  | .sort l => return l.normalize == .zero
  | _ => return false

/-- `¬ T` for a closed `T`, whose universe parameters it keeps. -/
def negation (cfg : Config) (g : GState) (type : Expr) : M Expr := do
  let r ← runTerm cfg g (isProposition type : MetaM Bool)
  if (← okOr "elab" r) then return .app (.const ``Not []) type
  fail "elab" "it is not a proposition, and has no negation"

/-! ### Hiding a constant from automation -/

@[noinline] def eraseAttribute (n attr : Name) : TermElabM Unit := fun _ _ _ _ c s => Attribute.erase n attr c s

/-- The attributes whose erasure takes a theorem out of what tactics try by themselves. -/
def automation : List Name := [`simp, `grind, `ext, `norm_cast, `push_cast, `simprocs, `symm, `refl, `trans, `rfl, `congr,
  `wf_preprocess, `bv_normalize, `int_toBitVec, `mvcgen, `spec, `split, `instance, `default_instance, `elab_as_elim, `induction_eliminator, `cases_eliminator, `unification_hint, `solve_by_elim, `aesop]

/-- Erases `n` from all automation that can be erased: the environment without it, and from what it was erased. -/
def hideConstant (cfg : Config) (env : Environment) (n : Name) : IO (Environment × List Name) := do
  let mut env := env
  let mut done := []
  for a in automation do
    let r ← runTerm cfg { env := env } (eraseAttribute n a)
    match r.val with
    | .ok _ =>
      if !r.core.messages.hasErrors then
        env := r.core.env
        done := a :: done
    | .error _ => pure ()
  return (env, rev done)

def goalStart (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let expr ← str? j "expr"
  let copyFrom ← str? j "copyFrom"
  let levels ← names? j "levels"
  let hide ← boolD j "hide" false
  let rule ← str? j "leak"
  let negate ← boolD j "negate" false
  match expr, copyFrom with
  | some e, none =>
    let given := levels.getD []
    let g : GState := { env := s.env, scope := s.scope, levels := given }
    let type ← elabStatement s.config g e
    if type.hasSorry then fail "elab" "the statement contains sorry" else
    let ps := levelParamsOf type
    let type ← if negate then negation s.config g type else pure type
    let st ← startGoal s.config g type (match levels with | some l => app l (keep (fun p => !hasName l p) ps) | none => ps)
    started r s st []
  | none, some c =>
    let n := toName c
    match s.env.find? n with
    | none => fail "index" ("Symbol not found: " ++ c)
    | some ci =>
      let leak ← match rule with
        | some rule => do pure (some (← readLeak s.pristine n rule))
        | none => pure none
      let (env, hidden) ← if hide then hideConstant s.config s.env n else pure (s.env, [])
      let g : GState := { env := env, scope := s.scope }
      let type ← if negate then negation s.config g ci.type else pure ci.type
      let st ← startGoal s.config g type ci.levelParams
      started r s { st with leak := leak } (if hide then [("hidden", jnames hidden)] else [])
  | _, _ => fail "arguments" "Exactly one of {expr, copyFrom} must be supplied"
where
  started (r : Ref) (s : Session) (st : GState) (more : List (String × Json)) : M Json := do
    let (gs, st) ← printGoals s.config st st
    let id ← addState r st
    return Json.mkObj (("stateId", jnum id) :: ("root", jname st.root.name) :: ("goals", gs) :: more)

/-! ## One step -/

/-- What a step works on. -/
structure Site where
  /-- The goal that it acts on. -/
  first : MVarId
  /-- The goals that it is given as well. All others go dormant. -/
  others : List MVarId
  /-- Where the new state need not be all that is left of the proof: nothing is asked of the root. -/
  part : Bool := false
  print : Bool := true
  /-- Whether the reply names the constants of the terms that the step assigned. -/
  constants : Bool := false

/-- What a step does to the goal list it is given: the goals it leaves, and the fragments. -/
abbrev Fragments := List (MVarId × Fragment)

def eraseFragment (fs : Fragments) (g : MVarId) : Fragments := keep (fun p => p.1.name != g.name) fs

@[noinline] def solved (g : MVarId) : TermElabM Bool := do
  let mctx ← getMCtx
  return (mctx.eAssignment.find? g).isSome || (mctx.dAssignment.find? g).isSome

def unsolved (gs : List MVarId) : TermElabM (List MVarId) := do
  let mut out := []
  for g in gs do
    if !(← solved g) then out := g :: out
  return rev out

/-- Runs a tactic on a goal list. `recover := false`: a tactic that fails inside a sequence is a failure
of the whole, instead of being logged and its goal admitted. -/
@[noinline] def runTactic {α : Type} (goals : List MVarId) (x : Tactic.TacticM α) : TermElabM (α × List MVarId) := do
  let ref ← IO.mkRef ({ goals := goals } : Tactic.State)
  let ctx : Tactic.Context := { elaborator := .anonymous, recover := false }
  let a ← (fun tc ts mc ms cc cs => x ctx ref tc ts mc ms cc cs : TermElabM _)
  Term.synthesizeSyntheticMVarsNoPostponing
  let gs ← unsolved (← ref.get).goals
  return (a, gs)

@[noinline] def evalStx (stx : Syntax) : Tactic.TacticM Unit := Tactic.evalTactic stx

def mainGoal (gs : List MVarId) : TermElabM (MVarId × List MVarId) :=
  match gs with
  | [] => throwError "no goals to be solved"
  | g :: gs => pure (g, gs)

/-- Unassigned natural holes that a step left inside `g`: Lean reports these at the end of a `by`
block; here they become goals, so that nothing open is ever out of sight. -/
@[noinline] def strayHoles (g : MVarId) (seen : List MVarId) : TermElabM (List MVarId) := do
  let infos := (← get).mvarErrorInfos
  let mut out := []
  let mine ← getMVars (.mvar g)
  for i in infos do
    match i.kind with
    | .hole =>
      for m in (← getMVars (.mvar i.mvarId)).toList do
        if hasGoal mine.toList m && !hasGoal seen m && !hasGoal out m then out := m :: out
    | _ => pure ()
  return rev out

def textStep (stx : Syntax) (goals : List MVarId) : TermElabM (List MVarId) := do
  let (_, after) ← runTactic goals (evalStx stx)
  match (← get).mvarErrorInfos with
  | [] => return after
  | _ =>
    let mut after := after
    for g in goals do
      if !hasGoal after g then
        after := app after (← strayHoles g after)
    return after

/-- `have NAME : TYPE`: a goal for the type, and the goal with the new hypothesis. -/
def haveStep (name : Name) (stx : Syntax) (goals : List MVarId) : TermElabM (List MVarId) := do
  let (g, rest) ← mainGoal goals
  let (branch, main) ← inGoal g do
    let type ← elabTypeTerm stx
    let b ← mkFreshExprMVar (some type) MetavarKind.syntheticOpaque .anonymous
    let g' ← g.assert name type b
    let (_, g') ← g'.intro1P
    return (b.mvarId!, g')
  return branch :: main :: rest

/-- `let NAME : TYPE`: a goal for the value, and the goal with the new definition. -/
def letStep (name : Name) (stx : Syntax) (goals : List MVarId) : TermElabM (List MVarId) := do
  let (g, rest) ← mainGoal goals
  let (branch, main) ← inGoal g do
    let type ← elabTypeTerm stx
    let b ← mkFreshExprMVar (some type) MetavarKind.syntheticOpaque name
    let g' ← g.define name type b
    let (_, g') ← g'.intro1P
    return (b.mvarId!, g')
  return branch :: main :: rest

@[noinline] def elabHoles (stx : Syntax) (type : Expr) : Tactic.TacticM (Expr × List MVarId) :=
  Tactic.elabTermWithHoles stx (some type) .anonymous true

/-- Assigns a goal that is known to be open and of the type of `e`. (`MVarId.assign` cannot be called here.) -/
@[noinline] def assign (g : MVarId) (e : Expr) : MetaM Unit := do
  if !(← g.checkedAssign e) then throwError "the term does not fit the goal{indentExpr e}"

/-- Assigns a term; its holes become goals. -/
def exprStep (stx : Syntax) (goals : List MVarId) : TermElabM (List MVarId) := do
  let (g, rest) ← mainGoal goals
  let new ← inGoal g do
    let type ← instantiateMVars (← g.getType)
    let ((e, holes), _) ← runTactic [g] (elabHoles stx type)
    assign g e
    return holes
  unsolved (app new rest)

/-! ### `draft`: a term with `sorry`s, each of which becomes a goal -/

@[noinline] def withVar {α : Type} (lctx : LocalContext) (insts : LocalInstances) (x : TermElabM α) : TermElabM α :=
  fun tc ts mc ms cc cs => x tc ts { mc with lctx := lctx, localInstances := insts } ms cc cs

@[noinline] def localInstancesWith (type fvar : Expr) : TermElabM LocalInstances := do
  let insts := (← readThe Meta.Context).localInstances
  match (← isClass? type) with
  | some c => return insts.push { className := c, fvar := fvar }
  | none => return insts

mutual
/-- Replaces every `sorry` in `e` by a new goal, which is added to `holes`. -/
partial def sorryToHole (holes : IO.Ref (List MVarId)) (e : Expr) : TermElabM Expr := do
  if !e.hasSorry then return e
  if e.isSorry then
    let (_, args) := spine e []
    let type ← inferType e
    let type ← instantiateMVars type
    if type.hasSorry then throwError "Coupling is not allowed in draft tactic"
    let m ← mkFreshExprMVar (some type) MetavarKind.syntheticOpaque .anonymous
    holes.modify (fun l => m.mvarId! :: l)
    return m
  match e with
  | .app f a => return .app (← sorryToHole holes f) (← sorryToHole holes a)
  | .mdata d b => return .mdata d (← sorryToHole holes b)
  | .proj s i b => return .proj s i (← sorryToHole holes b)
  | .lam n t b i => binder holes n t none b i false
  | .forallE n t b i => binder holes n t none b i true
  | .letE n t v b nondep =>
    let v ← sorryToHole holes v
    if nondep then
      -- a `have`: the body sees the statement only
      let f ← binder holes n t none b .default false
      return .app f v
    binder holes n t (some v) b .default false
  | e => return e
partial def binder (holes : IO.Ref (List MVarId)) (n : Name) (t : Expr) (v : Option Expr) (b : Expr) (i : BinderInfo)
    (isForall : Bool) : TermElabM Expr := do
  let t ← sorryToHole holes t
  let id ← mkFreshFVarId
  let x := Expr.fvar id
  let lctx ← getLCtx
  let lctx := match v with
    | none => lctx.mkLocalDecl id n t i
    | some v => lctx.mkLetDecl id n t v
  let insts ← localInstancesWith t x
  withVar lctx insts do
    let b ← sorryToHole holes (b.instantiate1 x)
    if isForall then mkForallFVars #[x] b else mkLambdaFVars #[x] b
end

def draftStep (stx : Syntax) (goals : List MVarId) : TermElabM (List MVarId) := do
  let (g, rest) ← mainGoal goals
  let new ← inGoal g do
    let type ← instantiateMVars (← g.getType)
    let ((e, holes), _) ← runTactic [g] (elabHoles stx type)
    let e ← instantiateMVars e
    let ref ← IO.mkRef []
    let e ← sorryToHole ref e
    assign g e
    return app holes (rev (← ref.get))
  unsolved (app new rest)

/-! ### `conv` and `calc` -/

@[noinline] def convGoalFor (target : Expr) : MetaM (Expr × Expr) := Tactic.Conv.mkConvGoalFor target

/-- Enter `conv` on the first goal. -/
def convEnter (fs : Fragments) (goals : List MVarId) : TermElabM (Fragments × List MVarId) := do
  let (g, rest) ← mainGoal goals
  let (rhs, new) ← inGoal g do
    let target ← instantiateMVars (← g.getType)
    convGoalFor target
  return ((new.mvarId!, .convGoal g) :: (g, .conv rhs.mvarId!) :: fs, new.mvarId! :: rest)

/-- Closes a goal of a `conv`, `lhs = ?rhs`, by `rfl`. -/
@[noinline] def tryClose (g : MVarId) : TermElabM Unit := do
  try g.refl catch _ => try g.inferInstance catch _ => pure ()

/-- As `conv` itself does at its end: `with_reducible rfl`, no more. -/
def tryReducibleRfl (g : MVarId) : TermElabM Unit := do
  match parseAll (← getEnv) {} tacticSeqFn "tactic" "with_reducible rfl" with
  | .error _ => pure ()
  | .ok stx => try (do let _ ← runTactic [g] (evalStx stx); pure ()) catch _ => pure ()

@[noinline] def replaceTarget (g : MVarId) (target proof : Expr) : MetaM MVarId := g.replaceTargetEq target proof

/-- Leave the `conv` on `parent`: close what its goals leave by `rfl` and rewrite the target. -/
def convExit (fs : Fragments) (parent rhs : MVarId) (goals : List MVarId) : TermElabM (Fragments × List MVarId) := do
  let isMine (g : MVarId) : Bool := match fragmentOf fs g with
    | some (.convGoal p) => p.name == parent.name
    | _ => false
  let mut eq : Option MVarId := none
  let mine := keep isMine goals
  for g in mine do
    tryClose g
  match (← unsolved mine) with
  | [] => pure ()
  | g :: _ => throwError "convert tactic failed, there are unsolved goals\n{g}"
  let others := keep (fun g => !isMine g && g.name != parent.name) goals
  let new ← inGoal parent do
    let target ← instantiateMVars (.mvar rhs)
    let proof ← instantiateMVars (← convProof fs parent)
    replaceTarget parent target proof
  tryReducibleRfl new
  let fs := keep (fun p => p.1.name != parent.name && !isMine p.1) fs
  return (fs, ← unsolved (new :: others))
where
  /-- The equation that the `conv` was opened with, now proved. -/
  convProof (fs : Fragments) (parent : MVarId) : TermElabM Expr := do
    match (← rootOf (rev fs) parent) with
    | some g => return .mvar g
    | none => throwError "no conversion on this goal"
  rootOf (fs : Fragments) (parent : MVarId) : TermElabM (Option MVarId) := do
    match fs with
    | [] => return none
    | (g, .convGoal p) :: l => if p.name == parent.name then return some g else rootOf l parent
    | _ :: l => rootOf l parent

def convStep (fs : Fragments) (parent g : MVarId) (stx : Syntax) (goals : List MVarId) : TermElabM (Fragments × List MVarId) := do
  let (_, after) ← runTactic goals (evalStx stx)
  let mut new := []
  for m in after do
    if !hasGoal goals m && (isLHSGoal? (← instantiateMVars (← m.getType))).isSome then new := m :: new
  let fs' := app (mapList (fun m => (m, Fragment.convGoal parent)) new) fs
  let isMine (m : MVarId) : Bool := match fragmentOf fs' m with
    | some (.convGoal p) => p.name == parent.name
    | _ => false
  -- its last goal closed: the conversion is over
  match some? isMine after, fragmentOf fs' parent with
  | false, some (.conv rhs) => convExit fs' parent rhs after
  | _, _ => return (fs', after)

@[noinline] def annotateHole (pred : Syntax) (type : Expr) : TermElabM Syntax := Term.annotateFirstHoleWithType ⟨pred⟩ type
def calcRelation (e : Expr) : TermElabM (Option (Expr × Expr × Expr)) := do
  match (← instMVars e) with
  | .app (.app r a) b => return some (r, a, b)
  | _ => return none
@[noinline] def calcTrans (p pt s st : Expr) : MetaM (Expr × Expr) := Term.mkCalcTrans p pt s st

/-- One line of a `calc`: a goal for the line and, unless it is the last one, the rest of the chain. -/
def calcStep (fs : Fragments) (prev : Option Expr) (stx : Syntax) (goals : List MVarId) : TermElabM (Fragments × List MVarId) := do
  let (g, rest) ← mainGoal goals
  inGoal g do
    let d ← g.getDecl
    let target ← instantiateMVars d.type
    let stx ← match prev with
      | some p => do let t ← inferType p; annotateHole stx t
      | none => pure stx
    let step ← elabTypeTerm stx
    match (← calcRelation step) with
    | none => throwError "invalid 'calc' step, relation expected{indentExpr step}"
    | some (_, lhs, rhs) =>
      match prev with
      | some p =>
        if !(← isDefEqGuarded lhs p) then
          throwError "invalid 'calc' step, left-hand side is{indentExpr lhs}\nbut previous right-hand side is{indentExpr p}"
      | none => pure ()
      let branch ← mkFreshExprMVar (some step) MetavarKind.syntheticOpaque (d.userName ++ `calc)
      if (← isDefEqGuarded step target) then
        assign g branch
        return (eraseFragment fs g, branch.mvarId! :: rest)
      match (← calcRelation target) with
      | none => throwError "'calc' tactic failed, the goal is not a relation{indentExpr target}"
      | some (rel, _, rhs') =>
        let lastType := mkApp2 rel rhs rhs'
        let last ← mkFreshExprMVar (some lastType) MetavarKind.syntheticOpaque d.userName
        let (proof, proofType) ← calcTrans branch step last lastType
        if !(← isDefEqGuarded proofType target) then
          throwError "'calc' tactic failed, has type{indentExpr proofType}\nbut it is expected to have type{indentExpr target}"
        assign g proof
        return ((last.mvarId!, .calc (some rhs)) :: eraseFragment fs g, branch.mvarId! :: last.mvarId! :: rest)

/-! ## Applying a step and replying -/

/-- What a request asks to be done to the goals. -/
inductive Step where
  | tactic (text : String)
  | have' (name : Name) (type : String)
  | let' (name : Name) (type : String)
  | expr (text : String)
  | draft (text : String)
  | mode (text : String)

/-- The step as an action on (fragments, goals), or what is wrong with its text. -/
def stepAction (st : GState) (acting : MVarId) : Step → Except String (List MVarId → TermElabM (Fragments × List MVarId))
  | .tactic text =>
    match fragmentOf st.fragments acting with
    | none =>
      match parseAll st.env st.scope tacticSeqFn "tactic block" text with
      | .error e => .error e
      | .ok stx => .ok fun gs => do
        let after ← textStep stx gs
        return (st.fragments, after)
    | some (.calc prev) =>
      match parseTerm st.env st.scope text with
      | .error e => .error e
      | .ok stx => .ok fun gs => calcStep st.fragments prev stx gs
    | some (.convGoal parent) =>
      match parseAll st.env st.scope (categoryFn `conv) "conv tactic" text with
      | .error e => .error e
      | .ok stx => .ok fun gs => convStep st.fragments parent acting stx gs
    | some (.conv _) => .ok fun _ => throwError "Direct operation on conversion tactic parent goal is not allowed"
  | .have' n t => onTerm t (haveStep n)
  | .let' n t => onTerm t (letStep n)
  | .expr t => onTerm t exprStep
  | .draft t => onTerm t draftStep
  | .mode "conv" =>
    match fragmentOf st.fragments acting with
    | some (.convGoal _) => .ok fun _ => throwError "Already in conv state"
    | _ => .ok fun gs => convEnter st.fragments gs
  | .mode "calc" =>
    match fragmentOf st.fragments acting with
    | some _ => .ok fun _ => throwError "Goal already has a fragment"
    | none => .ok fun gs => pure ((acting, .calc none) :: st.fragments, gs)
  | .mode _ =>
    match fragmentOf st.fragments acting with
    | none => .ok fun _ => throwError "Goal does not have a fragment"
    | some (.calc _) => .ok fun gs => pure (eraseFragment st.fragments acting, gs)
    | some (.conv rhs) => .ok fun gs => convExit st.fragments acting rhs gs
    | some (.convGoal parent) =>
      match fragmentOf st.fragments parent with
      | some (.conv rhs) => .ok fun gs => convExit st.fragments parent rhs gs
      | _ => .ok fun _ => throwError "no conversion to leave"
where
  onTerm (text : String) (f : Syntax → List MVarId → TermElabM (List MVarId)) :
      Except String (List MVarId → TermElabM (Fragments × List MVarId)) :=
    match parseTerm st.env st.scope text with
    | .error e => .error e
    | .ok stx => .ok fun gs => do
      let after ← f stx gs
      return (st.fragments, after)

structure Taint where
  hasSorry : Bool := false
  hasUnsafe : Bool := false

/-- Does a term use `sorry` or something unsafe, also through declarations that are not imported? -/
partial def taint (env : Environment) (todo : List Name) (seen : NameSet) (acc : Taint) : Taint :=
  match todo with
  | [] => acc
  | n :: todo =>
    if seen.contains n then taint env todo seen acc
    else
      let seen := seen.insert n
      if n == ``sorryAx then taint env todo seen { acc with hasSorry := true }
      else
        match env.find? n with
        | none => taint env todo seen acc
        | some ci =>
          let acc := if ci.isUnsafe then { acc with hasUnsafe := true } else acc
          match env.getModuleIdxFor? n with
          | some _ => taint env todo seen acc
          | none =>
            match ci.value? (allowOpaque := true) with
            | some v => taint env (app v.getUsedConstants.toList todo) seen acc
            | none => taint env todo seen acc

/-- Terms that `e` will hold once it is complete: what its delayed metavariables wait for. -/
def awaited (e : Expr) : TermElabM (List MVarId) := do
  if !e.hasExprMVar then return []
  let mctx ← getMCtx
  let mut out := []
  for m in (e.collectMVars {}).result.toList do
    match mctx.dAssignment.find? m with
    | some d => out := d.mvarIdPending :: out
    | none => pure ()
  return out

/-- Constants in the terms that were assigned to `todo`, also behind delayed metavariables: without these
a `sorry` next to an open goal would go unseen. -/
partial def constsIn (todo : List MVarId) (seen : NameSet) (acc : List Name) : TermElabM (List Name) := do
  match todo with
  | [] => return acc
  | m :: todo =>
    if seen.contains m.name then constsIn todo seen acc
    else
      let e ← instMVars (.mvar m)
      constsIn (app (← awaited e) todo) (seen.insert m.name) (app e.getUsedConstants.toList acc)


/-- Does a term assigned to one of `parents` wait for something that is no goal? -/
def leavesHoles (parents after : List MVarId) : TermElabM Bool := do
  let mut found := false
  for g in parents do
    let holes ← (do holesIn (← instantiateMVars (.mvar g)) : MetaM _)
    if some? (fun m => !hasGoal after m) holes then found := true
  return found

/-- The sum of what a step did, inside one run. -/
structure Stepped where
  fragments : Fragments
  goals : List MVarId
  parents : List MVarId
  taint : Taint
  leak : Option Name
  rootOpen : Bool
  hasHoles : Bool
  constants : Option (List Name)

/-- Each once; in the place of lemmas that a tactic made for itself, what they use. -/
partial def usedNames (env : Environment) (todo : List Name) (seen acc : NameSet) : List Name :=
  match todo with
  | [] => acc.toList
  | n :: todo =>
    if seen.contains n then usedNames env todo seen acc
    else
      let seen := seen.insert n
      match env.getModuleIdxFor? n, n, env.find? n with
      | none, .str _ s, some ci =>
        if s.startsWith "_" then
          usedNames env (app (match ci.value? (allowOpaque := true) with | some v => v.getUsedConstants.toList | none => []) todo) seen acc
        else usedNames env todo seen (acc.insert n)
      | _, _, _ => usedNames env todo seen (acc.insert n)

@[noinline] def stepTerm (st : GState) (site : Site) (act : List MVarId → TermElabM (Fragments × List MVarId)) : TermElabM Stepped := do
  let goals := site.first :: site.others
  let (fs, after) ← act goals
  let after ← unsolved after
  let parents := keep (fun g => !hasGoal after g) goals
  let env ← getEnv
  -- at the end of a proof, what counts is the whole of it
  let whole := match after, st.root.name with | [], .anonymous => parents | [], _ => st.root :: parents | _, _ => parents
  let t := taint env (← constsIn whole {} []) st.given {}
  let leak ← match st.leak with
    | none => pure none
    | some l => do (l.first env (libraryBelow env (← constsIn parents {} []) {} []) : IO _)
  let rootOpen ← match after with
    | [] => if site.part || st.root.name.isAnonymous then pure false else do let e ← instMVars (.mvar st.root); pure e.hasExprMVar
    | _ => pure false
  let hasHoles ← if site.part then leavesHoles parents after else pure false
  let constants ← if site.constants then do pure (some (usedNames env (← constsIn parents {} []) {} {})) else pure none
  return { fragments := fs, goals := after, parents := parents, taint := t, leak := leak, rootOpen := rootOpen, hasHoles := hasHoles, constants := constants }

/-- What a message may take to be printed, in thousands of allocations: one of `decide` computes again why it failed. -/
def printing : Nat := 200

/-- Leaves no more than that of a run's heartbeats to the messages that tell of its failure. -/
def leaveToPrint (cfg : Config) (spent : Nat) : IO Unit := do
  if cfg.maxHeartbeats > spent + printing then countFrom ((cfg.maxHeartbeats - printing) * 1000)

/-- Applies a step to a state: the reply, and the new state where there is one. -/
def applyStep (cfg : Config) (st : GState) (site : Site) (step : Step) (source : String) :
    IO (Option GState × List (String × Json)) := do
  match stepAction st site.first step with
  | .error e => return (none, [("parseError", .str e)])
  | .ok act =>
    let r ← runTerm cfg st (stepTerm st site act) source
    let hb := ("heartbeats", jnum r.heartbeats)
    let log := logged r.core.messages
    let failed (ms : Array Json) : List (String × Json) :=
      [("messages", .arr ms), ("hasSorry", .bool false), ("hasUnsafe", .bool false), hb]
    match r.val with
    | .error e =>
      if cfg.maxHeartbeats != 0 && r.heartbeats ≥ cfg.maxHeartbeats then
        return (none, failed #[textMessage source e (spentText cfg.maxHeartbeats)])
      leaveToPrint cfg r.heartbeats
      -- an internal exception only says that the errors are in the log already
      let first ← match e with
        | .internal .. => if some? isError log then pure #[] else do pure #[← exceptionMessage source r e site.part]
        | _ => do pure #[← exceptionMessage source r e site.part]
      return (none, failed (pushAll (← jmessages log).toList first))
    | .ok done =>
      let ms ← jmessages log
      if some? isError log then return (none, failed ms)
      match done.leak with
      | some n => return (none, ("leak", jname n) :: failed #[])
      | none => pure ()
      let st' := { (st.after r done.goals) with parents := done.parents, fragments := done.fragments }
      let fields := [("messages", Json.arr ms), ("hasSorry", .bool done.taint.hasSorry), ("hasUnsafe", .bool done.taint.hasUnsafe), hb]
      let fields := if done.rootOpen then ("rootHasMVar", .bool true) :: fields else fields
      let fields := match done.constants with | some ns => ("usedConstants", jnames ns) :: fields | none => fields
      return (some st', if done.hasHoles then ("hasHoles", .bool true) :: fields else fields)

def goalAt (st : GState) (i : Nat) : M MVarId :=
  match nth? st.goals i with
  | some g => pure g
  | none => fail "index" ("Invalid goal index " ++ Nat.repr i)

/-- Pantograph's way to say which goals: one, and whether the others come along. -/
def siteOf (s : Session) (st : GState) (j : Json) : M Site := do
  let auto := (← bool? j "autoResume").getD s.config.automaticMode
  let g ← match (← nat? j "goalId"), st.goals with
    | some i, _ => goalAt st i
    | none, g :: _ => pure g
    | none, [] => fail "index" "No goals to be solved"
  return { first := g, others := if auto then keep (fun h => h.name != g.name) st.goals else [] }

/-- Our way: the goals by index, in the order in which the step is to see them; by default all. -/
def partOf (st : GState) (j : Json) : M Site := do
  let mut found : List MVarId := []
  match (← nats? j "goalIds") with
  | none => found := rev st.goals
  | some ids =>
    for i in ids do
      let g ← goalAt st i
      if hasGoal found g then fail "index" ("Goal index " ++ Nat.repr i ++ " is given twice") else found := g :: found
  match rev found with
  | [] => fail "index" "No goals to be solved"
  | g :: gs => return { first := g, others := gs, part := true, print := ← boolD j "print" true, constants := ← boolD j "constants" false }

def stepOf (j : Json) : M (Step × String) := do
  let name := match (← str? j "binderName") with | some "" => `this | some n => toName n | none => `this
  let mut found : List (Step × String) := []
  match (← str? j "tactic") with | some t => found := (.tactic t, t) :: found | none => pure ()
  match (← str? j "mode") with | some t => found := (.mode t, "") :: found | none => pure ()
  match (← str? j "expr") with | some t => found := (.expr t, t) :: found | none => pure ()
  match (← str? j "have") with | some t => found := (.have' name t, t) :: found | none => pure ()
  match (← str? j "let") with | some t => found := (.let' name t, t) :: found | none => pure ()
  match (← str? j "draft") with | some t => found := (.draft t, t) :: found | none => pure ()
  match found with
  | [(.mode m, t)] =>
    if m == "tactic" || m == "conv" || m == "calc" then return (.mode m, t) else fail "operation" ("Invalid mode " ++ m)
  | [x] => return x
  | _ => fail "operation" "Exactly one of {tactic, mode, expr, have, let, draft} must be supplied"

/-- Applies a step, stores the state, prints its goals, and says what it cost. -/
def step (r : Ref) (s : Session) (budget : Nat) (st : GState) (site : Site) (what : Step) (source : String) : M Json := do
  let t0 ← (IO.monoNanosNow : IO Nat)
  let (next, fields) ← applyStep { s.config with maxHeartbeats := budget } st site what source
  let fields ← match next with
    | none => pure fields
    | some st' => do
      let n := ("nGoals", jnum (len st'.goals 0))
      if site.print then
        let (gs, st') ← printGoals s.config st st'
        let id ← addState r st'
        pure (("nextStateId", jnum id) :: n :: ("goals", gs) :: fields)
      else
        let id ← addState r st'
        pure (("nextStateId", jnum id) :: n :: fields)
  let t1 ← (IO.monoNanosNow : IO Nat)
  return Json.mkObj (("us", jnum ((t1 - t0) / 1000)) :: fields)

def goalTactic (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let st ← getState s (← nat j "stateId")
  let site ← siteOf s st j
  let (what, source) ← stepOf j
  step r s s.config.maxHeartbeats st site what source

/-- `qed.batch`: every tactic on the same goals of a state, each on its own. -/
def qedBatch (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let st ← getState s (← nat j "stateId")
  let site ← partOf st j
  let budget := (← nat? j "maxHeartbeats").getD s.config.maxHeartbeats
  match (← strs? j "tactics") with
  | none => missing "tactics"
  | some texts =>
    let mut out := #[]
    for t in texts do
      out := out.push (← step r s budget st site (.tactic t) t)
    return Json.mkObj [("results", .arr out)]

/-! ## The rest of `goal.*` -/

/-- `goal.continue`: bring goals back into scope, all of an ancestor's or named ones. -/
def goalContinue (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let target ← getState s (← nat j "target")
  let goals ← match (← nat? j "branch"), (← names? j "goals") with
    | some b, none => do
      let branch ← getState s b
      match target.goals with
      | [] => pure ()
      | _ => fail "structure" "Target state has unresolved goals"
      if target.root.name != branch.root.name then
        fail "structure" "Roots of two continued goal states do not match" else
      pure branch.goals
    | none, some ns => pure (mapList (fun n => (⟨n⟩ : MVarId)) ns)
    | _, _ => fail "arguments" "Exactly one of {branch, goals} must be supplied"
  let mctx := target.mctx
  let mut bad : List Name := []
  for g in goals do
    if (mctx.findDecl? g).isNone then bad := g.name :: bad
  match bad with
  | n :: _ => fail "structure" ("Goals [" ++ nameStr n ++ "] are not in scope")
  | [] => pure ()
  let openGoals := keep (fun g => (mctx.eAssignment.find? g).isNone && (mctx.dAssignment.find? g).isNone) goals
  let st := { target with goals := openGoals }
  let id ← addState r st
  let gs ← jgoals s.config st
  return Json.mkObj [("nextStateId", jnum id), ("goals", gs)]

def goalDelete (r : Ref) (j : Json) : M Json := do
  let ids ← nats j "stateIds"
  let s ← (r.get : IO Session)
  let mut states := s.states
  let mut n := s.nStates
  for i in ids do
    match states.get? i with
    | some (some _) =>
      states := states.insert i none
      n := n - 1
    | _ => pure ()
  r.set { s with states := states, nStates := n }
  return Json.mkObj []

@[noinline] def inContextOf {α : Type} (g : MVarId) (x : MetaM α) : MetaM α := do
  let d ← g.getDecl
  fun mc ms cc cs => x { mc with lctx := d.lctx, localInstances := d.localInstances } ms cc cs

@[noinline] def jassigned (cfg : Config) (g : MVarId) : MetaM (Option Json) := do
  match (← getMCtx).eAssignment.find? g with
  | none => return none
  | some e => return some (← inContextOf g (do jexpr cfg (← instantiateMVars e)))

def printTerm (cfg : Config) (st : GState) (root parents : Bool) (extra : List Name) :
    TermElabM (List (String × Json)) := do
  let mut fields : List (String × Json) := []
  let rootE ← if st.root.name.isAnonymous then pure none else
    match (← getMCtx).eAssignment.find? st.root with
    | none => pure none
    | some e => do pure (some (← instMVars e))
  match rootE with
  | none => fields := [("rootHasSorry", .bool false), ("rootHasUnsafe", .bool false), ("rootHasMVar", .bool (!st.root.name.isAnonymous))]
  | some e =>
    let t := taint (← getEnv) e.getUsedConstants.toList {} {}
    fields := [("rootHasSorry", .bool t.hasSorry), ("rootHasUnsafe", .bool t.hasUnsafe), ("rootHasMVar", .bool e.hasExprMVar)]
    if root && !e.hasExprMVar then
      match (← jassigned cfg st.root) with
      | some j => fields := ("root", j) :: fields
      | none => pure ()
  if parents then
    let mut ps := #[]
    for p in st.parents do
      match (← jassigned cfg p) with
      | some j => ps := ps.push j
      | none => ps := ps.push .null
    fields := ("parentExprs", .arr ps) :: fields
  let mut xs := #[]
  for n in extra do
    let g : MVarId := ⟨n⟩
    let j ← match (← getMCtx).findDecl? g with
      | none => pure none
      | some _ => jassigned cfg g
    xs := xs.push (match j with | some j => j | none => Json.mkObj [])
  return ("extraMVars", .arr xs) :: fields

def goalPrint (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let st ← getState s (← nat j "stateId")
  let root ← boolD j "rootExpr" false
  let parents ← boolD j "parentExprs" false
  let goals ← boolD j "goals" false
  let extra := (← names? j "extraMVars").getD []
  let ran ← runTerm s.config st (printTerm s.config st root parents extra)
  let fields ← okOr "exception" ran
  let gs ← if goals then (jgoals s.config st : IO Json) else pure (.arr #[])
  return Json.mkObj (("goals", gs) :: fields)

/-! ### `goal.subsume`: is a goal solved by an earlier one, or a copy of one of its own ancestors? -/

partial def localDecls (lctx : LocalContext) (i : Nat) (acc : List LocalDecl) : List LocalDecl :=
  if i < lctx.numIndices then
    match lctx.getAt? i with
    | none => localDecls lctx (i + 1) acc
    | some d => localDecls lctx (i + 1) (if d.isImplementationDetail then acc else d :: acc)
  else rev acc

abbrev VarMap := List (FVarId × FVarId)

def varOf (m : VarMap) (f : FVarId) : Option FVarId :=
  match m with
  | [] => none
  | (a, b) :: l => if a.name == f.name then some b else varOf l f

@[noinline] def mapVars (m : VarMap) (e : Expr) : Expr :=
  if !e.hasFVar then e else
  e.replace fun e => match e with
    | .fvar f => match varOf m f with | some g => some (.fvar g) | none => none
    | _ => none

/-- Runs `x` on the metavariables of another state. -/
@[noinline] def withMetavars {α : Type} (mctx : Option MetavarContext) (x : TermElabM α) : TermElabM α := do
  match mctx with
  | none => x
  | some m =>
    let here ← getMCtx
    setMCtx m
    let a ← x
    setMCtx here
    return a

/-- Maps the variables of `src` to variables of `dst`, in order, equal types only. -/
partial def matchVars (src dst : List (FVarId × Expr × Option Expr)) (m : VarMap) : Option VarMap :=
  match src, dst with
  | [], _ => some m
  | _, [] => none
  | (f, t, v) :: src', (g, u, w) :: dst' =>
    let sameValue := match v, w with
      | none, none => true
      | some a, some b => sameExpr (mapVars m a) b
      | _, _ => false
    if sameExpr (mapVars m t) u && sameValue then
      match matchVars src' dst' ((f, g) :: m) with
      | some r => some r
      | none => matchVars src dst' m
    else matchVars src dst' m

def instDecls (ds : List LocalDecl) : TermElabM (List (FVarId × Expr × Option Expr)) := do
  let mut out := []
  for d in ds do
    let t ← instMVars d.type
    let v ← match d.value? with
      | some v => do pure (some (← instMVars v))
      | none => pure none
    out := (d.fvarId, t, v) :: out
  return rev out

def subsumedBy (goal c : MVarId) (other : Option MetavarContext) : TermElabM String := do
  let (vars, target, solution, isProof) ← withMetavars other do
    let d ← c.getDecl
    let vars ← instDecls (localDecls d.lctx 0 [])
    let t ← instMVars d.type
    let p ← inGoal c (do let s ← inferType t; instMVars s)
    let sol ← instMVars (.mvar c)
    return (vars, t, sol, p == .sort .zero)
  if !isProof || target.hasExprMVar then return "none"
  let d ← goal.getDecl
  let mine ← instDecls (localDecls d.lctx 0 [])
  let type ← instMVars d.type
  -- a finished solution needs its own variables only
  let used := (collectFVars (collectFVars {} solution) target).fvarSet
  let needed := if solution.hasExprMVar then vars else closeOver vars used
  match matchVars needed mine [] with
  | none => return "none"
  | some m =>
    if !sameExpr (mapVars m target) type then return "none"
    let own ← getMVars solution
    if other.isNone && (hasGoal own.toList goal || solution == .mvar goal) then
      return if len vars 0 == len mine 0 then "cycle" else "none"
    if solution.hasExprMVar then return "none"
    assign goal (mapVars m solution)
    return "subsumed"
where
  closeOver (vars : List (FVarId × Expr × Option Expr)) (used : FVarIdSet) : List (FVarId × Expr × Option Expr) := Id.run do
    -- later variables may need earlier ones: from the last to the first
    let mut used := used
    let mut out := []
    for (f, t, v) in rev vars do
      if used.contains f then
        out := (f, t, v) :: out
        let s := collectFVars {} t
        for g in s.fvarIds.toList do used := used.insert g
        match v with
        | some v => for g in (collectFVars {} v).fvarIds.toList do used := used.insert g
        | none => pure ()
    return out

def subsumeTerm (goal : MVarId) (cs : List MVarId) (other : Option MetavarContext) : TermElabM (String × Option MVarId) := do
  match cs with
  | [] => return ("none", none)
  | c :: cs =>
    match (← subsumedBy goal c other) with
    | "none" => subsumeTerm goal cs other
    | r => return (r, some c)

def goalSubsume (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let st ← getState s (← nat j "stateId")
  let goal : MVarId := ⟨toName (← str j "goal")⟩
  let cs ← match (← names? j "candidates"), (← names? j "srcs") with
    | some l, _ => pure l
    | none, some l => pure l
    | none, none => missing "candidates"
  let other ← match (← nat? j "srcStateId") with
    | some i => do let o ← getState s i; pure (some o.mctx)
    | none => pure none
  if (st.mctx.findDecl? goal).isNone then fail "index" ("Nonexistent metavariable: " ++ nameStr goal.name) else
  let mut bad : List Name := []
  for c in cs do
    if ((other.getD st.mctx).findDecl? ⟨c⟩).isNone then bad := c :: bad
  match bad with
  | n :: _ => fail "index" ("Nonexistent historical metavariable: " ++ nameStr n)
  | [] => pure ()
  let ran ← runTerm s.config st (subsumeTerm goal (mapList (fun c => (⟨c⟩ : MVarId)) cs) other)
  let (result, found?) ← okOr "exception" ran
  let mut fields : List (String × Json) := [("result", .str result)]
  match found? with
  | some c => fields := ("subsumptor", jname c.name) :: fields
  | none => pure ()
  if result == "subsumed" then
    let id ← addState r (st.after ran (keep (fun g => g.name != goal.name) st.goals))
    fields := ("stateId", jnum id) :: fields
  return Json.mkObj fields

end Repl

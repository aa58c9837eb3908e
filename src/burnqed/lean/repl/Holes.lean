/-
Holes: the `sorry`s of a whole file, each as a state of its own. Owns `qed.holes`, and `qed.start` with a `hole`.

A hole is looked at where it stands. Its command is elaborated a second time with a `trace_state` before each
`sorry`, and that trace holds the environment and the metavariables of the moment: with what was declared so
far, also inside this very declaration, and without the declaration itself. A `sorry` that is a term becomes
`by trace_state; sorry`, since it will be proved by tactics: its goal is what a `by` in its place sees.
-/

namespace Repl

/-! ## Where the `sorry`s are -/

/-- A `sorry` as it is written. -/
structure Spot where
  start : Nat
  stop : Nat
  isTactic : Bool

def isQuotation : Name → Bool
  | .str _ s => s == "quot" || s == "quotSeq" || s == "dynamicQuot"
  | _ => false

def isTacticSorry (k : Name) : Bool := k == `Lean.Parser.Tactic.tacticSorry

def isTermSorry (k : Name) : Bool := k == `Lean.Parser.Term.sorry

mutual
/-- In order of position, last one first. What is quoted belongs to a program, not to a proof. -/
partial def spotsIn (stx : Syntax) (acc : List Spot) : List Spot :=
  match stx with
  | .node _ k args =>
    if isTacticSorry k || isTermSorry k then
      let (a, b) := rangeOf stx
      { start := a, stop := b, isTactic := isTacticSorry k } :: acc
    else if isQuotation k then acc else spotsInAll args.toList acc
  | _ => acc
partial def spotsInAll : List Syntax → List Spot → List Spot
  | [], acc => acc
  | a :: l, acc => spotsInAll l (spotsIn a acc)
end

def spotsOf (p : Piece) : List Spot := rev (spotsIn p.stx [])

/-! ## Looking at them -/

def seqOf (info : SourceInfo) (last : Syntax) : Syntax :=
  let trace := Syntax.node info `Lean.Parser.Tactic.traceState #[.atom info "trace_state"]
  .node info `Lean.Parser.Tactic.tacticSeq #[.node info `Lean.Parser.Tactic.tacticSeq1Indented
    #[.node info `null #[trace, .atom info ";", last]]]

def tracedSpot (info : SourceInfo) (isTactic : Bool) : Syntax :=
  let seq := seqOf info (.node info `Lean.Parser.Tactic.tacticSorry #[.atom info "sorry"])
  if isTactic then .node info `Lean.Parser.Tactic.paren #[.atom info "(", seq, .atom info ")"]
  else .node info `Lean.Parser.Term.byTactic #[.atom info "by", seq]

mutual
/-- The command with its `sorry`s traced: all of them, or the one at `only`. -/
partial def traced (only : Option Nat) (stx : Syntax) : Syntax :=
  match stx with
  | .node i k args =>
    if isTacticSorry k || isTermSorry k then
      let here := match only with | some a => (rangeOf stx).1 == a | none => true
      if here then tracedSpot stx.getHeadInfo (isTacticSorry k) else stx
    else if isQuotation k then stx else .node i k (toArr (tracedAll only args.toList []))
  | s => s
partial def tracedAll (only : Option Nat) : List Syntax → List Syntax → List Syntax
  | [], acc => rev acc
  | a :: l, acc => tracedAll only l (traced only a :: acc)
end

/-- A goal as a trace saw it. -/
structure Sight where
  ctx : MessageDataContext
  goal : MVarId

partial def firstGoal (d : MessageData) : Option MVarId :=
  match d with
  | .ofGoal g => some g
  | .withContext _ d => firstGoal d
  | .withNamingContext _ d => firstGoal d
  | .nest _ d => firstGoal d
  | .group d => firstGoal d
  | .tagged _ d => firstGoal d
  | .compose a b => match firstGoal a with | some g => some g | none => firstGoal b
  | _ => none

mutual
/-- Each trace has a context of its own; the first of its goals is the one that the `sorry` is for. Last one first. -/
partial def sightsIn (d : MessageData) (acc : List Sight) : List Sight :=
  match d with
  | .withContext c d => match firstGoal d with | some g => { ctx := c, goal := g } :: acc | none => acc
  | .withNamingContext _ d => sightsIn d acc
  | .nest _ d => sightsIn d acc
  | .group d => sightsIn d acc
  | .tagged _ d => sightsIn d acc
  | .compose a b => sightsIn b (sightsIn a acc)
  | .trace _ _ ds => sightsInAll ds.toList acc
  | _ => acc
partial def sightsInAll : List MessageData → List Sight → List Sight
  | [], acc => acc
  | d :: ds, acc => sightsInAll ds (sightsIn d acc)
end

/-- A command elaborated with traces: what was said, and the nodes of its `sorry`s. -/
structure Looked where
  messages : List Message
  nodes : List Seen

/-- Also what the command leaves behind. -/
def lookOn (ictx : Parser.InputContext) (p : Piece) (only : Option Nat) : IO (Looked × Command.State) := do
  let ref ← IO.mkRef { p.before with messages := {}, infoState := { enabled := true } }
  let ctx : Command.Context := { fileName := ictx.fileName, fileMap := ictx.fileMap, cmdPos := ⟨p.start⟩, snap? := none, cancelTk? := none }
  let r ← (elabCmd (traced only p.stx) ctx ref).toBaseIO
  let extra ← match r with
    | .ok _ => pure []
    | .error e => do pure [errorMessage ictx ⟨p.start⟩ (← exceptionText e)]
  let st ← ref.get
  return ({ messages := app (logged st.messages) extra, nodes := infosOf isSorryNode true (Walk.parray st.infoState.trees) }, st)

def look (ictx : Parser.InputContext) (p : Piece) (only : Option Nat) : IO Looked := do
  let (l, _) ← lookOn ictx p only
  return l

def Looked.isFine (l : Looked) : Bool := !some? isError l.messages

def samePos (a b : Position) : Bool := a.line == b.line && a.column == b.column

def Looked.sightsAt (l : Looked) (ictx : Parser.InputContext) (at' : Nat) : List Sight := Id.run do
  let mut out : List Sight := []
  for m in l.messages do
    match m.severity with
    | .information => if samePos m.pos (ictx.fileMap.toPosition ⟨at'⟩) then out := sightsIn m.data out
    | _ => pure ()
  return rev out

def Looked.contextAt (l : Looked) (at' : Nat) : Option ContextInfo :=
  match keep (fun (s : Seen) => (rangeOf s.info.stx).1 == at') l.nodes with
  | s :: _ => some s.ctx
  | [] => none

/-! ## From a goal to a state -/

/-- The hypotheses of a goal, in order. One that stands for a declaration under way (the theorem itself, a `where`
clause) is left out unless `needed` says that the goal speaks of it. -/
partial def varsOf (lctx : LocalContext) (needed : List FVarId) (i : Nat) (acc : List Expr) : List Expr :=
  if i < lctx.numIndices then
    match lctx.getAt? i with
    | some d =>
      let wanted := !(d.isImplementationDetail || d.isAuxDecl) || some? (fun (f : FVarId) => f.name == d.fvarId.name) needed
      varsOf lctx needed (i + 1) (if wanted then .fvar d.fvarId :: acc else acc)
    | none => varsOf lctx needed (i + 1) acc
  else rev acc

@[noinline] def closeOver (vars : List Expr) (e : Expr) : MetaM Expr := do
  instantiateMVars (← mkForallFVars (toArr vars) e (usedOnly := false) (usedLetOnly := false))

/-- A goal as a closed statement. -/
structure Statable where
  type : Expr
  binders : Nat
  tag : Name
  isProp : Bool
  text : String

@[noinline] def closedGoal (g : MVarId) : TermElabM Statable := inGoal g do
  let d ← g.getDecl
  let target ← instMVars d.type
  let isProp ← (isProposition target : MetaM _)
  let first ← (closeOver (varsOf d.lctx [] 0 []) target : MetaM _)
  let needed := (collectFVars {} first).fvarIds.toList
  let vars := varsOf d.lctx needed 0 []
  let type ← (closeOver vars target : MetaM _)
  let type := ((← getMCtx).levelMVarToParam (fun _ => false) (fun _ => false) type).expr
  return { type := type, binders := len vars 0, tag := d.userName, isProp := isProp, text := ← (goalText g : MetaM _) }

/-- One goal of one `sorry`: the state to prove it in, or why there is none. -/
structure Hole where
  spot : Spot
  decl : Option Name
  goal : String := ""
  isProp : Bool := false
  state : Except String GState

/-- The shortest prefix of a name that a piece declares: of `t.aux`, a `where` clause of `t`, it is `t`. -/
partial def declaredPrefix (p : Piece) (n : Name) : Option Name :=
  match (match n with | .str q _ => declaredPrefix p q | .num q _ => declaredPrefix p q | .anonymous => none) with
  | some q => some q
  | none => if p.envAfter.contains n && !p.envBefore.contains n then some n else none

/-- The declaration that a `sorry` is in; none for an `example`. -/
def enclosing (p : Piece) (c : Option ContextInfo) : Option Name := do
  let n ← match c with
    | some c => do declaredPrefix p (← c.parentDecl?)
    | none => match p.written with
      | [n] => some n
      | _ => none
  let n := publicName n
  if isPrefixName `_example n then none else some n

/-- What is wrong with a goal as a statement of its own. -/
def unfit (c : Statable) : Option String :=
  if !c.isProp then some "it is not a proposition"
  else if c.type.hasSorry then some "its statement rests on another sorry"
  else if c.type.hasExprMVar then some "its statement rests on another goal of the proof"
  else if c.type.hasFVar then some "its statement rests on a declaration under way"
  else none

def stateOf (s : Session) (p : Piece) (c : Option ContextInfo) (sight : Sight) : M (Statable × GState) := do
  let scope := match c with
    | some c => { p.scope with ns := c.currNamespace, opened := c.openDecls, opts := sight.ctx.opts }
    | none => { p.scope with opts := sight.ctx.opts }
  let name := match c with | some c => c.parentDecl?.getD .anonymous | none => .anonymous
  let mut given : NameSet := {}
  for (n, _) in newConstants sight.ctx.env do given := given.insert n
  let base : GState := { env := sight.ctx.env, scope := scope, decl := name, given := given }
  let ran ← runTerm s.config { base with mctx := sight.ctx.mctx, ngen := { namePrefix := `_hole } } (closedGoal sight.goal)
  let c ← okOr "frontend" ran
  if (unfit c).isSome then return (c, base) else
  let own := match p.envAfter.find? name with | some ci => ci.levelParams | none => []
  let used := levelParamsOf c.type
  let base := { base with levels := app own (keep (fun n => !hasName own n) used) }
  let ran ← runTerm s.config base (do
    let root ← named c.type c.tag
    let g ← introduce root.mvarId! c.binders
    return (root.mvarId!, g))
  let (root, g) ← okOr "frontend" ran
  return (c, { (base.after ran [g]) with root := root })

/-- The goals of one `sorry`. It has more than one where a tactic runs it on several (`<;> sorry`); goals that
read the same are one, for one proof does for all. -/
def holesAt (s : Session) (ictx : Parser.InputContext) (p : Piece) (l : Looked) (spot : Spot) : M (List Hole) := do
  let ctx := l.contextAt spot.start
  let bare : Hole := { spot := spot, decl := enclosing p ctx, state := .error "" }
  if !l.isFine then return [{ bare with state := .error "no tactics can stand in its place" }] else
  let mut out : List Hole := []
  for sight in l.sightsAt ictx spot.start do
    match (← (stateOf s p ctx sight).toBaseIO) with
    | .error f => out := { bare with state := .error ("it cannot be stated: " ++ f.desc) } :: out
    | .ok (c, st) =>
      if !some? (fun (h : Hole) => h.goal == c.text) out then
        let state := match unfit c with | some why => .error why | none => .ok st
        out := { bare with goal := c.text, isProp := c.isProp, state := state } :: out
  match out with
  | [] => return [{ bare with state := .error "Lean never comes to it" }]
  | l => return rev l

/-- The holes of one command. Where one of them takes no tactics, the others are looked at without it. -/
def holesOfPiece (s : Session) (ictx : Parser.InputContext) (p : Piece) : M (List Hole) := do
  match spotsOf p with
  | [] => return []
  | spots =>
    let all ← look ictx p none
    let mut out : List Hole := []
    for spot in spots do
      let l ← if all.isFine then pure all else (look ictx p (some spot.start) : IO _)
      out := revOnto (← holesAt s ictx p l spot) out
    return rev out

def qedHoles (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let mut out := #[]
  for p in (← piecesOf r source (← readGate j [])) do
    for h in (← holesOfPiece s (fileInput source) p) do
      out := out.push (Json.mkObj [
        ("boundary", jpair h.spot.start h.spot.stop), ("kind", .str (if h.spot.isTactic then "tactic" else "term")),
        ("declaration", match h.decl with | some n => jname n | none => .null), ("isProp", .bool h.isProp), ("goal", .str h.goal),
        ("problem", match h.state with | .ok _ => .null | .error why => .str why)])
  return Json.mkObj [("holes", .arr out)]

@[noinline] def rootType (root : MVarId) : TermElabM Expr := do
  let d ← root.getDecl
  instMVars d.type

/-- Starts the hole with that index, in the order of `qed.holes`. -/
def qedStartHole (r : Ref) (j : Json) (index : Nat) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let mut left := index
  for p in (← piecesOf r source (← readGate j [])) do
    let hs ← holesOfPiece s (fileInput source) p
    match nth? hs left with
    | some h => return ← reply s h
    | none => left := left - len hs 0
  fail "frontend" ("the file has no hole " ++ Nat.repr index)
where
  reply (s : Session) (h : Hole) : M Json := do
    match h.state with
    | .error why => fail "frontend" why
    | .ok st =>
      let st ← if (← boolD j "negate" false) then negated s st else pure st
      let id ← addState r st
      let gs ← jgoals s.config st
      return Json.mkObj [("stateId", jnum id), ("root", jname st.root.name), ("goals", gs),
        ("name", match h.decl with | some n => jname n | none => .null)]
  /-- The state of `¬ T`, nothing introduced, where `T` is closed over the hypotheses. -/
  negated (s : Session) (st : GState) : M GState := do
    let ran ← runTerm s.config st (rootType st.root)
    let type ← okOr "frontend" ran
    if type.hasMVar || type.hasFVar then fail "frontend" "the hole speaks of what is not known yet" else
    let base : GState := { env := st.env, scope := st.scope, decl := st.decl, given := st.given }
    startGoal s.config base (← negation s.config base type) st.levels

end Repl

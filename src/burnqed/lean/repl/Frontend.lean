/-
Frontend: whole texts of Lean. Owns the command loop (no threads: one command after the other, in this
thread) and the `frontend.*` commands.
-/

namespace Repl

/-! ## The command loop -/

def scopeOf (st : Command.State) : Scope :=
  match st.scopes with
  | s :: _ => { ns := s.currNamespace, opened := s.openDecls, opts := s.opts, levels := s.levelNames }
  | [] => {}

@[noinline] def parseCmd (ictx : Parser.InputContext) (c : Parser.ParserModuleContext) (s : Parser.ModuleParserState) :
    Syntax × Parser.ModuleParserState × MessageLog := Parser.parseCommand ictx c s {}

@[noinline] def elabCmd (stx : Syntax) (ctx : Command.Context) (ref : IO.Ref Command.State) : EIO Exception Unit :=
  Command.elabCommandTopLevel stx ctx ref

@[noinline] def terminal (stx : Syntax) : Bool := Parser.isTerminalCommand stx

/-- `lenient`: as in a `noncomputable section`. The embedded Lean lacks code for much of its own library, and a
definition that cannot be compiled for that is as good as any where nothing is run. -/
@[noinline] def initialState (env : Environment) (opts : Options) (trees lenient : Bool) : Command.State :=
  let st := Command.mkState env {} opts
  { st with infoState := { enabled := trees }, scopes := mapList (fun s => { s with isNoncomputable := lenient }) st.scopes }

def errorMessage (ictx : Parser.InputContext) (pos : String.Pos.Raw) (text : String) : Message :=
  { fileName := ictx.fileName, pos := ictx.fileMap.toPosition pos, data := text }

/-- Where a piece's command begins, behind what the parser skipped to come to it. -/
@[noinline] def Piece.first (p : Piece) : Nat := match p.stx.getPos? with | some a => a.byteIdx | none => p.start

def isBefore (a b : Position) : Bool := a.line < b.line || (a.line == b.line && a.column < b.column)

/-- The errors of a piece: those of what was skipped before its command, and the command's own. -/
def Piece.errors (p : Piece) (map : FileMap) : List Message × List Message :=
  let first := map.toPosition ⟨p.first⟩
  let errors := keep isError p.messages
  (keep (fun m => isBefore m.pos first) errors, keep (fun m => !isBefore m.pos first) errors)

/-- Did a command leave something open? -/
def leavesSorry (ms : List Message) : IO Bool := do
  for m in ms do
    match m.severity with
    | .warning =>
      let t ← messageText m
      if t.startsWith "declaration uses `sorry" || t.startsWith "declaration uses 'sorry" then return true
    | _ => pure ()
  return false

/-- Did a command fail, or leave something open? -/
def isDirty (ms : List Message) : IO Bool := do
  if some? isError ms then return true
  leavesSorry ms

/-- What may be done with a parsed command instead of elaborating it. -/
abbrev Instead := Piece → IO (Option (Piece × Command.State))

/-- `undo`: a command with errors is as if it were not there. -/
partial def commands (ictx : Parser.InputContext) (ps : Parser.ModuleParserState) (ref : IO.Ref Command.State)
    (acc : List Piece) (gate : Option Gate := none) (undo : Bool := false) (dirty : Bool := false) (instead : Option Instead := none)
    (tell : Option IO.FS.Stream := none) : IO (List Piece) := do
  let st ← ref.get
  let before := scopeOf st
  let start := ps.pos
  match tell with
  | some stream => stream.putStrLn ("\u0001at " ++ Nat.repr start.byteIdx); stream.flush
  | none => pure ()
  let (stx, ps', parseMessages) := parseCmd ictx (parserScope st.env before) ps
  let parsed : Piece := {
    start := start.byteIdx, stop := ps'.pos.byteIdx, stx := stx, envBefore := st.env, envAfter := st.env, scope := before, before := st,
    messages := [], trees := [], heartbeats := 0 }
  let other ← match instead, logged parseMessages with
    | some f, [] => f parsed
    | _, _ => pure none
  match other with
  | some (piece, after) =>
    ref.set after
    return ← commands ictx ps' ref (piece :: acc) gate undo dirty instead tell
  | none => pure ()
  countAnew
  let hb ← IO.getNumHeartbeats
  ref.set { st with messages := {}, infoState := { st.infoState with trees := {} } }
  let ctx : Command.Context := { fileName := ictx.fileName, fileMap := ictx.fileMap, cmdPos := start, snap? := none, cancelTk? := none }
  let (gate, refused) := match gate with
    | some g =>
      let (g, own) := g.next ictx.inputString stx
      (some g, if own || terminal stx then none else g.refuses st.env dirty stx)
    | none => (none, none)
  let extra ← match refused with
    | some why => pure [errorMessage ictx (stx.getPos?.getD start) why]
    | none => do
      let r ← (elabCmd stx ctx ref).toBaseIO
      match r with
      | .ok _ => pure []
      | .error e => do pure [errorMessage ictx start (← exceptionText e)]
  let hb' ← IO.getNumHeartbeats
  let st' ← ref.get
  let piece : Piece := {
    start := start.byteIdx, stop := ps'.pos.byteIdx, stx := stx, envBefore := st.env, envAfter := st'.env, scope := before, before := st,
    messages := app (logged parseMessages) (app (logged st'.messages) extra), trees := Walk.parray st'.infoState.trees,
    heartbeats := (hb' - hb) / 1000, refused := refused }
  if terminal stx then
    -- the end of the text is a piece of its own only where it holds something
    match piece.messages with
    | [] => return rev acc
    | _ => return rev (piece :: acc)
  else
    let dirty' ← if dirty then pure true else match gate with
      | some _ => isDirty piece.messages
      | none => pure false
    match undo, piece.errors ictx.fileMap with
    | true, (_, _ :: _) => ref.set st
    | _, _ => pure ()
    commands ictx ps' ref (piece :: acc) gate undo dirty' instead tell

/-- The options a text is elaborated under; `set_option` in the text overrides them. -/
def fileOptions (s : Session) : Options :=
  let o := (runOptions { opts := s.scope.opts }).setNat `maxHeartbeats s.config.maxHeartbeats
  o.setNat `maxRecDepth s.config.maxRecDepth

structure Text where
  pieces : List Piece
  env : Environment
  scope : Scope

@[noinline] def fileInput (source : String) : Parser.InputContext := { inputOf source with fileName := "<anonymous>" }

/-- Elaborates a text, from its first byte, or from `ps`; with a gate, only the commands that it lets pass. -/
def elaborate (s : Session) (env : Environment) (source : String) (trees : Bool) (ps : Parser.ModuleParserState := {})
    (gate : Option Gate := none) (undo : Bool := false) (instead : Option Instead := none) : IO Text := do
  let ref ← IO.mkRef (initialState env (fileOptions s) trees (!s.proofsAreThere || gate.isSome))
  let ps ← commands (fileInput source) ps ref [] gate undo (instead := instead) (tell := if gate.isSome then s.progress else none)
  let st ← ref.get
  return { pieces := ps, env := st.env, scope := scopeOf st }

def placedTexts (ms : List Message) : IO (List String) := do
  let mut out := []
  for m in ms do
    let t ← messageText m
    out := (Nat.repr m.pos.line ++ ":" ++ Nat.repr m.pos.column ++ ": " ++ t) :: out
  return rev out

def errorTexts (ps : List Piece) : IO (List String) := do
  let mut out := []
  for p in ps do out := revOnto (← placedTexts (keep isError p.messages)) out
  return rev out

/-- The pieces, where there is no error in them. What the gate refused is told first: of the rest, much may fail for that. -/
def checked (ps : List Piece) : M (List Piece) := do
  match (← errorTexts (keep (fun p => p.refused.isSome) ps)) with
  | e :: _ => fail "gate" e
  | [] => pure ()
  match (← errorTexts ps) with
  | [] => return ps
  | es => fail "frontend" ("\n".intercalate es)

/-- The commands with which two texts begin, last one first. What stands between them is the same as well. -/
partial def sharedPieces (old new : String) (done : Nat) (ps acc : List Piece) : List Piece :=
  match ps with
  | [] => acc
  | p :: ps =>
    let stop := match p.stx.getTailPos? with | some b => b.byteIdx | none => p.stop
    let text (s : String) := String.Pos.Raw.extract s ⟨done⟩ ⟨stop⟩
    if text old == text new then sharedPieces old new stop ps (p :: acc) else acc

/-- The commands of a text without errors, in the session's environment. Theorems of one file come one after the
other, so what this text begins with in common with the last one is not elaborated again: but for the last command of
it, since the parser may have looked at what follows. -/
def piecesOf (r : Ref) (source : String) (gate : Option Gate := none) : M (List Piece) := do
  let s ← (r.get : IO Session)
  let shared := match s.kept with
    | some k => if k.gated == gate.isSome then sharedPieces k.source source 0 k.pieces [] else []
    | none => []
  let ps ← match shared with
    | last :: before => do
      let ref ← IO.mkRef last.before
      let mut dirty := false
      for p in before do
        if !dirty then dirty ← (isDirty p.messages : IO _)
      (commands (fileInput source) { pos := ⟨last.start⟩ } ref before gate (dirty := dirty) : IO _)
    | [] => do pure (← (elaborate s s.env source false {} gate : IO Text)).pieces
  let ps ← checked ps
  r.modify (fun s => { s with kept := some { source := source, gated := gate.isSome, pieces := ps } })
  return ps

def joinLines (l : List String) : String := "\n".intercalate l

/-! ### The header

Modules cannot be loaded after the start, so a header is accepted when it asks for nothing that is not
there already. -/

@[noinline] def parseHeader (ictx : Parser.InputContext) : IO (Syntax × Parser.ModuleParserState × MessageLog) := do
  let (stx, ps, log) ← Parser.parseHeader ictx
  return (stx, ps, log)

partial def importedIn (stx : Syntax) (acc : List Name) : List Name :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Module.import then
      match firstIdent args.toList with
      | some n => n :: acc
      | none => acc
    else inArgs args.toList acc
  | _ => acc
where
  firstIdent : List Syntax → Option Name
    | [] => none
    | .ident _ _ n _ :: _ => some n
    | _ :: l => firstIdent l
  inArgs : List Syntax → List Name → List Name
    | [], acc => acc
    | a :: l, acc => inArgs l (importedIn a acc)

/-- Skips the header. Fails when it imports what is not loaded. -/
def skipHeader (s : Session) (source : String) : M Parser.ModuleParserState := do
  let (stx, ps, log) ← parseHeader (fileInput source)
  match (← loggedErrors log) with
  | m :: _ => fail "parse" m
  | [] => pure ()
  for n in importedIn stx [] do
    match moduleIndex s.pristine n 0 with
    | some _ => pure ()
    | none => fail "io" ("module " ++ nameStr n ++ " is not loaded; this process can only use what it was started with")
  return ps

/-! ## Info trees -/

structure Seen where
  ctx : ContextInfo
  info : Info

@[noinline] def mergeCtx (p : PartialContextInfo) (c : Option ContextInfo) : Option ContextInfo := p.mergeIntoOuter? c

mutual
/-- All nodes with context that satisfy `want`, in order; below such a node the search goes on where `deeper`. -/
partial def nodesOf (want : Info → Bool) (deeper : Bool) (c : Option ContextInfo) (t : InfoTree) (acc : List Seen) : List Seen :=
  match t with
  | .context p t => nodesOf want deeper (mergeCtx p c) t acc
  | .hole _ => acc
  | .node i cs =>
    match c, want i with
    | some ctx, true => if deeper then kidsOf want deeper c (Walk.parray cs) ({ ctx := ctx, info := i } :: acc) else { ctx := ctx, info := i } :: acc
    | _, _ => kidsOf want deeper c (Walk.parray cs) acc
partial def kidsOf (want : Info → Bool) (deeper : Bool) (c : Option ContextInfo) : List InfoTree → List Seen → List Seen
  | [], acc => acc
  | t :: ts, acc => kidsOf want deeper c ts (nodesOf want deeper c t acc)
end

def infosOf (want : Info → Bool) (deeper : Bool) (ts : List InfoTree) : List Seen := rev (kidsOf want deeper none ts [])

/-- Runs `x` as at a node of an info tree. -/
@[noinline] def runAt {α : Type} (cfg : Config) (c : ContextInfo) (mctx : MetavarContext) (x : TermElabM α) : IO (Ran α) :=
  runTerm cfg { env := c.env, mctx := mctx, ngen := c.ngen, scope := { ns := c.currNamespace, opened := c.openDecls, opts := c.options } } x

@[noinline] def isOriginal (stx : Syntax) : Bool := match stx.getHeadInfo with | .original .. => true | _ => false

/-- Combinators and wrappers; what is inside them is listed by itself. -/
def isWrapper (k : Name) : Bool :=
  k == `null || k == `Lean.cdot || k == `Lean.cdotTk || k == `Lean.Parser.Term.byTactic || k == `Lean.Parser.Tactic.tacticSeq ||
  k == `Lean.Parser.Tactic.tacticSeq1Indented || k == `Lean.Parser.Tactic.tacticSeqBracketed ||
  k == `Lean.Parser.Tactic.«tactic_<;>_» || k == `Lean.Parser.Tactic.paren

def isTacticNode : Info → Bool
  | .ofTacticInfo ti => (match ti.stx with | .node _ k _ => !isWrapper k | _ => false) && isOriginal ti.stx
  | _ => false

def rangeOf (stx : Syntax) : Nat × Nat :=
  match stx.getPos?, stx.getTailPos? with
  | some a, some b => (a.byteIdx, b.byteIdx)
  | _, _ => (0, 0)

@[noinline] def goalTexts (gs : List MVarId) : TermElabM String := do
  let mut out := []
  for g in gs do
    let t ← (goalText g : MetaM String)
    out := t :: out
  return "\n".intercalate (rev out)

def goalsAt (cfg : Config) (c : ContextInfo) (mctx : MetavarContext) (gs : List MVarId) : IO String := do
  match gs with
  | [] => return ""
  | _ =>
    let r ← runAt cfg c mctx (goalTexts gs)
    match r.val with
    | .ok t => return t
    | .error _ => return "<failed to pretty print>"

def usedBy (ti : TacticInfo) : List Name := Id.run do
  let mut set : NameSet := {}
  for g in ti.goalsBefore do
    match ti.mctxAfter.eAssignment.find? g with
    | some e => for n in e.getUsedConstants.toList do set := set.insert n
    | none => pure ()
  return set.toList

def invocations (cfg : Config) (source : String) (p : Piece) : IO (Array Json) := do
  let mut out := #[]
  for s in infosOf isTacticNode true p.trees do
    match s.info with
    | .ofTacticInfo ti =>
      let before ← goalsAt cfg s.ctx ti.mctxBefore ti.goalsBefore
      let after ← goalsAt cfg s.ctx ti.mctxAfter ti.goalsAfter
      let (a, b) := rangeOf ti.stx
      out := out.push (Json.mkObj [("goalBefore", .str before), ("goalAfter", .str after),
        ("tactic", .str (String.Pos.Raw.extract source ⟨a⟩ ⟨b⟩)), ("usedConstants", jnames (usedBy ti)),
        ("kind", jname ti.stx.getKind), ("boundary", jpair a b)])
    | _ => pure ()
  return out

/-! ## New constants -/

/-- Constants of `b` that `a` lacks. -/
def addedConstants (a b : Environment) : List (Name × ConstantInfo) := keep (fun (p : Name × ConstantInfo) => !a.contains p.1) (newConstants b)

/-- Does a name end in this identifier, as a command writes it? -/
def endsIn (n ident : Name) : Bool :=
  match n, ident with
  | _, .anonymous => true
  | .anonymous, .str .anonymous "_root_" => true
  | .str p s, .str q t => s == t && endsIn p q
  | .num p i, .num q j => i == j && endsIn p q
  | _, _ => false

/-- The identifiers of a command outside of the bodies of its declarations. -/
partial def identsOf (stx : Syntax) (acc : List Name) : List Name :=
  match stx with
  | .ident _ _ n _ => if n.isAnonymous then acc else n :: acc   -- brackets have an empty one
  | .node _ k args =>
    if k == `Lean.Parser.Term.byTactic then acc
    else if k == `Lean.Parser.Command.declValSimple then
      match args.toList with
      | _ :: _body :: rest => inArgs rest acc
      | l => inArgs l acc
    else if k == `Lean.Parser.Term.matchAltsWhereDecls then
      match args.toList with
      | _alternatives :: rest => inArgs rest acc
      | [] => acc
    else inArgs args.toList acc
  | _ => acc
where
  inArgs : List Syntax → List Name → List Name
    | [], acc => acc
    | a :: l, acc => inArgs l (identsOf a acc)

@[noinline] def isInstanceOf (env : Environment) (n : Name) : Bool := Meta.isInstanceCore env n

/-- Constants that are what they are by name, and not by a value. -/
def isNominal : ConstantInfo → Bool
  | .thmInfo _ | .defnInfo _ => false
  | _ => true

def leftOpen (ci : ConstantInfo) : Bool := match ci.value? (allowOpaque := true) with | some v => v.hasSorry | none => false

/-- Constants that a declaration mentions, in its type and in its value. -/
def mentionedBy (ci : ConstantInfo) : List Name := match ci.value? (allowOpaque := true) with
  | some v => app ci.type.getUsedConstants.toList v.getUsedConstants.toList
  | none => ci.type.getUsedConstants.toList

/-- These names and all that they rest on, of what a command added. -/
partial def reached (env : Environment) (added : NameSet) (todo : List Name) (acc : NameSet) : NameSet :=
  match todo with
  | [] => acc
  | n :: todo =>
    if acc.contains n || !added.contains n then reached env added todo acc
    else match env.find? n with
      | some ci => reached env added (app (mentionedBy ci) todo) (acc.insert n)
      | none => reached env added todo acc

/-- What the author of a command declared with it: what the command names, instances, and types with all that belongs to
them. The rest (a `match`, a proof inside a statement, equations) Lean made on the way. How a name is spelt says nothing about
that: people may call a constructor `match_1`. A theorem that is left open is its author's as well, where nothing that the
command names rests on it: a macro or a `let rec` may declare one that the command does not name. -/
def Piece.written (p : Piece) : List Name := Id.run do
  let idents := identsOf p.stx []
  let mut out : List Name := []
  let mut unfinished : List Name := []
  let mut added : NameSet := {}
  for (n, ci) in addedConstants p.envBefore p.envAfter do
    added := added.insert n
    if isNominal ci || isInstanceOf p.envAfter n || some? (endsIn (publicName n)) idents then out := n :: out
    if leftOpen ci then unfinished := n :: unfinished
  match out with
  | [] => return unfinished
  | _ =>
    let below := reached p.envAfter added out {}
    let stray (n : Name) : Bool := !below.contains n && (match p.envAfter.find? n with | some (.thmInfo _) => true | _ => false)
    return app (keep stray unfinished) out

/-! ## `frontend.process` -/

def wantInvocations (j : Json) : Bool :=
  match field? j "invocations" with
  | some (.bool b) => b
  | some (.str _) => true
  | _ => false

/-! ### `sorry`s -/

def isSorryNode : Info → Bool
  | .ofTermInfo ti => ti.stx.getKind == `Lean.Parser.Term.sorry && ti.expr.isSorry && !ti.isBinder
  | .ofTacticInfo ti => ti.stx.getKind == `Lean.Parser.Tactic.tacticSorry && (match ti.goalsBefore with | [] => false | _ => true)
  | _ => false

def sorrysOf (p : Piece) : List Seen := infosOf isSorryNode false p.trees

/-- Declarations of a piece whose value has a `sorry`. -/
def openDecls (p : Piece) : List ConstantInfo := Id.run do
  let mut out := []
  for n in p.written do
    match p.envAfter.find? n with
    | some ci => if leftOpen ci && !ci.isUnsafe && !ci.isPartial then out := ci :: out
    | none => pure ()
  return out

@[noinline] def drafted (g : MVarId) (value : Expr) : TermElabM (List MVarId) := do
  let ref ← IO.mkRef []
  let e ← sorryToHole ref value
  assign g e
  return rev (← ref.get)

/-- A state whose goals are the `sorry`s of a declaration's value. -/
def sorryState (s : Session) (p : Piece) (ci : ConstantInfo) : M GState := do
  let base : GState := { env := p.envBefore, scope := p.scope, decl := ci.name }
  let st ← startGoal s.config base ci.type ci.levelParams
  match ci.value? (allowOpaque := true) with
  | none => return st
  | some v =>
    let r ← runTerm s.config st (drafted st.root v)
    let gs ← okOr "exception" r
    return { (st.after r gs) with parents := [st.root] }

def frontendProcess (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← match (← str? j "file") with
    | some f => pure f
    | none => fail "arguments" "Exactly one of {fileName, file} must be supplied"
  let header ← boolD j "readHeader" false
  let inherit ← boolD j "inheritEnv" false
  let wantNew ← boolD j "newConstants" false
  let wantSorrys ← boolD j "sorrys" false
  let wantInv := wantInvocations j
  let ps ← if header then skipHeader s source else pure {}
  let env := if header then s.pristine else s.env
  let text ← elaborate s env source (wantInv || wantSorrys) ps
  let mut units := #[]
  for p in text.pieces do
    let mut fields : List (String × Json) := [("boundary", jpair p.start p.stop), ("messages", .arr (← jmessages p.messages)),
      ("kind", jname p.stx.getKind), ("heartbeats", jnum p.heartbeats)]
    if wantInv then
      let inv ← invocations s.config source p
      fields := ("invocations", .arr inv) :: ("nInvocations", jnum inv.size) :: fields
    if wantNew then
      fields := ("newConstants", jnames (sortNames p.written)) :: fields
    if wantSorrys then
      match sorrysOf p, openDecls p with
      | seen, [ci] =>
        let st ← sorryState s p ci
        let id ← addState r st
        let gs ← jgoals s.config st
        let bounds := mapList (fun (x : Seen) => let (a, b) := rangeOf x.info.stx; jpair a b) seen
        fields := ("goalStateId", jnum id) :: ("goals", gs) :: ("goalSrcBoundaries", .arr (toArr bounds)) :: fields
      | _, _ => pure ()
    units := units.push (Json.mkObj fields)
  if inherit then r.modify (fun s => { s with env := text.env, scope := text.scope, kept := none })
  return Json.mkObj [("units", .arr units)]

/-! ## `frontend.distil` -/

/-- Constants that stand for something else while targets are put together. -/
abbrev Subst := List (Name × Expr)

def lookup (n : Name) : Subst → Option Expr
  | [] => none
  | (m, e) :: l => if m == n then some e else lookup n l

@[noinline] def substConsts (sub : Subst) (env : Environment) (e : Expr) : Expr :=
  e.replace fun e => match e with
    | .const n ls =>
      match lookup n sub with
      | some v => match env.find? n with
        | some ci => some (v.instantiateLevelParams ci.levelParams ls)
        | none => some v
      | none => none
    | _ => none

def usesAny (sub : Subst) (e : Expr) : Bool := Id.run do
  let mut hit := false
  for n in e.getUsedConstants.toList do
    if (lookup n sub).isSome then hit := true
  return hit

/-- A search target under construction: its declarations, first one first. -/
structure Target where
  piece : Piece
  decls : List ConstantInfo

def theNames (t : Target) : Subst := mapList (fun (c : ConstantInfo) => (c.name, Expr.sort .zero)) t.decls

/-- Groups the declarations with `sorry` of a text: one that speaks about an earlier one joins it. -/
def targetsOf (ps : List Piece) : List Target := Id.run do
  let mut out : List Target := []
  for p in ps do
    let written := p.written
    for (n, ci) in addedConstants p.envBefore p.envAfter do
      if hasName written n && !ci.isUnsafe then
        match ci.value? (allowOpaque := true) with
        | none => pure ()
        | some v =>
          let uses (t : Target) : Bool := usesAny (theNames t) ci.type || usesAny (theNames t) v
          if some? uses out then
            out := mapList (fun t => if uses t then { t with decls := app t.decls [ci] } else t) out
          else if v.hasSorry then out := { piece := p, decls := [ci] } :: out
  return rev out

def lastPart (n : Name) : Name := match n with | .str _ s => .str .anonymous s | _ => `x

@[noinline] def named (type : Expr) (n : Name) : TermElabM Expr := mkFreshExprMVar (some type) MetavarKind.syntheticOpaque n

def isThm (ci : ConstantInfo) : Bool := match ci with | .thmInfo _ => true | _ => false

/-- The goals of a coupled target, with the values that are there kept: constants become goals or values. -/
def coupledGoals (env : Environment) (decls : List ConstantInfo) : TermElabM (MVarId × List MVarId) := do
  let mut sub : Subst := []
  let mut goals : List MVarId := []
  let mut root : MVarId := ⟨.anonymous⟩
  for ci in decls do
    let type := substConsts sub env ci.type
    let value := substConsts sub env ((ci.value? (allowOpaque := true)).getD (.sort .zero))
    if value.isSorry then
      let m ← named type (if len decls 0 > 1 && !isThm ci then lastPart ci.name else .anonymous)
      goals := m.mvarId! :: goals
      sub := (ci.name, m) :: sub
      root := m.mvarId!
    else
      let ref ← IO.mkRef []
      let e ← sorryToHole ref value
      let m ← named type .anonymous
      assign m.mvarId! e
      for g in rev (← ref.get) do goals := g :: goals
      sub := (ci.name, e) :: sub
      root := m.mvarId!
  return (match decls with | [_] => root | _ => ⟨.anonymous⟩, rev goals)

/-- `{ x : T // P₁ x ∧ … ∧ Pₙ x }` for a head and the statements about it. -/
def coupledType (env : Environment) (name : Name) (decls : List ConstantInfo) : TermElabM Expr := do
  match decls with
  | [] => throwError "nothing to prove"
  | [ci] => return ci.type
  | head :: rest =>
    let id ← mkFreshFVarId
    let x := Expr.fvar id
    let lctx ← getLCtx
    let lctx := lctx.mkLocalDecl id name head.type .default
    let insts := (← readThe Meta.Context).localInstances
    withVar lctx insts do
      let mut sub : Subst := [(head.name, x)]
      let mut props : List Expr := []
      for ci in rest do
        let type := substConsts sub env ci.type
        match ci with
        | .thmInfo _ => props := type :: props
        | _ =>
          match ci.value? (allowOpaque := true) with
          | some v => if v.hasSorry then throwError "only properties may depend on a search target"
                      else sub := (ci.name, substConsts sub env v) :: sub
          | none => throwError "only properties may depend on a search target"
      match props with
      | [] => return head.type
      | p :: ps =>
        let mut all := p
        for q in ps do all := mkApp2 (.const ``And []) q all
        let pred ← mkLambdaFVars #[x] all
        let level ← getLevel head.type
        return mkApp2 (.const ``Subtype [level]) head.type pred

def frontendDistil (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let binder? ← str? j "binderName"
  let ignore ← boolD j "ignoreValues" true
  let text ← elaborate s s.env source false
  let _ ← checked text.pieces
  let mut out := #[]
  for t in targetsOf text.pieces do
    let levels := match t.decls with | ci :: _ => ci.levelParams | [] => []
    let name := match binder?, t.decls with | some b, _ => toName b | none, ci :: _ => lastPart ci.name | none, [] => `x
    let base : GState := { env := t.piece.envBefore, scope := t.piece.scope, levels := levels }
    let st ← if ignore then do
        let ran ← runTerm s.config base (coupledType text.env name t.decls)
        let type ← okOr "frontend" ran
        startGoal s.config base type levels
      else do
        let ran ← runTerm s.config base (coupledGoals text.env t.decls)
        let (root, goals) ← okOr "frontend" ran
        pure { (base.after ran goals) with root := root }
    let id ← addState r st
    let gs ← jgoals s.config st
    out := out.push (Json.mkObj [("stateId", jnum id), ("goals", gs)])
  return Json.mkObj [("targets", .arr out)]

/-! ## `frontend.refactor` -/

def isHeadOf (p : Piece) (t : Target) : Bool := p.start == t.piece.start

def declaresOneOf (p : Piece) (t : Target) : Bool := some? (fun (c : ConstantInfo) => p.envAfter.contains c.name && !p.envBefore.contains c.name) t.decls

partial def trimEnd (s : String) (stop : String.Pos.Raw) : String :=
  if stop.byteIdx == 0 then ""
  else
    let p := stop.prev s
    if (p.get s).isWhitespace then trimEnd s p else String.Pos.Raw.extract s ⟨0⟩ stop

def coreOptions (o : Options) (l : List String) : Options := Id.run do
  let mut o := o
  for e in l do
    match e.splitOn "=" with
    | [k, v] =>
      let n := toName (trimEnd k k.rawEndPos)
      match v with
      | "true" => o := o.setBool n true
      | "false" => o := o.setBool n false
      | v => if allDigits v ⟨0⟩ then o := o.setNat n v.toNat! else o := o.setString n v
    | _ => pure ()
  return o

/-- Coupled `sorry`s become one `sorry` of a subtype; all else is kept as it was written. -/
def frontendRefactor (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let opts := coreOptions (statementOptions s.scope.opts) ((← strs? j "coreOptions").getD [])
  let text ← elaborate s s.env source false
  let _ ← checked text.pieces
  let coupled := keep (fun (t : Target) => len t.decls 0 > 1) (targetsOf text.pieces)
  let mut out := ""
  for p in text.pieces do
    match keep (fun t => declaresOneOf p t) coupled with
    | [] =>
      let body := String.Pos.Raw.extract source ⟨p.start⟩ ⟨p.stop⟩
      out := out ++ "\n" ++ trimEnd body body.rawEndPos
    | t :: _ =>
      if isHeadOf p t then
        let name := match t.decls with | ci :: _ => ci.name | [] => `x
        let levels := match t.decls with | ci :: _ => ci.levelParams | [] => []
        let base : GState := { env := p.envBefore, scope := { p.scope with opts := opts }, levels := levels }
        let ran ← runTerm s.config base (do
          let type ← coupledType text.env (lastPart name) t.decls
          let ty ← (ppText type : MetaM String)
          return ty)
        let type ← okOr "frontend" ran
        let short := nameStr (lastPart name)
        out := out ++ "\ndef " ++ short ++ "_composite : " ++ type ++ " :=\n  sorry"
  return Json.mkObj [("file", .str out)]

end Repl

/-
Trace: the theorems of a whole file with the tactics of their proofs, and a state at the beginning of each. Owns
`qed.trace`. What a tactic does is not told here: who asks has the state, and applies to it what is written.
-/

namespace Repl

/-! ## A proof as it is written -/

def isBy (k : Name) : Bool := k == `Lean.Parser.Term.byTactic || k == `Lean.Parser.Term.byTactic'

def isSeq (k : Name) : Bool := k == `Lean.Parser.Tactic.tacticSeq || k == `Lean.Parser.Tactic.tacticSeqBracketed

/-- The tactics of a sequence: every other child, separators between them. -/
def everyOther : List Syntax → List Syntax
  | [] => []
  | [t] => [t]
  | t :: _ :: l => t :: everyOther l

def isItems : Syntax → Bool
  | .node _ k _ => k == `null
  | _ => false

partial def tacticsOf (stx : Syntax) : List Syntax :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Tactic.tacticSeq1Indented || k == `Lean.Parser.Tactic.tacticSeqBracketed then
      match keep isItems args.toList with
      | .node _ _ items :: _ => keep (fun t => t.getPos?.isSome) (everyOther items.toList)
      | _ => []
    else match args.toList with
      | [inner] => tacticsOf inner
      | _ => []
  | _ => []

mutual
/-- `{"kind", "boundary", "blocks"}`; a block is a tactic sequence inside of it, but not inside of another block. -/
partial def jtactic (stx : Syntax) : Json :=
  let (a, b) := rangeOf stx
  let blocks := match stx with
    | .node _ k args =>
      if k == `Lean.Parser.Tactic.«tactic_<;>_» then
        mapList (fun t => jblock t k a [t]) (everyOther args.toList)
      else if k == `Lean.Parser.Tactic.tacticSeqBracketed then [jblock stx k a (tacticsOf stx)]
      else rev (blocksInAll k a args.toList [])
    | _ => []
  Json.mkObj [("kind", jname stx.getKind), ("boundary", jpair a b), ("blocks", .arr (toArr blocks))]
/-- `within` and `from`: the kind of what it is a part of, such as an alternative, and where that begins. -/
partial def jblock (stx : Syntax) (within : Name) (start : Nat) (tactics : List Syntax) : Json :=
  let (a, b) := rangeOf stx
  Json.mkObj [("kind", jname stx.getKind), ("boundary", jpair a b), ("within", jname within), ("from", jnum start),
    ("tactics", .arr (toArr (mapList jtactic tactics)))]
/-- Last one first. -/
partial def blocksIn (within : Name) (start : Nat) (stx : Syntax) (acc : List Json) : List Json :=
  match stx with
  | .node _ k args =>
    if isQuotation k then acc
    else if isBy k then
      match keep (fun s => isSeq s.getKind) args.toList with
      | seq :: _ => jblock stx within start (tacticsOf seq) :: acc
      | [] => acc
    else if isSeq k then jblock stx within start (tacticsOf stx) :: acc
    else if k == `null then blocksInAll within start args.toList acc
    else blocksInAll k (rangeOf stx).1 args.toList acc
  | _ => acc
partial def blocksInAll (within : Name) (start : Nat) : List Syntax → List Json → List Json
  | [], acc => acc
  | s :: l, acc => blocksInAll within start l (blocksIn within start s acc)
end

/-- How a theorem is proved: by tactics, a term, equations, or in a way that has no name here. -/
structure ProofText where
  form : String
  stx : Syntax
  /-- The lemmas of a `where`, each `name binders : type := proof`. -/
  helpers : List Syntax := []
  /-- Whether more follows: `termination_by`, `decreasing_by`, a `where` with something else. -/
  more : Bool := false

def sorryProof : String := "\n  := by sorry\n"

def hasText (stx : Syntax) : Bool := (rangeOf stx).2 != 0

mutual
/-- The lemmas of a `where`; none where something else is written. -/
partial def helpersIn (stx : Syntax) : Option (List Syntax) :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Term.letIdDecl then some [stx]
    else if !hasText stx || k == `Lean.Parser.Command.docComment then some []
    else if k == `null || k == `Lean.Parser.Term.whereDecls || k == `Lean.Parser.Term.letRecDecl || k == `Lean.Parser.Term.letDecl then
      helpersInAll args.toList
    else none
  | _ => some []
partial def helpersInAll : List Syntax → Option (List Syntax)
  | [] => some []
  | s :: l => match helpersIn s, helpersInAll l with
    | some a, some b => some (app a b)
    | _, _ => none
end

def ProofText.followedBy (p : ProofText) (rest : List Syntax) : ProofText :=
  match helpersInAll rest with
  | some helpers => { p with helpers := helpers }
  | none => { p with more := true }

def proofOf (value : Syntax) : ProofText :=
  match value with
  | .node _ `Lean.Parser.Command.declValSimple args =>
    match args.toList with
    | _ :: term :: rest => { form := if isBy term.getKind then "tactics" else "term", stx := term : ProofText }.followedBy rest
    | _ => { form := "other", stx := value }
  | .node _ `Lean.Parser.Command.declValEqns args =>
    match args.toList with
    | [.node _ _ inner] =>
      match inner.toList with
      | alts :: rest => { form := "equations", stx := alts : ProofText }.followedBy rest
      | [] => { form := "other", stx := value }
    | _ => { form := "other", stx := value }
  | _ => { form := "other", stx := value }

def ProofText.hasTactics (p : ProofText) : Bool := match blocksInAll `null 0 (p.stx :: p.helpers) [] with | [] => false | _ => true

/-- The value of the theorem or example that a command declares. -/
partial def valueIn (stx : Syntax) : Option Syntax :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Command.in || k == `null then lastOf args.toList none
    else match args.toList with
      | [_, .node _ _ decl] => nth? (rev decl.toList) 0
      | _ => none
  | _ => none
where
  lastOf : List Syntax → Option Syntax → Option Syntax
    | [], found => found
    | s :: l, found => lastOf l (match valueIn s with | some v => some v | none => found)

/-! ## Examples, which are theorems without a name -/

/-- An `example` as it is written: the command, its modifiers, the keyword, the statement. -/
partial def exampleIn (stx : Syntax) : Option (Syntax × Syntax × Syntax × Syntax) :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Command.in || k == `null then first args.toList
    else match args.toList with
      | [mods, .node _ `Lean.Parser.Command.example decl] =>
        match decl.toList with
        | word :: sig :: _ => some (stx, mods, word, sig)
        | _ => none
      | _ => none
  | _ => none
where
  first : List Syntax → Option (Syntax × Syntax × Syntax × Syntax)
    | [] => none
    | s :: l => match exampleIn s with | some e => some e | none => first l

/-- What is traced: a theorem of the file, or what an example is under a name. -/
structure Traced where
  written : Written
  constant : Option ConstantInfo
  /-- The command up to the end of the statement, and what came of it. -/
  text : String
  piece : Piece
  /-- The keyword of an example. -/
  word : Option (Nat × Nat) := none

def tracedTheorem (source : String) (p : Piece) (w : Written) : Traced :=
  { written := w, constant := w.constant? p, text := String.Pos.Raw.extract source ⟨p.start⟩ ⟨w.signatureStop⟩, piece := p }

/-- An example as a theorem: where its parts are, the text with a name, and where its keyword stands. -/
def namedExample (source : String) (map : FileMap) (p : Piece) : Option (Written × String × (Nat × Nat)) :=
  match exampleIn p.stx with
  | none => none
  | some (decl, mods, word, sig) =>
    let start := (rangeOf decl).1
    let parts := match mods with | .node _ _ args => args.toList | _ => []
    let (a, b) := rangeOf word
    let name := "example_" ++ Nat.repr (map.toPosition ⟨a⟩).line
    let w : Written := { name := p.scope.ns ++ toName name, isPrivate := false, cutStart := start, cutStop := cutEnd start parts, signatureStop := tailOf sig, inMutual := false }
    let text := String.Pos.Raw.extract source ⟨p.start⟩ ⟨a⟩ ++ "theorem " ++ name ++ String.Pos.Raw.extract source ⟨b⟩ ⟨w.signatureStop⟩
    some (w, text, (a, b))

/-! ## Proofs that are not elaborated

Who asks runs the steps of a proof anyway, so it is enough to elaborate the statement: that makes tracing about as
fast as Lean. If the steps do not lead to the end, the file is to be traced once more, with `full`. -/

mutual
/-- Does a word or a name stand in it that satisfies `p`? -/
partial def says (p : String → Bool) (stx : Syntax) : Bool :=
  match stx with
  | .node _ _ args => anySays p args.toList
  | .atom _ s => p s
  | .ident _ _ n _ => p (nameStr n)
  | .missing => false
partial def anySays (p : String → Bool) : List Syntax → Bool
  | [] => false
  | s :: l => says p s || anySays p l
end

/-- Words of proofs that Lean has to see: they are left open. -/
def isOpen (s : String) : Bool := s == "sorry" || s == "admit" || s == "stop" || s == "native_decide"

def isRfl (s : String) : Bool := s == "rfl" || s == "refl" || s.endsWith ".rfl" || s.endsWith ".refl"

/-- How often a text stands in another one. -/
def occurrences (text part : String) : Nat := len (text.splitOn part) 0 - 1

/-- Whether something may use it in its own way, not only for what it states: it has attributes, or is spoken of again.
Of a proof by `rfl` Lean makes a lemma for `dsimp`. -/
def isUsed (source : String) (w : Written) : Bool :=
  occurrences (String.Pos.Raw.extract source ⟨w.cutStart⟩ ⟨w.cutStop⟩) "@[" != 0 || occurrences source (nameStr (lastPart w.name)) > 1

/-- A theorem whose proof was left out, and what was seen of it. -/
structure Assumed where
  start : Nat
  name : Name
  stx : Syntax
  looked : Looked
  env : Environment

/-- The statement of a theorem or an example, where its proof is made of tactics and does not speak of itself. -/
def assumable (source : String) (map : FileMap) (p : Piece) : Option (Written × String) :=
  match valueIn p.stx, writtenBy p, namedExample source map p with
  | some value, [w], none => if isClosed w (proofOf value) then some (w, String.Pos.Raw.extract source ⟨p.start⟩ ⟨w.signatureStop⟩) else none
  | some value, [], some (w, text, _) => if isClosed w (proofOf value) then some (w, text) else none
  | _, _, _ => none
where
  isClosed (w : Written) (proof : ProofText) : Bool :=
    let own (s : String) : Bool := s == nameStr w.name || s == nameStr (lastPart w.name)
    !(w.inMutual || proof.more || len proof.helpers 0 != 0 || !proof.hasTactics || says (fun s => isOpen s || own s) proof.stx) &&
      !(says isRfl proof.stx && isUsed source w)

def assume (source : String) (map : FileMap) (start : Nat) (found : IO.Ref (List Assumed)) : Instead := fun p => do
  if p.first < start then return none
  match assumable source map p with
  | none => return none
  | some (w, text) =>
    let ictx := fileInput (text ++ sorryProof)
    let (stx, _, log) := parseCmd ictx (parserScope p.envBefore p.scope) {}
    match logged log with
    | _ :: _ => return none
    | [] => pure ()
    let (l, st) ← lookOn ictx { p with start := 0, stx := stx } none
    let after := { p with envAfter := st.env }
    match l.isFine, w.constant? after with
    | true, some ci => found.modify (fun as => { start := p.start, name := ci.name, stx := stx, looked := l, env := st.env } :: as)
    | _, _ => return none
    if (exampleIn p.stx).isSome then return some (p, p.before)
    return some (after, { st with messages := {}, infoState := { p.before.infoState with trees := {} } })

def assumedAt (start : Nat) : List Assumed → Option Assumed
  | [] => none
  | a :: l => if a.start == start then some a else assumedAt start l

/-! ## `qed.trace` -/

/-- Lean keeps nothing of an example; here it is elaborated as a theorem, left open. -/
def tracedExample (source : String) (map : FileMap) (assumed : List Assumed) (p : Piece) : IO (List Traced) := do
  match namedExample source map p with
  | none => return []
  | some (w, text, word) =>
    let (p', after) ← match assumedAt p.start assumed with
      | some a => pure ({ p with envAfter := a.env }, a.env)
      | none => do
        let ictx := fileInput (text ++ sorryProof)
        let (stx, _, _) := parseCmd ictx (parserScope p.envBefore p.scope) {}
        let ref ← IO.mkRef { p.before with messages := {} }
        let ctx : Command.Context := { fileName := ictx.fileName, fileMap := ictx.fileMap, cmdPos := ⟨0⟩, snap? := none, cancelTk? := none }
        let _ ← (elabCmd stx ctx ref).toBaseIO
        let st ← ref.get
        pure ({ p with stx := stx, envAfter := st.env, messages := logged st.messages }, st.env)
    return [{ written := w, constant := w.constant? p', text := text, piece := { p with envAfter := after }, word := some word }]

/-- The state at the beginning of a theorem's proof: its command is elaborated once more, with `sorry` for the proof. -/
def proofState (s : Session) (given : NameSet) (seen : Option Assumed) (t : Traced) (ci : ConstantInfo) : M GState := do
  let p := t.piece
  let text := t.text ++ sorryProof
  let (stx, looked) ← match seen with
    | some a => pure (a.stx, some a.looked)
    | none => do
      let (stx, _, log) := parseCmd (fileInput text) (parserScope p.envBefore p.scope) {}
      match (← (loggedErrors log : IO _)) with
      | m :: _ => fail "frontend" m
      | [] => pure (stx, none)
  let { env, hole } ← beginningOf text { p with start := 0, stx := stx } looked
  let scope : Scope := { p.scope with ns := hole.ctx.currNamespace, opened := hole.ctx.openDecls, opts := hole.ctx.options }
  let base : GState := { env := env, scope := scope, decl := ci.name, given := given }
  let st ← startGoal s.config base (writtenOut env p.envAfter ci.type) ci.levelParams
  let ran ← runTerm s.config st (introduce st.root (binderCount hole))
  let g ← okOr "frontend" ran
  return { (st.after ran [g]) with root := st.root }

def jproof (proof : ProofText) : Json :=
  let tactics := match proof.stx with
    | .node _ k args => if isBy k then (match rev args.toList with | seq :: _ => tacticsOf seq | [] => []) else [proof.stx]
    | _ => []
  jblock proof.stx `null (rangeOf proof.stx).1 tactics

/-- A theorem as in `qed.outline`, with its proof; and its first state where there are tactics. -/
def jtraced (r : Ref) (s : Session) (map : FileMap) (assumed : List Assumed) (given : NameSet) (t : Traced) : M Json := do
  let w := t.written
  let seen := assumedAt t.piece.start assumed
  let problem ← (whyNotTaken map t.piece w t.constant : IO _)
  let (start, stop) := rangeOf t.piece.stx
  let mut fields : List (String × Json) := [("name", jname w.name), ("boundary", jpair start stop), ("cut", jpair w.cutStart w.cutStop),
    ("signatureEnd", jnum w.signatureStop), ("private", .bool w.isPrivate), ("error", match problem with | some e => .str e | none => .null),
    ("assumed", .bool seen.isSome), ("example", match t.word with | some (a, b) => jpair a b | none => .null)]
  match problem, t.constant, valueIn t.piece.stx with
  | none, some ci, some value =>
    let proof := proofOf value
    fields := ("form", .str proof.form) :: ("proof", jproof proof) :: ("helpers", .arr (toArr (mapList jtactic proof.helpers))) ::
      ("more", .bool proof.more) :: fields
    if proof.hasTactics then
      match (← (proofState s given seen t ci).toBaseIO) with
      | .ok st =>
        let (gs, st) ← printGoals s.config st st
        let id ← addState r st
        fields := ("stateId", jnum id) :: ("goals", gs) :: fields
      | .error f => fields := ("problem", .str f.desc) :: fields
  | _, _, _ => pure ()
  return Json.mkObj fields

/-- `from`: where the file itself begins, behind the text of what it imports. -/
def qedTrace (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let start := (← nat? j "from").getD 0
  let full ← boolD j "full" false
  let found ← (IO.mkRef [] : IO (IO.Ref (List Assumed)))
  let map := (fileInput source).fileMap
  let text ← elaborate s s.env source false (undo := true) (instead := if full then none else some (assume source map start found))
  let assumed ← (found.get : IO _)
  let mut given : NameSet := {}
  for a in assumed do given := given.insert a.name
  let mut theorems := #[]
  for p in text.pieces do
    if p.first >= start then
      for w in writtenBy p do theorems := theorems.push (← jtraced r s map assumed given (tracedTheorem source p w))
      for t in (← (tracedExample source map assumed p : IO _)) do theorems := theorems.push (← jtraced r s map assumed given t)
  let mut errors := #[]
  for (start, stop, ms) in rev (badStretches map source.utf8ByteSize text.pieces []) do
    errors := errors.push (Json.mkObj [("boundary", jpair start stop), ("desc", .str (joinLines (← (placedTexts ms : IO _))))])
  return Json.mkObj [("theorems", .arr theorems), ("errors", .arr errors)]

end Repl

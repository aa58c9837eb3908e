/-
Retrace: the theorems of a source file of the library itself. Owns `qed.retrace`.

What the file declares is there already, so only those commands are elaborated that say how the others are read: what is
open, variables, options, local notations. Of a theorem its statement is, under another name, to see where its proof begins.
Its proof is told with names written out, since it is to be replayed where nothing is open.
-/

namespace Repl

/-! ## Names written out -/

/-- What an identifier is where it stands. A pattern binds it, unless it is a constructor. -/
inductive Place where
  | term
  | pattern
  | label

def tacticKind (s : String) : Name := .str (.str (.str (.str .anonymous "Lean") "Parser") "Tactic") s
def termKind (s : String) : Name := .str (.str (.str (.str .anonymous "Lean") "Parser") "Term") s

def bindsAll : List Name := [termKind "letId", termKind "haveId", .str (tacticKind "rcasesPat") "one", `Lean.binderIdent,
  tacticKind "intro", tacticKind "intros", tacticKind "renameI"]
def labelsAll : List Name := [termKind "structInstLVal", termKind "dotIdent", tacticKind "posConfigItem", tacticKind "negConfigItem", tacticKind "valConfigItem"]
def bindsSecond : List Name := [termKind "forall", termKind "explicitBinder", termKind "implicitBinder", termKind "strictImplicitBinder",
  termKind "instBinder", termKind "matchAlt"]
def labelsSecond : List Name := [termKind "namedArgument", tacticKind "open", tacticKind "set_option", termKind "open", termKind "set_option"]
def bindsLast : List Name := [tacticKind "generalizeArg", tacticKind "rename"]

/-- `h :` before something. -/
def isNaming : List Syntax → Bool
  | [.ident .., .atom _ s] => s == ":"
  | _ => false

/-- What stands in the child `i` of `n` of a node, which itself stands where `outer` is. -/
def placeIn (k : Name) (outer : Place) (i n : Nat) : Place :=
  match outer with
  | .label => .label
  | _ =>
  if hasName bindsAll k then .pattern
  else if hasName labelsAll k then .label
  else if hasName bindsSecond k then (if i == 1 then .pattern else .term)
  else if hasName labelsSecond k then (if i == 1 then .label else .term)
  else if hasName bindsLast k then (if i + 1 == n then .pattern else .term)
  else if k == termKind "basicFun" || k == termKind "letPatDecl" then (if i == 0 then .pattern else .term)
  else if k == tacticKind "inductionAltLHS" then (if i == 2 then .pattern else .label)
  else if k == tacticKind "caseArg" then (if i == 0 then .label else .pattern)
  else if k == termKind "proj" then (if i == 0 then outer else .label)
  else if k == termKind "pipeProj" then (if i == 2 then .label else .term)
  else if k == termKind "typeAscription" then (if i == 1 then outer else .term)
  else outer

structure Ident where
  place : Place
  start : Nat
  stop : Nat
  name : Name

mutual
/-- Last one first. -/
partial def identsIn (place : Place) (stx : Syntax) (acc : List Ident) : List Ident :=
  match stx with
  | .ident _ _ n _ =>
    let (a, b) := rangeOf stx
    if n.isAnonymous || b == 0 then acc else { place := place, start := a, stop := b, name := n } :: acc
  | .node _ k args =>
    if isQuotation k then acc
    else
      let l := args.toList
      if k == `null && isNaming l then identsInAll k .pattern 0 2 l acc else identsInAll k place 0 (len l 0) l acc
  | _ => acc
partial def identsInAll (k : Name) (outer : Place) (i n : Nat) (l : List Syntax) (acc : List Ident) : List Ident :=
  match l with
  | [] => acc
  | s :: l => identsInAll k outer (i + 1) n l (identsIn (placeIn k outer i n) s acc)
end

def firstPart : Name → Name
  | .str .anonymous s => .str .anonymous s
  | .str p _ => firstPart p
  | .num p _ => firstPart p
  | .anonymous => .anonymous

@[noinline] def globals (env : Environment) (sc : Scope) (n : Name) : List (Name × List String) :=
  ResolveName.resolveGlobalName env sc.opts sc.ns sc.opened n

def sameFound : List (Name × List String) → List (Name × List String) → Bool
  | [], [] => true
  | (a, p) :: l, (b, q) :: m => a == b && p == q && sameFound l m
  | _, _ => false

def isConstructor (env : Environment) (found : List (Name × List String)) : Bool :=
  match found with
  | [(c, [])] => match env.find? c with | some (.ctorInfo _) => true | _ => false
  | _ => false

/-- A stretch of a text, and what to write in its place. -/
abbrev Edit := Nat × Nat × String

/-- The identifiers that mean a constant in a scope and not where nothing is open, written so that they do. In order. -/
def longNames (env : Environment) (sc : Scope) (locals : NameSet) (stxs : List Syntax) : List Edit := Id.run do
  let mut idents : List Ident := []
  for stx in stxs do idents := identsIn .term stx idents
  let mut bound := locals
  for i in idents do
    match i.place with
    | .pattern => if !isConstructor env (globals env sc i.name) then bound := bound.insert i.name
    | _ => pure ()
  let mut out : List Edit := []
  for i in idents do
    let isLabel := match i.place with | .label => true | _ => false
    if !isLabel && !bound.contains (firstPart i.name) then
      let here := globals env sc i.name
      match here with
      | [(c, fields)] =>
        if !sameFound here (globals env { opts := sc.opts } i.name) && !isPrivateName c then
          out := (i.start, i.stop, ".".intercalate (nameStr c :: fields)) :: out
      | _ => pure ()
  return out

/-- A stretch of a text with edits, which are in order. -/
def edited (source : String) (start stop : Nat) : List Edit → String
  | [] => String.Pos.Raw.extract source ⟨start⟩ ⟨stop⟩
  | (a, b, t) :: l => String.Pos.Raw.extract source ⟨start⟩ ⟨a⟩ ++ t ++ edited source b stop l

/-! ## Theorems of the library, in the file that they come from -/

def scoping : List Name := [`Lean.Parser.Command.namespace, `Lean.Parser.Command.section, `Lean.Parser.Command.end, `Lean.Parser.Command.open,
  `Lean.Parser.Command.variable, `Lean.Parser.Command.universe, `Lean.Parser.Command.set_option, `Lean.Parser.Command.include,
  `Lean.Parser.Command.omit, `Lean.Parser.Command.eoi]
def declaring : List Name := [`Lean.Parser.Command.declaration, `Lean.Parser.Command.mutual, `Lean.Parser.Command.in, `Lean.Parser.Command.initialize]

/-- Does a command say how others are read? Of notations and attributes only what is local: the library has the rest. -/
def isScoping (stx : Syntax) : Bool :=
  hasName scoping stx.getKind || (!hasName declaring stx.getKind && hasKind (termKind "local") [stx])

/-- Where the name stands that a theorem is declared with. -/
partial def nameSpan (stx : Syntax) : Option (Nat × Nat) :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Command.in || k == `null then first args.toList
    else match args.toList with
      | [_, .node _ _ decl] => match decl.toList with
        | .atom _ word :: id :: _ => if word == "theorem" || word == "lemma" then identIn [id] else none
        | _ => none
      | _ => none
  | _ => none
where
  first : List Syntax → Option (Nat × Nat)
    | [] => none
    | s :: l => match nameSpan s with | some p => some p | none => first l
  identIn : List Syntax → Option (Nat × Nat)
    | [] => none
    | .ident i v n p :: _ => some (rangeOf (.ident i v n p))
    | .node _ _ args :: l => match identIn args.toList with | some p => some p | none => identIn l
    | _ :: l => identIn l

/-- The statement as one of another theorem, left open: doc comment and attributes are not repeated. -/
def underAnotherName (source : String) (p : Piece) (w : Written) (nameEnd : Nat) : String :=
  let text (a b : Nat) := String.Pos.Raw.extract source ⟨a⟩ ⟨b⟩
  text p.first w.cutStart ++ text w.cutStop nameEnd ++ "_retraced" ++ text nameEnd w.signatureStop ++ sorryProof

def localNames (s : Seen) : NameSet := Id.run do
  let lctx? : Option LocalContext := match s.info with
    | .ofTermInfo ti => some ti.lctx
    | .ofTacticInfo ti => match ti.goalsBefore with
      | g :: _ => match ti.mctxBefore.findDecl? g with | some d => some d.lctx | none => none
      | [] => none
    | _ => none
  let mut out : NameSet := {}
  match lctx? with
  | none => pure ()
  | some lctx => for d in localDecls lctx 0 [] do if !d.isAuxDecl then out := out.insert d.userName
  return out

/-- What the first `n` binders are called; `_` where nobody can say it. -/
partial def binderNames (e : Expr) (n : Nat) : List String :=
  match n, e with
  | n + 1, .forallE x _ b _ => (if x.hasMacroScopes || isInaccessible x || x.isInternal then "_" else nameStr x) :: binderNames b n
  | n + 1, .mdata _ b => binderNames b (n + 1)
  | _, _ => []

def openedIn (sc : Scope) : List Name := Id.run do
  let mut out : List Name := []
  let mut ns := sc.ns
  for _ in parts sc.ns do
    match ns with
    | .str p _ => out := ns :: out; ns := p
    | _ => pure ()
  for o in rev sc.opened do
    match o with
    | .simple n [] => if !hasName out n then out := n :: out
    | _ => pure ()
  return rev out

/-- A theorem with its proof as it is to be replayed. `text` is the command with names written out, and positions in the
proof are in it; `edits` say where it differs from the file. -/
def jretraced (s : Session) (source : String) (p : Piece) (w : Written) : M Json := do
  let (start, stop) := rangeOf p.stx
  let known : List (String × Json) := [("name", jname w.name), ("boundary", jpair start stop), ("cut", jpair w.cutStart w.cutStop),
    ("signatureEnd", jnum w.signatureStop), ("private", .bool w.isPrivate)]
  let lost (why : String) (fields : List (String × Json) := []) : Json := Json.mkObj (("error", .str why) :: app fields known)
  if w.isPrivate then return lost "private" else
  match s.env.find? w.name, nameSpan p.stx, valueIn p.stx with
  | none, _, _ => return lost "absent"
  | some _, none, _ => return lost "mutual"
  | some _, _, none => return lost "mutual"
  | some ci, some (_, nameEnd), some value =>
    if w.inMutual then return lost "mutual" else
    let proof := proofOf value
    if !proof.hasTactics then return lost "term" else
    let text := underAnotherName source p w nameEnd
    let (stx, _, log) := parseCmd (fileInput text) (parserScope p.envBefore p.scope) {}
    match (← (loggedErrors log : IO _)) with
    | m :: _ => return lost ("statement: " ++ m)
    | [] => pure ()
    match (← (beginningOf text { p with start := 0, stx := stx }).toBaseIO) with
    | .error f => return lost ("statement: " ++ f.desc)
    | .ok { hole, .. } =>
      let scope : Scope := { p.scope with ns := hole.ctx.currNamespace, opened := hole.ctx.openDecls, opts := hole.ctx.options }
      let edits := longNames s.env scope (localNames hole) [value]
      let text := edited source start stop edits
      let (stx, _, log) := parseCmd (fileInput text) (parserScope s.env { opts := scope.opts }) {}
      let (stx, log) := match logged log with
        | [] => (stx, log)
        | _ => let (stx, _, log) := parseCmd (fileInput text) (parserScope p.envBefore scope) {}; (stx, log)
      match (← (loggedErrors log : IO _)), valueIn stx with
      | m :: _, _ => return lost ("names: " ++ m)
      | [], none => return lost "names: it is something else then"
      | [], some value =>
        let proof := proofOf value
        let jedits := mapList (fun ((a, b, t) : Edit) => Json.arr #[jnum a, jnum b, jnum t.utf8ByteSize]) edits
        return Json.mkObj (("error", .null) :: ("text", .str text) :: ("edits", .arr (toArr jedits)) ::
          ("binders", .arr (toArr (mapList Json.str (binderNames ci.type (binderCount hole))))) ::
          ("opened", jnames (openedIn scope)) ::
          ("form", .str proof.form) :: ("proof", jproof proof) :: ("helpers", .arr (toArr (mapList jtactic proof.helpers))) ::
          ("more", .bool proof.more) :: known)

def readOnly (p : Piece) : IO (Option (Piece × Command.State)) := do
  if isScoping p.stx || terminal p.stx then return none else return some (p, p.before)

def qedRetrace (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let map := (fileInput source).fileMap
  let text ← elaborate s s.env source false (undo := true) (instead := some readOnly)
  let mut theorems := #[]
  for p in text.pieces do
    for w in writtenBy p do theorems := theorems.push (← jretraced s source p w)
  let mut errors := #[]
  for (start, stop, ms) in rev (badStretches map source.utf8ByteSize text.pieces []) do
    errors := errors.push (Json.mkObj [("boundary", jpair start stop), ("desc", .str (joinLines (← (placedTexts ms : IO _))))])
  return Json.mkObj [("theorems", .arr theorems), ("errors", .arr errors), ("commands", jnum (len text.pieces 0))]

end Repl

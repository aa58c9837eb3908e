/-
Outline: the theorems of a whole file, and where each of them stands. Owns `qed.outline`, and what a command says of
the theorem that it declares.

A command with errors is as if it were not there: what follows is elaborated without it. So what is told without an
error is the same in the file without the bad commands.
-/

namespace Repl

/-! ## Theorems as they are written -/

structure Written where
  /-- The full name. -/
  name : Name
  isPrivate : Bool
  /-- Doc comment and attributes, which say nothing about what is to be proved. -/
  cutStart : Nat
  cutStop : Nat
  signatureStop : Nat
  inMutual : Bool

def tailOf (stx : Syntax) : Nat := (rangeOf stx).2

/-- Without `_root_`; none where there is no `_root_`. -/
def fromRoot? : Name → Option Name
  | .str .anonymous "_root_" => some .anonymous
  | .str p s => match fromRoot? p with | some q => some (.str q s) | none => none
  | _ => none

def fullName (ns id : Name) : Name :=
  match fromRoot? id with
  | some n => n
  | none => ns ++ id

partial def hasKind (kind : Name) : List Syntax → Bool
  | [] => false
  | .node _ k args :: l => k == kind || hasKind kind args.toList || hasKind kind l
  | _ :: l => hasKind kind l

/-- Where doc comment and attributes end: the modifiers begin with them. -/
def cutEnd (start : Nat) : List Syntax → Nat
  | .node _ `null parts :: l =>
    if hasKind `Lean.Parser.Command.docComment parts.toList || hasKind `Lean.Parser.Term.attributes parts.toList then
      cutEnd (tailOf (.node .none `null parts)) l
    else cutEnd start l
  | _ => start

/-- A keyword and what follows it, as a theorem, below modifiers. -/
def writtenAs (ns : Name) (inMutual : Bool) (decl modifiers : Syntax) : List Syntax → Option Written
  | .atom _ word :: id :: rest =>
    if word != "theorem" && word != "lemma" then none else
    match firstName [id] with
    | none => none
    | some n =>
      let mods := match modifiers with | .node _ _ args => args.toList | _ => []
      let start := (rangeOf decl).1
      let stop := match rest with
        | sig :: _ => let t := tailOf sig; if t == 0 then tailOf id else t
        | [] => tailOf id
      some { name := fullName ns n, isPrivate := hasKind `Lean.Parser.Command.private mods, cutStart := start,
             cutStop := cutEnd start mods, signatureStop := stop, inMutual := inMutual }
  | _ => none

mutual
/-- The theorems that a command declares: one, or those of a `mutual` block. -/
partial def writtenIn (ns : Name) (inMutual : Bool) (stx : Syntax) (acc : List Written) : List Written :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Command.mutual then writtenInAll ns true args.toList acc
    else if k == `Lean.Parser.Command.in || k == `null then writtenInAll ns inMutual args.toList acc
    else match args.toList with
    | [modifiers, .node _ _ decl] =>
      -- a declaration of Lean's own, and Mathlib's `lemma`
      match writtenAs ns inMutual stx modifiers decl.toList with
      | some w => w :: acc
      | none => acc
    | _ => acc
  | _ => acc
partial def writtenInAll (ns : Name) (inMutual : Bool) : List Syntax → List Written → List Written
  | [], acc => acc
  | a :: l, acc => writtenInAll ns inMutual l (writtenIn ns inMutual a acc)
end

def writtenBy (p : Piece) : List Written := rev (writtenIn p.scope.ns false p.stx [])

@[noinline] def privateName (env : Environment) (n : Name) : Name := mkPrivateName env n

/-- The constant that came of it. -/
def Written.constant? (w : Written) (p : Piece) : Option ConstantInfo :=
  match pick w.name with
  | some ci => some ci
  | none => pick (privateName p.envBefore w.name)
where
  pick (n : Name) : Option ConstantInfo := if p.envBefore.contains n then none else p.envAfter.find? n

/-- Does a statement rest on a `sorry`, also through declarations of its file? -/
def restsOnSorry (env : Environment) (type : Expr) : Bool := (taint env type.getUsedConstants.toList {} {}).hasSorry

/-! ## `qed.outline` -/

/-- Why a theorem cannot be taken out of its file; none where it can. -/
def whyNotTaken (map : FileMap) (p : Piece) (w : Written) (ci : Option ConstantInfo) : IO (Option String) := do
  match (← placedTexts (p.errors map).2), ci with
  | [], none => return some "Lean made no theorem of it"
  | [], some ci =>
    if w.inMutual then return some "it stands in a `mutual` block"
    else if restsOnSorry p.envAfter ci.type then return some "its statement rests on sorry"
    else return none
  | es, _ => return some (joinLines es)

def jwritten (s : Session) (map : FileMap) (p : Piece) (w : Written) : M Json := do
  let ci := w.constant? p
  let error ← (whyNotTaken map p w ci : IO _)
  let mut statement := ""
  let mut size := 0
  let mut unproved := false
  match ci, error with
  | some ci, none =>
    let g : GState := { env := p.envAfter, scope := { p.scope with opts := statementOptions p.scope.opts }, levels := ci.levelParams }
    let ran ← runTerm s.config g (fun _ _ mc ms cc cs => ppText ci.type mc ms cc cs)
    statement := match ran.val with | .ok t => t | .error _ => "<failed to pretty print>"
    size := exprSize ci.type 0
    unproved := match ci.value? (allowOpaque := true) with | some v => v.hasSorry | none => false
    if !unproved then unproved ← (leavesSorry p.messages : IO _)
  | _, _ => pure ()
  let (start, stop) := rangeOf p.stx
  return Json.mkObj [("name", jname w.name), ("boundary", jpair start stop), ("cut", jpair w.cutStart w.cutStop),
    ("signatureEnd", jnum w.signatureStop), ("statement", .str statement), ("size", jnum size), ("sorry", .bool unproved),
    ("private", .bool w.isPrivate), ("inMutual", .bool w.inMutual), ("error", match error with | some e => .str e | none => .null)]

/-- The stretches of a text with errors: what is no command, and commands, each up to the next. Last one first. -/
def badStretches (map : FileMap) (size : Nat) : List Piece → List (Nat × Nat × List Message) → List (Nat × Nat × List Message)
  | [], acc => acc
  | p :: ps, acc =>
    let stop := match ps with | q :: _ => q.first | [] => size
    let (skipped, own) := p.errors map
    let acc := match skipped with | [] => acc | ms => (p.start, p.first, ms) :: acc
    badStretches map size ps (match own with | [] => acc | ms => (p.first, stop, ms) :: acc)

def qedOutline (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let text ← elaborate s s.env source false (undo := true)
  let map := (fileInput source).fileMap
  let mut theorems := #[]
  for p in text.pieces do
    for w in writtenBy p do
      theorems := theorems.push (← jwritten s map p w)
  let mut errors := #[]
  for (start, stop, ms) in rev (badStretches map source.utf8ByteSize text.pieces []) do
    errors := errors.push (Json.mkObj [("boundary", jpair start stop), ("desc", .str (joinLines (← (placedTexts ms : IO _))))])
  return Json.mkObj [("theorems", .arr theorems), ("errors", .arr errors)]

end Repl

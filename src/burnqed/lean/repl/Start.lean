/-
Start: `qed.start`. A proof that begins as the proof of a theorem in a text does, or in place of a `sorry` of a file, or
the proof of a theorem's negation.
-/

namespace Repl

partial def countVars (lctx : LocalContext) (i n : Nat) : Nat :=
  if i < lctx.numIndices then
    match lctx.getAt? i with
    | none => countVars lctx (i + 1) n
    | some d => countVars lctx (i + 1) (if d.isImplementationDetail || d.isAuxDecl then n else n + 1)
  else n

/-- How many binders stand before the colon: the hypotheses that the `sorry` sees. -/
def binderCount (s : Seen) : Nat :=
  match s.info with
  | .ofTermInfo ti => countVars ti.lctx 0 0
  | .ofTacticInfo ti =>
    match ti.goalsBefore with
    | g :: _ => match ti.mctxBefore.findDecl? g with | some d => countVars d.lctx 0 0 | none => 0
    | [] => 0
  | _ => 0

partial def stripLambdas (e : Expr) (n : Nat) : Expr :=
  match n, e with
  | 0, e => e
  | n + 1, .lam _ _ b _ => stripLambdas b n
  | n + 1, .mdata _ b => stripLambdas b (n + 1)
  | _, e => e

partial def stripMData (e : Expr) : Expr := match e with | .mdata _ b => stripMData b | e => e

def isEnd (p : Piece) : Bool := let k := p.stx.getKind; k == `Lean.Parser.Command.end || k == `Lean.Parser.Command.eoi

/-- The piece that is to be proved: the last one, but for `end`s. -/
def lastPiece (ps : List Piece) : Option Piece :=
  match keep (fun p => !isEnd p) ps with
  | [] => none
  | l => nth? (rev l) 0

/-- What a piece declares: the theorem that it is written as, or an `example`. -/
def statementOf (p : Piece) : M ConstantInfo := do
  match writtenBy p with
  | [w] =>
    match w.constant? p with
    | some ci => return ci
    | none => fail "frontend" "the last command must be a theorem"
  | _ :: _ => fail "frontend" "the last command declares more than one theorem"
  | [] =>
    let found := keep (fun (c : Name × ConstantInfo) => isPrefixName `_example c.1 && (c.2.value? (allowOpaque := true)).isSome)
      (addedConstants p.envBefore p.envAfter)
    match found with
    | [(_, ci)] => return ci
    | _ => fail "frontend" "the last command must be a theorem"

/-- Where a proof begins: in the environment with what the statement itself brings (a `match` in it is a function of its
own), and without the theorem. -/
structure Beginning where
  env : Environment
  /-- The `sorry` that stands for the proof. -/
  hole : Seen

/-- `seen`: the command as it was looked at already. -/
def beginningOf (source : String) (p : Piece) (seen : Option Looked := none) : M Beginning := do
  let ictx := fileInput source
  match spotsOf p with
  | [spot] =>
    let l ← match seen with
      | some l => pure l
      | none => (look ictx p none : IO Looked)
    match l.sightsAt ictx spot.start, l.nodes with
    | sight :: _, hole :: _ => return { env := sight.ctx.env, hole := hole }
    | _, _ => fail "frontend" "Lean never comes to the proof"
  | [] => fail "frontend" "there is no sorry to prove"
  | _ => fail "frontend" "the proof must be `sorry` and nothing else"

/-- A statement as it is when its proof begins. Of proofs inside it Lean makes lemmas afterwards; here they are
written out again. -/
partial def writtenOut (there after : Environment) (e : Expr) : Expr :=
  e.replace fun e => match e with
    | .const n ls =>
      if there.contains n then none else
      match after.find? n with
      | some ci => match ci.value? (allowOpaque := true) with
        | some v => some (writtenOut there after (v.instantiateLevelParams ci.levelParams ls))
        | none => none
      | none => none
    | _ => none

def qedStart (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let source ← str j "file"
  let hide := (← names? j "hide").getD []
  let negate ← boolD j "negate" false
  let gate ← readGate j []
  let ps ← match hide with
    | [] => piecesOf r source gate
    | _ => do
      let mut env := s.env
      for n in hide do env := (← hideConstant s.config env n).1
      checked (← (elaborate s env source false {} gate : IO Text)).pieces
  match lastPiece ps with
  | none => fail "frontend" "there is no theorem in this text"
  | some p =>
    let ci ← statementOf p
    if restsOnSorry p.envAfter ci.type then fail "frontend" "the statement itself rests on sorry" else
    let { env, hole } ← beginningOf source p
    let n := binderCount hole
    let body := stripMData (stripLambdas ((ci.value? (allowOpaque := true)).getD (.sort .zero)) n)
    if !body.isSorry then fail "frontend" "the proof must be `sorry` and nothing else" else
    -- inside the declaration the scope may be wider than before it (`open … in`, `set_option … in`)
    let scope : Scope := { p.scope with ns := hole.ctx.currNamespace, opened := hole.ctx.openDecls, opts := hole.ctx.options }
    let base : GState := { env := env, scope := scope, decl := ci.name }
    let type := writtenOut env p.envAfter ci.type
    let type ← if negate then negation s.config base type else pure type
    let st ← startGoal s.config base type ci.levelParams
    let ran ← runTerm s.config st (introduce st.root (if negate then 0 else n))
    let g ← okOr "frontend" ran
    let st := { (st.after ran [g]) with root := st.root }
    let printed ← runTerm s.config { st with mctx := {} } (jexprTerm s.config type)
    let printed ← okOr "frontend" printed
    let id ← addState r st
    let gs ← jgoals s.config st
    return Json.mkObj [("stateId", jnum id), ("root", jname st.root.name), ("goals", gs), ("name", jname ci.name), ("type", printed)]

def qedStartAny (r : Ref) (j : Json) : M Json := do
  match (← nat? j "hole") with
  | some i => qedStartHole r j i
  | none => qedStart r j

end Repl

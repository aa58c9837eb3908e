/-
Check: the last word on proofs. Owns `qed.certify`, `qed.compile`, `qed.verify` and `frontend.track`.

Nothing that elaboration added is believed. Every declaration a proof needs is taken out of the
environment it was elaborated in and replayed, one by one and in order of dependency, through the kernel
into the environment as it was right after import. A declaration that got past the kernel on the way
(`debug.skipKernelTC`, a metaprogram) is caught here, because here the kernel sees it.
-/

namespace Repl

/-! ## Replay -/

/-- Where declarations are looked up. -/
structure Source where
  find? : Name → Option ConstantInfo

@[noinline] def ofEnv (env : Environment) : Source := ⟨fun n => env.find? n⟩

abbrev Failures := Std.TreeMap Name String Name.quickCmp

structure Replay where
  /-- Where the declarations come from. -/
  src : Source
  /-- What the kernel accepted so far, on top of the pristine environment. -/
  env : Environment
  /-- Why a declaration is not in `env`. -/
  failed : Failures := {}
  /-- Names whose dependencies are being replayed: meeting one again is a cycle. -/
  pending : NameSet := {}
  heartbeats : USize

@[noinline] def kernelText (e : Kernel.Exception) : IO String := do
  try (e.toMessageData {}).toString catch _ => return "kernel error"

@[noinline] def kernelAdd (env : Environment) (heartbeats : USize) (d : Declaration) : Except Kernel.Exception Environment :=
  env.addDeclCore heartbeats d none

def constsOf (e : Expr) (acc : List Name) : List Name := app e.getUsedConstants.toList acc

/-- Constants that a declaration mentions. -/
def mentions (src : Source) (ci : ConstantInfo) : List Name := Id.run do
  let mut out := constsOf ci.type []
  match ci with
  | .thmInfo v => out := constsOf v.value out
  | .defnInfo v => out := constsOf v.value out
  | .opaqueInfo v => out := constsOf v.value out
  | .inductInfo v =>
    for c in v.ctors do
      match src.find? c with
      | some c => out := constsOf c.type out
      | none => pure ()
  | .ctorInfo v => out := v.induct :: out
  | .recInfo v => out := app v.all out
  | _ => pure ()
  return out

def inductiveTypes (src : Source) (all : List Name) : Option (List InductiveType) := Id.run do
  let mut out : List InductiveType := []
  let mut ok := true
  for n in all do
    match src.find? n with
    | some (.inductInfo v) =>
      let mut ctors : List Constructor := []
      for c in v.ctors do
        match src.find? c with
        | some (.ctorInfo cv) => ctors := { name := c, type := cv.type } :: ctors
        | _ => ok := false
      out := { name := n, type := v.type, ctors := rev ctors } :: out
    | _ => ok := false
  return if ok then some (rev out) else none

/-- The declaration that makes `ci`, where there is one that may be replayed. -/
def declarationOf (src : Source) (ci : ConstantInfo) : Except String Declaration :=
  match ci with
  | .thmInfo v => .ok (.thmDecl v)
  | .defnInfo v => match v.safety with
    | .safe => .ok (.defnDecl v)
    | _ => .error "unsafe or partial definition"
  | .opaqueInfo v => if v.isUnsafe then .error "unsafe constant" else .ok (.opaqueDecl v)
  | .axiomInfo _ => .error "axiom"
  | .quotInfo _ => .error "quotient primitive"
  | .inductInfo v =>
    if v.isUnsafe then .error "unsafe inductive type" else
    match inductiveTypes src v.all with
    | some ts => .ok (.inductDecl v.levelParams v.numParams ts false)
    | none => .error "incomplete inductive type"
  | .ctorInfo _ => .error "constructor without its type"
  | .recInfo _ => .error "recursor without its type"

@[noinline] def whyNot (r : Replay) (n : Name) : Option String := r.failed.get? n

@[noinline] def failWith (r : Replay) (n : Name) (why : String) : Replay := { r with failed := r.failed.insert n why }

mutual
/-- Makes sure that `n` is in `r.env` (checked by the kernel) or in `r.failed`. -/
partial def replay (r : Replay) (n : Name) : IO Replay := do
  if r.env.contains n then return r
  if (whyNot r n).isSome then return r
  if r.pending.contains n then return failWith r n "circular dependency"
  match r.src.find? n with
  | none => return failWith r n ("unknown constant " ++ nameStr n)
  | some (.ctorInfo v) => viaType r n [v.induct]
  | some (.recInfo v) => viaType r n v.all
  | some ci =>
    let mine := match ci with | .inductInfo v => v.all | _ => [n]
    let mut r := r
    for m in mine do r := { r with pending := r.pending.insert m }
    match declarationOf r.src ci with
    | .error why => return failWith r n why
    | .ok d =>
      let mut deps := []
      for m in mine do
        match r.src.find? m with
        | some c => deps := app (mentions r.src c) deps
        | none => pure ()
      let mut bad : Option Name := none
      for c in deps do
        if !hasName mine c && !isOwnCtor r.src mine c then
          r ← replay r c
          if bad.isNone && !r.env.contains c then bad := some c
      match bad with
      | some b =>
        let why := (whyNot r b).getD "not accepted"
        return failWith r n ("needs " ++ nameStr b ++ ": " ++ why)
      | none =>
        countAnew
        match kernelAdd r.env r.heartbeats d with
        | .ok env => return { r with env := env }
        | .error e => return failWith r n (← kernelText e)
partial def viaType (r : Replay) (n : Name) (all : List Name) : IO Replay := do
  let mut r := r
  for t in all do r ← replay r t
  if r.env.contains n then return r
  match all with
  | t :: _ => return failWith r n ("needs " ++ nameStr t ++ ": " ++ (whyNot r t).getD "it does not make this constant")
  | [] => return failWith r n "belongs to no type"
partial def isOwnCtor (src : Source) (mine : List Name) (c : Name) : Bool :=
  match src.find? c with
  | some (.ctorInfo v) => hasName mine v.induct
  | _ => false
end

def kernelBudget (cfg : Config) : USize :=
  let n := cfg.maxHeartbeats * 1000
  Nat.toUSize (if n > 4000000000 then 4000000000 else n)

/-! ## What a term rests on -/

structure Support where
  /-- Constants that are not imported. -/
  new : NameSet := {}
  /-- Imported constants. -/
  library : NameSet := {}
  axioms : NameSet := {}

partial def support (src : Source) (pristine : Environment) (todo : List Name) (acc : Support) : Support :=
  match todo with
  | [] => acc
  | n :: todo =>
    if acc.library.contains n || acc.new.contains n then support src pristine todo acc
    else
      match pristine.find? n with
      | some ci =>
        let acc := { acc with library := acc.library.insert n }
        support src pristine todo (if isRealAxiom pristine ci then { acc with axioms := acc.axioms.insert n } else acc)
      | none =>
        let acc := { acc with new := acc.new.insert n }
        match src.find? n with
        | none => support src pristine todo acc
        | some ci =>
          let acc := match ci with | .axiomInfo _ => { acc with axioms := acc.axioms.insert n } | _ => acc
          support src pristine (app (mentions src ci) todo) acc

abbrev AxiomMemo := Std.TreeMap Name Basis Name.quickCmp

def union (a b : List Name) : List Name := Id.run do
  let mut out := b
  for n in a do
    if !hasName out n then out := n :: out
  return out

def Basis.join (a b : Basis) : Basis := { axioms := union a.axioms b.axioms, complete := a.complete && b.complete }

@[noinline] def isProjection (env : Environment) (n : Name) : Bool := env.isProjectionFn n

/-- Was a constant declared with a body that this library was loaded without? A projection's is known: it takes a part of
its structure, which is in its type. -/
def lacksBody (env : Environment) (ci : ConstantInfo) : Bool :=
  match ci with
  | .axiomInfo _ => !isRealAxiom env ci && !isProjection env ci.name
  | _ => false

/-- What the declaration of an imported constant mentions. Types that are declared together are one, so nothing is ever
found to rest on itself. -/
def restsOn (env : Environment) (ci : ConstantInfo) : List Name := Id.run do
  match ci with
  | .inductInfo v =>
    let mut out := []
    for t in v.all do
      match env.find? t with
      | some c => out := app (mentions (ofEnv env) c) out
      | none => pure ()
    return keep (fun n => !hasName v.all n) out
  | _ => return mentions (ofEnv env) ci

/-- The axioms below an imported constant, as far as bodies are there to look into. -/
partial def axiomsBelow (env : Environment) (n : Name) (memo : AxiomMemo) : Basis × AxiomMemo :=
  match memo.get? n with
  | some b => (b, memo)
  | none =>
    match env.find? n with
    | none => ({ complete := false }, memo)
    | some ci => Id.run do
      -- were it met again below itself, nothing would be known
      let mut memo := memo.insert n { complete := false }
      let mut out : Basis := { axioms := if isRealAxiom env ci then [n] else [], complete := !lacksBody env ci }
      for m in restsOn env ci do
        let (b, memo') := axiomsBelow env m memo
        memo := memo'
        out := out.join b
      return (out, memo.insert n out)

/-- All axioms of a support that can be seen, and whether there may be others: a library that was loaded without its
proofs does not tell what these rest on. There, where a body is missing among the constants that are used directly, no
further one is looked into: that takes time and does not make the list whole. -/
def allAxioms (r : Ref) (s : Support) : M Basis := do
  let se ← (r.get : IO Session)
  let library := s.library.toList
  let mut out : Basis := { axioms := s.axioms.toList }
  if !se.proofsAreThere && some? (hidden se.pristine) library then
    return { axioms := sortNames out.axioms, complete := false }
  let mut memo := se.axiomsOf
  for n in library do
    let (b, m) := axiomsBelow se.pristine n memo
    memo := m
    out := out.join b
  let memo' := memo
  r.modify (fun s => { s with axiomsOf := memo' })
  return { out with axioms := sortNames out.axioms }
where
  hidden (env : Environment) (n : Name) : Bool := match env.find? n with
    | some ci => lacksBody env ci
    | none => true

def jaxioms (b : Basis) : List (String × Json) := [("axioms", jnames b.axioms), ("axiomsComplete", .bool b.complete)]

def jconstants (env : Environment) (s : Support) : Json := .arr (toArr (mapList (fun n =>
  Json.mkObj [("name", jname n), ("module", jname ((moduleOf? env n).getD .anonymous))]) s.library.toList))

/-! ## `qed.certify` -/

@[noinline] def zeroLevels (e : Expr) : Expr :=
  if e.hasLevelMVar then e.replaceLevel (fun l => match l with | .mvar _ => some .zero | _ => none) else e

@[noinline] def rootPair (root : MVarId) : TermElabM (Expr × Expr × Bool) := do
  let d ← root.getDecl
  let type ← instMVars d.type
  let value ← instMVars (.mvar root)
  let prop ← isProp type
  return (type, value, prop)

def certificateName : Name := `_qed.certificate

def qedCertify (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let st ← getState s (← nat j "stateId")
  let no (why : String) : M Json := pure (Json.mkObj (app [("ok", .bool false), ("desc", .str why), ("constants", .arr #[])] (jaxioms { complete := false })))
  if st.root.name.isAnonymous then no "this state has no single root" else
  let ran ← runTerm s.config st (rootPair st.root)
  let (type, value, prop) ← okOr "exception" ran
  if value.hasExprMVar || type.hasExprMVar then no "the proof is not finished: it contains metavariables" else
  -- a universe that nothing determines may be any
  let type := zeroLevels type
  let value := zeroLevels value
  if value.hasFVar || type.hasFVar then no "the proof contains free variables" else
  let start := constsOf type (constsOf value [])
  let sup := support (ofEnv st.env) s.pristine start {}
  let basis ← allAxioms r sup
  let mut rep : Replay := { src := ofEnv st.env, env := s.pristine, heartbeats := kernelBudget s.config }
  for n in start do rep ← replay rep n
  let mut bad : Option String := none
  for n in start do
    if bad.isNone && !rep.env.contains n then
      bad := some (nameStr n ++ ": " ++ (whyNot rep n).getD "not accepted")
  let finish (ok : Bool) (desc : String) : M Json :=
    pure (Json.mkObj (app [("ok", .bool ok), ("desc", .str desc), ("constants", jconstants s.pristine sup)] (jaxioms basis)))
  match bad with
  | some b => finish false b
  | none =>
    let d := if prop then Declaration.thmDecl { name := certificateName, levelParams := st.levels, type := type, value := value }
      else Declaration.defnDecl { name := certificateName, levelParams := st.levels, type := type, value := value, hints := .opaque, safety := .safe }
    countAnew
    match kernelAdd rep.env rep.heartbeats d with
    | .error e => finish false (← kernelText e)
    | .ok _ => if hasName basis.axioms ``sorryAx then finish false "the proof contains sorry" else finish true ""

/-! ## Comparing with a constant of the library -/

/-- Is `ci` the statement of `target`, up to the names of universe parameters? -/
def sameStatement (target ci : ConstantInfo) : Bool :=
  len target.levelParams 0 == len ci.levelParams 0 &&
    sameType (target.type.instantiateLevelParams target.levelParams (levelsAs ci.levelParams)) ci.type

/-! ## `qed.compile` -/

/-- The declarations of a text with the piece they come from, in source order. -/
def declared (t : Text) : List (Piece × ConstantInfo) := Id.run do
  let mut out : List (Piece × ConstantInfo) := []
  for p in t.pieces do
    let added := addedConstants p.envBefore p.envAfter
    for n in sortNames (mapList (fun (c : Name × ConstantInfo) => c.1) added) do
      match p.envAfter.find? n with
      | some ci => out := (p, ci) :: out
      | none => pure ()
  return rev out

def allMessages (t : Text) : List Message := Id.run do
  let mut out := []
  for p in t.pieces do out := app out p.messages
  return out

def isPartialDef : ConstantInfo → Bool
  | .defnInfo v => match v.safety with | .partial => true | _ => false
  | _ => false


def jcommands (t : Text) : Json := Id.run do
  let mut out := #[]
  for p in t.pieces do
    if !(terminal p.stx) then
      out := out.push (Json.mkObj [("kind", jname p.stx.getKind), ("boundary", jpair p.start p.stop), ("heartbeats", jnum p.heartbeats),
        ("first", jnum p.first), ("messages", jnum (len p.messages 0))])
  return .arr out

/-- The session with the budget that a request names. -/
def budgeted (s : Session) (j : Json) : M Session := do
  match (← nat? j "maxHeartbeats") with
  | some n => return { s with config := { s.config with maxHeartbeats := n } }
  | none => return s

/-- Elaborates an untrusted text behind the gate, and hands out what it declared as data. Nothing that this
process says afterwards is believed: `qed.verify`, in another one, decides. -/
def qedCompile (r : Ref) (j : Json) : M Json := do
  let s ← budgeted (← (r.get : IO Session)) j
  let file ← str j "file"
  let mut env := s.pristine
  for n in (← names? j "hide").getD [] do
    let (e, _) ← hideConstant s.config env n
    env := e
  let refGate ← readGate j [] "referenceGate"
  let (trusted, refMessages, refCommands) ← match (← str? j "reference") with
    | none => pure ([], #[], Json.arr #[])
    | some t => do
      let x ← (elaborate s env t false {} refGate : IO Text)
      pure (mapList (fun (p : Piece) => textOf t p.stx) x.pieces, ← (jmessages (allMessages x) : IO _), jcommands x)
  -- a reference that has to pass a gate itself is nobody's word for another text
  let gate ← readGate j (if refGate.isSome then [] else trusted)
  let text ← (elaborate s env file false {} gate : IO Text)
  return Json.mkObj [
    ("commands", jcommands text), ("messages", .arr (← (jmessages (allMessages text) : IO _))),
    ("referenceCommands", refCommands), ("referenceMessages", .arr refMessages),
    ("export", exportConstants (mapList (fun (c : Name × ConstantInfo) => c.2) (addedConstants env text.env)))]

/-! ## `qed.verify` -/

abbrev Table := Std.TreeMap Name ConstantInfo Name.quickCmp

def tableOf (cs : List ConstantInfo) : Table := Id.run do
  let mut t : Table := {}
  for c in cs do t := t.insert c.name c
  return t

@[noinline] def inTable (t : Table) (n : Name) : Option ConstantInfo := t.get? n

/-- A declaration as the kernel has it, else as it was handed in; `none` for what the library has. -/
def found (rep : Replay) (pristine : Environment) (n : Name) : Option ConstantInfo :=
  if pristine.contains n then none
  else match rep.env.find? n with
    | some ci => some ci
    | none => rep.src.find? n

/-- A trusted text: all that it declares, what its author declared, first one first, and whether it leaves something open that
has no name, such as an `example`. -/
structure Reference where
  table : Table
  written : List Name
  nameless : Bool

def readReference (s : Session) (source : String) (gate : Option Gate) : M Reference := do
  let text ← (elaborate s s.pristine source false {} gate : IO Text)
  let all ← withoutMetadata (mapList (fun (c : Name × ConstantInfo) => c.2) (addedConstants s.pristine text.env))
  let mut written : List Name := []
  let mut nameless := false
  for p in text.pieces do
    written := revOnto (sortNames p.written) written
    if !nameless && (← (leavesSorry p.messages : IO _)) then
      nameless := !some? (fun (c : Name × ConstantInfo) => leftOpen c.2 || c.2.type.hasSorry) (addedConstants p.envBefore p.envAfter)
  return { table := tableOf all, written := rev written, nameless := nameless }

/-- Does the author leave a proof open in the value of this definition, itself or in what Lean made of it on the way? -/
def Reference.leavesOpen (l : Reference) (library : Environment) (ci : ConstantInfo) : Bool :=
  let own : Source := ⟨fun n => if hasName l.written n then none else inTable l.table n⟩
  (support own library (mentions own ci) {}).axioms.contains ``sorryAx

/-- What there is to say about a theorem that came as data. -/
structure Look where
  ci : ConstantInfo
  sup : Support
  basis : Basis
  kernel : Option String

def lookAt (r : Ref) (rep : Replay) (pristine : Environment) (ci : ConstantInfo) : M Look := do
  let ci := (found rep pristine ci.name).getD ci
  let sup := support rep.src pristine (mentions rep.src ci) {}
  let kernel := match whyNot rep ci.name with
    | some why => some why
    | none => if rep.env.contains ci.name then none else some "not accepted"
  return { ci := ci, sup := sup, basis := ← allAxioms r sup, kernel := kernel }

/-- Does what came as data rest on `sorry`? -/
def isUnfinished (rep : Replay) (pristine : Environment) (n : Name) : Bool := match found rep pristine n with
  | some ci => (support rep.src pristine (mentions rep.src ci) {}).axioms.contains ``sorryAx
  | none => false

def isPartOfType : ConstantInfo → Bool
  | .ctorInfo _ | .recInfo _ => true
  | _ => false

def Look.bad (l : Look) : Bool := l.kernel.isSome || hasName l.basis.axioms ``sorryAx

/-- Declarations that came as data, against the kernel and a trusted reference. Sees no untrusted text. -/
def qedVerify (r : Ref) (j : Json) : M Json := do
  let s ← budgeted (← (r.get : IO Session)) j
  let decls ← importConstants (← part j "export")
  let table := tableOf decls
  let target ← match (← str? j "target") with
    | none => pure none
    | some t => match s.pristine.find? (toName t) with
      | some ci => do
        let plain ← withoutMetadata [.axiomInfo { name := ci.name, levelParams := ci.levelParams, type := ci.type, isUnsafe := false }]
        pure (nth? plain 0)
      | none => fail "index" ("Symbol not found: " ++ t)
  let refGate ← readGate j [] "referenceGate"
  let leak ← match target, (← str? j "leak") with
    | some t, some rule => do pure (some (← readLeak s.pristine t.name rule))
    | _, _ => pure none
  let reference ← match (← str? j "reference") with
    | none => pure none
    | some t => do pure (some (← readReference s t refGate))
  let src : Source := ⟨fun n => match inTable table n with | some c => some c | none => s.pristine.find? n⟩
  let mut rep : Replay := { src := src, env := s.pristine, heartbeats := kernelBudget s.config }
  for ci in decls do
    match ci with
    | .axiomInfo _ => rep := failWith rep ci.name "axiom"
    | _ => rep ← replay rep ci.name
  let replayed := rep
  let sides (l : Reference) : Sides := ⟨s.pristine, inTable l.table, found replayed s.pristine⟩
  -- what the reference's author declared; a definition with a `sorry` for a proof is asked about as a theorem is
  let mut missing : List Name := []
  let mut changed : List Name := []
  let mut asked : NameSet := {}
  let mut opened : NameSet := {}
  let mut asks := false
  match reference with
  | none => pure ()
  | some l =>
    for n in l.written do
      match inTable l.table n with
      | some (.thmInfo _) =>
        asks := true
        asked := asked.insert n
        match found rep s.pristine n with
        | some (.thmInfo _) => pure ()
        | _ => missing := n :: missing
      | some ci =>
        let isOpen := !isPartOfType ci && l.leavesOpen s.pristine ci
        if isOpen then asks := true
        if !sameMeaning (sides l) n then changed := n :: changed
        else if isOpen || (!isPartOfType ci && isUnfinished rep s.pristine n) then opened := opened.insert n
      | none => pure ()
  for n in (← names? j "written").getD [] do asked := asked.insert n
  -- theorems that are asked about, and then those that none of them rests on: a bad one among these is a person's
  let askedFor := asked
  let definitions := opened
  let theorems := keep (fun ci => (isThm ci || definitions.contains ci.name) && !s.pristine.contains ci.name) decls
  let isAsked (ci : ConstantInfo) : Bool :=
    definitions.contains ci.name || askedFor.contains ci.name || askedFor.contains (publicName ci.name)
  let mut looks : List Look := []
  let mut below : NameSet := {}
  let mut bad : NameSet := {}
  for ci in keep isAsked theorems do
    let look ← lookAt r rep s.pristine ci
    for n in look.sup.new.toList do below := below.insert n
    if look.bad then bad := bad.insert ci.name
    looks := look :: looks
  let covered := below
  -- of the file's own definitions, those that are not finished, and not for another that is listed
  let isOpen (ci : ConstantInfo) : Bool := isThm ci || isUnfinished replayed s.pristine ci.name
  let own (ci : ConstantInfo) : Bool := !isAsked ci && !covered.contains ci.name && !s.pristine.contains ci.name
  for ci in keep (fun ci => own ci && isOpen ci) decls do
    let look ← lookAt r rep s.pristine ci
    let listed := bad
    if look.bad && !some? (fun n => listed.contains n) look.sup.new.toList then
      bad := bad.insert ci.name
      looks := look :: looks
  let mut out := #[]
  for look in rev looks do
    let ci := look.ci
    let type ← jexprM { s with env := rep.env, scope := {} } ci.type
    let refState := match reference with
      | none => Json.null
      | some l => match inTable l.table ci.name with
        | none => .str "missing"
        | some _ => .str (if sameMeaning (sides l) ci.name then "same" else "differs")
    let fields : List (String × Json) := app (jaxioms look.basis) [("name", jname (publicName ci.name)), ("type", type), ("kind", .str (kindText s.pristine ci)),
      ("constants", jconstants s.pristine look.sup), ("kernel", match look.kernel with | none => .null | some k => .str k),
      ("hasSorry", .bool (hasName look.basis.axioms ``sorryAx)), ("reference", refState)]
    let fields ← match leak with
      | none => pure fields
      | some l => do
        let leaked ← (l.first s.pristine look.sup.library.toList : IO _)
        pure (("leak", match leaked with | some n => jname n | none => .null) :: fields)
    out := out.push (Json.mkObj (match target with
      | none => fields
      | some t => ("target", .str (if sameStatement t ci then "same" else "differs")) :: fields))
  return Json.mkObj [
    ("theorems", .arr out), ("asks", .bool asks), ("nameless", .bool (match reference with | some l => l.nameless | none => false)), ("missing", jnames (mapList publicName (rev missing))),
    ("changed", jnames (mapList publicName (rev changed)))]

/-! ## `frontend.track` -/

/-- Why `dst` is not `src` with its `sorry`s filled in; `none` where it is. -/
def trackFailure (s : Session) (src dst : Text) : IO (Option String) := do
  let mut rep : Replay := { src := ofEnv dst.env, env := s.env, heartbeats := kernelBudget s.config }
  for (_, ci) in declared dst do
    if ci.type.hasSorry then return some ("Definition type has sorry: " ++ nameStr ci.name)
    match ci.value? (allowOpaque := true) with
    | some v => if v.hasSorry then return some ("Definition value has sorry: " ++ nameStr ci.name)
    | none => pure ()
    match ci with
    | .axiomInfo _ => if !(src.env.contains ci.name) then return some ("Adding axiom is not allowed: " ++ nameStr ci.name)
    | _ =>
      if !ci.isUnsafe && !isPartialDef ci then
        rep ← replay rep ci.name
        match whyNot rep ci.name with
        | some why => return some (nameStr ci.name ++ ": " ++ why)
        | none => pure ()
  let sides : Sides := ⟨s.env, fun n => src.env.find? n, fun n => dst.env.find? n⟩
  -- what was left open may be anything of its type
  let mut filled : Agreed := {}
  for (_, a) in declared src do
    if leftOpen a then filled := filled.addName a.name a.name
  for (p, a) in declared src do
    if hasName p.written a.name then
      match dst.env.find? a.name with
      | none => return some (nameStr a.name ++ " not accounted for")
      | some b =>
        if !sameNames a.levelParams b.levelParams then return some ("Level param clash of " ++ nameStr a.name)
        if (agreeExpr sides a.type b.type filled).isNone then return some ("Type clash of " ++ nameStr a.name)
        let ok := if leftOpen a then kindText src.env a == kindText dst.env b
          else match a, b with
            | .thmInfo x, .thmInfo y => (agreeExpr sides x.value y.value filled).isSome
            | _, _ => (agreeInfo sides a b filled).isSome
        if !ok then return some ("Definition clash of " ++ nameStr a.name)
  return none

def frontendTrack (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let src ← (elaborate s s.env (← str j "src") false : IO Text)
  let dst ← (elaborate s s.env (← str j "dst") false : IO Text)
  let a := allMessages src
  let b := allMessages dst
  if some? isError a || some? isError b then
    return Json.mkObj [("srcMessages", .arr (← (jmessages a : IO _))), ("dstMessages", .arr (← (jmessages b : IO _)))]
  let none' := [("srcMessages", Json.arr #[]), ("dstMessages", Json.arr #[])]
  match (← (trackFailure s src dst : IO _)) with
  | some why => return Json.mkObj (("failure", .str why) :: none')
  | none => return Json.mkObj none'

end Repl

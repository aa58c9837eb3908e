/-
Facts: what a goal says, for clients that would else have to guess it from the text: the form of a proposition down to its
atoms, each with its place in the printed text; the head of a type; the definitions and the numerals that are written.

Nothing is printed twice: the pretty-printer marks which part of the text is which part of the expression, and those marks
are the places.
-/

namespace Repl

/-! ## Printing with places -/

/-- A printed expression: its text, and for parts of the expression, by their `SubExpr.Pos`, the characters where they stand. -/
structure Shown where
  text : String
  places : List (Nat × Nat × Nat)

mutual
/-- The places of marks in a text that begins at character `at'`, the last one first, and the text's pieces. -/
partial def placesIn (t : Widget.TaggedText (Nat × Nat)) (wanted : Nat → Bool) (at' : Nat) (text : String) (acc : List (Nat × Nat × Nat)) :
    Nat × String × List (Nat × Nat × Nat) :=
  match t with
  | .text s => (at' + s.length, text ++ s, acc)
  | .append ts => placesInAll ts 0 wanted at' text acc
  | .tag (p, _) t =>
    let (stop, text, acc) := placesIn t wanted at' text acc
    (stop, text, if wanted p then (p, at', stop) :: acc else acc)
partial def placesInAll (ts : Array (Widget.TaggedText (Nat × Nat))) (i : Nat) (wanted : Nat → Bool) (at' : Nat) (text : String) (acc : List (Nat × Nat × Nat)) :
    Nat × String × List (Nat × Nat × Nat) :=
  if h : i < ts.size then
    let (stop, text, acc) := placesIn ts[i] wanted at' text acc
    placesInAll ts (i + 1) wanted stop text acc
  else (at', text, acc)
end

@[noinline] def tagged (f : Format) : Widget.TaggedText (Nat × Nat) := Widget.TaggedText.prettyTagged f

@[noinline] def ppFormat (e : Expr) : MetaM Format := ppExpr e

@[noinline] def showExpr (e : Expr) (wanted : Nat → Bool) : MetaM Shown := do
  try
    let f ← ppFormat e
    let (_, text, places) := placesIn (tagged f) wanted 0 "" []
    return { text := text, places := places }
  catch _ => return { text := "<failed to pretty print>", places := [] }

def placeOf (p : Nat) : List (Nat × Nat × Nat) → Option (Nat × Nat)
  | [] => none
  | (q, a, b) :: l => if p == q then some (a, b) else placeOf p l

def jplace : Option (Nat × Nat) → List Json
  | some (a, b) => [jnum a, jnum b]
  | none => [.null, .null]

/-! ## Forms -/

/-- A proposition down to its atoms; `pos` is where it is in the expression. A ∀ or ∃ has a `name`, and the type of its variable is
the first of its parts. `type`: of such a part, what it is. -/
inductive Form where
  | node (kind : String) (pos : Nat) (name : Option Name) (parts : List Form) (type : Option Expr) (text : Option String)

/-- Names of relations, of which the last two arguments are the sides. -/
def relationOf (n : Name) : Option String :=
  match n with
  | ``Eq => some "eq"
  | ``Ne => some "ne"
  | ``LE.le => some "le"
  | ``LT.lt => some "lt"
  | ``GE.ge => some "ge"
  | ``GT.gt => some "gt"
  | ``Dvd.dvd => some "dvd"
  | ``HasSubset.Subset => some "subset"
  | ``Membership.mem => some "mem"
  | _ => none

def connectiveOf (n : Name) : Option String :=
  match n with
  | ``Iff => some "iff"
  | ``And => some "and"
  | ``Or => some "or"
  | _ => none

def leaf (kind : String) (pos : Nat) : Form := .node kind pos none [] none none
def join (kind : String) (pos : Nat) (parts : List Form) : Form := .node kind pos none parts none none

@[noinline] def isProofType (e : Expr) : MetaM Bool := do
  try Meta.isProp e catch _ => return false

@[noinline] def opened (body x : Expr) : Expr := body.instantiate1 x

/-- Runs `x` with a variable for a binder. -/
@[noinline] def withBinder {α : Type} (n : Name) (t : Expr) (x : Expr → MetaM α) : MetaM α := do
  let id ← mkFreshFVarId
  let lctx := (← getLCtx).mkLocalDecl id n t .default
  fun mc ms cc cs => x (.fvar id) { mc with lctx := lctx } ms cc cs

@[noinline] def bare (e : Expr) : Expr := e.consumeMData

/-- A type that is not printed with the whole, as ∃ leaves it out. -/
def apart (t : Expr) : MetaM String := do
  match t with
  | .const n _ => return nameStr n
  | _ => return (← showExpr t (fun _ => false)).text

/-- `e` is a proposition. `fuel`: how deep to look. -/
partial def formOf (e : Expr) (pos fuel : Nat) : MetaM Form := do
  if fuel == 0 then return leaf "other" pos else
  let e := bare e
  match e with
  | .forallE n t b _ =>
    let prop ← isProofType t
    let body ← withBinder n t fun x => formOf (opened b x) (pos * 4 + 1) (fuel - 1)
    if prop && !b.hasLooseBVars then return join "implies" pos [← formOf t (pos * 4) (fuel - 1), body]
    let type := Form.node (if prop then "premise" else "type") (pos * 4) none [] (some t) none
    return .node "forall" pos (some n) [type, body] none none
  | .app (.const ``Not _) p => return join "not" pos [← formOf p (pos * 4 + 1) (fuel - 1)]
  | .app (.app (.const ``Exists _) t) (.lam n _ b _) =>
    let at' := pos * 4 + 1
    let body ← withBinder n t fun x => formOf (opened b x) (at' * 4 + 1) (fuel - 1)
    return .node "exists" pos (some n) [.node "type" (at' * 4) none [] none (some (← apart t)), body] none none
  | .const ``False _ => return leaf "false" pos
  | .const ``True _ => return leaf "true" pos
  | .app (.app f a) b =>
    let left := (pos * 4) * 4 + 1
    let right := pos * 4 + 1
    match f.getAppFn with
    | .const n _ =>
      match connectiveOf n with
      | some kind => return join kind pos [← formOf a left (fuel - 1), ← formOf b right (fuel - 1)]
      | none =>
        match relationOf n with
        -- the set before the element
        | some "mem" => return join "mem" pos [leaf "term" right, leaf "term" left]
        | some kind => return join kind pos [leaf "term" left, leaf "term" right]
        | none => return leaf "other" pos
    | _ => return leaf "other" pos
  | _ => return leaf "other" pos

/-- All that a form asks a place for. -/
partial def positions (f : Form) (acc : List Nat) : List Nat :=
  match f with
  | .node _ p _ parts _ _ => go parts (p :: acc)
where
  go : List Form → List Nat → List Nat
    | [], acc => acc
    | f :: l, acc => go l (positions f acc)

/-- The type of a ∀ in a group such as `∀ (a b : Nat)` stands behind the last one's name. -/
def typePlace (s : Shown) : Form → Option (Nat × Nat)
  | .node "forall" _ _ (.node _ p _ _ (some t) _ :: next :: _) _ _ =>
    match placeOf p s.places with
    | some found => some found
    | none =>
      match next with
      | .node "forall" _ _ (.node _ _ _ _ (some u) _ :: _) _ _ => if sameType t u then typePlace s next else none
      | _ => none
  | _ => none
where
  sameType (t u : Expr) : Bool := t == u

/-- `[kind, start, stop, [part…]?, name?, text?]`, in characters of the text: the name of a ∀ or ∃, the text of a type that the
whole leaves out. What has no place has `null`; a ∀ or ∃ in a group has the place of the group. -/
partial def jform (s : Shown) (outer : Option (Nat × Nat)) (f : Form) : MetaM Json := do
  match f with
  | .node kind pos name parts _ text =>
    let place := match placeOf pos s.places, name with
      | some found, _ => some found
      | none, some _ => outer
      | none, none => none
    let mut inside : List Json := []
    let mut first := true
    for p in parts do
      match first, typePlace s f, p with
      | true, some found, .node k _ _ _ _ _ => inside := .arr (toArr (.str k :: jplace (some found))) :: inside
      | _, _, _ => inside := (← jform s place p) :: inside
      first := false
    let more := match parts, name, text with
      | [], _, some t => [.arr #[], .null, .str t]
      | [], _, none => []
      | _, some n, _ => [.arr (toArr (rev inside)), jname n.eraseMacroScopes]
      | _, none, _ => [.arr (toArr (rev inside))]
    return .arr (toArr (.str kind :: app (jplace place) more))

/-! ## What is written in it -/

/-- Definitions, each with the place of an application of it that a tactic could say, and numerals; both the last one first. -/
structure Mentions where
  constants : List (Name × Option Nat) := []
  numerals : List Nat := []

@[noinline] def isMethod (env : Environment) (n : Name) : Bool :=
  match env.getProjectionFnInfo? n with
  | some i => i.fromClass
  | none => false

/-- Whether a constant stands for something that could be unfolded. -/
def isDefinition (env : Environment) (n : Name) : Bool :=
  match env.find? n with
  | some (.defnInfo _) | some (.opaqueInfo _) => n != ``Not && (relationOf n).isNone && !isMethod env n
  | _ => false

def noted (n : Name) (call : Option Nat) : List (Name × Option Nat) → List (Name × Option Nat)
  | [] => [(n, call)]
  | (m, c) :: l => if m == n then (match c with | none => (m, call) :: l | some _ => (m, c) :: l) else (m, c) :: noted n call l

def known (n : Name) : List (Name × Option Nat) → Bool
  | [] => false
  | (m, c) :: l => (m == n && c.isSome) || known n l

/-- Arguments with their positions. -/
partial def arguments (e : Expr) (pos : Nat) (acc : List (Expr × Nat)) : Expr × List (Expr × Nat) :=
  match e with
  | .app f a => arguments f (pos * 4) ((a, pos * 4 + 1) :: acc)
  | .mdata _ f => arguments f pos acc
  | f => (f, acc)

/-- Those that a constant of this type is given explicitly, and that have no default. -/
partial def explicitOnly (type : Expr) (args : List (Expr × Nat)) : List (Expr × Nat) :=
  match type, args with
  | .forallE _ (.app (.app (.const ``optParam _) _) _) b _, _ :: l => explicitOnly b l
  | .forallE _ _ b .default, a :: l => a :: explicitOnly b l
  | .forallE _ _ b _, _ :: l => explicitOnly b l
  | _, l => l

/-- Numerals that clients can compute with: theirs may have a limit, and Lean's have none. -/
def noteNumeral (n : Nat) (w : Mentions) : Mentions :=
  if n < 1000000000000000000 then { w with numerals := n :: w.numerals } else w

mutual
partial def noteAll (env : Environment) (e : Expr) (pos : Nat) (w : Mentions) : Mentions :=
  match e with
  | .lit (.natVal n) => noteNumeral n w
  | .forallE _ t b _ => noteAll env b (pos * 4 + 1) (noteAll env t (pos * 4) w)
  | .lam _ t b _ => noteAll env b (pos * 4 + 1) (noteAll env t (pos * 4) w)
  | .letE _ t v b _ => noteAll env b (pos * 4 + 2) (noteAll env v (pos * 4 + 1) (noteAll env t (pos * 4) w))
  | .mdata _ e => noteAll env e pos w
  | .proj _ _ e => noteAll env e (pos * 4) w
  | .const n _ => if isDefinition env n && !known n w.constants then { w with constants := noted n none w.constants } else w
  | .app .. =>
    let (f, args) := arguments e pos []
    match f, args with
    | .const ``OfNat.ofNat _, _ :: (.lit (.natVal n), _) :: _ => noteNumeral n w
    | .const n _, args =>
      match env.find? n with
      | none => noteEach env args w
      | some ci =>
        let w := if isDefinition env n && !known n w.constants then
          { w with constants := noted n (if e.hasLooseBVars then none else some pos) w.constants } else w
        noteEach env (explicitOnly ci.type args) w
    | .lam .., args => noteEach env args (noteAll env f pos w)
    | _, args => noteEach env args w
  | _ => w
partial def noteEach (env : Environment) (args : List (Expr × Nat)) (w : Mentions) : Mentions :=
  match args with
  | [] => w
  | (a, p) :: l => noteEach env l (noteAll env a p w)
end

/-! ## Replies -/

@[noinline] def isClassName (env : Environment) (n : Name) : Bool := isClass env n

/-- Whether a hypothesis is an instance: no tactic reasons with it as such, also where it is a proposition. -/
def isInstance (env : Environment) (type : Expr) : Bool :=
  match type.getAppFn with
  | .const n _ => isClassName env n
  | _ => false

def some' : List Nat → Nat → Bool
  | [], _ => false
  | q :: l, p => p == q || some' l p

def callPositions : List (Name × Option Nat) → List Nat → List Nat
  | [], acc => acc
  | (_, some p) :: l, acc => callPositions l (p :: acc)
  | (_, none) :: l, acc => callPositions l acc

def withoutPrefix (env : Environment) (n : Name) : List Name → Name
  | [] => n
  | ns :: l =>
    let short := n.replacePrefix ns .anonymous
    if ns.isAnonymous || !ns.isPrefixOf n || short.isAnonymous || env.contains short || (short.isAtomic && isProtected env n) then
      withoutPrefix env n l
    else short

def namespacesAbove (ns : Name) (acc : List Name) : List Name :=
  match ns with
  | .str p _ => namespacesAbove p (ns :: acc)
  | .num p _ => namespacesAbove p (ns :: acc)
  | .anonymous => rev acc

def openedSimply : List OpenDecl → List Name → List Name
  | [], acc => rev acc
  | .simple ns _ :: l, acc => openedSimply l (ns :: acc)
  | _ :: l, acc => openedSimply l acc

/-- Namespaces that a name can be written without, the innermost first. -/
@[noinline] def namespacesHere : MetaM (List Name) := do
  let ctx ← readThe Core.Context
  return app (namespacesAbove ctx.currNamespace []) (openedSimply ctx.openDecls [])

def jdefinitions (s : Shown) (env : Environment) (here : List Name) : List (Name × Option Nat) → List Json
  | [] => []
  | (n, call) :: l =>
    let place := match call with | some p => jplace (placeOf p s.places) | none => [.null, .null]
    .arr (toArr (jname (withoutPrefix env n here) :: place)) :: jdefinitions s env here l

/-- A proposition: how it prints, and its facts; of a target its definitions as well. -/
def jproposition (e : Expr) (target : Bool) : MetaM (String × Json) := do
  let f ← formOf e 1 40
  let env ← getEnv
  let here ← namespacesHere
  let w := noteAll env e 1 {}
  let wanted := positions f (if target then callPositions w.constants [] else [])
  let s ← showExpr e (some' wanted)
  let fields := [("form", ← jform s (some (0, s.text.length)) f), ("numerals", Json.arr (toArr (rev (mapList jnum w.numerals))))]
  let fields := if target then ("definitions", .arr (toArr (jdefinitions s env here w.constants))) :: fields else fields
  return (s.text, Json.mkObj fields)

def isCases (env : Environment) (n : Name) : Bool :=
  match env.find? n with
  | some (.inductInfo _) => !isClassName env n
  | _ => false

/-- What the type of data is of, as a name, and whether that is a type whose cases could be told apart. -/
def jtype (e : Expr) : MetaM Json := do
  let env ← getEnv
  let e := bare e
  match e with
  | .forallE .. => return .arr #[.str "Function", .bool false]
  | .sort .zero => return .arr #[.str "Prop", .bool false]
  | .sort (.succ _) => return .arr #[.str "Type", .bool false]
  | .sort _ => return .arr #[.str "Sort", .bool false]
  | e =>
    match e.getAppFn with
    | .const n _ => return .arr #[jname n, .bool (isCases env n)]
    | .fvar f =>
      match (← getLCtx).find? f with
      | some d => return .arr #[jname d.userName.simpMacroScopes, .bool false]
      | none => return .arr #[.str "", .bool false]
    | _ => return .arr #[.str "", .bool false]

end Repl

/-
Library: questions about the environment. Owns `env.*`, `expr.echo`, and `qed.theorems`, the paged list
of the library's theorems.
-/

namespace Repl

/-! ## Constants -/

/-- What a constant was declared as. A library that was loaded without bodies shows its theorems and
unexposed definitions as axioms, and remembers what they were. -/
@[noinline] def originalKind (env : Environment) (n : Name) : Option ConstantKind := getOriginalConstKind? env n

def kindText (env : Environment) (ci : ConstantInfo) : String :=
  match ci with
  | .axiomInfo _ =>
    match originalKind env ci.name with
    | some .thm => "theorem"
    | some .defn => "def"
    | some .opaque => "opaque"
    | _ => "axiom"
  | .thmInfo _ => "theorem" | .defnInfo _ => "def" | .opaqueInfo _ => "opaque" | .quotInfo _ => "quot"
  | .inductInfo _ => "inductive" | .ctorInfo _ => "constructor" | .recInfo _ => "recursor"

def isTheorem (env : Environment) (ci : ConstantInfo) : Bool :=
  match ci with
  | .thmInfo _ => true
  | .axiomInfo _ => kindText env ci == "theorem"
  | _ => false

/-- An axiom that was declared as one. -/
def isRealAxiom (env : Environment) (ci : ConstantInfo) : Bool :=
  match ci with
  | .axiomInfo _ => kindText env ci == "axiom"
  | _ => false

def kindLetter (env : Environment) (ci : ConstantInfo) : String :=
  match kindText env ci with
  | "theorem" => "t" | "def" => "d" | "opaque" => "o" | "quot" => "q" | "inductive" => "i" | "constructor" => "c"
  | "recursor" => "r" | _ => "a"

/-- Declarations that are not imported. -/
def newConstants (env : Environment) : List (Name × ConstantInfo) := Walk.pmap env.constants.map₂

def isPrefixName (p n : Name) : Bool :=
  if p == n then true
  else match n with
    | .str q _ => isPrefixName p q
    | .num q _ => isPrefixName p q
    | .anonymous => false

/-- Names of lemmas that tactics and the compiler made up: `foo._proof_1`, `foo._simp_2`, hygienic names. -/
def isAuxName (n : Name) : Bool :=
  n.hasMacroScopes || (match n with
    | .str _ s => s.startsWith "_proof_" || s.startsWith "_simp_"
    | _ => false)

/-! ## `env.*` -/

partial def modulesJson (env : Environment) (i : Nat) (acc : Array Json) : Array Json :=
  if h : i < env.header.modules.size then modulesJson env (i + 1) (acc.push (jname env.header.modules[i].toImport.module)) else acc

def importsJson (is : List Import) : Json := .arr (toArr (mapList (fun (i : Import) => jname i.module) is))

def envDescribe (r : Ref) (_ : Json) : M Json := do
  let s ← (r.get : IO Session)
  return Json.mkObj [("imports", importsJson s.env.header.imports.toList), ("modules", .arr (modulesJson s.env 0 #[]))]

partial def moduleIndex (env : Environment) (n : Name) (i : Nat) : Option Nat :=
  if h : i < env.header.modules.size then
    if env.header.modules[i].toImport.module == n then some i else moduleIndex env n (i + 1)
  else none

def envModuleRead (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let m ← str j "module"
  match moduleIndex s.env (toName m) 0 with
  | none => fail "index" ("Module not found " ++ m)
  | some i =>
    match moduleData? s.env i with
    | none => fail "index" ("Module not found " ++ m)
    | some d => return Json.mkObj [("imports", importsJson d.imports.toList), ("constNames", jnames d.constNames.toList),
        ("extraConstNames", jnames d.extraConstNames.toList)]

def envCatalog (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let prefix? ← str? j "modulePrefix"
  let invert ← boolD j "invertFilter" false
  let wanted (m : Name) : Bool := match prefix? with
    | none => true
    | some p => isPrefixName (toName p) m != invert
  let mut out := #[]
  let mut i := 0
  for d in s.env.header.moduleData.toList do
    if wanted (moduleNameAt s.env i) then
      for ci in d.constants.toList do
        if !isAuxName ci.name && !ci.isUnsafe then out := out.push (.str (kindLetter s.env ci ++ nameStr ci.name))
    i := i + 1
  if wanted .anonymous then
    for (n, ci) in newConstants s.env do
      if !isAuxName n && !ci.isUnsafe then out := out.push (.str (kindLetter s.env ci ++ nameStr n))
  return Json.mkObj [("symbols", .arr out)]

@[noinline] def jexprTerm (cfg : Config) (e : Expr) : TermElabM Json := fun _ _ mc ms cc cs => jexpr cfg e mc ms cc cs

/-- Prints an expression of the session's environment. -/
def jexprM (s : Session) (e : Expr) : M Json := do
  let r ← runTerm s.config { env := s.env, scope := s.scope } (jexprTerm s.config e)
  match r.val with
  | .ok j => return j
  | .error _ => return Json.mkObj [("pp", .str "<failed to pretty print>")]

@[noinline] def publicName? (n : Name) : Option Name := privateToUserName? n

/-- The name that a private declaration was given; other names as they are. -/
def publicName (n : Name) : Name := (publicName? n).getD n

def envInspect (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let text ← str j "name"
  let n := toName text
  match s.env.find? n with
  | none => fail "index" ("Symbol not found " ++ text)
  | some ci =>
    let type ← jexprM s ci.type
    let mut out : List (String × Json) := [("type", type), ("isUnsafe", .bool ci.isUnsafe), ("kind", .str (kindText s.env ci)),
      ("levels", jnames ci.levelParams)]
    let showValue ← match (← bool? j "value"), ci with
      | some b, _ => pure b
      | none, .defnInfo _ => pure true
      | none, _ => pure false
    let value? := if showValue then ci.value? (allowOpaque := true) else none
    match value? with
    | some v => out := ("value", ← jexprM s v) :: out
    | none => pure ()
    match moduleOf? s.env n with
    | some m => out := ("module", jname m) :: out
    | none => pure ()
    match publicName? n with
    | some p => out := ("publicName", jname p) :: out
    | none => pure ()
    if (← boolD j "dependency" false) then
      out := ("typeDependency", jnames ci.type.getUsedConstants.toList) :: out
      match value? with
      | some v => out := ("valueDependency", jnames (keep (fun n => !isAuxName n) v.getUsedConstants.toList)) :: out
      | none => pure ()
    match ci with
    | .inductInfo v => out := ("inductInfo", Json.mkObj [("numParams", jnum v.numParams), ("numIndices", jnum v.numIndices),
        ("all", jnames v.all), ("ctors", jnames v.ctors), ("isRec", .bool v.isRec), ("isReflexive", .bool v.isReflexive),
        ("isNested", .bool v.isNested)]) :: out
    | .ctorInfo v => out := ("constructorInfo", Json.mkObj [("induct", jname v.induct), ("cidx", jnum v.cidx),
        ("numParams", jnum v.numParams), ("numFields", jnum v.numFields)]) :: out
    | .recInfo v =>
      let mut rules := #[]
      for rule in v.rules do
        rules := rules.push (Json.mkObj [("ctor", jname rule.ctor), ("nFields", jnum rule.nfields), ("rhs", ← jexprM s rule.rhs)])
      out := ("recursorInfo", Json.mkObj [("all", jnames v.all), ("numParams", jnum v.numParams), ("numIndices", jnum v.numIndices),
        ("numMotives", jnum v.numMotives), ("numMinors", jnum v.numMinors), ("rules", .arr rules), ("k", .bool v.k)]) :: out
    | _ => pure ()
    -- `source`: no declaration ranges can be had here, and the protocol lets them be absent
    return Json.mkObj out

/-! ## Terms -/

@[noinline] def elabTermFull (stx : Syntax) (type : Option Expr) : TermElabM Expr := do
  let e ← Term.elabTerm stx type
  Term.synthesizeSyntheticMVarsNoPostponing
  instantiateMVars e

@[noinline] def typeOf (e : Expr) : TermElabM Expr := do
  let t ← inferType e
  instantiateMVars t

/-- A term, elaborated against an optional type, and its type. -/
def elabPair (type : Option Syntax) (value : Syntax) : TermElabM (Expr × Expr) := do
  let expected ← match type with
    | some t => do let e ← elabTypeTerm t; pure (some e)
    | none => pure none
  let v ← elabTermFull value expected
  let v ← match expected with
    | some t => do
      let vt ← typeOf v
      if (← isDefEqGuarded vt t) then pure v else throwError "type mismatch{indentExpr v}\nhas type{indentExpr vt}\nbut is expected to have type{indentExpr t}"
    | none => pure v
  let v ← instMVars v
  let t ← match expected with
    | some t => instMVars t
    | none => typeOf v
  return (t, v)

def elabPairM (s : Session) (levels : List Name) (type? : Option String) (value : String) : M (GState × Expr × Expr) := do
  let g : GState := { env := s.env, scope := s.scope, levels := levels }
  let type ← match type? with
    | some t => do let stx ← parseTermM s.env s.scope t; pure (some stx)
    | none => pure none
  let stx ← parseTermM s.env s.scope value
  let r ← runTerm s.config g (elabPair type stx) value
  let (t, v) ← okOr "elab" r
  match (← loggedErrors r.core.messages) with
  | m :: _ => fail "elab" m
  | [] => return (g.after r [], t, v)

def exprEcho (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let levels := (← names? j "levels").getD []
  let (g, t, v) ← elabPairM s levels (← str? j "type") (← str j "expr")
  let ran ← runTerm s.config g (do
    let e ← jexprTerm s.config v
    let t ← jexprTerm s.config t
    return (e, t))
  let (e, t) ← okOr "typing" ran
  return Json.mkObj [("expr", e), ("type", t)]

@[noinline] def addDeclTerm (d : Declaration) : TermElabM Unit := fun _ _ _ _ c s => Lean.addDecl d false c s

def envAdd (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let name := toName (← str j "name")
  let levels := (← names? j "levels").getD []
  let isThm ← boolD j "isTheorem" false
  let (g, t, v) ← elabPairM s levels (← str? j "type") (← str j "value")
  if t.hasMVar || v.hasMVar then fail "expr" "the declaration contains metavariables" else
  let d := if isThm then Declaration.thmDecl { name := name, levelParams := levels, type := t, value := v }
    else Declaration.defnDecl { name := name, levelParams := levels, type := t, value := v, hints := .regular 1, safety := .safe }
  let ran ← runTerm s.config g (addDeclTerm d)
  let _ ← okOr "kernel" ran
  match (← loggedErrors ran.core.messages) with
  | m :: _ => fail "kernel" m
  | [] => pure ()
  r.set { s with env := ran.core.env, kept := none }
  return Json.mkObj []

def envParse (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let input ← str j "input"
  let cat := toName (← str j "category")
  match runParser s.env s.scope (skipBlanks (categoryFn cat)) input with
  | .ok (_, pos) => return Json.mkObj [("pos", jnum pos)]
  | .error e => fail "parse" e

/-! ## `qed.theorems` -/

/-- Last components of theorems that Lean generates from a declaration. For the list of the library's theorems alone, where the
embedded build has nothing better to go by: people may write such names, so nothing else may rest on them. -/
def generatedSuffix (s : String) : Bool :=
  s == "injEq" || s == "inj" || s == "hinj" || s == "sizeOf_spec" || s == "noConfusion" || s == "eq_def" || s == "eq_unfold" ||
  s == "induct" || s == "induct_unfolding" || s == "fun_cases" || s == "fun_cases_unfolding" || s == "mutual_induct" ||
  s == "partial_correctness" || s == "fixpoint_induct" || s == "congr_simp" || s == "ext_iff" || s == "ctor_eq" || s == "ofNat_ctorIdx" ||
  s == "ofNat_toCtorIdx" || s.startsWith "hcongr" || s.startsWith "match_" || s.startsWith "proof_" || s.startsWith "_" ||
  (s.startsWith "eq_" && (s.drop 3).isNat)

/-- Does a theorem of the library look as if Lean had made it? -/
partial def isGenerated (n : Name) : Bool :=
  match n with
  | .str p s => generatedSuffix s || internalPart p
  | _ => true
where
  internalPart : Name → Bool
    | .str p s => s.startsWith "_" || s.startsWith "match_" || internalPart p
    | .num _ _ => true
    | .anonymous => false

@[noinline] def nameLt (a b : Name) : Bool := a.lt b

partial def mergeNames (a b : List Name) (acc : List Name) : List Name :=
  match a, b with
  | [], _ => revOnto acc b
  | _, [] => revOnto acc a
  | x :: xs, y :: ys => if nameLt y x then mergeNames a ys (y :: acc) else mergeNames xs b (x :: acc)

partial def splitNames (l a b : List Name) : List Name × List Name :=
  match l with
  | [] => (a, b)
  | x :: l => splitNames l (x :: b) a

partial def sortNames (l : List Name) : List Name :=
  match l with
  | [] => []
  | [x] => [x]
  | l => let (a, b) := splitNames l [] []; mergeNames (sortNames a) (sortNames b) []

/-- All theorems that people wrote, by module and then by name. -/
def buildIndex (env : Environment) : Array (Name × Nat) := Id.run do
  let mut out := #[]
  let mut i := 0
  for d in env.header.moduleData.toList do
    let mut here : List Name := []
    for ci in d.constants.toList do
      if isTheorem env ci && !isPrivateName ci.name && !isGenerated ci.name then here := ci.name :: here
    for n in sortNames here do
      out := out.push (n, i)
    i := i + 1
  return out

def theoremIndex (r : Ref) : M (Array (Name × Nat)) := do
  let s ← (r.get : IO Session)
  match s.index with
  | some a => return a
  | none =>
    let a := buildIndex s.pristine
    r.modify (fun s => { s with index := some a })
    return a

/-- Nodes of an expression as a tree, counted up to a limit. -/
partial def exprSize (e : Expr) (n : Nat) : Nat :=
  if n > 20000 then n
  else match e with
    | .app f a => exprSize a (exprSize f (n + 1))
    | .lam _ t b _ => exprSize b (exprSize t (n + 1))
    | .forallE _ t b _ => exprSize b (exprSize t (n + 1))
    | .letE _ t v b _ => exprSize b (exprSize v (exprSize t (n + 1)))
    | .mdata _ b => exprSize b n
    | .proj _ _ b => exprSize b (n + 1)
    | _ => n + 1

/-- Printing options for statements that are to be elaborated again. On a sample of 250 theorems of Init and
Std, 75% come back as the same expression under Lean's defaults, 88% under these; `pp.universes` and
`pp.numericTypes` would add 3% at the price of legibility, turning field notation off loses 3%. -/
def statementOptions (o : Options) : Options := (o.setBool `pp.proofs true).setBool `pp.funBinderTypes true

def sameType (a b : Expr) : Bool := sameExpr a b

def roundtrip (cfg : Config) (g : GState) (type : Expr) (text : String) : IO String := do
  match parseTerm g.env g.scope text with
  | .error _ => return "parse"
  | .ok stx =>
    let r ← runTerm cfg g (elabTypeTerm stx) text
    match r.val with
    | .error _ => return "elab"
    | .ok e =>
      if some? isError (logged r.core.messages) then return "elab"
      return if sameType e type then "same" else "differs"

def anyPrefix (ps : List Name) (m : Name) : Bool := some? (fun p => isPrefixName p m) ps

def ppOptions (j : Json) (o : Options) : M Options := do
  match field? j "options" with
  | some (.obj kvs) =>
    let mut o := o
    for (k, v) in kvs.toList do
      match v with
      | .bool b => o := o.setBool (toName k) b
      | .num ⟨.ofNat n, 0⟩ => o := o.setNat (toName k) n
      | _ => wrongType "options" "an object of booleans and numbers"
    return o
  | some _ => wrongType "options" "an object"
  | none => return statementOptions o

/-- Elements `i`, `i + stride`, … of an array, `n` of them at most. -/
partial def slice (a : Array (Name × Nat)) (i stride n : Nat) (acc : List (Name × Nat)) : List (Name × Nat) :=
  if n == 0 then rev acc
  else if h : i < a.size then slice a (i + stride) stride (n - 1) (a[i] :: acc) else rev acc

def jtheorem (s : Session) (opts : Options) (print rt : Bool) (n : Name) (m : Nat) : M Json := do
  let env := s.pristine
  match env.find? n with
  | none => return Json.mkObj [("name", jname n)]
  | some ci =>
    let g : GState := { env := env, scope := { s.scope with opts := opts }, levels := ci.levelParams }
    let mut fields : List (String × Json) := [("name", jname n), ("module", jname (moduleNameAt env m)),
      ("levels", jnames ci.levelParams), ("size", jnum (exprSize ci.type 0))]
    if print || rt then
      let ran ← runTerm s.config g (fun _ _ mc ms cc cs => ppText ci.type mc ms cc cs)
      let text := match ran.val with | .ok t => t | .error _ => "<failed to pretty print>"
      if print then fields := ("statement", .str text) :: fields
      if rt then fields := ("roundtrip", .str (← roundtrip s.config { g with scope := s.scope } ci.type text)) :: fields
    return Json.mkObj fields

def qedTheorems (r : Ref) (j : Json) : M Json := do
  let modules ← names? j "modules"
  let offset := (← nat? j "offset").getD 0
  let limit := (← nat? j "limit").getD 500
  let stride := match (← nat? j "stride") with | some 0 => 1 | some k => k | none => 1
  let print ← boolD j "print" true
  let rt ← boolD j "roundtrip" false
  let all ← theoremIndex r
  let s ← (r.get : IO Session)
  let opts ← ppOptions j s.scope.opts
  let wanted := match modules with
    | none => all
    | some ps => toArr (keep (fun (p : Name × Nat) => anyPrefix ps (moduleNameAt s.pristine p.2)) all.toList)
  let total := (wanted.size + stride - 1) / stride
  let mut out := #[]
  for (n, m) in slice wanted (offset * stride) stride limit [] do
    out := out.push (← jtheorem s opts print rt n m)
  return Json.mkObj [("theorems", .arr out), ("total", jnum total), ("next", if offset + limit < total then jnum (offset + limit) else .null)]

end Repl

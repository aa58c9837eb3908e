/-
Export: declarations as data, out of the process that elaborated an untrusted text and into one that never
saw it. Owns both directions. What is read is only data: whatever a text did to the process that wrote it,
the reader's kernel decides.
-/

namespace Repl

/-! ## Out -/

def exprOrder (a b : Expr) : Ordering := if a.quickLt b then .lt else if a == b then .eq else .gt

structure Dump where
  ids : Std.TreeMap Expr Nat exprOrder := {}
  rows : Array Json := #[]

def nameRow (n : Name) (acc : List Json) : List Json :=
  match n with
  | .anonymous => acc
  | .str p s => nameRow p (.str s :: acc)
  | .num p k => nameRow p (jnum k :: acc)

def xname (n : Name) : Json := .arr (toArr (nameRow n []))
def xnames (ns : List Name) : Json := .arr (toArr (mapList xname ns))

/-- A level before what follows it: parameters (as names) and 0, each operation behind what it is about. -/
def levelRow (l : Level) (acc : List Json) : List Json :=
  match l with
  | .zero => jnum 0 :: acc
  | .succ l => levelRow l (.str "s" :: acc)
  | .max a b => levelRow a (levelRow b (.str "m" :: acc))
  | .imax a b => levelRow a (levelRow b (.str "i" :: acc))
  | .param n => xname n :: acc
  | .mvar _ => .null :: acc

/-- As one list, however deep the level is: who reads JSON may not go as deep. -/
def xlevel (l : Level) : Json := .arr (toArr (levelRow l []))

def xbinder : BinderInfo → Json
  | .default => jnum 0
  | .implicit => jnum 1
  | .strictImplicit => jnum 2
  | .instImplicit => jnum 3

/-- Gives an expression a row, and everything below it; metadata is dropped. -/
partial def dump (d : Dump) (e : Expr) : Dump × Nat :=
  match e with
  | .mdata _ b => dump d b
  | _ =>
    match d.ids.get? e with
    | some i => (d, i)
    | none =>
      let (d, row) : Dump × Json := match e with
        | .bvar i => (d, .arr #[.str "b", jnum i])
        | .sort l => (d, .arr #[.str "s", xlevel l])
        | .const n ls => (d, .arr #[.str "c", xname n, .arr (toArr (mapList xlevel ls))])
        | .app f a =>
          let (d, i) := dump d f
          let (d, j) := dump d a
          (d, .arr #[.str "a", jnum i, jnum j])
        | .lam n t b bi =>
          let (d, i) := dump d t
          let (d, j) := dump d b
          (d, .arr #[.str "l", xname n, jnum i, jnum j, xbinder bi])
        | .forallE n t b bi =>
          let (d, i) := dump d t
          let (d, j) := dump d b
          (d, .arr #[.str "p", xname n, jnum i, jnum j, xbinder bi])
        | .letE n t v b nd =>
          let (d, i) := dump d t
          let (d, k) := dump d v
          let (d, j) := dump d b
          (d, .arr #[.str "t", xname n, jnum i, jnum k, jnum j, .bool nd])
        | .lit (.natVal k) => (d, .arr #[.str "n", .str (Nat.repr k)])
        | .lit (.strVal s) => (d, .arr #[.str "S", .str s])
        | .proj n i b =>
          let (d, j) := dump d b
          (d, .arr #[.str "j", xname n, jnum i, jnum j])
        | _ => (d, .null)
      let i := d.rows.size
      ({ ids := d.ids.insert e i, rows := d.rows.push row }, i)

def xhints : ReducibilityHints → Json
  | .opaque => jnum 0
  | .abbrev => jnum 1
  | .regular h => jnum (2 + h.toNat)

def xsafety : DefinitionSafety → Json
  | .safe => jnum 0
  | .unsafe => jnum 1
  | .partial => jnum 2

/-- A declaration; `none` for what no file may declare. -/
def dumpConstant (d : Dump) (ci : ConstantInfo) : Dump × Json :=
  let (d, type) := dump d ci.type
  let head : List (String × Json) := [("name", xname ci.name), ("levels", xnames ci.levelParams), ("type", jnum type)]
  match ci with
  | .thmInfo v =>
    let (d, i) := dump d v.value
    (d, Json.mkObj (("kind", .str "theorem") :: ("value", jnum i) :: head))
  | .defnInfo v =>
    let (d, i) := dump d v.value
    (d, Json.mkObj (("kind", .str "def") :: ("value", jnum i) :: ("hints", xhints v.hints) :: ("safety", xsafety v.safety) :: head))
  | .opaqueInfo v =>
    let (d, i) := dump d v.value
    (d, Json.mkObj (("kind", .str "opaque") :: ("value", jnum i) :: ("unsafe", .bool v.isUnsafe) :: head))
  | .inductInfo v =>
    (d, Json.mkObj (("kind", .str "inductive") :: ("params", jnum v.numParams) :: ("all", xnames v.all) ::
      ("ctors", xnames v.ctors) :: ("unsafe", .bool v.isUnsafe) :: head))
  | .ctorInfo v => (d, Json.mkObj (("kind", .str "constructor") :: ("of", xname v.induct) :: ("index", jnum v.cidx) :: head))
  | .recInfo v => (d, Json.mkObj (("kind", .str "recursor") :: ("all", xnames v.all) :: head))
  | .axiomInfo v => (d, Json.mkObj (("kind", .str "axiom") :: ("unsafe", .bool v.isUnsafe) :: head))
  | .quotInfo _ => (d, .null)

/-- Declarations as `{"exprs": [ROW…], "constants": [DECLARATION…]}`. -/
def exportConstants (cs : List ConstantInfo) : Json := Id.run do
  let mut d : Dump := {}
  let mut rows := #[]
  for c in cs do
    let (d', row) := dumpConstant d c
    d := d'
    rows := rows.push row
  return Json.mkObj [("exprs", .arr d.rows), ("constants", .arr rows)]

/-! ## In -/

def badData {α : Type} (what : String) : M α := fail "command" ("not an export: " ++ what)

def items (j : Json) : M (List Json) :=
  match j with
  | .arr a => pure a.toList
  | _ => badData "a list is missing"

def natIn (j : Json) : M Nat :=
  match j with
  | .num ⟨.ofNat n, 0⟩ => pure n
  | _ => badData "a number is missing"

def nameIn (j : Json) : M Name := do
  let mut n := Name.anonymous
  for p in (← items j) do
    match p with
    | .str s => n := .str n s
    | p => n := .num n (← natIn p)
  return n

def namesIn (j : Json) : M (List Name) := do
  let mut out := []
  for p in (← items j) do out := (← nameIn p) :: out
  return rev out

def levelIn (j : Json) : M Level := do
  let mut stack : List Level := []
  for p in (← items j) do
    match p, stack with
    | .num ⟨0, 0⟩, s => stack := .zero :: s
    | .str "s", a :: s => stack := .succ a :: s
    | .str "m", b :: a :: s => stack := .max a b :: s
    | .str "i", b :: a :: s => stack := .imax a b :: s
    | .arr n, s => stack := .param (← nameIn (.arr n)) :: s
    | _, _ => badData "a level"
  match stack with
  | [l] => return l
  | _ => badData "a level"

def levelsIn (j : Json) : M (List Level) := do
  let mut out := []
  for p in (← items j) do out := (← levelIn p) :: out
  return rev out

def binderIn (j : Json) : M BinderInfo := do
  match (← natIn j) with
  | 1 => return .implicit
  | 2 => return .strictImplicit
  | 3 => return .instImplicit
  | _ => return .default

def exprIn (es : Array Expr) (j : Json) : M Expr := do
  let i ← natIn j
  if h : i < es.size then return es[i] else badData "a row that comes later"

def rowIn (es : Array Expr) (row : Json) : M Expr := do
  match (← items row) with
  | [.str "b", i] => return .bvar (← natIn i)
  | [.str "s", l] => return .sort (← levelIn l)
  | [.str "c", n, ls] => return .const (← nameIn n) (← levelsIn ls)
  | [.str "a", f, a] => return .app (← exprIn es f) (← exprIn es a)
  | [.str "l", n, t, b, bi] => return .lam (← nameIn n) (← exprIn es t) (← exprIn es b) (← binderIn bi)
  | [.str "p", n, t, b, bi] => return .forallE (← nameIn n) (← exprIn es t) (← exprIn es b) (← binderIn bi)
  | [.str "t", n, t, v, b, .bool nd] => return .letE (← nameIn n) (← exprIn es t) (← exprIn es v) (← exprIn es b) nd
  | [.str "n", .str k] => return .lit (.natVal k.toNat!)
  | [.str "S", .str s] => return .lit (.strVal s)
  | [.str "j", n, i, b] => return .proj (← nameIn n) (← natIn i) (← exprIn es b)
  | _ => badData "an expression"

def part (j : Json) (k : String) : M Json :=
  match field? j k with
  | some v => pure v
  | none => badData k

def flag (j : Json) (k : String) : Bool := match field? j k with | some (.bool b) => b | _ => false

def constantIn (es : Array Expr) (j : Json) : M ConstantInfo := do
  let name ← nameIn (← part j "name")
  let levelParams ← namesIn (← part j "levels")
  let type ← exprIn es (← part j "type")
  let base : ConstantVal := { name := name, levelParams := levelParams, type := type }
  match (← part j "kind") with
  | .str "theorem" => return .thmInfo { base with value := ← exprIn es (← part j "value"), all := [name] }
  | .str "def" =>
    let hints ← natIn (← part j "hints")
    let safety ← natIn (← part j "safety")
    return .defnInfo { base with
      value := ← exprIn es (← part j "value"), all := [name]
      hints := match hints with | 0 => .opaque | 1 => .abbrev | n + 2 => .regular (Nat.toUInt32 n)
      safety := match safety with | 0 => .safe | 1 => .unsafe | _ => .partial }
  | .str "opaque" => return .opaqueInfo { base with value := ← exprIn es (← part j "value"), isUnsafe := flag j "unsafe", all := [name] }
  | .str "inductive" =>
    return .inductInfo { base with
      numParams := ← natIn (← part j "params"), numIndices := 0, all := ← namesIn (← part j "all")
      ctors := ← namesIn (← part j "ctors"), numNested := 0, isRec := false, isUnsafe := flag j "unsafe", isReflexive := false }
  | .str "constructor" =>
    return .ctorInfo { base with induct := ← nameIn (← part j "of"), cidx := ← natIn (← part j "index"), numParams := 0, numFields := 0, isUnsafe := false }
  | .str "recursor" =>
    return .recInfo { base with
      all := ← namesIn (← part j "all"), numParams := 0, numIndices := 0, numMotives := 0, numMinors := 0, rules := [], k := false, isUnsafe := false }
  | .str "axiom" => return .axiomInfo { base with isUnsafe := flag j "unsafe" }
  | _ => badData "a kind"

/-- Reads what `exportConstants` wrote, in the same order. -/
def importConstants (j : Json) : M (List ConstantInfo) := do
  let mut es : Array Expr := #[]
  for row in (← items (← part j "exprs")) do es := es.push (← rowIn es row)
  let mut out := []
  for row in (← items (← part j "constants")) do
    match row with
    | .null => pure ()
    | row => out := (← constantIn es row) :: out
  return rev out

/-- The same without metadata, as both sides of a comparison must be. -/
def withoutMetadata (cs : List ConstantInfo) : M (List ConstantInfo) := importConstants (exportConstants cs)

end Repl

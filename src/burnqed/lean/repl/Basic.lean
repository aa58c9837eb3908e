/-
Basic: what every other file stands on. Owns the session and proof-state types, names as text,
JSON field access, running Lean's monads from IO, and messages.

The parts of the REPL are concatenated into one Lean file, in the order that `__init__.py` says; only this
one has imports. The style (own list recursion, monads applied
to explicit contexts and refs, `@[noinline]` wrappers) is what the WebAssembly build of Lean can
interpret: there, imported generic functions often have no code that our code could call. `for … in`
over a `List` works everywhere, and is what this program uses.
-/
import Lean.Elab.Frontend
import Lean.Elab.Tactic
open Lean Meta Elab

set_option linter.unusedVariables false

namespace Repl

/-! ## Small things that cannot be taken from the library -/

section Lists
variable {α β : Type}

def revOnto : List α → List α → List α
  | [], acc => acc
  | a :: as, acc => revOnto as (a :: acc)

def rev (l : List α) : List α := revOnto l []

/-- `append`, but stack-safe. -/
def app (a b : List α) : List α := revOnto (rev a) b

def len : List α → Nat → Nat
  | [], n => n
  | _ :: l, n => len l (n + 1)

def nth? : List α → Nat → Option α
  | [], _ => none
  | a :: _, 0 => some a
  | _ :: l, n + 1 => nth? l n

def mapOnto (f : α → β) : List α → List β → List β
  | [], acc => rev acc
  | a :: l, acc => mapOnto f l (f a :: acc)

def mapList (f : α → β) (l : List α) : List β := mapOnto f l []

def keepOnto (p : α → Bool) : List α → List α → List α
  | [], acc => rev acc
  | a :: l, acc => keepOnto p l (if p a then a :: acc else acc)

def keep (p : α → Bool) (l : List α) : List α := keepOnto p l []

def some? (p : α → Bool) : List α → Bool
  | [] => false
  | a :: l => if p a then true else some? p l

def pushAll : List α → Array α → Array α
  | [], acc => acc
  | a :: l, acc => pushAll l (acc.push a)

def toArr (l : List α) : Array α := pushAll l #[]

end Lists

/-- Head and arguments of an application. -/
def spine : Expr → List Expr → Expr × List Expr
  | .app f a, args => spine f (a :: args)
  | f, args => (f, args)

def hasGoal (gs : List MVarId) (g : MVarId) : Bool := some? (fun h => h.name == g.name) gs

def hasName (ns : List Name) (n : Name) : Bool := some? (fun m => m == n) ns

/-! `PersistentArray` and `PersistentHashMap` offer no callable iteration in the embedded build: walk
their representation. -/
namespace Walk
variable {α : Type}

partial def arr (a : Array α) (i : Nat) (acc : List α) : List α :=
  if i == 0 then acc else
    if h : i - 1 < a.size then arr a (i - 1) (a[i - 1] :: acc) else acc

mutual
partial def node (n : PersistentArrayNode α) (acc : List α) : List α :=
  match n with
  | .leaf vs => arr vs vs.size acc
  | .node cs => nodes cs cs.size acc
partial def nodes (a : Array (PersistentArrayNode α)) (i : Nat) (acc : List α) : List α :=
  if i == 0 then acc else
    if h : i - 1 < a.size then nodes a (i - 1) (node a[i - 1] acc) else acc
end

/-- The elements of a persistent array, in order. -/
def parray (a : PersistentArray α) : List α := node a.root (arr a.tail a.tail.size [])

variable {κ : Type}

mutual
partial def hnode (n : PersistentHashMap.Node κ α) (acc : List (κ × α)) : List (κ × α) :=
  match n with
  | .entries es => hentries es 0 acc
  | .collision ks vs _ => hcoll ks vs 0 acc
partial def hentries (es : Array (PersistentHashMap.Entry κ α (PersistentHashMap.Node κ α))) (i : Nat)
    (acc : List (κ × α)) : List (κ × α) :=
  if h : i < es.size then
    match es[i] with
    | .entry k v => hentries es (i + 1) ((k, v) :: acc)
    | .ref n => hentries es (i + 1) (hnode n acc)
    | .null => hentries es (i + 1) acc
  else acc
partial def hcoll (ks : Array κ) (vs : Array α) (i : Nat) (acc : List (κ × α)) : List (κ × α) :=
  if h : i < ks.size then
    if h' : i < vs.size then hcoll ks vs (i + 1) ((ks[i], vs[i]) :: acc) else acc
  else acc
end

/-- The entries of a persistent hash map, in no particular order. -/
def pmap [BEq κ] [Hashable κ] (m : PersistentHashMap κ α) : List (κ × α) := hnode m.root []

end Walk

/-! ## Names as text

A client sends back the names it was sent, so text → name → text must be exact: a component that is no
identifier is written in «», a numeric component as digits. -/

partial def hasDagger (s : String) (p : String.Pos.Raw) : Bool :=
  if p.atEnd s then false else if p.get s == '✝' then true else hasDagger s (p.next s)

partial def isInaccessible : Name → Bool
  | .str p s => hasDagger s ⟨0⟩ || isInaccessible p
  | .num p _ => isInaccessible p
  | .anonymous => false

/-- A name as the protocol writes it. Inaccessible names are written as Lean shows them, without «». -/
@[noinline] def nameStr (n : Name) : String := n.toString

def allDigits (s : String) (p : String.Pos.Raw) : Bool := Id.run do
  let mut ok := !p.atEnd s
  for c in s.toList do
    if !c.isDigit then ok := false
  return ok

def addPart (n : Name) (quoted : Bool) (s : String) : Name :=
  if quoted then .str n s
  else if s.isEmpty then n
  else if allDigits s ⟨0⟩ then .num n s.toNat! else .str n s

/-- The inverse of `nameStr`. Text that is no name at all gives a name that no constant has. -/
partial def readName (s : String) (p : String.Pos.Raw) (inQuote wasQuoted : Bool) (part : String) (acc : Name) : Name :=
  if p.atEnd s then addPart acc wasQuoted part
  else
    let c := p.get s
    let q := p.next s
    if inQuote then
      if c == '»' then readName s q false true part acc else readName s q true wasQuoted (part.push c) acc
    else if c == '«' then readName s q true true part acc
    else if c == '.' then readName s q false false "" (addPart acc wasQuoted part)
    else readName s q false wasQuoted (part.push c) acc

def toName (s : String) : Name :=
  if s == "[anonymous]" then .anonymous else readName s ⟨0⟩ false false "" .anonymous

/-! ## JSON -/

def jnum (n : Nat) : Json := .num ⟨n, 0⟩
def jname (n : Name) : Json := .str (nameStr n)
def jnames (ns : List Name) : Json := .arr (toArr (mapList jname ns))
def jpair (a b : Nat) : Json := .arr #[jnum a, jnum b]

/-- A failed request: `{"error": kind, "desc": desc}`. -/
structure Fault where
  kind : String
  desc : String

abbrev M := EIO Fault

@[noinline] def ioM {α : Type} (x : IO α) : M α := IO.toEIO (fun e => (⟨"io", toString e⟩ : Fault)) x

instance : MonadLift IO M := ⟨ioM⟩

@[noinline] def fail {α : Type} (kind desc : String) : M α := throw ⟨kind, desc⟩

def field? (j : Json) (k : String) : Option Json :=
  match j with
  | .obj _ =>
    match j.getObjVal? k with
    | .ok .null => none
    | .ok v => some v
    | .error _ => none
  | _ => none

def wrongType {α : Type} (k want : String) : M α := fail "command" ("Unable to parse json: field `" ++ k ++ "` must be " ++ want)

def missing {α : Type} (k : String) : M α := fail "command" ("Unable to parse json: missing field `" ++ k ++ "`")

def str? (j : Json) (k : String) : M (Option String) :=
  match field? j k with
  | none => pure none
  | some (.str s) => pure (some s)
  | some _ => wrongType k "a string"

def nat? (j : Json) (k : String) : M (Option Nat) :=
  match field? j k with
  | none => pure none
  | some (.num ⟨.ofNat n, 0⟩) => pure (some n)
  | some _ => wrongType k "a natural number"

def bool? (j : Json) (k : String) : M (Option Bool) :=
  match field? j k with
  | none => pure none
  | some (.bool b) => pure (some b)
  | some _ => wrongType k "a boolean"

def boolD (j : Json) (k : String) (d : Bool) : M Bool := do
  match (← bool? j k) with
  | some b => return b
  | none => return d

def str (j : Json) (k : String) : M String := do
  match (← str? j k) with
  | some s => return s
  | none => missing k

def nat (j : Json) (k : String) : M Nat := do
  match (← nat? j k) with
  | some n => return n
  | none => missing k

def strs? (j : Json) (k : String) : M (Option (List String)) := do
  match field? j k with
  | none => return none
  | some (.arr a) =>
    let mut out : List String := []
    for v in a.toList do
      match v with
      | .str s => out := s :: out
      | _ => wrongType k "an array of strings"
    return some (rev out)
  | some _ => wrongType k "an array of strings"

def names? (j : Json) (k : String) : M (Option (List Name)) := do
  match (← strs? j k) with
  | none => return none
  | some l => return some (mapList toName l)

def nats? (j : Json) (k : String) : M (Option (List Nat)) := do
  match field? j k with
  | none => return none
  | some (.arr a) =>
    let mut out : List Nat := []
    for v in a.toList do
      match v with
      | .num ⟨.ofNat n, 0⟩ => out := n :: out
      | _ => wrongType k "an array of natural numbers"
    return some (rev out)
  | some _ => wrongType k "an array of natural numbers"

def nats (j : Json) (k : String) : M (List Nat) := do
  match (← nats? j k) with
  | some l => return l
  | none => missing k

/-! ## The session -/

/-- Pantograph's options, and the two budgets that are ours. -/
structure Config where
  printJsonPretty : Bool := false
  printExprPretty : Bool := true
  printExprAST : Bool := false
  printDependentMVars : Bool := false
  noRepeat : Bool := false
  printAuxDecls : Bool := false
  printImplementationDetailHyps : Bool := false
  automaticMode : Bool := true
  timeout : Nat := 0
  maxHeartbeats : Nat := 200000
  maxRecDepth : Nat := 512
  /-- Counts changes of the options: what was printed before a change is not reused. -/
  epoch : Nat := 0

/-- Where text is parsed and elaborated: the namespace, what is open, the Lean options. -/
structure Scope where
  ns : Name := .anonymous
  opened : List OpenDecl := []
  opts : Options := {}
  levels : List Name := []

/-- A goal inside an unfinished `calc` or `conv` block. -/
inductive Fragment where
  | calc (prevRhs : Option Expr)
  | conv (rhs : MVarId)
  /-- A goal that a `conv` on `parent` opened. -/
  | convGoal (parent : MVarId)

/-- A hypothesis as it was printed. -/
structure PrintedVar where
  fvar : Name
  user : Name
  type : Expr
  value : Option Expr
  json : Json

/-- A goal as it was printed, kept so that the next state prints only what is new. -/
structure Printed where
  goal : Name
  fragment : String
  /-- No metavariables in it: the text stays true as long as the goal is open. -/
  closed : Bool
  vars : List PrintedVar
  json : Json

/-- What a new proof of a library theorem may not use. -/
structure Leak where
  target : Name
  /-- Modules that its own imports: nothing in them can rest on it. -/
  earlier : NameSet
  /-- Whether all that is not in those is forbidden, or only what is seen to rest on the target. -/
  strict : Bool
  /-- Constants without which the target could not be stated. -/
  needed : NameSet
  /-- Constants that were looked into, and do not rest on the target as far as can be seen. -/
  clean : IO.Ref NameSet

/-- A proof state. All of it is persistent data, so a state costs what changed, and any state can be
branched from. The caches of `MetaM` are left out on purpose: they are what would fill the memory. -/
structure GState where
  env : Environment
  mctx : MetavarContext := {}
  ngen : NameGenerator := {}
  auxNGen : DeclNameGenerator := {}
  macroScope : MacroScope := firstFrontendMacroScope + 1
  root : MVarId := ⟨.anonymous⟩
  goals : List MVarId := []
  /-- The goals that the last step closed or replaced. -/
  parents : List MVarId := []
  fragments : List (MVarId × Fragment) := []
  scope : Scope := {}
  /-- Universe parameters of the statement, in order. -/
  levels : List Name := []
  /-- The declaration being proved, which names the auxiliary lemmas; `anonymous` where there is none. -/
  decl : Name := .anonymous
  /-- Checked at each step. -/
  leak : Option Leak := none
  /-- Declarations of the file that the statement is from: what those rest on is not the proof's doing. -/
  given : NameSet := {}
  /-- What was printed of this state, under the options of `printedAt`. -/
  printed : List Printed := []
  printedAt : Nat := 0

/-- By id; a deleted state leaves `none` behind (the embedded build cannot call `erase`). -/
abbrev States := Std.TreeMap Nat (Option GState)

/-- One command of a text, elaborated. -/
structure Piece where
  start : Nat
  stop : Nat
  stx : Syntax
  envBefore : Environment
  envAfter : Environment
  scope : Scope
  /-- All of what the command started from. -/
  before : Command.State
  messages : List Message
  trees : List InfoTree
  heartbeats : Nat
  /-- Why the gate did not let it be elaborated. -/
  refused : Option String := none

/-- The text that was elaborated last, for the next one that begins like it. -/
structure Kept where
  source : String
  /-- Behind a gate: what was elaborated without one is not part of a text that has to pass it. -/
  gated : Bool
  pieces : List Piece

/-- Axioms that something rests on: those that can be seen, and whether that is all, because no body is missing. -/
structure Basis where
  axioms : List Name := []
  complete : Bool := true
  deriving Inhabited

structure Session where
  /-- Right after import. Certificates and checks start here and nowhere else. -/
  pristine : Environment
  /-- What requests see: `pristine` and what `env.add` or `frontend.process` added. -/
  env : Environment
  scope : Scope := {}
  config : Config := {}
  states : States := {}
  nextId : Nat := 0
  nStates : Nat := 0
  /-- The library's theorems, listed on first use. -/
  index : Option (Array (Name × Nat)) := none
  /-- Do imported theorems carry their proofs (ordinary Lean), or not (exported-only library)? -/
  proofsAreThere : Bool := false
  /-- What is known so far of the axioms below imported constants. -/
  axiomsOf : NameMap Basis := {}
  /-- Elaborated in `env`, under these options. -/
  kept : Option Kept := none
  /-- Where it is told how far an untrusted text is, for who asks what this process died of. -/
  progress : Option IO.FS.Stream := none

abbrev Ref := IO.Ref Session

def addState (r : Ref) (g : GState) : M Nat := do
  let s ← (r.get : IO Session)
  let id := s.nextId
  r.set { s with states := s.states.insert id (some g), nextId := id + 1, nStates := s.nStates + 1 }
  return id

def getState (s : Session) (id : Nat) : M GState :=
  match s.states.get? id with
  | some (some g) => pure g
  | _ => fail "index" ("Invalid state index " ++ Nat.repr id)

/-! ## Running Lean's monads -/

structure Ran (α : Type) where
  val : Except Exception α
  core : Core.State
  meta' : Meta.State
  /-- Heartbeats used, in Lean's user unit (thousands of allocations). -/
  heartbeats : Nat

/-- Options of every run: one thread, and what the scope set. -/
def runOptions (sc : Scope) : Options := sc.opts.setBool `Elab.async false

/-- Counts heartbeats from `n` on, in allocations. Lean's elaborator counts from where a run began. Its kernel, and what prints
a message, take their limit from the options, and compare it with all that this thread has counted. So the count begins anew
with each run, each command and each declaration that the kernel is given. -/
@[noinline] def countFrom (n : Nat) : IO Unit := IO.setNumHeartbeats n

def countAnew : IO Unit := countFrom 0

/-- Runs `x` on the environment and metavariables of `g`, with a heartbeat budget of its own.
`source` is the text that messages point into. `errToSorry` is off: an elaboration error is a failure,
never a `sorry`. Unification is as generous as in a file, whose commands Lean elaborates in this context. -/
@[noinline] def runTerm {α : Type} (cfg : Config) (g : GState) (x : TermElabM α) (source : String := "") : IO (Ran α) := do
  countAnew
  let hb ← IO.getNumHeartbeats
  let ctx : Core.Context := {
    fileName := "<Pantograph>", fileMap := FileMap.ofString source,
    options := (runOptions g.scope).setNat `maxHeartbeats cfg.maxHeartbeats,
    currNamespace := g.scope.ns, openDecls := g.scope.opened, maxRecDepth := cfg.maxRecDepth,
    initHeartbeats := hb, maxHeartbeats := cfg.maxHeartbeats * 1000 }
  let cref ← IO.mkRef ({ env := g.env, ngen := g.ngen, auxDeclNGen := g.auxNGen, nextMacroScope := g.macroScope } : Core.State)
  let mref ← IO.mkRef ({ mctx := g.mctx } : Meta.State)
  let tref ← IO.mkRef ({ levelNames := app g.levels g.scope.levels } : Term.State)
  let name := match g.decl with | .anonymous => `_repl | n => n
  let tctx : Term.Context := { errToSorry := false, declName? := some name }
  let val ← (x tctx tref Command.mkMetaContext mref ctx cref).toBaseIO
  let hb' ← IO.getNumHeartbeats
  return { val := val, core := (← cref.get), meta' := (← mref.get), heartbeats := (hb' - hb) / 1000 }

/-- The state after a run: what the run left behind, with `goals` open. -/
def GState.after {α : Type} (g : GState) (r : Ran α) (goals : List MVarId) : GState :=
  { g with env := r.core.env, mctx := r.meta'.mctx, ngen := r.core.ngen, auxNGen := r.core.auxDeclNGen,
           macroScope := r.core.nextMacroScope, goals := goals }

@[noinline] def exceptionText (e : Exception) : IO String := e.toMessageData.toString

/-- A message without what was traced. Of a failed `grind` that is most of the text, and a third of its time. -/
partial def untraced : MessageData → MessageData
  | .compose a b => .compose (untraced a) (untraced b)
  | .nest n m => .nest n (untraced m)
  | .group m => .group (untraced m)
  | .tagged n m => .tagged n (untraced m)
  | .withContext c m => .withContext c (untraced m)
  | .withNamingContext c m => .withNamingContext c (untraced m)
  | .trace .. => .ofFormat .nil
  | m => m

/-- The text of an exception that a run ended with. Some (budget errors) come without a context of their own. -/
@[noinline] def ranText {α : Type} (r : Ran α) (e : Exception) (brief : Bool := false) : IO String :=
  let said := e.toMessageData
  (MessageData.withContext { env := r.core.env, mctx := r.meta'.mctx, lctx := {}, opts := {} } (if brief then untraced said else said)).toString

/-- The value of a run, or its exception as a fault. -/
def okOr {α : Type} (kind : String) (r : Ran α) : M α := do
  match r.val with
  | .ok a => return a
  | .error e => fail kind (← ranText r e)

/-- Runs `x` with the local context of `g`. -/
@[noinline] def inGoal {α : Type} (g : MVarId) (x : TermElabM α) : TermElabM α := do
  let d ← g.getDecl
  fun tc ts mc ms cc cs => x tc ts { mc with lctx := d.lctx, localInstances := d.localInstances } ms cc cs

/-! ## Messages -/

@[noinline] def messageText (m : Message) : IO String := m.data.toString

def jpos (p : Position) : Json := Json.mkObj [("line", jnum p.line), ("column", jnum p.column)]

def isError (m : Message) : Bool := match m.severity with | .error => true | _ => false

/-- Lean's `SerialMessage`. -/
@[noinline] def jmessage (m : Message) : IO Json := do
  let text ← messageText m
  let severity := match m.severity with | .error => "error" | .warning => "warning" | .information => "information"
  return Json.mkObj [
    ("fileName", .str m.fileName), ("pos", jpos m.pos),
    ("endPos", match m.endPos with | some p => jpos p | none => .null),
    ("keepFullRange", .bool m.keepFullRange), ("severity", .str severity), ("isSilent", .bool m.isSilent),
    ("caption", .str m.caption), ("data", .str text), ("kind", jname m.kind)]

def jmessages (ms : List Message) : IO (Array Json) := do
  let mut out := #[]
  for m in ms do
    out := out.push (← jmessage m)
  return out

/-- What a run logged. The log may have moved from `unreported` to `reported` on the way. -/
@[noinline] def logged (l : MessageLog) : List Message := app (Walk.parray l.reported) (Walk.parray l.unreported)

/-- As Lean says it of its elaborator, of whatever ran out of heartbeats: its kernel, say. -/
def spentText (limit : Nat) : String := "(deterministic) timeout, maximum number of heartbeats (" ++ Nat.repr limit ++ ") has been reached"

/-- An exception as an error message with this text, at the place it points to. -/
def textMessage (source : String) (e : Exception) (text : String) : Json :=
  let fm := FileMap.ofString source
  let ref := e.getRef
  let pos := match ref.getPos? with | some p => fm.toPosition p | none => ⟨1, 0⟩
  let endPos := match ref.getTailPos? with | some p => jpos (fm.toPosition p) | none => .null
  Json.mkObj [
    ("fileName", .str "<Pantograph>"), ("pos", jpos pos), ("endPos", endPos), ("keepFullRange", .bool false),
    ("severity", .str "error"), ("isSilent", .bool false), ("caption", .str ""), ("data", .str text), ("kind", .str "[anonymous]")]

@[noinline] def exceptionMessage {α : Type} (source : String) (r : Ran α) (e : Exception) (brief : Bool := false) : IO Json := do
  return textMessage source e (← ranText r e brief)

end Repl

/-
BurnQed: the tactic `qed?`, which asks burn-qed for a proof of the goal and offers it as "Try this".

    example (p q : Prop) (h : p ∧ q) : q ∧ p := by
      qed?

`qed? "--nodes 1000"` passes options to `burn-qed prove`, such as the address of a server whose Leans are
warm (`--server http://127.0.0.1:8200`), and so does the environment variable
BURN_QED_OPTIONS. BURN_QED_COMMAND names the program where `burn-qed` is not on the PATH.

`burn-qed lean tactic` wrote this file, and writes it anew when there is a newer one; docs/editor.md of
burn-qed says more. Lean's generic functions are used sparingly, and texts as lists of characters: the Lean
that tests this file, compiled to WebAssembly, has no code for the others.
-/
import Lean

open Lean Meta Elab

namespace BurnQed

/-- `qed?` asks burn-qed for a proof of the main goal, checks it, and offers it in place of itself.
A string after it has options of `burn-qed prove`, such as `qed? "--nodes 1000"`. -/
syntax (name := qed) "qed?" (ppSpace str)? : tactic

/-! ## The request: the text up to here, as the prover can read it -/

/-- Bytes of a text, and what stands there instead. -/
structure Edit where
  start : Nat
  stop : Nat
  text : List Char

/-- What is asked: to prove the `sorry` at a place of a text. Lines count from 1, columns from 0. -/
structure Request where
  text : String
  line : Nat
  column : Nat

def theSorry : List Char := ['s', 'o', 'r', 'r', 'y']

/-- An edit of what a node covers, before those that are known. -/
def editOf (stx : Syntax) (text : List Char) (known : List Edit) : List Edit :=
  match stx.getPos?, stx.getTailPos? with
  | some a, some b => { start := a.byteIdx, stop := b.byteIdx, text := text } :: known
  | _, _ => known

def named (n : Name) : List Syntax → Bool
  | [] => false
  | .ident _ _ m _ :: l => m == n || named n l
  | _ :: l => named n l

/-- The prover knows neither `qed?`, which is a `sorry` to it, nor this module. -/
partial def editsOf (stx : Syntax) (known : List Edit) : List Edit :=
  match stx with
  | .node _ kind args =>
    if kind == `BurnQed.qed then editOf stx theSorry known
    else if kind == `Lean.Parser.Module.import && named `BurnQed args.toList then editOf stx [] known
    else inAll args.toList known
  | _ => known
where
  inAll : List Syntax → List Edit → List Edit
    | [], known => known
    | a :: l, known => inAll l (editsOf a known)

def turned {α : Type} : List α → List α → List α
  | [], acc => acc
  | a :: l, acc => turned l (a :: acc)

/-- The text of characters that come last first. -/
def textOf (reversed : List Char) : String := pushed (turned reversed []) ""
where
  pushed : List Char → String → String
    | [], s => s
    | c :: l, s => pushed l (s.push c)

def bytesOf (c : Char) : Nat :=
  if c.toNat < 0x80 then 1 else if c.toNat < 0x800 then 2 else if c.toNat < 0x10000 then 3 else 4

/-- A text that is being rewritten: how many bytes are read, and what is written, last character first. -/
structure Writing where
  read : Nat := 0
  written : List Char := []
  line : Nat := 1
  column : Nat := 0
  place : Option (Nat × Nat) := none

def Writing.put (w : Writing) (c : Char) : Writing :=
  if c == '\n' then { w with written := c :: w.written, line := w.line + 1, column := 0 }
  else { w with written := c :: w.written, column := w.column + 1 }

def Writing.putAll (w : Writing) : List Char → Writing
  | [] => w
  | c :: l => (w.put c).putAll l

/-- Makes the edits, first to last, and notes where the one that begins at byte `wanted` is written. -/
def rewritten (wanted stop : Nat) : List Char → List Edit → Writing → Writing
  | [], _, w => w
  | c :: rest, edits, w =>
    if w.read >= stop then w else
    let after := w.read + bytesOf c
    match edits with
    | [] => rewritten wanted stop rest [] { w.put c with read := after }
    | e :: more =>
      if w.read < e.start then rewritten wanted stop rest edits { w.put c with read := after }
      else
        let w := if w.read == wanted then { w with place := some (w.line, w.column) } else w
        let w := if w.read == e.start then w.putAll e.text else w
        if after >= e.stop then rewritten wanted stop rest more { w with read := after }
        else
          -- Within what is replaced: an edit without a text leaves the lines as they are.
          let w := match e.text with
            | [] => if c == '\n' then w.put c else w
            | _ => w
          rewritten wanted stop rest edits { w with read := after }

@[noinline] def headerOf (ictx : Parser.InputContext) : IO (Syntax × Parser.ModuleParserState) := do
  let (stx, state, _) ← Parser.parseHeader ictx
  return (stx, state)

@[noinline] def commandAt (ictx : Parser.InputContext) (context : Parser.ParserModuleContext)
    (state : Parser.ModuleParserState) : Syntax × Parser.ModuleParserState :=
  let (stx, state, _) := Parser.parseCommand ictx context state {}
  (stx, state)

/-- Reads commands up to the one around byte `wanted`: the edits in them, last first, and where it ends. -/
partial def readTo (ictx : Parser.InputContext) (context : Parser.ParserModuleContext) (wanted : Nat)
    (state : Parser.ModuleParserState) (known : List Edit) : List Edit × Option Nat :=
  let (stx, state) := commandAt ictx context state
  if Parser.isTerminalCommand stx then (known, none) else
  let known := editsOf stx known
  match stx.getTailPos? with
  | some stop =>
    if wanted < stop.byteIdx then (known, some stop.byteIdx) else readTo ictx context wanted state known
  | none => readTo ictx context wanted state known

def inputOf (source : String) : Parser.InputContext :=
  { inputString := source, fileName := "<qed?>", fileMap := FileMap.ofString source }

/-- The text up to the end of the command around byte `wanted`, where a `qed?` stands. Imports, `open`s,
universes, variables and notations are in the text, as they were written, and so is all that the goal is
about. Nothing behind the command is sent. -/
def requestOf (env : Environment) (opts : Options) (ns : Name) (opened : List OpenDecl) (source : String)
    (wanted : Nat) : IO (Option Request) := do
  let ictx := inputOf source
  let (header, state) ← headerOf ictx
  let context := { env := env, options := opts, currNamespace := ns, openDecls := opened }
  match readTo ictx context wanted state (editsOf header []) with
  | (_, none) => return none
  | (edits, some stop) =>
    let w := rewritten wanted stop source.toList (turned edits []) {}
    match w.place with
    | none => return none
    | some (line, column) => return some { text := textOf ('\n' :: w.written), line, column }

/-! ## The answer: JSON of `burn-qed prove --suggest` -/

@[noinline] def fieldOf (j : Json) (name : String) : Except String Json := j.getObjVal? name

@[noinline] def elementsOf (j : Json) : Except String (Array Json) := j.getArr?

@[noinline] def stringOf (j : Json) : Except String String := j.getStr?

def stringAt (j : Json) (name : String) : Except String String := do stringOf (← fieldOf j name)

/-- The elements of an array behind the first `n`. -/
def elementsFrom (a : Array Json) (n : Nat) : List Json :=
  if h : n < a.size then a[n] :: elementsFrom a (n + 1) else []

def listAt (j : Json) (name : String) : Except String (List Json) := do
  return elementsFrom (← elementsOf (← fieldOf j name)) 0

/-- What was found for the `sorry`: the tactics for each of its goals, or why there are none. -/
inductive Answer where
  | found (proofs : List (List String))
  | nothing (reason : String)

partial def texts : List Json → Except String (List String)
  | [] => return []
  | j :: l => do return (← stringOf j) :: (← texts l)

partial def proofsOf : List Json → Except String (List (List String))
  | [] => return []
  | j :: l => do return (← texts (elementsFrom (← elementsOf j) 0)) :: (← proofsOf l)

@[noinline] def parsed (text : String) : Except String Json := Json.parse text

def answerOf (output : String) : Except String Answer := do
  match (← listAt (← parsed output) "suggestions") with
  | [j] =>
    match (← proofsOf (← listAt j "tactics")) with
    | [] => return .nothing (← stringAt j "reason")
    | proofs => return .found proofs
  | _ => .error "it is not about one `sorry`"

/-! ## The offer -/

/-- Tactics as one text whose first line begins in column `column`. -/
def block (column : Nat) (tactics : List String) : String :=
  match tactics with
  | [] => ""
  | t :: l => textOf (all l (indented t.toList []))
where
  all : List String → List Char → List Char
    | [], out => out
    | t :: l, out => all l (indented t.toList (newline out))
  indented : List Char → List Char → List Char
    | [], out => out
    | '\n' :: l, out => indented l (newline out)
    | c :: l, out => indented l (c :: out)
  newline (out : List Char) : List Char := blanks column ('\n' :: out)
  blanks : Nat → List Char → List Char
    | 0, l => l
    | n + 1, l => blanks n (' ' :: l)

@[noinline] def parsedTactic (env : Environment) (text : String) : Except String Syntax :=
  Parser.runParserCategory env `tactic text

open Tactic

/-- The characters in a line before byte `start`, last first. -/
def lineBefore (start : Nat) : List Char → Nat → List Char → List Char
  | [], _, known => known
  | c :: l, read, known =>
    if read < start then lineBefore start l (read + bytesOf c) (if c == '\n' then [] else c :: known) else known

def columnOf : List Char → Nat
  | [] => 0
  | _ :: l => columnOf l + 1

/-- Whether what begins here in its line may be several tactics: behind nothing else, `·`, `by` or a bracket. -/
def mayFollow : List Char → Bool
  | [] => true
  | ' ' :: l => mayFollow l
  | 'y' :: 'b' :: ' ' :: _ => true
  | '·' :: l => mayFollow l
  | '(' :: _ => true
  | '{' :: _ => true
  | _ => false

/-- The tactics that close the goal of the `sorry`, as they are written behind the beginning of a line (last
character first). If it has several goals, the first that fits closes each. -/
def written (line : List Char) (proofs : List (List String)) : String :=
  let column := columnOf line
  match proofs with
  | [proof] =>
    if mayFollow line then block column proof else "(" ++ block (column + 1) proof ++ ")"
  | _ => alternatives column proofs "first"
where
  alternatives (column : Nat) : List (List String) → String → String
    | [], text => text
    | p :: l, text =>
      let next := block (column + 2) ["", "| ("]
      alternatives column l (text ++ next ++ block (column + 5) p ++ ")")

/-- A syntax tree as if all of it stood in one place: what Lean says of it then shows there. -/
partial def placed (info : SourceInfo) : Syntax → Syntax
  | .node _ kind args => .node info kind (all args 0 #[])
  | .atom _ text => .atom info text
  | .ident _ text name known => .ident info text name known
  | .missing => .missing
where
  all (args : Array Syntax) (n : Nat) (done : Array Syntax) : Array Syntax :=
    if h : n < args.size then all args (n + 1) (done.push (placed info args[n])) else done

/-- The tactics of a text that begins in the column behind `line`, as one tactic at the place of `ref`. -/
def tacticOf (env : Environment) (ref : Syntax) (line : List Char) (text : String) : Except String Syntax := do
  let stx ← parsedTactic env (block (columnOf line) ["(", ""] ++ text ++ "\n)")
  return placed (SourceInfo.fromRef ref) stx

/-- Runs a tactic on the main goal alone, as Lean would run it there; an error unless that closes it. What
it says is not shown: it is about a text that stands nowhere yet. -/
def close (tactic : Syntax) : TacticM Unit := do
  let before ← getThe Core.State
  match (← (get : TacticM Tactic.State)).goals with
  | [] => throwError "no goals"
  | goal :: others =>
    set ({ goals := [goal] } : Tactic.State)
    fun context => evalTactic tactic { context with recover := false }
    Term.synthesizeSyntheticMVarsNoPostponing
    modifyThe Core.State fun s => { s with messages := before.messages, traceState := before.traceState }
    let proof ← instantiateMVars (.mvar goal)
    if proof.hasSorry || proof.hasExprMVar then throwError "burn-qed's proof leaves something open here"
    let declared ← goal.getDecl
    withTheReader Meta.Context
      (fun c => { c with lctx := declared.lctx, localInstances := declared.localInstances }) (check proof)
    set ({ goals := others } : Tactic.State)

/-- Closes the main goal with what was found, and offers that in place of `stx`: what is offered has been
run. -/
def offer (stx : Syntax) (answer : Answer) : TacticM Unit := do
  match answer with
  | .nothing reason => throwError "burn-qed found no proof: {reason}"
  | .found proofs =>
    let source := (← getFileMap).source
    let start := match stx.getPos? with | some p => p.byteIdx | none => 0
    let line := lineBefore start source.toList 0 []
    let text := written line proofs
    match tacticOf (← getEnv) stx line text with
    | .error why => throwError "Lean cannot read burn-qed's proof here: {why}"
    | .ok tactic =>
      close tactic
      Meta.Tactic.TryThis.addSuggestion stx { suggestion := .string text }

/-! ## Asking -/

/-- The words of a text between blanks. -/
def wordsOf (text : String) : List String := go text.toList [] []
where
  go : List Char → List Char → List String → List String
    | [], word, done => turned (ended word done) []
    | c :: l, word, done => if c.isWhitespace then go l [] (ended word done) else go l (c :: word) done
  ended : List Char → List String → List String
    | [], done => done
    | word, done => textOf word :: done

def says (words : List String) (flag : String) : Bool :=
  match words with
  | [] => false
  | w :: l => w == flag || says l flag

def joined : List String → Array String → Array String
  | [], a => a
  | w :: l, a => joined l (a.push w)

/-- The words of the command line for a request. In a lake project, its packages can be imported: a
server has a Lean of its own. -/
def argumentsOf (r : Request) (options : List String) (inProject : Bool) : Array String :=
  let place := toString r.line ++ ":" ++ toString r.column
  let own := ["prove", "-", "--at", place, "--suggest"]
  let chosen := says options "--project" || says options "--toolchain" || says options "--server"
  let project := if inProject && !chosen then ["--project", "."] else []
  joined options (joined project (joined own #[]))

@[noinline] def setting (name : String) : IO (Option String) := IO.getEnv name

@[noinline] def isThere (path : String) : IO Bool := System.FilePath.pathExists path

abbrev pipes : IO.Process.StdioConfig := { stdin := .piped, stdout := .piped, stderr := .piped }
abbrev fed : IO.Process.StdioConfig := { pipes with stdin := .null }

/-- In a group of its own, so that all of it can be ended. -/
@[noinline] def started (command : String) (arguments : Array String) : IO (IO.Process.Child pipes) :=
  IO.Process.spawn { pipes with cmd := command, args := arguments, setsid := true }

/-- Its input is at its end once this returns. -/
@[noinline] def feed (child : IO.Process.Child pipes) (text : String) : IO (IO.Process.Child fed) := do
  let (stdin, child) ← child.takeStdin
  stdin.putStr text
  stdin.flush
  return child

@[noinline] def reading (handle : IO.FS.Handle) : IO (Task (Except IO.Error String)) :=
  IO.asTask handle.readToEnd .dedicated

@[noinline] def ended (child : IO.Process.Child fed) : IO (Option UInt32) := child.tryWait

/-- Ends a process and all of its group. `Child.kill` would do, but `takeStdin` forgets the group (Lean
4.27), and the Leans of burn-qed would go on for a while. -/
@[noinline] def endIt (child : IO.Process.Child fed) : IO Unit := do
  let quiet : IO.Process.StdioConfig := { stdin := .null, stdout := .null, stderr := .null }
  let words := #["-c", "kill -s TERM -- -" ++ toString child.pid]
  let killer ← IO.Process.spawn { quiet with cmd := "sh", args := words }
  let _ ← killer.wait

/-- The exit code of a process. It is ended when Lean no longer wants to know, as after an edit. -/
partial def waited (child : IO.Process.Child fed) : TacticM UInt32 := do
  match (← ended child) with
  | some code => return code
  | none =>
    match (← readThe Core.Context).cancelTk? with
    | some token =>
      if (← token.isSet) then
        endIt child
        Core.checkInterrupted
    | none => pure ()
    IO.sleep 50
    waited child

def textIn (read : Except IO.Error String) : String :=
  match read with | .ok text => text | .error e => toString e

/-- What `burn-qed prove` prints for a request, and its exit code. -/
def asked (command : String) (arguments : Array String) (text : String) : TacticM (UInt32 × String × String) := do
  let child ← started command arguments
  let out ← reading child.stdout
  let err ← reading child.stderr
  let child ← feed child text
  let code ← waited child
  return (code, textIn out.get, textIn err.get)

/-- The string behind `qed?`. -/
def optionsIn (stx : Syntax) : String :=
  match stx with
  | .node _ _ #[_, .node _ _ #[.node _ _ #[.atom _ text]]] => (Syntax.decodeStrLit text).getD ""
  | _ => ""

/-- The request for the `qed?` that a tactic is. -/
def requestAt (stx : Syntax) : TacticM Request := do
  let start := match stx.getPos? with | some p => p.byteIdx | none => 0
  let source := (← getFileMap).source
  match (← requestOf (← getEnv) (← getOptions) (← getCurrNamespace) (← getOpenDecls) source start) with
  | some request => return request
  | none => throwError "`qed?` works where it is written, and not within a macro"

@[tactic qed] def elabQed : Tactic := fun stx => do
  let request ← requestAt stx
  let more := (← setting "BURN_QED_OPTIONS").getD ""
  let command := (← setting "BURN_QED_COMMAND").getD "burn-qed"
  let inProject := (← isThere "lakefile.toml") || (← isThere "lakefile.lean")
  let options := wordsOf (more ++ " " ++ optionsIn stx)
  let (code, out, err) ← asked command (argumentsOf request options inProject) request.text
  if code != 0 && code != 1 then
    throwError "`{command} prove` failed (exit code {code}); is it installed, and on the PATH or in \
      BURN_QED_COMMAND?\n{err}"
  match answerOf out with
  | .ok answer => offer stx answer
  | .error why => throwError "`{command} prove` printed no answer: {why}\n{err}"

end BurnQed

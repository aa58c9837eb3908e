/-
Serve: from a request line to a reply line. Owns the dispatch, the session's own commands (`reset`,
`stat`, `options.*`), `Repl.boot`, which makes a handler and touches neither stdin nor stdout, and
`Repl.loop`, which serves stdin. The program around them is `Main`.
-/

namespace Repl

/-! ## Session commands -/

def sessionStat (r : Ref) (_ : Json) : M Json := do
  let s ← (r.get : IO Session)
  return Json.mkObj [("nGoals", jnum s.nStates)]

def sessionReset (r : Ref) (_ : Json) : M Json := do
  let s ← (r.get : IO Session)
  r.set { s with states := {}, nextId := 0, nStates := 0 }
  return Json.mkObj [("nGoals", jnum s.nStates)]

def optionsSet (r : Ref) (j : Json) : M Json := do
  let s ← (r.get : IO Session)
  let c := s.config
  let c := { c with
    printJsonPretty := ← boolD j "printJsonPretty" c.printJsonPretty
    printExprPretty := ← boolD j "printExprPretty" c.printExprPretty
    printExprAST := ← boolD j "printExprAST" c.printExprAST
    printDependentMVars := ← boolD j "printDependentMVars" c.printDependentMVars
    noRepeat := ← boolD j "noRepeat" c.noRepeat
    printAuxDecls := ← boolD j "printAuxDecls" c.printAuxDecls
    printImplementationDetailHyps := ← boolD j "printImplementationDetailHyps" c.printImplementationDetailHyps
    automaticMode := ← boolD j "automaticMode" c.automaticMode
    timeout := (← nat? j "timeout").getD c.timeout
    maxHeartbeats := (← nat? j "maxHeartbeats").getD c.maxHeartbeats
    maxRecDepth := (← nat? j "maxRecDepth").getD c.maxRecDepth
    epoch := c.epoch + 1 }
  r.set { s with config := c, kept := none }
  return Json.mkObj []

def optionsPrint (r : Ref) (_ : Json) : M Json := do
  let s ← (r.get : IO Session)
  let c := s.config
  return Json.mkObj [
    ("printJsonPretty", .bool c.printJsonPretty), ("printExprPretty", .bool c.printExprPretty),
    ("printExprAST", .bool c.printExprAST), ("printDependentMVars", .bool c.printDependentMVars),
    ("noRepeat", .bool c.noRepeat), ("printAuxDecls", .bool c.printAuxDecls),
    ("printImplementationDetailHyps", .bool c.printImplementationDetailHyps),
    ("automaticMode", .bool c.automaticMode), ("timeout", jnum c.timeout),
    ("maxHeartbeats", jnum c.maxHeartbeats), ("maxRecDepth", jnum c.maxRecDepth)]

def notSupported (what : String) : M Json := fail "command" (what ++ " is not supported: this REPL touches no files")

/-! ## Dispatch -/

def execute (r : Ref) (cmd : String) (j : Json) : M Json :=
  match cmd with
  | "goal.tactic" => goalTactic r j
  | "qed.batch" => qedBatch r j
  | "goal.start" => goalStart r j
  | "goal.print" => goalPrint r j
  | "goal.delete" => goalDelete r j
  | "goal.subsume" => goalSubsume r j
  | "goal.continue" => goalContinue r j
  | "goal.save" => notSupported cmd
  | "goal.load" => notSupported cmd
  | "reset" => sessionReset r j
  | "stat" => sessionStat r j
  | "options.set" => optionsSet r j
  | "options.print" => optionsPrint r j
  | "expr.echo" => exprEcho r j
  | "env.describe" => envDescribe r j
  | "env.module_read" => envModuleRead r j
  | "env.catalog" => envCatalog r j
  | "env.inspect" => envInspect r j
  | "env.add" => envAdd r j
  | "env.parse" => envParse r j
  | "qed.theorems" => qedTheorems r j
  | "frontend.process" => frontendProcess r j
  | "frontend.distil" => frontendDistil r j
  | "qed.start" => qedStartAny r j
  | "qed.holes" => qedHoles r j
  | "qed.outline" => qedOutline r j
  | "qed.trace" => qedTrace r j
  | "qed.retrace" => qedRetrace r j
  | "frontend.track" => frontendTrack r j
  | "qed.certify" => qedCertify r j
  | "qed.compile" => qedCompile r j
  | "qed.verify" => qedVerify r j
  | "frontend.refactor" => frontendRefactor r j
  | "env.save" => notSupported cmd
  | "env.load" => notSupported cmd
  | _ => fail "command" ("Unknown command " ++ cmd)

/-- Where the command word ends: at the first blank, or after `fuel` characters, which no command has. -/
def wordEnd (s : String) (p : String.Pos.Raw) (fuel : Nat) : String.Pos.Raw :=
  match fuel with
  | 0 => p
  | n + 1 => if p.atEnd s then p else if (p.get s).isWhitespace then p else wordEnd s (p.next s) n

partial def skipSpace (s : String) (p : String.Pos.Raw) : String.Pos.Raw :=
  if p.atEnd s then p else if (p.get s).isWhitespace then skipSpace s (p.next s) else p

@[noinline] def parseJson (s : String) : M Json :=
  match Json.parse s with
  | .ok j => pure j
  | .error e => fail "command" ("Unable to parse json: " ++ e)

/-- A request is `cmd {json}` or `{"cmd": …, "payload": …}`. -/
def request (line : String) : M (String × Json) := do
  let start := skipSpace line ⟨0⟩
  if start.atEnd line then fail "command" "empty request" else
  if start.get line == '{' then
    let j ← parseJson line
    let cmd ← str j "cmd"
    return (cmd, (field? j "payload").getD (Json.mkObj []))
  let stop := wordEnd line start 60
  let cmd := String.Pos.Raw.extract line start stop
  if !stop.atEnd line && !(stop.get line).isWhitespace then fail "command" ("Unknown command " ++ cmd ++ "…") else
  let argStart := skipSpace line stop
  if argStart.atEnd line then return (cmd, Json.mkObj [])
  let j ← parseJson (String.Pos.Raw.extract line argStart line.rawEndPos)
  match j with
  | .obj _ => return (cmd, j)
  | _ => fail "command" "Unable to parse json: an object is expected"

@[noinline] def answer (r : Ref) (line : String) : M Json := do
  let (cmd, j) ← request line
  execute r cmd j

/-- Where output of elaborated code goes: nowhere. The reply line must be the only one. -/
def nowhere : IO.FS.Stream := {
  flush := pure (), read := fun _ => pure ByteArray.empty, write := fun _ => pure (),
  getLine := pure "", putStr := fun _ => pure (), isTty := pure false }

/-- One request line in, one reply line out. Never throws; after an error the session is as it was. -/
@[noinline] def handle (r : Ref) (line : String) : IO String := do
  let before ← r.get
  let out ← IO.setStdout nowhere
  let err ← IO.setStderr nowhere
  let res ← (answer r line).toBaseIO
  let _ ← IO.setStdout out
  let _ ← IO.setStderr err
  match res with
  | .ok j =>
    let s ← r.get
    return j.compress  -- one line whatever `printJsonPretty` says: it is kept for clients that read it back
  | .error f =>
    r.set before
    return (Json.mkObj [("error", .str f.kind), ("desc", .str f.desc)]).compress

/-! ## Entry points -/

partial def splitOption (s : String) (p : String.Pos.Raw) : Option (String × String) :=
  if p.atEnd s then none
  else if p.get s == '=' then
    some (String.Pos.Raw.extract s ⟨2⟩ p, String.Pos.Raw.extract s (p.next s) s.rawEndPos)
  else splitOption s (p.next s)

/-- `--name=value`: a Lean option, typed by how its value reads. -/
def addOption (opts : Options) (name value : String) : Options :=
  let n := toName name
  match value with
  | "true" => opts.setBool n true
  | "false" => opts.setBool n false
  | v => if allDigits v ⟨0⟩ then opts.setNat n v.toNat! else opts.setString n v

/-- A command line in two, options and modules: `--name=value… -- MODULE…`. Without a `--` there are no options,
so that no module, which any file may name, is ever taken for one. -/
def splitArgs (args before : List String) : List String × List String :=
  match args with
  | [] => ([], rev before)
  | "--" :: modules => (rev before, modules)
  | a :: args => splitArgs args (a :: before)

/-- `FLAGS:MODULE`, with `p`ublic, `m`eta and `a`ll among the flags. -/
def importIn (s : String) : Import :=
  match s.splitOn ":" with
  | [flags, m] =>
    let has (f : String) : Bool := len (flags.splitOn f) 0 > 1
    { module := toName m, isExported := has "p", isMeta := has "m", importAll := has "a" }
  | _ => { module := toName s }

/-- `--burnqed.header=NAME,FLAGS:MODULE,…`: a text that begins with `module`, what it is called and what it imports. -/
def headerIn (args : List String) : Option (Name × List Import) :=
  match args with
  | [] => none
  | "--" :: _ => none
  | a :: args =>
    match splitOption a ⟨2⟩ with
    | some ("burnqed.header", v) =>
      match v.splitOn "," with
      | n :: l => some (toName n, mapList importIn l)
      | [] => none
    | _ => headerIn args

/-- Reads the command line: modules to import, Lean options, and the budgets among them. -/
def readArgs (args : List String) : List String × Options × Config := Id.run do
  let (options, modules) := splitArgs args []
  let mut opts : Options := {}
  let mut cfg : Config := {}
  for a in options do
    match splitOption a ⟨2⟩ with
    | some ("maxHeartbeats", v) => cfg := { cfg with maxHeartbeats := v.toNat! }
    | some ("maxRecDepth", v) => cfg := { cfg with maxRecDepth := v.toNat! }
    | some ("burnqed.header", _) => pure ()
    | some (n, v) => opts := addOption opts n v
    | none => pure ()
  return (match modules with | [] => ["Init"] | l => l, opts, cfg)

def importsOf (ms : List String) : Array Import := toArr (mapList (fun m => ({ module := toName m } : Import)) ms)

/-- Imports the modules and makes the handler of a new session. -/
public def boot (args : List String) : IO (String → IO String) := do
  let (modules, opts, cfg) := readArgs args
  initSearchPath (← findSysroot)
  -- A text of the module system sees of its imports what they make public, and no more.
  let env ← match headerIn args with
    | some (name, imports) => do
      let env ← importModules (toArr imports) opts (loadExts := true) (level := .exported)
      pure (env.setMainModule name)
    | none => importModules (importsOf modules) opts (loadExts := true)
  let proofs := match env.find? ``Nat.add_comm with | some (.thmInfo _) => true | _ => false
  let err ← IO.getStderr
  let r ← IO.mkRef ({ pristine := env, env := env, scope := { opts := opts }, config := cfg, proofsAreThere := proofs, progress := some err } : Session)
  return fun line => handle r line

partial def loop (h : String → IO String) (stdin stdout : IO.FS.Stream) : IO Unit := do
  let line ← try (do let l ← stdin.getLine; pure (some l)) catch _ => pure none
  match line with
  | none =>
    -- bytes that are no text: say so, and go on with the next line
    stdout.putStrLn "{\"error\":\"command\",\"desc\":\"the request is not valid UTF-8\"}"
    stdout.flush
    loop h stdin stdout
  | some line =>
    if (skipSpace line ⟨0⟩).atEnd line then return ()
    stdout.putStrLn (← h line)
    stdout.flush
    loop h stdin stdout

end Repl

/-! # The REPL's code by itself

`#pack`, the last command of the program where the embedded Lean elaborates it, writes what the interpreter needs to
run `main`: each function that is called from there, however deep, and the symbols of those that are exported under
another name. Of a function of Lean's own that is its signature: what it does is in the module. So the program can be run
where Lean's library is not loaded, which is many times as large (see `launch.js`). -/

namespace Repl.Pack
open Lean IR

-- A command's code runs while the file is elaborated, for which its functions must be `meta`; Lean's own, which are
-- called here, are not.
set_option compiler.checkMeta false

meta section

variable {α : Type}

partial def listFrom (a : Array α) (i : Nat) (acc : List α) : List α :=
  if i == 0 then acc else
    if h : i - 1 < a.size then listFrom a (i - 1) (a[i - 1] :: acc) else acc

def arrayOnto : List α → Array α → Array α
  | [], acc => acc
  | a :: l, acc => arrayOnto l (acc.push a)

def calledIn (e : IR.Expr) (acc : List Name) : List Name :=
  match e with
  | .fap f _ => f :: acc
  | .pap f _ => f :: acc
  | _ => acc

mutual
partial def calledBy (b : FnBody) (acc : List Name) : List Name :=
  match b with
  | .vdecl _ _ e b => calledBy b (calledIn e acc)
  | .jdecl _ _ v b => calledBy b (calledBy v acc)
  | .set _ _ _ b => calledBy b acc
  | .setTag _ _ b => calledBy b acc
  | .uset _ _ _ b => calledBy b acc
  | .sset _ _ _ _ _ b => calledBy b acc
  | .inc _ _ _ _ b => calledBy b acc
  | .dec _ _ _ _ b => calledBy b acc
  | .del _ b => calledBy b acc
  | .case _ _ _ alts => calledByAny (listFrom alts alts.size []) acc
  | .ret _ => acc
  | .jmp _ _ => acc
  | .unreachable => acc
partial def calledByAny (alts : List Alt) (acc : List Name) : List Name :=
  match alts with
  | [] => acc
  | .ctor _ b :: alts => calledByAny alts (calledBy b acc)
  | .default b :: alts => calledByAny alts (calledBy b acc)
end

@[noinline] def codeOf (env : Environment) (n : Name) : Option Decl := findEnvDecl env n (includeServer := true)

@[noinline] def symbolOf (env : Environment) (n : Name) : Option Name := getExportNameFor? env n

@[noinline] def textOf (n : Name) : String := n.toString

/-- What the interpreter calls with boxed arguments has a second version, where the first one has unboxed ones. -/
def boxed (n : Name) : Name := .str n "_boxed"

structure Packed where
  code : List Decl := []
  symbols : List (Name × Name) := []
  missing : List Name := []

partial def pack (env : Environment) (todo : List Name) (seen : NameSet) (p : Packed) : Packed :=
  match todo with
  | [] => p
  | n :: todo =>
    if seen.contains n then pack env todo seen p else
    let seen := seen.insert n
    match codeOf env n with
    | none => pack env todo seen { p with missing := n :: p.missing }
    | some d =>
      let todo := match d with
        | .fdecl _ _ _ b _ => calledBy b todo
        | .extern .. => todo
      let code := match codeOf env (boxed n) with
        | some d' => d' :: d :: p.code
        | none => d :: p.code
      let symbols := match symbolOf env n with
        | some s => (n, s) :: p.symbols
        | none => p.symbols
      pack env todo seen { p with code := code, symbols := symbols }

unsafe def asModuleData (p : Array Decl × Array (Name × Name)) : ModuleData := unsafeCast p

/-- The format of Lean's own modules can hold any data; the launcher knows what is in this one. -/
@[implemented_by asModuleData] opaque toModuleData (p : Array Decl × Array (Name × Name)) : ModuleData

@[noinline] def write (d : ModuleData) : IO Unit := saveModuleData "/repl/Repl.code" `Repl d

def packMain (env : Environment) : IO Unit := do
  let p := pack env [`main] {} {}
  match p.missing with
  | [] => write (toModuleData (arrayOnto p.code #[], arrayOnto p.symbols #[]))
  | n :: _ => throw (.userError ("the REPL calls " ++ textOf n ++ ", of which there is no code"))

syntax (name := packCommand) "#pack" : command

@[command_elab packCommand] public def elabPack : Elab.Command.CommandElab :=
  fun (_ : Syntax) (_ : Elab.Command.Context) (ref : IO.Ref Elab.Command.State) => (do
    let s ← ref.get
    match (← (packMain s.env).toBaseIO) with
    | .ok _ => return ()
    | .error e => throw (.error .missing (.ofFormat (.text (toString e)))) : EIO Exception Unit)

end

end Repl.Pack

#pack

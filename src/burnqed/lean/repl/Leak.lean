/-
Leak: what a new proof of a library theorem may not use. In the embedded Lean a library proof is not there to look into,
so what may rest on the theorem is told from where it stands: what the theorem's own module imports cannot. Where proofs
and definitions are there, they are looked into.
-/

namespace Repl

def moduleNameAt (env : Environment) (i : Nat) : Name :=
  let ms := env.header.modules
  if h : i < ms.size then ms[i].toImport.module else .anonymous

def moduleOf? (env : Environment) (n : Name) : Option Name :=
  match env.getModuleIdxFor? n with
  | some i => some (moduleNameAt env i.toNat)
  | none => none

def moduleData? (env : Environment) (i : Nat) : Option ModuleData :=
  if h : i < env.header.moduleData.size then some env.header.moduleData[i] else none

def addImports (env : Environment) (i : Nat) (found : NameSet) : NameSet := Id.run do
  let mut found := found
  match moduleData? env i with
  | none => pure ()
  | some d => for m in d.imports.toList do found := found.insert m.module
  return found

/-- Adds what the modules before `i` that are in `found` import. A module stands after all that it imports, so one
pass from the last to the first is enough. -/
partial def importedBelow (env : Environment) (i : Nat) (found : NameSet) : NameSet :=
  match i with
  | 0 => found
  | i + 1 => importedBelow env i (if found.contains (moduleNameAt env i) then addImports env i found else found)

/-- Modules that the module of a library constant imports, directly or not. -/
def earlierModules (env : Environment) (target : Name) : NameSet :=
  match env.getModuleIdxFor? target with
  | none => {}
  | some i => importedBelow env i.toNat (addImports env i.toNat {})

/-- `leak` of a request: `self` forbids the target and what is seen to rest on it, `module` all that may. -/
def readLeak (env : Environment) (target : Name) (rule : String) : M Leak := do
  match env.find? target with
  | none => fail "index" ("Symbol not found: " ++ nameStr target)
  | some ci =>
    let mut needed : NameSet := {}
    for n in ci.type.getUsedConstants.toList do needed := needed.insert n
    let clean ← (IO.mkRef {} : IO (IO.Ref NameSet))
    let leak : Leak := { target := target, earlier := earlierModules env target, strict := true, needed := needed, clean := clean }
    match rule with
    | "self" => return { leak with strict := false }
    | "module" => return leak
    | _ => fail "arguments" "leak must be self or module"

/-- What Lean defines together with an inductive type, and the eliminators that its tactics prefer. -/
def madeWithAType : List String := ["rec", "recOn", "casesOn", "recAux", "casesAuxOn", "brecOn", "below", "noConfusion",
  "noConfusionType", "binductionOn", "ibelow", "ctorIdx"]

/-- A type, a constructor, or what comes with a type: none of them can rest on a theorem. -/
def isData (env : Environment) (n : Name) : Bool :=
  match n with
  | .str p s => if some? (fun t => t == s) madeWithAType then isType p else isPart n
  | _ => isPart n
where
  isType (n : Name) : Bool := match env.find? n with | some (.inductInfo _) => true | _ => false
  isPart (n : Name) : Bool := match env.find? n with
    | some (.inductInfo _) => true
    | some (.ctorInfo _) => true
    | some (.recInfo _) => true
    | _ => false

def Leak.isEarlier (l : Leak) (env : Environment) (n : Name) : Bool := l.earlier.contains ((moduleOf? env n).getD .anonymous)

/-- Whether one of these is seen to rest on the target, and what was looked at for that. -/
partial def Leak.reaches (l : Leak) (env : Environment) (todo : List Name) (seen : NameSet) : Bool × NameSet :=
  match todo with
  | [] => (false, seen)
  | n :: todo =>
    if n == l.target then (true, seen)
    else if seen.contains n || l.isEarlier env n then l.reaches env todo seen
    else
      let used := match env.find? n with
        | some ci => match ci.value? (allowOpaque := true) with
          | some v => app v.getUsedConstants.toList ci.type.getUsedConstants.toList
          | none => ci.type.getUsedConstants.toList
        | none => []
      l.reaches env (app used todo) (seen.insert n)

/-- May a proof use this constant of the library? -/
def Leak.allows (l : Leak) (env : Environment) (n : Name) : IO Bool := do
  if n == l.target then return false
  if l.isEarlier env n || l.needed.contains n then return true
  if l.strict then return isData env n
  let (found, seen) := l.reaches env [n] (← l.clean.get)
  if found then return false
  l.clean.set seen
  return true

/-- The first of these constants of the library that a proof may not use; the target itself before any other. -/
def Leak.first (l : Leak) (env : Environment) (library : List Name) : IO (Option Name) := do
  if hasName library l.target then return some l.target
  for n in library do
    if !(← l.allows env n) then return some n
  return none

/-- Constants of the library among `todo`, and in declarations that are not of the library. -/
partial def libraryBelow (env : Environment) (todo : List Name) (seen : NameSet) (acc : List Name) : List Name :=
  match todo with
  | [] => acc
  | n :: todo =>
    if seen.contains n then libraryBelow env todo seen acc
    else
      let seen := seen.insert n
      match env.getModuleIdxFor? n, env.find? n with
      | some _, _ => libraryBelow env todo seen (n :: acc)
      | none, none => libraryBelow env todo seen acc
      | none, some ci =>
        let used := match ci.value? (allowOpaque := true) with
          | some v => app v.getUsedConstants.toList ci.type.getUsedConstants.toList
          | none => ci.type.getUsedConstants.toList
        libraryBelow env (app used todo) seen acc

end Repl

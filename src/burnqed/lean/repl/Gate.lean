/-
Gate: what an untrusted text may not contain, decided on Lean's own parse of each command, before that
command is elaborated. Python looks at the text first; this looks at what Lean made of it, so that no
difference between two tokenizers lets a word through. The lists come with the request.
-/

namespace Repl

structure Gate where
  /-- Kinds of commands that may be elaborated at all. -/
  kinds : List String
  /-- Words of the grammar that may not occur. -/
  words : List String
  /-- Parts of names that may not occur. -/
  names : List String
  /-- Options that may be set: a name, or a prefix that ends in a dot. -/
  options : List String
  attributes : List String
  /-- The reference's commands, in order. As long as a text repeats them one by one from its start, its
  commands are the reference's own and trusted; behind the first difference nothing is. -/
  trusted : List String := []

def hasStr (l : List String) (s : String) : Bool := some? (fun t => t == s) l

def parts : Name → List String
  | .anonymous => []
  | .str p s => s :: parts p
  | .num p _ => parts p

def endOf (n : Name) : String := match n with | .str _ s => s | _ => ""

def dotted (n : Name) : String := ".".intercalate (rev (parts n))

partial def firstWord : List Syntax → Option String
  | [] => none
  | .atom _ v :: _ => some v
  | .ident _ _ n _ :: _ => some (dotted n)
  | .node _ _ args :: l => match firstWord args.toList with
    | some w => some w
    | none => firstWord l
  | _ :: l => firstWord l

partial def firstName : List Syntax → Option Name
  | [] => none
  | .ident _ _ n _ :: _ => some n
  | .node _ _ args :: l => match firstName args.toList with
    | some n => some n
    | none => firstName l
  | _ :: l => firstName l

def allowedOption (g : Gate) (o : String) : Bool :=
  some? (fun a => a == o || (a.endsWith "." && o.startsWith a)) g.options

/-- The value of a tactic's configuration is evaluated, so it must be plain: numbers, truth values, names of
constructors that no declaration of the text bears too. -/
partial def plain (env : Environment) (stx : Syntax) : Bool :=
  match stx with
  | .ident _ _ n _ => (n == `true || n == `false) && !borne n
  | .node _ k args =>
    if k == `Lean.Parser.Term.structInstLVal then true
    else if k == `Lean.Parser.Term.dotIdent then
      match firstName args.toList with
      | some n => !borne n
      | none => false
    else all args.toList
  | _ => true
where
  borne (n : Name) : Bool := some? (fun (c : Name × ConstantInfo) => endOf c.1 == endOf n) (newConstants env)
  all : List Syntax → Bool
    | [] => true
    | a :: l => plain env a && all l

/-- Names of the machinery: with them a text could make syntax or programs that nobody parsed. What `grind`
asks of a type is mathematics, and so are the data structures of Batteries. The same list is in `rules.py`. -/
def isMeta : List String → Bool
  | "_root_" :: l => isMeta l
  | "Lean" :: "Grind" :: _ => false
  | "Mathlib" :: "Vector" :: _ => false
  | "Batteries" :: part :: _ => hasStr ["Tactic", "Linter", "Util", "Lean", "CodeAction", "Parser", "Meta"] part
  | head :: _ => hasStr ["Lean", "Mathlib", "Aesop", "Qq", "ProofWidgets", "LeanSearchClient", "ImportGraph", "Lake"] head
  | [] => false

/-- Terms that are syntax to programs. A notation's right side becomes such a term: an antiquotation in it would be a program
that runs wherever the notation is used. -/
def quotations : List String := ["quot", "dynamicQuot", "precheckedQuot", "quotedName", "doubleQuotedName",
  "antiquot", "antiquot_scope", "antiquot_suffix_splice", "token_antiquot"]

/-- What Lean, or a library's tactic, evaluates when it elaborates a piece of syntax: the value of a configuration, also as
Aesop writes it, and what Mathlib's `trace` says. -/
def evaluated (k : Name) (args : List Syntax) : List Syntax :=
  match args with
  | _ :: _ :: rest =>
    -- All that stands behind the name, whatever the grammar puts before the value.
    if k == `Lean.Parser.Tactic.valConfigItem || k == `Lean.Parser.Tactic.config then rest
    else match args with
      | .atom _ "(" :: .atom _ word :: .atom _ ":=" :: value => if word.endsWith "config" then value else []
      | [_, value] => if k == `Lean.Parser.Tactic.trace then [value] else []
      | _ => []
  | _ => []

/-- Builders that make no program of a declaration. Without one of them Aesop runs what has a tactic's type. -/
def builders : List String := ["apply", "simp", "unfold", "constructors", "forward", "destruct", "cases"]

/-- Of a rule of Aesop's: how many builders and how many names it has, and whether it asks for a tactic by its name. Tactics
that it spells out are read as all others are. -/
partial def ruleParts (stx : Syntax) (acc : Nat × Nat × Bool) : Nat × Nat × Bool :=
  match stx with
  | .atom _ v => if hasStr builders v then (acc.1 + 1, acc.2) else if v == "tactic" then (acc.1, acc.2.1, true) else acc
  | .ident .. => (acc.1, acc.2.1 + 1, acc.2.2)
  | .node _ k args => if k == `Lean.Parser.Term.byTactic then acc else go args.toList acc
  | .missing => acc
where
  go : List Syntax → Nat × Nat × Bool → Nat × Nat × Bool
    | [], acc => acc
    | a :: l, acc => go l (ruleParts a acc)

/-- Whether a rule of Aesop's may run a program that is a declaration's value. `least`: builders that it must have. -/
def runsRule (least : Nat) (stx : Syntax) : Bool :=
  let (own, names, program) := ruleParts stx (0, 0, false)
  program || own < names || own < least

@[noinline] def declaresInstance (env : Environment) : Bool :=
  some? (fun (c : Name × ConstantInfo) => Meta.isInstanceCore env c.1) (newConstants env)

/-- Why a piece of syntax is refused. `dirty`: something before it failed or was left open, so that equations
which do not hold may be about, and the text has instances: code of its own, which may rest on them and which the
value of a configuration may be made of (`5` is an instance's). -/
partial def refusal (g : Gate) (env : Environment) (dirty : Bool) (stx : Syntax) : Option String :=
  match stx with
  | .missing => none
  | .atom _ v => if hasStr g.words v then some ("`" ++ v ++ "` is forbidden") else none
  | .ident _ _ n _ =>
    if some? (hasStr g.names) (parts n) then some ("`" ++ dotted n ++ "` is forbidden")
    else if isMeta (rev (parts n)) then some ("`" ++ dotted n ++ "` belongs to Lean's own machinery")
    else none
  | .node _ k args =>
    let own : Option String :=
      if hasStr quotations (endOf k) then some "a quotation is forbidden"
      else if endOf k == "set_option" then
        match firstName args.toList with
        | some o => if allowedOption g (dotted o) then none else some ("the option " ++ dotted o ++ " may not be set")
        | none => none
      else if k == `Lean.Parser.Term.attrInstance then
        match args.toList with
        | _ :: attr => match firstWord attr with
          | some a =>
            if !hasStr g.attributes a then some ("the attribute " ++ a ++ " is not allowed")
            else if a == "aesop" && runsRule 1 (.node .none `null attr.toArray) then some "a rule for aesop needs a builder, and not a tactic by its name"
            else none
          | none => none
        | [] => none
      else match evaluated k args.toList with
        | [] => match args.toList with
          | .atom _ "(" :: .atom _ "add" :: .node _ `null rules :: .atom _ ")" :: [] =>
            if some? (runsRule 0) rules.toList then some "a rule for aesop needs a builder, and not a tactic by its name" else none
          | _ => none
        | values =>
          if dirty then some "a configuration is not evaluated behind something that failed or was left open"
          else if some? (fun v => !plain env v) values then some "the value of a configuration must be a plain literal"
          else none
    match own with
    | some why => some why
    | none => inside args.toList
where
  inside : List Syntax → Option String
    | [] => none
    | a :: l => match refusal g env dirty a with
      | some why => some why
      | none => inside l

/-- The text of a command, without what stands around it. -/
def textOf (source : String) (stx : Syntax) : String :=
  match stx.getPos?, stx.getTailPos? with
  | some a, some b => String.Pos.Raw.extract source a b
  | _, _ => ""

/-- The kinds of a command and of those inside it (`… in …`, `mutual … end`). -/
partial def commandKinds (stx : Syntax) : List String :=
  match stx with
  | .node _ k args =>
    if k == `Lean.Parser.Command.in || k == `Lean.Parser.Command.mutual || k == `null then
      app (if k == `null then [] else [dotted k]) (inside args.toList)
    else [dotted k]
  | _ => []
where
  inside : List Syntax → List String
    | [] => []
    | a :: l => app (commandKinds a) (inside l)

def Gate.refuses (g : Gate) (env : Environment) (dirty : Bool) (stx : Syntax) : Option String :=
  match keep (fun k => !hasStr g.kinds k) (commandKinds stx) with
  | k :: _ => some ("a command of the kind " ++ k ++ " is not allowed")
  | [] => refusal g env (dirty && declaresInstance env) stx

/-- The gate before the next command, and whether this one is the reference's own. -/
def Gate.next (g : Gate) (source : String) (stx : Syntax) : Gate × Bool :=
  match g.trusted with
  | t :: ts => if t == textOf source stx then ({ g with trusted := ts }, true) else ({ g with trusted := [] }, false)
  | [] => (g, false)

/-- The gate that a request brings under this name, if it does. -/
def readGate (j : Json) (trusted : List String) (key : String := "gate") : M (Option Gate) := do
  match field? j key with
  | none => return none
  | some g =>
    let list (k : String) : M (List String) := do return (← strs? g k).getD []
    return some { kinds := ← list "kinds", words := ← list "words", names := ← list "names",
                  options := ← list "options", attributes := ← list "attributes", trusted := trusted }

end Repl

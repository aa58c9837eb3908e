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
  /-- Texts of commands that are trusted as they are: the reference's. -/
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
partial def plain (new : List (Name × ConstantInfo)) (stx : Syntax) : Bool :=
  match stx with
  | .ident _ _ n _ => n == `true || n == `false
  | .node _ k args =>
    if k == `Lean.Parser.Term.structInstLVal then true
    else if k == `Lean.Parser.Term.dotIdent then
      match firstName args.toList with
      | some n => !some? (fun (c : Name × ConstantInfo) => endOf c.1 == endOf n) new
      | none => false
    else all args.toList
  | _ => true
where
  all : List Syntax → Bool
    | [] => true
    | a :: l => plain new a && all l

/-- Why a piece of syntax is refused. `dirty`: something before it failed or was left open, so that equations
which do not hold may be about, and code that rests on them must not be evaluated. -/
partial def refusal (g : Gate) (new : List (Name × ConstantInfo)) (dirty : Bool) (stx : Syntax) : Option String :=
  match stx with
  | .missing => none
  | .atom _ v => if hasStr g.words v then some ("`" ++ v ++ "` is forbidden") else none
  | .ident _ _ n _ =>
    if some? (hasStr g.names) (parts n) then some ("`" ++ dotted n ++ "` is forbidden") else none
  | .node _ k args =>
    let own : Option String :=
      if endOf k == "set_option" then
        match firstName args.toList with
        | some o => if allowedOption g (dotted o) then none else some ("the option " ++ dotted o ++ " may not be set")
        | none => none
      else if k == `Lean.Parser.Term.attrInstance then
        match args.toList with
        | _ :: attr => match firstWord attr with
          | some a => if hasStr g.attributes a then none else some ("the attribute " ++ a ++ " is not allowed")
          | none => none
        | [] => none
      else if k == `Lean.Parser.Tactic.valConfigItem || k == `Lean.Parser.Tactic.config then
        match args.toList with
        | _ :: _ :: value =>
          if dirty then some "a configuration is not evaluated behind something that failed or was left open"
          else if some? (fun v => !plain new v) value then some "the value of a configuration must be a plain literal"
          else none
        | _ => none
      else none
    match own with
    | some why => some why
    | none => inside args.toList
where
  inside : List Syntax → Option String
    | [] => none
    | a :: l => match refusal g new dirty a with
      | some why => some why
      | none => inside l

/-- The text of a command, without what stands around it. -/
def textOf (source : String) (stx : Syntax) : String :=
  match stx.getPos?, stx.getTailPos? with
  | some a, some b => String.Pos.Raw.extract source a b
  | _, _ => ""

def Gate.refuses (g : Gate) (source : String) (env : Environment) (dirty : Bool) (stx : Syntax) : Option String :=
  if hasStr g.trusted (textOf source stx) then none
  else if !hasStr g.kinds (dotted stx.getKind) then some ("a command of the kind " ++ dotted stx.getKind ++ " is not allowed")
  else refusal g (newConstants env) dirty stx

end Repl

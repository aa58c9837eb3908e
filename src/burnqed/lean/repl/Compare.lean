/-
Compare: whether two texts mean the same by a declaration. The judge's reference is one, a file the other.

Names of inductive types, constructors, recursors, opaque constants and axioms are part of what they mean, so
these must agree in name and content. A definition means its value and a theorem its statement, whatever they are
called: a `match` or a proof inside a statement is a constant that Lean names after whoever needed it first.

A proof that the left side leaves open (`⟨n + 1, by sorry⟩`) may be any proof on the right. What stands around it is the
same on both sides and is typed by the kernel, so whatever stands there proves what was left open; and which proof it is
does not change what a term means.
-/

namespace Repl

/-- The declarations of two texts on top of one library. -/
structure Sides where
  library : Environment
  left : Name → Option ConstantInfo
  right : Name → Option ConstantInfo

/-- Pairs that are equal if all others are: what is recursive is compared once. -/
structure Agreed where
  names : Std.TreeMap Name (List Name) Name.quickCmp := {}
  exprs : Std.TreeMap Expr (List Expr) exprOrder := {}

@[noinline] def Agreed.namesOf (s : Agreed) (a : Name) : List Name := (s.names.get? a).getD []
@[noinline] def Agreed.exprsOf (s : Agreed) (a : Expr) : List Expr := (s.exprs.get? a).getD []
@[noinline] def Agreed.addName (s : Agreed) (a b : Name) : Agreed := { s with names := s.names.insert a (b :: s.namesOf a) }
@[noinline] def Agreed.addExpr (s : Agreed) (a b : Expr) : Agreed := { s with exprs := s.exprs.insert a (b :: s.exprsOf a) }

def sameNames : List Name → List Name → Bool
  | [], [] => true
  | a :: as, b :: bs => a == b && sameNames as bs
  | _, _ => false

def levelsAs (ns : List Name) : List Level := mapList Level.param ns

def sameLevels : List Level → List Level → Bool
  | [], [] => true
  | a :: as, b :: bs => a == b && sameLevels as bs
  | _, _ => false

/-- `e`, a part of `b`, with the universe parameters of `a`. -/
def withLevelsOf (a b : ConstantInfo) (e : Expr) : Expr :=
  if sameNames a.levelParams b.levelParams then e else e.instantiateLevelParams b.levelParams (levelsAs a.levelParams)

def isZero (l : Level) : Bool := match l.normalize with | .zero => true | _ => false

/-- Is this a theorem that the left side leaves open? -/
def isOpenTheorem (s : Sides) (n : Name) : Bool :=
  if s.library.contains n then false else
  match s.left n with
  | some (.thmInfo v) => v.value.hasSorry
  | _ => false

/-- Is this a proof that ends in a `sorry`, as far as its shape tells? `sorryAx.{0}` proves a proposition, a theorem as well, and
what is made of a proof by application, abstraction and projection is one again. -/
partial def isOpenProof (s : Sides) (e : Expr) : Bool :=
  match e with
  | .app f _ => isOpenProof s f
  | .lam _ _ b _ => isOpenProof s b
  | .letE _ _ _ b _ => isOpenProof s b
  | .proj _ _ b => isOpenProof s b
  | .const n ls =>
    if n == ``sorryAx then (match ls with | [l] => isZero l | _ => false)
    else isOpenTheorem s n
  | _ => false

mutual
/-- The agreement that two expressions need on top of what is agreed; `none` where they differ. Names and kinds of binders are
ignored; metadata must be gone. -/
partial def agreeExpr (s : Sides) (a b : Expr) (done : Agreed) : Option Agreed :=
  if isOpenProof s a then some done
  else if sameExpr a b then agreeNames s (keep (fun n => !isOpenTheorem s n) a.getUsedConstants.toList) done
  else if some? (sameExpr b) (done.exprsOf a) then some done
  else
    let done := done.addExpr a b
    match a, b with
    | .const m ls, .const n ks => if sameLevels ls ks then agreeName s m n done else none
    | .app f x, .app g y => both s f g x y done
    | .lam _ t x _, .lam _ u y _ => both s t u x y done
    | .forallE _ t x _, .forallE _ u y _ => both s t u x y done
    | .letE _ t v x _, .letE _ u w y _ => match both s t u v w done with
      | some done => agreeExpr s x y done
      | none => none
    | .proj m i x, .proj n j y => if m == n && i == j then
        match agreeName s m n done with
        | some done => agreeExpr s x y done
        | none => none
      else none
    | _, _ => none
partial def both (s : Sides) (a b c d : Expr) (done : Agreed) : Option Agreed :=
  match agreeExpr s a b done with
  | some done => agreeExpr s c d done
  | none => none
partial def agreeNames (s : Sides) (ns : List Name) (done : Agreed) : Option Agreed :=
  match ns with
  | [] => some done
  | n :: ns => match agreeName s n n done with
    | some done => agreeNames s ns done
    | none => none
partial def agreeName (s : Sides) (a b : Name) (done : Agreed) : Option Agreed :=
  match s.library.contains a, s.library.contains b with
  | true, true => if a == b then some done else none
  | false, false =>
    if hasName (done.namesOf a) b then some done else
    match s.left a, s.right b with
    | some x, some y => agreeInfo s x y (done.addName a b)
    | _, _ => none
  | _, _ => none
/-- Kind, universe parameters by their number, type, and whatever else the kind has. -/
partial def agreeInfo (s : Sides) (x y : ConstantInfo) (done : Agreed) : Option Agreed :=
  if len x.levelParams 0 != len y.levelParams 0 then none else
  match agreeExpr s x.type (withLevelsOf x y y.type) done with
  | none => none
  | some done =>
    let values (v w : Expr) := agreeExpr s v (withLevelsOf x y w) done
    match x, y with
    | .thmInfo _, .thmInfo _ => some done
    | .defnInfo v, .thmInfo _ => if isOpenProof s v.value then some done else none
    | .defnInfo v, .defnInfo w => if v.safety == w.safety then values v.value w.value else none
    | .opaqueInfo v, .opaqueInfo w => if x.name == y.name && v.isUnsafe == w.isUnsafe then values v.value w.value else none
    | .axiomInfo v, .axiomInfo w => if x.name == y.name && v.isUnsafe == w.isUnsafe then some done else none
    | .inductInfo v, .inductInfo w =>
      if x.name == y.name && v.numParams == w.numParams && v.isUnsafe == w.isUnsafe && sameNames v.all w.all && sameNames v.ctors w.ctors
      then agreeNames s (app v.all v.ctors) done else none
    | .ctorInfo v, .ctorInfo w =>
      if x.name == y.name && v.induct == w.induct && v.cidx == w.cidx then agreeNames s [v.induct] done else none
    | .recInfo v, .recInfo w => if x.name == y.name && sameNames v.all w.all then agreeNames s v.all done else none
    | _, _ => none
end

/-- Do both sides mean the same by this name? -/
def sameMeaning (s : Sides) (n : Name) : Bool := (agreeName s n n {}).isSome

end Repl

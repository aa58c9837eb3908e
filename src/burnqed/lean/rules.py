"""What a proof may not contain, whatever Lean would make of it.

A text is refused before Lean sees it for two reasons. Some words are the cheat itself (`sorry`, an
axiom, `native_decide`). Others run code while Lean elaborates (`run_tac`, `macro`, an attribute that
installs an elaborator), and code that runs inside the judge could fake any verdict. The rest is logic,
and the kernel decides about that (`judge`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from burnqed.lean.nesting import too_deep
from burnqed.lean.tokens import CLOSERS, Token, tokenize

ALLOWED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})

UNPROVED = frozenset({"sorry", "sorryAx", "admit", "stop", "lcProof", "lcUnreachable", "lcAny"})
COMPILED = frozenset({
    "native_decide", "ofReduceBool", "ofReduceNat", "reduceBool", "reduceNat", "trustCompiler",
    "bv_decide", "bv_check", "unsafeCast", "ptrAddrUnsafe", "unsafeIO", "unsafeEIO",
})  # fmt: skip
DECLARES = frozenset({
    "axiom", "unsafe", "opaque", "implemented_by", "initialize", "builtin_initialize",
})  # fmt: skip
RUNS_CODE = frozenset({
    "run_tac", "run_elab", "run_cmd", "run_meta", "by_elab", "elab", "elab_rules", "macro",
    "macro_rules", "syntax", "declare_syntax_cat", "notation3", "binder_predicate", "unif_hint",
    "simproc", "dsimproc", "simproc_decl", "dsimproc_decl", "builtin_simproc",
    "builtin_dsimproc", "simproc_pattern%",
    "register_simp_attr", "register_option", "register_builtin_option", "register_label_attr",
    "autoParam", "register_error_explanation", "set_library_suggestions", "builtin_grind_propagator",
    "declare_config_elab", "declare_simp_like_tactic",
    "declare_command_config_elab", "include_str", "eval%",
})  # fmt: skip
# They run nothing but change what a text means: only for files whose statements are pinned elsewhere.
NOTATIONS = frozenset({"notation", "infix", "infixl", "infixr", "prefix", "postfix"})
# `simp (maxSteps := k)` evaluates `k`. With these, evaluation has no effect.
WORLD = frozenset({
    "IO", "BaseIO", "EIO", "ST", "EST", "RealWorld", "Void", "dbgTrace", "dbg_trace", "dbgTraceVal",
    "dbgTraceIfShared", "dbgStackTrace", "dbgSleep",
})  # fmt: skip
SEARCHES = frozenset({
    "exact?", "apply?", "rw?", "rewrite?", "simp?", "simp_all?", "dsimp?", "simpa?", "grind?", "try?",
    "have?", "aesop?", "norm_num?", "observe?", "decide?", "show_term",
    "rw_search", "simp_arith?", "solve_by_elim?", "conv?", "calc?",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a text is refused, and where. A dangerous one is not shown to Lean: it would run."""

    reason: str
    at: int
    dangerous: bool = True
    notation: bool = False


_GROUPS = (
    (UNPROVED, "leaves something unproved", False),
    (COMPILED, "trusts compiled code", True),
    (DECLARES, "declares what nobody proved", True),
    (RUNS_CODE | NOTATIONS, "runs code or changes the syntax", True),
    (WORLD, "belongs to programs, not to proofs", True),
    (SEARCHES, "searches; put what it suggests in its place", False),
)
# Ordinary names in core Lean. If Mathlib makes them words of the grammar, Lean's parse shows it.
SEARCHES_OF_MATHLIB = frozenset({
    "hint", "says", "rw??", "unfold?", "observe??", "conv?", "extract_goal",
})  # fmt: skip
# Likewise: they evaluate a term of the text, ask a server, or start a program.
RUNS_CODE_IN_MATHLIB = frozenset({
    "polyrith", "plausible", "slim_check", "from_lrat", "pi_lower_bound", "pi_upper_bound",
    "success_if_fail_with_msg", "with_panel_widgets", "by_elabq", "run_tacq", "mk_rpc_widget%",
    "#leansearch", "#loogle", "#moogle", "#search", "#statesearch",
})  # fmt: skip
# Lean's metaprograms, and those of the libraries below Mathlib, by the first part of their names.
MACHINERY = frozenset({
    "Lean", "Mathlib", "Aesop", "Qq", "ProofWidgets", "LeanSearchClient", "ImportGraph", "Lake",
})  # fmt: skip
_MACHINERY_OF_BATTERIES = frozenset({
    "Tactic", "Linter", "Util", "Lean", "CodeAction", "Parser", "Meta",
})  # fmt: skip
_MATHEMATICS = (["Lean", "Grind"], ["Mathlib", "Vector"])
WORDS = {word: (what, danger) for words, what, danger in _GROUPS for word in words}
SEARCH_TACTIC = re.compile(r"[a-z_]+\?!?")
# How `grind` refers to a case split, as in `grind only [#ef78]`. No command has such a name.
ANCHOR = re.compile(r"#[0-9a-f]{4,16}")
# The name itself is the cheat, even after a dot (`Lean.ofReduceBool`). The others are words of the
# grammar, which are ordinary names after a dot (`Foo.prefix`).
EVEN_DOTTED = (
    COMPILED | WORLD | frozenset({"autoParam", "sorryAx", "lcProof", "lcUnreachable", "lcAny"})
)
# Also an ordinary name, so refused only where a tactic begins.
ONLY_AS_TACTIC = frozenset({"stop"})
BEFORE_A_TACTIC = frozenset({"by", ";", ">", "·", "first", "try", "repeat", "all_goals"})

COMMAND_KINDS = frozenset({
    f"Lean.Parser.Command.{name}"
    for name in (
        "declaration", "open", "namespace", "section", "end", "variable", "universe", "set_option",
        "attribute", "mutual", "in", "moduleDoc", "noncomputableSection", "check", "print", "synth",
        "check_failure", "printAxioms", "reduce", "omit", "include", "export", "deriving", "docString",
        "addDocString", "printSig", "printEqns", "where", "version", "grindPattern",
        "lemma",
    )
} | {
    "lemma", "Mathlib.Tactic.lemma", "null", "Lean.Parser.commandSeal__", "Lean.Parser.commandUnseal__",
})  # fmt: skip
NOTATION_KINDS = frozenset({"Lean.Parser.Command.notation", "Lean.Parser.Command.mixfix"})
COMMANDS = frozenset({"#check", "#print", "#check_failure", "#synth", "#reduce", "#align"})
OPTIONS = (
    "maxHeartbeats", "maxRecDepth", "maxSynthPendingDepth", "autoImplicit", "relaxedAutoImplicit",
    "warningAsError", "diagnostics", "diagnostics.", "pp.", "linter.",
    "trace.", "grind.", "synthInstance.", "tactic.", "simp.", "split.", "hygiene", "format.",
    "backward.", "simprocs", "profiler",
)  # fmt: skip
ATTRIBUTES = frozenset({
    "simp", "ext", "grind", "instance", "default_instance", "reducible", "semireducible", "irreducible",
    "inline", "noinline", "always_inline", "macro_inline", "specialize", "nospecialize", "refl", "symm",
    "trans", "elab_as_elim", "elab_without_expected_type", "congr", "norm_cast", "coe",
    "push_cast", "match_pattern", "deprecated", "expose", "no_expose", "class", "rcases_patterns",
    "induction_eliminator", "cases_eliminator", "simp_norm", "to_additive", "simps", "gcongr", "mono",
    "aesop", "fun_prop", "nolint", "inherit_doc", "pp_nodot", "pp_using_anonymous_constructor", "unbox",
    "implicit_reducible", "instance_reducible", "defeq", "wf_preprocess", "spec", "bitvec_to_nat",
    "int_toBitVec", "bv_normalize", "seval", "local", "scoped", "partial_fixpoint_monotone",
})  # fmt: skip
SCRIPTS_THAT_DECEIVE = (
    "CYRILLIC",
    "ARMENIAN",
    "CHEROKEE",
    "FULLWIDTH",
    "HALFWIDTH",
    "LISU",
    "TAG ",
)


def first_violation(source: str) -> str | None:
    """The first reason to refuse this text."""
    return next((violation.reason for violation in violations(source)), None)


def violations(source: str) -> Iterator[Violation]:
    """Every reason to refuse this text (without its `import` lines)."""
    yield from _characters(source)
    tokens = tokenize(source)
    deep = too_deep(source, tokens)
    if deep:
        yield Violation(deep.what, deep.at)
        return
    for index, token in enumerate(tokens):
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        before = tokens[index - 1] if index else None
        if token.kind == "broken":
            yield Violation("a string, name or comment that does not end as Lean expects", token.start)
        if token.kind == "identifier":
            yield from _words(source, token, before, after)
        if token.text.startswith("#") and token.kind == "symbol" and len(token.text) > 1:
            if token.text not in COMMANDS and not ANCHOR.fullmatch(token.text):
                yield Violation(f"`{token.text}` runs code or changes the syntax", token.start)
        elif token.text == "set_option" and not _may_set(after):
            reason = f"`set_option {after}` is not among the options that a proof may set"
            yield Violation(reason, token.start)
        elif token.text == "open" and after == "private":
            yield Violation("`open private` reaches what a module keeps to itself", token.start)
        elif token.text == "@[" or (token.text == "[" and before and before.text == "attribute"):
            yield from _attributes(tokens, index)


def _may_set(option: str) -> bool:
    return any(option == o or (o.endswith(".") and option.startswith(o)) for o in OPTIONS)


def _words(source: str, token: Token, before: Token | None, after: str) -> Iterator[Violation]:
    parts = token.text.split(".")
    begins = _begins_tactic(source, token, before) and after not in (":=", ":")
    for part in (*parts, token.text + "%") if after == "%" else parts:
        if part not in WORDS or (len(parts) > 1 and part not in EVEN_DOTTED):
            continue
        if part in ONLY_AS_TACTIC and not begins:
            continue
        what, dangerous = WORDS[part]
        yield Violation(f"`{token.text}` {what}", token.start, dangerous, part in NOTATIONS)
    if begins and token.text in RUNS_CODE_IN_MATHLIB and token.text not in WORDS:
        yield Violation(f"`{token.text}` runs code, or asks a server", token.start)
    if token.text not in WORDS and begins and "?" in token.text and SEARCH_TACTIC.fullmatch(token.text):
        yield Violation(
            f"`{token.text}` searches; put what it suggests in its place", token.start, False
        )
    if token.text == "native" and before and before.text in ("+", "(", "{", ","):
        yield Violation("`native` trusts compiled code", token.start)
    if _is_meta(parts):
        yield Violation(f"`{token.text}` belongs to Lean's own machinery", token.start)
    if any(part.startswith("_private") for part in parts):
        yield Violation(f"`{token.text}` is an internal name", token.start)


def _is_meta(parts: Sequence[str]) -> bool:
    """Names that could make syntax or programs that nobody parsed, as in `repl/Gate.lean`."""
    inner = list(parts[1:] if parts[0] == "_root_" else parts)
    if inner[:2] in _MATHEMATICS:
        return False
    if inner[:1] == ["Batteries"]:
        return len(inner) > 1 and inner[1] in _MACHINERY_OF_BATTERIES
    return bool(inner) and inner[0] in MACHINERY


def _begins_tactic(source: str, token: Token, before: Token | None) -> bool:
    if before is None or before.text in BEFORE_A_TACTIC:
        return True
    return "\n" in source[before.end : token.start]


def _attributes(tokens: Sequence[Token], index: int) -> Iterator[Violation]:
    """The first word of each attribute between the brackets, also of those that one gives on.

    `to_additive (attr := simp, norm_cast)` gives on two.
    """
    depth, starts, lists = 1, True, {1}
    for at in range(index + 1, len(tokens)):
        token = tokens[at]
        if token.text == "@[":
            yield Violation("an attribute inside an attribute", token.start)
            return
        if token.text in CLOSERS:
            depth += 1
        elif token.text in CLOSERS.values():
            lists.discard(depth)
            depth -= 1
            if depth == 0:
                return
        elif depth in lists and token.text == ",":
            starts = True
        elif token.text == ":=" and depth > 1 and tokens[at - 1].text == "attr":
            lists.add(depth)
            starts = True
        elif starts and token.text == "-":
            continue
        elif starts and token.kind == "identifier" and token.text not in ("local", "scoped"):
            starts = False
            if token.text not in ATTRIBUTES:
                yield Violation(f"the attribute `{token.text}` installs code, or may", token.start)


def _characters(source: str) -> Iterator[Violation]:
    for char in sorted(set(source)):
        if char in "\n\r\t" or (char.isascii() and char.isprintable()):
            continue
        category, name = unicodedata.category(char), unicodedata.name(char, "")
        if category in ("Cf", "Cc", "Co", "Cn", "Cs"):
            yield Violation(
                f"an invisible character, U+{ord(char):04X} {name}".rstrip(), source.index(char)
            )
        elif name.startswith(SCRIPTS_THAT_DECEIVE):
            yield Violation(
                f"a look-alike of another letter, U+{ord(char):04X} {name}", source.index(char)
            )


def gate(notations: bool = False) -> dict[str, list[str]]:
    """The same rules for Lean's own parse of a text, in the form of `qed.compile`."""
    forbidden = {word for word, (_, danger) in WORDS.items() if danger}
    forbidden |= SEARCHES | SEARCHES_OF_MATHLIB | RUNS_CODE_IN_MATHLIB
    return {
        "kinds": sorted(COMMAND_KINDS | NOTATION_KINDS if notations else COMMAND_KINDS),
        "words": sorted(forbidden - NOTATIONS if notations else forbidden),
        "names": sorted(EVEN_DOTTED - UNPROVED),
        "options": list(OPTIONS),
        "attributes": sorted(ATTRIBUTES),
    }

"""What a proof may not say, whatever Lean would make of it.

Two reasons to refuse a text before Lean sees it. Some words are the cheat itself (`sorry`, an axiom,
`native_decide`). Others run code while Lean elaborates (`run_tac`, `macro`, an attribute that installs
an elaborator), and code that runs inside the judge could make the judge say anything. What is left is
logic, and about logic the kernel decides; `judge` asks it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    "macro_rules", "syntax", "declare_syntax_cat", "notation", "notation3", "infix", "infixl",
    "infixr", "prefix", "postfix", "binder_predicate", "unif_hint", "simproc", "dsimproc",
    "simproc_decl", "dsimproc_decl", "builtin_simproc", "builtin_dsimproc", "simproc_pattern%",
    "register_simp_attr", "register_option", "register_builtin_option", "register_label_attr",
    "register_error_explanation", "declare_config_elab", "declare_simp_like_tactic",
    "declare_command_config_elab", "include_str", "eval%",
})  # fmt: skip
SEARCHES = frozenset({
    "exact?", "apply?", "rw?", "rewrite?", "simp?", "simp_all?", "dsimp?", "simpa?", "grind?", "try?",
    "have?", "aesop?", "norm_num?", "observe?", "decide?", "show_term", "says", "polyrith", "hint",
    "rw_search", "plausible", "slim_check", "simp_arith?", "solve_by_elim?", "conv?", "calc?",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a text is refused. A dangerous one is not even shown to Lean, since it would run."""

    reason: str
    dangerous: bool = True


_GROUPS = (
    (UNPROVED, "leaves something unproved", False),
    (COMPILED, "trusts compiled code", False),
    (DECLARES, "declares what nobody proved", True),
    (RUNS_CODE, "runs code or changes the syntax", True),
    (SEARCHES, "searches; put what it suggests in its place", False),
)
WORDS = {word: (what, danger) for words, what, danger in _GROUPS for word in words}
# The name itself is the cheat, also behind a dot (`Lean.ofReduceBool`). The rest are words of the
# grammar, which are ordinary names there (`Foo.prefix`).
EVEN_DOTTED = COMPILED | frozenset({"sorryAx", "lcProof", "lcUnreachable", "lcAny"})
# No word of core Lean's grammar, and a likely name for a hypothesis: refused where a tactic begins.
ONLY_AS_TACTIC = frozenset({"hint", "says", "plausible", "polyrith"})
BEFORE_A_TACTIC = frozenset({"by", ";", ">", "·", "(", "|", "first", "try", "repeat", "all_goals"})

COMMANDS = frozenset({"#check", "#print", "#check_failure", "#synth", "#reduce", "#align"})
OPTIONS = re.compile(
    r"(maxHeartbeats|maxRecDepth|autoImplicit|relaxedAutoImplicit|exponentiation\.threshold"
    r"|(pp|linter|trace|grind|synthInstance|tactic|simp|split|hygiene|diagnostics|format"
    r"|backward|warningAsError|maxSynthPendingDepth|Elab)(\..*)?)"
)
ATTRIBUTES_THAT_RUN = re.compile(
    r"(builtin_)?(init|tactic|macro|elab|delab|app_delab|app_unexpander|unexpander|parenthesizer"
    r"|formatter|implemented_by|extern|export|csimp|simproc|dsimproc|simproc_pattern|env_linter"
    r"|norm_num|positivity|deriving_handler|try_suggestion|missing_docs_handler|quot_precheck"
    r"|.*_elab|.*parser|.*parser_attribute.*|.*widget.*|combinator_.*|run_.*|server_.*|.*code_action.*)"
)
SCRIPTS_THAT_DECEIVE = (
    "CYRILLIC",
    "ARMENIAN",
    "CHEROKEE",
    "FULLWIDTH",
    "HALFWIDTH",
    "LISU",
    "TAG ",
)


def first_violation(source: str, only_dangerous: bool = False) -> str | None:
    """The first reason to refuse this text, or the first that is a danger to the judge itself."""
    found = (v.reason for v in violations(source) if v.dangerous or not only_dangerous)
    return next(found, None)


def violations(source: str) -> Iterator[Violation]:
    """Every reason to refuse this text (without its `import` lines)."""
    yield from _characters(source)
    tokens = tokenize(source)
    for index, token in enumerate(tokens):
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        before = tokens[index - 1] if index else None
        if token.kind == "identifier":
            yield from _words(source, token, before, after)
        if token.text.startswith("#") and token.kind == "symbol" and token.text not in COMMANDS:
            yield Violation(f"`{token.text}` runs code or changes the syntax")
        elif token.text == "set_option" and not OPTIONS.fullmatch(after):
            yield Violation(f"`set_option {after}` is not among the options that a proof may set")
        elif token.text == "open" and after == "private":
            yield Violation("`open private` reaches what a module keeps to itself")
        elif token.text == "@[" or (token.text == "[" and before and before.text == "attribute"):
            yield from _attributes(tokens, index)


def _words(source: str, token: Token, before: Token | None, after: str) -> Iterator[Violation]:
    parts = token.text.split(".")
    if len(parts) == 1 and after == "%":
        parts = [token.text + "%"]
    for part in parts:
        if part not in WORDS or (len(parts) > 1 and part not in EVEN_DOTTED):
            continue
        if part in ONLY_AS_TACTIC and not _begins_tactic(source, token, before):
            continue
        what, dangerous = WORDS[part]
        yield Violation(f"`{token.text}` {what}", dangerous)
    if token.text == "native" and ((before and before.text == "+") or after == ":="):
        yield Violation("`native` trusts compiled code", dangerous=False)
    if any(part.startswith("_private") for part in parts):
        yield Violation(f"`{token.text}` is an internal name")


def _begins_tactic(source: str, token: Token, before: Token | None) -> bool:
    line = source[source.rfind("\n", 0, token.start) + 1 : token.start]
    return not line.strip() or before is None or before.text in BEFORE_A_TACTIC


def _attributes(tokens: Sequence[Token], index: int) -> Iterator[Violation]:
    """The first word of each attribute between the brackets."""
    depth, starts = 1, True
    for token in tokens[index + 1 :]:
        if token.text in CLOSERS:
            depth += 1
        elif token.text in CLOSERS.values():
            depth -= 1
            if depth == 0:
                return
        elif depth == 1 and token.text == ",":
            starts = True
        elif starts and token.kind == "identifier" and token.text not in ("local", "scoped"):
            starts = False
            if ATTRIBUTES_THAT_RUN.fullmatch(token.text):
                yield Violation(f"the attribute `{token.text}` installs code")


def _characters(source: str) -> Iterator[Violation]:
    for char in sorted(set(source)):
        if char in "\n\r\t" or (char.isascii() and char.isprintable()):
            continue
        category, name = unicodedata.category(char), unicodedata.name(char, "")
        if category in ("Cf", "Cc", "Co", "Cn", "Cs"):
            yield Violation(f"an invisible character, U+{ord(char):04X} {name}".rstrip())
        elif name.startswith(SCRIPTS_THAT_DECEIVE):
            yield Violation(f"a look-alike of another letter, U+{ord(char):04X} {name}")

"""Which words begin a tactic of core Lean, and which tactics of a text are therefore Mathlib's.

`CORE` is what the embedded Lean's own parser knows as the beginning of a tactic or of a `conv` step. Of
every word in quotes in the sources of Init, Std and Lean it was asked (`beginnings`); a test asks it
again. What begins a tactic and is none of these is Mathlib's, or of a library below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from burnqed.lean import requests
from burnqed.lean.mathlib_words import WORDS
from burnqed.lean.pool import Pool, Worker
from burnqed.lean.tokens import CLOSERS, tokenize

CORE = frozenset({
    "ac_nf", "ac_nf0", "ac_rfl", "admit", "all_goals", "and_intros", "any_goals", "apply",
    "apply?", "apply_assumption", "apply_ext_theorem", "apply_mod_cast", "apply_rfl",
    "apply_rules", "arg", "args", "array_get_dec", "array_mem_dec", "as_aux_lemma", "assumption",
    "assumption_mod_cast", "attempt_all", "attempt_all_par", "bv_check", "bv_decide",
    "bv_decide?", "bv_normalize", "bv_omega", "by_cases", "calc", "case", "case'", "cases",
    "change", "classical", "clean_wf", "clear", "clear_value", "congr", "constructor",
    "contradiction", "conv", "conv'", "cutsat", "dbg_trace", "decide", "decreasing_tactic",
    "decreasing_trivial", "decreasing_trivial_pre_omega", "decreasing_with", "delta",
    "deriving_LawfulEq_tactic", "deriving_LawfulEq_tactic_step", "deriving_ReflEq_tactic", "done",
    "dsimp", "dsimp!", "dsimp?", "dsimp?!", "enter", "eq_refl", "erw", "exact", "exact?",
    "exact_mod_cast", "exfalso", "exists", "expose_names", "ext", "ext1", "extract_lets", "fail",
    "fail_if_success", "false_or_by_contra", "first", "focus", "fun", "fun_cases",
    "fun_induction", "funext", "generalize", "get_elem_tactic", "get_elem_tactic_extensible",
    "get_elem_tactic_trivial", "grind", "grind?", "grobner", "guard_expr", "guard_hyp",
    "guard_target", "have", "have'", "haveI", "if", "induction", "infer_instance", "injection",
    "injections", "intro", "intros", "iterate", "left", "let", "let'", "letI", "let_to_have",
    "lhs", "lia", "lift_lets", "massumption", "match", "mcases", "mclear", "mconstructor", "mdup",
    "mexact", "mexfalso", "mexists", "mframe", "mhave", "mintro", "mleave", "mleft", "mpure",
    "mpure_intro", "mrefine", "mrename_i", "mreplace", "mrevert", "mright", "mspec",
    "mspec_no_bind", "mspec_no_simp", "mspecialize", "mspecialize_pure", "mstart", "mstop",
    "mvcgen", "mvcgen?", "mvcgen_trivial", "mvcgen_trivial_extensible", "native_decide", "next",
    "nofun", "nomatch", "norm_cast", "norm_cast0", "obtain", "omega", "open", "pattern",
    "push_cast", "rcases", "reduce", "refine", "refine'", "refine_lift", "refine_lift'", "rename",
    "rename_i", "repeat", "repeat'", "repeat1'", "replace", "revert", "rewrite", "rfl", "rfl'",
    "rhs", "right", "rintro", "rotate_left", "rotate_right", "run_tac", "rw", "rw?",
    "rw_mod_cast", "rwa", "set_option", "show", "show_term", "simp", "simp!", "simp?", "simp?!",
    "simp_all", "simp_all!", "simp_all?", "simp_all?!", "simp_all_arith", "simp_all_arith!",
    "simp_arith", "simp_arith!", "simp_match", "simp_wf", "simpa", "simpa!", "simpa?", "simpa?!",
    "sizeOf_list_dec", "skip", "sleep", "solve", "solve_by_elim", "sorry", "specialize", "split",
    "stop", "subst", "subst_eqs", "subst_vars", "suffices", "suggestions", "symm",
    "symm_saturate", "tactic", "tactic'", "trace", "trace_state", "trivial", "try", "try?",
    "try_suggestions", "unfold", "unhygienic", "wait_for_unblock_async", "whnf", "with_reducible",
    "with_reducible_and_instances", "with_unfolding_all", "zeta",
})  # fmt: skip
# Where a text may begin a tactic or go on with a term, these are the tactics.
_MORE = frozenset({
    "abel1", "abel_nf", "aesop_cat", "aesop_mat", "apply_fun", "assumption'", "beta_reduce",
    "borelize", "by_contra", "cancel_denoms", "cases'", "cases_type", "casesm", "choose!",
    "clear!", "coherence", "compute_degree!", "congr!", "congrm", "conv_lhs", "conv_rhs",
    "convert", "convert_to", "eta_expand", "exacts", "existsi", "fapply", "fconstructor",
    "filter_upwards", "fun_prop", "generalize_proofs", "induction'", "infer_param", "inhabit",
    "introv", "mono", "move_mul", "nontriviality", "norm_num1", "on_goal", "pick_goal", "rcongr",
    "refold_let", "rel", "rename'", "ring!", "ring_nf!", "rsuffices", "set", "set!", "simp_intro",
    "slice_lhs", "slice_rhs", "split_ifs", "substs", "swap", "swap_var", "tfae_finish",
    "tfae_have", "trans", "transitivity", "unfold_let", "unfold_projs", "unit_interval", "use!",
})  # fmt: skip
MATHLIB = (WORDS - {"lemma"}) | _MORE

# What a tactic, and nothing else, follows.
_COMBINE = frozenset({
    "by", "try", "all_goals", "any_goals", "repeat", "repeat'", "repeat1'", "iterate", "focus",
    "fail_if_success", "show_term", "with_reducible", "with_reducible_and_instances",
    "with_unfolding_all", "classical", "unhygienic",
})  # fmt: skip
_BEFORE = frozenset({"then", "else", "in"})
_CHOOSE = frozenset({"first", "solve"})
_NESTED = re.compile(r"\bby\b|[;|\n]|=>")
_WORD = re.compile(r"[^\W\d][\w'!?]*")
# More words than those that surely begin a tactic, and all of those, but for what a comment hides.
_AFTER = re.compile(
    rf"(?:<;>|(?m:^\s*)[·.]\s|\b(?:{'|'.join(sorted(_COMBINE))})(?![\w'!?]))"
    rf"[\s\d({{\[·]*({_WORD.pattern})"
)
_COMMENT = re.compile(r"--|/-")
_UNKNOWN = re.compile(r":1:[01]: (unknown tactic|expected (tactic|conv))")


def mathlib_tactics(text: str) -> tuple[str, ...]:
    """The tactics in a tactic's text that core Lean does not have, each once, in order.

    By its tokens alone: also in `<;>`, `by`, `·` and `first | …`. A text that core Lean refuses for
    another reason, such as a notation or a lemma of Mathlib's, is not found.
    """
    first = _WORD.match(text)
    if first is not None and _is_plain(text, first):  # as most are
        return () if first[0] in CORE else (first[0],)
    return tuple(
        dict.fromkeys(w for w, sure in _heads(text) if w in MATHLIB or (sure and w not in CORE))
    )


def _is_plain(text: str, first: re.Match[str]) -> bool:
    """Whether nothing behind the first word can be a tactic of Mathlib's. It is a quick look."""
    if first[0] not in _COMBINE and not _NESTED.search(text, first.end()):
        return True
    return (
        not _COMMENT.search(text)
        and MATHLIB.isdisjoint(_WORD.findall(text, first.end()))
        and CORE.issuperset(_AFTER.findall(text))
    )


def _heads(text: str) -> Iterator[tuple[str, bool]]:
    """The words that begin a tactic: surely, or perhaps, since a term may go on there."""
    sure, perhaps = True, False
    blocks = [True]  # of each open bracket: whether tactics stand in it, one after the other
    chooses = function = False
    end = 0
    before = ""  # the symbols that came last
    for token in tokenize(text):
        fresh = end == 0 or "\n" in text[end : token.start]
        end = token.end
        quoted = text[token.start] == "«"
        if token.kind == "identifier" and not quoted:
            begins = sure or perhaps or (fresh and blocks[-1])
            if begins and token.text != "by":
                yield token.text, sure
            chooses |= begins and token.text in _CHOOSE
            sure = token.text == "by" or (begins and token.text in _COMBINE)
            perhaps = token.text in _BEFORE
            blocks[-1] |= token.text == "by"
            function |= token.text == "fun"
            before = ""
            continue
        if token.kind == "number":  # as in `iterate 3`
            continue
        before += token.text
        opens = token.text in CLOSERS
        if opens:
            blocks.append(sure or perhaps)
        elif token.text in CLOSERS.values() and len(blocks) > 1:
            blocks.pop()
        bullet = fresh and (token.text == "·" or text[token.start : token.start + 2] == ". ")
        sure = bullet or before.endswith("<;>") or (opens and sure)
        arrow = before.endswith("=>")
        chosen = token.text == ";" or (token.text == "|" and chooses) or (arrow and not function)
        perhaps = (opens and perhaps) or (blocks[-1] and chosen)
        function &= not arrow


async def beginnings(worker: Worker, words: Iterable[str]) -> frozenset[str]:
    """Those of these words that begin a tactic, or a step of `conv`, of the Lean that is running."""
    found = set()
    for word in words:
        for category in ("tactic", "conv"):
            line = requests.Parse(word, category).line
            reply = await worker.request(line, trusted=True)
            if not _UNKNOWN.search(str(reply.get("desc", ""))):
                found.add(word)
                break
    return frozenset(found)


async def own_tactics(pool: Pool, modules: Iterable[str], words: Iterable[str]) -> frozenset[str]:
    """Those of these words that begin a tactic of the pool's Lean. Core Lean's modules have none."""
    if all(module.split(".")[0] in ("Init", "Std", "Lean") for module in modules):
        return frozenset()
    async with pool.lease() as worker:
        return await beginnings(worker, words)

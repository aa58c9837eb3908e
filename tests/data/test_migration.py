"""An old set comes to this Lean: what is changed, by which rule; and no statement is made easier."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from burnqed.core.errors import InputError
from burnqed.data.fix_rules import Fixes, load_fixes, rename, rename_field
from burnqed.data.fix_search import Draft, Proposer
from burnqed.data.known_names import known
from burnqed.data.ledger import open_ledger
from burnqed.data.migration import Work, migrate, report, survivors
from burnqed.data.steps import WholeProof
from burnqed.lean.judge import judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.process import LaunchSpec
from burnqed.lean.statement import split_header

JOIN = "(x y : List (List Nat)) : (x ++ y).flatten = x.flatten ++ y.flatten"


def proof(name: str, statement: str, text: str, context: str = "") -> WholeProof:
    return WholeProof("old", name, f"theorem {name} {statement}", text, context)


OLD = [
    proof("fine", "(a : Nat) : a + 2 = 2 + a", "by\n  exact Nat.add_comm a _"),
    proof("renamed", JOIN, "by simp only [List.join_append] -- List.join_append"),
    proof("renamed_under_open", JOIN, "by\n  rw [join_append]", "open List"),
    proof("arith", "(a b : Nat) : a + b + 1 ≤ b + a + 1", "by\n  simp_arith"),
    proof("two", "(a : Nat) (h : a = 3) : 3 = a ∧ 2 ^ 3 = 8", "⟨h.symmetric, by\n  decide!⟩"),
    proof("lost_open", JOIN, "by\n  rw [flatten_append]"),
    proof("stated", "(x : List (List Nat)) : List.join (x ++ []) = List.join x", "by simp"),
    proof("mathlib", "(a b : Nat) (h : a < b) : a ≤ b", "by linarith"),
]  # fmt: skip
BAD = [
    proof("false", "(a : Nat) : a = 0", "by decide!"),
    proof("cheat", "(a : Nat) : a = a", "by sorry"),
    proof("empty", "(a : Nat) : a = a", "", "import Init"),
    proof("not_here", "(a : Nat) : a = a", "rfl", "import Mathlib"),
    proof("no_statement", "(h : 1 = gone.thing) : True", "trivial"),
]  # fmt: skip
MINE = Fixes({"Eq.symmetric": "Eq.symm"})


def init_only(modules: Sequence[str]) -> list[str]:
    return [module for module in modules if module.split(".")[0] == "Init"]


async def migrated(
    pools: tuple[Pool, Pool], proofs: Sequence[WholeProof], out: Path, stop_after: int = 10**9
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], list[WholeProof]]:
    @asynccontextmanager
    async def launch(modules: Sequence[str]) -> AsyncIterator[tuple[Pool, Pool]]:
        assert modules == ("Init",)
        yield pools

    own = load_fixes()
    fixes = Fixes({**MINE.renames, **own.renames}, own.syntax, own.names, own.tactics)
    stop, seen = asyncio.Event(), list[Any]()

    def on_proof(row: Any) -> None:
        seen.append(row)
        if len(seen) >= stop_after:
            stop.set()

    with open_ledger(out, pytest.fail) as ledger:
        await migrate(Work(launch, lambda: proofs, init_only, fixes, ledger, on_proof, stop))
        rows = {row["theorem"]: row for row in ledger.rows()}
        return report(ledger.rows()), rows, list(survivors(ledger, proofs))


@pytest.fixture(scope="module")
async def pools(lean_pool: Pool, lean_launch: LaunchSpec) -> AsyncIterator[tuple[Pool, Pool]]:
    async with Pool(lean_launch, 2) as judges:
        yield lean_pool, judges


@pytest.mark.lean
@pytest.mark.soak
async def test_an_old_set_survives_and_the_report_says_how(
    pools: tuple[Pool, Pool], tmp_path: Path
) -> None:
    first, _, _ = await migrated(pools, OLD, tmp_path / "proofs.jsonl", stop_after=2)
    assert 2 <= first["proofs"] < len(OLD)  # stopped, and gone on with
    told, rows, left = await migrated(pools, OLD, tmp_path / "proofs.jsonl")
    assert told["survival"] == 1.0, told["failures"]
    assert (told["proofs"], told["unchanged"], told["fixed"]) == (len(OLD), 1, len(OLD) - 1)
    assert told["compiled_as_it_was"] == round(1 / len(OLD), 4)
    done = {name: [(c["rule"], c["what"]) for c in row["changes"]] for name, row in rows.items()}
    assert done["fine"] == []
    assert done["renamed"] == [("renames", "List.join_append → List.flatten_append")]
    assert rows["renamed"]["proof"] == "by simp only [List.flatten_append] -- List.join_append"
    assert done["renamed_under_open"][0][0] == "renames"
    assert done["arith"][0] == ("syntax", "simp_arith, with what it was short for")
    assert sorted(done["two"]) == [("renames", "Eq.symmetric → Eq.symm"), ("syntax", "decide!")]
    assert rows["two"]["proof"] == "⟨h.symm, by\n  decide +kernel⟩"
    assert done["lost_open"] == [("open", "open List")]
    assert done["mathlib"] == [("syntax", "linear arithmetic without Mathlib")]
    counted = {(one["rule"], one["what"]): one["proofs"] for one in told["rules"]}
    assert counted["renames", "List.join_append → List.flatten_append"] == 1
    # Only where Lean did not understand it was a statement changed, and that is told.
    assert [one["theorem"] for one in told["statements_changed"]] == ["stated"]
    for before in OLD:
        row = rows[before.theorem]
        assert (row["statement"] == before.statement) == (before.theorem != "stated")
    assert "List.flatten" in rows["stated"]["statement"]
    # What is written is what was proved, in its old order.
    assert [p.theorem for p in left] == [p.theorem for p in OLD]
    for name in ("stated", "lost_open"):
        one = next(p for p in left if p.theorem == name)
        text = f"{split_header(one.context).body}\n{one.statement} := {one.proof}"
        assert [v.accepted for v in await judge_file(pools[1], text)] == [True]


@pytest.mark.lean
async def test_what_fails_fails_by_its_cause(pools: tuple[Pool, Pool], tmp_path: Path) -> None:
    told, rows, left = await migrated(pools, BAD, tmp_path / "proofs.jsonl")
    assert {name: row.get("cause") for name, row in rows.items()} == {
        "false": "other", "cheat": "leaves something open", "empty": None,
        "not_here": "imports what is not here", "no_statement": "statement",
    }  # fmt: skip
    assert (told["survival"], told["empty"], left) == (0.0, 1, [])
    assert {one["theorem"] for one in told["failures"]} == {p.theorem for p in BAD} - {"empty"}
    assert rows["false"]["statement"] == BAD[0].statement
    assert "gone" in rows["no_statement"]["reason"]


# ------------------------------------------------------------------------------------ without Lean


def test_renames_are_of_tokens_and_of_nothing_else() -> None:
    text = 'exact A.b (A.b.c) xA.b A.bc "A.b" /- A.b -/ «A».b _root_.A.b'
    assert rename(text, "A.b", "C") == 'exact C (C.c) xA.b A.bc "A.b" /- A.b -/ C _root_.C'
    assert (
        rename_field("h.old (f x).old.a old x.old.b", "old", "new") == "h.new (f x).new.a old x.new.b"
    )
    simp = next(rule for rule in load_fixes().syntax if "short for" in rule.name)
    assert simp.apply('simp_arith [x]; "simp_arith" -- simp_arith') == (
        'simp +arith [x]; "simp_arith" -- simp_arith'
    )
    assert simp.apply("my_simp_arith simp_arith!") == "my_simp_arith simp_arith!"


def test_a_statement_is_changed_in_unknown_names_and_nothing_more() -> None:
    fixes = Fixes({"A.old": "A.new"}, load_fixes().syntax)
    proposer = Proposer(known(["A.new", "B.once", "C.twice", "D.twice"]), fixes)
    draft = Draft("open Z", "theorem t : A.old = linarith ∧ simp_arith", "by linarith")
    found = list(proposer.of_statement(draft, "Unknown identifier `A.old`"))
    assert [one.statement for one in found] == ["theorem t : A.new = linarith ∧ simp_arith"]
    assert all(one.proof == draft.proof and one.changes[-1].in_statement for one in found)
    assert list(proposer.of_statement(draft, "it is just wrong")) == []
    # Which namespace was meant must be clear.
    (opened,) = proposer.of_statement(draft, "Unknown identifier `once`")
    assert opened.context == "open Z\nopen B"
    assert list(proposer.of_statement(draft, "Unknown identifier `twice`")) == []
    for changed in proposer.of_proof(draft, "Unknown identifier `twice`"):
        assert (changed.context, changed.statement) == (draft.context, draft.statement)


def test_tables_of_the_user_come_first_and_wrong_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"List.join": "Mine.join", "x": "y"}')
    (tmp_path / "b.toml").write_text(
        "[renames]\nz = 'w'\n[[syntax]]\nname='n'\nmatch='a+'\nreplace='b'\n"
    )
    fixes = load_fixes([tmp_path / "a.json", tmp_path / "b.toml"])
    assert fixes.renamed("List.join") == "Mine.join"
    assert fixes.renamed("z.symm") == "w.symm"
    assert fixes.renamed("nothing") is None
    assert fixes.syntax[0].name == "n"
    assert fixes.module_of("Std.HashMap.insert") == "Std"
    for text, said in (
        ("{", "neither TOML nor JSON"),
        ('{"renames": {"a": 1}}', "not names for names"),
        ('{"renames": {}, "more": 1}', "unknown `more`"),
        ('{"syntax": [{"name": "n", "match": "("}]}', "lacks replace"),
        ('{"syntax": [{"name": "n", "match": "(", "replace": ""}]}', "is not a pattern"),
        ('{"imports": [{}]}', "lacks module"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=said):
            load_fixes([tmp_path / "bad.json"])
    with pytest.raises(InputError, match="cannot read"):
        load_fixes([tmp_path / "absent.toml"])


def test_a_ledger_has_the_last_word_on_each_key(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    told: list[str] = []
    with open_ledger(path, told.append) as ledger:
        ledger.add("a", {"n": 1})
        ledger.add("b", {"n": 2})
        ledger.add("a", {"n": 3})
        assert ledger.row("a")["n"] == 3
        with pytest.raises(InputError, match="another burn-qed"), open_ledger(path, told.append):
            pass
    path.write_bytes(path.read_bytes().replace(b'"n": 2', b'"n": ?') + b'{"key": "c", ')
    with open_ledger(path, told.append) as ledger:
        assert "b" not in ledger
        assert len(told) == 1
        ledger.add("c", {"n": 4})
        assert [row["n"] for row in ledger.rows()] == [3, 4]
    assert path.read_bytes().count(b"\n") == 4

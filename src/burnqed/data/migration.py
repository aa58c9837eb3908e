"""A set of whole proofs moved to this Lean: judged, changed by rules where they fail, judged again.

A proof survives when the judge accepts it as a proof of its statement: the theorem's own, word by word,
unless Lean does not understand that any more (`fix_search` says what may be done then). Proofs are done
import by import, because a Lean cannot load more after its start.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from typing import Any, Literal

from burnqed.core.errors import LeanError, LeanLost, StatementError, is_own_fault
from burnqed.core.tasks import until_stopped
from burnqed.data.cheats import cheats
from burnqed.data.drift import CATEGORIES, Scene, Sorter
from burnqed.data.fix_rules import Fixes
from burnqed.data.fix_search import Change, Draft, Proposer
from burnqed.data.known_names import known_names
from burnqed.data.ledger import Ledger
from burnqed.data.replay import STRICT
from burnqed.data.steps import WholeProof
from burnqed.lean.judge import complaint, judge_file
from burnqed.lean.pool import Pool
from burnqed.lean.statement import declarations, split_header

DRAFTS = 24  # drafts of one proof that the judge is shown
_SHOWN = 50
# unchanged and fixed: the judge accepts it. empty: there is no proof to move. error: Lean failed.
Outcome = Literal["unchanged", "fixed", "failed", "empty", "error"]
CHEAT, STATEMENT, NOT_HERE = "leaves something open", "statement", "imports what is not here"
CAUSES = (*CATEGORIES, STATEMENT, NOT_HERE, CHEAT)

# Leans with these modules, as long as they are needed: some for quick looks, and some for the judge.
Launch = Callable[[Sequence[str]], AbstractAsyncContextManager[tuple[Pool, Pool]]]


@dataclass(frozen=True, slots=True)
class Migrated:
    """What became of a proof. A failed one has the cause, and what Lean said in the end."""

    outcome: Outcome
    draft: Draft
    cause: str = ""
    reason: str = ""


def key_of_proof(proof: WholeProof) -> str:
    """Of all that it says: two that are the same are one."""
    said = [proof.source, proof.theorem, proof.context, proof.statement, proof.proof]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Work:
    """What migrating needs, and where it tells of it.

    `proofs` is read once for each set of imports. `drafts` is how many changes of a proof the judge is
    shown; with 0, proofs are judged as they are.
    """

    launch: Launch
    proofs: Callable[[], Iterable[WholeProof]]
    loadable: Callable[[Sequence[str]], Sequence[str]]
    fixes: Fixes
    ledger: Ledger
    on_proof: Callable[[Mapping[str, Any]], None]
    stop: asyncio.Event
    drafts: int = DRAFTS

    def modules(self, draft: Draft) -> tuple[str, ...]:
        try:
            return tuple(sorted({"Init", *self.loadable(draft.imports)}))
        except StatementError:  # its imports cannot be read: Lean will say so
            return ("Init",)


async def migrate(work: Work) -> None:
    """Every proof that is not done yet.

    A change that needs another import puts the proof off until the proofs with these imports are done.
    """
    groups: set[tuple[str, ...]] = set()
    counted: set[str] = set()
    for proof in work.proofs():
        key = key_of_proof(proof)
        if _is_done(work.ledger, key):
            if key not in counted:
                work.on_proof(work.ledger.row(key))
            counted.add(key)
        else:
            groups.add(work.modules(_draft(work.ledger, key, proof)))
    tried: set[tuple[str, ...]] = set()
    while groups and not work.stop.is_set():
        modules = min(groups)
        groups.discard(modules)
        tried.add(modules)
        async with work.launch(modules) as pools:
            later = await _group(work, pools, modules)
        groups |= later - tried


async def _group(
    work: Work, pools: tuple[Pool, Pool], modules: tuple[str, ...]
) -> set[tuple[str, ...]]:
    """The proofs that want just these modules; what is left is wanted by others."""
    proposer = Proposer(await known_names(pools[0]), work.fixes)
    migration = _Migration(*pools, proposer, work.loadable, work.drafts)
    later: set[tuple[str, ...]] = set()
    begun: set[str] = set()

    def wanted() -> Iterator[tuple[str, WholeProof, Draft]]:
        for proof in work.proofs():
            key = key_of_proof(proof)
            if key in begun or _is_done(work.ledger, key):
                continue
            draft = _draft(work.ledger, key, proof)
            if work.modules(draft) == modules:
                begun.add(key)
                yield key, proof, draft

    todo = wanted()

    async def one_by_one() -> None:
        for key, proof, draft in todo:
            found = await migration.one(proof, draft)
            if isinstance(found, Draft):
                later.add(work.modules(found))
                work.ledger.add(key, {"outcome": "later", "draft": asdict(found)})
                continue
            row = {"theorem": proof.theorem, "source": proof.source, **_told(proof, found)}
            work.ledger.add(key, row)
            work.on_proof(row)

    await until_stopped([one_by_one() for _ in range(pools[0].size)], work.stop)
    return later


def _is_done(ledger: Ledger, key: str) -> bool:
    return key in ledger and ledger.row(key)["outcome"] not in ("later", "error")


def _draft(ledger: Ledger, key: str, proof: WholeProof) -> Draft:
    """As far as it has been changed before."""
    row = ledger.row(key) if key in ledger else {}
    if "draft" not in row:
        return Draft(proof.context, proof.statement, proof.proof)
    changes = tuple(Change(**change) for change in row["draft"]["changes"])
    return Draft(**{**row["draft"], "changes": changes})


# ------------------------------------------------------------------------------------------ one proof


class _Migration:
    def __init__(
        self,
        pool: Pool,
        judges: Pool,
        proposer: Proposer,
        loadable: Callable[[Sequence[str]], Sequence[str]],
        drafts: int,
    ) -> None:
        self._pool, self._judges, self._proposer, self._loadable = pool, judges, proposer, loadable
        self._drafts = drafts

    async def one(self, proof: WholeProof, draft: Draft) -> Migrated | Draft:
        """What becomes of it; or the draft, if it has to go on with other modules."""
        if not proof.proof.strip():
            return Migrated("empty", draft)
        if cheats(proof.proof):
            return Migrated("failed", draft, CHEAT, "it has a sorry, admit or cheat")
        absent = self._absent(draft)
        if absent:
            return Migrated("failed", draft, NOT_HERE, f"{', '.join(absent)} cannot be loaded")
        try:
            return await self._changed(draft)
        except LeanError as error:
            if isinstance(error, LeanLost) and is_own_fault(error):
                return Migrated("failed", draft, "other", error.message)
            return Migrated("error", draft, reason=error.message)

    def _absent(self, draft: Draft) -> list[str]:
        try:
            here = self._loadable(draft.imports)
        except StatementError:
            return []
        return [module for module in draft.imports if module not in here]

    async def _changed(self, draft: Draft) -> Migrated | Draft:
        search = _Search(self._judged, self._proposer, lambda one: not self._absent(one), self._drafts)
        found = await search.from_here(draft, *await self._judged(draft))
        if found is None:
            assert search.furthest is not None
            last, stated, reason = search.furthest
            return Migrated("failed", last, await self._cause(last, stated, reason), reason)
        if found.imports != draft.imports:
            return found
        return Migrated("fixed" if found.changes else "unchanged", found)

    async def _judged(self, draft: Draft) -> tuple[bool, str]:
        """Whether the statement is understood, and what is against the proof: nothing, if accepted."""
        body = STRICT + split_header(draft.context).body.strip()
        reference = f"{body}\n\n{draft.statement}\n  := by sorry\n"
        between = " :=\n  " if "--" in draft.statement.rsplit("\n", 1)[-1] else " := "
        source = f"{body}\n\n{draft.statement}{between}{draft.proof.strip()}\n"
        named = declarations(reference)
        if not named:
            return False, "there is no theorem in the statement"
        stated, reason = await complaint(self._pool, source, reference)
        if reason:
            return stated, reason
        try:
            verdicts = await judge_file(self._judges, source, reference)
        except StatementError as error:
            return False, error.message
        for verdict in verdicts:
            if verdict.theorem.replace("«", "").replace("»", "") == named[-1].name:
                return True, verdict.reason
        return True, next((v.reason for v in verdicts if v.reason), "no theorem came of it")

    async def _cause(self, draft: Draft, stated: bool, reason: str) -> str:
        async def no_namespace_helps(_: str) -> str:
            return reason  # they were all tried

        if not stated:
            return STATEMENT
        sorter = Sorter(self._proposer.names, self._proposer.fixes)
        return (await sorter.sort(reason, Scene(draft.proof), no_namespace_helps)).category


class _Search:
    """Change by change, as long as Lean says something else after each; back, where it leads nowhere.

    `furthest` is the draft that was changed most, and what is against that.
    """

    def __init__(
        self,
        judge: Callable[[Draft], Awaitable[tuple[bool, str]]],
        proposer: Proposer,
        can_load: Callable[[Draft], bool],
        drafts: int,
    ) -> None:
        self._judge, self._proposer, self._can_load = judge, proposer, can_load
        self._seen: set[tuple[str, str, str]] = set()
        self._left = drafts
        self.furthest: tuple[Draft, bool, str] | None = None

    async def from_here(self, draft: Draft, stated: bool, reason: str) -> Draft | None:
        """A draft that the judge accepts, or one that needs another import first."""
        if not reason:
            return draft
        self._seen.add(draft.said())
        if self.furthest is None or len(draft.changes) > len(self.furthest[0].changes):
            self.furthest = draft, stated, reason
        propose = self._proposer.of_proof if stated else self._proposer.of_statement
        for changed in propose(draft, reason):
            if changed.said() in self._seen or self._left <= 0:
                continue
            self._seen.add(changed.said())
            if changed.imports != draft.imports:
                if self._can_load(changed):
                    return changed
                continue
            self._left -= 1
            now_stated, now = await self._judge(changed)
            if (now_stated, now) != (stated, reason) and now_stated >= stated:
                found = await self.from_here(changed, now_stated, now)
                if found is not None:
                    return found
        return None


# ------------------------------------------------------------------------------------------ the report


def _told(proof: WholeProof, found: Migrated) -> dict[str, Any]:
    draft = found.draft
    stated = (draft.context, draft.statement) != (proof.context, proof.statement)
    return {
        "outcome": found.outcome,
        **({"cause": found.cause, "reason": found.reason} if found.reason else {}),
        "changes": [asdict(change) for change in draft.changes],
        **({"statement_before": proof.statement} if stated else {}),
        "context": draft.context,
        "statement": draft.statement,
        "proof": draft.proof,
    }


def survivors(ledger: Ledger, proofs: Iterable[WholeProof]) -> Iterator[WholeProof]:
    """The proofs that the judge accepted, as they are now, in the order in which they were."""
    for proof in proofs:
        key = key_of_proof(proof)
        row = ledger.row(key) if key in ledger else {"outcome": ""}
        if row["outcome"] in ("unchanged", "fixed"):
            yield WholeProof(
                proof.source, proof.theorem, row["statement"], row["proof"], row["context"]
            )  # fmt: skip


def report(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What survived, what was changed by which rule, and what failed, by cause."""
    outcomes: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    helped: Counter[tuple[str, str]] = Counter()
    restated, failures = list[dict[str, Any]](), list[dict[str, Any]]()
    for row in rows:
        outcomes[row["outcome"]] += 1
        about = {"theorem": row.get("theorem"), "source": row.get("source")}
        if row["outcome"] == "fixed":
            helped.update((change["rule"], change["what"]) for change in row["changes"])
        if row["outcome"] == "fixed" and any(change["in_statement"] for change in row["changes"]):
            restated.append({**about, "before": row["statement_before"], "after": row["statement"]})
        if row["outcome"] in ("failed", "error"):
            causes[row.get("cause") or "error"] += 1
            failures.append({**about, "cause": row.get("cause"), "reason": row.get("reason")})
    judged = outcomes["unchanged"] + outcomes["fixed"] + outcomes["failed"]
    survive = outcomes["unchanged"] + outcomes["fixed"]
    return {
        "format": 1,
        "proofs": sum(outcomes[one] for one in ("unchanged", "fixed", "failed", "empty", "error")),
        **{one: outcomes[one] for one in ("unchanged", "fixed", "failed", "empty", "error")},
        "compiled_as_it_was": round(outcomes["unchanged"] / judged, 4) if judged else None,
        "survival": round(survive / judged, 4) if judged else None,
        "rules": [
            {"rule": rule, "what": what, "proofs": count}
            for (rule, what), count in sorted(helped.items(), key=lambda one: (-one[1], one[0]))
        ],
        "statements_changed": restated,
        "causes": {cause: causes[cause] for cause in (*CAUSES, "error") if causes[cause]},
        "failures": failures[:_SHOWN],
    }

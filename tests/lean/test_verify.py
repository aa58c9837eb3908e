"""The judge's second process: whatever the first hands over, the kernel decides.

The first process runs untrusted text; suppose that it lies.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from burnqed.lean import requests, rules
from burnqed.lean.pool import Pool

pytestmark = pytest.mark.lean
TEXT = "theorem a : True := trivial\n\ntheorem b (h : False) : False := h\n"
REFERENCE = "theorem a : True := sorry\n"


@pytest.fixture(scope="module")
async def export(lean_pool: Pool) -> dict[str, Any]:
    async with lean_pool.lease() as worker:
        reply = await worker.request(requests.Compile(TEXT, rules.gate()).line)
    data = reply["export"]
    assert isinstance(data, dict)
    return data


MACRO = """\
macro "claim" : command => `(theorem hidden : 1 = 2 := sorry)

claim

theorem a : True := sorry
"""


async def verify(pool: Pool, data: Any, reference: str | None = REFERENCE) -> dict[str, Any]:
    async with pool.lease() as worker:
        return await worker.request(requests.Verify(data, ["a", "b"], reference).line)


def theorem(reply: dict[str, Any], name: str) -> dict[str, Any]:
    found = next(t for t in reply["theorems"] if t["name"] == name)
    assert isinstance(found, dict)
    return found


async def test_the_truth_is_accepted(lean_pool: Pool, export: dict[str, Any]) -> None:
    reply = await verify(lean_pool, export)
    assert theorem(reply, "a")["kernel"] is None
    assert theorem(reply, "a")["reference"] == "same"
    assert theorem(reply, "b")["reference"] == "missing"
    assert reply["missing"] == reply["changed"] == []


async def test_another_type_for_the_same_proof(lean_pool: Pool, export: dict[str, Any]) -> None:
    lie = copy.deepcopy(export)
    false = lie["exprs"].index(["c", ["False"], []])
    next(c for c in lie["constants"] if c["name"] == ["a"])["type"] = false
    reply = await verify(lean_pool, lie)
    assert theorem(reply, "a")["kernel"] is not None
    assert theorem(reply, "a")["reference"] == "differs"


async def test_a_circle_and_an_axiom(lean_pool: Pool, export: dict[str, Any]) -> None:
    circle = copy.deepcopy(export)
    circle["exprs"].append(["c", ["a"], []])
    constant = next(c for c in circle["constants"] if c["name"] == ["a"])
    constant["value"] = len(circle["exprs"]) - 1
    assert theorem(await verify(lean_pool, circle), "a")["kernel"] is not None
    axiom = copy.deepcopy(circle)
    axiom["constants"].append({**constant, "name": ["x"], "kind": "axiom"})
    axiom["exprs"][-1] = ["c", ["x"], []]
    reply = await verify(lean_pool, axiom)
    assert theorem(reply, "a")["axioms"] == ["x"]
    assert theorem(reply, "a")["kernel"] is not None


async def test_what_is_missing_or_renamed(lean_pool: Pool, export: dict[str, Any]) -> None:
    fewer = {**export, "constants": [c for c in export["constants"] if c["name"] != ["a"]]}
    assert (await verify(lean_pool, fewer))["missing"] == ["a"]
    library = copy.deepcopy(export)
    next(c for c in library["constants"] if c["name"] == ["a"])["name"] = ["trivial"]
    assert (await verify(lean_pool, library))["missing"] == ["a"]


async def test_what_a_macro_of_the_reference_leaves_open_is_missing(
    lean_pool: Pool, export: dict[str, Any]
) -> None:
    """No identifier of the command names it."""
    missing = (await verify(lean_pool, export, MACRO))["missing"]
    assert [name.split(".")[0] for name in missing] == ["hidden"]


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"exprs": 1, "constants": []}, {"exprs": [["a", 5, 5]], "constants": []},
     {"exprs": [["?"]], "constants": []}, {"exprs": [], "constants": [{"kind": "theorem"}]}],
)  # fmt: skip
async def test_what_is_no_export_is_an_error(lean_pool: Pool, data: Any) -> None:
    assert "error" in await verify(lean_pool, data, None)

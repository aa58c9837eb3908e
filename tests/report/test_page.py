"""The page: whole, honest, and nothing that it shows can do anything."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from burnqed.evaluation.results import BenchmarkId, Labelled, TrainingMetrics
from burnqed.report.drawing import PALETTE
from burnqed.report.markup import badge, join, made
from burnqed.report.page import page
from burnqed.report.wording import date, natural
from tests.report.reading import HOSTILE, Parsed
from tests.report.samples import exhausted, failed, proved, realistic, result_of


def parsed(labelled: Labelled) -> Parsed:
    return Parsed(page(labelled))


CASES: dict[str, Labelled] = {
    "one": [("monday", realistic(1))],
    "two": [("monday", realistic(1)), ("tuesday", realistic(1, skill=2.0))],
    "three": [(day, realistic(i)) for i, day in enumerate(("mon", "tue", "wed"))],
    "nothing proved": [("x", result_of([exhausted("a")]))],
    "no theorem": [("x", result_of([]))],
    "hostile": [
        (
            HOSTILE[0],
            result_of(
                [
                    *(
                        proved(f"p{name}", 3, proof=name, group=name, leak_rule=name)
                        for name in HOSTILE
                    ),
                    *(failed(f"f{name}", kind=name, detail=name) for name in HOSTILE),
                ],
                settings={name: [name] for name in HOSTILE},
                benchmark=BenchmarkId(HOSTILE[1], HOSTILE[0], 12, HOSTILE[1], (HOSTILE[0],)),
                timestamp=HOSTILE[0],
                llm_path=HOSTILE[0],
                ebm_path=HOSTILE[1],
            ),
        )
    ],
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Labelled, Parsed]:
    labelled = CASES[request.param]
    return labelled, parsed(labelled)


def test_it_can_be_written(case: tuple[Labelled, Parsed]) -> None:
    assert page(case[0]).encode("utf-8").startswith(b"<!doctype html>")


def test_it_needs_no_network(case: tuple[Labelled, Parsed]) -> None:
    case[1].check_needs_no_network()


def test_only_its_own_script_may_run(case: tuple[Labelled, Parsed]) -> None:
    (script,) = case[1].inside["script"]
    (policy,) = (
        m["content"] or "" for m in case[1].tags("meta") if m.get("http-equiv", "") and m["content"]
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy
    assert not any(key.startswith("on") for _, attributes in case[1].elements for key in attributes)


def test_places_are_unique_and_links_lead_to_them(case: tuple[Labelled, Parsed]) -> None:
    case[1].check_places()


def test_every_theorem_is_there_once(case: tuple[Labelled, Parsed]) -> None:
    labelled, content = case
    names = {t.name for _, result in labelled for t in result.largest.per_theorem}
    items = [a for a in content.tags("li") if "data-outcomes" in a]
    assert len(items) == len(names)
    listed = content.section("Theorems")
    for name in names:
        assert re.sub("[\x00-\x08\x0b-\x1f\ud800]", "�", name) in listed


def test_proofs_and_errors_are_shown(case: tuple[Labelled, Parsed]) -> None:
    labelled, content = case
    theorems = [t for _, result in labelled for t in result.largest.per_theorem]
    shown = set(content.inside.get("pre", []))
    for t in theorems:
        assert re.sub("[\x00-\x08\x0b-\x1f\ud800]", "�", t.proof or t.detail) in shown | {""}


@pytest.mark.parametrize("name", ["one", "two"])
def test_headline(name: str) -> None:
    content = parsed(CASES[name])
    for label, result in CASES[name]:
        best = result.largest
        low, high = best.interval
        assert f"{label}{best.solved} of {best.total} proved{best.rate:.1%}" in content.text
        assert f"95% interval {100 * low:.1f}–{high:.1%}" in content.text
    assert content.inside["h1"] == ["qed-core"]
    assert "2026-02-03 04:05 UTC" in content.text
    assert "leak rule: module" in content.inside["header"][0]


def test_budgets_tell_everything() -> None:
    ((_, result),) = CASES["one"]
    rows = parsed(CASES["one"]).section("By budget")
    for b in result.budget_results:
        assert f"{b.budget} nodes{b.solved}/{b.total}{b.rate:.1%}" in rows
        assert f"{b.pass_at[1]:.1%}{b.pass_at[2]:.1%}" in rows
        assert f"{sum(b.exhausted.values())}nodes {b.exhausted['nodes']}" in rows
        assert all(f"{kind} {number}" in rows for kind, number in b.errors.items())
        assert f"{b.avg_nodes:,.1f}{b.avg_time_secs:.2f}{b.median_time_secs:.2f}" in rows
    assert "pass@" not in parsed(CASES["nothing proved"]).text


def test_what_only_a_smaller_budget_proved_is_not_lost() -> None:
    result = result_of([proved("a", 2), exhausted("b")], budgets=(10, 100))
    small, large = result.budget_results
    lost = result_of([exhausted("a"), exhausted("b")], budgets=(10, 100)).largest
    rows = parsed([("x", replace(result, budget_results=(small, lost)))]).section("By budget")
    assert "any1/250.0%" in rows
    assert "any" not in parsed([("x", result)]).section("By budget")
    assert large.solved == 1


def test_groups_are_whole() -> None:
    ((_, result),) = CASES["one"]
    rows = parsed(CASES["one"]).section("By part")
    for level in range(1, 6):
        inside = [t for t in result.largest.per_theorem if t.group == f"level {level}"]
        assert len(inside) == 30
        assert f"level {level}{sum(t.proved for t in inside)}/30" in rows
    assert "By part" not in parsed(CASES["nothing proved"]).text


def test_an_error_of_a_smaller_budget_is_told_too() -> None:
    result = result_of([proved("a", 20)], budgets=(10, 30))
    broken = result_of([failed("a", "LeanDied", "so it was")], budgets=(10,)).largest
    told = parsed([("x", replace(result, budget_results=(broken, result.largest)))]).section("Errors")
    assert "LeanDied (1)a with 10 nodes, not with moreso it was" in told
    assert "None." in parsed([("x", result)]).section("Errors")


def test_differences() -> None:
    one = result_of([proved("both", 1), proved("first", 1), exhausted("second"), failed("none")])
    two = result_of([proved("both", 1), failed("first"), proved("second", 3), exhausted("none")])
    told = parsed([("A", one), ("B", two)]).section("Differences")
    assert "B against A: 1 gained and 0 lost of 2 theorems" in told
    assert "2 left out because of errors" in told, "an error is not a loss"
    assert "1 proved by A, not by Bfirsterror1 proved by B, not by Asecond" in told
    assert "both" not in told.split("test:")[1]
    assert "They proved the same theorems." in parsed([("A", one), ("B", one)]).text
    assert "Differences" not in parsed([("A", one)]).text


def test_runs_on_different_theorems() -> None:
    one = result_of([proved("a", 1), proved("b", 1)])
    two = result_of([proved("b", 1), exhausted("c")], benchmark=BenchmarkId("other", "else", 2))
    content = parsed([("A", one), ("B", two)])
    assert "their checksums differ" in content.text
    assert "0 gained and 0 lost of 1 theorem " in content.text
    assert "their checksums differ" not in parsed([("A", one), ("B", one)]).text


def test_origin_and_cost() -> None:
    ((_, result),) = CASES["one"]
    trained = TrainingMetrics(0.123456, 1.5, 0.75, 4000, 3600.0)
    stopped = replace(result, training_metrics=trained, cost=replace(result.cost, clock_stops=3))
    text = parsed([("x", stopped)]).text
    for told in ("5ca1ab1e" * 8, "2026.02", "portfolio", '["Init", "Std"]', "1,234", "45,678"):
        assert told in text
    for told in ("910.5 s", "700.2 s", "80.1 s", "clock stops3", "their results may differ", "75.0%"):
        assert told in text
    assert "their results may differ" not in parsed([("x", result)]).text


def test_a_plot_takes_the_colours_of_the_page() -> None:
    text = page(CASES["two"])
    plots = re.findall("<svg.*?</svg>", text, re.S)
    assert len(plots) == 2
    for plot in plots:
        assert ElementTree.fromstring(plot).get("role") == "img"
        for colour in ("paper", "ink", f"c{PALETTE[0][1:]}", f"c{PALETTE[1][1:]}"):
            assert f"var(--{colour}, #" in plot
        assert not re.search(r"(?<!, )#(ffffff|202428|0072b2)", plot)
    for colour in PALETTE:
        assert f"--c{colour[1:]}: #" in text  # what the dark page has for it


def test_a_thousand_theorems() -> None:
    text = page([("big", realistic(1, count=1000))])
    assert len(text) < 2_000_000


def test_the_same_page_every_time() -> None:
    assert page(CASES["two"]) == page(CASES["two"])


def test_markup_escapes_what_is_not_markup() -> None:
    assert badge('"', "<b>") == '<span class="badge &#34;">&lt;b&gt;</span>'
    assert badge("x", Markup("<b></b>")) == '<span class="badge x"><b></b></span>'
    assert badge("\x00", "lone \ud800") == '<span class="badge \ufffd">lone \ufffd</span>'
    assert join(["&", Markup("&amp;")]) == "&amp;&amp;"


def test_what_a_template_is_not_given_is_an_error_and_not_a_gap() -> None:
    with pytest.raises(UndefinedError):
        made("parts.html", "badge", kind="x")


def test_natural_order() -> None:
    names = ["level 10", "level 2", "level 02", "", "a", "level " + "9" * 5000]
    ordered = ["", "a", "level 2", "level 02", "level 10", "level " + "9" * 5000]
    assert sorted(names, key=natural) == ordered


def test_dates() -> None:
    assert date("2026-02-03T04:05:06+00:00") == "2026-02-03 04:05 UTC"
    assert date("2026-02-03T04:05:06") == "2026-02-03 04:05"
    assert date("yesterday") == "yesterday"

"""The page about a run of expert iteration: the figures are those of the data, at any time of a run."""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from burnqed.evaluation.compare import p_text, pairing
from burnqed.evaluation.results import IterationResult
from burnqed.iteration.history import BASELINE, Evaluated, Gate, History, Iteration
from burnqed.report.drawing import PALETTE
from burnqed.report.iteration_plots import save_iteration_plots, svg_iteration_plots
from burnqed.report.iteration_records import kind_of
from burnqed.report.iterations import iteration_page
from burnqed.report.standing import entries, file_names, first_proofs
from burnqed.report.wording import figure, span
from tests.report.histories import MANIFEST, PAIRS, half_done, history, iteration
from tests.report.reading import HOSTILE, Parsed
from tests.report.samples import exhausted, failed, proved, result_of

WHOLE = history()
VALUE_WORDS = {"better": "better", "worse": "no better", "no difference shown": "undecided"}


def hostile() -> History:
    """Everything that is a text is one that would like to be markup."""
    nasty, mean = HOSTILE[0], HOSTILE[1]
    theorems = [
        *(proved(f"p{name}", 3, proof=name, group=name) for name in HOSTILE),
        *(failed(f"f{name}", kind=name, detail=name) for name in HOSTILE),
    ]
    never = [exhausted(t.name) if t.proved else t for t in theorems]
    turn = iteration(1, 3.0)
    texts: dict[str, Any] = dict.fromkeys(HOSTILE, nasty)
    turn = replace(
        turn,
        evaluated={name: Evaluated(result_of(theorems), result_of(never)) for name in HOSTILE},
        policy={"base": nasty, "val_top<b>": 1, "steps": nasty},
        value={"verdict": mean, "told": nasty, "calibration": nasty, "test_by_depth": {nasty: mean}},
        pairs=texts | {"deep": texts},
        embeddings={"encoders": [texts, {"sibling_l2": nasty, "theorems": mean}], "drift": nasty},
        dropped=(nasty,),
        searches=tuple(replace(s, stage=nasty) for s in turn.searches),
        newly_proved=tuple(HOSTILE),
        gates=(Gate(nasty, mean, "stop", nasty, mean),),
        stages=tuple(replace(s, name=nasty, command=mean) for s in turn.stages),
    )
    begun = Iteration(BASELINE, {name: Evaluated(result_of(never)) for name in HOSTILE})
    return History(nasty, {"config": texts, **texts}, 10, (begun, turn), ended=mean)


CASES = {"whole": WHOLE, "hostile": hostile(), **half_done()}


@functools.cache
def read(case: str) -> Parsed:
    text = iteration_page(CASES[case])
    assert text.encode("utf-8").startswith(b"<!doctype html>")
    return Parsed(text)


@pytest.fixture(params=CASES)
def content(request: pytest.FixtureRequest) -> Parsed:
    return read(request.param)


@pytest.fixture
def whole() -> Parsed:
    return read("whole")


def result(number: int, name: str = "library-300") -> IterationResult:
    return WHOLE.iterations[number + 1].evaluated[name].without


def test_it_stands_by_itself(content: Parsed) -> None:
    content.check_needs_no_network()
    content.check_places()
    assert "script" not in content.inside
    (policy,) = (m["content"] or "" for m in content.tags("meta") if m.get("http-equiv"))
    assert "script-src 'none'" in policy
    assert not any(key.startswith("on") for _, attributes in content.elements for key in attributes)


def test_no_figure_is_made_up_of_nothing(content: Parsed) -> None:
    assert not re.search(r"\bNone\b|\bnan\b|Markup|Mapping", content.text)


def test_the_same_page_every_time() -> None:
    assert iteration_page(WHOLE) == iteration_page(history())


def test_its_parts_are_in_order(whole: Parsed) -> None:
    parts = [str(a["id"]) for a in whole.tags("h2") if "id" in a]
    assert parts == [
        "scores", "value", "embeddings", "policy", "new", "training", "errors", "gates", "cost",
        "origin",
    ]  # fmt: skip


def test_headline(whole: Parsed) -> None:
    first, last = result(BASELINE), result(2)
    outcomes = [{t.name: t.outcome for t in r.largest.per_theorem} for r in (first, last)]
    it = pairing(outcomes[0], outcomes[1], list(outcomes[0]))
    card = whole.section("library-300")
    low, high = last.largest.interval
    assert f"{first.largest.solved}→{last.largest.solved} of 300 proved" in card
    assert f"iteration 2: {last.largest.rate:.1%}, 95% interval {100 * low:.1f}–{high:.1%}" in card
    assert f"{len(it.gained)} gained, {len(it.lost)} lost, {p_text(it.p_value)}" in card
    assert "with the value model" in card
    assert "within 300 nodes" in card
    assert it.gained


@pytest.mark.parametrize("name", ["library-300", "qed-core"])
def test_every_score_is_on_the_page(whole: Parsed, name: str) -> None:
    rows = whole.section("By iteration")
    for one in WHOLE.iterations:
        arms = one.evaluated[name]
        for arm in filter(None, (arms.without, arms.given)):
            for b in arm.budget_results:
                low, high = b.interval
                assert f"{b.solved}/{b.total} {b.rate:.1%}{100 * low:.1f}–{high:.1%}" in rows


def test_ablation(whole: Parsed) -> None:
    told = whole.section("Value model")
    arms = WHOLE.iterations[3].evaluated["qed-core"]
    assert arms.given is not None
    for budget in (30, 100, 300):
        before, after = arms.without.at(budget), arms.given.at(budget)
        ends = [{t.name: t.outcome for t in b.per_theorem} for b in (before, after)]
        it = pairing(ends[0], ends[1], list(ends[0]))
        rates = f"{before.solved}/120 {before.rate:.1%}{after.solved}/120 {after.rate:.1%}"
        figures = f"{len(it.gained)}{len(it.lost)}{len(it.undecided)}{p_text(it.p_value)}"
        assert f"{budget}{rates}{figures}{VALUE_WORDS[it.verdict]}" in told


def test_an_older_training_gets_the_word_of_its_figures() -> None:
    judged = {"verdict": "no better", "difference": 0.6, "low": 0.5, "high": 0.667, "theorems": 3}
    turn = iteration(1, 3.0, value={"verdict": "no better", "calibration": judged})
    page = Parsed(iteration_page(replace(WHOLE, iterations=(WHOLE.iterations[0], turn))))
    told = page.section("Value model")
    assert "iteration 1undecided" in told
    assert "no better" not in told


def test_models(whole: Parsed) -> None:
    told = whole.section("Value model")
    assert "iteration 1better71.2%60.0%+11.2%+4.3% to +18.1%20.8%1.230.876640 groups97 theorems" in told
    assert "5,123 groups812 theorems5 min 22 s" in told
    assert "4+7560.0%21.0%0.37577.0%52.0%" in told
    assert "the value model is right about 71.2% of 640 groups" in told
    assert "iteration 0" not in told, "it had none"
    trained = whole.section("Policy training")
    assert "iteration 145,6782,3460.8120.9343.21041.2%68.8%1 h 12 miniter-0/policy/best" in trained
    assert "top-1top-8" in trained
    assert f"kept.found{PAIRS['kept']['found']:,}" in trained


def test_embeddings(whole: Parsed) -> None:
    told = whole.section("Embeddings")
    assert "iteration 081261 theorems0.432171.3%0.525.0%41.23.1%–––" in told
    assert "iteration 181261 theorems0.3456iteration 0: 0.432168.7%0.525.0%41.23.1%0.91230.8765" in told
    assert "0.91230.8765dropped: probe" in told


def test_training_theorems_gates_cost_and_origin(whole: Parsed) -> None:
    told = whole.section("Training theorems")
    assert "search-24,0001,70042.5%2,28020456,7897,654,3216 h 30 min" in told
    assert "iteration 2: 40 newly proved, 120 of 4,000 theorems in all (3.0%)" in told
    assert "Nat.lemma_2_39" in told
    assert "warn value, qed-core iteration 2the value model loses nothing3 gained, 5 lostlook at" in (
        whole.section("Gates")
    )
    spent = whole.section("Cost")
    assert "burn-qed train policy --out iter-2/train-policy" in spent
    assert f"in all{span(1234.0)}" in spent
    assert span(sum(s.seconds for one in WHOLE.iterations for s in one.stages)) in spent
    origin = whole.section("Provenance")
    for text in (
        "config",
        "search.candidates16",
        "leanprover/lean4:v4.20.0",
        "c0ffee00" * 8,
        "[0, 1, 2]",
    ):
        assert text in origin
    assert all(key in origin for key in MANIFEST)


def test_a_search_that_is_not_done() -> None:
    (_, turn) = history(1).iterations
    begun = tuple(replace(s, proved=10, exhausted=20, errors=0) for s in turn.searches)
    page = Parsed(iteration_page(replace(WHOLE, iterations=(replace(turn, searches=begun),))))
    assert "4,0003,970 to go1033.3%200" in page.section("Training theorems")


# An error is never an unproved theorem


def small(*results: IterationResult, given: IterationResult | None = None) -> History:
    turns = [
        Iteration(number, {"set": Evaluated(r)}) for number, r in enumerate(results, start=BASELINE)
    ]
    turns[-1] = replace(turns[-1], evaluated={"set": Evaluated(results[-1], given)})
    return replace(WHOLE, iterations=tuple(turns))


def test_new_lost_and_errors() -> None:
    first = result_of([
        proved("kept", 1), proved("broke", 2), proved("lost", 3), failed("mended"), exhausted("new"),
        exhausted("never"),
    ])  # fmt: skip
    second = result_of([
        proved("kept", 1), failed("broke", detail="it went to pieces"), exhausted("lost"),
        proved("mended", 4, proof="by mend"), proved("new", 5, proof="by news"), exhausted("never"),
    ])  # fmt: skip
    page = Parsed(iteration_page(small(first, second)))
    told = page.section("Newly proved")
    assert "baseline began with 3 theorems" in told
    assert "iteration 0: 2 new, 1 lost, 2 not compared because of errors" in told
    assert "mendedan error beforeby mendnewby news" in told
    assert told.endswith("lostlostnot comparedbrokemended"), "an error is not a loss"
    assert "1 gained, 1 lost, p = 1, 2 left out because of errors" in page.section("set")
    assert "it went to pieces" in page.section("Errors")
    assert "1 error" in page.section("By iteration")


def test_what_only_the_value_model_proves_is_new_once() -> None:
    nothing = result_of([exhausted("a"), exhausted("b")])
    some = result_of([proved("a", 3), exhausted("b")])
    history_ = small(nothing, nothing, given=some)
    assert "aonly with the value model" in Parsed(iteration_page(history_)).section("Newly proved")
    later = replace(history_, iterations=(*history_.iterations, Iteration(1, {"set": Evaluated(some)})))
    firsts = first_proofs(entries(later, "set"))
    assert [[f.theorem.name for f in found] for found in firsts] == [[], ["a"], []]


# Half done


def test_where_a_run_is() -> None:
    said = {name: read(name).inside["header"][0] for name in CASES}
    assert "not begun nothing has been done yet" in said["nothing"]
    assert "not ended at baseline, 1 stage done" in said["baseline"]
    assert "not ended at iteration 0, 2 stages done, search-1 begun" in said["not evaluated"]
    ended = Parsed(iteration_page(replace(WHOLE, ended="plateau: +0.1 points")))
    assert "ended plateau: +0.1 points" in ended.inside["header"][0]
    finished = Parsed(iteration_page(replace(WHOLE, ended="", finished=True, damage=("x is damaged",))))
    assert "finished the baseline and 3 iterations" in finished.inside["header"][0]
    assert "x is damaged" in finished.inside["header"][0]


def test_half_done_runs_have_what_there_is() -> None:
    pages = {name: read(name) for name in CASES}
    assert "Nothing has been evaluated yet." in pages["nothing"].text
    assert "Nothing has been evaluated yet." in pages["baseline begun"].text
    assert "170 of 300 proved" in pages["baseline"].section("library-300")
    assert "→" not in pages["baseline"].text
    assert "Newly proved" not in pages["not evaluated"].text
    assert "Value model" not in pages["no value"].sections
    assert "With it and without" not in pages["value without an evaluation"].text
    assert "iteration 1" in pages["late set"].section("only-late")
    assert "baseline" not in pages["late set"].section("only-late").split("within 300 nodes")[0]
    assert "their checksums differ" in pages["other budgets"].section("By iteration")
    assert "their checksums differ" not in pages["late set"].text
    assert "0 of 0 proved" in pages["no theorem"].section("empty")


# Plots


def test_plots_are_drawn(tmp_path: Path) -> None:
    from PIL import Image

    paths = save_iteration_plots(WHOLE, tmp_path)
    assert sorted(path.name for path in paths) == sorted(
        f"{kind}_{name}.{end}"
        for kind in ("by_iteration", "by_nodes")
        for name in ("library-300", "qed-core")
        for end in ("png", "svg")
    )
    drawn = svg_iteration_plots(WHOLE)
    for path in paths:
        if path.suffix == ".png":
            with Image.open(path) as image:
                colours = Counter(image.convert("RGB").get_flattened_data())
            for colour in PALETTE[:3]:
                red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
                assert colours[red, green, blue] > 100
        else:
            assert path.read_text(encoding="utf-8") == drawn[path.stem]


def test_what_is_written_on_them() -> None:
    svg = svg_iteration_plots(WHOLE)["by_iteration_library-300"]
    texts = {
        "".join(n.itertext()) for n in ElementTree.fromstring(svg).iter() if n.tag.endswith("text")
    }
    assert {"baseline", "iteration 0", "iteration 2", "30 nodes", "300 nodes"} <= texts
    assert "with the value model" in texts
    without = replace(WHOLE, iterations=WHOLE.iterations[:2])
    assert "value model" not in svg_iteration_plots(without)["by_iteration_library-300"]


def test_a_set_that_came_late_has_the_colours_of_its_iterations() -> None:
    svg = svg_iteration_plots(half_done()["late set"])["by_nodes_only-late"]
    assert PALETTE[2] in svg
    assert PALETTE[0] not in svg


def test_names_for_files() -> None:
    names = file_names(["qed-core", "../..", "qed core", "", "a" * 300])
    assert names["qed-core"] == "qed-core"
    assert len(set(names.values())) == len(names)
    assert all(re.fullmatch("[a-z0-9-]{1,44}", slug) for slug in names.values())


def test_words() -> None:
    assert [span(s) for s in (0.04, 59.94, 61, 3599.7, 100_000)] == [
        "0.0 s", "59.9 s", "1 min 01 s", "1 h 00 min", "27 h 46 min",
    ]  # fmt: skip
    assert [figure(v, ".1%") for v in (0.5, None, "x", True)] == ["50.0%", "–", "–", "–"]
    names = ("search-1", "search-1-theorems", "eval-core-300", "policy")
    assert [kind_of(name) for name in names] == ["search", "search", "eval", "policy"]

"""Plots are there, show something, and come out the same."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from burnqed.core.errors import InfrastructureError, SetupError
from burnqed.evaluation.results import Labelled
from burnqed.report.drawing import DASHES, PALETTE, look
from burnqed.report.plots import save_plots, svg_plots
from tests.report.samples import exhausted, failed, proved, realistic, result_of

NAMES = ("solve_rate_by_nodes", "solve_rate_by_seconds")
SVG = "{http://www.w3.org/2000/svg}"

CASES: dict[str, Labelled] = {
    "one": [("one", realistic(1))],
    "several": [(f"run {i}", realistic(i, skill=1 + i / 2)) for i in range(3)],
    "many": [(f"run {i}", realistic(i, 20)) for i in range(15)],
    "a single node": [("x", result_of([proved("a", 1, 1.0)], budgets=(1,)))],
    "no time at all": [("x", result_of([proved("a", 3, 0.0), proved("b", 5, 1e-9)]))],
    "nothing proved": [("x", result_of([exhausted("a"), failed("b")]))],
    "one theorem": [("x", result_of([exhausted("a", seconds=0.0)]))],
    "no theorem": [("x", result_of([]))],
    "close budgets": [("x", result_of([proved("a", 7)], budgets=(98, 99, 100, 100_000)))],
    "odd labels": [
        ("_hidden", realistic(1, 20)),
        ("$x^$ </text><script>", realistic(2, 20)),
        ("証明 \x01\n" + "long" * 40, realistic(3, 20)),
    ],
}


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("case", CASES)
def test_files(case: str, tmp_path: Path) -> None:
    from PIL import Image

    paths = save_plots(CASES[case], tmp_path / "new")
    assert [path.name for path in paths] == [f"{n}.{end}" for n in NAMES for end in ("png", "svg")]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(p.name for p in paths)
    for path in paths:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
            with Image.open(path) as image:
                assert image.width > 600
                colours = Counter(image.convert("RGB").get_flattened_data())
            red, green, blue = (int(PALETTE[0][i : i + 2], 16) for i in (1, 3, 5))
            assert colours[255, 255, 255] > 0.3 * colours.total()  # paper
            assert colours[red, green, blue] > 100  # the first run's curve
        else:
            assert ElementTree.parse(path).getroot().tag == f"{SVG}svg"


def test_svg_is_the_same_every_time_and_small(tmp_path: Path) -> None:
    first = svg_plots(CASES["several"])
    assert svg_plots(CASES["several"]) == first
    save_plots(CASES["several"], tmp_path)
    for name, svg in first.items():
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8") == svg
        assert len(svg) < 200_000
        assert not re.search(r"<dc:date>|Matplotlib", svg)


def test_what_is_written_on_it() -> None:
    by_nodes, by_seconds = (svg_plots(CASES["several"])[name] for name in NAMES)
    assert {"run 0", "run 1", "run 2", "nodes per attempt", "theorems proved"} <= set(texts(by_nodes))
    assert {"0%", "100%", "1", "10", "100", "budget 10", "30"} <= set(texts(by_nodes))
    assert {"run 0", "seconds per theorem", "0.1", "1", "10"} <= set(texts(by_seconds))


def test_a_low_rate_is_not_squeezed_to_the_bottom() -> None:
    few = result_of([proved("a", 4), *(exhausted(f"b{i}") for i in range(299))])
    assert "10%" in texts(svg_plots([("x", few)])[NAMES[0]])
    assert "100%" not in texts(svg_plots([("x", few)])[NAMES[0]])


def test_labels_are_only_text() -> None:
    written = texts(svg_plots(CASES["odd labels"])[NAMES[0]])
    assert "_hidden" in written
    assert "$x^$ </text><script>" in written
    assert any(text.startswith("証明") and text.endswith("…") for text in written)


def test_budgets_that_are_close_do_not_write_over_each_other() -> None:
    written = texts(svg_plots(CASES["close budgets"])[NAMES[0]])
    assert "budget 98" in written
    assert "99" not in written


def test_no_two_runs_look_alike() -> None:
    several = len(PALETTE) * len(DASHES)
    assert len({look(run) for run in range(several)}) == several


def test_the_style_of_others_stays_and_does_not_matter() -> None:
    import matplotlib

    before = svg_plots(CASES["one"])
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        assert svg_plots(CASES["one"]) == before
        assert matplotlib.rcParams["font.size"] == 30
    assert "matplotlib.pyplot" not in sys.modules


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("matplotlib", "matplotlib.style", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SetupError) as caught:
        save_plots(CASES["one"], tmp_path)
    assert "pip install matplotlib" in caught.value.hint
    assert not list(tmp_path.iterdir())


def test_nowhere_to_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        save_plots(CASES["one"], tmp_path / "file" / "below")

"""What is printed acts on no terminal, whatever a file or Lean says."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from burnqed.core import screen
from burnqed.core.screen import visible

HOSTILE = (
    "a\x1b[2J\x1b[32maccepted\x1b[0m \x07\x08\r\x9b1A \u202eb\u2066 \u200b\ufeff\U000e0041 \ud800\u2028"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def acts(text: str) -> set[str]:
    """The characters that a terminal obeys, or that a reader cannot see."""
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {c for c in text if unicodedata.category(c) in hidden and c not in "\n\t"}


@given(st.text(alphabet=st.characters()))
def test_nothing_acts_and_nothing_is_lost(text: str) -> None:
    assert not acts(visible(text))
    assert visible(visible(text)) == visible(text)
    for dumped in (json.dumps(text, ensure_ascii=False), json.dumps(text)):
        assert json.loads(visible(dumped)) == text


def test_lean_is_left_as_it_is() -> None:
    text = "theorem «é ñ» : ∀ x : ℝ, x₁ ≤ ‖x‖ := by\n\tsimp [h] -- 👍 日本"
    assert visible(text) == text


def test_every_way_to_print(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("what", title=Text(HOSTILE), caption=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))
    table.add_row(Panel(HOSTILE, title=Text(HOSTILE)))
    with screen.shown():
        print(HOSTILE)
        print(HOSTILE, file=sys.stderr)
        typer.echo(HOSTILE)
        typer.echo(HOSTILE, err=True)
        sys.stdout.writelines([HOSTILE])
        screen.console().print(table)
        screen.console(stderr=True).print(table, HOSTILE)
    printed = capsys.readouterr()
    assert "accepted" in printed.out
    assert "accepted" in printed.err
    assert not acts(printed.out)
    assert not acts(printed.err)


def test_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    screen.console().print("[bold green]accepted[/]", Text("[/]"), ":tada:")
    assert capsys.readouterr().out == "[bold green]accepted[/] [/] :tada:\n"


def test_colours_of_our_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, also below what is live; of the text nothing but text."""

    raw = Terminal()
    monkeypatch.setattr(sys, "stderr", raw)
    monkeypatch.setenv("TERM", "xterm")
    with screen.shown():
        console = screen.console(stderr=True)
        with Live(console=console):
            console.print(Text(HOSTILE, style="green"))
    assert "\x1b[32m" in raw.getvalue(), "ours"
    assert "[32maccepted" in raw.getvalue().replace("\x1b[32m", ""), "the text's, as text"
    assert "\x1b[2J" not in raw.getvalue()


def test_lean_for_a_file_is_written_exactly(capsys: pytest.CaptureFixture[str]) -> None:
    text = "-- 👨\u200d👩\u200d👧 \u202e"
    with screen.shown():
        screen.write_exactly(text)
        screen.write_exactly(f"{text}\n")
    assert capsys.readouterr().out == f"{text}\n" * 2


def test_on_a_terminal_it_is_made_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Terminal()
    monkeypatch.setattr(sys, "stdout", raw)
    with screen.shown():
        screen.write_exactly("\x1b[2J")
    assert raw.getvalue() == "\\u001b[2J\n"

"""What the CPU can do is found out by a process that may die, hang or lie; once, and then read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnqed.core.errors import SetupError
from burnqed.policy.models import cpu
from burnqed.policy.models.cpu import FORMATS, LIMIT, Ability
from tests.policy.stand_in import ALL, Stand


def test_where_everything_works_nothing_is_changed(stand: Stand) -> None:
    assert cpu.probe(stand.does(ALL)) == Ability(FORMATS, None, "")
    assert stand.starts == [""]


def test_what_dies_is_tried_with_less_until_it_works(stand: Stand) -> None:
    found = cpu.probe(stand.does("loaded SIGILL", AVX512_CORE_BF16=ALL))
    assert found == Ability(FORMATS, "AVX512_CORE_BF16", "trying it ended by SIGILL")
    assert stand.starts == ["", "AVX512_CORE_FP16", "AVX512_CORE_BF16"]


def test_what_dies_with_everything_is_not_used(stand: Stand) -> None:
    found = cpu.probe(stand.does("loaded SIGILL"))
    assert found == Ability((), None, "trying it ended by SIGILL")
    assert len(stand.starts) == 5


def test_the_highest_limit_with_the_most_is_taken(stand: Stand) -> None:
    half = "loaded bfloat16 SIGILL"
    found = cpu.probe(stand.does("loaded SIGILL", AVX512_CORE=half, AVX2=half))
    assert (found.formats, found.limit) == (("bfloat16",), "AVX512_CORE")


def test_what_hangs_is_ended(stand: Stand) -> None:
    begin = time.monotonic()
    found = cpu.probe(stand.does("loaded hang"), seconds=1.0)
    assert found == Ability((), None, "trying it did not end within 1 s")
    assert stand.starts == [""], "and is not tried again"
    assert time.monotonic() - begin < 30


def test_a_limit_of_the_users_own_is_left_alone(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "AVX512_CORE_AMX")
    stand.does(ALL, AVX512_CORE_AMX="loaded SIGILL")
    assert cpu.settle().formats == ()
    assert stand.starts == ["AVX512_CORE_AMX"]
    assert os.environ[LIMIT] == "AVX512_CORE_AMX"
    dtype, said = cpu.usable("bfloat16")
    assert (dtype, "SIGILL" in said) == ("float32", True)


def test_no_torch_is_no_answer(stand: Stand) -> None:
    stand.does("fail")
    with pytest.raises(SetupError, match="torch cannot be loaded: no such library"):
        cpu.known()
    assert cpu.usable("bfloat16")[0] == "float32", "and until there is one nothing is risked"
    stand.does(ALL)
    assert cpu.known() == Ability(FORMATS, None, ""), "nothing was kept"


def test_it_is_tried_once_and_then_read(stand: Stand) -> None:
    stand.does("loaded SIGILL", AVX2=ALL)
    first = cpu.known()
    assert len(stand.starts) == 5
    assert cpu.known() == first == Ability(FORMATS, "AVX2", "trying it ended by SIGILL")
    assert len(stand.starts) == 5
    stand.does(ALL)
    assert cpu.look() == Ability(), "but `doctor` looks again"
    assert cpu.known() == Ability()


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[]", '{"KEY": 1}', '{"KEY": {"formats": ["int3"], "limit": null, "trouble": ""}}'],
)
def test_a_broken_file_is_made_again(stand: Stand, broken: str) -> None:
    stand.does(ALL)
    cpu.known()
    file = Path(os.environ["BURN_QED_CACHE"]) / "cpu.json"
    (key,) = json.loads(file.read_text())
    file.write_text(broken.replace("KEY", key))
    assert cpu.known() == Ability()
    assert len(stand.starts) == 2
    assert list(json.loads(file.read_text())) == [key]


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("_boot", "another boot"),
        ("_processor", ["flags : amx_bf16"]),
        ("version", "2.99"),
    ],
)
def test_another_machine_is_asked_anew(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, what: str, other: object
) -> None:
    stand.does(ALL)
    cpu.known()
    monkeypatch.setattr(cpu, what, lambda *_: other)
    stand.does("loaded SIGILL")
    assert cpu.known().formats == ()


def test_where_nothing_can_be_kept_it_is_still_found(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BURN_QED_CACHE", str(tmp_path / "file" / "cache"))
    stand.does(ALL)
    assert cpu.known() == Ability()


def test_of_several_that_start_together_one_tries(stand: Stand) -> None:
    stand.does(ALL)
    code = f"from burnqed.policy.models import cpu; cpu.PROBE = {stand.command!r}; print(cpu.known())"
    several = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {child.communicate(timeout=60)[0] for child in several}
    assert said == {f"{Ability()}\n"}
    assert len(stand.starts) == 1


def settled(stand: Stand, before: str) -> list[str]:
    """The answer and the limit in a process that begins with `before`."""
    code = (
        f"import os\n{before}\nfrom burnqed.policy.models import cpu\ncpu.PROBE = {stand.command!r}\n"
        "print(cpu.settle().formats)\nprint(os.environ.get(cpu.LIMIT))\nprint(*cpu.usable('bfloat16'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_limit_is_set_before_torch_is_loaded(stand: Stand) -> None:
    stand.does("loaded SIGILL", AVX512_CORE_FP16=ALL)
    formats, limit, said = settled(stand, "")
    assert (formats, limit) == ("('bfloat16', 'float16')", "AVX512_CORE_FP16")
    assert said.startswith("bfloat16 this CPU claims more than it can do (trying it ended by SIGILL)")


def test_too_late_for_a_limit_is_float32(stand: Stand) -> None:
    """A module of that name is enough: whether oneDNN was used already cannot be seen from outside."""
    stand.does("loaded SIGILL", AVX512_CORE_FP16=ALL)
    formats, limit, said = settled(
        stand, "import sys, types; sys.modules['torch'] = types.ModuleType('t')"
    )
    assert (formats, limit) == ("()", "None")
    assert said.startswith(
        "float32 this CPU cannot compute in bfloat16 (trying it ended by SIGILL, and"
    )


def test_float32_is_always_used_as_asked(stand: Stand) -> None:
    stand.does("loaded SIGILL")
    assert cpu.usable("float32") == ("float32", "")
    assert stand.starts == []

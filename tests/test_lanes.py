"""No run of the tests can hang, and no lane can leave out or let in a test by mistake.

Tests are planted in a folder and run as this project runs its own: with its options, in processes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.children import sitecustomize as children

ROOT = Path(__file__).parent.parent
TWO = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
FINE = "def test_fine(): pass\n"


def run(folder: Path, *options: str, **files: str) -> tuple[int, str, float]:
    """The exit code, all that was said, and the seconds it took."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(folder),
    ]
    own = {name: value for name, value in os.environ.items() if name != children.REPORT}
    own["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), *_path()])
    begin = time.monotonic()
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *options, str(folder)],
        env=own, capture_output=True, text=True, timeout=120, check=False, cwd=folder,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr, time.monotonic() - begin


def _path() -> list[str]:
    """What is on the path besides the folder that refuses: that would refuse on our account."""
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [folder for folder in known if folder and folder != str(Path(children.__file__).parent)]


CRASHES = {
    "os._exit(0)": "import os\ndef test_planted(): os._exit(0)\n",
    "SIGKILL": "import os\ndef test_planted(): os.kill(os.getpid(), 9)\n",
    "SIGILL": "import os\ndef test_planted(): os.kill(os.getpid(), 4)\n",
}


@pytest.mark.parametrize("crash", CRASHES)
def test_a_test_process_that_dies_is_a_failed_run(tmp_path: Path, crash: str) -> None:
    """Of two processes one dies with tests left to do: xdist by itself waits for ever then."""
    more = {f"test_{letter}": FINE for letter in "abcd"}
    code, said, _ = run(tmp_path, *TWO, **more, test_b2=CRASHES[crash] + FINE)
    assert code == 1
    assert "crashed while running 'test_b2.py::test_planted'" in said
    assert "FAILED test_b2.py::test_planted" in said


HANGS = {
    "sleeps": "import time\ndef test_planted(): time.sleep(500)\n",
    # Nothing of Python's own runs beside this one: it keeps the interpreter's lock.
    "computes": "import re\ndef test_planted(): re.match('(a+)+$', 'a' * 60 + 'b')\n",
}


@pytest.mark.parametrize(("hang", "processes"), [("sleeps", TWO), ("computes", ())])
def test_a_test_that_hangs_is_ended(tmp_path: Path, hang: str, processes: tuple[str, ...]) -> None:
    """The limits are this project's own, only shorter."""
    limits = ("-o", "timeout=2", "-o", "faulthandler_timeout=4")
    code, said, seconds = run(tmp_path, *processes, *limits, test_a=FINE, test_b=HANGS[hang])
    assert code == 1
    assert "test_planted" in said
    assert seconds < 60


def test_a_hang_in_a_fixture_is_ended_too(tmp_path: Path) -> None:
    text = (
        "import time, pytest\n@pytest.fixture\ndef stuck():\n    yield\n    time.sleep(500)\n"
        "def test_planted(stuck): pass\n"
    )
    code, said, _ = run(tmp_path, "-o", "timeout=2", test_a=text)
    assert code == 1
    assert "in stuck" in said


# ----------------------------------------------------------------------------------- the lanes

FILES = {
    "test_plain": FINE,
    "test_heavy": "import torch\ndef test_one(): pass\ndef test_two(): pass\n",
    "test_marked": (
        "import pytest\n"
        "@pytest.fixture\ndef toolchain(): pass\n"
        "@pytest.fixture\ndef pool(toolchain): pass\n"
        "def test_lean(pool): pass\n"
        "@pytest.mark.torch\ndef test_torch(): pass\n"
        "@pytest.mark.network\ndef test_network(): pass\n"
        "@pytest.mark.soak\ndef test_soak(): pass\n"
    ),
}


def test_each_lane_says_what_it_left_out(tmp_path: Path) -> None:
    # A stand-in: that it is not loaded in `check` is what matters.
    (tmp_path / "torch.py").write_text("")
    for lane, processes, line, ran in (
        ("check", (), "1 tests; left out: 1 lean, 1 network, 1 soak, 3 torch, 1 files that", "fine"),
        ("check", TWO, "1 tests; left out: 1 lean, 1 network, 1 soak, 3 torch, 1 files that", "fine"),
        ("test", (), "6 tests; left out: 1 soak (see `make soak`)", "fine one two lean torch network"),
        ("soak", (), "1 tests; left out: 6 not soak (see `make test`)", "soak"),
    ):
        code, said, _ = run(tmp_path, "-p", "tests.lanes", *processes, "-v", "--lane", lane, **FILES)
        assert code == 0, said
        assert f"lane {lane}: {line}" in said
        assert sorted(re.findall(r"::test_(\w+)", said.split("= slowest")[0])) == sorted(
            ran.split() * (2 if processes else 1)  # xdist says what it begins, and how it ended
        )


WRONG = {
    "torch": "def test_planted():\n    import torch\n",
    "torch, hidden": (
        "def test_planted():\n    try:\n        import torch\n    except BaseException: pass\n"
    ),
    "torch, by importlib": ("import importlib\ndef test_planted(): importlib.import_module('torch')\n"),
    "torch, elsewhere": (
        "import subprocess, sys\n"
        "def test_planted(): subprocess.run([sys.executable, '-c', 'import torch'])\n"
    ),
    "lean": "import subprocess\ndef test_planted(): subprocess.run(['true', 'there/launch.js'])\n",
    "lean, elsewhere": (
        "import subprocess, sys\n"
        "code = \"import subprocess; subprocess.run(['true', 'launch.js'])\"\n"
        "def test_planted(): subprocess.run([sys.executable, '-c', code])\n"
    ),
    "lean, by asyncio": (
        "import asyncio\n"
        "async def test_planted(): await asyncio.create_subprocess_exec('true', 'launch.js')\n"
    ),
    "network": "import socket\ndef test_planted(): socket.create_connection(('192.0.2.1', 80), 1)\n",
    "network, by name": "import socket\ndef test_planted(): socket.getaddrinfo('example.org', 80)\n",
    "network, by npm": (
        "import subprocess\ndef test_planted(): subprocess.run(['true', 'there/npm-cli.js'])\n"
    ),
}


def test_a_mark_that_was_forgotten_fails_the_check(tmp_path: Path) -> None:
    files = {f"test_{number}": text for number, text in enumerate(WRONG.values())}
    here = (
        "import socket\ndef test_here():\n    with socket.create_server(('localhost', 0)) as server:\n"
    )
    here += "        socket.create_connection(server.getsockname()).close()\n"
    code, said, _ = run(tmp_path, "-p", "tests.lanes", "--lane", "check", "-v", **files, test_here=here)
    assert code == 1
    for number, what in enumerate(WRONG):
        mark = what.split(",")[0]
        assert f"test_{number}.py::test_planted - Failed: a test that needs {mark} has no mark" in said
    assert "test_here.py::test_here PASSED" in said

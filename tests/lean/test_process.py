"""One process: its limits hold, its streams are drained, and nothing is left of it."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from burnqed.core.errors import (
    LeanDied,
    LeanMemoryExceeded,
    LeanStartError,
    ProtocolError,
    RequestTimeout,
)
from burnqed.lean import requests
from burnqed.lean.process import LaunchSpec, LeanProcess, Limits, resident_bytes
from tests.lean.scripted_repl import launch, left_behind, runs


@pytest.fixture
async def process() -> AsyncIterator[LeanProcess]:
    limits = Limits(start_seconds=10, request_seconds=10, memory_bytes=300 << 20)
    process = await LeanProcess.start(launch(), limits)
    await process.request('goal.start {"expr":"G"}')
    yield process
    await process.kill()
    assert left_behind() == []


def tactic(text: str) -> str:
    return requests.GoalTactic(0, 0, text, auto_resume=True).line


async def test_answers(process: LeanProcess) -> None:
    reply = await process.request(tactic("to A B"))
    assert [goal["target"]["pp"] for goal in reply["goals"]] == ["A", "B"]
    assert process.requests == 2
    assert process.alive
    assert "noise of this build" in process.diagnostics()


async def test_any_text_arrives(process: LeanProcess) -> None:
    reply = await process.request(tactic("to ⊢∀🦆\u2028é"))
    assert [g["target"]["pp"] for g in reply["goals"]] == ["⊢∀🦆", "é"]


@pytest.mark.parametrize("line", ["", "  ", "stat {}\nstat {}"])
async def test_a_request_is_one_line(process: LeanProcess, line: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        await process.request(line)
    assert process.alive


async def test_one_request_at_a_time(process: LeanProcess) -> None:
    first = asyncio.create_task(process.request(tactic("sleep 0.2")))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="already answering"):
        await process.request("stat {}")
    assert "goals" in await first


async def test_hang_is_stopped(process: LeanProcess) -> None:
    began = time.monotonic()
    with pytest.raises(RequestTimeout) as caught:
        await process.request(tactic("hang"), timeout=0.5)
    assert caught.value.seconds == 0.5
    assert time.monotonic() - began < 5
    assert not runs(process.pid)
    with pytest.raises(RequestTimeout):
        await process.request("stat {}")


async def test_death_tells_how(process: LeanProcess) -> None:
    with pytest.raises(LeanDied, match="signal 9") as caught:
        await process.request(tactic("die"))
    assert caught.value.signal == signal.SIGKILL


async def test_exit_tells_its_last_words(process: LeanProcess) -> None:
    with pytest.raises(LeanDied, match=r"exit code 3\): it was nice") as caught:
        await process.request(tactic("exit 3 it was nice"))
    assert caught.value.returncode == 3
    assert "it was nice" in caught.value.diagnostics


async def test_its_own_memory_limit(process: LeanProcess) -> None:
    with pytest.raises(LeanMemoryExceeded, match="exit code 1"):
        await process.request(tactic("exit 1 INTERNAL PANIC: out of memory"))


async def test_death_between_requests(process: LeanProcess) -> None:
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(LeanDied, match="signal 9"):
        await process.request("stat {}")


async def test_memory_eater(process: LeanProcess) -> None:
    with pytest.raises(LeanMemoryExceeded, match="300 MB are allowed"):
        await process.request(tactic("eat 400"))
    assert not runs(process.pid)


async def test_memory_of_children_counts() -> None:
    child = "import time; x = b'x' * (50 << 20); print('up', flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", parent, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readline(), 10)
        assert resident_bytes(process.pid) > 50 << 20
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def test_some_garbage_is_ignored(process: LeanProcess) -> None:
    assert "goals" in await process.request(tactic("garbage 5000"))
    assert "neither here nor there" in process.diagnostics()
    assert len(process.diagnostics()) < 20_000


async def test_endless_garbage_is_not(process: LeanProcess) -> None:
    with pytest.raises(ProtocolError, match="nothing but noise"):
        await process.request(tactic("endless"))
    assert not runs(process.pid)


async def test_half_a_reply(process: LeanProcess) -> None:
    with pytest.raises(ProtocolError, match="not JSON"):
        await process.request(tactic("broken"))
    assert not process.alive


async def test_a_reply_too_many(process: LeanProcess) -> None:
    """The next request must not be answered by what was left over from this one."""
    with pytest.raises(ProtocolError, match="a reply without a request"):
        await process.request(tactic("twice"))
    assert not process.alive


async def test_huge_reply(process: LeanProcess) -> None:
    reply = await process.request(tactic("huge 20"))
    assert len(reply["goals"][0]["target"]["pp"]) == 20 << 20


async def test_reply_over_the_limit() -> None:
    process = await LeanProcess.start(launch(), Limits(reply_bytes=1 << 20))
    await process.request('goal.start {"expr":"G"}')
    with pytest.raises(ProtocolError, match="more than 1048576 bytes"):
        await process.request(tactic("huge 20"))


async def test_huge_request(process: LeanProcess) -> None:
    reply = await process.request(tactic("to " + "x" * (5 << 20)))
    assert len(reply["goals"][0]["target"]["pp"]) == 5 << 20


async def test_stderr_flood(process: LeanProcess) -> None:
    assert "goals" in await process.request(tactic("flood 50"))
    for _ in range(100):  # the two pipes are not in step
        if "the last words" in process.diagnostics():
            break
        await asyncio.sleep(0.02)
    assert process.diagnostics().endswith("the last words")
    assert len(process.diagnostics()) < 20_000


async def test_closed_stdout(process: LeanProcess) -> None:
    with pytest.raises(LeanDied, match="closed its output"):
        await process.request(tactic("mute"))


async def test_cancellation_kills(process: LeanProcess) -> None:
    task = asyncio.create_task(process.request(tactic("sleep 1")))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not process.alive
    assert not runs(process.pid)
    with pytest.raises(LeanDied, match="cancelled"):
        await process.request("stat {}")


@pytest.mark.parametrize("end", ["hang", "die"])
async def test_children_go_with_it(process: LeanProcess, end: str) -> None:
    reply = await process.request(tactic("spawn"))
    child = int(reply["messages"][0]["data"])
    assert runs(child)
    with pytest.raises((RequestTimeout, LeanDied)):
        await process.request(tactic(end), timeout=0.5)
    for _ in range(100):
        if not runs(child):
            break
        await asyncio.sleep(0.02)
    assert not runs(child)


async def test_close_is_polite_and_can_be_repeated(process: LeanProcess) -> None:
    began = time.monotonic()
    await process.close()
    await process.close()
    assert time.monotonic() - began < 1
    assert not runs(process.pid)
    with pytest.raises(LeanDied):
        await process.request("stat {}")


async def test_slow_start() -> None:
    with pytest.raises(LeanStartError, match=r"no reply within 0\.5 s"):
        await LeanProcess.start(launch("--slow-start", "60"), Limits(start_seconds=0.5))
    assert left_behind() == []


async def test_exit_at_start_tells_why() -> None:
    with pytest.raises(LeanStartError, match=r"exit code 1\): no library here"):
        await LeanProcess.start(launch("--exit-at-start"))


async def test_no_such_command() -> None:
    with pytest.raises(LeanStartError, match="cannot run /no/such/lean"):
        await LeanProcess.start(LaunchSpec(("/no/such/lean",), {}))


async def test_cancelled_start() -> None:
    task = asyncio.create_task(LeanProcess.start(launch("--slow-start", "60")))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left_behind() == []


async def test_the_stack_limit_is_raised(process: LeanProcess) -> None:
    limits = Path(f"/proc/{process.pid}/limits").read_text()  # noqa: ASYNC240
    (line,) = [line for line in limits.splitlines() if line.startswith("Max stack size")]
    soft, hard = line.split()[3:5]
    assert soft == "unlimited" or int(soft) >= 1_000_000 * 1024 or soft == hard
    assert os.getsid(process.pid) == process.pid

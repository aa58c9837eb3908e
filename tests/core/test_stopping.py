"""A signal is a question: outside of event loops, and inside of one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from burnqed.core.stopping import Stopping


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def test_outside_of_a_loop_it_is_asked(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Stopping() as stopping:
        assert not stopping.asked()
        send(signal.SIGTERM)
        send(signal.SIGINT)
        assert stopping.asked()
        assert stopping.signal is signal.SIGTERM, "the first"
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert capfd.readouterr().err.count("stopping after this step") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_inside_of_a_loop_it_is_waited_for(number: signal.Signals) -> None:
    async def work() -> signal.Signals | None:
        stopping = Stopping()
        event = stopping.event()
        asyncio.get_running_loop().call_later(0.01, send, number)
        await asyncio.wait_for(event.wait(), 30)
        return stopping.signal

    assert asyncio.run(work()) is number
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_came_before_the_loop_counts() -> None:
    async def work() -> bool:
        return stopping.event().is_set()

    with Stopping(shown=False) as stopping:
        send(signal.SIGTERM)
        assert asyncio.run(work())


def test_a_second_ctrl_c_in_a_loop_is_pythons_own() -> None:
    code = (
        "import asyncio, os, signal\n"
        "from burnqed.core.stopping import Stopping\n"
        "async def work():\n"
        "    event = Stopping().event()\n"
        "    for _ in range(2):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        await asyncio.sleep(0.05)\n"
        "asyncio.run(work())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "KeyboardInterrupt" in done.stderr
    assert done.returncode != 0

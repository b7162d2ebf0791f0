from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from bythebook.books.lesson import decode
from bythebook.books.sandbox import Sandbox, SandboxCall, Unreadable
from tests.support.processes import runs


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


def run(sandbox: Sandbox, *calls: partial[Any]) -> list[Any]:
    return list(sandbox.run([SandboxCall(call=call, characters=1) for call in calls]))


def reason(found: object) -> str:
    assert isinstance(found, Unreadable)
    return found.reason


def test_calls_are_done_in_another_process(sandbox: Sandbox) -> None:
    first, second = run(sandbox, partial(os.getpid), partial(os.getpid))
    assert first == second != os.getpid()


def test_only_the_call_that_ends_the_process_is_lost(sandbox: Sandbox) -> None:
    one, crash, three = run(sandbox, partial(int, "1"), partial(os.abort), partial(int, "3"))
    assert (one, three) == (1, 3)
    assert reason(crash) == ("needs too much memory to be read, or is damaged (signal 6); save or download it again, or split it")


def test_a_call_without_an_end_is_ended(sandbox: Sandbox) -> None:
    """In the middle of C code that checks for nothing. The next call has its own limit, and a new child."""
    endless = SandboxCall(call=partial(re.match, "(a+)+$", "a" * 40 + "b"), characters=1, seconds=1.0)
    (found,) = sandbox.run([endless])
    assert "more than 1 seconds of computing" in reason(found)
    assert run(sandbox, partial(int, "2")) == [2]


def test_a_call_that_is_slow_because_others_compute_has_more_time(sandbox: Sandbox) -> None:
    """It waits for its turn, as here for the clock. One that waits for ever is ended too."""
    waits: list[partial[Any]] = [partial(time.sleep, pause) for pause in (0.3, 600)]
    slow, stuck = [next(sandbox.run([SandboxCall(call=wait, characters=1, seconds=0.2)])) for wait in waits]
    assert slow is None
    assert "within 1 seconds" in reason(stuck)
    assert "machine has less to do" in reason(stuck)


def test_memory_is_limited(sandbox: Sandbox) -> None:
    greedy, next_one = run(sandbox, partial(bytes, 5_000_000_000), partial(int, "2"))
    assert "memory" in reason(greedy)
    assert next_one == 2


def test_what_a_library_prints_is_not_shown(sandbox: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    run(sandbox, partial(os.write, 1, b"a circle"), partial(os.write, 2, b"was detected"))
    assert capfd.readouterr() == ("", "")


def test_what_a_parser_raises_is_the_reason(sandbox: Sandbox) -> None:
    wrong, unreadable, deep = run(
        sandbox,
        partial(int, "x"),
        partial(decode, b"\xff", "arms.md"),
        partial(json.loads, "[" * 100_000),
    )
    assert "ValueError" in reason(wrong)
    assert "arms.md, line 1: this is not UTF-8" in reason(unreadable)
    assert "nested too deeply" in reason(deep)


def test_the_child_ends_with_its_parent() -> None:
    """Killed, with no time to say goodbye."""
    program = (
        "import os, sys, time\nfrom functools import partial\nfrom bythebook.books.sandbox import SandboxCall, Sandbox\n"
        "print(*Sandbox().run([SandboxCall(call=partial(os.getpid), characters=1)]), flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        parent.kill()
    until = time.monotonic() + 120
    while runs(child):
        assert time.monotonic() < until, "the child outlives its parent"
        time.sleep(0.02)


def test_closing_does_not_wait_for_what_is_being_read() -> None:
    sandbox = Sandbox()
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.extend(run(sandbox, partial(time.sleep, 600), partial(int, "2"))))
    reading.start()
    while sandbox._child is None:
        time.sleep(0.01)
    sandbox.close()
    reading.join(120)
    assert not reading.is_alive()
    assert all(isinstance(one, Unreadable) for one in found)

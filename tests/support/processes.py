"""Processes that a test has started, as the system sees them; and waiting for what they or a server come to."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 300
"""How long anything may take on a machine that is busy; what takes longer hangs."""
LOOK_SECONDS = 0.02
NEVER_GIVEN = range(15_000, 32_000)
"""Ports that the system gives to nobody who does not name one."""


def runs(pid: int) -> bool:
    """Whether it still runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(holds: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < give_up_at, "it never came to be"
        time.sleep(LOOK_SECONDS)


def free_port() -> int:
    """For a program that cannot choose one by itself. No connection and no server of another test comes to have it in between."""
    for port in random.sample(NEVER_GIVEN, 100):
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("every port is taken")

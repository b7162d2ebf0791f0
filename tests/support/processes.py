"""Processes that a test has started, as the system sees them."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether it still runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

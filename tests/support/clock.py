"""An event loop whose time a test sets ahead, so that no test waits for it or depends on how fast the machine is."""

from __future__ import annotations

import asyncio
import threading


class Clock(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._ahead_seconds = 0.0
        self._setting = threading.Lock()
        super().__init__()

    def time(self) -> float:
        return super().time() + self._ahead_seconds

    def set_ahead(self, seconds: float) -> None:
        """From any thread."""
        with self._setting:
            self._ahead_seconds += seconds

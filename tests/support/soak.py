"""How much of `make soak` is run: SOAK_SHARE=0.02 tries every part of it in minutes."""

from __future__ import annotations

import os


def soak_size(full: int, *, least: int = 1) -> int:
    return max(least, round(full * float(os.environ.get("SOAK_SHARE", "1"))))

"""Room on the disk, looked at before it is needed: the embedded engine maps files larger than they are yet, and where the
disk has no room for them the system ends the process without a word."""

from __future__ import annotations

import shutil
from pathlib import Path

from bythebook.errors import StorageFailure

TO_CREATE = 320_000_000
"""A new collection maps 250 MB."""
TO_GROW = 100_000_000
"""A batch of lessons, its journal, and the two files of 32 MB by which the engine grows."""


def require_room(folder: Path | None, needed: int) -> None:
    """`folder`: where the index lies; None where it is a server's affair."""
    if folder is None:
        return
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageFailure(
            f"The data folder {folder} cannot be read ({error.strerror}). Check that its disk is there."
        ) from error
    if free < needed:
        raise StorageFailure(
            f"The disk that holds {folder} is full, or nearly: {free // 1_000_000:,} MB are left, and the index may grow by "
            f"{needed // 1_000_000:,} MB. Free some space and run the same command again."
        )

"""A process of its own that holds an embedded index: to be refused beside, and to be killed in the middle of its work.

python -m tests.index.qdrant_edge.edge_child FOLDER hold            holds the index until it is killed
python -m tests.index.qdrant_edge.edge_child FOLDER flip            replaces two lessons over and over, and tells each time
python -m tests.index.qdrant_edge.edge_child FOLDER dies STEP       replaces them once, and dies at a step: see STEPS
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bythebook.index.qdrant_edge import shard as qdrant_edge_shard
from bythebook.index.qdrant_edge.index import EdgeIndex
from bythebook.index.vectors import Replacement
from tests.support.made_chunks import COLLECTION, lesson

LESSONS = ("a.md", "b.md")
STEPS = (
    "before the journal",
    "journal half written",
    "before the journal has its name",
    "journal written",
    "after update 1",
    "after update 2",
    "after update 3",
    "after update 4",
    "before the journal goes",
    "journal gone",
)
WHOLLY_OLD = 3
"""Dying at one of so many first steps leaves the old lessons, at any other the new ones."""


def texts(version: str) -> dict[str, list[str]]:
    """Five and three chunks or four and six, some of them the same: edited, shortened and grown."""
    sizes = {"old": (5, 3), "new": (4, 6)}[version]
    return {
        name: [f"{name} {'same' if part == 1 else version} {part}" for part in range(size)]
        for name, size in zip(LESSONS, sizes, strict=True)
    }


def replacements(version: str) -> list[Replacement]:
    return [lesson(name, parts) for name, parts in texts(version).items()]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # the signal comes before this ends


def around(owner: Any, name: str, *, before: Callable[[], None] | None = None, after: Callable[[], None] | None = None) -> None:
    real = getattr(owner, name)

    def wrapped(*given: Any, **named: Any) -> Any:
        if before:
            before()
        answer = real(*given, **named)
        if after:
            after()
        return answer

    setattr(owner, name, wrapped)


class Updates:
    """The engine's shard, dying after a number of updates."""

    def __init__(self, shard: Any, fatal: int) -> None:
        self._shard = shard
        self._left = fatal

    def update(self, operation: Any) -> None:
        self._shard.update(operation)
        self._left -= 1
        if not self._left:
            die()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shard, name)


def doom(index: EdgeIndex, step: str) -> None:
    shard = index._shard(COLLECTION)
    qdrant_edge_shard.POINTS_PER_WRITE = 4  # ten new points: three updates, and one to remove what is left of the old
    match step:
        case "before the journal":
            around(qdrant_edge_shard, "write_journal", before=die)
        case "journal half written":
            around(os, "fsync", before=die)
        case "before the journal has its name":
            around(os, "fsync", after=die)
        case "journal written":
            around(qdrant_edge_shard, "write_journal", after=die)
        case "before the journal goes":
            around(qdrant_edge_shard, "remove_whole", before=die)
        case "journal gone":
            around(qdrant_edge_shard, "remove_whole", after=die)
        case _:
            shard._shard = Updates(shard._shard, int(step.split()[-1]))  # type: ignore[assignment]


async def main(folder: Path, task: str, step: str) -> None:
    index = await EdgeIndex.open(folder)
    print("ready", flush=True)
    if task == "hold":
        sys.stdin.read()
    if task == "dies":
        await asyncio.to_thread(doom, index, step)
        await index.replace(COLLECTION, "robots", replacements("new"))
    while task == "flip":
        for version in ("new", "old"):
            await index.replace(COLLECTION, "robots", replacements(version))
            print(version, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))

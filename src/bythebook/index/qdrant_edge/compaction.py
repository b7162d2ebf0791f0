"""Compaction: a copy of a shard, with int8 vectors to scan and indexes that need not be read to be opened, takes its place.

In a process of its own, because the engine holds the interpreter's lock until it is done: 12 s for 10,000 points on a busy
machine, and everything else in the process would stand still.

    python -m bythebook.index.qdrant_edge.compaction SHARD
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import qdrant_edge as edge

SHARD = "shard"
OLD = "shard.old"
NEW = "shard.new-"
NOTHING_TO_DO = 3


class Compaction:
    """One run, on a copy of the shard of `folder`. Nothing may be written to the shard meanwhile; reading is free."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stopped = False
        self._copy = folder / f"{NEW}{uuid4().hex}"
        shutil.copytree(folder / SHARD, self._copy)
        command = [sys.executable, "-m", __name__, str(self._copy)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def stop(self) -> None:
        self._stopped = True
        self._process.terminate()

    def done(self) -> bool:
        """Whether there is a compacted copy, after waiting for it. OSError if that failed."""
        _, complaint = self._process.communicate()
        if self._process.returncode == 0:
            return True
        shutil.rmtree(self._copy, ignore_errors=True)
        if self._stopped or self._process.returncode < 0 or self._process.returncode == NOTHING_TO_DO:
            return False
        raise OSError(None, complaint.decode(errors="replace").strip().rpartition("\n")[2])

    def swap_in(self) -> None:
        """The shard must be closed. Two renames: `shard.recover` knows what to do if the second never came."""
        (self._folder / SHARD).rename(self._folder / OLD)
        self._copy.rename(self._folder / SHARD)
        shutil.rmtree(self._folder / OLD)


def compact(path: str) -> int:
    """The engine knows best whether its segments need it."""
    shard = edge.EdgeShard.load(path)
    changed = shard.optimize()
    shard.flush()
    shard.close()
    return 0 if changed else NOTHING_TO_DO


if __name__ == "__main__":
    sys.exit(compact(sys.argv[1]))

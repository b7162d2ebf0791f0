"""Compacts a shard: replaces it by a copy with int8 vectors to scan and indexes that need not be read when it is opened.

That runs in a process of its own, because the engine holds the interpreter's lock until it is done: 12 s for 10,000 points on a
busy machine, during which everything else in the process would stand still.

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
PAGE_BYTES = 4096


class Compaction:
    """One compaction, on a copy of the shard in `folder`. Nothing may be written to the shard meanwhile; it may be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stopped = False
        self._copy = folder / f"{NEW}{uuid4().hex}"
        shutil.copytree(folder / SHARD, self._copy, copy_function=copy_with_holes)
        command = [sys.executable, "-m", __name__, str(self._copy)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def stop(self) -> None:
        self._stopped = True
        self._process.terminate()

    def done(self) -> bool:
        """Waits for the compaction. Whether there is a compacted copy; OSError if it failed."""
        _, complaint = self._process.communicate()
        if self._process.returncode == 0:
            return True
        shutil.rmtree(self._copy, ignore_errors=True)
        if self._stopped or self._process.returncode < 0 or self._process.returncode == NOTHING_TO_DO:
            return False
        raise OSError(None, complaint.decode(errors="replace").strip().rpartition("\n")[2])

    def swap_in(self) -> None:
        """Puts the copy in place; the shard must be closed. Takes two renames: `shard.recover` repairs it if the second did not
        happen."""
        (self._folder / SHARD).rename(self._folder / OLD)
        self._copy.rename(self._folder / SHARD)
        shutil.rmtree(self._folder / OLD)


def copy_with_holes(source: str, to: str) -> None:
    """Copies a file and leaves out pages of zeros: the engine reserves 250 MB of them for the smallest index, and as holes they
    take no room."""
    zeros, at_once = bytes(PAGE_BYTES), 64 * PAGE_BYTES
    with Path(source).open("rb", buffering=at_once) as old, Path(to).open("wb", buffering=at_once) as new:
        while page := old.read(PAGE_BYTES):
            if page == zeros:
                new.seek(PAGE_BYTES, 1)
            else:
                new.write(page)
        new.truncate(old.tell())
    shutil.copystat(source, to)


def compact(path: str) -> int:
    """Compacts the shard, unless the engine finds that its segments do not need it."""
    shard = edge.EdgeShard.load(path)
    changed = shard.optimize()
    shard.flush()
    shard.close()
    return 0 if changed else NOTHING_TO_DO


if __name__ == "__main__":
    sys.exit(compact(sys.argv[1]))

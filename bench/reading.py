"""How fast files other than Markdown are read, by their size: whether the cost of a byte grows with the file.

    python -m bench.reading .html book/_build/html manual/html

A folder gives at most `EACH` files of each size, drawn the same way every time. Time is CPU time of reading and verifying.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from bench.table import Table, markdown
from bythebook.books.formats.readers import format_of, read_file

SIZES = (5_000, 20_000, 60_000, 120_000, 250_000, 600_000, 2_000_000, 10_000_000)
EACH = 20


def reading(suffix: str, folders: Iterable[Path]) -> Table:
    files = [file for folder in folders for size in pairwise(SIZES) for file in _drawn(suffix, folder, size)]
    rows = []
    for least, most in pairwise(SIZES):
        raws = [(one.name, one.read_bytes()) for one in files if least <= one.stat().st_size < most]
        if raws:
            seconds, total = sum(_seconds(*one) for one in raws), sum(len(raw) for _, raw in raws)
            rows.append(
                (
                    f"{least // 1000:,} to {most // 1000:,} kB",
                    f"{len(raws)}",
                    f"{total / len(raws) / 1000:,.0f} kB",
                    f"{len(raws) / seconds:,.1f}",
                    f"{seconds / total * 1e6:.2f}",
                )
            )
    return Table(
        title=f"Reading {suffix} files",
        columns=("size", "files", "mean size", "files/s", "seconds for a megabyte"),
        rows=tuple(rows),
    )


def _drawn(suffix: str, folder: Path, size: tuple[int, int]) -> list[Path]:
    fitting = sorted(one for one in folder.rglob(f"*{suffix}") if one.is_file() and size[0] <= one.stat().st_size < size[1])
    return random.Random(0).sample(fitting, min(EACH, len(fitting)))


def _seconds(name: str, raw: bytes) -> float:
    kind = format_of(name)
    assert kind
    before = time.process_time()
    read_file(kind, name, raw)
    return time.process_time() - before


if __name__ == "__main__":
    print(markdown(reading(sys.argv[1], [Path(name) for name in sys.argv[2:]])))

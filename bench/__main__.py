"""`python -m bench [NAME …]`: measure, print, and after a full run write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.answers import answers
from bench.changes import changes
from bench.followups import followups
from bench.jobs import jobs
from bench.latency import latency
from bench.machine import describe_machine
from bench.peers.side_by_side import peers
from bench.retrieval import retrieval
from bench.scale import scale
from bench.service import service
from bench.startup import startup
from bench.table import Table, markdown
from bench.throughput import throughput
from bench.workshop import FULL, QUICK, Workshop

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PREFACE = "# Benchmarks\n\nWritten by one run of `make bench`. Times belong to the machine below; ratios travel better.\n"

# To add a table, write a function that takes the workshop and returns a Table, and name it here.
TABLES: Mapping[str, Callable[[Workshop], Table]] = {
    "throughput": throughput,
    "scale": scale,
    "changes": changes,
    "latency": latency,
    "startup": startup,
    "retrieval": retrieval,
    "followups": followups,
    "answers": answers,
    "service": service,
    "jobs": jobs,
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Speed and quality, measured.")
    parser.add_argument("tables", nargs="*", metavar="NAME", help=f"only these: {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; the figures mean nothing")
    parser.add_argument("--folder", type=Path, help="work here and leave it, so that a later run finds its books ingested")
    given = parser.parse_args()
    if unknown := set(given.tables) - set(TABLES):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    names = given.tables or list(TABLES)
    with TemporaryDirectory(prefix="bythebook-bench-") as temporary:
        workshop = Workshop(folder=given.folder or Path(temporary), sizes=QUICK if given.quick else FULL)
        page = run(names, workshop)
    if names == list(TABLES) and not given.quick and not given.folder:
        PAGE.write_text(page, encoding="utf-8")


def run(names: list[str], workshop: Workshop) -> str:
    """Each table is printed as soon as it is there. Gives back the whole page."""
    parts = [PREFACE, markdown(describe_machine())]
    print(*parts, sep="\n", flush=True)
    missed, began = 0, time.perf_counter()
    for name in names:
        table = TABLES[name](workshop)
        missed += table.missed
        parts.append(markdown(table))
        print(parts[-1], flush=True)
    minutes = (time.perf_counter() - began) / 60
    parts.append(f"{missed} target{'' if missed == 1 else 's'} not met. The run took {minutes:.0f} minutes.\n")
    print(parts[-1])
    return "\n".join(parts)


if __name__ == "__main__":
    main()

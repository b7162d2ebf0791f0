"""`python -m bench [NAME …]`: measure, print, and after a full run write docs/benchmarks.md and its pictures."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError
from tempfile import TemporaryDirectory

from bench.answers import answers
from bench.changes import changes
from bench.drafts import drafts
from bench.first_sentence import first_sentence
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
from bench.unseen import unseen
from bench.workshop import FULL, QUICK, Workshop
from bythebook.errors import BookError

DOCS = Path(__file__).parents[1] / "docs"
PREFACE = "# Benchmarks\n\nWritten by one run of `make bench`. Times are those of the machine below; ratios hold more widely.\n"

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
    "drafts": drafts,
    "first sentence": first_sentence,
    "unseen": unseen,
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
    whole = names == list(TABLES) and not given.quick and not given.folder
    with TemporaryDirectory(prefix="bythebook-bench-") as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        page = run(names, Workshop(folder=folder, sizes=QUICK if given.quick else FULL))
        if whole or given.folder:
            page.write(DOCS if whole else folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All tables of one run, with the pictures they refer to."""

    text: str
    pictures: Mapping[str, str]

    def write(self, folder: Path) -> None:
        (folder / "images").mkdir(exist_ok=True)
        for name, picture in self.pictures.items():
            (folder / "images" / name).write_text(picture, encoding="utf-8")
        (folder / "benchmarks.md").write_text(self.text, encoding="utf-8")


def run(names: list[str], workshop: Workshop) -> Page:
    """Each table is printed as soon as it is there, with the time it took."""
    parts = [PREFACE, markdown(describe_machine())]
    pictures: dict[str, str] = {}
    print(*parts, sep="\n", flush=True)
    missed, minutes = 0, dict.fromkeys(names, 0.0)
    for name in names:
        began = time.perf_counter()
        table = measured(name, workshop)
        minutes[name] = (time.perf_counter() - began) / 60
        missed += table.missed
        pictures.update(table.pictures)
        parts.append(markdown(table))
        print(parts[-1], flush=True)
    parts.append(closing(missed, minutes))
    print(parts[-1])
    return Page(text="\n".join(parts), pictures=pictures)


def measured(name: str, workshop: Workshop) -> Table:
    """The table; or one that says why it is not there, so that an hour's run does not end for it."""
    try:
        return TABLES[name](workshop)
    except (BookError, OSError, RuntimeError, SubprocessError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        return Table(title=name.capitalize(), columns=("what",), rows=(), note=f"**Not measured in this run**: {said[-1]}")


def closing(missed: int, minutes: Mapping[str, float]) -> str:
    each = ", ".join(f"{name} {took:.1f}" for name, took in minutes.items())
    total = f"The run took {sum(minutes.values()):.0f} minutes ({each})." if len(minutes) > 1 else f"It took {each} minutes."
    return f"{missed} target{'' if missed == 1 else 's'} not met. {total}\n"


if __name__ == "__main__":
    main()

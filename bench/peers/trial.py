"""One library through one book, in a process of its own: `python -m bench.peers.trial NAME BOOK QUESTIONS`.

Every library gets the same lessons, the same embedding weights and the same questions. What it measured goes to standard
output as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from bench.machine import peak_memory

RESULTS = 10
SEARCHES_BEFORE = 5
EDIT = "\n\nA paragraph that was added after the book had been ingested.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What a library shows of the book: the file it names as its source, and the text it says stands there."""

    lesson: str
    text: str


class Peer(Protocol):
    """A library as its documentation sets it up. `packages` are the distributions whose versions are printed."""

    packages: Sequence[str]

    def ingest(self, book: Path, store: Path) -> None: ...

    def ingest_again(self, book: Path, edited: str) -> None:
        """After one lesson was edited. A library that cannot tell what changed is told, or does it all again. Like the first
        time it ends with what is kept on disk."""

    def search(self, question: str) -> list[Passage]:
        """The best passages first, at most `RESULTS`."""

    def answer(self, question: str) -> list[Passage]:
        """What it would answer from, after whatever cut-off its documentation shows; nothing means that it refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Times in seconds; `ranks` and `refused` question by question. `parts` are seconds of a library's own steps by name,
    where it knows them."""

    versions: dict[str, str]
    ingest_seconds: float
    ingest_again_seconds: float
    search_seconds: list[float]
    peak_bytes: int
    ranks: list[int | None]
    refused: list[bool]
    shown: int
    exact: int
    parts: dict[str, float]


def run(peer: Peer, book: Path, questions: Sequence[dict[str, Any]], folder: Path) -> Trial:
    book = Path(shutil.copytree(book, folder / "book"))
    started = time.perf_counter()
    peer.ingest(book, folder / "store")
    ingested = time.perf_counter() - started
    for question in questions[:SEARCHES_BEFORE]:
        peer.search(question["question"])
    ranks: list[int | None] = []
    refused: list[bool] = []
    times: list[float] = []
    shown = exact = 0
    sources = {path.relative_to(book).as_posix(): path.read_text("utf-8") for path in book.rglob("*.md*")}
    for question in questions:
        started = time.perf_counter()
        found = peer.search(question["question"])
        times.append(time.perf_counter() - started)
        ranks.append(_rank(question["lesson"], found) if question["answerable"] else None)
        answer = peer.answer(question["question"])
        refused.append(not answer)
        shown += len(answer)
        exact += sum(passage.text.strip() in sources.get(passage.lesson, "") for passage in answer)
    edited = min(sources)
    (book / edited).write_text(sources[edited] + EDIT, encoding="utf-8")
    started = time.perf_counter()
    peer.ingest_again(book, edited)
    return Trial(
        versions={name: version(name) for name in peer.packages},
        ingest_seconds=ingested,
        ingest_again_seconds=time.perf_counter() - started,
        search_seconds=times,
        peak_bytes=peak_memory(),
        ranks=ranks,
        refused=refused,
        shown=shown,
        exact=exact,
        parts=dict(getattr(peer, "parts", {})),
    )


def _rank(lesson: str, found: Sequence[Passage]) -> int | None:
    return next((rank for rank, passage in enumerate(found, start=1) if passage.lesson == lesson), None)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.trial")
    parser.add_argument("name")
    parser.add_argument("book", type=Path)
    parser.add_argument("questions", type=Path)
    given = parser.parse_args()
    questions = [json.loads(line) for line in given.questions.read_text("utf-8").splitlines()]
    peer: Peer = importlib.import_module(f"bench.peers.{given.name}").Library()
    with TemporaryDirectory(prefix="bythebook-peer-") as folder:
        print(json.dumps(asdict(run(peer, given.book, questions, Path(folder)))))


if __name__ == "__main__":
    main()

"""Where the tables work: a folder to make things in, how large to make them, and what was made already."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from bench.alone import Ingested, ingest_alone
from bench.material import CURRICULUM, make_book
from bythebook.cli.demo import sample_book


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    throughput_lessons: int
    throughput_pairs: int
    memory_lessons: tuple[int, int]
    growing_lessons: tuple[int, ...]
    checked_lessons: int
    edits: int
    index_chunks: tuple[int, int]
    searches: int
    processes: int
    questions: int
    peer_questions: int


FULL = Sizes(
    throughput_lessons=80,
    throughput_pairs=3,
    memory_lessons=(2_000, 4_100),
    growing_lessons=(1_000, 2_000, 4_000),
    checked_lessons=5_000,
    edits=20,
    index_chunks=(10_000, 100_000),
    searches=500,
    processes=15,
    questions=10_000,
    peer_questions=500,
)
QUICK = Sizes(
    throughput_lessons=8,
    throughput_pairs=1,
    memory_lessons=(50, 100),
    growing_lessons=(50, 100, 200),
    checked_lessons=200,
    edits=5,
    index_chunks=(1_000, 3_000),
    searches=50,
    processes=2,
    questions=100,
    peer_questions=50,
)


@dataclass(slots=True, kw_only=True)
class Workshop:
    """`folder` is empty at first. Books that several tables need are made and ingested once."""

    folder: Path
    sizes: Sizes
    _ingested: dict[str, Ingested] = field(default_factory=dict)

    def made(self, lessons: int, sections: int) -> Path:
        folder = self.folder / "books" / f"made-{lessons}-{sections}"
        return folder if folder.exists() else make_book(folder, lessons=lessons, sections=sections)

    def data_dir(self, name: str) -> Path:
        folder = self.folder / "data" / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        return folder

    def empty_dir(self, name: str) -> Path:
        """A data folder for one measurement. What an earlier run left in it would be known and cost nothing."""
        shutil.rmtree(self.data_dir(name), ignore_errors=True)
        return self.data_dir(name)

    def sample(self) -> Ingested:
        return self.ingested("sample", sample_book())

    def curriculum(self) -> Ingested | None:
        """None where the data is not at hand."""
        return self.ingested("curriculum", CURRICULUM) if CURRICULUM.exists() else None

    def ingested(self, name: str, book: Path) -> Ingested:
        """A book ingested with granite into the data folder of that name."""
        if name not in self._ingested:
            self._ingested[name] = ingest_alone(book, self.data_dir(name))
        return self._ingested[name]

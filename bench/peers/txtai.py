"""txtai: an embeddings database with content and hybrid search, as its introduction sets it up. It has no splitter of its own
without further packages, so lessons go in by paragraph, as its examples do. It shows no cut-off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from txtai import Embeddings

from bench.peers.trial import RESULTS, Passage
from bench.peers.weights import weights

ANSWERED_FROM = 3


class Library:
    packages = ("txtai",)

    def ingest(self, book: Path, store: Path) -> None:
        self._embeddings = Embeddings(method="external", transform=_transform, content=True, hybrid=True)
        self._embeddings.index(row for path in sorted(book.rglob("*.md*")) for row in _rows(book, path))
        self._folder = str(store)
        self._embeddings.save(self._folder)

    def ingest_again(self, book: Path, edited: str) -> None:
        """It does not know what changed: the caller removes the lesson's old rows and writes the new ones."""
        old = [identity for identity, *_ in _rows(book, book / edited)]
        self._embeddings.delete(old)
        self._embeddings.upsert(_rows(book, book / edited))
        self._embeddings.save(self._folder)

    def search(self, question: str) -> list[Passage]:
        found = self._embeddings.search(question, RESULTS)
        return [Passage(lesson=row["id"].rpartition("#")[0], text=row["text"]) for row in found]

    def answer(self, question: str) -> list[Passage]:
        return self.search(question)[:ANSWERED_FROM]


def _rows(book: Path, path: Path) -> Iterator[tuple[str, str, None]]:
    lesson = path.relative_to(book).as_posix()
    paragraphs = [paragraph for paragraph in path.read_text("utf-8").split("\n\n") if paragraph.strip()]
    for number, paragraph in enumerate(paragraphs):
        yield f"{lesson}#{number}", paragraph, None


def _transform(texts: Any) -> Any:
    import numpy as np

    many = [texts] if isinstance(texts, str) else list(texts)
    return np.asarray(weights().lessons(many), dtype=np.float32)

"""Chunks to store, made of little: what a test does not name is filled in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk, Span, chunk_id, parent_id, sha256
from bythebook.index.lexical import document_terms
from bythebook.index.manifest import Manifest
from bythebook.index.vectors import IndexedChunk, Replacement

DIMENSION = 16
COLLECTION = "textbook_chunks"
MANIFEST = Manifest(embedder="small@1", dimension=DIMENSION, chunker_version=1, lexical_version=1)
MEMORY = Path("/dev/shm")
"""Where it exists, the many small files of an index are written a hundred times faster than to a disk."""
NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


@contextmanager
def fast_folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield Path(name)


def direction(text: str, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """A unit vector of its own for every text."""
    vector = np.random.default_rng(int(sha256(text)[:12], 16)).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def chunk(text: str, *, book_id: str = "robots", source_file: str = "walking.md", index: int = 0, **given: Any) -> Chunk:
    digest = sha256(text)
    filled = Chunk(
        id=chunk_id(book_id, source_file, digest),
        text=text,
        preface="",
        book_id=book_id,
        module="legs",
        chapter=1,
        lesson=1,
        section_title=None,
        hardware_tier=1,
        proficiency_level="A2",
        layer="L1",
        source_file=source_file,
        parent_doc_id=parent_id(book_id, source_file),
        chunk_index=index,
        total_chunks=index + 1,
        prev_chunk_id=None,
        next_chunk_id=None,
        content_hash=digest,
        source_file_hash=sha256(source_file),
        page_title="Walking",
        chapter_title="Legs",
        heading_path=("Legs", "Walking"),
        anchor="walking",
        source_url=f"https://book.example/{source_file.removesuffix('.md')}#walking",
        span=Span(start=0, end=len(text), first_line=1, last_line=2),
    )
    return replace(filled, **given)


def indexed(one: Chunk, **given: Any) -> IndexedChunk:
    filled = IndexedChunk(
        chunk=one,
        version=1,
        created_at=NOON,
        updated_at=NOON,
        embedding_model="small@1",
        embedded_at=NOON,
        embedding=direction(one.text),
        terms=document_terms(one.text, "en"),
    )
    return replace(filled, **given)


def lesson(source_file: str, texts: Sequence[str], *, book_id: str = "robots", **given: Any) -> Replacement:
    chunks = (
        chunk(text, book_id=book_id, source_file=source_file, index=index, total_chunks=len(texts), **given)
        for index, text in enumerate(texts)
    )
    return Replacement(source_file=source_file, chunks=tuple(indexed(one) for one in chunks))

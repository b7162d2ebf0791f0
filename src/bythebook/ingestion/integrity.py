"""Checks every invariant of document D on the live index. Names what is broken and repairs nothing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bythebook.books.chunker import CAP, size
from bythebook.books.discovery import SourceFile
from bythebook.books.model import HARDWARE_TIERS, LAYERS, PROFICIENCIES, Chunk, chunk_id, parent_id, sha256, where
from bythebook.index.manifest import Manifest, manifest_of
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.index.vectors import Filters, IndexedChunk, VectorIndex
from bythebook.ingestion.readings import FileReader
from bythebook.ingestion.records import Records

MIN_CHARACTERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenInvariant:
    """One broken invariant."""

    rule: str
    source_file: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was checked in a book, and what was wrong with it."""

    book_id: str
    lessons: int
    chunks: int
    problems: tuple[BrokenInvariant, ...]
    words_exact: int = 0
    words_read: int = 0
    """Of lessons that are not Markdown: words found in the author's files character for character, and all words."""
    changed_files: tuple[str, ...] = ()
    """Files that are gone or changed since they were ingested: nothing can be compared with them."""


async def inspect_book(index: VectorIndex, records: Records, state: IngestionState, reader: FileReader) -> Inspection:
    manifest = manifest_of(state, await index.collections())
    recorded = await records.records(state.book_id, state.collection_name)
    problems: list[BrokenInvariant] = []
    lessons: dict[str, list[Chunk]] = defaultdict(list)
    async for held in index.scan(state.collection_name, Filters(book_id=state.book_id), with_vectors=True):
        problems.extend(_chunk_problems(held, state, manifest, recorded.get(held.chunk.source_file)))
        lessons[held.chunk.source_file].append(held.chunk)
    for source_file, chunks in lessons.items():
        problems.extend(_chain_problems(source_file, chunks))
    problems.extend(_record_problems(state, await records.book(state.book_id), recorded, lessons))
    misplaced, changed = await asyncio.to_thread(_place_problems, reader, recorded, lessons)
    problems.extend(misplaced)
    placed = [chunk.words_placed() for chunks in lessons.values() for chunk in chunks]
    return Inspection(
        book_id=state.book_id,
        lessons=len(recorded),
        chunks=sum(len(chunks) for chunks in lessons.values()),
        problems=tuple(sorted(problems, key=lambda problem: (problem.rule, problem.source_file, problem.detail))),
        words_exact=sum(exact for exact, _ in placed),
        words_read=sum(words for _, words in placed),
        changed_files=tuple(changed),
    )


def _place_problems(
    reader: FileReader, recorded: Mapping[str, IngestionRecord], lessons: Mapping[str, list[Chunk]]
) -> tuple[list[BrokenInvariant], list[str]]:
    """Compares every exact mark with the author's file. Also returns the files with which that cannot be done."""
    by_file: dict[str, dict[str, list[Chunk]]] = defaultdict(dict)
    for path, chunks in lessons.items():
        if any(chunk.marks for chunk in chunks):
            by_file[_file_of(path, chunks)][path] = chunks
    problems, changed = [], []
    for file, held in by_file.items():
        now = {lesson.path: lesson.file_hash for lesson in reader.read([SourceFile(path=file, size=1)], [])}
        if any(path in recorded and now.get(path) != recorded[path].file_hash for path in held):
            changed.append(file)
            continue
        marks = [(path, chunk, mark) for path, chunks in held.items() for chunk in chunks for mark in chunk.marks if mark.exact]
        wrong = reader.misplaced(file, [(chunk.text[mark.start : mark.end], mark.place) for _, chunk, mark in marks])
        problems += [
            BrokenInvariant(
                rule="text stands at its place in the author's file",
                source_file=marks[index][0],
                detail=f"chunk {marks[index][1].chunk_index}, {where(marks[index][2].place, lesson=file)}",
            )
            for index in wrong
        ]
    return problems, changed


def _file_of(path: str, chunks: Iterable[Chunk]) -> str:
    """The author's file that a lesson comes from: the lesson's own path, or the beginning of it. What the lesson includes lies in
    other files."""
    files = {mark.place.file for chunk in chunks for mark in chunk.marks}
    return next((file for file in files if path.startswith(f"{file}/")), path)


def _chunk_problems(
    held: IndexedChunk, state: IngestionState, manifest: Manifest, record: IngestionRecord | None
) -> Iterator[BrokenInvariant]:
    chunk = held.chunk
    rules = {
        "book_id is the tenant's": chunk.book_id == state.book_id,
        "text is stripped": chunk.text == chunk.text.strip() and bool(chunk.text),
        "text has 10 characters": len(chunk.text) >= MIN_CHARACTERS or chunk.total_chunks == 1,
        "text is within 512 tokens": size(chunk.text) <= CAP,
        "content_hash is the text's": chunk.content_hash == sha256(chunk.text),
        "span is as long as the text": chunk.span.end - chunk.span.start == len(chunk.text),
        "hardware_tier is 1 to 4": chunk.hardware_tier in HARDWARE_TIERS,
        "proficiency_level is A1 to C2": chunk.proficiency_level in PROFICIENCIES,
        "layer is L1 to L4": chunk.layer in LAYERS,
        "chapter and lesson are 0 or more": chunk.chapter >= 0 and chunk.lesson >= 0,
        "version is 1 or more": held.version >= 1,
        "updated_at is not before created_at": held.updated_at >= held.created_at,
        "embedding_model is the manifest's": held.embedding_model == manifest.embedder,
        "embedding has the manifest's dimension": held.embedding is not None and held.embedding.shape == (manifest.dimension,),
        "embedding has length 1": held.embedding is not None and abs(float(np.linalg.norm(held.embedding)) - 1) < 1e-3,
        "the lesson is recorded": record is not None,
    }
    if record is not None:
        rules |= {
            "id is D's formula": chunk.id in _possible_ids(chunk, record),
            "parent_doc_id is D's formula": chunk.parent_doc_id == parent_id(chunk.book_id, record.id_base),
            "source_file_hash is the recorded one": chunk.source_file_hash == record.file_hash,
            "the chunk is recorded": chunk.id in record.chunk_ids,
        }
    yield from _broken(rules, chunk.source_file, f"chunk {chunk.chunk_index} ({chunk.id})")


def _possible_ids(chunk: Chunk, record: IngestionRecord) -> set[str]:
    return {chunk_id(chunk.book_id, record.id_base, chunk.content_hash, nth) for nth in range(1, chunk.total_chunks + 1)}


def _chain_problems(source_file: str, chunks: Iterable[Chunk]) -> Iterator[BrokenInvariant]:
    chain = sorted(chunks, key=lambda chunk: chunk.chunk_index)
    ids: list[str | None] = [None, *(chunk.id for chunk in chain), None]
    yield from _broken(
        {
            "chunk_index counts from 0 without gaps": [chunk.chunk_index for chunk in chain] == list(range(len(chain))),
            "parent_doc_id is one per lesson": len({chunk.parent_doc_id for chunk in chain}) == 1,
            "source_file_hash is one per lesson": len({chunk.source_file_hash for chunk in chain}) == 1,
            "ids are unique": len(set(ids)) == len(chain) + 1,
        },
        source_file,
        f"{len(chain)} chunks",
    )
    for position, chunk in enumerate(chain):
        rules = {
            "total_chunks is the lesson's": chunk.total_chunks == len(chain),
            "prev_chunk_id is the chunk before": chunk.prev_chunk_id == ids[position],
            "next_chunk_id is the chunk after": chunk.next_chunk_id == ids[position + 2],
        }
        yield from _broken(rules, source_file, f"chunk {chunk.chunk_index} ({chunk.id})")


def _record_problems(
    state: IngestionState,
    said: IngestionState | None,
    recorded: Mapping[str, IngestionRecord],
    lessons: Mapping[str, list[Chunk]],
) -> Iterator[BrokenInvariant]:
    total = sum(record.chunk_count for record in recorded.values())
    rules = {
        "the book is recorded as it is served": state == said,
        "total_chunks is the sum of the records'": said is not None and said.total_chunks == total,
    }
    yield from _broken(rules, "", f"{said.total_chunks if said else 0:,} said, {total:,} recorded")
    for source_file, record in recorded.items():
        held = {chunk.id for chunk in lessons.get(source_file, ())}
        missing = [id for id in record.chunk_ids if id not in held]
        yield from _broken({"recorded chunks are in the index": not missing}, source_file, f"{len(missing)} missing")


def _broken(rules: Mapping[str, bool], source_file: str, detail: str) -> Iterator[BrokenInvariant]:
    for rule, holds in rules.items():
        if not holds:
            yield BrokenInvariant(rule=rule, source_file=source_file, detail=detail)

"""The lessons' source text, put together again from the index: quotes and expected answers are compared with it."""

from __future__ import annotations

import html
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bythebook.books.model import Chunk
from bythebook.evaluation.cases import Case, Remark
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex

ROLE = re.compile(r":[a-z:]+:(?=`)")
"""What reStructuredText writes before a name; the index has the name alone."""
TAG = re.compile(r"<[^<>]*>")
"""A tag of HTML, or the target that reStructuredText writes behind a link's words: neither is in the index."""


@dataclass(frozen=True, kw_only=True)
class LessonText:
    """All chunks of a lesson in order; together they are its source file, as the index has it."""

    source_file: str
    chunks: tuple[Chunk, ...]
    letters: str
    """The text without its blanks. Made once: a thousand quotes are looked up in it."""
    places: Sequence[int]
    """The position of each letter in the source."""

    @classmethod
    def of(cls, source_file: str, chunks: Sequence[Chunk]) -> LessonText:
        letters = [
            (letter, chunk.span.start + at) for chunk in chunks for at, letter in enumerate(chunk.text) if not letter.isspace()
        ]
        places = array("L", (place for _, place in letters))
        return cls(source_file=source_file, chunks=tuple(chunks), letters="".join(letter for letter, _ in letters), places=places)

    @property
    def chapter(self) -> str:
        first = self.chunks[0]
        if not first.chapter:
            return first.module or "outside the chapters"
        return f"Chapter {first.chapter}" + (f": {first.chapter_title}" if first.chapter_title else "")

    @property
    def order(self) -> tuple[str, int, int]:
        """The order of the lesson in its book: by folder, then by its numbers."""
        first = self.chunks[0]
        return self.source_file.rpartition("/")[0].partition("/")[0], first.chapter, first.lesson

    def between(self, start: int, end: int) -> str | None:
        """The source's characters [start, end); None where no single chunk holds them."""
        for chunk in self.chunks:
            if chunk.span.start <= start < end <= chunk.span.end:
                return chunk.text[start - chunk.span.start : end - chunk.span.start]
        return None

    @cached_property
    def _words(self) -> tuple[str, list[int]]:
        """The letters and figures alone, with their positions in the source."""
        kept = [(letter, place) for letter, place in zip(self.letters, self.places, strict=True) if letter.isalnum()]
        return "".join(letter for letter, _ in kept), [place for _, place in kept]

    def find(self, words: str) -> tuple[int, int] | None:
        """Finds these words in the source, whatever the blanks between them. Where they are not found, signs do not count either:
        authors copy from the page or from a file of another format, tags and all, and the index has its own marks."""
        wanted = "".join(words.split())
        if wanted and (at := self.letters.find(wanted)) >= 0:
            return self.places[at], self.places[at + len(wanted) - 1] + 1
        letters, places = self._words
        for written in (ROLE.sub("", words), html.unescape(TAG.sub("", ROLE.sub("", words)))):
            wanted = "".join(letter for letter in written if letter.isalnum())
            if wanted and (at := letters.find(wanted)) >= 0:
                return places[at], places[at + len(wanted) - 1] + 1
        return None


class LessonTexts:
    """Reads each lesson once, when it is needed."""

    def __init__(self, index: VectorIndex, state: IngestionState) -> None:
        self._index = index
        self._state = state
        self._lessons: dict[str, LessonText] = {}

    async def lesson(self, source_file: str) -> LessonText | None:
        if source_file not in self._lessons:
            filters = Filters(book_id=self._state.book_id, source_file=source_file)
            chunks = [held.chunk async for held in self._index.scan(self._state.collection_name, filters)]
            if not chunks:
                return None
            chunks.sort(key=lambda chunk: chunk.chunk_index)
            self._lessons[source_file] = LessonText.of(source_file, chunks)
        return self._lessons[source_file]

    async def settle(self, cases: Sequence[Case]) -> tuple[list[Case], list[Remark]]:
        """The cases with their lessons by the path that the index has, and a remark where it has none."""
        paths = sorted(await self._index.source_files(self._state.collection_name, self._state.book_id))
        settled: list[Case] = []
        remarks: list[Remark] = []
        passages = await self._passages(cases)
        for case in cases:
            found = {name: _path(name, paths) for name in case.lessons}
            missing = [name for name, path in found.items() if path is None]
            lessons = tuple(path for path in found.values() if path)
            if case.passage and not lessons:
                lessons = tuple(passages.get("".join(case.passage.split()), ()))
                missing = [] if lessons else ["with its passage"]
            remarks += [_unknown(case, name) for name in missing]
            settled.append(replace(case, lessons=lessons))
        return settled, remarks

    async def _passages(self, cases: Sequence[Case]) -> dict[str, list[str]]:
        """The lessons that hold the texts that were asked about."""
        wanted = {"".join(case.passage.split()) for case in cases if case.passage and not case.lessons}
        if not wanted:
            return {}
        texts: dict[str, list[tuple[int, str]]] = {}
        async for held in self._index.scan(self._state.collection_name, Filters(book_id=self._state.book_id)):
            texts.setdefault(held.chunk.source_file, []).append((held.chunk.chunk_index, held.chunk.text))
        whole = {path: "".join("".join(text.split()) for _, text in sorted(parts)) for path, parts in texts.items()}
        return {passage: [path for path, text in whole.items() if passage in text] for passage in wanted}


def _path(name: str, paths: list[str]) -> str | None:
    """A lesson by its path, or by the end of it where only one lesson has that; the suffix may be left out."""
    if name in paths:
        return name
    wanted = name.strip("/")
    ends = [path for path in paths if f"/{path}".endswith(f"/{wanted}") or f"/{path.rpartition('.')[0]}".endswith(f"/{wanted}")]
    return ends[0] if len(ends) == 1 else None


def _unknown(case: Case, name: str) -> Remark:
    named = name if name.startswith("with ") else f"'{name}'"
    return Remark(line=case.line, id=case.id, message=f"the book has no lesson {named}; retrieval and citations are not scored")

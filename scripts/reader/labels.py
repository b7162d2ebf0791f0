"""Questions with what answers them, in the two forms that people write them in.

An evaluation file names a lesson and a quote. Lines about numbered passages are quicker to write, and hold a question together
with a near miss about the same passage:

    {"p": 17, "q": "…", "g": [3], "w": ["500"], "k": "fact", "n": "…"}

`p` is the number of a passage, `q` a question that it answers, `g` the numbers of the statements that do, `w` what an answer must
say, `k` the kind, and `n` a question that the book does not answer. `python -m scripts.reader.labels DATA --out FILE` writes the
passages of an ingested book with their numbers, for somebody to write about.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bythebook.books.model import Chunk
from bythebook.books.statements import Statement, statements
from bythebook.evaluation.cases import Case
from bythebook.evaluation.files import read_cases
from bythebook.index.manifest import served_books
from bythebook.index.vectors import Filters
from bythebook.retrieval.answer_shapes import asks
from bythebook.settings import read_settings
from bythebook.wiring.reader import Library, open_library

OVERLAP = 0.5
"""Share of the shorter of a quote and a statement that they must have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question, and what answers it: stretches of lessons' files, or statements of chunks by their numbers."""

    case: Case
    spans: Mapping[str, list[tuple[int, int]]] = field(default_factory=dict)
    answers: frozenset[tuple[str, int]] = frozenset()

    def gold(self, chunk: Chunk, place: int, statement: Statement) -> bool:
        """Whether the statement at `place` of the chunk answers."""
        start, size = chunk.span.start + statement.start, statement.end - statement.start
        quoted = self.spans.get(chunk.source_file, [])
        return (chunk.id, place) in self.answers or any(overlaps(start, start + size, span) for span in quoted)

    def holds(self, chunk: Chunk) -> bool:
        """Whether what answers may stand in the chunk."""
        return chunk.source_file in self.spans or any(id == chunk.id for id, _ in self.answers)


def quoted_questions(questions: Path, folder: Path) -> Iterator[LabelledQuestion]:
    """Of an evaluation file about the book in `folder`; those with filters are passed over."""
    for case in read_cases(questions).cases:
        if not case.filters:
            spans = {one: spans_of(case.quote, source_text(folder / one)) for one in case.lessons} if case.quote else {}
            yield LabelledQuestion(case=case, spans=spans)


def written_questions(name: str, passages: Path, lines: Path) -> Iterator[LabelledQuestion]:
    """Of lines about numbered passages; `passages` is what this script wrote."""
    held = json.loads(passages.read_text("utf-8"))
    for number, line in enumerate(lines.read_text("utf-8").splitlines()):
        one = json.loads(line)
        passage = held[one["p"]]
        there = {each["n"] for each in passage["said"] if not each["unread"]}
        if answers := frozenset((passage["id"], place) for place in one["g"] if place in there):
            kind, words = one.get("k", ""), tuple(one.get("w", ()))
            yes = Case(id=f"{name}-{number}q", question=one["q"], answerable=True, kind=kind, keywords=words)
            yield LabelledQuestion(case=yes, answers=answers)
            yield LabelledQuestion(case=Case(id=f"{name}-{number}n", question=one["n"], answerable=False, kind="near"))


def source_text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n") if path.is_file() else ""


def overlaps(start: int, end: int, span: tuple[int, int]) -> bool:
    return min(end, span[1]) - max(start, span[0]) >= OVERLAP * min(end - start, span[1] - span[0])


def spans_of(quote: str, source: str) -> list[tuple[int, int]]:
    """Where the quote stands in the source, whatever marks lie between its letters."""
    wanted, _ = _letters(quote)
    held, places = _letters(source)
    found, at = [], held.find(wanted) if wanted else -1
    while at >= 0:
        found.append((places[at], places[at + len(wanted) - 1] + 1))
        at = held.find(wanted, at + 1)
    return found


def _letters(text: str) -> tuple[str, list[int]]:
    places = [place for place, one in enumerate(text) if one.isalnum() and len(one.lower()) == 1]
    return "".join(text[place].lower() for place in places), places


def judged(chunk: Chunk) -> Iterator[tuple[int, Statement, bool]]:
    """The statements of a chunk that the reader is given, with their places, and whether it only reads past them."""
    for place, one in enumerate(statements(chunk.preface, chunk.text)):
        heading = one.kind == "heading" and chunk.heading_path and one.readable.strip() == chunk.heading_path[-1].strip()
        if one.kind != "table" and not heading:
            yield place, one, one.kind == "heading" or asks(one)


async def chunks_of(library: Library) -> AsyncIterator[Chunk]:
    """Of the library's one book."""
    (book_id,) = served_books(await library.index.collections())
    state = await library.search.book(book_id)
    async for held in library.index.scan(state.collection_name, Filters(book_id=book_id)):
        yield held.chunk


async def _passages(data_dir: Path) -> list[dict[str, Any]]:
    async with open_library(read_settings(data_dir=data_dir), embeds=False) as library:
        chunks = sorted([one async for one in chunks_of(library)], key=lambda one: (one.source_file, one.chunk_index))
    return [
        {
            "id": chunk.id,
            "file": chunk.source_file,
            "above": [chunk.page_title, *chunk.heading_path],
            "said": [{"n": place, "text": one.readable, "unread": unread} for place, one, unread in judged(chunk)],
        }
        for chunk in chunks
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = asyncio.run(_passages(given.data_dir))
    given.out.write_text(json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"{given.out}: {len(found)} passages")


if __name__ == "__main__":
    main()

"""Questions with what answers them, in the three forms that people write them in.

An evaluation file names a lesson and a quote. The questions of `scripts/reader/questions` have, instead of the quote, where it
stands: the number of its first letter among those of the lesson's file, and how many letters it has. Lines about numbered
passages are quicker to write, and hold a question together with a near miss about the same passage:

    {"p": 17, "q": "…", "g": [3], "w": ["500"], "k": "fact", "n": "…"}

`p` is the number of a passage, `q` a question that it answers, `g` the numbers of the statements that do, `w` what an answer must
say, `k` the kind, and `n` a question that the book does not answer. `python -m scripts.reader.labels DATA --out FILE` writes the
passages of an ingested book with their numbers, for somebody to write about.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bythebook.books.model import Chunk
from bythebook.books.statements import Statement, statements
from bythebook.drafting.draft import Exchange
from bythebook.evaluation.cases import Case
from bythebook.evaluation.files import read_cases
from bythebook.index.manifest import served_books
from bythebook.index.vectors import Filters
from bythebook.retrieval.answer_shapes import asks
from bythebook.settings import read_settings
from bythebook.wiring.reader import Library, open_library

MARKUP = re.compile(r"<[^>]*>|:[\w:]+:(?=`)")
"""What a reader of the page does not see: tags, and the names of reStructuredText's roles."""
LEAST_LETTERS, LEAST_SHARE, ENOUGH_LETTERS = 3, 0.25, 25
"""A statement within a quote answers if it has this share of it, or this many letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question, and what answers it: the letters of a quote, or statements of chunks by their numbers."""

    case: Case
    quote: str = ""
    answers: frozenset[tuple[str, int]] = frozenset()

    def gold(self, chunk: Chunk, place: int, statement: Statement) -> bool:
        """Whether the statement at `place` of the chunk answers."""
        texts = (statement.readable, chunk.text[statement.start : statement.end])
        return (chunk.id, place) in self.answers or any(answers(text, self.quote) for text in texts)


def quoted_questions(questions: Path, folder: Path) -> Iterator[LabelledQuestion]:
    """Of a file about the book in `folder`, with quotes or with where they stand; those with filters are passed over."""
    rows = [json.loads(line) for line in questions.read_text("utf-8").splitlines() if line.strip()]
    if all("q" in row for row in rows):
        yield from (_from_letters(f"{questions.stem}-{number}", row, folder) for number, row in enumerate(rows))
        return
    for case in read_cases(questions).cases:
        if not case.filters:
            yield LabelledQuestion(case=case, quote=letters(case.quote or ""))


def _from_letters(id: str, row: Mapping[str, Any], folder: Path) -> LabelledQuestion:
    start, length = row.get("at", (0, 0))
    held = letters(_source(folder / row["lesson"])) if length else ""
    said = row.get("before", [])
    case = Case(
        id=id,
        question=row["q"],
        kind=row["kind"],
        answerable=row["answerable"],
        keywords=tuple(row.get("w", ())),
        history=tuple(Exchange(question=said[at], answer=said[at + 1]) for at in range(0, len(said), 2)),
    )
    return LabelledQuestion(case=case, quote=held[start : start + length])


def _source(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def letters(text: str) -> str:
    """Letters and figures alone, as a reader sees them."""
    return re.sub(r"[\W_]+", "", html.unescape(MARKUP.sub("", text))).casefold()


def answers(said: str, quote: str) -> bool:
    """Whether a statement is what is quoted, or enough of it."""
    own = letters(said)
    if len(own) < LEAST_LETTERS or not quote:
        return False
    return quote in own or (own in quote and (len(own) >= LEAST_SHARE * len(quote) or len(own) > ENOUGH_LETTERS))


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

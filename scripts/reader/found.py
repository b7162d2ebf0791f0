"""Write what the reader is taught further by: questions about real books, with the passages that the product finds for each.

    python -m scripts.reader.found book --data-dir DATA --folder BOOK --questions FILE.jsonl --out NAME.json
    python -m scripts.reader.found pairs --folder PAIRS --out pairs.json

The questions are an evaluation file's, or those of `scripts/reader/questions` (`labels` explains both).
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from bythebook.books.model import Chunk
from bythebook.embedding.granite import find_pack, read_pack
from bythebook.embedding.tokenizer import Tokenizer, open_tokenizer
from bythebook.evaluation.cases import Case
from bythebook.followups.rewrite import make_standalone
from bythebook.index.manifest import served_books
from bythebook.retrieval.answer_reader import LONGEST_ABOVE, LONGEST_QUESTION, LONGEST_STATEMENT
from bythebook.retrieval.query import Scope
from bythebook.settings import read_settings
from bythebook.wiring.reader import Library, open_library
from scripts.reader.corpus import above, pair_rows
from scripts.reader.labels import LabelledQuestion, chunks_of, judged, letters, quoted_questions

FOUND, BEYOND = 10, 2
"""Passages of a question: those that search finds, and those that answer it where search missed them."""
Row = dict[str, Any]


class TokenRows:
    """Makes rows of token ids, as the reader is given them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def question(self, text: str) -> Row:
        """As it is written, and as many readers type it."""
        return {"q": self._ids(text, LONGEST_QUESTION), "typed": self._ids(text.lower().rstrip("? "), LONGEST_QUESTION)}

    def passage(self, chunk: Chunk, asked: LabelledQuestion) -> Row:
        """Its statements: token ids, whether the reader judges it, whether it answers, and whether it may, because it says the
        words of the answer."""
        said, words = [], asked.case.keywords
        for place, one, unread in judged(chunk):
            gold = not unread and asked.gold(chunk, place, one)
            named = bool(words) and all(word.lower() in one.readable.lower() for word in words)
            said.append((one.readable, not unread, gold, named and not gold and not unread))
        return self.made(above(chunk), said)

    def made(self, over: str, said: Sequence[tuple[str, bool, bool, bool]]) -> Row:
        told = ((self._ids(f" {text}", LONGEST_STATEMENT), *marks) for text, *marks in said)
        return {"above": self._ids(over, LONGEST_ABOVE), "said": [one for one in told if one[0]]}

    def _ids(self, text: str, most: int) -> list[int]:
        return [int(one) for one in self._tokenizer.tokens(text)[:most]]


async def book_rows(data_dir: Path, folder: Path, questions: Path, rows: TokenRows) -> AsyncIterator[Row]:
    async with open_library(read_settings(data_dir=data_dir), embeds=True) as library:
        chunks = [(chunk, letters(chunk.text)) async for chunk in chunks_of(library)]
        for asked in quoted_questions(questions, folder):
            text, found = await _found(library, asked.case)
            known = {chunk.id for chunk in found}
            missed = [chunk for chunk, held in chunks if asked.quote and asked.quote in held and chunk.id not in known]
            yield {
                "book": questions.stem, "kind": asked.case.kind, "answerable": bool(asked.case.answerable), **rows.question(text),
                "found": [rows.passage(chunk, asked) for chunk in found],
                "beyond": [rows.passage(chunk, asked) for chunk in missed[:BEYOND]],
            }  # fmt: skip


async def _found(library: Library, case: Case) -> tuple[str, list[Chunk]]:
    """The standalone question, and the passages that search finds for it."""
    (book_id,) = served_books(await library.index.collections())
    state = await library.search.book(book_id)
    rewrite = await make_standalone(case.question, case.history, state.language, None)
    searched = f"{rewrite.before} {rewrite.text}".strip()
    query = Scope(book_id=book_id, limit=FOUND).search(searched.ljust(3, "?"))
    retrieval = await library.search.retrieve(query, state, await library.search.embed(searched))
    return rewrite.text, [hit.chunk for hit in retrieval.hits[:FOUND]]


def paired_rows(folder: Path, rows: TokenRows) -> Iterator[Row]:
    for row in pair_rows(folder):
        (passage,) = row["passages"]
        said = [(text, True, place in passage["gold"], False) for place, (text, _) in enumerate(passage["said"])]
        own = {name: row[name] for name in ("book", "kind", "answerable")}
        yield own | rows.question(row["q"]) | {"found": [rows.made(passage["above"], said)], "beyond": []}


async def _book(given: argparse.Namespace, rows: TokenRows) -> list[Row]:
    return [row async for row in book_rows(given.data_dir, given.folder, given.questions, rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    for task, names in (("book", ("data-dir", "folder", "questions", "out")), ("pairs", ("folder", "out"))):
        one = tasks.add_parser(task)
        for name in names:
            one.add_argument(f"--{name}", type=Path, required=True)
    given, rows = parser.parse_args(), TokenRows(open_tokenizer(read_pack(find_pack()).tokenizer))
    made = asyncio.run(_book(given, rows)) if given.task == "book" else [*paired_rows(given.folder, rows)]
    given.out.write_text(json.dumps(made), encoding="utf-8")
    lost = sum(row["answerable"] and not any(one[2] for each in _passages(row) for one in each["said"]) for row in made)
    print(f"{given.out}: {len(made)} questions; of {lost} the answer was not found in the book")


def _passages(row: Row) -> list[Row]:
    return [*row["found"], *row["beyond"]]


if __name__ == "__main__":
    main()

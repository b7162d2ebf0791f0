"""Write what the reader is taught by, as token ids: questions of ingested books, pairs of questions about one passage, and
questions of other texts to begin with.

    python -m scripts.reader.rows --book NAME DATA FOLDER QUESTIONS.jsonl … --lines NAME DATA PASSAGES.json LINES.jsonl … \
        --pairs FOLDER --stage1 FILE.json.gz --out rows.npz

Of a book, each row has the ten best chunks of the product's own search, with the statements marked that answer (`labels`).
Every text is tokenised once, by the embedder's own tokenizer, and rows refer to texts by number. What is scored elsewhere is left
out: of SQuAD's eight articles four, and the pairs of the curriculum.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bythebook.books.model import Chunk
from bythebook.embedding.granite import find_pack, read_pack
from bythebook.embedding.tokenizer import open_tokenizer
from bythebook.followups.rewrite import make_standalone
from bythebook.index.manifest import served_books
from bythebook.retrieval.answer_reader import LONGEST_ABOVE, LONGEST_QUESTION, LONGEST_STATEMENT
from bythebook.settings import read_settings
from bythebook.wiring.reader import Library, open_library
from scripts.reader.labels import LabelledQuestion, chunks_of, judged, quoted_questions, written_questions

TAKEN, BEYOND = 10, 2
"""Chunks of a question: as search orders them, and with the quote where search missed it."""
TAUGHT_ARTICLES = frozenset({"1973 oil crisis", "French and Indian War", "Imperialism", "Scottish Parliament"})
SCORED_BOOKS = frozenset({"curriculum", "physical-ai-b"})
MOST_TOGETHER = 12
Row = dict[str, Any]


class Texts:
    """Texts by number, each tokenised once."""

    def __init__(self) -> None:
        self._tokenizer = open_tokenizer(read_pack(find_pack()).tokenizer)
        self._numbers: dict[tuple[str, int], int] = {}
        self._ids: list[list[int]] = []

    def add(self, text: str, most: int) -> int:
        key = (text, most)
        if key not in self._numbers:
            self._numbers[key] = len(self._ids)
            self._ids.append(self._tokenizer.tokens(text)[:most])
        return self._numbers[key]

    def question(self, text: str) -> Row:
        """As it is written, and as many readers type it: small letters, no question mark."""
        return {"q": self.add(text, LONGEST_QUESTION), "typed": self.add(text.lower().rstrip("? "), LONGEST_QUESTION)}

    def passage(self, above: Sequence[str], said: Sequence[Row]) -> Row:
        """`said`: statements, each with its text and whether it is gold, not to be judged (it says all keywords) or never
        read."""
        return {
            "above": self.add(" › ".join(dict.fromkeys(one for one in above if one)), LONGEST_ABOVE),
            "said": [self.add(f" {one['text']}", LONGEST_STATEMENT) for one in said],
            **{mark: [place for place, one in enumerate(said) if one.get(mark)] for mark in ("gold", "maybe", "unread")},
        }

    def arrays(self) -> dict[str, Any]:
        tokens = np.array([one for ids in self._ids for one in ids], np.uint16)
        return {"tokens": tokens, "lengths": np.array([len(ids) for ids in self._ids], np.int32)}


async def book_rows(
    texts: Texts, name: str, data_dir: Path, questions: Iterable[LabelledQuestion], *, written: bool = False
) -> AsyncIterator[Row]:
    """`written`: questions on numbered passages, all of one kind in training."""
    async with open_library(read_settings(data_dir=data_dir), embeds=True) as library:
        (book_id,) = served_books(await library.index.collections())
        state = await library.search.book(book_id)
        chunks = [chunk async for chunk in chunks_of(library)]
        for one in questions:
            case = one.case
            text = (await make_standalone(case.question, case.history, state.language, None)).text
            found = await _found(library, case.scope(book_id, TAKEN).search(text.ljust(3, "?")))
            passages = [_passage(texts, chunk, one) for chunk in found]
            others = [chunk for chunk in chunks if one.holds(chunk) and chunk not in found]
            beyond = [each for each in (_passage(texts, chunk, one) for chunk in others) if each["gold"]]
            kind = "written" if written else case.kind
            row = {"id": case.id, "book": name, "kind": kind, "answerable": bool(case.answerable)}
            yield row | {"passages": passages, "beyond": beyond[:BEYOND]} | texts.question(text)


async def _found(library: Library, query: Any) -> list[Chunk]:
    state = await library.search.book(query.book_id)
    found = await library.search.retrieve(query, state, await library.embedder.embed_question(query.text))
    return [hit.chunk for hit in found.hits[:TAKEN]]


def _passage(texts: Texts, chunk: Chunk, question: LabelledQuestion) -> Row:
    said, keywords = [], question.case.keywords
    for place, one, unread in judged(chunk):
        raw = chunk.text[one.start : one.end]
        gold = question.gold(chunk, place, one)
        tells = bool(keywords) and all(word.lower() in f"{one.readable} {raw}".lower() for word in keywords)
        said.append({"text": one.readable, "gold": gold, "maybe": tells and not gold, "unread": unread})
    return texts.passage((chunk.page_title, *chunk.heading_path), said)


def pair_rows(texts: Texts, folder: Path) -> Iterator[Row]:
    held = {one["id"]: one for one in json.loads((folder / "passages.json").read_text("utf-8"))}
    for line in (folder / "pairs.jsonl").read_text("utf-8").splitlines():
        pair = json.loads(line)
        one = held[pair["p"]]
        if one["book"] in SCORED_BOOKS:
            continue
        for asked, gold in (("yes", pair["gold"]), ("no", [])):
            said = [{"text": text, "gold": place in gold} for place, text in enumerate(one["s"])]
            row = {"id": f"{pair['p']}-{asked}", "book": one["book"], "kind": "pair", "answerable": asked == "yes"}
            yield (
                row | {"passages": [texts.passage((one["title"], one["head"]), said)], "beyond": []} | texts.question(pair[asked])
            )


def stage1_rows(texts: Texts, path: Path) -> Iterator[Row]:
    for number, row in enumerate(json.loads(gzip.decompress(path.read_bytes()))):
        title = row["c"][0].split(" — ")[0]
        if row["src"] == "squad" and title not in TAUGHT_ARTICLES:
            continue
        passages: list[list[Row]] = []
        for place, one in enumerate(row["c"]):
            head, _, text = one.partition(" » ")
            opens = not head.partition(" — ")[2].strip()
            if opens or not passages or len(passages[-1]) >= MOST_TOGETHER:
                passages.append([])
            passages[-1].append({"text": text, "gold": place in row["g"]})
        own = {"id": f"stage1-{number}", "book": row["src"], "kind": "stage1", "answerable": bool(row["g"]), "beyond": []}
        yield own | {"passages": [texts.passage((title,), one) for one in passages]} | texts.question(row["q"])


async def gathered(given: argparse.Namespace) -> dict[str, Any]:
    texts = Texts()
    rows: list[Row] = []
    for name, data, folder, file in given.book:
        rows += [row async for row in book_rows(texts, name, Path(data), quoted_questions(Path(file), Path(folder)))]
    for name, data, passages, file in given.lines:
        questions = written_questions(name, Path(passages), Path(file))
        rows += [row async for row in book_rows(texts, name, Path(data), questions, written=True)]
    rows += [*(pair_rows(texts, given.pairs) if given.pairs else ()), *(stage1_rows(texts, given.stage1) if given.stage1 else ())]
    return {"rows": np.frombuffer(json.dumps(rows).encode(), np.uint8), **texts.arrays()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", nargs=4, action="append", default=[], metavar=("NAME", "DATA", "FOLDER", "QUESTIONS"))
    parser.add_argument("--lines", nargs=4, action="append", default=[], metavar=("NAME", "DATA", "PASSAGES", "LINES"))
    for name in ("pairs", "stage1", "out"):
        parser.add_argument(f"--{name}", type=Path, required=name == "out")
    given = parser.parse_args()
    np.savez_compressed(given.out, **asyncio.run(gathered(given)))
    print(f"{given.out}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

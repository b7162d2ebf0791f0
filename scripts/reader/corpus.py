"""Gather what the reader is taught by into one file of text: passages of ingested books, questions with what answers them,
pairs of questions about one passage, and questions of other texts to begin with.

    python -m scripts.reader.corpus --book NAME DATA FOLDER QUESTIONS.jsonl … --lines NAME DATA PASSAGES.json LINES.jsonl … \
        --plain NAME DATA … --pairs FOLDER --stage1 FILE.json.gz --out corpus.json.gz

A book may be ingested with any embedder: its vectors are not used. Of a `--plain` book only the passages are taken, for the
large model to ask about. What is scored elsewhere is left out: of SQuAD's eight articles four, and the pairs of the curriculum.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bythebook.books.model import Chunk
from bythebook.followups.rewrite import make_standalone
from bythebook.settings import read_settings
from bythebook.wiring.reader import open_library
from scripts.reader.labels import LabelledQuestion, chunks_of, judged, quoted_questions, written_questions

TAUGHT_ARTICLES = frozenset({"1973 oil crisis", "French and Indian War", "Imperialism", "Scottish Parliament"})
SCORED_BOOKS = frozenset({"curriculum", "physical-ai-b"})
MOST_TOGETHER = 12
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Corpus:
    """`passages`: of each book, what stands above and the statements, with whether each is only read past. `questions`: of
    books; `gold` says [passage, statement]. `single`: questions that bring their passages with them."""

    passages: dict[str, list[Row]] = field(default_factory=dict)
    questions: list[Row] = field(default_factory=list)
    single: list[Row] = field(default_factory=list)

    async def add_book(self, name: str, data_dir: Path, questions: Iterable[LabelledQuestion], *, written: bool) -> None:
        """`written`: questions on numbered passages, all of one kind in training."""
        async with open_library(read_settings(data_dir=data_dir), embeds=False) as library:
            chunks = sorted([one async for one in chunks_of(library)], key=lambda one: (one.source_file, one.chunk_index))
        said = [[*judged(chunk)] for chunk in chunks]
        self.passages[name] = [
            {"above": above(chunk), "said": [(one.readable, unread) for _, one, unread in each]}
            for chunk, each in zip(chunks, said, strict=True)
        ]
        for question in questions:
            case = question.case
            gold = [
                (number, place)
                for number, chunk in enumerate(chunks)
                for place, (kept, one, _) in enumerate(said[number])
                if question.gold(chunk, kept, one)
            ]
            self.questions.append({
                "id": case.id, "book": name, "kind": "written" if written else case.kind, "answerable": bool(case.answerable),
                "q": (await make_standalone(case.question, case.history, "en", None)).text, "gold": gold,
                "keywords": case.keywords,
            })  # fmt: skip


def above(chunk: Chunk) -> str:
    return " › ".join(dict.fromkeys(one for one in (chunk.page_title, *chunk.heading_path) if one))


def pair_rows(folder: Path) -> Iterator[Row]:
    held = {one["id"]: one for one in json.loads((folder / "passages.json").read_text("utf-8"))}
    for line in (folder / "pairs.jsonl").read_text("utf-8").splitlines():
        pair = json.loads(line)
        one = held[pair["p"]]
        if one["book"] in SCORED_BOOKS:
            continue
        for asked, gold in (("yes", pair["gold"]), ("no", [])):
            head = " › ".join(dict.fromkeys(each for each in (one["title"], one["head"]) if each))
            passage = {"above": head, "said": [(text, False) for text in one["s"]], "gold": gold}
            named = {"id": f"{pair['p']}-{asked}", "book": one["book"], "kind": "pair", "answerable": asked == "yes"}
            yield named | {"q": pair[asked], "passages": [passage]}


def stage1_rows(path: Path) -> Iterator[Row]:
    for number, row in enumerate(json.loads(gzip.decompress(path.read_bytes()))):
        title = row["c"][0].split(" — ")[0]
        if row["src"] == "squad" and title not in TAUGHT_ARTICLES:
            continue
        passages: list[Row] = []
        for place, one in enumerate(row["c"]):
            head, _, text = one.partition(" » ")
            opens = not head.partition(" — ")[2].strip()
            if opens or not passages or len(passages[-1]["said"]) >= MOST_TOGETHER:
                passages.append({"above": title, "said": [], "gold": []})
            if place in row["g"]:
                passages[-1]["gold"].append(len(passages[-1]["said"]))
            passages[-1]["said"].append((text, False))
        named = {"id": f"stage1-{number}", "book": row["src"], "kind": "stage1", "answerable": bool(row["g"])}
        yield named | {"q": row["q"], "passages": passages}


async def gathered(given: argparse.Namespace) -> Corpus:
    corpus = Corpus()
    for name, data, folder, file in given.book:
        await corpus.add_book(name, Path(data), quoted_questions(Path(file), Path(folder)), written=False)
    for name, data, passages, file in given.lines:
        await corpus.add_book(name, Path(data), written_questions(name, Path(passages), Path(file)), written=True)
    for name, data in given.plain:
        await corpus.add_book(name, Path(data), (), written=False)
    corpus.single.extend(pair_rows(given.pairs) if given.pairs else ())
    corpus.single.extend(stage1_rows(given.stage1) if given.stage1 else ())
    return corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", nargs=4, action="append", default=[], metavar=("NAME", "DATA", "FOLDER", "QUESTIONS"))
    parser.add_argument("--lines", nargs=4, action="append", default=[], metavar=("NAME", "DATA", "PASSAGES", "LINES"))
    parser.add_argument("--plain", nargs=2, action="append", default=[], metavar=("NAME", "DATA"))
    for name in ("pairs", "stage1", "out"):
        parser.add_argument(f"--{name}", type=Path, required=name == "out")
    given = parser.parse_args()
    corpus = asyncio.run(gathered(given))
    held = {"passages": corpus.passages, "questions": corpus.questions, "single": corpus.single}
    given.out.write_bytes(gzip.compress(json.dumps(held, ensure_ascii=False).encode(), 6))
    counts = {name: len(each) for name, each in corpus.passages.items()}
    print(f"{given.out}: {given.out.stat().st_size:,} bytes; {len(corpus.questions)} questions, passages {counts}")


if __name__ == "__main__":
    main()

"""What a large model says of statements, and questions that it makes: `train` teaches the reader by both.

    python -m scripts.reader.teacher --rows rows.npz --corpus corpus.json.gz --embedder granite.hmsemb --large FILE.gguf \
        --leave-out BOOK … --out told.npz

The large model (`large`) is taught by labelled questions to score statements and to write questions. Then it scores the
statements of each labelled question's own passages, writes questions about passages of the corpus, answerable ones and near
misses, and scores the statements of the passages that are found for those. Books left out teach it nothing, nor do pairs of them,
so that a reader may be measured by them. Twelve minutes on one H200.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from scripts.reader.large import Large
from scripts.reader.rows import LONGEST_QUESTION, Embedder, Finder, Texts
from scripts.reader.train import Row, Rows, by_question, read_tokenizer

STEP, RATE, HEAD_RATE, WARMUP = 16, 2e-4, 1e-3, 0.06
TAUGHT, WRITTEN, SQUAD = 5_000, 1_600, 300
"""Questions it is taught by, texts it learns to write by, and of the first the questions of encyclopaedias."""
MOST_TOKENS = 420
AT_ONCE, JUDGED_AT_ONCE = 16_000, 60_000
"""Tokens, in training and in judging."""
TYPED, REMOVED = 0.25, 0.3
READ, JUDGED = 3, 3
"""Passages of a question: in training and in judging."""
ASKED, OF_BOOK, NEAR, BESIDE = 6_000, 300, 0.45, 3
"""Passages asked about, of all books and of one; near misses for so many of the questions; passages beside the question's own."""
WIDTH, TOLD = 90, (30, 350)
"""Tokens of a statement; and characters of one that is asked about."""
WRITING = 0.5
"""Weight of learning to write beside learning to score."""


@dataclass(frozen=True, slots=True)
class Passage:
    """In the large model's tokens. `lines`: each statement, whether it is judged, and whether it is gold (1), perhaps (-1) or
    not (0)."""

    above: list[int]
    lines: list[tuple[list[int], bool, int]]


@dataclass(frozen=True, slots=True)
class Part:
    ids: list[int]
    ends: list[int]
    marks: list[int]
    places: list[int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that the large model made about the passage of a book with this number."""

    book: str
    number: int
    question: str
    answerable: bool


class Teacher:
    def __init__(self, large: Large, held: Rows, embedder: Path, left_out: Sequence[str]) -> None:
        self._large, self._held, self._tokenizer = large, held, read_tokenizer(embedder)
        self._random = random.Random(11)
        self._break = large.ids("\n")[0]
        self._known: dict[int, list[int]] = {}
        kept = [row for row in held.rows if row["book"] not in left_out]
        self._pairs = [row for row in kept if row["kind"] == "pair"]
        self._books = [row for row in kept if row["kind"] not in ("pair", "stage1")]
        self._squad = [row for row in kept if row["book"] == "squad"]
        by_book = groupby(sorted(self._pairs, key=lambda row: str(row["book"])), key=lambda row: str(row["book"]))
        self._beside = {book: [row["passages"][0] for row in rows] for book, rows in by_book}

    def ids(self, number: int, most: int = WIDTH) -> list[int]:
        """Of a text of the rows."""
        if number not in self._known:
            text = self._tokenizer.decode(self._held.texts[number], skip_special_tokens=True).strip()
            self._known[number] = self._large.ids(text, WIDTH)
        return self._known[number][:most]

    def passage(self, row: Row, *, gold: bool = True) -> Passage:
        marks = [1 if place in row["gold"] else -1 if place in row["maybe"] else 0 for place in range(len(row["said"]))]
        lines = [
            (self.ids(text), place not in row["unread"], marks[place] if gold else 0) for place, text in enumerate(row["said"])
        ]
        return Passage(self.ids(row["above"], 40), lines)

    def given(self, one: Row) -> Passage:
        """A passage of the corpus."""
        lines = [(self._large.ids(text, WIDTH), not unread, 0) for text, unread in one["said"]]
        return Passage(self._large.ids(one["above"], 40), lines)

    def part(self, question: list[int], passage: Passage, without: Callable[[int], bool] = lambda mark: False) -> Part:
        ids = [*self._large.ids("Question: "), *question, *self._large.ids("\nPassage: "), *passage.above, self._break]
        part = Part(ids, [], [], [])
        for place, (tokens, judged, mark) in enumerate(passage.lines):
            if without(mark) or not tokens:
                continue
            if len(ids) + len(tokens) + 1 > MOST_TOKENS:
                break
            ids += [*tokens, self._break]
            if judged:
                part.ends.append(len(ids) - 1)
                part.marks.append(mark)
                part.places.append(place)
        return part

    def beginning(self, passage: Passage, given: list[int], *, near: bool) -> list[int]:
        """Of a text that ends with a question: one that a statement answers, or one that is not answered beside one that is."""
        ids = [*self._large.ids("Passage: "), *passage.above, self._break]
        for tokens, _, _ in passage.lines:
            if len(ids) + len(tokens) > MOST_TOKENS - WIDTH:
                break
            ids += [*tokens, self._break]
        first, second = ("\nAnswered: ", "\nNot answered:") if near else ("\nThe answer: ", "\nQuestion:")
        return [*ids, *self._large.ids(first), *given, *self._large.ids(second)]

    def teach(self) -> None:
        batches = [*self._batches()]
        taught = self._large.taught()
        groups = [{"params": taught, "lr": RATE}, {"params": self._large.head.parameters(), "lr": HEAD_RATE}]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        rates = [group["lr"] for group in optimiser.param_groups]
        self._large.model.train()
        began, total = time.time(), 0.0
        for step, (rows, written) in enumerate(batches, 1):
            ramp = min(1.0, step / (WARMUP * len(batches) + 1)) * max(0.03, 1 - step / len(batches))
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * ramp
            examples = [example for example in map(self._example, rows) if example]
            for some in by_size(examples, lambda one: sum(len(part.ids) for part in one), AT_ONCE):
                loss = self._loss(some) / len(examples)
                loss.backward()
                total += float(loss.detach())
            for few in by_size(written, lambda one: len(one[0]) + len(one[1]), AT_ONCE):
                (WRITING * self._large.surprise(few) / len(written)).backward()
            nn.utils.clip_grad_norm_(taught, 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            if step % 25 == 0:
                print(f"teacher: step {step} of {len(batches)}, loss {total / 25:.3f}, {time.time() - began:.0f} s", flush=True)
                total = 0.0
        self._large.merge()

    def _batches(self) -> Iterator[tuple[list[Row], list[tuple[list[int], list[int]]]]]:
        rows = [*self._pairs, *self._random.sample(self._squad, min(SQUAD, len(self._squad)))]
        rows += self._random.sample(self._books, min(len(self._books), max(0, TAUGHT - len(rows))))
        written = [*self._written()]
        self._random.shuffle(rows)
        written = self._random.sample(written, min(len(written), WRITTEN))
        count = math.ceil(len(rows) / STEP)
        share = len(written) / count
        for number in range(count):
            yield rows[number * STEP : (number + 1) * STEP], written[int(number * share) : int((number + 1) * share)]

    def _written(self) -> Iterator[tuple[list[int], list[int]]]:
        """Texts to learn writing by: of each answered question its passage and gold statement; of a near miss its passage and
        the question beside it that is answered there."""
        rows = [*self._books, *self._pairs]
        answered = {partner(row): row for row in rows if row["answerable"] and any(one["gold"] for one in row["passages"])}
        for row in rows:
            beside = answered.get(partner(row))
            if beside is None or "followup" in row["kind"]:
                continue
            golden = next(one for one in beside["passages"] if one["gold"])
            question = [*self._large.ids(f" {self._text(row['q'])}", 56), self._large.end]
            if beside is row:
                yield self.beginning(self.passage(golden), self.ids(golden["said"][golden["gold"][0]], 70), near=False), question
            elif not row["answerable"]:
                yield self.beginning(self.passage(golden), self.ids(beside["q"], 60), near=True), question

    def _text(self, number: int) -> str:
        found: str = self._tokenizer.decode(self._held.texts[number], skip_special_tokens=True)
        return found.strip()

    def _example(self, row: Row) -> list[Part]:
        asked = self.ids(row["typed"] if self._random.random() < TYPED else row["q"], 60)
        read = chosen(row, READ)
        golden = any(one["gold"] for one in read)
        removed = bool(row["answerable"] and golden) and self._random.random() < REMOVED
        taken = [self.passage(one) for one in read]
        if row["kind"] == "pair":
            others = [one for one in self._beside[row["book"]] if one is not row["passages"][0]]
            some = self._random.sample(others, min(len(others), self._random.choice((0, 1, 2))))
            taken += [self.passage(one, gold=False) for one in some]
        parts = [self.part(asked, one, (lambda mark: mark != 0) if removed else (lambda mark: False)) for one in taken]
        return [part for part in parts if part.ends]

    def _loss(self, examples: Sequence[list[Part]]) -> Tensor:
        parts = [(part, number) for number, example in enumerate(examples) for part in example]
        scores = self._large.scores([(part.ids, part.ends) for part, _ in parts])
        marks = torch.tensor([mark for part, _ in parts for mark in part.marks], device=self._large.device)
        of = torch.tensor([number for part, number in parts for _ in part.marks], device=self._large.device)
        return by_question(scores, marks, of, len(examples)).sum()

    def judge(self, asked: Sequence[tuple[list[int], Passage]]) -> list[list[float | None]]:
        """For each question and passage a score for every statement; None where it was not read."""
        told: list[list[float | None]] = [[None] * len(passage.lines) for _, passage in asked]
        parts = [(at, part) for at, one in enumerate(asked) if (part := self.part(*one)).ends]
        parts.sort(key=lambda one: len(one[1].ids))
        with torch.no_grad():
            for some in by_size(parts, lambda one: len(one[1].ids), JUDGED_AT_ONCE):
                found = iter(self._large.scores([(part.ids, part.ends) for _, part in some]).tolist())
                for at, part in some:
                    for place in part.places:
                        told[at][place] = round(next(found), 2)
        return told

    def judge_labelled(self) -> None:
        """Writes into each labelled row what is said of its passages."""
        rows = [row for row in self._held.rows if row["kind"] != "stage1"]
        pairs = [(row, one) for row in rows for one in chosen(row, JUDGED)]
        told = self.judge([(self.ids(row["q"], 60), self.passage(one)) for row, one in pairs])
        for (_, passage), soft in zip(pairs, told, strict=True):
            passage["soft"] = soft

    def ask(self, books: dict[str, list[Row]]) -> list[Asked]:
        """Questions about passages, with whether each was meant to be answered there."""
        places = [
            (book, number)
            for book, passages in books.items()
            for number in self._random.sample(range(len(passages)), min(OF_BOOK, len(passages)))
        ]
        picked, beginnings = [], []
        for book, number in self._random.sample(places, min(ASKED, len(places))):
            said = books[book][number]["said"]
            if told := [text for text, unread in said if not unread and TOLD[0] <= len(text) <= TOLD[1]]:
                picked.append((book, number))
                given = self._large.ids(self._random.choice(told), 70)
                beginnings.append(self.beginning(self.given(books[book][number]), given, near=False))
        found = self._large.write(beginnings)
        made = [Asked(*place, text, answerable=True) for place, text in zip(picked, found, strict=True) if is_question(text)]
        beside = self._random.sample(made, int(NEAR * len(made)))
        near = self._large.write(
            [
                self.beginning(self.given(books[one.book][one.number]), self._large.ids(one.question, 60), near=True)
                for one in beside
            ]
        )
        missed = (
            Asked(one.book, one.number, text, answerable=False)
            for one, text in zip(beside, near, strict=True)
            if is_question(text)
        )
        return [*made, *missed]

    def texts(self, question: str) -> list[int]:
        return self._large.ids(question, 60)


def partner(row: Row) -> str:
    """What a question and its near miss have in common: both are about one passage."""
    named = str(row["id"]).removesuffix("-yes").removesuffix("-no")
    return f"{row['book']}/{named[:-1] if row['kind'] == 'written' else named}"


def chosen(row: Row, most: int) -> list[Row]:
    """The first passages of a row, and one that answers."""
    first: list[Row] = row["passages"][:most]
    golden = [one for one in (*row["passages"][most:], *row["beyond"]) if one["gold"]]
    return first if any(one["gold"] for one in first) else [*first, *golden[:1]]


def is_question(text: str) -> bool:
    return 8 < len(text) < 220 and "\n" not in text


def by_size(items: Sequence[Any], size: Callable[[Any], int], most: int) -> Iterator[list[Any]]:
    held: list[Any] = []
    total = 0
    for item in items:
        if held and total + size(item) > most:
            yield held
            held, total = [], 0
        held.append(item)
        total += size(item)
    if held:
        yield held


def made_rows(teacher: Teacher, texts: Texts, books: dict[str, list[Row]], asked: Sequence[Asked], embed: Embedder) -> list[Row]:
    """Each question with its own passage and those of the same book that are found for it, and what the teacher says of them."""
    rows, pairs = list[Row](), list[tuple[list[int], Passage]]()
    for book, questions in groupby(sorted(asked, key=lambda one: one.book), key=lambda one: one.book):
        some = [*questions]
        finder = Finder(books[book], embed)
        for one, vector in zip(some, embed([each.question for each in some], LONGEST_QUESTION), strict=True):
            near = [number for number in finder.find(one.question, vector, BESIDE + 1) if number != one.number][:BESIDE]
            held = [books[book][number] for number in (one.number, *near)]
            named = {"id": f"made-{len(rows)}", "book": book, "kind": "made", "answerable": one.answerable, "beyond": []}
            rows.append(named | texts.question(one.question) | {"passages": [texts.passage(each) for each in held]})
            pairs += [(teacher.texts(one.question), teacher.given(each)) for each in held]
    told = iter(teacher.judge(pairs))
    for row in rows:
        for passage in row["passages"]:
            passage["soft"] = next(told)
    return rows


def renumbered(row: Row, before: int) -> Row:
    """Its texts by their numbers after those of other rows."""

    def moved(passages: list[Row]) -> list[Row]:
        return [one | {"above": one["above"] + before, "said": [text + before for text in one["said"]]} for one in passages]

    named = {"q": row["q"] + before, "typed": row["typed"] + before}
    return row | named | {"passages": moved(row["passages"]), "beyond": moved(row["beyond"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "corpus", "embedder", "large", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[], help="books whose questions and pairs are not taught")
    given = parser.parse_args()
    torch.manual_seed(3)
    device, began = "cuda" if torch.cuda.is_available() else "cpu", time.time()

    def said(what: str) -> None:
        print(f"{what}, {time.time() - began:.0f} s", flush=True)

    large, held = Large(given.large, device), Rows(given.rows)
    teacher = Teacher(large, held, given.embedder, given.leave_out)
    said("read")
    teacher.teach()
    said("taught")
    teacher.judge_labelled()
    said("judged what is labelled")
    books = json.loads(gzip.decompress(given.corpus.read_bytes()))["passages"]
    asked = teacher.ask({name: passages for name, passages in books.items() if name not in given.leave_out})
    said(f"{len(asked)} questions made")
    texts = Texts(read_tokenizer(given.embedder))
    rows = made_rows(teacher, texts, books, asked, Embedder(given.embedder))
    said("judged what was made")
    arrays, before = texts.arrays([]), np.load(given.rows)
    whole = [*held.rows, *(renumbered(row, len(held.texts)) for row in rows)]
    np.savez(
        given.out,
        tokens=np.concatenate([before["tokens"], arrays["tokens"]]),
        lengths=np.concatenate([before["lengths"], arrays["lengths"]]),
        rows=np.frombuffer(json.dumps(whole).encode(), np.uint8),
    )


if __name__ == "__main__":
    main()

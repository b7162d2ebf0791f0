"""Questions in thousands, with what a large model says of every statement: `train` teaches the reader by them.

    python -m scripts.reader.teacher --rows rows.npz --passages passages.json.gz --embedder granite.hmsemb --large FILE.gguf \
        --leave-out BOOK … --out made.npz

The large model (`large`) is taught by the questions of some books to score statements and to write questions; then it writes
questions about other passages, answerable ones and near misses, and scores the statements of the passages that the embedder
finds for each. Whoever scores a book by a reader takes what was made with that book left out: two runs, each without half of the
books, serve all of them. `passages`: chunks of any books, a list of {"book", "above", "said": [[text, is read], …]}.
Nine minutes for both runs side by side on one H200.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from scripts.reader.large import Large
from scripts.reader.train import END, PAD, START, Reader, Row, Rows, by_question, read_embedder

EPOCHS, STEP, RATE, HEAD_RATE, WARMUP = 1.4, 16, 2e-4, 1e-3, 0.06
MOST_TOKENS, AT_ONCE = 420, 12_000
TYPED, REMOVED, SQUAD = 0.25, 0.3, 300
ASKED, NEAR, BESIDE = 7_000, 0.45, 3
"""Passages asked about; near misses for so many of the questions; passages beside the question's own."""
WIDTH = 90
"""Tokens of a statement."""
WRITING = 0.5
"""Weight of learning to write beside learning to score."""


@dataclass(frozen=True, slots=True)
class Passage:
    """In the large model's tokens. `lines`: each statement, whether it is judged, and whether it is gold (1), perhaps (-1) or
    not (0)."""

    book: str
    above: list[int]
    lines: list[tuple[list[int], bool, int]]
    said: list[str]
    title: str


@dataclass(frozen=True, slots=True)
class Part:
    ids: list[int]
    ends: list[int]
    marks: list[int]
    places: list[int]


@dataclass(frozen=True, slots=True)
class Made:
    question: str
    answerable: bool
    passages: list[Passage]


class Teacher:
    def __init__(self, large: Large, held: Rows, tokenizer: Tokenizer, left_out: Sequence[str]) -> None:
        self._large, self._held, self._tokenizer = large, held, tokenizer
        self._random = random.Random(11)
        self._break = large.ids("\n")[0]
        self._known: dict[int, list[int]] = {}
        kept = [row for row in held.rows if row["book"] not in left_out]
        self._pairs = [row for row in kept if row["kind"] == "pair"]
        self._books = [row for row in kept if row["kind"] not in ("pair", "stage1")]
        self._squad = [row for row in kept if row["book"] == "squad"]
        self._beside = {
            book: [row["passages"][0] for row in rows]
            for book, rows in groupby(sorted(self._pairs, key=lambda row: str(row["book"])), key=lambda row: row["book"])
        }

    def text(self, number: int) -> str:
        found: str = self._tokenizer.decode(self._held.texts[number], skip_special_tokens=True)
        return found.strip()

    def ids(self, number: int, most: int = 90) -> list[int]:
        if number not in self._known:
            self._known[number] = self._large.ids(self.text(number), 90)
        return self._known[number][:most]

    def passage(self, row: Row, book: str, *, gold: bool = True) -> Passage:
        marks = [1 if place in row["gold"] else -1 if place in row["maybe"] else 0 for place in range(len(row["said"]))]
        lines = [
            (self.ids(text), place not in row["unread"], marks[place] if gold else 0) for place, text in enumerate(row["said"])
        ]
        return Passage(book, self.ids(row["above"], 40), lines, [self.text(one) for one in row["said"]], self.text(row["above"]))

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
        batches = [one for _ in range(math.ceil(EPOCHS)) for one in self._batches()]
        batches = batches[: int(len(batches) * EPOCHS / math.ceil(EPOCHS))]
        taught = self._large.taught()
        groups = [{"params": taught, "lr": RATE}, {"params": self._large.head.parameters(), "lr": HEAD_RATE}]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        rates = [group["lr"] for group in optimiser.param_groups]
        self._large.model.train()
        for step, (rows, written) in enumerate(batches):
            ramp = min(1.0, (step + 1) / (WARMUP * len(batches) + 1)) * max(0.03, 1 - step / len(batches))
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * ramp
            examples = [example for example in map(self._example, rows) if example]
            for some in _by_size(examples, lambda one: sum(len(part.ids) for part in one)):
                (self._loss(some) / len(examples)).backward()
            for few in _by_size(written, lambda one: len(one[0]) + len(one[1])):
                (WRITING * self._large.surprise(few) / len(written)).backward()
            nn.utils.clip_grad_norm_(taught, 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self._large.merge()

    def _batches(self) -> Iterator[tuple[list[Row], list[tuple[list[int], list[int]]]]]:
        answered = [row for row in self._books if row["answerable"]]
        rows = [*self._books, *answered, *self._pairs, *self._random.sample(self._squad, min(SQUAD, len(self._squad)))]
        written = [*self._written()]
        self._random.shuffle(rows)
        self._random.shuffle(written)
        count = math.ceil(len(rows) / STEP)
        share = len(written) / count
        for number in range(count):
            yield rows[number * STEP : (number + 1) * STEP], written[int(number * share) : int((number + 1) * share)]

    def _written(self) -> Iterator[tuple[list[int], list[int]]]:
        """Texts to learn writing by: of each labelled question its passage and gold statement, of each pair both questions."""
        answered = {row["id"].removesuffix("-yes"): row for row in self._pairs if row["answerable"]}
        for row in [*self._books, *self._pairs]:
            golden = next((one for one in row["passages"] if one["gold"]), None)
            beside = answered.get(row["id"].removesuffix("-no")) if row["kind"] == "pair" else None
            question = [*self._large.ids(f" {self.text(row['q'])}", 56), self._large.end]
            if row["answerable"] and golden and "followup" not in row["kind"]:
                given = self.ids(golden["said"][golden["gold"][0]], 70)
                yield self.beginning(self.passage(golden, row["book"]), given, near=False), question
            elif beside and not row["answerable"]:
                passage = self.passage(row["passages"][0], row["book"])
                yield self.beginning(passage, self.ids(beside["q"], 60), near=True), question

    def _example(self, row: Row) -> list[Part]:
        passages: list[Row] = row["passages"]
        golden = [one for one in passages if one["gold"]] or row["beyond"][:1]
        asked = self.ids(row["typed"] if self._random.random() < TYPED else row["q"], 60)
        removed = bool(row["answerable"] and golden) and self._random.random() < REMOVED
        taken = [self.passage(one, row["book"]) for one in passages[: 1 if row["kind"] == "pair" else 5]]
        if golden and not any(one in passages[:5] for one in golden):
            taken[-1] = self.passage(golden[0], row["book"])
        if row["kind"] == "pair":
            others = self._random.sample(self._beside[row["book"]], self._random.choice((0, 1, 2)))
            taken += [self.passage(one, row["book"], gold=False) for one in others]
        parts = [self.part(asked, one, (lambda mark: mark != 0) if removed else (lambda mark: False)) for one in taken]
        return [part for part in parts if part.ends]

    def _loss(self, examples: Sequence[list[Part]]) -> Tensor:
        parts = [(part, number) for number, example in enumerate(examples) for part in example]
        scores = self._large.scores([(part.ids, part.ends) for part, _ in parts])
        marks = torch.tensor([mark for part, _ in parts for mark in part.marks], device=self._large.device)
        of = torch.tensor([number for part, number in parts for _ in part.marks], device=self._large.device)
        return by_question(scores, marks, of, len(examples))[0].sum()

    def ask(self, passages: Sequence[Passage]) -> list[tuple[Passage, str, bool]]:
        """Questions about passages, with whether each was meant to be answered there."""
        chosen = []
        for passage in self._random.sample(list(passages), min(ASKED, len(passages))):
            told = [
                place for place, (_, judged, _) in enumerate(passage.lines) if judged and 30 <= len(passage.said[place]) <= 350
            ]
            if told:
                chosen.append((passage, passage.lines[self._random.choice(told)][0][:70]))
        found = self._large.write([self.beginning(passage, given, near=False) for passage, given in chosen])
        made = [(passage, text, True) for (passage, _), text in zip(chosen, found, strict=True) if _is_question(text)]
        beside = self._random.sample(made, int(NEAR * len(made)))
        near = self._large.write([self.beginning(one, self._large.ids(text, 60), near=True) for one, text, _ in beside])
        made += [(passage, text, False) for (passage, _, _), text in zip(beside, near, strict=True) if _is_question(text)]
        return made

    def judge(self, made: Sequence[Made]) -> Iterator[list[list[float | None]]]:
        """For each question, for each of its passages, a score for every statement; None where it was not read."""
        for question in made:
            asked = self._large.ids(question.question, 60)
            parts = [self.part(asked, passage) for passage in question.passages]
            told: list[list[float | None]] = [[None] * len(passage.said) for passage in question.passages]
            with torch.no_grad():
                found = iter(self._large.scores([(part.ids, part.ends) for part in parts if part.ends]).tolist())
            for part, scores in zip(parts, told, strict=True):
                for place in part.places:
                    scores[place] = round(next(found), 2)
            yield told


def _is_question(text: str) -> bool:
    return 8 < len(text) < 220 and "\n" not in text


def _by_size(items: Sequence[Any], size: Callable[[Any], int]) -> Iterator[list[Any]]:
    held: list[Any] = []
    total = 0
    for item in items:
        if held and total + size(item) > AT_ONCE:
            yield held
            held, total = [], 0
        held.append(item)
        total += size(item)
    if held:
        yield held


def embeddings(model: Reader, texts: Sequence[list[int]]) -> Any:
    """By the embedder, whose weights a reader begins with: the first token's state."""
    out = np.zeros((len(texts), 384), np.float32)
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for start in range(0, len(order), 512):
        some = order[start : start + 512]
        ids = np.full((len(some), max(len(texts[place]) for place in some)), PAD)
        for row, place in enumerate(some):
            ids[row, : len(texts[place])] = texts[place]
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            states = model.states(torch.from_numpy(ids).cuda())
        out[some] = functional.normalize(states[:, 0].float(), dim=-1).cpu().numpy()
    return out


def with_neighbours(
    model: Reader, tokenizer: Tokenizer, asked: Sequence[tuple[Passage, str, bool]], passages: Sequence[Passage]
) -> list[Made]:
    """Each question with its own passage and those of the same book that the embedder finds for it."""

    def ids(text: str, most: int) -> list[int]:
        return [START, *tokenizer.encode(text, add_special_tokens=False).ids[:most], END]

    held = embeddings(model, [ids("\n".join((one.title, *one.said)), 250) for one in passages])
    wanted = embeddings(model, [ids(text, 60) for _, text, _ in asked])
    of_book: dict[str, list[int]] = {}
    for place, passage in enumerate(passages):
        of_book.setdefault(passage.book, []).append(place)
    made = []
    for (own, text, answerable), vector in zip(asked, wanted, strict=True):
        places = np.array(of_book[own.book])
        near = [passages[place] for place in places[np.argsort(-(held[places] @ vector))[: BESIDE + 1]]]
        made.append(Made(text, answerable, [own, *[one for one in near if one is not own][:BESIDE]]))
    return made


def written_rows(tokenizer: Tokenizer, made: Sequence[Made], told: Sequence[list[list[float | None]]]) -> dict[str, Any]:
    """As `train` reads them."""
    numbers: dict[tuple[str, int], int] = {}
    texts: list[list[int]] = []

    def add(text: str, most: int) -> int:
        if (text, most) not in numbers:
            numbers[text, most] = len(texts)
            texts.append(tokenizer.encode(text, add_special_tokens=False).ids[:most])
        return numbers[text, most]

    rows = []
    for number, (one, scores) in enumerate(zip(made, told, strict=True)):
        passages = [
            {
                "above": add(passage.title, 40), "said": [add(f" {text}", 96) for text in passage.said], "gold": [], "maybe": [],
                "unread": [place for place, (_, judged, _) in enumerate(passage.lines) if not judged], "soft": soft,
            }
            for passage, soft in zip(one.passages, scores, strict=True)
        ]  # fmt: skip
        rows.append({
            "id": f"made-{number}", "book": one.passages[0].book, "kind": "made", "answerable": one.answerable, "beyond": [],
            "passages": passages, "q": add(one.question, 64), "typed": add(one.question.lower().rstrip("? "), 64),
        })  # fmt: skip
    tokens = np.array([token for text in texts for token in text], np.uint16)
    lengths = np.array([len(text) for text in texts], np.int32)
    return {"tokens": tokens, "lengths": lengths, "rows": np.frombuffer(json.dumps(rows).encode(), np.uint8)}


def read_tokenizer(embedder: Path) -> Tokenizer:
    content = embedder.read_bytes()
    _, length = struct.unpack_from("<8sQ", content)
    size = json.loads(content[16 : 16 + length])["tokenizer_len"]
    tokenizer = Tokenizer.from_str(content[16 + length : 16 + length + size].decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "passages", "embedder", "large", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="+", default=[], help="books whose questions and pairs are not taught")
    given = parser.parse_args()
    torch.manual_seed(3)
    large, held, tokenizer = Large(given.large, "cuda"), Rows(given.rows), read_tokenizer(given.embedder)
    teacher = Teacher(large, held, tokenizer, given.leave_out)
    teacher.teach()
    passages = [
        Passage(
            one["book"], large.ids(one["above"], 40), [(large.ids(text, WIDTH), not unread, 0) for text, unread in one["said"]],
            [text for text, _ in one["said"]], one["above"],
        )
        for one in json.loads(gzip.decompress(given.passages.read_bytes()))
    ]  # fmt: skip
    made = with_neighbours(Reader(read_embedder(given.embedder)).cuda().eval(), tokenizer, teacher.ask(passages), passages)
    np.savez_compressed(given.out, **written_rows(tokenizer, made, [*teacher.judge(made)]))


if __name__ == "__main__":
    main()

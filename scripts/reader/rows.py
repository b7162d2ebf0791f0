"""Write the rows that `train` and `teacher` read: token ids of each question and of the passages that are found for it.

    python -m scripts.reader.rows --corpus corpus.json.gz --embedder granite.hmsemb --out rows.npz

Needs torch; half a minute on a GPU. A question gets the passages of its book that words and the embedder find, about as the
product's own search does, and those that answer it where search missed them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.nn import functional

from scripts.reader.train import DEVICE, END, PAD, START, Reader, Row, read_embedder, read_tokenizer

TAKEN, BEYOND = 10, 2
"""Passages of a question: as search orders them, and with the answer where search missed it."""
LONGEST_QUESTION, LONGEST_ABOVE, LONGEST_STATEMENT = 64, 40, 96
LONGEST_EMBEDDED = 250
EMBEDDED_AT_ONCE = 512 if DEVICE == "cuda" else 32
STEM = 6
MEANING = 0.4
"""Share of the cosine beside that of the words."""
Vectors = NDArray[np.float32]


class Texts:
    """Texts by number, each tokenised once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._numbers: dict[tuple[str, int], int] = {}
        self._ids: list[list[int]] = []

    def add(self, text: str, most: int) -> int:
        if (text, most) not in self._numbers:
            self._numbers[text, most] = len(self._ids)
            self._ids.append(self._tokenizer.encode(text, add_special_tokens=False).ids[:most])
        return self._numbers[text, most]

    def question(self, text: str) -> Row:
        """As it is written, and as many readers type it: small letters, no question mark."""
        return {"q": self.add(text, LONGEST_QUESTION), "typed": self.add(text.lower().rstrip("? "), LONGEST_QUESTION)}

    def passage(self, one: Row, gold: Sequence[int] = (), maybe: Sequence[int] = ()) -> Row:
        return {
            "above": self.add(one["above"], LONGEST_ABOVE),
            "said": [self.add(f" {text}", LONGEST_STATEMENT) for text, _ in one["said"]],
            "gold": [*gold], "maybe": [*maybe], "unread": [place for place, (_, unread) in enumerate(one["said"]) if unread],
        }  # fmt: skip

    def arrays(self, rows: Sequence[Row]) -> dict[str, Any]:
        return {
            "tokens": np.array([one for ids in self._ids for one in ids], np.uint16),
            "lengths": np.array([len(ids) for ids in self._ids], np.int32),
            "rows": np.frombuffer(json.dumps(rows).encode(), np.uint8),
        }


class Embedder:
    """The product's: the state of the first token, of weights that a reader begins with."""

    def __init__(self, path: Path) -> None:
        self._model = Reader(read_embedder(path)).to(DEVICE).eval()
        self._tokenizer = read_tokenizer(path)

    def __call__(self, texts: Sequence[str], most: int = LONGEST_EMBEDDED) -> Vectors:
        given = [[START, *one.ids[:most], END] for one in self._tokenizer.encode_batch([*texts], add_special_tokens=False)]
        out = np.zeros((len(given), 384), np.float32)
        order = sorted(range(len(given)), key=lambda place: len(given[place]))
        for start in range(0, len(order), EMBEDDED_AT_ONCE):
            some = order[start : start + EMBEDDED_AT_ONCE]
            ids = np.full((len(some), max(len(given[place]) for place in some)), PAD)
            for row, place in enumerate(some):
                ids[row, : len(given[place])] = given[place]
            with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
                states = self._model.states(torch.from_numpy(ids).to(DEVICE))
            out[some] = functional.normalize(states[:, 0].float(), dim=-1).cpu().numpy()
        return out


class Finder:
    """Finds passages of one book."""

    def __init__(self, passages: Sequence[Row], embed: Embedder) -> None:
        texts = [readable(one) for one in passages]
        self._vectors = embed(texts)
        counted = [Counter(terms(text)) for text in texts]
        mean = sum(sum(one.values()) for one in counted) / max(len(counted), 1)
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, one in enumerate(counted):
            size = 0.6 + 0.9 * sum(one.values()) / max(mean, 1)
            for term, count in one.items():
                postings[term].append((number, count * 2.2 / (count + size)))
        self._postings = {
            term: (np.array([place for place, _ in held]), rarity(len(held), len(texts)) * np.array([one for _, one in held]))
            for term, held in postings.items()
        }

    def find(self, question: str, vector: Vectors, most: int) -> list[int]:
        words = np.zeros(len(self._vectors))
        for term in set(terms(question)):
            if term in self._postings:
                places, weights = self._postings[term]
                words[places] += weights
        meant = self._vectors @ vector
        both = (1 - MEANING) * words / max(words.max(), 1e-6) + MEANING * (meant - meant.min()) / max(np.ptp(meant), 1e-6)
        return [int(place) for place in np.argsort(-both)[:most]]


def rarity(held: int, count: int) -> float:
    return math.log(1 + (count - held + 0.5) / (held + 0.5))


def terms(text: str) -> list[str]:
    return [word[:STEM] for word in re.findall(r"\w+", text.lower())]


def readable(passage: Row) -> str:
    return "\n".join((passage["above"], *(text for text, _ in passage["said"])))


def book_rows(texts: Texts, passages: Sequence[Row], questions: Sequence[Row], embed: Embedder) -> list[Row]:
    finder, rows = Finder(passages, embed), []
    for question, vector in zip(questions, embed([one["q"] for one in questions], LONGEST_QUESTION), strict=True):
        gold: dict[int, list[int]] = defaultdict(list)
        for number, place in question["gold"]:
            gold[number].append(place)
        found = finder.find(question["q"], vector, TAKEN)
        missed = [number for number in gold if number not in found]
        own = {name: question[name] for name in ("id", "book", "kind", "answerable")} | texts.question(question["q"])
        told = {number: says(passages[number], question["keywords"], gold[number]) for number in (*found, *missed)}
        held = {number: texts.passage(passages[number], gold[number], maybe) for number, maybe in told.items()}
        rows.append(own | {"passages": [held[one] for one in found], "beyond": [held[one] for one in missed[:BEYOND]]})
    return rows


def says(passage: Row, keywords: Sequence[str], gold: Sequence[int]) -> list[int]:
    """Statements that are not marked and yet say all that an answer must: nobody knows whether they answer."""
    return [
        place
        for place, (text, _) in enumerate(passage["said"])
        if keywords and place not in gold and all(word.lower() in text.lower() for word in keywords)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    corpus = json.loads(gzip.decompress(given.corpus.read_bytes()))
    texts, embed = Texts(read_tokenizer(given.embedder)), Embedder(given.embedder)
    rows: list[Row] = []
    for book, passages in corpus["passages"].items():
        if questions := [one for one in corpus["questions"] if one["book"] == book]:
            rows += book_rows(texts, passages, questions, embed)
    for one in corpus["single"]:
        own = {name: one[name] for name in ("id", "book", "kind", "answerable")} | texts.question(one["q"])
        rows.append(own | {"passages": [texts.passage(each, each["gold"]) for each in one["passages"]], "beyond": []})
    np.savez(given.out, **texts.arrays(rows))
    asked = [row for row in rows if row["kind"] == "written" and row["answerable"]]
    held = sum(any(each["gold"] for each in row["passages"][:5]) for row in asked)
    print(f"{given.out}: {len(rows)} rows; of {len(asked)} written questions {held} have their answer in the first five passages")


if __name__ == "__main__":
    main()

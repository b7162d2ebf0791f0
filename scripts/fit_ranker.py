"""Fit the ranking of statements and what its scores mean, by books with questions whose quotes and keywords somebody wrote.

    python -m scripts.fit_ranker read --data-dir DATA --folder BOOK --questions FILE.jsonl \
        --reader FILE.pack --out FILE.json.gz        # for each book, by a reader that was taught without it
    python -m scripts.fit_ranker read --data-dir DATA --passages FILE.json --lines FILE.jsonl [--foreign FILE.jsonl] \
        --reader FILE.pack --out FILE.json.gz
    python -m scripts.fit_ranker fit FILE.json.gz … --beside RANKER.json --out ranker.json --folds FOLDER

`read` writes what the product's own search finds for every question: the statements of the best chunks with their features, the
signals, and which of the statements answer. The questions are an evaluation file's, or lines about numbered passages
(`scripts.reader.labels`), some of them with questions about another book. `fit` prints figures of each book left out, and writes
the weights fitted by all of them, besides one file per book fitted without it, which `python -m bench unseen` scores by.
`--beside`: the mean of these weights and of those that were fitted before by other books.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.answering.look import Assessor, Look
from bythebook.books.statements import statements
from bythebook.drafting.extractive import LONGEST_TOGETHER, margin
from bythebook.embedding.granite import GraniteEmbedder
from bythebook.evaluation.cases import Case
from bythebook.followups.rewrite import make_standalone
from bythebook.grounding.calibration import ranking_signals
from bythebook.index.manifest import served_books
from bythebook.retrieval.answer_reader import AnswerReader
from bythebook.retrieval.ranker import features
from bythebook.retrieval.sentence_reader import RANK_UNIT, UNREAD, ReadStatement, rankable
from bythebook.settings import read_settings
from bythebook.wiring.reader import Library, open_library
from scripts.reader.labels import LabelledQuestion, quoted_questions, written_questions

POOL = 5
PENALTY, STEPS, RATE = 3e-3, 250, 0.02
RIDGE = 4.0
ANSWERED = 0.935
"""Of the answerable questions, so many are to be answered: a passage shown with a warning helps more than a refusal."""
HIGH, MEDIUM = (0.95, 100), (0.85, 40)
"""More than is promised (nine in ten, three in four), over so many answers: a line found on some books must hold on others."""
NEAR_OF, FOREIGN_EVERY, MOST_FOREIGN = (9, 16), 8, 12
"""Of the near misses among lines so many are asked; and every so manieth question about another book, at most so many."""
SIGNALS = (
    *("top_cosine", "known_share", "sentence_cosine", "cosine_margin", "agreement", "rare_coverage", "names_found", "same_sense"),
    "kind_found",
)
RANKING = tuple(ranking_signals([(0.0, 0.0)]))
Array = NDArray[np.float64]
Row = dict[str, Any]


async def read(data_dir: Path, questions: Iterable[LabelledQuestion], weights: Path, name: str) -> bytes:
    async with open_library(read_settings(data_dir=data_dir), embeds=True, answer_reader=AnswerReader(weights)) as library:
        (book_id,) = served_books(await library.index.collections())
        rows = [await _row(library, book_id, one) for one in questions]
    return gzip.compress(json.dumps([row | {"book": name} for row in rows]).encode())


def as_asked(questions: Iterable[LabelledQuestion], foreign: Path | None) -> Iterator[LabelledQuestion]:
    """Of lines, whose questions are as often near misses: as many of these as readers ask, and some about another subject."""
    near = asked = 0
    for one in questions:
        near += not one.case.answerable
        if one.case.answerable or near % NEAR_OF[1] < NEAR_OF[0]:
            yield one
    for number, line in enumerate(foreign.read_text("utf-8").splitlines() if foreign else []):
        if number % FOREIGN_EVERY == 0 and asked < MOST_FOREIGN:
            asked += 1
            yield LabelledQuestion(
                case=Case(id=f"foreign-{number}", question=json.loads(line)["q"], answerable=False, kind="foreign")
            )


async def _row(library: Library, book_id: str, labelled: LabelledQuestion) -> Row:
    case = labelled.case
    state = await library.search.book(book_id)
    rewrite = await make_standalone(case.question, case.history, state.language, None)
    text = rewrite.text
    embedding = await library.embedder.embed_question(text)
    assessor = Assessor(search=library.search, index=library.index, reader=library.sentence_reader)
    look = await assessor.look(
        case.scope(book_id, 10).search(text.ljust(3, "?")), state, embedding, before=rewrite.before, by_ranking=True
    )
    chunks = [hit.chunk for hit in look.found.hits[:POOL]]
    read = await library.sentence_reader.candidates(text, chunks, state.language, rarity=look.rarity, embedding=embedding)
    return {
        "id": case.id, "kind": case.kind, "answerable": bool(case.answerable), "keywords": list(case.keywords),
        "signals": _signals(look), "statements": [_statement(one, labelled) for one, _ in read],
        "features": features(text, [rankable(one, rank) for one, rank in read]).tolist() if read else [],
    }  # fmt: skip


def _signals(look: Look) -> dict[str, float]:
    return {name: value for name, value in asdict(look.signals).items() if name in SIGNALS}


def _statement(one: ReadStatement, labelled: LabelledQuestion) -> Row:
    raw = one.chunk.text[one.statement.start : one.statement.end]
    said = (one.statement.readable.lower(), raw.lower())
    place = statements(one.chunk.preface, one.chunk.text).index(one.statement)
    return {
        "gold": labelled.gold(one.chunk, place, one.statement),
        "says": [any(word.lower() in text for text in said) for word in labelled.case.keywords],
        "length": len(one.statement.readable),
        "read": one.answers,
    }


class Ranking:
    """A softmax over a question's statements and a null of score 0, which is right where the book does not answer."""

    def __init__(self, rows: Sequence[Row], beside: Row | None = None) -> None:
        taught = [row for row in rows if row["features"] and (not row["answerable"] or any(_gold(row)))]
        held = np.concatenate([np.array(row["features"]) for row in taught])
        self.means, self.spreads = held.mean(0), held.std(0) + 1e-6
        starts = np.cumsum([0, *(len(row["features"]) for row in taught)])[:-1]
        of = np.repeat(np.arange(len(taught)), [len(row["features"]) for row in taught])
        gold = np.array([one for row in taught for one in _gold(row)])
        self.weights, self.bias = self._fitted((held - self.means) / self.spreads, gold, starts, of)
        if beside:
            self._meet(beside)

    def _meet(self, other: Row) -> None:
        """Goes half the way to weights that were fitted by other books, with means and spreads of their own."""
        weights = np.array(other["weights"]) / other["spreads"]
        bias = other["bias"] + (self.means - other["means"]) @ weights
        self.weights, self.bias = (self.weights + weights * self.spreads) / 2, (self.bias + bias) / 2

    def _fitted(self, rows: Array, gold: NDArray[np.bool_], starts: Any, of: Any) -> tuple[Array, float]:
        """By Adam: the loss is convex, so that any way down ends in the same place."""
        held = np.c_[rows, np.ones(len(rows))]
        penalty = np.append(np.full(rows.shape[1], PENALTY), 0.0)
        weights, first, second = np.zeros(held.shape[1]), np.zeros(held.shape[1]), np.zeros(held.shape[1])
        for step in range(1, STEPS + 1):
            scores = held @ weights
            top = np.maximum(np.maximum.reduceat(scores, starts), 0.0)
            odds = np.exp(scores - top[of])
            share = odds / (np.add.reduceat(odds, starts) + np.exp(-top))[of]
            right = np.add.reduceat(np.where(gold, odds, 0.0), starts)
            wanted = np.where(gold, odds / np.maximum(right, 1e-12)[of], 0.0)
            slope = held.T @ (share - wanted) / len(starts) + penalty * weights
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            weights = weights - RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        return weights[:-1], float(weights[-1])

    def scores(self, row: Row) -> Array:
        if not row["features"]:
            return np.array([-5.0])
        found: Array = (np.array(row["features"]) - self.means) / self.spreads @ self.weights + self.bias
        return found


def _gold(row: Row) -> list[bool]:
    return [one["gold"] for one in row["statements"]]


def chosen(row: Row, scores: Array) -> list[Row]:
    """The statements that an answer would take."""
    found: list[Row] = []
    for place in np.argsort(-scores)[: len(row["statements"])]:
        one = row["statements"][place]
        together = sum(each["length"] for each in found) + one["length"]
        near = RANK_UNIT * (scores.max() - scores[place]) <= margin(one["length"])
        if not found or (near and together <= LONGEST_TOGETHER):
            found.append(one)
    return found


def useful(row: Row, scores: Array) -> bool:
    taken = chosen(row, scores)
    said = [any(one["says"][number] for one in taken) for number in range(len(row["keywords"]))]
    return bool(row["answerable"] and said and all(said))


def vector(row: Row, scores: Array) -> list[float]:
    read = [one["read"] for one in row["statements"]] or [UNREAD]
    ranking = ranking_signals([*zip(scores.tolist(), read, strict=True)])
    return [*(row["signals"][name] for name in SIGNALS), *ranking.values()]


def regress(rows: Array, truth: Array) -> Array:
    held = np.c_[rows, np.ones(len(rows))]
    ridge = np.diag([*np.full(rows.shape[1], RIDGE), 1e-6])
    weights = np.zeros(held.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-held @ weights))
        slope = held.T @ (chance - truth) + ridge @ weights
        weights = weights - np.linalg.solve((held * (chance * (1 - chance))[:, None]).T @ held + ridge, slope)
    return weights


def chances(rows: Array, weights: Array) -> Array:
    told: Array = 1 / (1 + np.exp(-np.c_[rows, np.ones(len(rows))] @ weights))
    return told


def lowest_line(chance: Array, right: Array, share: float, fewest: int) -> float:
    """The lowest chance from which answers are right so often; 1 where no level can promise that."""
    order = np.argsort(-chance)
    running = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = [place for place in range(fewest - 1, len(order)) if running[place] >= share]
    return float(chance[order[enough[-1]]]) if enough else 1.0


def scale(rows: Sequence[Row], scores: Sequence[Array]) -> Row:
    """What the scores mean: by scores of rankings that were fitted without the row's book."""
    values = np.array([vector(row, found) for row, found in zip(rows, scores, strict=True)])
    means, spreads = values.mean(0), values.std(0) + 1e-6
    standard = np.clip((values - means) / spreads, -4, 4)
    answerable = np.array([float(row["answerable"]) for row in rows])
    right = np.array([float(useful(row, found)) for row, found in zip(rows, scores, strict=True)])
    by_answerable, by_right = regress(standard, answerable), regress(standard, right)
    told, sure = chances(standard, by_answerable), chances(standard, by_right)
    line = float(np.quantile(told[answerable == 1], 1 - ANSWERED))
    answered = told >= line
    high = lowest_line(sure[answered], right[answered], *HIGH)
    below = answered & (sure < high)
    medium = min(high, lowest_line(sure[below], right[below], *MEDIUM)) if below.any() else high
    return {
        "names": [*SIGNALS, *RANKING], "means": means.tolist(), "spreads": spreads.tolist(), "answerable": by_answerable.tolist(),
        "right": by_right.tolist(), "line": line, "medium": min(medium, 0.998), "high": min(max(high, medium + 1e-3), 0.999),
    }  # fmt: skip


def written(ranking: Ranking, fit: Row) -> str:
    made = {
        "means": ranking.means.tolist(), "spreads": ranking.spreads.tolist(), "weights": ranking.weights.tolist(),
        "bias": ranking.bias, "embedder": GraniteEmbedder.name, "fit": fit,
    }  # fmt: skip
    return json.dumps(_rounded(made), indent=1) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def fit(paths: Sequence[Path], beside: Path | None, out: Path, folds: Path) -> None:
    earlier = json.loads(beside.read_text("utf-8")) if beside else None
    books = {rows[0]["book"]: rows for rows in (json.loads(gzip.decompress(path.read_bytes())) for path in paths)}
    without = {book: Ranking([row for other, rows in books.items() if other != book for row in rows], earlier) for book in books}
    folds.mkdir(parents=True, exist_ok=True)
    for book, own in books.items():
        others = [(row, without[other].scores(row)) for other, rows in books.items() if other != book for row in rows]
        (folds / f"{book}.json").write_text(written(without[book], scale(*zip(*others, strict=True))), encoding="utf-8")
        found = [(row, without[book].scores(row)) for row in own if row["answerable"] and row["features"]]
        first = np.mean([row["statements"][int(scores.argmax())]["gold"] for row, scores in found])
        said = np.mean([useful(*one) for one in found])
        print(f"{book:26s} left out: gold first {first:.3f}, useful if all were answered {said:.3f}")
    every = [(row, without[book].scores(row)) for book, rows in books.items() for row in rows]
    whole = Ranking([row for row, _ in every], earlier)
    out.write_text(written(whole, scale(*zip(*every, strict=True))), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    reading = tasks.add_parser("read")
    for name in ("data-dir", "folder", "questions", "passages", "lines", "foreign", "reader", "out"):
        reading.add_argument(f"--{name}", type=Path, required=name in ("data-dir", "reader", "out"))
    fitting = tasks.add_parser("fit")
    fitting.add_argument("books", type=Path, nargs="+")
    fitting.add_argument("--beside", type=Path)
    fitting.add_argument("--out", type=Path, required=True)
    fitting.add_argument("--folds", type=Path, required=True)
    given = parser.parse_args()
    if given.task == "read":
        if given.lines:
            questions = as_asked(written_questions(given.lines.stem, given.passages, given.lines), given.foreign)
        else:
            questions = quoted_questions(given.questions, given.folder)
        name = (given.lines or given.questions).stem
        given.out.write_bytes(asyncio.run(read(given.data_dir, questions, given.reader, name)))
    else:
        fit(given.books, given.beside, given.out, given.folds)


if __name__ == "__main__":
    main()

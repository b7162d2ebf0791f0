"""Whether the right questions are answered, and whether every answer holds: decisions, citations, quotes, speed."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.alone import ingest, opened
from bench.articles import levels, near_unanswerable, stored_calibration
from bench.material import CLAPNQ, CURRICULUM_QUESTIONS, SQUAD, curriculum_questions
from bench.minilm import MiniLM, found
from bench.table import Table, verdict
from bench.workshop import Workshop
from bythebook.answering.answer import Answer, Answered, Refused, Sentence
from bythebook.answering.question import Question
from bythebook.cli.demo import sample_book
from bythebook.drafting.draft import Exchange
from bythebook.embedding.embedder import Embedder
from bythebook.evaluation.intervals import mcnemar
from bythebook.grounding.calibration import AUTHOR_FOREIGN_SOURCE, AUTHOR_SOURCE, FOREIGN_SOURCE, Probe, fit
from bythebook.grounding.weights import area
from bythebook.ingestion.calibrator import FOREIGN as OTHER_SUBJECTS
from bythebook.ingestion.calibrator import QUESTIONS_FILE, for_fitting, read_questions
from bythebook.retrieval.query import Scope

FOREIGN = 300
HALVES = 60
SEED = 7
SLOWEST_MS = 250
"""With a reader, on two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One scored question of the sample book."""

    row: dict[str, Any]
    answer: Answer
    first_ms: float
    total_ms: float

    @property
    def right(self) -> bool:
        return self.answer.refused is not bool(self.row["answerable"])


def answers(workshop: Workshop) -> Table:
    workshop.sample()
    turns = asyncio.run(_turns(workshop, "sample"))
    rows = _sample(turns) + asyncio.run(_halves(workshop)) + asyncio.run(_second(workshop, turns))
    if workshop.curriculum() and CURRICULUM_QUESTIONS.exists() and SQUAD.exists():
        rows += asyncio.run(_foreign(workshop))
    if SQUAD.exists():
        rows += asyncio.run(near_unanswerable(workshop))
    return Table(
        title="Answers and refusals",
        columns=("questions", "n", "figure", "value", "target", ""),
        rows=tuple(rows),
        note="Sample book: the half of its questions that was not used for fitting. Curriculum: its short questions against "
        "questions about other subjects (CLAP NQ, SQuAD). SQuAD: each article is a book of its own, calibrated from its own "
        "text; its unanswerable questions were written to look answerable. With questions of the author: half of its questions "
        "are the book's own and fit it, the other half is scored. The single cosine threshold beside it is the best there is, "
        "chosen on the very questions it is scored by. Against the first: questions that one embedder decides rightly and the "
        "other does not, and how likely chance alone parts them so (McNemar). Gold lesson: of the "
        "answers to questions that the book answers.",
    )


async def _turns(workshop: Workshop, name: str, embedder: Embedder | None = None) -> list[Turn]:
    """The half of the sample book's questions that was not used for fitting, asked one after another."""
    lines = (sample_book() / QUESTIONS_FILE).read_text(encoding="utf-8").splitlines()
    scored = [row for row in map(json.loads, lines) if not for_fitting(row["id"])][: workshop.sizes.questions]
    async with opened(workshop.data_dir(name), embedder) as resources:
        if embedder:
            await ingest(resources, sample_book())
        state = await resources.search.book((await resources.records.books())[0].book_id)
        await resources.calibrator.calibrate(state, sample_book())
        return [await _ask(resources.answerer, row, state.book_id) for row in (*scored[:5], *scored)][5:]


async def _halves(workshop: Workshop) -> list[tuple[str, ...]]:
    """The same decision for many other halves of the questions, one to fit by and one to score: one half alone is few."""
    asked = read_questions(sample_book())[: 2 * workshop.sizes.questions]
    async with opened(workshop.data_dir("sample")) as resources:
        state = await resources.search.book((await resources.records.books())[0].book_id)

        async def probe(text: str, source: str, *, answerable: bool) -> Probe:
            query = Scope(book_id=state.book_id).search(text)
            look = await resources.assessor.look(query, state, await resources.embedder.embed_question(text))
            return Probe(signals=look.signals, answerable=answerable, source=source, top_above_mean=look.top_above_mean)

        others = [await probe(text, FOREIGN_SOURCE, answerable=False) for text in OTHER_SUBJECTS]
        probes = [
            await probe(one.text, AUTHOR_FOREIGN_SOURCE if one.foreign else AUTHOR_SOURCE, answerable=one.answerable)
            for one in asked
        ]
    shares = []
    for seed in range(HALVES):
        random.Random(seed).shuffle(probes)
        fitting, scored = probes[: len(probes) // 2], probes[len(probes) // 2 :]
        calibration = fit([*fitting, *others])
        shares.append(sum((calibration.relevance(one.signals) >= 0.6) is one.answerable for one in scored) / len(scored))
    told = f"{sum(shares) / len(shares):.1%} ({min(shares):.1%} to {max(shares):.1%})"
    return [("sample book", str(len(probes) - len(probes) // 2), f"… of {HALVES} other halves", told, "", "")]


async def _second(workshop: Workshop, first: list[Turn]) -> list[tuple[str, ...]]:
    """The same code with another embedder, and no number touched; and how likely chance alone makes it differ from the `first`
    so much."""
    if not found():
        return []
    turns = await _turns(workshop, "sample-minilm", MiniLM())
    name = "sample book, all-MiniLM-L6-v2"
    better, worse = (
        sum(one.right is right and other.right is not right for one, other in zip(turns, first, strict=True))
        for right in (True, False)
    )
    chance = mcnemar(better, worse)
    compared = f"{better} better, {worse} worse (chance {chance:.0%})"
    return [
        *(
            _share(name, str(len(some)), figure, sum(turn.right for turn in some), len(some))
            for figure, some in (
                ("right decision", turns),
                ("… answerable", [turn for turn in turns if turn.row["answerable"]]),
                ("… not answerable", [turn for turn in turns if not turn.row["answerable"]]),
            )
        ),
        (name, str(len(turns)), "… against the first", compared, "chance ≥ 5%", verdict(chance >= 0.05)),
    ]


def _sample(turns: list[Turn]) -> list[tuple[str, ...]]:
    answered = [turn for turn in turns if not turn.answer.refused]
    rightly = [turn for turn in answered if turn.row["answerable"]]
    cited = [turn for turn in rightly if turn.row["lesson"] in {one.source_file for one in turn.answer.citations}]
    quotes = [one for turn in answered for sentence in turn.answer.sentences for one in sentence.citations]
    exact = [one for one in quotes if _source(one.source_file)[one.span.start : one.span.end] == one.quote]
    unbacked = sum(not sentence.citations for turn in answered for sentence in turn.answer.sentences)
    kinds = sorted({turn.row["kind"] for turn in turns})
    of_kind = {kind: [turn for turn in turns if turn.row["kind"] == kind] for kind in kinds}
    name, count = "sample book", f"{len(turns)}"
    return [
        _share(name, count, "right decision", sum(turn.right for turn in turns), len(turns), 0.95),
        (name, count, "… 95 % interval", _interval(sum(turn.right for turn in turns), len(turns)), "", ""),
        *(
            _share(name, str(len(some)), f"… {kind}", sum(turn.right for turn in some), len(some))
            for kind, some in of_kind.items()
        ),
        _share(name, str(len(rightly)), "gold lesson cited", len(cited), len(rightly), 0.95),
        _share(name, str(len(quotes)), "quotes exact", len(exact), len(quotes), 1.0),
        (name, str(len(answered)), "sentences without support", str(unbacked), "0", verdict(unbacked == 0)),
        _time(name, count, "ask, p95", [turn.total_ms for turn in turns], SLOWEST_MS),
        _time(name, count, "first sentence, p95", [turn.first_ms for turn in answered], SLOWEST_MS),
    ]


async def _ask(answerer: Any, row: dict[str, Any], book_id: str) -> Turn:
    filters: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row["filters"].items()}
    scope = Scope(book_id=book_id, **filters)
    said = row["history"]
    history = tuple(
        Exchange(question=asked["content"], answer=told["content"]) for asked, told in zip(said[::2], said[1::2], strict=True)
    )
    began = time.perf_counter()
    first = 0.0
    async for event in answerer.answer(Question(text=row["question"], scope=scope, history=history)):
        now = 1000 * (time.perf_counter() - began)
        match event:
            case Sentence():
                first = first or now
            case Answered() | Refused():
                return Turn(row=row, answer=event.answer, first_ms=first, total_ms=now)
    raise AssertionError("a turn ends with its answer")


async def _foreign(workshop: Workshop) -> list[tuple[str, ...]]:
    chooser = random.Random(SEED)
    own = [question.text for question in curriculum_questions() if question.kind == "short"][: workshop.sizes.questions]
    other = [json.loads(line)["input"] for path in CLAPNQ if path.exists() for line in path.open(encoding="utf-8")]
    other += [question["question"] for question in _squad_questions()]
    other = chooser.sample(other, min(FOREIGN, len(other), workshop.sizes.questions))
    async with opened(workshop.data_dir("curriculum")) as resources:
        state = await resources.search.book((await resources.records.books())[0].book_id)
        await resources.calibrator.calibrate(state, Path(state.source_root))
        calibration = await stored_calibration(resources, state)
        yes, no = [await levels(resources.assessor, resources, state, calibration, texts) for texts in (own, other)]
    name, count = "curriculum against other subjects", f"{len(own)} + {len(other)}"
    auc = area(yes[:, 0], no[:, 0])
    rows: list[tuple[str, ...]] = [(name, count, "AUC of the decision", f"{auc:.3f}", "≥ 0.97", verdict(auc >= 0.97))]
    rows += [_share(name, str(len(own)), "answered, at 0.60", int((yes[:, 0] >= 0.6).sum()), len(own))]
    rows += [_share(name, str(len(other)), "refused, at 0.60", int((no[:, 0] < 0.6).sum()), len(other))]
    for coverage in (0.95, 0.9, 0.8):
        level = float(np.quantile(yes[:, 0], 1 - coverage))
        wrong = float((no[:, 0] >= level).mean())
        rows.append((name, count, f"risk at {coverage:.0%} coverage", f"{wrong:.1%}", "", ""))
    return rows


def _squad_questions() -> list[dict[str, Any]]:
    articles = json.loads(SQUAD.read_text(encoding="utf-8"))["data"]
    return [question for article in articles for paragraph in article["paragraphs"] for question in paragraph["qas"]]


def _source(path: str) -> str:
    return (sample_book() / path).read_bytes().decode("utf-8")


def _share(name: str, count: str, figure: str, good: int, total: int, target: float | None = None) -> tuple[str, ...]:
    share = good / total if total else 0.0
    met = "" if target is None else verdict(share >= target)
    return name, count, figure, f"{share:.1%}", "" if target is None else f"≥ {target:.0%}", met


def _interval(good: int, total: int) -> str:
    """Wilson's, at 95 %."""
    share, spread = good / total, 1.96**2 / total
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return f"{middle - half:.1%} to {middle + half:.1%}"


def _time(name: str, count: str, figure: str, times: list[float], limit: int) -> tuple[str, ...]:
    p95 = sorted(times)[max(0, round(0.95 * len(times)) - 1)] if times else 0.0
    middle = median(times) if times else 0.0
    return name, count, figure, f"{p95:.0f} ms (p50 {middle:.0f})", f"≤ {limit} ms", verdict(p95 <= limit)

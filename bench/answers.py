"""Whether the right questions are answered, and whether every answer holds: decisions, citations, quotes, speed."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.alone import opened
from bench.material import CLAPNQ, CURRICULUM_QUESTIONS, SQUAD, curriculum_questions
from bench.table import Table, verdict
from bench.workshop import Workshop
from bythebook.answers import Answer, Answered, Refused, Sentence
from bythebook.assessing import Assessor
from bythebook.calibrating import for_fitting
from bythebook.cli.demo import sample_book
from bythebook.drafting.draft import Exchange
from bythebook.grounding.calibration import Calibration, area, best_threshold
from bythebook.index.state import IngestionState
from bythebook.retrieval.query import SearchQuery
from bythebook.turn import Question
from bythebook.wiring import Resources

FOREIGN = 300
SQUAD_QUESTIONS = 120
SEED = 7


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
    rows = asyncio.run(_sample(workshop))
    if workshop.curriculum() and CURRICULUM_QUESTIONS.exists() and SQUAD.exists():
        rows += asyncio.run(_foreign(workshop))
    if SQUAD.exists():
        rows += asyncio.run(_near(workshop))
    return Table(
        title="Answers and refusals",
        columns=("questions", "n", "figure", "value", "target", ""),
        rows=tuple(rows),
        note="Sample book: the half of its questions that was not used for fitting. Curriculum: its short questions against "
        "questions about other subjects (CLAP NQ, SQuAD). SQuAD: each article is a book of its own, calibrated from its own "
        "text; its unanswerable questions were written to look answerable. The single cosine threshold beside it is the best "
        "there is, chosen on the very questions it is scored by.",
    )


async def _sample(workshop: Workshop) -> list[tuple[str, ...]]:
    lines = (sample_book() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    scored = [row for row in map(json.loads, lines) if not for_fitting(row["id"])][: workshop.sizes.questions]
    async with opened(workshop.data_dir("sample")) as resources:
        state = await resources.search.book((await resources.records.books())[0].book_id)
        await resources.calibrator.calibrate(state, sample_book())
        async with resources.answering() as answering:
            turns = [await _ask(answering, row, state.book_id) for row in (*scored[:5], *scored)][5:]
    answered = [turn for turn in turns if not turn.answer.refused]
    cited = [turn for turn in answered if turn.row["lesson"] in {one.source_file for one in turn.answer.citations}]
    quotes = [one for turn in answered for sentence in turn.answer.sentences for one in sentence.citations]
    exact = [one for one in quotes if _source(one.source_file)[one.span.start : one.span.end] == one.quote]
    unbacked = sum(not sentence.citations for turn in answered for sentence in turn.answer.sentences)
    kinds = sorted({turn.row["kind"] for turn in turns})
    of_kind = {kind: [turn for turn in turns if turn.row["kind"] == kind] for kind in kinds}
    name, count = "sample book", f"{len(turns)}"
    return [
        _share(name, count, "right decision", sum(turn.right for turn in turns), len(turns), 0.95),
        *(
            _share(name, str(len(some)), f"… {kind}", sum(turn.right for turn in some), len(some))
            for kind, some in of_kind.items()
        ),
        _share(name, str(len(answered)), "gold lesson cited", len(cited), len(answered), 0.95),
        _share(name, str(len(quotes)), "quotes exact", len(exact), len(quotes), 1.0),
        (name, str(len(answered)), "sentences without support", str(unbacked), "0", verdict(unbacked == 0)),
        _time(name, count, "ask, p95", [turn.total_ms for turn in turns], 150),
        _time(name, count, "first sentence, p95", [turn.first_ms for turn in answered], 100),
    ]


async def _ask(answering: Any, row: dict[str, Any], book_id: str) -> Turn:
    filters: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row["filters"].items()}
    query = SearchQuery(text="the question", book_id=book_id, **({"hardware_tier_filter": None} | filters))
    said = row["history"]
    history = tuple(
        Exchange(question=asked["content"], answer=told["content"]) for asked, told in zip(said[::2], said[1::2], strict=True)
    )
    began = time.perf_counter()
    first = 0.0
    async for event in answering.answer(Question(text=row["question"], query=query, history=history)):
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
        calibration = await _calibration(resources, state)
        yes, no = [await _levels(resources.assessor, resources, state, calibration, texts) for texts in (own, other)]
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


async def _near(workshop: Workshop) -> list[tuple[str, ...]]:
    ours, single, asked = [], [], 0
    articles = json.loads(SQUAD.read_text(encoding="utf-8"))["data"]
    for article in articles[: 1 if workshop.sizes.questions < 1000 else 4]:
        folder = workshop.folder / "books" / f"article-{article['title']}"
        for number, paragraph in enumerate(article["paragraphs"], start=1):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:03}.md").write_text(paragraph["context"], encoding="utf-8")
        name = f"article-{articles.index(article)}"
        workshop.ingested(name, folder)
        questions = [question for paragraph in article["paragraphs"] for question in paragraph["qas"]]
        questions = random.Random(SEED).sample(questions, min(SQUAD_QUESTIONS, len(questions)))
        async with opened(workshop.data_dir(name)) as resources:
            state = await resources.search.book((await resources.records.books())[0].book_id)
            await resources.calibrator.calibrate(state, folder)
            calibration = await _calibration(resources, state)
            levels = [
                await _levels(
                    resources.assessor,
                    resources,
                    state,
                    calibration,
                    [question["question"] for question in questions if question["is_impossible"] is impossible],
                )
                for impossible in (False, True)
            ]
        yes, no = levels
        ours.append(((yes[:, 0] >= 0.6).mean() + (no[:, 0] < 0.6).mean()) / 2)
        single.append(best_threshold(yes[:, 1], no[:, 1])[1])
        asked += len(questions)
    name, count = "SQuAD, near-unanswerable", str(asked)
    mean, best = float(np.mean(ours)), float(np.mean(single))
    return [
        (name, count, "balanced accuracy, ours", f"{mean:.3f}", "above the next row", verdict(mean > best)),
        (name, count, "… best single cosine threshold", f"{best:.3f}", "", ""),
    ]


async def _levels(
    assessor: Assessor, resources: Resources, state: IngestionState, calibration: Calibration, texts: list[str]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Relevance and top cosine of each question."""
    found = []
    for text in texts:
        query = SearchQuery(text=text, book_id=state.book_id, hardware_tier_filter=None)
        look = await assessor.look(query, state, await resources.embedder.embed_question(text))
        found.append((calibration.relevance(look.signals), look.signals.top_cosine))
    return np.array(found, dtype=np.float64).reshape(-1, 2)


async def _calibration(resources: Resources, state: IngestionState) -> Calibration:
    manifest = (await resources.index.collections())[state.collection_name]
    return Calibration.from_dict(manifest.calibration[state.book_id]["close"])


def _squad_questions() -> list[dict[str, Any]]:
    articles = json.loads(SQUAD.read_text(encoding="utf-8"))["data"]
    return [question for article in articles for paragraph in article["paragraphs"] for question in paragraph["qas"]]


def _source(path: str) -> str:
    return (sample_book() / path).read_bytes().decode("utf-8")


def _share(name: str, count: str, figure: str, good: int, total: int, target: float | None = None) -> tuple[str, ...]:
    share = good / total if total else 0.0
    met = "" if target is None else verdict(share >= target)
    return name, count, figure, f"{share:.1%}", "" if target is None else f"≥ {target:.0%}", met


def _time(name: str, count: str, figure: str, times: list[float], limit: int) -> tuple[str, ...]:
    p95 = sorted(times)[max(0, round(0.95 * len(times)) - 1)] if times else 0.0
    middle = median(times) if times else 0.0
    return name, count, figure, f"{p95:.0f} ms (p50 {middle:.0f})", f"≤ {limit} ms", verdict(p95 <= limit)

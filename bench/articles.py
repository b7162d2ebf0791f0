"""Questions that a book nearly answers: SQuAD articles, each a book of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.alone import opened
from bench.material import SQUAD
from bench.table import verdict
from bench.workshop import Workshop
from bythebook.answering.look import Assessor
from bythebook.grounding.calibration import Calibration, Fit
from bythebook.grounding.weights import best_threshold
from bythebook.index.state import IngestionState
from bythebook.ingestion.calibrator import QUESTIONS_FILE, for_fitting
from bythebook.retrieval.query import Scope
from bythebook.wiring.author import Resources

ARTICLES = 4
"""The others of the file were used for choosing weights."""


async def near_unanswerable(workshop: Workshop) -> list[tuple[str, ...]]:
    """Each article twice: calibrated from its own text, and with half of its questions as its author's."""
    articles = json.loads(SQUAD.read_text(encoding="utf-8"))["data"][: 1 if workshop.sizes.questions < 1000 else ARTICLES]
    parted = [await _article(workshop, article, f"article-{number}") for number, article in enumerate(articles)]
    rows: list[tuple[str, ...]] = []
    for place, name in enumerate(("SQuAD, near-unanswerable", "SQuAD, with questions of the author")):
        some = [both[place] for both in parted]
        ours, single = (float(np.mean(values)) for values in zip(*((one.ours, one.single) for one in some), strict=True))
        count = str(sum(one.asked for one in some))
        rows.append((name, count, "balanced accuracy, ours", f"{ours:.3f}", "above the next row", verdict(ours > single)))
        rows.append((name, count, "… best single cosine threshold", f"{single:.3f}", "", ""))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """How well the questions of one article were parted; `single` by the best cosine threshold there is for them."""

    ours: float
    single: float
    asked: int


async def _article(workshop: Workshop, article: dict[str, Any], name: str) -> tuple[Parted, Parted]:
    folder = workshop.folder / "books" / f"article-{article['title']}"
    folder.mkdir(parents=True, exist_ok=True)
    for number, paragraph in enumerate(article["paragraphs"], start=1):
        (folder / f"{number:03}.md").write_text(paragraph["context"], encoding="utf-8")
    brought = folder / QUESTIONS_FILE
    brought.unlink(missing_ok=True)
    workshop.ingested(name, folder)
    questions = [question for paragraph in article["paragraphs"] for question in paragraph["qas"]]
    async with opened(workshop.data_dir(name)) as resources:
        state = await resources.search.book((await resources.records.books())[0].book_id)
        alone = await _parted(resources, state, folder, questions)
        rows = [{"id": one["id"], "question": one["question"], "answerable": not one["is_impossible"]} for one in questions]
        brought.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        given = await _parted(resources, state, folder, [one for one in questions if not for_fitting(one["id"])])
    brought.unlink()
    return alone, given


async def _parted(resources: Resources, state: IngestionState, folder: Path, questions: list[dict[str, Any]]) -> Parted:
    await resources.calibrator.calibrate(state, folder)
    calibration = await stored_calibration(resources, state)
    sides = [[one["question"] for one in questions if one["is_impossible"] is impossible] for impossible in (False, True)]
    yes, no = [await levels(resources.assessor, resources, state, calibration, texts) for texts in sides]
    ours = ((yes[:, 0] >= 0.6).mean() + (no[:, 0] < 0.6).mean()) / 2
    return Parted(ours=float(ours), single=best_threshold(yes[:, 1], no[:, 1])[1], asked=len(questions))


async def levels(
    assessor: Assessor, resources: Resources, state: IngestionState, calibration: Calibration, texts: list[str]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Relevance and top cosine of each question."""
    found = []
    for text in texts:
        query = Scope(book_id=state.book_id).search(text)
        look = await assessor.look(query, state, await resources.embedder.embed_question(text))
        found.append((calibration.relevance(look.signals), look.signals.top_cosine))
    return np.array(found, dtype=np.float64).reshape(-1, 2)


async def stored_calibration(resources: Resources, state: IngestionState) -> Calibration:
    manifest = (await resources.index.collections())[state.collection_name]
    fit = Fit.read(manifest.calibration[state.book_id])
    assert fit is not None
    return fit.close

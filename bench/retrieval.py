"""Whether the right lesson is found: the product's search against BM25 alone and embeddings alone, in the same index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench.alone import opened
from bench.material import (
    CLAPNQ,
    CURRICULUM_QUESTIONS,
    SQUAD,
    Question,
    clapnq_book,
    curriculum_questions,
    sample_questions,
    squad_book,
)
from bench.ranking import Quality, quality, rank_of
from bench.table import Table, verdict
from bench.workshop import Workshop
from bythebook.index.lexical import query_terms
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Candidate
from bythebook.retrieval.query import MAX_LIMIT, Scope
from bythebook.retrieval.search import DEPTH
from bythebook.wiring.author import Resources

SHORT_RECALL_TARGET = 0.95
OURS, BM25, DENSE = "By the Book", "BM25 alone", "embeddings alone"

Ranks = dict[str, list[int | None]]
"""For each method the rank of the gold lesson, question by question."""


def retrieval(workshop: Workshop) -> Table:
    rows = _sample_rows(workshop) + _curriculum_rows(workshop)
    if SQUAD.exists():
        rows += _passage_rows(workshop, "squad", "SQuAD 2.0, half", squad_book)
    if all(path.exists() for path in CLAPNQ):
        rows += _passage_rows(workshop, "clapnq", "CLAP NQ", clapnq_book)
    absent = [path.name for path in (CURRICULUM_QUESTIONS, SQUAD, *CLAPNQ) if not path.exists()]
    skipped = f" Left out, because ../shared/data is not there: {', '.join(absent)}." if absent else ""
    return Table(
        title="Retrieval",
        columns=("questions", "n", "method", "recall@1", "recall@5", "recall@10", "MRR@10", "nDCG@10", "target", ""),
        rows=tuple(rows),
        note="One lesson is right for each question; a result counts when it is a chunk of that lesson. The results are the "
        f"best {MAX_LIMIT} chunks, as a reader sees them, repeated text dropped, every tier let through. The three "
        "methods share one index: alone means that candidates are ordered by that score only. SQuAD and CLAP NQ: each paragraph "
        "is a lesson under its article's title. Our search must be ahead of both in every figure, or at 1; a tie is not enough. "
        "Its weights were chosen on questions of the curriculum and of SQuAD, so those rows flatter it; the sample book and "
        f"CLAP NQ are the fairer test.{skipped}",
    )


def _sample_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    workshop.sample()
    questions = sample_questions()[: workshop.sizes.questions]
    return rows_for("sample book", asyncio.run(ranks(workshop, "sample", questions)))


def _curriculum_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    if not workshop.curriculum() or not CURRICULUM_QUESTIONS.exists():
        return []
    questions = curriculum_questions()[: workshop.sizes.questions]
    found = asyncio.run(ranks(workshop, "curriculum", questions))
    short = _only(found, [question.kind == "short" for question in questions])
    rows = rows_for("curriculum, all", found)
    rows += rows_for("curriculum, mc", _only(found, [question.kind == "mc" for question in questions]))
    rows += rows_for("curriculum, short", short)
    recall = quality(short[OURS]).recall_at_5
    met = verdict(recall >= SHORT_RECALL_TARGET)
    rows.append(
        (
            "curriculum, short",
            f"{len(short[OURS]):,}",
            OURS,
            "",
            f"{recall:.3f}",
            "",
            "",
            "",
            f"recall@5 >= {SHORT_RECALL_TARGET}",
            met,
        )
    )
    return rows


def _passage_rows(workshop: Workshop, name: str, title: str, make: Callable[[Path], list[Question]]) -> list[tuple[str, ...]]:
    folder = workshop.folder / "books" / name
    questions = make(folder)[: workshop.sizes.questions]
    workshop.ingested(name, folder)
    return rows_for(title, asyncio.run(ranks(workshop, name, questions)))


def rows_for(name: str, found: Ranks) -> list[tuple[str, ...]]:
    scored = {method: quality(found[method]) for method in (BM25, DENSE, OURS)}
    count = f"{len(found[OURS]):,}"
    rows = [(name, count, method, *_figures(scored[method]), "", "") for method in (BM25, DENSE)]
    return [*rows, (name, count, OURS, *_figures(scored[OURS]), "ahead of both", verdict(ahead(scored)))]


def ahead(scored: Mapping[str, Quality]) -> bool:
    """Whether ours is better than each of the others in every figure; where ours is 1, there is no better."""
    ours = scored[OURS].figures()
    others = [scored[method].figures() for method in (BM25, DENSE)]
    return all(mine > theirs or mine == 1.0 for other in others for mine, theirs in zip(ours, other, strict=True))


async def ranks(workshop: Workshop, name: str, questions: Sequence[Question]) -> Ranks:
    found: Ranks = {OURS: [], BM25: [], DENSE: []}
    async with opened(workshop.data_dir(name)) as resources:
        state = await resources.search.book((await resources.records.books())[0].book_id)
        for question in questions:
            for method, order in (await _orders(resources, state, question.text)).items():
                found[method].append(rank_of(question.lesson, order))
    return found


async def _orders(resources: Resources, state: IngestionState, text: str) -> dict[str, list[str]]:
    """The lessons each method finds, best first."""
    query = Scope(book_id=state.book_id, limit=MAX_LIMIT).search(text)
    embedding = await resources.embedder.embed_question(text)
    candidates = await resources.index.candidates(
        state.collection_name,
        embedding=embedding,
        terms=query_terms(text, state.language),
        filters=query.filters,
        depth=DEPTH,
        exact=True,
    )
    response = await resources.book_search.search_embedded(query, state, embedding)
    return {
        OURS: [result.source_file for result in response.results],
        BM25: await _ordered(resources, state, candidates, lambda candidate: candidate.lexical),
        DENSE: await _ordered(resources, state, candidates, lambda candidate: candidate.cosine),
    }


async def _ordered(
    resources: Resources, state: IngestionState, candidates: Iterable[Candidate], score: Callable[[Candidate], float]
) -> list[str]:
    best = sorted(candidates, key=lambda candidate: (-score(candidate), candidate.id))
    held = await resources.index.chunks(state.collection_name, state.book_id, [candidate.id for candidate in best])
    lessons: dict[str, str] = {}
    for one in held:
        lessons.setdefault(one.chunk.content_hash, one.chunk.source_file)
    return list(lessons.values())[:MAX_LIMIT]


def _only(found: Ranks, wanted: Sequence[bool]) -> Ranks:
    return {method: [rank for rank, keep in zip(all_ranks, wanted, strict=True) if keep] for method, all_ranks in found.items()}


def _figures(scored: Quality) -> tuple[str, ...]:
    return tuple(f"{figure:.3f}" for figure in scored.figures())

"""Looking at a question: retrieve, read the pool's sentences, and put what was seen into signals and relevance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bythebook.books.chunking import embedded_text
from bythebook.grounding.calibration import Calibration
from bythebook.grounding.confidence import POOL, ConfidenceMetrics, assess
from bythebook.grounding.signals import Glance, Scores, Signals, glance, measure
from bythebook.index.lexical import FULL_WEIGHT, words
from bythebook.index.state import IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.retrieval.query import SearchQuery
from bythebook.retrieval.rarity import read_rarity
from bythebook.retrieval.reading import Reader
from bythebook.retrieval.search import Retrieval, Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at the book saw."""

    found: Retrieval
    signals: Signals

    @property
    def glance(self) -> Glance:
        return glance(_scores(self.found), self.found.hits[0].closeness if self.found.hits else 0.0)

    @property
    def top_above_mean(self) -> float:
        pool = [hit.score for hit in self.found.hits[:POOL]]
        return pool[0] - sum(pool) / len(pool) if pool else 0.0


class Assessor:
    def __init__(self, *, search: Search, index: VectorIndex, reader: Reader) -> None:
        self._search = search
        self._index = index
        self._reader = reader

    async def look(
        self, query: SearchQuery, state: IngestionState, embedding: NDArray[np.float32], *, without: Collection[str] = ()
    ) -> Look:
        found = await self._search.retrieve(query, state, embedding, with_vectors=True, without=without)
        stems = [stem for _, _, stem in words(query.text, state.language)]
        rarity = await read_rarity(self._index, state, stems)
        pool = [hit.chunk for hit in found.hits[:POOL]]
        read = await self._reader.read(query.text, pool, state.language, rarity=rarity.by_stem, embedding=embedding)
        signals = measure(
            rarity.by_stem,
            most_rare=rarity.most,
            full_weight=FULL_WEIGHT,
            candidates=_scores(found),
            pool=[frozenset(stem for _, _, stem in words(embedded_text(chunk), state.language)) for chunk in pool],
            sentences=[(statement.cosine, statement.coverage) for statement in read],
        )
        return Look(found=found, signals=signals)


def relevances(look: Look, calibration: Calibration | None) -> list[float]:
    """Of each hit, on the calibrated scale; without a calibration the cosine stands for it."""
    if calibration is None:
        return [hit.cosine for hit in look.found.hits]
    pool = [hit.score for hit in look.found.hits[:POOL]]
    mean = sum(pool) / len(pool) if pool else 0.0
    overall = calibration.relevance(look.signals)
    return [calibration.of_result(overall, hit.score - mean) for hit in look.found.hits]


def confidence(look: Look, levels: list[float]) -> ConfidenceMetrics:
    pool = look.found.hits[:POOL]
    return assess(levels[:POOL], [hit.embedding for hit in pool if hit.embedding is not None])


def _scores(found: Retrieval) -> list[Scores]:
    return [Scores(cosine=candidate.cosine, lexical=candidate.lexical) for candidate in found.candidates]

"""Search as a reader meets it: the results of one retrieval, each with its relevance, and how many chunks were searched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bythebook.grounding.calibration import Calibration, Fit, Scores, glance
from bythebook.grounding.verdict import POOL
from bythebook.index.manifest import Manifest
from bythebook.index.state import IngestionState
from bythebook.index.vectors import VectorIndex
from bythebook.retrieval.query import SearchQuery, SearchResponse
from bythebook.retrieval.search import Retrieval, Search, to_result


class BookSearch:
    """Searches a book without reading passages closely, as answering a question does: relevance then takes a tenth of the time,
    and is less certain."""

    def __init__(self, *, search: Search, index: VectorIndex) -> None:
        self._search = search
        self._index = index

    async def search(self, query: SearchQuery) -> SearchResponse:
        return await self.search_served(query, *await self._search.served(query.book_id))

    async def search_served(self, query: SearchQuery, state: IngestionState, manifest: Manifest) -> SearchResponse:
        """Searches a book whose state and manifest are known already."""
        return await self.search_embedded(query, state, await self._search.embed(query.text), quick_fit(manifest, state))

    async def search_embedded(
        self, query: SearchQuery, state: IngestionState, embedding: NDArray[np.float32], fit: Calibration | None = None
    ) -> SearchResponse:
        """Searches with an embedding of the question that is known already. Without a fit, results have no relevance."""
        return await self._search.read(state, lambda now: self._found(query, now, embedding, fit))

    async def _found(
        self, query: SearchQuery, state: IngestionState, embedding: NDArray[np.float32], fit: Calibration | None
    ) -> SearchResponse:
        found = await self._search.retrieve(query, state, embedding, most=max(query.limit, POOL))
        levels = _relevances(found, fit)
        results = [
            (hit, level)
            for hit, level in zip(found.hits, levels, strict=True)
            if (hit.cosine if level is None else level) >= query.similarity_threshold
        ][: query.limit]
        return SearchResponse(
            query=query.text,
            results=tuple(to_result(rank, hit, level) for rank, (hit, level) in enumerate(results, start=1)),
            total_found=await self._index.count(state.collection_name, query.filters),
            hardware_tier_filter=query.hardware_tier_filter,
            module_filter=query.module_filter,
            book_id=query.book_id,
            filter_applied=query.prefix_filter,
        )


def quick_fit(manifest: Manifest, state: IngestionState) -> Calibration | None:
    fit = Fit.read(manifest.calibration.get(state.book_id))
    return fit.quick if fit else None


def _relevances(found: Retrieval, fit: Calibration | None) -> Sequence[float | None]:
    if fit is None or not found.hits:
        return [None] * len(found.hits)
    scores = [Scores(cosine=candidate.cosine, lexical=candidate.lexical) for candidate in found.candidates]
    overall = fit.relevance(glance(scores, found.hits[0].closeness))
    pool = [hit.score for hit in found.hits[:POOL]]
    mean = sum(pool) / len(pool)
    return [fit.of_result(overall, hit.score - mean) for hit in found.hits]

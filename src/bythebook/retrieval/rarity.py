"""How rare a question's words are in a book, asked of the engine that weighs by it. Nothing is kept beside the index, so
nothing can be out of step with it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass

from bythebook.index.lexical import term_id
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, Terms, VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Rarity:
    """The IDF of each stem. `most` is that of a stem no chunk has."""

    by_stem: dict[str, float]
    most: float


async def read_rarity(index: VectorIndex, state: IngestionState, stems: Iterable[str]) -> Rarity:
    """A search for one term alone scores its IDF times its weight in the chunk found; the weight is known."""
    filters = Filters(book_id=state.book_id)
    terms = {stem: term_id(stem) for stem in dict.fromkeys(stems)}
    alone = [Terms(ids=(term,), weights=(1.0,)) for term in terms.values()]
    searches = [index.candidates(state.collection_name, embedding=None, terms=one, filters=filters, depth=1) for one in alone]
    found = await asyncio.gather(*searches)
    best = {term: candidates[0] for term, candidates in zip(terms.values(), found, strict=True) if candidates}
    ids = list(dict.fromkeys(candidate.id for candidate in best.values()))
    held = await index.chunks(state.collection_name, state.book_id, ids, with_vectors=True)
    weights = {one.chunk.id: dict(zip(one.terms.ids, one.terms.weights, strict=True)) for one in held if one.terms is not None}
    chunks = await index.count(state.collection_name, filters)
    most = math.log(1 + (chunks + 0.5) / 0.5)
    idf = {
        term: candidate.lexical / weights[candidate.id][term]
        for term, candidate in best.items()
        if term in weights.get(candidate.id, {})
    }
    return Rarity(by_stem={stem: idf.get(term, most) for stem, term in terms.items()}, most=most)

"""How rare a question's words are in a book, asked of the engine that weighs by it: nothing can be out of step with it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bythebook.index.lexical import term_id
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Rarity:
    """The IDF of each stem. `most` is that of a stem no chunk has."""

    by_stem: dict[str, float]
    most: float


async def read_rarity(index: VectorIndex, state: IngestionState, stems: Iterable[str]) -> Rarity:
    terms = {stem: term_id(stem) for stem in stems}
    idf = await index.idf(state.collection_name, state.book_id, list(terms.values()))
    chunks = await index.count(state.collection_name, Filters(book_id=state.book_id))
    most = math.log(1 + (chunks + 0.5) / 0.5)
    return Rarity(by_stem={stem: idf.get(term, most) for stem, term in terms.items()}, most=most)

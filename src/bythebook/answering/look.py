"""Assesses a question on a book: retrieves passages, reads their sentences, and computes signals and relevance from them. The
result is a `Look`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bythebook.grounding.answerability import AuthoredScale, RankedScale, Scale
from bythebook.grounding.calibration import Glance, RankedSignals, Scores, Signals, glance, measure, with_ranking
from bythebook.grounding.verdict import POOL, ConfidenceMetrics, assess
from bythebook.index.lexical import term_id, words
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.retrieval.answer_shapes import gives
from bythebook.retrieval.query import MAX_LIMIT, MAX_TEXT, SearchQuery
from bythebook.retrieval.question_words import asked_about, lacking, names, negates, placed_in, weighed
from bythebook.retrieval.search import RankedChunk, Retrieval, Search, similarity
from bythebook.retrieval.sentence_reader import ReadStatement, SentenceReader, all_stems, surroundings

EVERYWHERE = 1.5
"""A word with an IDF below this is in a quarter of the chunks or more."""
READ_THROUGH = 10
"""How many of the hits the reader reads before five of them are taken. Of questions in quite other words than the book's, a
seventh have their answer in none of the first five, and a third of these in one of the next five."""
READER_WEIGHT = 0.1
"""The weight of a passage's best statement, as the reader scores it, beside the search's score."""
NEXT, BEST, CLOSEST = 2, 3, 6
"""How many of the best sentences are embedded again with the question before them, are checked for a negation, and have the
names of the question looked for around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The result of assessing one question on one book."""

    found: Retrieval
    signals: Signals
    rarity: Mapping[str, float]
    """How rare each stem of the question is in the whole book."""
    ranking: RankedSignals | None = None
    """The signals together with the ranking's scores; None where the ranking was not fitted to the embedder or the language."""

    @property
    def glance(self) -> Glance:
        return glance(_scores(self.found), self.found.hits[0].closeness if self.found.hits else 0.0)

    @property
    def top_above_mean(self) -> float:
        pool = [hit.score for hit in self.found.hits[:POOL]]
        return pool[0] - sum(pool) / len(pool) if pool else 0.0


class Assessor:
    """Assesses questions on a book: what was found, how relevant it is, and how sure that makes an answer."""

    def __init__(self, *, search: Search, index: VectorIndex, reader: SentenceReader) -> None:
        """`reader`: reads the sentences. Looks have a ranking where it has one."""
        self._search = search
        self._index = index
        self._reader = reader
        self.answers = reader.answers

    async def look(
        self,
        query: SearchQuery,
        state: IngestionState,
        embedding: NDArray[np.float32],
        *,
        before: str = "",
        by_ranking: bool = False,
        without: Collection[str] = (),
    ) -> Look:
        """Assesses a question with its `embedding`. `before`: what was said before it, which the search includes and the reading
        does not. `by_ranking`: the ranking's fit decides, which does not need `said_already`. `without`: chunks to leave out."""
        searched, near = query, embedding
        if before:
            room = max(0, MAX_TEXT - len(query.text) - 1)
            searched = replace(query, text=f"{before[:room]} {query.text}".strip())
            near = await self._search.embed(searched.text)

        async def find(now: IngestionState) -> Retrieval:
            embedded = MAX_LIMIT if before else READ_THROUGH
            found = await self._search.retrieve(searched, now, near, embedded=embedded, without=without)
            if not before:
                return found
            hits = tuple(_as_asked(hit, embedding) for hit in found.hits)
            return replace(found, query=query, embedding=embedding, hits=hits)

        async def look(now: IngestionState) -> Look:
            return await self._look(query, now, embedding, find(now), by_ranking=by_ranking)

        return await self._search.read(state, look)

    async def unplaced(self, text: str, state: IngestionState) -> str:
        """The question without "in ROS 2" where the whole book is about ROS 2: such words are in every chunk and only distract
        the search."""
        placed = placed_in(text, state.language)
        if not placed:
            return text
        asked, place = placed
        title, stems = ({stem for _, _, stem in words(one, state.language)} for one in (state.title, place))
        named = place != place.lower() or any(letter.isdigit() for letter in place)
        if not stems or not (stems <= title or named):
            return text
        rarity = {} if stems <= title else (await read_rarity(self._index, state, stems)).by_stem
        return f"{asked}?" if all(idf < EVERYWHERE for idf in rarity.values()) else text

    async def _look(
        self,
        query: SearchQuery,
        state: IngestionState,
        embedding: NDArray[np.float32],
        find: Awaitable[Retrieval],
        *,
        by_ranking: bool,
    ) -> Look:
        about = asked_about(query.text, state.language)
        if not (asked := words(about, state.language)):
            about, asked = query.text, words(query.text, state.language)
        found, rarity = await asyncio.gather(find, read_rarity(self._index, state, [stem for _, _, stem in asked]))
        found = await self._read_through(query.text, found, state.language)
        pool = [hit.chunk for hit in found.hits[:POOL]]
        reading = partial(self._reader.read, query.text, pool, state.language, rarity=rarity.by_stem, embedding=embedding)
        ranks = self._reader.ranks(state.language)
        read, ranked = await asyncio.gather(reading(by_signs=True), reading() if ranks else _nothing())
        known = [stem for stem, idf in rarity.by_stem.items() if idf < rarity.most]
        wanted = names(query.text, state.language, known=known)
        signals = measure(
            weighed(asked, rarity.by_stem, most=rarity.most, question=about),
            most_rare=rarity.most,
            candidates=_scores(found),
            pool=[all_stems(chunk, state.language) for chunk in pool],
            cosines=[one.cosine for one in read],
            lacking=[lacking(wanted, surroundings(one, state.language)) for one in read[:CLOSEST]] or [wanted],
            contrary=negates(query.text, state.language)
            and not any(negates(one.statement.readable, state.language) for one in read[:BEST]),
            kind_found=gives(query.text, [one.statement.readable for one in read[:BEST]], state.language),
            said_already=0.0 if by_ranking else await self._reader.said_already(query.text, read[:NEXT]),
        )
        scores = [(one.ranked, one.answers) for one in ranked if one.ranked is not None]
        ranking = with_ranking(signals, scores) if scores else None
        return Look(found=found, signals=signals, rarity=rarity.by_stem, ranking=ranking)

    async def _read_through(self, question: str, found: Retrieval, language: str) -> Retrieval:
        """The hits in the order that the reader and the search give them together. The scores stay those of the search, so that
        the first stands as far above the others as before."""
        hits = found.hits[:READ_THROUGH]
        answers = await self._reader.best_answers(question, [hit.chunk for hit in hits], language)
        if not answers:
            return found
        both = [hit.score + READER_WEIGHT * answer for hit, answer in zip(hits, answers, strict=True)]
        order = sorted(range(len(hits)), key=lambda place: -both[place])
        ordered = (replace(hits[place], score=hit.score) for place, hit in zip(order, hits, strict=True))
        return replace(found, hits=(*ordered, *found.hits[READ_THROUGH:]))


def _as_asked(hit: RankedChunk, embedding: NDArray[np.float32]) -> RankedChunk:
    """The result with the cosine of the question itself: a source shows that, whatever else was searched for."""
    if hit.embedding is None:
        return hit
    return replace(hit, cosine=similarity(float(embedding @ hit.embedding)))


async def _nothing() -> tuple[ReadStatement, ...]:
    return ()


def relevances(look: Look, scale: Scale | None) -> list[float]:
    """The relevance of each result on the fitted scale; without a scale, its cosine."""
    if scale is None:
        return [hit.cosine for hit in look.found.hits]
    pool = [hit.score for hit in look.found.hits[:POOL]]
    mean = sum(pool) / len(pool) if pool else 0.0
    overall = _overall(look, scale)
    return [scale.of_result(overall, hit.score - mean) for hit in look.found.hits]


def _overall(look: Look, scale: Scale) -> float:
    """The relevance of the question as a whole. It is 0 where no statement was found: there is nothing to answer from."""
    if isinstance(scale, RankedScale):
        return scale.relevance(look.ranking) if look.ranking else 0.0
    if isinstance(scale, AuthoredScale):
        return scale.relevance(look.signals, look.ranking) if look.ranking else 0.0
    return scale.relevance(look.signals)


def confidence(look: Look, levels: list[float]) -> ConfidenceMetrics:
    pool = look.found.hits[:POOL]
    embeddings = [hit.embedding for hit in pool if hit.embedding is not None]
    return assess(levels[:POOL], embeddings, all_there_is=len(look.found.candidates) <= len(pool))


def _scores(found: Retrieval) -> list[Scores]:
    return [Scores(cosine=candidate.cosine, lexical=candidate.lexical) for candidate in found.candidates]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rarity:
    """The IDF of each stem. `most` is that of a stem that no chunk has."""

    by_stem: dict[str, float]
    most: float


async def read_rarity(index: VectorIndex, state: IngestionState, stems: Iterable[str]) -> Rarity:
    terms = {stem: term_id(stem) for stem in stems}
    idf = await index.idf(state.collection_name, state.book_id, list(terms.values()))
    chunks = await index.count(state.collection_name, Filters(book_id=state.book_id))
    most = math.log(1 + (chunks + 0.5) / 0.5)
    return Rarity(by_stem={stem: idf.get(term, most) for stem, term in terms.items()}, most=most)

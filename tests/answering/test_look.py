"""One look at a book: what was found, what it says as signals, and the relevance of each result."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bythebook.answering.look import Assessor, Look, confidence, relevances
from bythebook.grounding.verdict import POOL, chunk_diversity
from bythebook.index.manifest import served_books
from bythebook.retrieval.query import Scope
from bythebook.settings import read_settings
from bythebook.wiring.reader import open_library
from tests.support.lighthouse import FOREIGN, WICK, Lighthouse, tell
from tests.support.sample_library import sample_library


async def look(light: Lighthouse, text: str, *, without: frozenset[str] = frozenset(), layer: str | None = None) -> Look:
    state = await light.library.search.book("light")
    query = Scope(book_id="light", layer_filter=layer).search(text)
    return await light.assessor.look(query, state, await light.library.embedder.embed_question(text), without=without)


def test_a_question_the_book_answers_and_one_it_does_not(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        own, foreign = await look(light, WICK), await look(light, FOREIGN)
        assert own.found.hits[0].chunk.page_title == "Wicks and oil"
        assert own.signals.known_share > 0.6 > foreign.signals.known_share == 0.0
        assert own.signals.sentence_cosine > foreign.signals.sentence_cosine
        assert own.signals.rare_coverage > 0.5 > foreign.signals.rare_coverage == 0.0
        assert own.glance.top_cosine == own.signals.top_cosine
        assert own.top_above_mean > 0

    tell(folder, story)


def test_what_is_held_out_is_not_seen(folder: Path) -> None:
    """A lesson held out turns a question into one that the book does not answer."""

    async def story(light: Lighthouse) -> None:
        whole = await look(light, WICK)
        wicks = frozenset(hit.chunk.id for hit in whole.found.hits if hit.chunk.page_title == "Wicks and oil")
        without = await look(light, WICK, without=wicks)
        assert not wicks & {hit.chunk.id for hit in without.found.hits}
        assert without.signals.rare_coverage < whole.signals.rare_coverage
        calibration = await light.calibration()
        assert calibration.relevance(without.signals) < 0.6 < calibration.relevance(whole.signals)

    tell(folder, story)


def test_relevance_falls_with_the_rank_and_without_a_calibration_it_is_the_cosine(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        seen = await look(light, WICK)
        levels = relevances(seen, await light.calibration())
        assert levels == sorted(levels, reverse=True)
        assert all(0.0 <= level <= 1.0 for level in levels)
        assert relevances(seen, None) == [hit.cosine for hit in seen.found.hits]

    tell(folder, story)


def test_confidence_is_of_the_first_five_with_their_real_embeddings(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        seen = await look(light, WICK)
        assert len(seen.found.hits) > 5
        metrics = confidence(seen, relevances(seen, None))
        assert metrics.num_chunks == 5
        assert metrics.average_similarity == pytest.approx(sum(hit.cosine for hit in seen.found.hits[:5]) / 5)
        embeddings = [hit.embedding for hit in seen.found.hits[:5] if hit.embedding is not None]
        assert metrics.chunk_diversity == chunk_diversity(embeddings) > 0.1

    tell(folder, story)


def test_nothing_to_look_at(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        seen = await look(light, WICK, layer="L4")
        assert seen.found.hits == ()
        assert (seen.top_above_mean, seen.glance.top_cosine, seen.signals.top_cosine) == (0.0, 0.0, 0.0)
        assert relevances(seen, await light.calibration()) == []
        assert confidence(seen, []).confidence_level == "insufficient"

    tell(folder, story)


def test_a_passage_in_other_words_that_search_finds_late_comes_forward(folder: Path) -> None:
    asked = "Where should the big language model run, on the robot or somewhere else?"
    answer = "A large language model may run elsewhere"

    async def places() -> list[int]:
        async with open_library(read_settings(data_dir=sample_library(folder)), embeds=True) as library:
            (book_id,) = served_books(await library.index.collections())
            state, embedding = await library.search.book(book_id), await library.embedder.embed_question(asked)
            query = Scope(book_id=book_id, limit=POOL).search(asked)
            assessor = Assessor(search=library.search, index=library.index, reader=library.sentence_reader)
            found = await library.search.retrieve(query, state, embedding)
            seen = await assessor.look(query, state, embedding)
            scores = [hit.score for hit in seen.found.hits]
            assert scores == sorted(scores, reverse=True)
            hits = (found.hits, seen.found.hits)
            return [[answer in one.chunk.text for one in each].index(True) for each in hits]

    by_search, by_reader = asyncio.run(places())
    assert by_search >= POOL > by_reader

"""An embedder that remembers across processes, on both databases."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bythebook.database.engine import Database
from bythebook.embedding.batches import CachedEmbedder, EmbeddingCache
from tests.support.databases import tell
from tests.support.fakes.small_embedder import SmallEmbedder

TEXTS = ["a node", "a topic", "a node"]


def test_a_text_is_embedded_once_whoever_asks(database_address: str | None, folder: Path) -> None:
    async def story(database: Database) -> None:
        small = SmallEmbedder()
        first = await CachedEmbedder(small, EmbeddingCache(database)).embed_lessons(TEXTS)
        again = await CachedEmbedder(small, EmbeddingCache(database)).embed_lessons([*TEXTS, "a service"])
        assert small.embedded == ["a node", "a topic", "a service"]
        assert np.array_equal(first, again[:3])
        assert np.array_equal(again, await SmallEmbedder().embed_lessons([*TEXTS, "a service"]))

    tell(database_address, folder, story)


def test_a_question_is_not_taken_for_a_lesson(folder: Path) -> None:
    class Particular(SmallEmbedder):
        """Tells questions from lessons, as some servers do."""

        asked = 0

        async def embed_question(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            self.asked += 1
            return -await super().embed_question(text)

    async def story(database: Database) -> None:
        particular = Particular()
        cached = CachedEmbedder(particular, EmbeddingCache(database))
        (lesson,) = await cached.embed_lessons(["a node"])
        assert np.array_equal(await cached.embed_question("a node"), -lesson)
        assert np.array_equal(await cached.embed_question("a node"), -lesson)
        assert particular.asked == 1

    tell(None, folder, story)


def test_another_embedder_has_its_own(folder: Path) -> None:
    async def story(database: Database) -> None:
        cache = EmbeddingCache(database)
        one = await CachedEmbedder(SmallEmbedder("one@1"), cache).embed_lessons(["a node"])
        other = await CachedEmbedder(SmallEmbedder("other@1"), cache).embed_lessons(["a node"])
        assert not np.array_equal(one, other)

    tell(None, folder, story)

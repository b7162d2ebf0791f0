"""The product's embedding weights, for libraries that want a plain function."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache

from bythebook.embedding.granite import GraniteEmbedder


class Weights:
    def __init__(self) -> None:
        self._embedder = GraniteEmbedder()
        self._runner = asyncio.Runner()

    def lessons(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(number) for number in vector] for vector in self._runner.run(self._embedder.embed_lessons(list(texts)))]

    def question(self, text: str) -> list[float]:
        return [float(number) for number in self._runner.run(self._embedder.embed_question(text))]


@cache
def weights() -> Weights:
    return Weights()

"""Evidence: what was found, put in order for a drafter and a reader, labelled [1], [2] …"""

from __future__ import annotations

from dataclasses import dataclass

from bythebook.books.model import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One or several neighbouring chunks of a lesson, in book order. `score` and `relevance` are the best chunk's."""

    label: int
    passages: tuple[Chunk, ...]
    score: float
    relevance: float

    @property
    def text(self) -> str:
        return "\n\n".join(passage.text for passage in self.passages)

    @property
    def first(self) -> Chunk:
        return self.passages[0]

"""Evidence: the passages that were found, ordered for a drafter and a reader, and labelled [1], [2] …"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bythebook.books.chunker import size
from bythebook.books.model import Chunk

Hit = tuple[Chunk, float, float]
"""A chunk that was found, its cosine and its relevance."""
MOST_PASSAGES = 4
"""The most chunks under one label: a reader has to find the sentence again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One or more neighbouring chunks of a lesson, in book order. `score` and `relevance` are those of the best chunk; `scores`
    has each chunk's own by its id, where they are known."""

    label: int
    passages: tuple[Chunk, ...]
    score: float
    relevance: float
    scores: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        return "\n\n".join(passage.text for passage in self.passages)

    @property
    def first(self) -> Chunk:
        return self.passages[0]

    def scores_of(self, chunk: Chunk) -> tuple[float, float]:
        """The chunk's own cosine and relevance."""
        return self.scores.get(chunk.id, (self.score, self.relevance))


@dataclass(slots=True, kw_only=True)
class _Group:
    """Passages that are being joined to one evidence."""

    passages: list[Chunk]
    score: float
    relevance: float
    scores: dict[str, tuple[float, float]]

    def adjoins(self, chunk: Chunk) -> bool:
        return _follows(self.passages[-1], chunk) or _follows(chunk, self.passages[0])

    def join(self, other: _Group) -> None:
        self.passages = sorted([*self.passages, *other.passages], key=lambda chunk: chunk.chunk_index)
        self.scores |= other.scores


def gather(hits: Sequence[Hit], *, budget_tokens: int | None) -> tuple[Evidence, ...]:
    """The hits as evidence: whole chunks, best first, together within the budget, if there is one. Neighbours are joined. Only
    hits are used, so that everything an answer cites is among the results, with its own scores."""
    return tuple(
        Evidence(
            label=label,
            passages=tuple(group.passages),
            score=group.score,
            relevance=group.relevance,
            scores=group.scores,
        )
        for label, group in enumerate(_grouped(_distinct(hits), budget_tokens), start=1)
    )


def _distinct(hits: Sequence[Hit]) -> list[Hit]:
    """Drops repeated text: of two chunks of which one contains the other, the larger stays, at the better rank."""
    kept: list[tuple[str, Hit]] = []
    for hit in hits:
        text = " ".join(hit[0].text.split())
        if any(text in other for other, _ in kept):
            continue
        inside = [position for position, (other, _) in enumerate(kept) if other in text]
        if not inside:
            kept.append((text, hit))
            continue
        kept[inside[0]] = (text, hit)
        for position in reversed(inside[1:]):
            del kept[position]
    return [hit for _, hit in kept]


def _grouped(hits: Sequence[Hit], budget: int | None) -> list[_Group]:
    groups: list[_Group] = []
    for chunk, score, relevance in hits if budget is None else _within(hits, budget):
        own = _Group(passages=[chunk], score=score, relevance=relevance, scores={chunk.id: (score, relevance)})
        beside = [group for group in groups if group.adjoins(chunk)]
        if beside and sum(len(group.passages) for group in beside) < MOST_PASSAGES:
            for one in (own, *beside[1:]):
                beside[0].join(one)
            groups = [group for group in groups if group not in beside[1:]]
        else:
            groups.append(own)
    return groups


def _within(hits: Sequence[Hit], budget: int) -> Iterator[Hit]:
    """The hits that fit into the budget together. One that does not fit is passed over; a later, shorter one may."""
    for hit in hits:
        if (tokens := size(hit[0].text)) <= budget:
            budget -= tokens
            yield hit


def _follows(one: Chunk, other: Chunk) -> bool:
    return one.parent_doc_id == other.parent_doc_id and one.next_chunk_id == other.id and other.prev_chunk_id == one.id


def merge(old: tuple[Evidence, ...], new: tuple[Evidence, ...]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Adds new evidence: earlier evidence keeps its labels, new evidence gets the next ones. What was found is all of the new
    passages, under the labels that they have already, if they have one."""
    known = {passage.id: evidence for evidence in old for passage in evidence.passages}
    together, found = list(old), []
    for evidence in new:
        found += [known[passage.id] for passage in evidence.passages if passage.id in known]
        if unknown := tuple(passage for passage in evidence.passages if passage.id not in known):
            labelled = replace(evidence, label=len(together) + 1, passages=unknown)
            together.append(labelled)
            found.append(labelled)
    return tuple(together), tuple(dict.fromkeys(found))

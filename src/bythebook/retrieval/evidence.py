"""Evidence: what was found, put in order for a drafter and a reader, labelled [1], [2] …"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bythebook.books.model import Chunk
from bythebook.books.token_size import SMALL, size
from bythebook.index.state import IngestionState
from bythebook.index.vectors import VectorIndex

Hit = tuple[Chunk, float, float]
"""A chunk that was found, its cosine and its relevance."""
MOST_PASSAGES = 4
"""Chunks one label may stand for: a reader has to find the sentence again."""
HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
GOES_ON = re.compile(r"[ \t]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|\||[a-z])")


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


@dataclass(slots=True, kw_only=True)
class _Group:
    """Passages on their way to be one evidence."""

    passages: list[Chunk]
    score: float
    relevance: float

    def adjoins(self, chunk: Chunk) -> bool:
        return _follows(self.passages[-1], chunk) or _follows(chunk, self.passages[0])

    def add(self, chunks: Sequence[Chunk]) -> None:
        self.passages = sorted([*self.passages, *chunks], key=lambda chunk: chunk.chunk_index)


async def gather(
    index: VectorIndex,
    state: IngestionState,
    hits: Sequence[Hit],
    *,
    limit: int,
    budget_tokens: int = 3000,
    merge: bool = True,
) -> tuple[Evidence, ...]:
    """At most `limit` evidences of whole chunks, best first, together within the budget. With `merge`, hits that adjoin
    become one, and a hit that does not read well alone takes its neighbour along while there is room."""
    groups, left = _grouped(_distinct(hits), limit, budget_tokens, merge)
    if merge:
        await _complete(index, state, groups, left)
    return tuple(
        Evidence(label=label, passages=tuple(group.passages), score=group.score, relevance=group.relevance)
        for label, group in enumerate(groups, start=1)
    )


def _distinct(hits: Sequence[Hit]) -> list[Hit]:
    """No text twice: a chunk that another one contains goes, and the larger takes the better place."""
    kept: list[tuple[str, Hit]] = []
    for hit in hits:
        text = " ".join(hit[0].text.split())
        if any(text in other for other, _ in kept):
            continue
        inside = [position for position, (other, _) in enumerate(kept) if other in text]
        if not inside:
            kept.append((text, hit))
            continue
        better = [kept[position][1] for position in inside]
        kept[inside[0]] = (text, (hit[0], max(one[1] for one in [hit, *better]), max(one[2] for one in [hit, *better])))
        for position in reversed(inside[1:]):
            del kept[position]
    return [hit for _, hit in kept]


def _grouped(hits: Sequence[Hit], limit: int, budget: int, merge: bool) -> tuple[list[_Group], int]:
    groups: list[_Group] = []
    for chunk, score, relevance in hits:
        beside = [group for group in groups if merge and group.adjoins(chunk)]
        joins = bool(beside) and sum(len(group.passages) for group in beside) < MOST_PASSAGES
        if not (joins or len(groups) < limit) or (tokens := size(chunk.text)) > budget:
            continue
        budget -= tokens
        if joins:
            beside[0].add([chunk, *(passage for group in beside[1:] for passage in group.passages)])
            groups = [group for group in groups if group not in beside[1:]]
        else:
            groups.append(_Group(passages=[chunk], score=score, relevance=relevance))
    return groups, budget


async def _complete(index: VectorIndex, state: IngestionState, groups: Sequence[_Group], budget: int) -> None:
    """The neighbours that passages cannot be read without, best evidence first, as far as the budget goes."""
    ids = [id for group in groups for id in (group.passages[0].prev_chunk_id, group.passages[-1].next_chunk_id) if id]
    if not ids:
        return
    held = await index.chunks(state.collection_name, state.book_id, list(dict.fromkeys(ids)))
    neighbours = {one.chunk.id: one.chunk for one in held}
    seen = {passage.content_hash for group in groups for passage in group.passages}
    for group in groups:
        before = neighbours.get(group.passages[0].prev_chunk_id or "")
        after = neighbours.get(group.passages[-1].next_chunk_id or "")
        for one, leans in ((before, _leans_back), (after, _leans_on)):
            if not one or one.content_hash in seen or len(group.passages) >= MOST_PASSAGES or not group.adjoins(one):
                continue
            if size(one.text) <= budget and leans(group.passages, one):
                group.add([one])
                seen.add(one.content_hash)
                budget -= size(one.text)


def _leans_back(passages: Sequence[Chunk], before: Chunk) -> bool:
    """Whether the passages begin in the middle of something that `before` opens."""
    first = passages[0]
    if first.preface:
        return True
    same_section = first.heading_path == before.heading_path and not HEADING.match(first.text)
    return same_section and (bool(GOES_ON.match(first.text)) or before.text.rstrip().endswith(":") or _short(passages))


def _leans_on(passages: Sequence[Chunk], after: Chunk) -> bool:
    """Whether the passages stop in the middle of something that `after` goes on with."""
    last = passages[-1]
    if after.preface or last.text.rstrip().endswith(":"):
        return True
    same_section = last.heading_path == after.heading_path and not HEADING.match(after.text)
    return same_section and (bool(GOES_ON.match(after.text)) or _short(passages))


def _short(passages: Sequence[Chunk]) -> bool:
    return sum(size(passage.text) for passage in passages) < SMALL


def _follows(one: Chunk, other: Chunk) -> bool:
    return one.parent_doc_id == other.parent_doc_id and one.next_chunk_id == other.id and other.prev_chunk_id == one.id


def merge(old: tuple[Evidence, ...], new: tuple[Evidence, ...]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """What was found before keeps its label; what is new gets the next ones."""
    known = {passage.id: evidence for evidence in old for passage in evidence.passages}
    together, found = list(old), []
    for evidence in new:
        if evidence.first.id in known:
            found.append(known[evidence.first.id])
            continue
        labelled = replace(evidence, label=len(together) + 1)
        together.append(labelled)
        found.append(labelled)
    return tuple(together), tuple(dict.fromkeys(found))

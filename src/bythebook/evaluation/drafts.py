"""Questions proposed from a book's own text for its author to correct. Each says where it comes from, and that nobody has
checked it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bythebook.books.markdown import readable
from bythebook.books.model import Chunk, sha256
from bythebook.books.statements import statements
from bythebook.grounding.probes import DEFINITION, PLAIN, STOP
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex

FOREIGN_SHARE = 0.2
"""Of the drafts, those the book does not answer: refusing has to be measured too."""
FOREIGN = (
    "How do I get a stain of beetroot out of a shirt?",
    "Which bird lays the largest egg?",
    "How many players are on a volleyball team?",
    "What should I plant beside tomatoes?",
    "Who composed the Brandenburg concertos?",
    "How is a soufflé kept from collapsing?",
    "When does a lease have to be in writing?",
    "Which river flows through Budapest?",
    "How do I fold a paper crane?",
    "What do the rings of a tree tell?",
    "Why is the sky blue?",
    "How long is a passport valid?",
)
"""None of them is among those that relevance is fitted by."""
NAMELESS = STOP | {"each", "another", "one", "first", "second", "third", "other", "such", "lesson", "chapter", "section", "book"}
ASKING = re.compile(r"(?:how|why|when|where|which|what|who)\b", re.IGNORECASE)
NUMBERS = r"\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
COUNTED = re.compile(
    r"^(?P<subject>(?:An? |The )?[a-z][\w -]{2,40}?) (?P<verb>has|takes|needs|holds|contains) "
    rf"(?:{NUMBERS}) (?P<things>[a-z]+s)\b",
    re.IGNORECASE,
)
PLAIN_VERBS = {"has": "have", "takes": "take", "needs": "need", "holds": "hold", "contains": "contain"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionDraft:
    """A line of a questions file."""

    id: str
    question: str
    answerable: bool
    kind: str
    lesson: str | None = None
    quote: str | None = None
    checked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    question: str
    lesson: str
    quote: str


async def draft_questions(index: VectorIndex, state: IngestionState, count: int) -> list[QuestionDraft]:
    """As many as asked for, or as the book's text gives; the same every time."""
    chunks = [held.chunk async for held in index.scan(state.collection_name, Filters(book_id=state.book_id))]
    chunks.sort(key=lambda chunk: (chunk.source_file, chunk.chunk_index))
    foreign = FOREIGN[: round(count * FOREIGN_SHARE)]
    proposals = _spread([*_from_sentences(chunks), *_from_titles(chunks)], count - len(foreign))
    drafts = [
        QuestionDraft(
            id=_id(one.question), question=one.question, answerable=True, kind="answerable", lesson=one.lesson, quote=one.quote
        )
        for one in proposals
    ]
    return drafts + [QuestionDraft(id=_id(text), question=text, answerable=False, kind="foreign") for text in foreign]


def _id(question: str) -> str:
    """Of the question's words, so that a later draft of the same question is known to be the same."""
    return f"draft-{sha256(question)[:8]}"


def _from_sentences(chunks: Sequence[Chunk]) -> Iterator[_Proposal]:
    """Definitions and counts: "A node is a process that …" gives "What is a node?"."""
    for chunk in chunks:
        for one in statements(chunk.preface, chunk.text):
            question = _asked_of(one.readable) if one.kind == "sentence" else None
            if question:
                yield _Proposal(question=question, lesson=chunk.source_file, quote=chunk.text[one.start : one.end])


def _asked_of(sentence: str) -> str | None:
    counted = COUNTED.match(sentence)
    if counted and not _nameless(counted["subject"]):
        return f"How many {counted['things']} does {_small(counted['subject'])} {PLAIN_VERBS[counted['verb'].lower()]}?"
    defined = DEFINITION.match(sentence)
    if not defined or _nameless(defined["term"]) or sentence.rstrip().endswith(":"):
        return None
    article = sentence[: defined.start("term")].lower()
    several = sentence[defined.end("term") :].lstrip().startswith("are ")
    return f"What {'are' if several else 'is'} {article}{_small(defined['term']) if not article else defined['term']}?"


def _nameless(words: str) -> bool:
    """Whether these words name nothing that can be asked about by itself."""
    rest = re.sub(r"^(?:an?|the) ", "", words.lower()).split()
    return not rest or rest[0] in NAMELESS or len(rest) > 4


def _small(words: str) -> str:
    """As it reads within a sentence; names and abbreviations keep their capitals."""
    first = words.partition(" ")[0]
    return words if first[1:] != first[1:].lower() else words[0].lower() + words[1:]


def _from_titles(chunks: Sequence[Chunk]) -> Iterator[_Proposal]:
    """A section's title, and the first sentence under it. A title that several lessons share names no subject."""
    first: dict[tuple[str, str], str] = {}
    lessons: dict[str, set[str]] = {}
    for chunk in chunks:
        title = readable(chunk.section_title or "").strip()
        if not 2 <= len(PLAIN.findall(title)) <= 9:
            continue
        lessons.setdefault(title.lower(), set()).add(chunk.source_file)
        for one in statements(chunk.preface, chunk.text):
            if one.kind == "sentence":
                first.setdefault((chunk.source_file, title), chunk.text[one.start : one.end])
    for (lesson, title), quote in first.items():
        if len(lessons[title.lower()]) == 1:
            bare = title.rstrip(".?!:")
            question = f"{bare}?" if title.endswith("?") else f"What does the book say about {_small(bare)}?"
            if ASKING.match(bare) and not title.endswith("?"):
                question = f"Can you explain {_small(bare)}?"
            yield _Proposal(question=question, lesson=lesson, quote=quote)


def _spread(made: Sequence[_Proposal], count: int) -> list[_Proposal]:
    """A lesson after the other, each question once, so that a few drafts already cover the book."""
    by_lesson: dict[str, list[_Proposal]] = {}
    for one in {one.question: one for one in reversed(made)}.values():
        by_lesson.setdefault(one.lesson, []).append(one)
    lessons = [sorted(by_lesson[lesson], key=lambda one: _id(one.question)) for lesson in sorted(by_lesson)]
    rounds = max(map(len, lessons), default=0)
    taken = [lesson[turn] for turn in range(rounds) for lesson in lessons if turn < len(lesson)]
    return taken[: max(0, count)]

"""Fits relevance to a book: asks questions that the book answers and questions that it does not, and fits what retrieval measures
for them. Where a book brings no questions of its own, they are made from its definitions, headings and statements, and from other
subjects. Readers word things differently than the book does, so a made question keeps only some of the book's words."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bythebook.books.discovery import read_beside
from bythebook.books.statements import statements
from bythebook.embedding.embedder import Embedder
from bythebook.errors import InvalidBook
from bythebook.grounding.calibration import AUTHOR_FOREIGN_SOURCE, AUTHOR_SOURCE, FOREIGN_SOURCE, Calibration, Fit, Probe, fit
from bythebook.index.manifest import manifest_of
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.retrieval.query import MAX_TEXT, MIN_TEXT, Scope
from bythebook.retrieval.ranker import ranks_by

if TYPE_CHECKING:
    from bythebook.answering.look import Assessor

QUESTIONS_FILE = "questions.jsonl"
LARGEST_QUESTIONS_FILE = 5_000_000
MOST_QUESTIONS = 5_000
"""Each question is asked once or twice at every fit."""
PROBES_OF_EACH_KIND, FEW_PROBES = 30, 8
"""How many questions of each kind are made from the book's text. Few are enough where the ranking's own fit decides: they show
how far the best result stands out, and where the book's subject ends."""
LEAST_PROBES = 8
AT_ONCE = 8
ENOUGH = 20
"""If the author wrote this many answerable questions, and half as many unanswerable ones, none are made from the book's text."""

DEFINITION = re.compile(r"^(?:An? |The )?(?P<term>[A-Za-z][\w /-]{2,40}?) (?:is|are|means|describes) (?:an?|the|what|how|one) ")
PLAIN = re.compile(r"[A-Za-z][A-Za-z'-]+")
LEAST_WORDS, MOST_WORDS = 8, 32
KEPT = 0.55
"""Share of a statement's words that its question keeps."""
STRANGERS = 0.5
"""How many words from other subjects are added for each word kept."""
OPENINGS = ("What about", "How is it that", "Why is it that", "What does it mean that", "When does it happen that")
STOP = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has", "have", "if",
    "in", "into", "is", "it", "its", "more", "not", "of", "on", "only", "or", "so", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "was", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "without", "you", "your",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BookQuestion:
    """A question that the author wrote for the book, used for fitting or for scoring."""

    id: str
    text: str
    answerable: bool
    foreign: bool = False
    """Whether the author marked it as a question about another subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    text: str
    answerable: bool
    source: str
    without: frozenset[str] = frozenset()


def for_fitting(question_id: str) -> bool:
    """Whether a question of the author's may be used for fitting. Half of them are, chosen by their ids; the others are for
    scoring."""
    return hashlib.sha256(question_id.encode()).digest()[0] % 2 == 0


def read_questions(root: Path) -> list[BookQuestion]:
    """Reads the author's questions that concern the whole book, at most MOST_QUESTIONS. Lines that cannot be read are skipped."""
    try:
        raw = read_beside(root, QUESTIONS_FILE, limit_bytes=LARGEST_QUESTIONS_FILE) or b""
    except InvalidBook:
        return []
    lines = raw.decode("utf-8", "replace").splitlines()
    return list(islice((question for line in lines if (question := _question(line))), MOST_QUESTIONS))


def _question(line: str) -> BookQuestion | None:
    """Reads one line; None where it holds no question, or one that nobody could ask."""
    try:
        row = json.loads(line)
        question = BookQuestion(
            id=str(row["id"]),
            text=str(row.get("standalone") or row["question"]).strip(),
            answerable=bool(row["answerable"]),
            foreign=row.get("kind") == "foreign",
        )
        f"{question.id} {question.text}".encode()  # half a surrogate pair cannot be encoded
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return question if not row.get("filters") and MIN_TEXT <= len(question.text) <= MAX_TEXT else None


class Calibrator:
    """Fits relevance to a book after an ingestion, and stores the fit in the manifest."""

    def __init__(
        self,
        *,
        index: VectorIndex,
        embedder: Embedder,
        assessor: Callable[[], Assessor],
        catalog_lock: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:
        """`assessor` is made when there is something to ask. `catalog_lock` is held while the manifest changes, because workers
        of other books change it too."""
        self._arranging = catalog_lock
        self._index = index
        self._embedder = embedder
        self._assessor = assessor

    async def calibrate(self, state: IngestionState, root: Path) -> bool:
        """Fits relevance and stores the fit. False where the book is too small to make enough questions from."""
        asked = await self._questions(state, root)
        if min(sum(one.answerable for one in asked), sum(not one.answerable for one in asked)) < LEAST_PROBES:
            return False
        embeddings = await self._embedded([one.text for one in asked])
        assessor, close, quick = self._assessor(), [], []
        for one, embedding in zip(asked, embeddings, strict=True):
            query = Scope(book_id=state.book_id).search(one.text)
            look = await assessor.look(query, state, embedding, without=one.without)
            probe = Probe(signals=look.signals, answerable=one.answerable, source=one.source, top_above_mean=look.top_above_mean)
            close.append(probe)
            quick.append(replace(probe, signals=look.glance))
        await self._store(state, fit(close), fit(quick))
        return True

    async def _embedded(self, questions: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embeds them as questions, which some embedders distinguish from lessons; a few at a time, as readers would ask them."""
        found: list[NDArray[np.float32]] = []
        for start in range(0, len(questions), AT_ONCE):
            found += await asyncio.gather(*map(self._embedder.embed_question, questions[start : start + AT_ONCE]))
        return found

    async def _store(self, state: IngestionState, close: Calibration, quick: Calibration) -> None:
        async with self._arranging():
            manifest = manifest_of(state, await self._index.collections())
            stored = Fit(close=close, quick=quick).to_dict()
            await self._index.save_manifest(state.collection_name, manifest.fitted(state.book_id, stored))

    async def _questions(self, state: IngestionState, root: Path) -> list[_Asked]:
        own = [question for question in read_questions(root) if for_fitting(question.id)]
        asked = [
            _Asked(text=one.text, answerable=one.answerable, source=AUTHOR_FOREIGN_SOURCE if one.foreign else AUTHOR_SOURCE)
            for one in own
        ]
        asked += [_Asked(text=text, answerable=False, source=FOREIGN_SOURCE) for text in FOREIGN]
        answerable = sum(one.answerable for one in own)
        if answerable >= ENOUGH and len(own) - answerable >= ENOUGH // 2:  # real questions beat made ones
            return asked
        ranked = len(own) < ENOUGH and ranks_by(self._embedder.name, state.language)
        made, lessons = await self._made(state, FEW_PROBES if ranked else PROBES_OF_EACH_KIND)
        for question in made:
            asked.append(_Asked(text=question.text, answerable=True, source=question.source))
            asked.append(_Asked(text=question.text, answerable=False, source="held out", without=lessons[question.lesson]))
        return asked

    async def _made(self, state: IngestionState, of_each_kind: int) -> tuple[list[ProbeQuestion], dict[str, frozenset[str]]]:
        sentences: list[tuple[str, str]] = []
        titles: list[tuple[str, str]] = []
        ids: dict[str, set[str]] = {}
        async for held in self._index.scan(state.collection_name, Filters(book_id=state.book_id)):
            chunk = held.chunk
            ids.setdefault(chunk.source_file, set()).add(chunk.id)
            if chunk.section_title:
                titles.append((chunk.source_file, chunk.section_title))
            sentences.extend((chunk.source_file, text) for text in _sentences(chunk.preface, chunk.text))
        kinds: Collection[list[ProbeQuestion]] = (
            list(definitions(sentences)),
            list(headings(titles)),
            list(restatements(sentences)),
        )
        made = [question for kind in kinds for question in choose(kind, of_each_kind)]
        return made, {lesson: frozenset(found) for lesson, found in ids.items()}


def _sentences(preface: str, text: str) -> Iterator[str]:
    return (one.readable for one in statements(preface, text) if one.kind in {"sentence", "item"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeQuestion:
    """A question made from a lesson. With the lesson held out it becomes one the book does not answer."""

    text: str
    lesson: str
    source: str
    estranged: str | None = None
    """The question with words that no book of this subject has: near the subject, and not answered even if the lesson is
    there."""


def definitions(sentences: Iterable[tuple[str, str]]) -> Iterator[ProbeQuestion]:
    """Takes (lesson, sentence) pairs; "A node is a process that …" gives "What is a node?"."""
    seen: set[str] = set()
    for lesson, sentence in sentences:
        match = DEFINITION.match(sentence)
        term = match["term"].strip().lower() if match else ""
        if match and term not in seen and term.split()[0] not in STOP and len(term.split()) <= 4:
            seen.add(term)
            yield ProbeQuestion(text=f"What is {term}?", lesson=lesson, source="definition")


def headings(titles: Iterable[tuple[str, str]]) -> Iterator[ProbeQuestion]:
    """Takes (lesson, section title) pairs. A title that many lessons share names no subject and is left out."""
    titles = list(titles)
    lessons: dict[str, set[str]] = {}
    for lesson, title in titles:
        lessons.setdefault(title.lower(), set()).add(lesson)
    for lesson, title in dict.fromkeys(titles):
        if len(lessons[title.lower()]) == 1 and 2 <= len(PLAIN.findall(title)) <= 9:
            yield ProbeQuestion(
                text=f"What does the book say about {title.rstrip('.?!:').lower()}?", lesson=lesson, source="heading"
            )


def restatements(sentences: Sequence[tuple[str, str]]) -> Iterator[ProbeQuestion]:
    """Turns statements into questions: some words of each, chosen by their hash, among words from other subjects, because readers
    use words of their own. The result is the same every time."""
    usable = [(lesson, content) for lesson, sentence in sentences if (content := _content(sentence))]
    for place, (lesson, content) in enumerate(usable):
        text = " ".join(content)
        kept = [word for word in content if _chance(f"{text}\0{word}") < KEPT]
        if len(kept) < 3:
            continue
        elsewhere = usable[int(_chance(text) * len(usable))]
        own, other = _mixed(kept, elsewhere[1], place), _mixed(kept, STRANGE, place)
        yield ProbeQuestion(text=own, estranged=other, lesson=lesson, source="statement")


def _content(sentence: str) -> list[str]:
    words = PLAIN.findall(sentence)
    content = [word.lower() for word in words if word.lower() not in STOP]
    fit = LEAST_WORDS <= len(words) <= MOST_WORDS and len(content) >= 5 and not sentence.endswith(("?", ":"))
    return content if fit else []


def _mixed(kept: Sequence[str], others: Sequence[str], turn: int) -> str:
    """The kept words with the other words between them."""
    count = max(1, round(len(kept) * STRANGERS))
    chosen = [others[(turn + 7 * step) % len(others)] for step in range(count)]
    words = list(kept)
    for step, word in enumerate(chosen):
        words.insert((2 * step + 1) % (len(words) + 1), word)
    return f"{OPENINGS[turn % len(OPENINGS)]} {' '.join(words)}?"


def choose(questions: Sequence[ProbeQuestion], count: int) -> list[ProbeQuestion]:
    """Chooses `count` of them, spread over the whole book; the same every time."""
    return sorted(questions, key=lambda question: _chance(question.text))[:count]


def _chance(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6]) / 2**48


FOREIGN = (
    "How long should bread dough rise before baking?",
    "Which spices go into a classic curry powder?",
    "How do I prune roses in early spring?",
    "What is the offside rule in football?",
    "Who painted the ceiling of the Sistine Chapel?",
    "Which treaty ended the First World War?",
    "How is a sonnet built?",
    "What causes the seasons on Earth?",
    "How do vaccines train the immune system?",
    "What does the liver do in the human body?",
    "How do I fill in a tax return as a freelancer?",
    "What is compound interest?",
    "How does a central bank fight inflation?",
    "Which countries share a border with Switzerland?",
    "How deep is the Mariana Trench?",
    "What is photosynthesis and where does it take place?",
    "How do bees make honey?",
    "Which instruments play in a string quartet?",
    "How do I tune a guitar by ear?",
    "What is the difference between a fugue and a canon?",
    "How do I knit a scarf for a beginner?",
    "What is the capital of Mongolia?",
    "When was the printing press invented in Europe?",
    "How does a jury trial work?",
    "What rights does a tenant have when the heating fails?",
    "How do I remove red wine from a carpet?",
    "Which vitamins are in an orange?",
    "How much water should a runner drink in a marathon?",
    "What are the rules of castling in chess?",
    "How do I teach a puppy to sit?",
    "Why did the Roman Empire fall?",
    "Who wrote the play about the prince of Denmark?",
    "What is the plot of a Greek tragedy?",
    "How do volcanoes form islands?",
    "What is the difference between weather and climate?",
    "How do I change the tyre of a bicycle?",
    "Which wood is best for a dining table?",
    "How is paper recycled?",
    "What does a notary do?",
    "How do I write a letter of resignation?",
    "Which languages are spoken in Belgium?",
    "How do whales sleep?",
    "What is the boiling point of ethanol?",
    "How are diamonds graded?",
    "What makes a good title for a short story?",
    "How do I plan a week of vegetarian meals?",
    "What is the difference between a lake and a lagoon?",
    "How do parliaments pass a budget?",
)

STRANGE = tuple(dict.fromkeys(word.lower() for text in FOREIGN for word in PLAIN.findall(text) if word.lower() not in STOP))

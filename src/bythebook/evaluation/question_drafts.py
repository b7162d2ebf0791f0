"""Drafts questions from a book's own text for its author to correct. Each says where it comes from, and that nobody has checked
it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bythebook.books.markdown import readable
from bythebook.books.model import Chunk, sha256
from bythebook.books.statements import cells, statements
from bythebook.evaluation.heading_questions import asked_by_heading, asked_of_subject
from bythebook.evaluation.sentence_questions import asked_by_sentence
from bythebook.index.state import IngestionState
from bythebook.index.vectors import Filters, VectorIndex
from bythebook.ingestion.calibrator import DEFINITION, PLAIN, STOP

UNANSWERED_SHARE = 0.2
"""The share of drafts that the book does not answer, because refusing has to be measured too. Half of them are near its
subject."""
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
"""None of these is among the questions that relevance is fitted by."""
NAMELESS = STOP | {
    "each", "every", "another", "one", "first", "second", "third", "other", "such", "lesson", "chapter", "section", "book",
    "here", "there",
}  # fmt: skip
POINTING = frozenset({
    "above", "added", "below", "following", "he", "her", "here", "him", "his", "i", "it", "its", "itself", "last", "me", "my",
    "now", "our", "ours", "previous", "she", "since", "that", "their", "them", "there", "these", "they", "this", "those", "us",
    "we", "you", "your",
})  # fmt: skip
"""A phrase with one of these words needs its context: "What is she?"."""
NEAR_MISSES = (
    (
        "Who invented {}?",
        "Who invented {}?",
        re.compile(r"\b(?:invent|creat|develop|introduc|propos|design|found)", re.IGNORECASE),
    ),
    (
        "How much does {} cost?",
        "How much do {} cost?",
        re.compile(r"\b(?:costs?|price|fee|free|cheap|expensive)|[$€£]\d", re.IGNORECASE),
    ),
    ("In which year was {} first used?", "In which year were {} first used?", re.compile(r"\b(?:1[5-9]|20)\d\d\b|\byears?\b")),
)
"""What may be asked of one thing and of several, and the words that passages naming it would need to answer."""
ASKING = re.compile(r"(?:how|why|where|which|what|who)\b", re.IGNORECASE)
PREPOSITION = re.compile(r"(?:from|with|without|beyond|before|after|behind|inside|in|on|at|to|for|by)\b", re.IGNORECASE)
DOING = re.compile(r"\w+ing \w+|\w+ly ", re.IGNORECASE)
"""Beginnings of phrases that tell of something rather than name it: "moving the camera", "widely used remedy"."""
BOLD_TERM = re.compile(r"^(?:An? |The )?\*\*[^*]+\*\*,? ?")
DEFINED = re.compile(r"What (is|are) (.+)\?")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
NAME = re.compile(r"[a-z,;] ([A-Z][\w-]+)")
LOWER_CASE = re.compile(r"\b[a-z][\w-]+")
CODE_NAME = re.compile(r"`([A-Z]\w+)`")
SHORT_QUESTION = 5
"""A title that asks with fewer words needs its lesson to be understood."""
VAGUE = re.compile(
    r"What (?:is|are) (?:the \w+|(?:an?|the) (?:[\w-]+ ){1,3}"
    r"(?:answer|aspect|case|challenge|difference|goal|idea|issue|option|part|point|problem|question|reason|result|step|thing|way)s?)\?"
)
""""What is the obvious question?": only the sentence before says which one."""
DOES = re.compile(r"What does (\S+) ")
""""What does FastAPI provide?" can be asked in every lesson of its book."""
TABLE_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
ROWS_OF_A_TABLE = 4
"""The most rows of a table: more would outnumber the lesson's sentences."""
LONGEST_KEY, SHORTEST_CELL = 60, 5
"""Characters of the cell that identifies a row, and of one worth asking for."""
NUMBERS = r"\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
COUNTED = re.compile(
    r"^(?P<subject>(?:An? |The )?[a-z][\w -]{2,40}?) (?P<verb>has|takes|needs|holds|contains) "
    rf"(?:{NUMBERS}) (?P<things>[a-z]+s)\b(?! of th)",
    re.IGNORECASE,
)
PLAIN_VERBS = {"has": "have", "takes": "take", "needs": "need", "holds": "hold", "contains": "contain"}


Purpose = Literal["correct", "learn", "ask"]


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
    table_head: str = ""
    """The head of the table that the quote is a row of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    """A proposed question. `promise` ranks proposals: 0 where the author set the defined word in bold, 2 where a title asks,
    3 where only a title is asked for, 4 for "The price is …", which is seldom a definition, 5 for what a title only names."""

    question: str
    lesson: str
    quote: str
    promise: int
    table_head: str = ""


async def draft_questions(index: VectorIndex, state: IngestionState, count: int) -> list[QuestionDraft]:
    """Returns as many drafts as asked for, or as the text gives; the same every time."""
    chunks = [held.chunk async for held in index.scan(state.collection_name, Filters(book_id=state.book_id))]
    chunks.sort(key=lambda chunk: (chunk.source_file, chunk.chunk_index))
    share = round(count * UNANSWERED_SHARE)
    unanswered = [(text, "near") for text in _near_misses(chunks, share // 2)]
    unanswered += [(text, "foreign") for text in FOREIGN[: share - len(unanswered)]]
    return draft_from(chunks, count - len(unanswered)) + [
        QuestionDraft(id=_id(text), question=text, answerable=False, kind=kind) for text, kind in unanswered
    ]


def _near_misses(chunks: Sequence[Chunk], count: int) -> list[str]:
    """Questions about things that the book defines, for which no passage that names them has an answer."""
    asked = _spread(_once(list(_from_sentences(chunks, _names(chunks)))), len(chunks))
    texts = [chunk.text.lower() for chunk in chunks]
    found: list[str] = []
    for place, defined in enumerate(filter(None, (DEFINED.fullmatch(one.question) for one in asked))):
        if len(found) >= count:
            break
        verb, thing = defined.groups()
        single, several, said = NEAR_MISSES[place % len(NEAR_MISSES)]
        bare = re.sub(r"^(?:an?|the) ", "", thing.lower())
        if not any(bare in text and said.search(text) for text in texts):
            found.append((several if verb == "are" else single).format(thing))
    return found


def draft_from(chunks: Sequence[Chunk], count: int, purpose: Purpose = "correct") -> list[QuestionDraft]:
    """Questions that these chunks answer, for an author to `correct`, or for a reader to `learn` by or to `ask`."""
    names = _names(chunks)
    told = [one for one in _from_sentences(chunks, names) if purpose == "correct" or not VAGUE.fullmatch(one.question)]
    if purpose == "correct":
        told += _from_titles(chunks, names)
    else:
        told += _from_tables(chunks)
    if purpose == "ask":
        told += [*_from_headings(chunks, names), *_from_goals(chunks, names)]
    proposals = _spread(_once(told), count)
    return [
        QuestionDraft(
            id=_id(one.question),
            question=one.question,
            answerable=True,
            kind="answerable",
            lesson=one.lesson,
            quote=one.quote,
            table_head=one.table_head,
        )
        for one in proposals
    ]


def _id(question: str) -> str:
    """A hash of the question's words, so that a later draft of the same question is recognised."""
    return f"draft-{sha256(question)[:8]}"


def _from_sentences(chunks: Sequence[Chunk], names: frozenset[str]) -> Iterator[_Proposal]:
    """Definitions and counts: "A node is a process that …" gives "What is a node?"."""
    for chunk in chunks:
        for one in statements(chunk.preface, chunk.text):
            question = _asked_of(one.readable, names) if one.kind == "sentence" else None
            if question:
                quote = chunk.text[one.start : one.end]
                promise = 0 if BOLD_TERM.match(quote) else 4 if quote.startswith("The ") else 1
                yield _Proposal(question=question, lesson=chunk.source_file, quote=quote, promise=promise)


def _from_tables(chunks: Sequence[Chunk]) -> Iterator[_Proposal]:
    """A row is identified by its first cell, and asked for the next: "In “Sensors”: what is the range of “Laser”?"."""
    for chunk in chunks:
        where = chunk.section_title or chunk.page_title
        head: tuple[str, ...] = ()
        left = 0
        for one in statements(chunk.preface, chunk.text):
            quote = chunk.text[one.start : one.end]
            if one.kind == "table":
                head, left = tuple(quote.splitlines()[:2]), ROWS_OF_A_TABLE
            whole = left > 0 and len(head) == 2 and TABLE_RULE.fullmatch(head[1])  # a table that was split has no head here
            question = _asked_of_row(cells(head[0]), cells(quote), where) if one.kind == "row" and whole else None
            if question:
                left -= 1
                table_head = "\n".join(head)
                yield _Proposal(question=question, lesson=chunk.source_file, quote=quote, promise=2, table_head=table_head)


def _asked_of_row(names: Sequence[str], row: Sequence[str], where: str) -> str | None:
    if len(names) < 2 or len(row) != len(names) or not names[1] or len(row[1]) < SHORTEST_CELL:
        return None
    known, wanted = row[0], names[1].rstrip(".?!:")
    if not PLAIN.search(known) or len(known) > LONGEST_KEY or len(wanted) > LONGEST_KEY:
        return None
    if ASKING.match(wanted) or PREPOSITION.match(wanted):
        return f"In “{where}”, “{wanted}”: “{known}”?"
    verb = "are" if wanted.endswith("s") and not wanted.endswith("ss") else "is"
    return f"In “{where}”: what {verb} the {_small(wanted, frozenset())} of “{known}”?"


def _asked_of(sentence: str, names: frozenset[str]) -> str | None:
    counted = COUNTED.match(sentence)
    if counted and not _nameless(counted["subject"]):
        things, verb = counted["things"], PLAIN_VERBS[counted["verb"].lower()]
        return f"How many {things} does {_small(counted['subject'], names)} {verb}?"
    defined = DEFINITION.match(sentence)
    if not defined or _nameless(defined["term"]) or sentence.rstrip().endswith(":"):
        return None
    article = sentence[: defined.start("term")].lower()
    several = sentence[defined.end("term") :].lstrip().startswith("are ")
    term = defined["term"].replace("--", "–")
    return f"What {'are' if several else 'is'} {article}{term if article else _small(term, names)}?"


def _nameless(words: str) -> bool:
    """Whether these words name nothing that can be asked about by itself."""
    rest = re.sub(r"^(?:an?|the) ", "", words.lower()).split()
    return not rest or rest[0] in NAMELESS or len(rest) > 4 or bool(POINTING & set(rest) or DOING.match(" ".join(rest)))


def _names(chunks: Sequence[Chunk]) -> frozenset[str]:
    """The words that the book capitalises in the middle of a sentence."""
    return frozenset(name for chunk in chunks for name in NAME.findall(CODE.sub("", chunk.text)))


def _small(words: str, names: frozenset[str]) -> str:
    """The words as they are written within a sentence; names and abbreviations keep their capitals."""
    first = words.partition(" ")[0]
    kept = first in names or first[1:] != first[1:].lower()
    return words if kept else words[0].lower() + words[1:]


def _from_titles(chunks: Sequence[Chunk], names: frozenset[str]) -> Iterator[_Proposal]:
    """A section's title, and the first sentence under it. A title that several lessons share names no subject."""
    for title, chunk, quote in _first_sentences(chunks):
        question = _asked_by(title, chunk.page_title, names)
        yield _Proposal(question=question, lesson=chunk.source_file, quote=quote, promise=2 if title.endswith("?") else 3)


def _from_headings(chunks: Sequence[Chunk], names: frozenset[str]) -> Iterator[_Proposal]:
    """What a reader would ask to be led to a heading, if that says it: "Handling errors"."""
    told = {word for chunk in chunks for word in LOWER_CASE.findall(CODE.sub("", chunk.text))}
    kept = {name for name in names if name.lower() not in told}  # "the Database" in a title is no name where "a database" is said
    kept |= {name for chunk in chunks for name in CODE_NAME.findall(chunk.text)}
    for title, chunk, quote in (*_first_sentences(chunks), *_first_sentences(chunks, of_lessons=True)):
        if question := asked_by_heading(title, kept):
            yield _Proposal(question=question, lesson=chunk.source_file, quote=quote, promise=2)
        elif question := asked_of_subject(title, kept):
            yield _Proposal(question=question, lesson=chunk.source_file, quote=quote, promise=5)


def _from_goals(chunks: Sequence[Chunk], names: frozenset[str]) -> Iterator[_Proposal]:
    """What a reader would ask to be told a sentence: "To pass headers, use a dict"."""
    kept = names | {name for chunk in chunks for name in CODE_NAME.findall(chunk.text)}
    for chunk in chunks:
        for one in statements(chunk.preface, chunk.text):
            question = asked_by_sentence(one.readable, kept) if one.kind in ("sentence", "item") else None
            of_the_book = question and (asked := DOES.match(question)) and asked[1].lower() in chunk.book_id.split("-")
            if question and not of_the_book and not VAGUE.fullmatch(question):
                promise = 2 if question.startswith(("What happens ", "What does ")) else 1
                yield _Proposal(
                    question=question, lesson=chunk.source_file, quote=chunk.text[one.start : one.end], promise=promise
                )


def _first_sentences(chunks: Sequence[Chunk], *, of_lessons: bool = False) -> Iterator[tuple[str, Chunk, str]]:
    """Each heading that stands in one lesson only, or each title of a lesson, with the first sentence under it."""
    first: dict[tuple[str, str], tuple[Chunk, str]] = {}
    lessons: dict[str, set[str]] = {}
    for chunk in chunks:
        title = readable((chunk.page_title if of_lessons else chunk.section_title) or "").strip()
        if not 2 <= len(PLAIN.findall(title)) <= 9:
            continue
        lessons.setdefault(title.lower(), set()).add(chunk.source_file)
        for one in statements(chunk.preface, chunk.text):
            if one.kind == "sentence" and not one.readable.rstrip().endswith(":") and chunk.text[one.start] != "<":
                first.setdefault((chunk.source_file, title), (chunk, chunk.text[one.start : one.end]))
    for (_, title), (chunk, quote) in first.items():
        if len(lessons[title.lower()]) == 1:
            yield title, chunk, quote


def _asked_by(title: str, page_title: str, names: frozenset[str]) -> str:
    bare = title.rstrip(".?!:")
    small = _small(bare, names)
    if title.endswith("?"):
        return f"{bare}?" if len(bare.split()) >= SHORT_QUESTION else f"In “{page_title}”: {small}?"
    if ASKING.match(bare):
        return f"Can you explain {small}?"
    if bare.lower().startswith("when "):
        return f"What is there to do {small}?"
    if PREPOSITION.match(bare):
        return f"What does “{bare}” mean here?"
    in_capitals = any(word[0].isupper() and word not in names for word in bare.split()[1:])
    return f"What does the book say about {f'“{bare}”' if in_capitals else small}?"


def _once(made: Sequence[_Proposal]) -> list[_Proposal]:
    """Each question once, and each sentence once: the title over a definition asks for it again."""
    best: dict[tuple[str, str], _Proposal] = {}
    for one in sorted(made, key=lambda one: one.promise):
        best.setdefault((one.lesson, one.quote), one)
    return list({one.question: one for one in reversed(best.values())}.values())


def _spread(made: Sequence[_Proposal], count: int) -> list[_Proposal]:
    """One question of every lesson, then a second one, the best first. Where fewer are wanted than there are lessons, from
    lessons spread evenly over the book."""
    by_lesson: dict[str, list[_Proposal]] = {}
    for one in made:
        by_lesson.setdefault(one.lesson, []).append(one)
    lessons = [sorted(by_lesson[lesson], key=lambda one: (one.promise, _id(one.question))) for lesson in sorted(by_lesson)]
    taken: list[_Proposal] = []
    for turn in range(max(map(len, lessons), default=0)):
        there = [lesson[turn] for lesson in lessons if turn < len(lesson)]
        wanted = min(len(there), count - len(taken))
        taken += [there[place * len(there) // wanted] for place in range(wanted)]
    return taken

"""Questions to calibrate by, where a book brings none of its own: made from its definitions, headings and statements, and
from other subjects. A reader words things differently than the book does, so each keeps only some of the book's words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

DEFINITION = re.compile(r"^(?:An? |The )?(?P<term>[A-Za-z][\w /-]{2,40}?) (?:is|are|means|describes) (?:an?|the|what|how|one) ")
PLAIN = re.compile(r"[A-Za-z][A-Za-z'-]+")
LEAST_WORDS, MOST_WORDS = 8, 32
KEPT = 0.55
"""Share of a statement's words that its question keeps."""
STRANGERS = 0.5
"""How many words from elsewhere join them, for each word kept."""
OPENINGS = ("What about", "How is it that", "Why is it that", "What does it mean that", "When does it happen that")
STOP = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has", "have", "if",
    "in", "into", "is", "it", "its", "more", "not", "of", "on", "only", "or", "so", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "was", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "without", "you", "your",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeQuestion:
    """A question made from a lesson. With the lesson held out it becomes one the book does not answer."""

    text: str
    lesson: str
    source: str
    estranged: str | None = None
    """The same with words no book of this subject has: near the subject, and not answered even if the lesson is there."""


def definitions(sentences: Iterable[tuple[str, str]]) -> Iterator[ProbeQuestion]:
    """(lesson, sentence) pairs in; "A node is a process that …" gives "What is a node?"."""
    seen: set[str] = set()
    for lesson, sentence in sentences:
        match = DEFINITION.match(sentence)
        term = match["term"].strip().lower() if match else ""
        if match and term not in seen and term.split()[0] not in STOP and len(term.split()) <= 4:
            seen.add(term)
            yield ProbeQuestion(text=f"What is {term}?", lesson=lesson, source="definition")


def headings(titles: Iterable[tuple[str, str]]) -> Iterator[ProbeQuestion]:
    """(lesson, section title) pairs in. A title that many lessons share names no subject."""
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
    """A statement turned into a question: some of its words, chosen by their hash, among words from elsewhere, as a reader
    has his own. The same every time."""
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
    """The kept words with others between them."""
    count = max(1, round(len(kept) * STRANGERS))
    chosen = [others[(turn + 7 * step) % len(others)] for step in range(count)]
    words = list(kept)
    for step, word in enumerate(chosen):
        words.insert((2 * step + 1) % (len(words) + 1), word)
    return f"{OPENINGS[turn % len(OPENINGS)]} {' '.join(words)}?"


def choose(questions: Sequence[ProbeQuestion], count: int) -> list[ProbeQuestion]:
    """`count` of them, spread over the whole book, the same every time."""
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

"""Finds the book's own sentences that support a drafted one, and checks it against them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from bythebook.books.inline import with_plain_formulas
from bythebook.books.markdown import readable, sentences, single_spaced
from bythebook.books.model import Chunk
from bythebook.books.statements import statements
from bythebook.grounding.facts import ENUMERATOR, ReadText, read, without_mark

LONGEST_WINDOW = 3
"""How many consecutive sentences may support one drafted sentence."""
LEANING = re.compile(
    r"\W*(?:(?:it|its|this|that|they|their|these|those|such|he|she|here|there|both|neither|otherwise|for (?:example|instance))\b"
    r"|(?:\S+\s+){0,3}(?:then|thus|therefore|hence)\b)",
    re.IGNORECASE,
)
PLANTED = re.compile(
    r"""\b(?:ignore|disregard|forget\s+(?:all|any|your|the|everything))\b.{0,40}\b(?:instructions?|rules?|prompts?|above|previous)\b
    | \b(?:your|(?:reveal|print|show|repeat|output|tell|send)\W+(?:\w+\W+){0,3}the)\s+system\s+prompt\b
    | ^\W*(?:system|assistant)\s*:                       | \byou\s+are\s+(?:now|an?\s+(?:ai|assistant|chatbot))\b
    | (?<!can\s)(?<!to\s)(?<!will\s)(?<!should\s)\b(?:tell|convince|inform)\s+the\s+(?:reader|user)s?\s+(?:that|to)\b
    | \b(?:answer|reply|respond|output|print|say)\s+(?:(?:only|exactly)\s*(?:with|[:"'\u201c\u2018`])|every\s+question\s+with)
    | \bas\s+an\s+ai\b | \b(?:ai|language)\s+(?:assistants?|models?)\s+reading\b | \b(?:note|message|instructions?)\s+(?:to|for)
      \s+(?:(?:the\s+)?(?:ai|assistant|chatbot|(?:language\s+)?model)|the\s+(?:language\s+)?models)\b""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
"""Words addressed to a model and not to a reader. A paragraph with such words supports no drafted sentence."""
FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
PARAGRAPH = re.compile(r"(?:\r?\n[ \t]*){2,}")
GREEK = re.compile("[\u0391-\u03c9]")
ELL = re.compile(r"\\ell(?![A-Za-z])")
SPELLED = str.maketrans({"\u2113": "l", "_": "", "^": "", "{": "", "}": ""})
SHORTEST_INITIALS, LONGEST_INITIALS = 3, 8
CONNECTIVE = re.compile(
    r"(?:however|therefore|thus|hence|consequently|as a result|also|moreover|furthermore|additionally|in addition|indeed|in fact"
    r"|in other words|so|but|and|note that|remember that)\b[,:]?\s+",
    re.IGNORECASE,
)
"""Words that connect a sentence to the one before it. A sentence says the same without them."""
TYPED = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u00a0": " "})
INVISIBLE = frozenset({"Cf", "Cc", "Co", "Cs", "Cn"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStatement:
    """A sentence of a chunk, read: `chunk.text[start:end]`."""

    start: int
    end: int
    reading: ReadText
    leans: bool
    planted: bool
    code: bool
    paragraph: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Consecutive statements of one passage, and which words of the drafted sentence they have, as bits."""

    source: CheckedSource
    first: int
    last: int
    mask: int

    @property
    def statements(self) -> Sequence[CheckedStatement]:
        return self.source.statements[self.first : self.last + 1]

    @property
    def texts(self) -> list[str]:
        """Each statement and, where there are several, all of them together."""
        each = [statement.reading.text for statement in self.statements]
        return each if len(each) == 1 else [*each, " ".join(each)]


class CheckedSource:
    """A chunk prepared for checking drafted sentences."""

    def __init__(self, chunk: Chunk, language: str) -> None:
        self.chunk = chunk
        self.language = language
        self.statements = tuple(_statements(chunk.text, language))
        self.around = read(" . ".join((chunk.preface, chunk.chapter_title, chunk.page_title, *chunk.heading_path)), language)
        """The title and the headings above the chunk: they name the subject, but they cannot be quoted."""

    @cached_property
    def stems(self) -> frozenset[str]:
        return self.around.stems.union(*(statement.reading.stems for statement in self.statements))

    @cached_property
    def by_text(self) -> dict[str, tuple[int, int]]:
        """The place of a text that is written or reads exactly like this, outside paragraphs addressed to a model."""
        spans = [(one.start, one.end, "") for one in self.statements]
        spans += [(one.start, one.end, one.readable) for one in statements(self.chunk.preface, self.chunk.text)]
        silent = [one.start for one in self.statements if one.planted]
        places: dict[str, tuple[int, int]] = {}
        for start, end, reads in spans:
            written = self.chunk.text[start:end]
            if not any(start <= one < end for one in silent):
                forms = (single_spaced(written), single_spaced(readable(written)), single_spaced(reads), copied(written))
                places.update({form: (start, end) for form in forms if form and form not in places})
        return places

    @cached_property
    def without_planted(self) -> str:
        """The text without the paragraphs addressed to a model."""
        text = self.chunk.text
        return "\n\n".join(text[start:end] for start, end in _paragraphs(text) if not PLANTED.search(text, start, end))

    @cached_property
    def raw(self) -> str:
        return single_spaced(f"{self.chunk.preface}\n{self.chunk.text}")

    @cached_property
    def shown(self) -> str:
        text = f"{self.chunk.preface}\n{self.chunk.text}"
        return single_spaced(f"{readable(text)} {readable(with_plain_formulas(text))}")

    @cached_property
    def signs(self) -> frozenset[str]:
        return signs(f"{self.raw} {self.shown} {self.around.text}")

    def says(self, words: str) -> bool:
        """Whether the chunk has these words, character for character except for spaces."""
        words = single_spaced(words)
        return bool(words) and (words in self.raw or words in self.shown)

    @cached_property
    def _spelled(self) -> str:
        return spelled_out(f"{self.shown} {self.around.text}")

    def spells(self, name: str) -> bool:
        """Whether the chunk has a name as a formula or in full: beta1 as β_1, CNN as convolutional neural network."""
        if re.search(rf"(?<!\w){re.escape(spelled_out(name))}(?!\w)", self._spelled):
            return True
        if not (2 <= len(name) <= LONGEST_INITIALS and name.isalpha() and name.isupper()):
            return False
        if len(name) < SHORTEST_INITIALS:  # "PR" is a pull request, and nothing with "of" or "in" in it
            first, second = map(re.escape, name.casefold())
            return re.search(rf"(?<!\w){first}[\w-]{{3,}}\s{second}[\w-]{{3,}}", self._spelled) is not None
        initials = r"[\w-]*\s".join(map(re.escape, name.casefold()))
        return re.search(rf"(?<!\w){initials}\w", self._spelled) is not None

    def names(self, name: str) -> bool:
        where = f"{self.raw} {self.shown} {self.around.text}"
        opening = "" if name.startswith("/") else r"(?<!\w)"  # a path may stand at the end of an address
        return re.search(rf"{opening}{re.escape(name)}(?!\w)", where, 0 if _is_code(name) else re.IGNORECASE) is not None


@lru_cache(maxsize=1024)
def checked_source(chunk: Chunk, language: str) -> CheckedSource:
    return CheckedSource(chunk, language)


def spelled_out(text: str) -> str:
    """The text with Greek letters by their names, as a formula is read aloud, and without the marks of an index: β_1 is beta1."""
    return GREEK.sub(lambda found: unicodedata.name(found[0]).split()[-1], ELL.sub("l", text)).casefold().translate(SPELLED)


def signs(text: str) -> frozenset[str]:
    """The scripts of a text's letters and digits, and its invisible characters."""
    return frozenset(filter(None, map(_sign, set(text))))


@lru_cache(maxsize=4096)
def _sign(character: str) -> str:
    category = unicodedata.category(character)
    if category in INVISIBLE:
        return "" if character in "\n\r\t" else f"U+{ord(character):04X}"
    if category[0] not in "LN" or character.isascii():
        return ""
    script = unicodedata.name(character, "UNNAMED").split(" ", 1)[0]
    return "" if script in ("LATIN", "SUPERSCRIPT", "SUBSCRIPT", "MICRO") else script


def _is_code(name: str) -> bool:
    return not name.isalnum()


def _statements(text: str, language: str) -> Iterator[CheckedStatement]:
    ends = [end for _, end in _paragraphs(text)]
    planted = {place for place, (start, end) in enumerate(_paragraphs(text)) if PLANTED.search(text, start, end)}
    fence = ""
    for start, end in sentences(text):
        edge = FENCE.match(text, start, end)
        if edge and (not fence or edge[1].startswith(fence)):
            fence = "" if fence else edge[1]
            continue
        mark = ENUMERATOR.match(text, start, end)
        begin = mark.end() if mark and not fence else start
        reading = read(text[begin:end], language)
        if begin >= end or not reading.text or (text[start] == "#" and not fence):
            continue
        yield CheckedStatement(
            start=begin,
            end=end,
            reading=reading,
            leans=LEANING.match(reading.text) is not None,
            code=bool(fence),
            planted=bisect_right(ends, begin) in planted,
            paragraph=bisect_right(ends, begin),
        )


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for gap in PARAGRAPH.finditer(text):
        yield at, gap.start()
        at = gap.end()
    yield at, len(text)


def best_windows(claim: ReadText, sources: Sequence[CheckedSource], *, most: int) -> tuple[list[Window], float]:
    """The fewest and shortest stretches that have the sentence's content words, best first, and the share that they have
    together."""
    bits = _bits(claim)
    covered = 0
    candidates = [window for source in sources for window in _windows(source, bits, with_code=bool(claim.identifiers))]
    chosen: list[Window] = []
    while candidates and len(chosen) < most:
        best = max(candidates, key=lambda window: _worth(window, covered))
        gain = (best.mask & ~covered).bit_count()
        if gain < (2 if chosen else 1):
            break
        chosen.append(best)
        covered |= best.mask
        for source in sources:
            covered |= _mask(bits, source.around.stems)
    return chosen, covered.bit_count() / max(1, len(bits))


def _worth(window: Window, covered: int) -> tuple[float, float]:
    length = window.last - window.first
    return (window.mask & ~covered).bit_count() - 0.8 * length, -sum(s.end - s.start for s in window.statements)


def same_words(text: str, source: CheckedSource) -> tuple[int, int] | None:
    """The stretch of the chunk that is this sentence, word for word. A copy may lack the words that connect it to the sentence
    before, its emphasis and its last mark."""
    text = without_mark(text)
    return source.by_text.get(single_spaced(text)) or source.by_text.get(copied(text))


def copied(text: str) -> str:
    """A sentence as it reads, without what a copy may lose."""
    text = single_spaced(readable(text)).translate(TYPED)
    tied = CONNECTIVE.match(text)
    text = text[tied.end() if tied else 0 :].rstrip(" .:;!")
    return f"{text[:1].lower()}{text[1:]}"


def _bits(claim: ReadText) -> dict[str, int]:
    facts = [f"#{value}" for value, _ in claim.numbers]
    return {word: 1 << place for place, word in enumerate(dict.fromkeys((*claim.content, *facts)))}


def _mask(bits: dict[str, int], stems: frozenset[str]) -> int:
    return sum(bit for word, bit in bits.items() if word in stems)


def _windows(source: CheckedSource, bits: dict[str, int], *, with_code: bool) -> Iterator[Window]:
    masks = []
    for statement in source.statements:
        numbers = frozenset(f"#{one.value}" for one in statement.reading.quantities)
        silent = statement.planted or (statement.code and not with_code)
        masks.append(0 if silent else _mask(bits, statement.reading.stems | numbers))
    for first in range(len(masks)):
        mask = 0
        for last in range(first, min(first + LONGEST_WINDOW, len(masks))):
            apart = source.statements[last].paragraph != source.statements[first].paragraph
            if not masks[last] or apart or (last > first and not masks[last] & ~mask):
                break
            mask |= masks[last]
            yield Window(source=source, first=first, last=last, mask=mask)

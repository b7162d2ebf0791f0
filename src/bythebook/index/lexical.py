"""BM25 terms: how a text is split into words, how words become terms, and how much each term weighs.

Nothing here depends on the other chunks of a book: the engine computes the rarity of a term (IDF) at query time. A change to
terms or weights needs a new LEXICAL_VERSION, which indexes carry in their manifest.
"""

from __future__ import annotations

import re
import struct
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import Stemmer

LEXICAL_VERSION = 1

# Chosen on 2,247 questions about a curriculum, the sample book and encyclopedia paragraphs (R@1 .77, .85, .81); the eleven
# settings tried differ by at most .02, .05 and .02.
# The length is fixed, so that a chunk's weights never change because another chunk came or went.
K1 = 1.2
B = 0.6
AVERAGE_WORDS = 250.0

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip

STOP_WORDS = frozenset({
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could",
    "did", "do", "does", "doing", "for", "from", "had", "has", "have", "having", "he", "her", "hers", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "itself", "me", "my", "of", "on", "or", "our", "ours",
    "shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then",
    "there", "these", "they", "this", "those", "to", "too", "us", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
})  # fmt: skip

ELIDING = frozenset({"ca", "fr", "it", "tr"})
"""Languages in which an apostrophe separates two words."""

# Scripts written without spaces, and Hangul, whose words carry their grammar at the end: cut into overlapping pairs.
PAIRED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3131-\u318e\u3400-\u4dbf"
    r"\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_stemmers = threading.local()  # a Stemmer keeps state while it works, so each thread has its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A sparse vector: term ids and their weights, ids ascending and unique."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]

    def weight(self, term: int) -> float:
        """The term's weight; 0 where it is absent."""
        return self.weights[self.ids.index(term)] if term in self.ids else 0.0


class _Word(NamedTuple):
    start: int
    end: int
    stem: str
    part: bool
    """Whether it is part of a longer word that is listed too."""


def document_terms(text: str, language: str) -> Terms:
    """The terms of a text, weighed by BM25's saturation. Stop words are included, for questions made of nothing else."""
    counts: Counter[str] = Counter()
    length = 0
    for word in _cut(text, _code(language), singles=True):
        counts[word.stem] += 1
        length += not word.part
    norm = K1 * (1 - B + B * length / AVERAGE_WORDS)
    return _terms({stem: count * (K1 + 1) / (count + norm) for stem, count in counts.items()})


def query_terms(text: str, language: str) -> Terms:
    """Each distinct word of a question once. Stop words count only where there is nothing else; a question without words gives no
    terms."""
    return _terms({stem: 1.0 for _, _, stem in words(text, language)})


@lru_cache(maxsize=256)  # the same question is split again and again
def words(text: str, language: str) -> tuple[tuple[int, int, str], ...]:
    """Each word of a text with its position and its stem, as a question sees it. An identifier is listed together with its parts,
    so stretches may lie inside each other. Equal stems mean equal terms, so this is also how matched words are marked."""
    code = _code(language)
    everything = tuple((word.start, word.end, word.stem) for word in _cut(text, code, singles=False))
    if code != "en":
        return everything
    return tuple(word for word in everything if word[2] not in _stop_stems()) or everything


def term_id(stem: str) -> int:
    return zlib.crc32(stem.encode("utf-8", "surrogatepass"))


def _terms(weights: Mapping[str, float]) -> Terms:
    """Two words with the same hash become one term of their summed weight. Weights are exact in the float32 that engines
    store."""
    hashed: Counter[int] = Counter()
    for stem, weight in weights.items():
        hashed[term_id(stem)] += weight  # type: ignore[assignment]
    ids = tuple(sorted(hashed))
    values = struct.pack(f"{len(ids)}f", *(hashed[term] for term in ids))
    return Terms(ids=ids, weights=struct.unpack(f"{len(ids)}f", values))


def _cut(text: str, code: str, *, singles: bool) -> Iterator[_Word]:
    before: re.Match[str] | None = None
    for match in _pattern(code).finditer(text):
        start, end = match.span()
        if before is not None and before.end() + 1 == start and text[start - 1] == "-" and match.lastgroup == "word":
            # "Wi-Fi" and "real-time" are also "wifi" and "realtime".
            yield _Word(before.start(), end, _stem(before.group() + match.group(), code), True)
        before = match if match.lastgroup == "word" else None
        if match.lastgroup == "paired":
            yield from _pairs(text, start, end, singles=singles)
        elif match.lastgroup == "word":
            yield from _identifier(match.group(), start, code)
        else:
            yield _Word(start, end, match.group().casefold().removeprefix("v"), False)


def _pairs(text: str, start: int, end: int, *, singles: bool) -> Iterator[_Word]:
    """Overlapping pairs of characters; of a document single ones too, so that a question of one character finds it."""
    for position in range(start, end - 1):
        yield _Word(position, position + 2, unicodedata.normalize("NFKC", text[position : position + 2]), False)
    if singles or end - start == 1:
        for position in range(start, end):
            yield _Word(position, position + 1, unicodedata.normalize("NFKC", text[position]), end - start > 1)


def _identifier(word: str, start: int, code: str) -> Iterator[_Word]:
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        yield _Word(start, start + len(word), _stem(word, code), False)
        return
    parts = [] if _PLURAL_ACRONYM.fullmatch(word) else list(_parts(word))
    if parts or word.strip("_"):
        yield _Word(start, start + len(word), _stem(word, code), False)
    if len(parts) > 1 or (parts and parts[0] != word):
        for offset, part in _offsets(word, parts):
            yield _Word(start + offset, start + offset + len(part), _stem(part, code), True)


def _parts(word: str) -> Iterator[str]:
    """Splits identifiers: `create_publisher`, `TwistStamped`, `HTTPServer` and `ros2` hold two words each."""
    begin = 0
    for index in range(1, len(word) + 1):
        if index == len(word) or _boundary(word, index):
            part = word[begin:index].strip("_")
            begin = index
            if part:
                yield part


def _boundary(word: str, index: int) -> bool:
    before, here = word[index - 1], word[index]
    if "_" in (before, here):
        return True
    if before.isdigit() != here.isdigit():
        return before.isalnum() and here.isalnum()
    starts_word = index + 1 < len(word) and word[index + 1].islower()
    return here.isupper() and (before.islower() or (before.isupper() and starts_word))


def _offsets(word: str, parts: Iterable[str]) -> Iterator[tuple[int, str]]:
    position = 0
    for part in parts:
        position = word.index(part, position)
        yield position, part
        position += len(part)


@lru_cache(maxsize=65_536)
def _stem(word: str, code: str) -> str:
    if _PLURAL_ACRONYM.fullmatch(word):
        word = word[:-1]
    folded = unicodedata.normalize("NFKC", word).casefold().replace("\u2019", "'")
    if code not in STEMMERS or "_" in folded or any(map(str.isdigit, folded)):
        return folded
    stemmer = getattr(_stemmers, code, None)
    if stemmer is None:
        stemmer = Stemmer.Stemmer(STEMMERS[code])
        setattr(_stemmers, code, stemmer)
    return str(stemmer.stemWord(folded))


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(_stem(word, "en") for word in STOP_WORDS)


@cache
def _pattern(code: str) -> re.Pattern[str]:
    letters, marks = rf"[^\W{PAIRED}]", f"[{_marks()}\u200c\u200d]"
    word = f"{letters}+(?:{marks}+{letters}*)*"
    joined = word if code in ELIDING else rf"{word}(?:['\u2019]{word})*"
    return re.compile(rf"(?P<sign>[A-Za-z](?:\+\+|\#)(?![\w+\#])|[vV]?\d+(?:\.\d+)+)|(?P<paired>[{PAIRED}]+)|(?P<word>{joined})")


def _marks() -> str:
    """Vowel signs and accents that stand alone in the text belong to their word; Python's \\w leaves them out."""
    codes = (*range(0x300, 0x3100), *range(0xA000, 0xAC00), *range(0xFE20, 0xFE30))
    return "".join(re.escape(chr(code)) for code in codes if unicodedata.category(chr(code))[0] == "M")


def _code(language: str) -> str:
    """The language without its region: `en-GB`, `EN` and `en` are one language here."""
    return re.split(r"[-_]", language.strip().casefold(), maxsplit=1)[0]

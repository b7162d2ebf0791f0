"""Reads from a sentence what can be compared with another: its content words, numbers with units, names and negations.

A draft's sentence and the book's are read in the same way, so equal texts always agree.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from bythebook.books.inline import with_plain_formulas
from bythebook.books.markdown import readable
from bythebook.grounding.quantities import Quantity, quantities
from bythebook.grounding.units import UNITS
from bythebook.index.lexical import STOP_WORDS, words

LATEX = re.compile(r"\\(?:text|mathrm|operatorname|unit|si)\s*\{([^{}]*)\}")
LATEX_COMMAND = re.compile(r"\\(?:[A-Za-z]+(?:_\w+)?|[ ,;:!\\])")
NAME = re.compile(r"(?<![\w/.])(?!US\$)[^\W\d_][\w'’-]*\w|(?<![\w/.])[A-Z](?!\w)")
IDENTIFIER = re.compile(
    r"(?<![\w/~.-])(?:~?/[\w~./-]*\w|--?[A-Za-z][\w-]*(?==|\b)|\w+(?:::\w+)+|\w*[^\W\d_]\w*(?:\.\w+)+(?:\(\))?"
    r"|\w+_\w*|_\w{2,}|[A-Za-z]+\(\)|[a-z]+[A-Z]\w*|[A-Z]\w*[a-z][A-Z]\w*|[^\W\d_]+\d\w*)"
)
VERSION = re.compile(r"v\d++(?:\.\d++)*+")
"""A version such as v1.2. To the check it is a number, 1.2."""
NO_IDENTIFIERS = frozenset({"e.g", "i.e", "a.m", "p.m", "u.s", "u.k", "ph.d"})
ENUMERATOR = re.compile(r"\s*(?:>\s*)*(?:[-*+\u2022]|\d{1,9}[.)])[ \t]+")
NEGATORS = frozenset({
    "not", "no", "never", "cannot", "without", "neither", "nor", "none", "nobody", "nothing", "nowhere",
})  # fmt: skip
ALSO_DENIES = frozenset({
    "lack", "lacks", "lacking", "unable", "impossible", "fail", "fails", "failed", "failing", "instead", "rather", "prevent",
    "prevents", "avoid", "avoids", "forbid", "forbids", "refuse", "refuses", "wrong", "false", "hardly", "rarely", "unless",
    "missing", "absent", "except", "exception", "unaware", "regardless", "independent", "independently", "unlike", "exclude",
    "excludes", "excluding", "excluded", "ignore", "ignores", "ignored", "ignoring", "skip", "skips", "skipped", "skipping",
    "omit", "omits", "omitted", "omitting", "disable", "disables", "disabled", "disabling", "prevented", "preventing", "avoided",
    "avoiding", "forbidden", "refused", "refusing", "insufficient", "lost",
})  # fmt: skip
"""Words that may stand for a negation in a draft or in the book, though nobody is asked to repeat them."""
NO_NEGATION = re.compile(
    r"\bnot (?:only|just|merely)\b|\bwhether or not\b|\bno matter\b|\bno (?:more|less|fewer|later) than\b", re.I
)
REPLY = re.compile(
    r"\A\W{0,9}(?:(?:probably|generally|usually|normally|strictly) )?(?:no|yes|not)"
    r"(?: (?:quite|really|necessarily|exactly|directly))?\s?[,:;.!\u2013\u2014]",
    re.IGNORECASE,
)
"""The opening of an answer to a yes-or-no question. Its "no" denies what was asked, not what the book says."""
CLAUSE = re.compile(
    r"[,;:.](?=\s)|\s[\u2013\u2014-]\s|\b(?:and|but|or|because|which|while|whereas|so that|although)\b", re.IGNORECASE
)
CLAUSE_END = re.compile(r"[;:.!?]|\bbut\b")
CONDITION_END = re.compile(r"[,;:.!?]|\b(?:but|then)\b")
CONDITIONAL = re.compile(r"\b(?:if|when|whenever|unless|in case)\b", re.IGNORECASE)
IN_CONDITION = re.compile(r"\b(?:if|when|whenever|in case)\b[^,;:.!?]*\Z", re.IGNORECASE)
"""What comes before a negation in a condition: "if the GPS is not found, …"."""
LIGHT = (
    "also thus therefore hence however moreover furthermore additionally instead similarly typically usually generally often"
    " basically simply just very quite really well even still already yes called known named means mean refers refer describes"
    " described explains according textbook book lesson chapter section author text states stated says mentions example instance"
    " e.g i.e etc use uses used using allow allows allowing enable lets let make makes making made get gets give gives given"
    " provide provides way ways thing things one ones each every both several many various certain specific particular unless"
    " because since although though whereas may might must need needs able order do able help helps important ensure ensures"
    " serve serves act acts like within between during through via per whether either another other"
)
GERMAN = frozenset({
    "der", "das", "und", "ist", "sind", "nicht", "ein", "eine", "einen", "einem", "einer", "mit", "für", "von", "auf", "den",
    "dem", "des", "sich", "wird", "werden", "zu", "sie", "es", "im", "zum", "zur",
})  # fmt: skip
IN_GERMAN = 0.2
"""A sentence with this share of German function words is in German."""
IN_A_NAME = re.compile(r"[-_](?!one\b)\w")
SCOPE = 3
UNIT_WORD = re.compile(r"[%°$€]|[A-Za-zµμ]{2,}+(?:/[a-z]++)?")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """One negation: the content words after it in its clause, and the two before it. `plain`: it is not, no, never, without …
    `conditional`: it is part of a condition, and a sentence that says what follows from the condition may leave it out."""

    after: tuple[str, ...]
    before: tuple[str, ...]
    plain: bool
    conditional: bool = False

    @property
    def core(self) -> tuple[str, ...]:
        """The words that the negation applies to first."""
        return self.after[:2] or self.before

    def agreement(self, other: Denial) -> int:
        """How far two denials deny the same thing; 0 where they have nothing in common."""
        return 2 * len({*self.after} & {*other.after}) + len({*self.after, *self.before} & {*other.after, *other.before})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadText:
    """A text that was read. `content` are the stems that say something, in order; `stems` are all stems, including light ones."""

    text: str
    content: tuple[str, ...]
    stems: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    quantities: tuple[Quantity, ...]
    """All numbers, including those that a draft need not repeat."""
    units: frozenset[str]
    names: frozenset[str]
    identifiers: frozenset[str]
    denials: tuple[Denial, ...]
    clauses: tuple[tuple[str, ...], ...]
    """The content words of each clause."""
    opening: str
    """The stem of the first word, if it is a content word: it may be a name."""


@lru_cache(maxsize=8192)
def read(markdown: str, language: str) -> ReadText:
    text = plain(markdown)
    english = language.casefold().startswith("en")
    found = words(text, language)
    light = _light() if english else frozenset[str]()
    counted = quantities(text, english=english)
    taken = {place for one in counted for place in range(one.start, one.end)}
    content = [(start, stem) for start, _, stem in _whole(found) if stem not in light and start not in taken]
    units = {one.unit for one in counted if one.unit} | {UNITS[word] for word in UNIT_WORD.findall(text) if word in UNITS}
    return ReadText(
        text=text,
        content=tuple(dict.fromkeys(stem for _, stem in content)),
        stems=frozenset(stem for _, _, stem in found),
        numbers=frozenset(one.pair for one in counted if one.asked),
        quantities=counted,
        units=frozenset(units),
        names=_names(text, language, taken),
        identifiers=frozenset(
            found
            for found in IDENTIFIER.findall(text)
            if found.casefold() not in NO_IDENTIFIERS and found not in UNITS and not VERSION.fullmatch(found)
        ),
        denials=_denials(text, content, [one.turned for one in counted]) if english else (),
        clauses=_clauses(text, content),
        opening=content[0][1] if content and not text[: content[0][0]].strip("\"'“‘(«*_ ") else "",
    )


def plain(markdown: str) -> str:
    """The words of a sentence on one line, without list marks."""
    text = readable(with_plain_formulas(without_mark(markdown)))
    return " ".join(LATEX_COMMAND.sub(" ", LATEX.sub(r"\1", text)).split())


def without_mark(text: str) -> str:
    """The text without the dash or number of a list item."""
    mark = ENUMERATOR.match(text)
    return text[mark.end() :] if mark else text


def _whole(found: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """The words without those that are part of another: an identifier counts as one word of a claim, whatever it is made of."""
    reach = -1
    for start, end, stem in found:
        if end > reach:
            yield start, end, stem
            reach = end


def is_light(stem: str, language: str) -> bool:
    """Whether a stem says too little to be missed: light words and stop words."""
    return language.casefold().startswith("en") and (stem in _light() or stem in _stops())


@lru_cache(maxsize=16384)
def stem(word: str, language: str) -> str:
    found = words(word, language)
    return found[0][2] if found else word.casefold()


def _names(text: str, language: str, taken: set[int]) -> frozenset[str]:
    """Capitalised words inside a sentence, and acronyms anywhere. The month of a date is part of a number (`taken`)."""
    capitals_are_names = not language.casefold().startswith("de") and not _is_german(text)
    found = set()
    for match in NAME.finditer(text):
        word = match[0]
        acronym = sum(map(str.isupper, word)) >= 2
        before = text[max(0, match.start() - 8) : match.start()].rstrip(" \"'“‘(«[*_")
        inside = bool(before) and before[-1] not in ".!?:;…|•–—"
        if word in UNITS or match.start() in taken:
            continue
        if acronym or (capitals_are_names and word[0].isupper() and inside and len(word) > 1):
            found.add(re.sub(r"['’]s\Z", "", word))
    return frozenset(found)


def _is_german(text: str) -> bool:
    """Whether a sentence is in German, where every noun has a capital. A model answers in the language of the question."""
    said = [word.casefold() for word in WORD.findall(text)]
    return sum(word in GERMAN for word in said) >= max(2, IN_GERMAN * len(said))


def _denials(text: str, content: list[tuple[int, str]], bounds: Sequence[int]) -> tuple[Denial, ...]:
    """The negations of a text. A negation at one of the `bounds` belongs to a number ("not more than") and need not be
    repeated."""
    masked = NO_NEGATION.sub(lambda match: "_" * len(match[0]), REPLY.sub(lambda match: " " * len(match[0]), text))
    words_of_it = [
        (match.start(), match.end(), match[0].casefold().replace("\u2019", "'"))
        for match in WORD.finditer(masked)
        if not in_a_name(masked, match.start(), match.end())
    ]
    denying = [
        (start, end, _is_plain(word) and not any(start <= place < end for place in bounds))
        for start, end, word in words_of_it
        if _is_plain(word) or word in ALSO_DENIES
    ]
    said = [(start, stem) for start, stem in content if stem not in _denying()]
    found = []
    for place, (start, end, is_plain) in enumerate(denying):
        conditional = IN_CONDITION.search(masked, 0, start) is not None
        stop = (CONDITION_END if conditional else CLAUSE_END).search(masked, end)
        reach = min(stop.start() if stop else len(masked), denying[place + 1][0] if place + 1 < len(denying) else len(masked))
        after = tuple(dict.fromkeys(stem for at, stem in said if end <= at < reach))[:SCOPE]
        before = tuple(stem for at, stem in said if at < start)[-2:]
        found.append(Denial(after=after, before=before, plain=is_plain, conditional=conditional))
    return tuple(found)


def in_a_name(text: str, start: int, end: int) -> bool:
    """Whether a word is a part of a name or an option: "no" in --no-dev and in no-cache, but not in no-one."""
    return text[start - 1 : start] in ("-", "_") or IN_A_NAME.match(text, end) is not None


def _clauses(text: str, content: list[tuple[int, str]]) -> tuple[tuple[str, ...], ...]:
    edges = [match.start() for match in CLAUSE.finditer(text)]
    clauses: dict[int, list[str]] = {}
    for start, stem in content:
        clauses.setdefault(bisect_right(edges, start), []).append(stem)
    return tuple(map(tuple, clauses.values()))


def _is_plain(word: str) -> bool:
    return word in NEGATORS or word.endswith("n't")


@cache
def _stops() -> frozenset[str]:
    return frozenset(stem(word, "en") for word in STOP_WORDS)


@cache
def _light() -> frozenset[str]:
    return frozenset(found for _, _, found in words(LIGHT, "en")) | _denying()


@cache
def _denying() -> frozenset[str]:
    contracted = "don't doesn't didn't isn't aren't wasn't weren't can't won't couldn't shouldn't wouldn't mustn't hasn't haven't"
    return frozenset(found for _, _, found in words(" ".join(NEGATORS) + " " + contracted, "en"))

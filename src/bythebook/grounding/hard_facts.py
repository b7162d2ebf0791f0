"""The objections that the program itself can raise against a drafted sentence: numbers, names, code and negations, and signs of
abuse.

Each rule returns a reason, or nothing. The rules are few and certain: they must not drop a true sentence in other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bythebook.books.markdown import single_spaced
from bythebook.grounding.alignment import DENIES, denied
from bythebook.grounding.facts import REPLY, Denial, ReadText, stem
from bythebook.grounding.form import asks, chatter, misquotes, unsafe
from bythebook.grounding.number_objections import has_number, is_contrary, number_objection, stated
from bythebook.grounding.support import CheckedSource, CheckedStatement
from bythebook.grounding.synonyms import synonyms
from bythebook.index.lexical import STOP_WORDS

SWAPPED = 0.6
"""A number or name belongs to another statement when its own statement has no more than this share of the words that the best
one has."""
ALIKE = 0.3
"""The share of a sentence's words that a statement with a negation must have before the sentence may repeat that negation."""
ENDED = re.compile(
    r"\b(?:drop(?:s|ped)?|removed?|deprecated|obsolete|stop(?:s|ped)?|ceased?|prohibit(?:s|ed)?|forbidden|banned|reject(?:s|ed)?)\b",
    re.I,
)
"""Words that a draft may replace by "not" or "no longer"."""
SEEN_EVERYWHERE = ("0", "1")
"""Numbers that appear in all kinds of formulas and ranges: they show nothing about what they belong to."""
FEW_WORDS = 5
FAR = 0.34
"""A sentence must have more than this share of its content words in the passages it cites. All of 679 true sentences had 0.4 or
more."""
IN_ENGLISH = 0.25
"""A sentence with this share of English function words is in English. An answer may be in the reader's language instead."""
WORD = re.compile(r"[^\W\d_]+")
FENCED = re.compile(r"^[ \t]*(`{3,}+|~{3,}+)[^\n]*+\n(.*?)(?:^[ \t]*\1[`~]*+[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"(?:\$|>>>|\.\.\.|#)[ \t]+")
CALLED = re.compile(r"\(\)\Z")


def hard_objection(
    text: str, claim: ReadText, sources: Sequence[CheckedSource], asked: ReadText, rests: Sequence[ReadText]
) -> str | None:
    """Why the sentence must not be shown, whatever it means; None where the program finds nothing wrong. Numbers of the
    question as `asked` may be repeated, and numbers of the words that the sentence `rests` on belong to it."""
    return (
        unsafe(text, sources)
        or asks(text)
        or chatter(text, sources)
        or changed_code(text, sources)
        or misquotes(prose(text), sources)
        or number_objection(claim, sources, asked, rests)
        or _another_number(claim, sources, rests)
        or _unknown_name(claim, sources)
        or _denial(claim, sources)
        or _far(claim, sources)
    )


def prose(text: str) -> str:
    """The sentence without the code blocks in it; empty where it is nothing but code."""
    return FENCED.sub(" ", text).strip()


def changed_code(text: str, sources: Sequence[CheckedSource]) -> str | None:
    """Finds a line of a code block that no source has, character for character."""
    for line in code_lines(text):
        if not any(source.says(line) for source in sources):
            return f"has code that its sources do not have: {line}"
    return None


def code_lines(text: str) -> list[str]:
    """The lines of the code blocks in a text, without the prompt of a terminal."""
    lines = (line.strip() for block in FENCED.finditer(text) for line in block[2].splitlines())
    return [written for line in lines if (written := single_spaced(PROMPT.sub("", line, count=1)))]


def placed(sources: Sequence[CheckedSource]) -> Iterator[tuple[CheckedStatement, frozenset[str]]]:
    """Each statement with the words it is about: its own, and those of the statement before where it leans on that."""
    for source in sources:
        for place, statement in enumerate(source.statements):
            before = source.statements[place - 1].reading.stems if place and statement.leans else frozenset[str]()
            yield statement, statement.reading.stems | before


def is_swap(
    words: frozenset[str],
    own: list[tuple[CheckedStatement, frozenset[str]]],
    rival: list[tuple[CheckedStatement, frozenset[str]]],
) -> bool:
    """Whether another statement has so many more of the sentence's words that the number or name must have been moved."""
    held = max((len(words & stems) for _, stems in own), default=0)
    other = max((len(words & stems) for _, stems in rival), default=0)
    return bool(own) and other >= max(2, len(words) * 0.6) and held <= SWAPPED * other


def _another_number(claim: ReadText, sources: Sequence[CheckedSource], rests: Sequence[ReadText]) -> str | None:
    words = frozenset(claim.content)
    for one in claim.quantities:
        if not one.asked or one.value in SEEN_EVERYWHERE or any(has_number(reading, one) for reading in rests):
            continue
        same_unit = [known for known in placed(sources) if any(unit == one.unit for _, unit in known[0].reading.numbers)]
        own = [known for known in placed(sources) if has_number(known[0].reading, one)]
        if is_swap(words, own, [known for known in same_unit if not has_number(known[0].reading, one)]):
            return f"says {one.written} of something else than its sources do"
    return None


def _unknown_name(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    for name in sorted(claim.identifiers | claim.names):
        forms = {name, CALLED.sub("", name)}
        if not any(source.names(form) or _has_stem(source, form) for source in sources for form in forms):
            return f"names {name}, which its sources do not"
    return None


def _has_stem(source: CheckedSource, name: str) -> bool:
    parts = name.split("-")
    if len(parts) > 1:  # JSON-encoded
        return all(source.names(part) or _has_stem(source, part) for part in parts if part)
    return (name.isalpha() and stem(name, source.language) in source.stems) or source.spells(name)


def _denial(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """Finds a "not" that no source says of the same thing, and a "not" that is missing from a sentence copied from the book."""
    words = frozenset(claim.content)
    denying = [one for one in stated(sources) if one.reading.denials]
    theirs = [denial for one in denying for denial in one.reading.denials]
    theirs += [denial for source in sources for denial in source.around.denials]
    alike = any(len(words & one.reading.stems) >= max(3, ALIKE * len(words)) for one in denying) or any(
        len(words & one.reading.stems) >= max(2, ALIKE * len(words)) for one in stated(sources) if ENDED.search(one.reading.text)
    )
    plain = [one for one in claim.denials if one.plain]
    repeats = all(any(_same_denial(one, other) or _left_out(other, words) for other in theirs) for one in plain)
    if not alike and not repeats and not is_contrary(claim, sources):
        return "denies what its sources do not deny"
    said = REPLY.sub("", claim.text)
    reason = denied(said, [statement.reading.text for statement in stated(sources)], sources[0].language)
    repeated = all(any({*one.after} & {*other.after} for other in theirs) for one in plain if one.after)
    return None if reason == DENIES and repeated else reason


def _far(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """Finds a sentence, in the book's language, that has hardly a word of the passages it cites. A judge's "yes" to such a
    sentence cannot be trusted."""
    said = [word.casefold() for word in WORD.findall(claim.text)]
    in_english = sum(word in STOP_WORDS for word in said) >= IN_ENGLISH * len(said)
    if len(claim.content) < FEW_WORDS or not in_english or not sources[0].language.casefold().startswith("en"):
        return None
    found = frozenset[str]().union(*(source.stems for source in sources))
    known = sum(bool(synonyms(word) & found) for word in claim.content)
    if known >= FAR * len(claim.content):
        return None
    return f"says next to nothing of what its sources say ({known} of {len(claim.content)} words found)"


def _left_out(denial: Denial, words: frozenset[str]) -> bool:
    """Whether the book denies what it has just named, without naming it again: "Unions are not." """
    return not denial.after and bool({*denial.before} & words)


def _same_denial(one: Denial, other: Denial) -> bool:
    return bool({*one.after, *one.before} & {*other.after, *other.before}) or not (one.after or one.before)

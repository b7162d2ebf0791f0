"""Finds words that reverse what the sources say, or make it stronger: antonyms, "must" for "may", "always", "even if", "unless".
A part of the words rule; each rule returns a reason, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from bythebook.grounding.facts import ReadText, stem
from bythebook.grounding.hard_facts import placed
from bythebook.grounding.support import CheckedSource, Window
from bythebook.grounding.synonyms import contraries, misread, synonyms
from bythebook.index.lexical import STOP_WORDS

ONLY = re.compile(r"\bonly\b", re.IGNORECASE)
ONLY_THEN = re.compile(r"\bonly (?:\w+ )?(?:since|from|after|until)\b", re.IGNORECASE)
ABSOLUTES = ("always", "only", "guarantee", "all", "never")
"""Words that make a statement stronger. Where a draft has one, the book must have it too."""
CONCESSION = re.compile(
    r"\b(?:even if|even though|although|though|despite|regardless|whether or not|in spite of)\b", re.IGNORECASE
)
ADVERSE = re.compile(r"\b(?:but|however|nevertheless|nonetheless|yet|whereas|on the other hand)\b", re.IGNORECASE)
"""Words with which the book may concede something where a draft says "although": "but" joins the same two clauses the other way
round."""
EXCEPTION = re.compile(r"\b(?:unless|only if|only when|as long as|provided that)\b", re.IGNORECASE)
CONDITION = re.compile(
    r"\b(?:unless|except\w*|only|until|as long as|provided|otherwise|without|need\w*|requir\w*|must|should|if|default\w*"
    r"|usual\w*)\b",
    re.IGNORECASE,
)
MEASURED = re.compile(
    r"\btoo (?:much |many )?(?P<much>\w+)|(?:\bnot|n['\u2019]t) (?:enough (?P<few>\w+)|(?P<little>\w+) enough\b)", re.IGNORECASE
)
EITHER = re.compile(r"\beither\b(?! (?:way|case)\b|[.;,!?]|\Z)", re.IGNORECASE)
"""The opening of a choice. "Either way" offers none."""
CHOICE = re.compile(r"\b(?:either|or|alternatively|optional|optionally)\b", re.IGNORECASE)
OBLIGATION = re.compile(
    r"\b(?:must|ha(?:ve|s) to|needs? to|required?|requires|mandatory|always|never|guarante\w+|cannot)\b", re.IGNORECASE
)
OBLIGES = re.compile(
    r"\b(?:must|ha(?:ve|s) to|need\w*|requir\w*|mandatory|always|never|guarante\w+|only|cannot|can't|unable|impossible)(?!\w)",
    re.IGNORECASE,
)
ABSOLUTE_DENIALS = ("never", "cannot")
BEFORE_AN_ACT = re.compile(r"must|.* to|always|never|cannot", re.IGNORECASE)
ACT = 4
"""How many words after "must" or "may" are read as what must or may be done."""
AS_STRONG = {
    "all": re.compile(r"\b(?:every|each|both|any|whole|entire|no|none)\b", re.IGNORECASE),
    "always": re.compile(r"\b(?:(?:every|each) time|whenever|ever|never)\b", re.IGNORECASE),
    "only": re.compile(r"\b(?:just|sole(?:ly)?|alone|merely|exclusively|nothing (?:but|else)|no other)\b", re.IGNORECASE),
}
"""Words with which the book may say as much as an absolute word does."""
RELEASES = re.compile(r"(?:\bnot|\bno longer|\bnever|n['\u2019]t|\bwithout)\s(?:\w+\s)?\Z", re.IGNORECASE)
"""What comes before an obligation and cancels it: "you no longer have to"."""
OPTION = re.compile(
    r"\b(?:may|might|can|could|should|want to|optional\w*|recommend\w*|prefer\w*|allow\w*|usually|often|typically|sometimes"
    r"|likely)\b",
    re.IGNORECASE,
)
CLOSE = 0.5
"""A statement with the contrary word must share this part of a clause's other words."""
NEARBY_CLAUSE = 3
PREFIXES = ("un", "in", "im", "ir", "non", "dis")
SHORTEST = 4
NO_PREFIX = (
    "input import inside inform install instance intend invest improve impact income insight inline intake inset insert impress"
    " display discover distribute discount dispose"
)
"""Words that only look as if they had a prefix: input is not the contrary of put."""


def contradiction(
    claim: ReadText,
    sources: Sequence[CheckedSource],
    windows: Sequence[Window],
    rests: Sequence[ReadText],
    quoted: frozenset[str],
) -> str | None:
    """What the sentence reverses, or says more strongly, than its passages and the words that it `rests` on."""
    return (
        _obliges(claim, rests)
        or _opposite(claim, windows, sources, rests, quoted)
        or _contrary_nearby(claim, sources)
        or _concedes(claim, windows, rests)
        or _enough(claim, rests)
    )


def _obliges(claim: ReadText, rests: Sequence[ReadText]) -> str | None:
    """Finds "must" or "always" where the words that the sentence rests on leave it open."""
    if any(OBLIGES.search(reading.text) for reading in rests):
        return None
    denied = any(denial.plain for reading in rests for denial in reading.denials)
    for obliging in OBLIGATION.finditer(claim.text):
        if RELEASES.search(claim.text[: obliging.start()]) or (denied and obliging[0].casefold() in ABSOLUTE_DENIALS):
            continue
        act = _act(claim.text[obliging.end() :]) if BEFORE_AN_ACT.fullmatch(obliging[0]) else frozenset[str]()
        for reading in rests:
            for open_to in OPTION.finditer(reading.text):
                other = _act(reading.text[open_to.end() :])
                if act & other or not (act and other):
                    return f"says '{obliging[0]}' where its sources say '{open_to[0]}'"
    return None


def _act(text: str) -> frozenset[str]:
    """What must or may be done: the first words of a text, and what they may be replaced by."""
    said = (word.strip("*_`\"',.;:()").casefold() for word in text.split()[:ACT])
    return frozenset(other for word in said if word not in STOP_WORDS for other in synonyms(stem(word, "en")))


def _opposite(
    claim: ReadText,
    windows: Sequence[Window],
    sources: Sequence[CheckedSource],
    rests: Sequence[ReadText],
    quoted: frozenset[str],
) -> str | None:
    found = quoted.union(
        *(source.around.stems for source in sources),
        *(statement.reading.stems for window in windows for statement in window.statements),
    )
    texts = [*(reading.text for reading in rests), *(text for window in windows for text in window.texts)]
    for word in claim.stems - found:
        turned = found & (contraries(word) | _prefixed(word))
        strong = word in _absolutes() and not _as_strong(word, claim, rests, texts)
        if not (turned or strong) or word in misread([claim.text]):
            continue
        if turned - misread(texts):
            return f"says the opposite of its sources ({word})"
        if strong:
            return f"is stronger than its sources ({word})"
    return None


def _prefixed(word: str) -> frozenset[str]:
    """The word with and without each prefix that denies: valid and invalid. "Unnoticed" has the stem "unnot", but is not the
    contrary of "not"."""
    with_one = {prefix + word for prefix in PREFIXES} - _no_prefix()
    without = {word.removeprefix(prefix) for prefix in PREFIXES if word.startswith(prefix)} if word not in _no_prefix() else set()
    return frozenset(with_one | {bare for bare in without if len(bare) >= SHORTEST})


def _as_strong(word: str, claim: ReadText, rests: Sequence[ReadText], texts: Sequence[str]) -> bool:
    """Whether the absolute word adds nothing, because the words that the sentence rests on are as strong: "all" for their
    "every", "never" for their "not", "only since" for "since"."""
    if any(said.search(text) for one, said in AS_STRONG.items() if stem(one, "en") == word for text in texts):
        return True
    if word == stem("only", "en"):
        return _only_then(claim)
    theirs = [denial for reading in rests for denial in reading.denials if denial.plain]
    ours = [denial for denial in claim.denials if denial.plain]
    return word == stem("never", "en") and all(any(one.agreement(other) for other in theirs) for one in ours)


def _only_then(claim: ReadText) -> bool:
    """Whether each "only" of the sentence is one of time: "only since"."""
    return len(ONLY_THEN.findall(claim.text)) == len(ONLY.findall(claim.text))


def _contrary_nearby(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """Finds a word where the book, speaking of the same thing, has the contrary, even if the book uses the word elsewhere."""
    for clause in claim.clauses:
        for word in clause:
            others = contraries(word, nearby=True)
            if not others or len(clause) < NEARBY_CLAUSE or word in misread([claim.text]):
                continue
            if word == stem("only", "en") and _only_then(claim):
                continue
            rest = frozenset(clause) - {word}
            own = max((len(rest & stems) for _, stems in placed(sources) if word in stems), default=0)
            theirs = max((len(rest & stems) for one, stems in placed(sources) if others & stems and word not in stems
                          and others & (stems - misread([one.reading.text]))), default=0)  # fmt: skip
            if theirs > own and theirs >= max(2, CLOSE * len(rest)):
                return f"says the opposite of its sources ({word})"
    return None


def _enough(claim: ReadText, rests: Sequence[ReadText]) -> str | None:
    """Finds "not powerful enough" where the words that the sentence rests on say "too powerful", or the other way round."""
    ours, theirs = _measured(claim.text), _measured(" . ".join(reading.text for reading in rests))
    turned = {word for word, much in ours if (word, not much) in theirs and (word, much) not in theirs}
    return f"says the opposite of its sources ({min(turned)})" if turned else None


def _measured(text: str) -> set[tuple[str, bool]]:
    """The words of which a text says that there is too much (True) or too little (False)."""
    return {(found[found.lastgroup or 0].casefold(), found.lastgroup == "much") for found in MEASURED.finditer(text)}


def _concedes(claim: ReadText, windows: Sequence[Window], rests: Sequence[ReadText]) -> str | None:
    """Finds "even if", "although", "either" or "unless" where the book has no such word. They turn a reason into an obstacle, a
    demand into a choice, or a rule into one with exceptions."""
    found = CONCESSION.search(claim.text)
    texts = [*(text for window in windows for text in window.texts), *(reading.text for reading in rests)]
    if found and not any(CONCESSION.search(text) or ADVERSE.search(text) for text in texts):
        return f"says '{found[0].casefold()}' where its sources do not"
    if EITHER.search(claim.text) and not any(map(CHOICE.search, texts)):
        return "offers a choice that its sources do not offer"
    bound = EXCEPTION.search(claim.text)
    if bound and rests and not any(CONDITION.search(reading.text) for reading in rests):
        return f"says '{bound[0].casefold()}' where its sources do not"
    return None


@cache
def _no_prefix() -> frozenset[str]:
    return frozenset(stem(word, "en") for word in NO_PREFIX.split())


@cache
def _absolutes() -> frozenset[str]:
    return frozenset(stem(word, "en") for word in ABSOLUTES)

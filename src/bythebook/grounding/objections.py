"""The words rule: whether the words of the passages support a drafted sentence. Each part returns a reason, or nothing.

It decides where no model judges the meaning. It is strict: it drops a quarter of the true sentences that use other words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.grounding.alignment import DENIES, altered
from bythebook.grounding.contradictions import contradiction
from bythebook.grounding.facts import CONDITIONAL, REPLY, Denial, ReadText, stem
from bythebook.grounding.hard_facts import is_swap, placed
from bythebook.grounding.support import CheckedSource, Window
from bythebook.grounding.synonyms import synonyms

ENOUGH = 0.7
"""The share of content words that must be found."""
FEW_WORDS = 2
"""Sentences with this many content words or fewer must be found whole."""
CLAUSE_SHARE = 0.5
"""The share that must be found of each clause with three content words or more."""
NEW_IN_A_ROW = 3
"""This many content words in a row that the book does not have are a claim of the drafter's own."""
ONE_CARRIES = 0.6
"""The share of the words that one statement of the book, or the words under the sentence, must have: words gathered from
everywhere support nothing."""
CLOSE = 0.5
"""A statement of the book that has this share of a draft's words is about the same thing, so its negations count."""
VERB = re.compile(
    r"is|are|was|were|has|have|had|can|may|must|will|does|do|did|should|would|could|needs?|uses?|loads?|runs?|makes?|gives?|sends?|takes?"
    r"|provides?|renders?|allows?|stores?|keeps?|works?|returns?|lets?|holds?|contains?|requires?|supports?"
)
"""A verb behind a subject. "May" with a capital is a month."""
UNDOING = re.compile(r"\b(?:un(?!der|til|less|i)|im(?=poss)|in(?=dep|valid|corr))\w+|\b(?:too|only)\b", re.IGNORECASE)
"""Words that deny without a "not": unaware, impossible, too large to …"""


def objection(
    claim: ReadText,
    sources: Sequence[CheckedSource],
    windows: Sequence[Window],
    share: float,
    rests: Sequence[ReadText],
    quoted: frozenset[str],
) -> str | None:
    """Why the words do not support the sentence; None where they do. The hard facts were checked before. `rests`: the words
    that the sentence rests on, where it names any. `quoted`: the stems of the statements around those words."""
    return (
        _opening_name(claim, sources)
        or _swapped_name(claim, sources, quoted)
        or _too_little(claim, sources, windows, share, quoted)
        or _denies(claim, windows, rests)
        or _affirms(claim, rests)
        or contradiction(claim, sources, windows, rests, quoted)
        or _changes(claim, windows, rests, sources[0].language)
    )


def _changes(claim: ReadText, windows: Sequence[Window], rests: Sequence[ReadText], language: str) -> str | None:
    """Finds a changed word in a statement that the sentence otherwise repeats. A "not" that the words under the sentence have
    is no change."""
    reason = altered(REPLY.sub("", claim.text), [text for window in windows for text in window.texts], language)
    theirs = [denial for reading in rests for denial in reading.denials]
    plain = [denial for denial in claim.denials if denial.plain]
    repeated = bool(theirs) and all(any({*one.after} & {*other.after} for other in theirs) for one in plain)
    return None if reason == DENIES and repeated else reason


def _opening_name(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    if claim.opening and not any(claim.opening in source.stems for source in sources) and not _ordinary(claim):
        return f"is about {claim.text.split()[0]}, which its sources do not name"
    return None


def _ordinary(claim: ReadText) -> bool:
    """Whether the first word is no subject: "Typically", "Using", "Keep in mind". A subject is followed by its verb."""
    first, *others = claim.text.split()[:2]
    first = first.strip("\"'“‘(«*_,;:").casefold()
    if first.endswith(("ly", "ing", "ed")) or not claim.text[0].isupper():
        return True
    return not (others and VERB.fullmatch(others[0].strip(",;:")))


def _swapped_name(claim: ReadText, sources: Sequence[CheckedSource], quoted: frozenset[str]) -> str | None:
    """Finds a name that the book uses for something else. A name in the words that the sentence rests on is right."""
    words = frozenset(claim.content)
    for name in sorted(claim.identifiers | claim.names):
        parts = frozenset(stem(part, sources[0].language) for part in re.findall(r"\w+", name))
        if parts <= quoted:
            continue
        rest = words - parts
        rival = [
            s for s in placed(sources) if not parts <= s[0].reading.stems and (s[0].reading.names or s[0].reading.identifiers)
        ]
        own = [s for s in placed(sources) if parts <= s[0].reading.stems]
        if len(rest) > 1 and is_swap(rest, own, rival) and not any(parts <= source.around.stems for source in sources):
            return f"says of {name} what its sources say of something else"
    return None


def _too_little(
    claim: ReadText, sources: Sequence[CheckedSource], windows: Sequence[Window], share: float, quoted: frozenset[str]
) -> str | None:
    if not claim.content or not windows:
        return "says nothing that its sources say"
    found = quoted.union(
        *(source.around.stems for source in sources),
        *(statement.reading.stems for window in windows for statement in window.statements),
    )
    missing = [word for word in claim.content if not synonyms(word) & found]
    share = max(share, 1 - len(missing) / len(claim.content))
    if missing and (len(claim.content) <= FEW_WORDS or share < ENOUGH):
        return f"says more than its sources do ({len(claim.content) - len(missing)} of {len(claim.content)} words found)"
    words = frozenset(claim.content)
    one = max(len(words & stems) for statement, stems in placed(sources) if not statement.planted)
    one = max(one, sum(bool(synonyms(word) & quoted) for word in words))
    headed = max(len(words & source.around.stems) for source in sources)
    if one + (headed if one > 1 else 0) < ONE_CARRIES * len(words) / max(1, len({window.source.chunk.id for window in windows})):
        return "joins words that no sentence of its sources joins"
    return "adds a claim that its sources do not make" if _new_claim(claim, found) else None


def _new_claim(claim: ReadText, found: frozenset[str]) -> bool:
    """Whether a clause of the sentence, or several of its words in a row, are hardly in the sources."""
    for clause in claim.clauses:
        known = sum(bool(synonyms(word) & found) for word in clause)
        if (len(clause) >= 2 and not known) or (len(clause) >= 3 and known < CLAUSE_SHARE * len(clause)):
            return True
    run = 0
    for word in claim.content:
        run = 0 if synonyms(word) & found else run + 1
        if run >= NEW_IN_A_ROW:
            return True
    return False


def _denies(claim: ReadText, windows: Sequence[Window], rests: Sequence[ReadText]) -> str | None:
    stated = [statement for window in windows for statement in window.statements]
    theirs = [denial for reading in (*(statement.reading for statement in stated), *rests) for denial in reading.denials]
    if not _repeated([denial for denial in claim.denials if denial.plain], theirs):
        return "denies what its sources do not deny"
    words, conditional = frozenset(claim.content), CONDITIONAL.search(claim.text)
    for statement in stated:
        if len(words & statement.reading.stems) < CLOSE * len(words):
            continue
        wanted = [
            denial
            for denial in statement.reading.denials
            if denial.plain and denial.core and words.issuperset(denial.core) and not (denial.conditional and not conditional)
        ]
        if not _repeated(wanted, claim.denials):
            return "affirms what its sources deny"
    return None


def _affirms(claim: ReadText, rests: Sequence[ReadText]) -> str | None:
    """Finds a sentence without a denial where the words under it have one, or with a denial where they have none."""
    theirs = sum(len(reading.denials) + len(UNDOING.findall(reading.text)) for reading in rests)
    if rests and sum(denial.plain for denial in claim.denials) > theirs:
        return "denies what its sources do not deny"
    if claim.denials or UNDOING.search(claim.text):
        return None
    conditional = CONDITIONAL.search(claim.text)
    for denial in (denial for reading in rests for denial in reading.denials):
        if not denial.plain or (denial.conditional and not conditional):
            continue
        if any(synonyms(word) & claim.stems for word in denial.after[:2]):
            return "affirms what its sources deny"
    return None


def _repeated(wanted: Sequence[Denial], given: Sequence[Denial]) -> bool:
    """Whether the draft repeats each denial of the book, each with one of its own."""
    pairs = sorted(
        ((one.agreement(other), i, j) for i, one in enumerate(wanted) for j, other in enumerate(given)), key=lambda pair: -pair[0]
    )
    done, used = set[int](), set[int]()
    for agreement, i, j in pairs:
        if agreement and i not in done and j not in used:
            done.add(i)
            used.add(j)
    return len(done) == len(wanted)

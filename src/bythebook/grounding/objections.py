"""The words rule: whether the words of the passages carry a drafted sentence. Each part answers with a reason or with nothing.

It decides where no model judges the meaning. It is strict: a sentence in words of its own mostly falls by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from bythebook.grounding.alignment import altered
from bythebook.grounding.facts import Denial, ReadText, stem
from bythebook.grounding.hard_facts import is_swap, placed
from bythebook.grounding.support import CheckedSource, Window
from bythebook.grounding.synonyms import contraries, synonyms

ENOUGH = 0.65
"""The share of content words that must be found."""
FEW_WORDS = 3
"""Sentences of no more content words than this must be found whole."""
CLAUSE_SHARE = 0.4
"""The same for each clause of three content words or more."""
NEW_IN_A_ROW = 3
"""Content words one after the other that the book does not have: a claim of the drafter's own."""
ONE_CARRIES = 0.45
"""The share that a single statement of the book must hold, so that words gathered from everywhere make no claim."""
CLOSE = 0.5
"""The share of a draft's words from which a statement of the book is about the same, and its negations count."""
ABSOLUTES = ("always", "only", "guarantee", "all", "never")
"""Words that make a statement stronger. Where a draft has one, the book must have it too."""
VERB = re.compile(
    r"is|are|was|were|has|have|had|can|may|must|will|does|do|did|should|would|could|needs?|uses?|loads?|runs?|makes?|gives?|sends?|takes?"
    r"|provides?|renders?|allows?|stores?|keeps?|works?|returns?|lets?|holds?|contains?|requires?|supports?",
    re.IGNORECASE,
)
CONCESSION = re.compile(
    r"\b(?:even if|even though|although|though|despite|regardless|whether or not|in spite of)\b", re.IGNORECASE
)
EITHER = re.compile(r"\beither\b", re.IGNORECASE)
CHOICE = re.compile(r"\b(?:either|or|alternatively|optional|optionally)\b", re.IGNORECASE)
PREFIXES = ("un", "in", "im", "ir", "non", "dis")


def objection(
    text: str, claim: ReadText, sources: Sequence[CheckedSource], windows: Sequence[Window], share: float
) -> str | None:
    """Why the words do not carry the sentence; None where they do. The hard facts have been looked at before."""
    return (
        _opening_name(claim, sources)
        or _swapped_name(claim, sources)
        or _too_little(claim, sources, windows, share)
        or _denies(claim, windows)
        or _opposite(claim, windows, sources)
        or _contrary_nearby(claim, sources)
        or _concedes(claim, windows)
        or altered(claim.text, [text for window in windows for text in window.texts], sources[0].language)
    )


def _opening_name(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    if claim.opening and not any(claim.opening in source.stems for source in sources) and not _ordinary(claim):
        return f"is about {claim.text.split()[0]}, which its sources do not name"
    return None


def _ordinary(claim: ReadText) -> bool:
    """A first word that is no subject: "Typically", "Using", "Keep in mind". A subject has its verb right behind it."""
    first, *others = claim.text.split()[:2]
    first = first.strip("\"'“‘(«*_,;:").casefold()
    if first.endswith(("ly", "ing", "ed")) or not claim.text[0].isupper():
        return True
    return not (others and VERB.fullmatch(others[0].strip(",;:")))


def _swapped_name(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """A name that the book uses, but of something else."""
    words = frozenset(claim.content)
    for name in sorted(claim.identifiers | claim.names):
        parts = frozenset(stem(part, sources[0].language) for part in re.findall(r"\w+", name))
        rest = words - parts
        rival = [
            s for s in placed(sources) if not parts <= s[0].reading.stems and (s[0].reading.names or s[0].reading.identifiers)
        ]
        own = [s for s in placed(sources) if parts <= s[0].reading.stems]
        if len(rest) > 1 and is_swap(rest, own, rival) and not any(parts <= source.around.stems for source in sources):
            return f"says of {name} what its sources say of something else"
    return None


def _too_little(claim: ReadText, sources: Sequence[CheckedSource], windows: Sequence[Window], share: float) -> str | None:
    if not claim.content or not windows:
        return "says nothing that its sources say"
    found = frozenset[str]().union(
        *(source.around.stems for source in sources),
        *(statement.reading.stems for window in windows for statement in window.statements),
    )
    missing = [word for word in claim.content if not synonyms(word) & found]
    share = max(share, 1 - len(missing) / len(claim.content))
    if missing and (len(claim.content) <= FEW_WORDS or share < ENOUGH):
        return f"says more than its sources do ({len(claim.content) - len(missing)} of {len(claim.content)} words found)"
    words = frozenset(claim.content)
    one = max(len(words & stems) for statement, stems in placed(sources) if not statement.planted)
    headed = max(len(words & source.around.stems) for source in sources)
    if one + (headed if one > 1 else 0) < ONE_CARRIES * len(words) / max(1, len({window.source.chunk.id for window in windows})):
        return "joins words that no sentence of its sources joins"
    return "adds a claim that its sources do not make" if _new_claim(claim, found) else None


def _new_claim(claim: ReadText, found: frozenset[str]) -> bool:
    """Whether a clause of the sentence, or a run of its words, has next to nothing of the sources."""
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


def _denies(claim: ReadText, windows: Sequence[Window]) -> str | None:
    stated = [statement for window in windows for statement in window.statements]
    theirs = [denial for statement in stated for denial in statement.reading.denials]
    if not _repeated([denial for denial in claim.denials if denial.plain], theirs):
        return "denies what its sources do not deny"
    words = frozenset(claim.content)
    for statement in stated:
        if len(words & statement.reading.stems) < CLOSE * len(words):
            continue
        wanted = [
            denial for denial in statement.reading.denials if denial.plain and denial.core and words.issuperset(denial.core)
        ]
        if not _repeated(wanted, claim.denials):
            return "affirms what its sources deny"
    return None


def _repeated(wanted: Sequence[Denial], given: Sequence[Denial]) -> bool:
    """Whether each denial of the book is there in the draft, none standing for two."""
    pairs = sorted(
        ((one.agreement(other), i, j) for i, one in enumerate(wanted) for j, other in enumerate(given)), key=lambda pair: -pair[0]
    )
    done, used = set[int](), set[int]()
    for agreement, i, j in pairs:
        if agreement and i not in done and j not in used:
            done.add(i)
            used.add(j)
    return len(done) == len(wanted)


def _opposite(claim: ReadText, windows: Sequence[Window], sources: Sequence[CheckedSource]) -> str | None:
    found = frozenset[str]().union(
        *(source.around.stems for source in sources),
        *(statement.reading.stems for window in windows for statement in window.statements),
    )
    for word in claim.stems - found:
        if found & contraries(word) or any(
            prefix + word in found or (word.startswith(prefix) and word.removeprefix(prefix) in found) for prefix in PREFIXES
        ):
            return f"says the opposite of its sources ({word})"
        if word in _absolutes():
            return f"is stronger than its sources ({word})"
    return None


def _contrary_nearby(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """A word of which the book says the contrary where it speaks of the very same, though it has the word elsewhere."""
    for clause in claim.clauses:
        for word in clause:
            others = contraries(word, nearby=True)
            if not others or len(clause) < FEW_WORDS:
                continue
            rest = frozenset(clause) - {word}
            own = max((len(rest & stems) for _, stems in placed(sources) if word in stems), default=0)
            theirs = max((len(rest & stems) for _, stems in placed(sources) if others & stems and word not in stems), default=0)
            if theirs > own and theirs >= max(2, CLOSE * len(rest)):
                return f"says the opposite of its sources ({word})"
    return None


def _concedes(claim: ReadText, windows: Sequence[Window]) -> str | None:
    """ "Even if", "although" or "either", where the book has no such turn: what it gives as a reason may have become an obstacle,
    and what it asks for a choice."""
    found = CONCESSION.search(claim.text)
    if found and not any(CONCESSION.search(text) for window in windows for text in window.texts):
        return f"says '{found[0].casefold()}' where its sources do not"
    if EITHER.search(claim.text) and not any(CHOICE.search(text) for window in windows for text in window.texts):
        return "offers a choice that its sources do not offer"
    return None


@cache
def _absolutes() -> frozenset[str]:
    return frozenset(stem(word, "en") for word in ABSOLUTES)

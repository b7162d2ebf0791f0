"""Checks the numbers of a drafted sentence: values, units, bounds and rates that its sources do not have are objections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bythebook.grounding.facts import ReadText, is_light, stem
from bythebook.grounding.quantities import Quantity, says_date
from bythebook.grounding.support import CheckedSource, CheckedStatement
from bythebook.grounding.units import KIND_OF, UNITS, equal, reciprocal, value_of

DERIVED = 12
"""A count of this many or fewer, written as a word, may be the drafter's own: "three things: A, B and C"."""
RELATION = re.compile(r"\b(?:period|interval|every|cycle|frequency|rate|hertz|Hz)\b", re.IGNORECASE)
"""Words by which a text relates a rate to a period."""
MEASURES = re.compile(
    r"\b(?:(?:nano|micro|milli)?seconds|minutes|hours|days|weeks|months|years|(?:kilo|centi|milli)?met(?:er|re)s|(?:kilo)?grams"
    r"|(?:kilo|mega|giga|tera)?bytes)\b|\bper (?:second|minute|hour|day|week|month|year)\b",
    re.IGNORECASE,
)
LONG_NUMBER = 3
JOINED = re.compile(r"[,;]|\band\b|\bor\b", re.IGNORECASE)


def number_objection(claim: ReadText, sources: Sequence[CheckedSource], asked: ReadText, rests: Sequence[ReadText]) -> str | None:
    """Why a number of the sentence is not the sources' number; None where each of them is. A number of the words that the
    sentence `rests` on is theirs."""
    return (
        _unknown(claim, sources, asked)
        or _bounded(claim, sources)
        or _another_unit(claim, sources)
        or _another_count(claim, sources, rests)
    )


def has_number(reading: ReadText, one: Quantity) -> bool:
    """Whether a text has this quantity, in whatever unit of its kind; a date also where it is told more exactly."""
    counted = bool(one.counts) and not is_light(stem(one.counts[0], "en"), "en")
    for known in reading.quantities:
        if known.ordinal and not one.ordinal and (one.spoken or counted):  # the third is not three of them
            continue
        if equal(one.pair, known.pair) or says_date(known.value, one.value):
            return True
        if not one.unit and one.value == known.value and not (counted and known.unit):
            return True
        if one.value == known.value and not known.unit and (one.unit in reading.units or _is_row(reading)):
            return True
        if one.pair != known.pair and not one.unit and not known.unit and _is_version(one) and one.digits == known.digits:
            return True
    return False


def _is_version(one: Quantity) -> bool:
    """Written as 3.10, wherever it stands, and not multiplied by a word behind it."""
    return one.digits.count(".") == 1 and value_of(one.digits) == value_of(one.value)


def _is_row(reading: ReadText) -> bool:
    """A row of a table, whose units stand in its head, or nowhere."""
    return " | " in reading.text and not reading.units


def stated(sources: Sequence[CheckedSource]) -> Iterator[CheckedStatement]:
    """Every statement that speaks to a reader."""
    return (statement for source in sources for statement in source.statements if not statement.planted)


def _unknown(claim: ReadText, sources: Sequence[CheckedSource], asked: ReadText) -> str | None:
    for one in claim.quantities:
        if has_number(asked, one):
            continue
        if one.asked and not _known(one, sources) and not _derived(one, claim, sources):
            return f"says {one.written}, which its sources do not say"
    return None


def _known(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    if any(has_number(statement.reading, one) for statement in stated(sources)):
        return True
    if any(has_number(source.around, one) for source in sources):
        return True
    return _in_paragraph(one, sources) or _related(one, sources) or _in_a_name(one, sources)


def _in_a_name(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """A number of three figures or more that a key or an address has: "Polyak.1964"."""
    if one.unit or len(one.digits) < LONG_NUMBER or not one.digits.isdigit():
        return False
    return any(re.search(rf"(?<!\d){one.digits}(?!\d)", source.without_planted) for source in sources)


def _in_paragraph(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """The value without a unit in one sentence, and the unit in another of the same paragraph."""
    if not one.unit:
        return False
    for source in sources:
        values, units = set[int](), set[int]()
        for statement in source.statements:
            if any(one.value == known.value and not known.unit for known in statement.reading.quantities):
                values.add(statement.paragraph)
            if one.unit in statement.reading.units:
                units.add(statement.paragraph)
        if values & units:
            return True
    return False


def _related(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """A period where the text has the rate, or the other way round, and says that one is the other."""
    return KIND_OF.get(one.unit) in ("time", "frequency") and any(
        reciprocal(one.pair, known.pair) and RELATION.search(statement.reading.text)
        for statement in stated(sources)
        for known in statement.reading.quantities
    )


def _derived(one: Quantity, claim: ReadText, sources: Sequence[CheckedSource]) -> bool:
    """A small count in words that the sentence makes itself, and that no source contradicts with another count of the same."""
    if not one.spoken or one.unit or one.bound or not one.value.isdigit() or int(one.value) > DERIVED:
        return False
    counted = {stem(word, source.language) for source in sources[:1] for word in one.counts}
    rivals = (known for statement in stated(sources) for known in statement.reading.quantities)
    if any(counted & {stem(word, sources[0].language) for word in known.counts} for known in rivals):
        return False
    pointing = claim.text[max(0, one.start - 6) : one.start].casefold().rstrip()
    return pointing.endswith((" the", "these", "those", "both", "all")) or len(JOINED.findall(claim.text)) + 1 >= int(one.value)


def _bounded(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """ "At most two" where the book says "at least two", and "0.02 per hour" where it says "per minute". A "not" turns a bound
    round: where only the book or only the sentence has one, nothing can be said."""
    for one in claim.quantities:
        same = [
            (known, _denies(claim, one) != _denies(statement.reading, known))
            for statement in stated(sources)
            for known in statement.reading.quantities
            if equal(one.pair, known.pair) or (one.value == known.value and not (one.unit and known.unit))
        ]
        if one.bound and same and all(known.bound and known.bound != one.bound and not turned for known, turned in same):
            return f"says at {one.bound} {one.written} where its sources say the contrary"
        if one.per and same and all(known.per and known.per != one.per for known, _ in same):
            return f"says {one.written} per {one.per}, which its sources do not say"
    return None


def _denies(reading: ReadText, one: Quantity) -> bool:
    """Whether a text has a "not" besides the one that belongs to the bound of this number."""
    return sum(denial.plain for denial in reading.denials) > one.turned


def _another_unit(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """Milliseconds without a number, where the sources speak of seconds."""
    known = frozenset[str]().union(
        *(source.around.units for source in sources), *(statement.reading.units for statement in stated(sources))
    )
    counted = {place for one in claim.quantities if one.asked for place in range(one.start, one.end)}
    for match in MEASURES.finditer(claim.text):
        if match.start() in counted:
            continue
        unit = UNITS[match[0].casefold().removeprefix("per ")]
        kind = KIND_OF.get(unit)
        if unit not in known and kind and any(KIND_OF.get(other) == kind for other in known):
            return f"says {match[0]}, which its sources do not say"
    return None


def _another_count(claim: ReadText, sources: Sequence[CheckedSource], rests: Sequence[ReadText]) -> str | None:
    """ "Ten matrix multiplications" where the sources have one of them, and ten of something else."""
    language = sources[0].language
    every = [known for statement in stated(sources) for known in statement.reading.quantities if not known.unit]
    for one in claim.quantities:
        counted = {stem(word, language) for word in one.counts}
        if one.unit or not one.asked or len(counted) < 2 or any(_counts(reading, one, counted, language) for reading in rests):
            continue
        same = [known for known in every if counted <= {stem(word, language) for word in known.counts}]
        theirs = [
            known for known in every if known.value == one.value and counted & {stem(word, language) for word in known.counts}
        ]
        if same and not theirs and all(known.value != one.value for known in same):
            return f"says {one.written} {one.counts[0]} where its sources say {same[0].written}"
    return None


def _counts(reading: ReadText, one: Quantity, counted: set[str], language: str) -> bool:
    """Whether a text has this number, and not of other things alone."""
    same = [known for known in reading.quantities if known.value == one.value and known.counts]
    others = [known for known in same if not counted & {stem(word, language) for word in known.counts}]
    return has_number(reading, one) and not (others and len(others) == len(same))


def quoted_otherwise(claim: ReadText, quoted: Sequence[ReadText]) -> str | None:
    """A number that stands elsewhere in the source, where the words that the sentence rests on have another one of its kind."""
    theirs = [known for reading in quoted for known in reading.quantities if known.asked]
    spare = [known for known in theirs if not any(equal(known.pair, one.pair) for one in claim.quantities)]
    for one in claim.quantities:
        if not one.asked or any(has_number(reading, one) for reading in quoted):
            continue
        rival = next((known for known in spare if _alike(one, known)), None)
        if rival:
            return f"says {one.written} where the words it rests on say {rival.written}"
    return None


def _alike(one: Quantity, other: Quantity) -> bool:
    """Whether one could be written in the other's place: the same unit, and both versions or neither."""
    return one.unit == other.unit and (one.value.count(".") > 1) == (other.value.count(".") > 1) and one.spoken == other.spoken

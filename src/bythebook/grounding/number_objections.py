"""Checks the numbers of a drafted sentence: values, units, bounds and rates that its sources do not have are objections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from bythebook.grounding.facts import NEGATORS, WORD, ReadText, is_light, stem
from bythebook.grounding.numbers import number_of, says_date, value_of
from bythebook.grounding.quantities import Quantity
from bythebook.grounding.support import CheckedSource, CheckedStatement
from bythebook.grounding.units import KIND_OF, UNITS, canonical, equal, reciprocal

DERIVED = 12
"""A drafter may count for itself up to this number, written as a word: "three things: A, B and C"."""
RELATION = re.compile(r"\b(?:period|interval|every|cycle|frequency|rate|hertz|Hz)\b", re.IGNORECASE)
"""Words with which a text relates a rate to a period."""
MEASURES = re.compile(
    r"\b(?:(?:nano|micro|milli)?seconds|minutes|hours|days|weeks|months|years|(?:kilo|centi|milli)?met(?:er|re)s|(?:kilo)?grams"
    r"|(?:kilo|mega|giga|tera)?bytes)\b|\bper (?:second|minute|hour|day|week|month|year)\b",
    re.IGNORECASE,
)
LONG_TIMES = ("min", "h", "day", "week", "month", "year")
LONG_NUMBER = 3
ROUNDED = Fraction(1, 20)
"""A rounded number may differ from the book's by this share of it."""
TURNS = frozenset(
    {"fail", "fails", "lack", "lacks", "unable", "impossible", "prevent", "prevents", "avoid", "avoids", "refuse", "refuses"}
)
"""Words that reverse the bound of a number, as "not" does: "fails below 3" says that it takes at least 3."""
CONDITION = re.compile(r"\W*(?:if|when|once|whenever|where|unless|as soon as|after)\b", re.IGNORECASE)
CLAUSE_EDGE = re.compile(r"[,;:.!?](?=\s)|\bbut\b")
JOINED = re.compile(r"[,;]|\band\b|\bor\b", re.IGNORECASE)


def number_objection(claim: ReadText, sources: Sequence[CheckedSource], asked: ReadText, rests: Sequence[ReadText]) -> str | None:
    """Why a number of the sentence is wrong; None where the sources have every one of them. Numbers in the words that the
    sentence `rests` on are right."""
    return (
        _unknown(claim, sources, asked)
        or _bounded(claim, sources)
        or _another_unit(claim, sources)
        or _another_count(claim, sources, rests)
    )


def has_number(reading: ReadText, one: Quantity) -> bool:
    """Whether a text has this quantity, in any unit of its kind. A date also counts where the text gives it more exactly."""
    counted = bool(one.counts) and not is_light(stem(one.counts[0], "en"), "en")
    for known in reading.quantities:
        if known.ordinal and not one.ordinal and (one.spoken or counted):  # the third is not three of them
            continue
        if one.multiple and (known.repeats or (one.value.isdigit() and not known.factor)):  # tripled is not three, or three times
            continue
        if _same(one, known) or says_date(known.value, one.value) or _same_hour(one, known):
            return True
        if not one.unit and one.value == known.value and not (counted and known.unit):
            return True
        if one.value == known.value and not known.unit and (one.unit in reading.units or _is_row(reading)):
            return True
        if one.pair != known.pair and not one.unit and not known.unit and _is_version(one) and one.digits == known.digits:
            return True
    return False


def _same(one: Quantity, known: Quantity) -> bool:
    """Whether both are the same quantity, alone or with the number beside it, the same rate, or the same when rounded."""
    theirs = [pair for pair in (known.pair, known.whole) if pair]
    ours = [pair for pair in (one.pair, one.whole) if pair]
    same = any(equal(said, written) for said in ours for written in theirs) or any(_rounds(one, written) for written in theirs)
    return same or _same_rate(one, known) or _same_rate(known, one)


def _rate(one: Quantity) -> tuple[str, str] | None:
    """A quantity "per second" as a rate: metres as m/s, times as a frequency."""
    if not one.per:
        return None
    number, (seconds, base) = number_of(one.value), canonical("1", one.per)
    if one.unit:
        return one.value, f"{one.unit}/{one.per}"
    return (str(number / seconds), "Hz") if number is not None and isinstance(seconds, Fraction) and base == "s" else None


def _rounds(one: Quantity, known: tuple[str, str]) -> bool:
    """Whether a hedged number is the book's number with fewer digits: "about 9 hours" for 8.76."""
    (said, unit), (written, theirs) = canonical(*one.pair), canonical(*known)
    value, exact = number_of(one.value), number_of(known[0])
    if not one.hedged or unit != theirs or isinstance(said, str) or isinstance(written, str) or value is None or exact is None:
        return False
    fewer = len(one.value.replace(".", "").strip("0-")) < len(known[0].replace(".", "").strip("0-")) or "/" in known[0]
    return fewer and 0 < abs(said - written) <= ROUNDED * abs(written)


def _same_hour(one: Quantity, known: Quantity) -> bool:
    """Whether one says 9:00 and the other only "at 9"."""
    hours = [number for number, clock in ((one, known), (known, one)) if ":" in clock.value and clock.value.endswith(":00")
             for number in [number] if not number.unit and number.value.isdigit()
             and int(clock.value[:2]) % 12 == int(number.value) % 12]  # fmt: skip
    return bool(hours)


def _is_version(one: Quantity) -> bool:
    """Whether the number is written like a version, as 3.10, without a word behind it that multiplies it."""
    return one.digits.count(".") == 1 and value_of(one.digits) == value_of(one.value)


def _is_row(reading: ReadText) -> bool:
    """Whether the text is a row of a table, whose cells have no units: they are in the header, or nowhere."""
    return " | " in reading.text and not reading.units


def stated(sources: Sequence[CheckedSource]) -> Iterator[CheckedStatement]:
    """Every statement of the sources, without those addressed to a model."""
    return (statement for source in sources for statement in source.statements if not statement.planted)


def _unknown(claim: ReadText, sources: Sequence[CheckedSource], asked: ReadText) -> str | None:
    for one in claim.quantities:
        if has_number(asked, one):
            continue
        if one.asked and not _known(one, claim, sources) and not _derived(one, claim, sources):
            return f"says {one.written}, which its sources do not say"
    return None


def _known(one: Quantity, claim: ReadText, sources: Sequence[CheckedSource]) -> bool:
    if any(has_number(statement.reading, one) for statement in stated(sources)):
        return True
    if any(has_number(source.around, one) for source in sources):
        return True
    found = _in_paragraph(one, sources) or _related(one, sources) or _in_a_name(one, sources)
    return found or _computed(one, claim, sources) or _in_code(one, sources)


def _in_code(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """Whether the number is in a line of code, where Markdown may read it as markup."""
    lines = (source.chunk.text[line.start : line.end] for source in sources for line in source.statements if line.code)
    return bool(one.digits) and not one.unit and any(re.search(rf"(?<![\w.]){one.digits}(?![\w.])", line) for line in lines)


def _computed(one: Quantity, claim: ReadText, sources: Sequence[CheckedSource]) -> bool:
    """Whether the number is a share or a multiple of two numbers in one sentence of the book: "three quarters less", where it
    fell from 800 to 200."""
    share = number_of(one.value)
    if share is None or not (one.multiple or one.unit == "%" or "/" in one.value or (one.spoken and share < 1)):
        return False
    share = share / 100 if one.unit == "%" else share
    for statement in stated(sources):
        counted = [canonical(*known.pair) for known in statement.reading.quantities if known.asked and known.unit != "%"]
        pairs = [(a, b) for (a, unit), (b, other) in pairwise(counted) if unit == other and isinstance(a, Fraction)
                 and isinstance(b, Fraction) and a > 0 and b > 0]  # fmt: skip
        by = claim.text[: one.start].rstrip(" a").casefold().endswith(" by")
        if any(share in ((1 - b / a, b / a - 1) if by else (a / b, b / a)) for a, b in pairs):
            return True
    return False


def _in_a_name(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """Whether a number of three digits or more is part of a key or an address: "Polyak.1964"."""
    if one.unit or len(one.digits) < LONG_NUMBER or not one.digits.isdigit():
        return False
    return any(re.search(rf"(?<!\d){one.digits}(?!\d)", source.without_planted) for source in sources)


def _in_paragraph(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """Whether one sentence has the value without its unit, and another sentence of the same paragraph has the unit."""
    if not one.unit:
        return False
    for source in sources:
        values, units = set[int](), set[int]()
        for place, statement in enumerate(source.statements):
            row = " | " in statement.reading.text
            below = row and place and source.statements[place - 1].paragraph == statement.paragraph
            bare = any(one.value == known.value and not known.unit for known in statement.reading.quantities)
            if bare and not (row and statement.reading.units):
                values.add(statement.paragraph)
            if one.unit in statement.reading.units and not below:  # of a table, the head alone
                units.add(statement.paragraph)
        if values & units:
            return True
    return False


def _related(one: Quantity, sources: Sequence[CheckedSource]) -> bool:
    """Whether the text has the rate for this period, or the period for this rate, and says that the two belong together."""
    return any(
        (reciprocal(one.pair, known.pair) or _is_rate_of(one, known) or _is_rate_of(known, one))
        and RELATION.search(statement.reading.text)
        for statement in stated(sources)
        for known in statement.reading.quantities
    )


def _is_rate_of(one: Quantity, known: Quantity) -> bool:
    """Whether the rate comes to the period: twice a year is every six months."""
    number, (interval, base), (period, other) = number_of(one.value), canonical(*known.pair), canonical("1", one.per)
    if not one.per or one.unit or base != other or number is None or isinstance(interval, str):
        return False
    return number * interval == period


def _derived(one: Quantity, claim: ReadText, sources: Sequence[CheckedSource]) -> bool:
    """Whether the sentence itself counts, in words, what it lists, and no source counts the same things differently."""
    if not one.spoken or one.unit or one.bound or one.multiple or not one.value.isdigit() or int(one.value) > DERIVED:
        return False
    counted = {stem(word, source.language) for source in sources[:1] for word in one.counts}
    rivals = (known for statement in stated(sources) for known in statement.reading.quantities)
    if any(counted & {stem(word, sources[0].language) for word in known.counts} for known in rivals):
        return False
    pointing = claim.text[: one.start].casefold().split()[-1:]
    return pointing in (["the"], ["these"], ["those"], ["both"], ["all"]) or len(JOINED.findall(claim.text)) + 1 >= int(one.value)


def _bounded(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """Finds a bound or rate that the sources reverse: "at most two" for "at least two", or "0.02 per hour" for "per minute".
    Where only one side has a "not", the two cannot be compared."""
    for one in claim.quantities:
        same = [
            (known, _denies(claim, one) != _denies(statement.reading, known))
            for statement in stated(sources)
            for known in statement.reading.quantities
            if _same(one, known) or (one.value == known.value and not (one.unit and known.unit))
        ]
        if one.bound and same and all(known.bound and known.bound != one.bound and not turned for known, turned in same):
            return f"says at {one.bound} {one.written} where its sources say the contrary"
        if one.per and same and all(_per(known) not in ("", one.per) and not _same_rate(one, known) for known, _ in same):
            return f"says {one.written} per {one.per}, which its sources do not say"
    return None


def _denies(reading: ReadText, one: Quantity) -> bool:
    """Whether the clause of this number has a "not", or a word like it, that does not belong to the number's bound."""
    edges = [0, *(edge.end() for edge in CLAUSE_EDGE.finditer(reading.text)), len(reading.text)]
    start, end = max(edge for edge in edges if edge <= one.start), min(edge for edge in edges if edge >= one.end)
    if CONDITION.match(reading.text, start):  # "if it exceeds 3, you cannot": the other clause belongs to it
        start, end = 0, len(reading.text)
    for match in WORD.finditer(reading.text, start, end):
        word = match[0].casefold().replace("\u2019", "'")
        turned = match.start() <= one.turned < match.end()
        if not turned and (word in NEGATORS or word in TURNS or word.endswith("n't")):
            return True
    return False


def _per(one: Quantity) -> str:
    """What the number is counted per: hertz are per second."""
    return one.per or ("s" if KIND_OF.get(one.unit) == "frequency" else "")


def _same_rate(one: Quantity, known: Quantity) -> bool:
    ours, theirs = _rate(one), _rate(known) or known.pair
    return ours is not None and canonical(*ours) == canonical(*theirs)


def is_contrary(claim: ReadText, sources: Sequence[CheckedSource]) -> bool:
    """Whether the sentence says the same from the other side: "with less than 28 you fail", where the book says "with 28 or
    more you pass"."""
    return any(
        one.bound and known.bound and one.bound != known.bound and _same(one, known)
        for one in claim.quantities
        for statement in stated(sources)
        for known in statement.reading.quantities
    )


def _another_unit(claim: ReadText, sources: Sequence[CheckedSource]) -> str | None:
    """Finds a unit without a number that the sources do not use: "milliseconds" where they speak of seconds."""
    known = frozenset[str]().union(
        *(source.around.units for source in sources), *(statement.reading.units for statement in stated(sources))
    )
    known |= {"s" for unit in known if KIND_OF.get(unit) == "frequency"} | {unit.partition("/")[2] for unit in known}
    kinds = {KIND_OF.get(unit) for unit in known}
    for one in claim.quantities:  # in a row of a table, whose cells have no units
        rate = any(other.per == one.unit for other in claim.quantities)
        held = one.asked or (one.unit in LONG_TIMES and not rate)  # "a second" may be another one
        if held and one.unit and one.unit not in known and KIND_OF.get(one.unit, "") in kinds:
            every = [other for statement in stated(sources) for other in statement.reading.quantities if other.unit]
            if not any(_same(one, other) for other in every) and not _related(one, sources):
                return f"says {one.written}, which its sources do not say"
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
    """Finds a count of the wrong things: "ten matrix multiplications", where the sources have one of these and ten of something
    else."""
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
    """Whether a text has this number, and has it not only for other things."""
    ends = [known for known in reading.quantities if known.value == one.value]
    if ends and all(known.bound and not known.counts for known in ends):  # "16 levels (0 to 15)" are not 15 levels
        return not any(
            counted <= {stem(word, language) for word in known.counts} for known in reading.quantities if known not in ends
        )
    same = [known for known in reading.quantities if known.value == one.value and known.counts]
    others = [known for known in same if not counted & {stem(word, language) for word in known.counts}]
    return has_number(reading, one) and not (others and len(others) == len(same))


def quoted_otherwise(claim: ReadText, quoted: Sequence[ReadText]) -> str | None:
    """Finds a number that the words under the sentence contradict: the source has it elsewhere, and these words have another
    number of its kind."""
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
    """Whether one number could be written in the other's place: both have the same unit, and both are versions or neither is."""
    return one.unit == other.unit and (one.value.count(".") > 1) == (other.value.count(".") > 1) and one.spoken == other.spoken

"""What a thread is about, in a line: the sections its answers rest on, the most cited first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bythebook.drafting.draft import Exchange
from bythebook.threads.model import MAX_SUMMARY

FROM_EXCHANGES = 5
"""Document E: from here on a thread has a summary."""


def summarise(exchanges: Sequence[Exchange]) -> str | None:
    """In the book's own titles, so that nothing is said that is not so. Where nothing was answered, the questions stand for
    it. None before there is enough to sum up."""
    if len(exchanges) < FROM_EXCHANGES:
        return None
    lessons: dict[str, Counter[str]] = {}
    for exchange in exchanges:
        for source in dict.fromkeys(exchange.sources):
            lesson, _, section = source.partition(" › ")
            lessons.setdefault(lesson, Counter())[section] += 1
    if not lessons:
        return _fitting(["Not answered by the book: " + exchanges[0].question, *(one.question for one in exchanges[1:])])
    ranked = sorted(lessons.items(), key=lambda one: -one[1].total())
    return _fitting([_told(lesson, sections) for lesson, sections in ranked])


def _told(lesson: str, sections: Counter[str]) -> str:
    named = [section for section, _ in sections.most_common() if section and section != lesson]
    return f"{lesson} ({', '.join(named[:2])})" if named else lesson


def _fitting(parts: Sequence[str]) -> str:
    """As many parts as the line holds, the first of them always."""
    line = " ".join(parts[0].split())
    for part in parts[1:]:
        longer = f"{line}; {' '.join(part.split())}"
        if len(longer) > MAX_SUMMARY:
            break
        line = longer
    return line if len(line) <= MAX_SUMMARY else line[: MAX_SUMMARY - 1].rstrip() + "…"

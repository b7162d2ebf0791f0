"""Gaps as files: a spreadsheet, and issues in Markdown. What readers typed is data in both: it starts no formula, mentions nobody
and is not read as markup."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence

from bythebook.evaluation.gaps import Gap, Unmet, WrongAnswer

COLUMNS = (
    "section",
    "source_url",
    "module",
    "chapter",
    "lesson",
    "question",
    "ended",
    "times",
    "threads",
    "relevance",
    "last_asked",
)
SLUG_LENGTH = 60
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that begin a formula in a spreadsheet; the wide signs do in East Asia."""
ENDINGS = {
    "nothing_found": "nothing was found",
    "not_in_book": "near the subject, not in the book",
    "off_topic": "off the subject",
    "unsupported": "found, but no sentence could be backed",
    "low_confidence": "answered, with a disclaimer",
}


def to_csv(gaps: Sequence[Gap]) -> str:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for gap in gaps:
        for one in gap.questions:
            place = (gap.title, gap.source_url, gap.module, gap.chapter, gap.lesson)
            told = (one.question, one.ended, one.times, one.threads, f"{one.relevance:.4f}", one.last_asked.isoformat())
            rows.writerow([_cell(value) for value in (*place, *told)])
    return written.getvalue()


def to_questions(wrong: Sequence[WrongAnswer]) -> str:
    """Lines for a questions file. Only the author knows what is right: they add `lesson` and `quote`, or `answerable: false`."""
    rows = [
        {
            "id": f"reader-{one.thread_id[:8]}-{one.turn}",
            "question": one.question,
            "kind": "reader",
            "checked": False,
            "said": one.answer,
            "wrong_because": one.reason,
        }
        for one in wrong
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _cell(value: object) -> str:
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def to_issues(gaps: Sequence[Gap]) -> Iterator[tuple[str, str]]:
    """A file's name and its text for each section; questions off the subject ask for nothing to be written."""
    numbered = [gap for gap in gaps if gap.source_url]
    for number, gap in enumerate(numbered, start=1):
        yield f"{number:03}-{_slug(gap.title)}.md", _issue(gap)


def _slug(title: str) -> str:
    """Returns as many whole words as fit."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return (slug if len(slug) <= SLUG_LENGTH else slug[: SLUG_LENGTH + 1].rpartition("-")[0] or slug[:SLUG_LENGTH]) or "section"


def _issue(gap: Gap) -> str:
    questions = "\n".join(map(_line, gap.questions))
    asked, them = (f"{gap.times} questions", "them") if gap.times != 1 else ("1 question", "it")
    return (
        f"# Readers ask more about “{gap.title}”\n\n"
        f"{asked} came nearest to [{gap.title}]({gap.source_url}), and the book did not answer {them}, or barely.\n\n"
        f"{questions}\n\n"
        "When the text is written: add the questions to `questions.jsonl`, then `bythebook ingest` and `bythebook evaluate`.\n"
    )


def _line(one: Unmet) -> str:
    often = f"{one.times} × " if one.times > 1 else ""
    told = f"{often}{ENDINGS.get(one.ended, one.ended)}, relevance {one.relevance:.2f}, last on {one.last_asked:%Y-%m-%d}"
    return f"- [ ] `{one.question.replace('`', chr(39))}` ({told})"

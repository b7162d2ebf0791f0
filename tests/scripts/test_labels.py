"""Questions that people label, and how many of them the ranking is fitted by."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.fit_ranker import MOST_FOREIGN, NEAR_OF, as_asked
from scripts.reader.labels import overlaps, spans_of, written_questions

LINES = 32


def written(tmp_path: Path) -> tuple[Path, Path]:
    """One passage with a statement, a heading and an item, and lines about it."""
    said = [{"n": place, "text": text, "unread": place == 1} for place, text in enumerate(("It is 7.", "Limits", "At most 9."))]
    passages, lines = tmp_path / "passages.json", tmp_path / "lines.jsonl"
    passages.write_text(json.dumps([{"id": "c1", "file": "a.md", "above": ["A"], "said": said}]))
    one = {"p": 0, "q": "How many?", "g": [0, 1], "w": ["7"], "k": "fact", "n": "Why so many?"}
    lines.write_text("".join(json.dumps(one) + "\n" for _ in range(LINES)))
    return passages, lines


def test_a_line_is_a_question_with_its_statements_and_a_near_miss(tmp_path: Path) -> None:
    yes, no, *_ = written_questions("book", *written(tmp_path))
    assert (yes.case.answerable, yes.case.keywords, yes.answers) == (True, ("7",), frozenset({("c1", 0)}))
    assert (no.case.answerable, no.case.kind, no.answers) == (False, "near", frozenset())


def test_near_misses_are_as_many_as_readers_ask_and_some_questions_are_about_another_book(tmp_path: Path) -> None:
    passages, lines = written(tmp_path)
    asked = [one.case for one in as_asked(written_questions("book", passages, lines), lines)]
    assert sum(case.kind == "near" for case in asked) == LINES * NEAR_OF[0] // NEAR_OF[1]
    assert 0 < sum(case.kind == "foreign" for case in asked) <= MOST_FOREIGN
    assert sum(bool(case.answerable) for case in asked) == LINES


def test_a_quote_is_found_whatever_marks_lie_between_its_letters() -> None:
    source = "It is **at most** `9`, and no more."
    (span,) = spans_of("at most 9", source)
    assert source[slice(*span)] == "at most** `9"
    assert overlaps(span[0], span[1], (0, len(source)))

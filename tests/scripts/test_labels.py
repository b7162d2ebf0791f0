"""Questions that people label, and how many of them the ranking is fitted by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.fit_ranker import MOST_FOREIGN, NEAR_OF, as_asked
from scripts.reader.labels import answers, letters, quoted_questions, written_questions

LINES = 32
PAGE = "<p>The lamp burns <b>rape oil</b> &amp; nothing else.</p>\n<p>It was lit in 1841.</p>\n"
QUESTIONS = Path(__file__).parents[2] / "scripts" / "reader" / "questions"


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


def test_what_is_quoted_answers_whatever_marks_lie_between_its_letters() -> None:
    quote = letters("It is at most 9, and no more.")
    assert answers("It is **at most** `9`, and no more.", quote)
    assert answers("It is at most 9,", quote)
    assert not answers("It", quote)
    assert not answers("It is at least 9.", quote)


def test_a_question_tells_where_its_answer_stands_among_the_letters(tmp_path: Path) -> None:
    (tmp_path / "lamp.html").write_text(PAGE)
    start = letters(PAGE).index("rapeoil")
    asked = [
        {"q": "What does it burn?", "kind": "fact", "answerable": True, "lesson": "lamp.html", "at": [start, 7], "w": ["oil"]},
        {"q": "Who lit it?", "kind": "followup-near", "answerable": False, "before": ["What is a lamp?", "A light."]},
    ]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    yes, no = quoted_questions(tmp_path / "asked.jsonl", tmp_path)
    assert (yes.quote, yes.case.keywords, yes.case.history) == ("rapeoil", ("oil",), ())
    assert (no.quote, [one.answer for one in no.case.history]) == ("", ["A light."])
    assert answers("The lamp burns **rape oil** & nothing else.", yes.quote)
    assert not answers("It was lit in 1841.", yes.quote)


@pytest.mark.parametrize("path", sorted(QUESTIONS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_question_says_where_its_answer_stands_or_that_there_is_none(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len({(row["q"], *row.get("before", ())) for row in rows}) == len(rows)
    for row in rows:
        assert ({"lesson", "at", "w"} <= row.keys()) == row["answerable"], row
        assert not row["answerable"] or (row["at"][0] >= 0 and row["at"][1] > 0 and row["w"]), row

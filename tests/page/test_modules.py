"""What the page's modules compute without an element, in the browser that runs them."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

BOOK = {
    "book_id": "b",
    "title": "A Book",
    "modules": [
        {
            "module": "m",
            "chapters": [
                {
                    "chapter": 1,
                    "title": "First",
                    "lessons": [
                        {"source_file": "a b.md", "title": "Topics", "warnings": []},
                        {"source_file": "c.md", "title": "On topics", "warnings": []},
                    ],
                }
            ],
        }
    ],
}
WARNING = {"source_file": "c.md", "line": 3, "field": "layer", "message": "bad layer"}
OF_THE_BOOK = {"source_file": "book.toml", "line": 0, "field": "site", "message": "unknown site"}
CARD = {"id": "1", "question": 'What is "<b>"?', "html": "<p>x</p>", "page_title": "A & B"}
DAY = 86_400_000


def call(page: Page, module: str, function: str, *given: Any) -> Any:
    return page.evaluate(
        "async ([module, name, given]) => (await import(`/page/${module}.js`))[name](...given)", [module, function, given]
    )


def test_a_warning_of_the_book_stands_beside_those_of_its_lessons_and_none_twice(page: Page) -> None:
    lessons = [{"source_file": "c.md", "warnings": [WARNING]}]
    job = {"report": {"warnings": [OF_THE_BOOK, WARNING]}}
    assert call(page, "jobs", "bookWarnings", job, lessons) == [OF_THE_BOOK]
    assert call(page, "jobs", "bookWarnings", {"report": None}, lessons) == []
    assert call(page, "jobs", "bookWarnings", None, []) == []


def test_cards_notes_titles_and_addresses(page: Page) -> None:
    known = call(page, "repetition", "rated", CARD, True, 0)
    assert (known["box"], known["due"]) == (1, DAY)
    assert call(page, "repetition", "rated", {**known, "box": 6}, True, 0)["due"] == 90 * DAY
    assert call(page, "repetition", "rated", known, False, 5)["due"] == 5
    assert [
        one["due"] for one in call(page, "repetition", "dueCards", {"x": {"due": 2}, "y": {"due": 1}, "z": {"due": 9}}, 2)
    ] == [1, 2]
    row = call(page, "repetition", "toCsv", [CARD], "A Book").splitlines()[4]
    assert row == '"What is ""&lt;b>""?","<p>x</p><p>A &amp; B</p>","A_Book"'

    notes = [{"file": "a b.md", "text": "one\ntwo", "words": "mine"}, {"file": "gone.md", "text": "three", "words": ""}]
    assert call(page, "notes", "toMarkdown", BOOK, notes).splitlines()[2:] == [
        "## Topics", "", "> one", "> two", "", "mine", "", "## gone.md", "", "> three",
    ]  # fmt: skip

    places = [{"title": "On topics"}, {"title": "Topics"}, {"title": "Nodes"}]
    assert call(page, "palette", "found", places, "topics") == [{"title": "Topics"}, {"title": "On topics"}]
    assert call(page, "palette", "found", places, "") == places
    assert [one["source_file"] for one in call(page, "contents", "titlesWith", BOOK, "TOPICS")] == ["a b.md", "c.md"]
    place = {"source_file": "a b.md", "heading_path": ["Top", "Why?"]}
    assert call(page, "contents", "placeAddress", "b", place) == "#/books/b/lessons/a%20b.md?section=Why%3F"
    spans = [{"start": 1, "end": 9}, {"start": 12, "end": 15}]
    assert call(page, "lesson-text", "lessonAddress", "b", "x/y.md", spans).endswith("x/y.md?at=1-9&at=12-15")


def test_gaps_are_gathered_by_chapter_and_what_is_near_to_none_is_named_so(page: Page) -> None:
    near = {
        "module": "m",
        "chapter": 1,
        "source_url": "u",
        "page_title": "Topics",
        "section": "Why",
        "questions": [{"question": "q"}],
    }
    far = {"module": "", "chapter": 0, "source_url": "", "page_title": "", "section": "", "questions": [{"question": "r"}]}
    [[first, asked], [second, _]] = call(page, "gaps", "byChapter", [near, far], BOOK)
    assert (first, asked[0]["near"]) == ("Chapter 1: First", "Topics › Why")
    assert second == "Off the subject"

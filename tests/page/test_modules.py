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
EVENTS = """async (path) => {
    const { Api } = await import("/page/api.js");
    const told = [];
    try {
        for await (const { event, id, data } of new Api("").events("GET", path)) told.push([event, id, data]);
    } catch (problem) {
        told.push(problem.message);
    }
    return told;
}"""


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


def test_filters_are_what_the_reader_chose_and_are_widened_no_further_than_a_section_needs(page: Page) -> None:
    profile = {"module": None, "chapterMin": 2, "chapterMax": 3, "tier": 1, "levels": ["B1"], "layer": None}
    chosen = {"chapter_min": 2, "chapter_max": 3, "hardware_tier": 1, "proficiency_levels": ["B1"]}
    assert call(page, "profile", "filtersOf", profile) == chosen
    assert call(page, "profile", "filtersOf", {}) == {}
    section = {"module": "m", "chapter": 5, "hardware_tier": 4, "proficiency_level": "A2", "layer": "L1"}
    wider = call(page, "profile", "widened", profile, section)
    assert wider["profile"] == {**profile, "chapterMax": 5, "tier": None, "levels": ["A2", "B1"]}
    assert wider["words"] == "hardware tier 4, level A2, chapter 5"
    within = {**section, "chapter": 2, "hardware_tier": 1, "proficiency_level": "B1"}
    assert call(page, "profile", "widened", profile, within) is None
    filters = {"modules": ["m"], "chapters": [0, 1], "hardware_tiers": [1, 2], "proficiency_levels": [], "layers": ["L1"]}
    told = call(page, "profile", "differing", {**BOOK, "filters": filters})
    assert [name for name, differs in told.items() if differs] == ["tiers"]


def test_a_source_has_one_number_and_each_of_its_quotes_once(page: Page) -> None:
    def cited(label: int, start: int, quote: str) -> dict[str, Any]:
        return {"label": label, "span": {"start": start, "end": start + 9}, "quote": quote, "chunk_id": f"c{start}"}

    sentences = [
        {"text": "A *b* c.", "kind": "sentence", "html": "A <em>b</em> c.", "citations": [cited(1, 5, "A b c.")]},
        {
            "text": "Other words.",
            "kind": "sentence",
            "html": "Other words.",
            "citations": [cited(2, 40, "x"), cited(1, 5, "A b c.")],
        },
        {"text": "y", "kind": "code", "html": "<pre>y</pre>", "citations": [cited(1, 60, "y")]},
    ]
    sources = call(page, "answer", "sourcesOf", sentences)
    assert [one["label"] for one in sources] == [1, 2]
    quotes = [(one["chunk_id"], one["html"]) for one in sources[0]["quotes"]]
    assert quotes == [("c5", "A <em>b</em> c."), ("c60", None)]  # rendered where the sentence is the quote
    assert call(page, "words", "placeWords", "p. 42") == "p. 42"
    assert call(page, "words", "placeWords", "cell 12, line 3") == "cell 12, line 3"
    assert call(page, "words", "chapterWords", "Chapter 3: On: colons") == "Chapter 3: On: colons"


def test_a_lesson_counts_as_read_at_its_end_and_what_another_program_kept_is_no_place(page: Page) -> None:
    place = {"file": "a.md", "title": "A", "block": 3, "share": 0.5}
    for file, share in (("a.md", 0.5), ("b.md", 0.95), ("b.md", 0.2), ("c.md", 1)):
        call(page, "reading", "rememberPlace", "b", {**place, "file": file, "share": share})
    assert page.evaluate("async () => [...(await import('/page/reading.js')).finishedLessons('b')]") == ["b.md", "c.md"]
    assert call(page, "reading", "lastPlace", "b")["file"] == "c.md"
    page.evaluate("localStorage.setItem('bythebook.reading.b', '{')")
    assert call(page, "reading", "lastPlace", "b") is None
    assert call(page, "book-changes", "versionOf", {"last_full_ingest": "1", "last_incremental_update": None}) == "1 null"
    address = "https://x.example/c#here"
    book = {"modules": [{"chapters": [{"lessons": [{"source_url": "https://x.example/c#top", "title": "C"}]}]}]}
    assert call(page, "contents", "lessonAt", book, address)["title"] == "C"


def test_events_are_read_whatever_their_line_ends_and_an_answer_that_breaks_off_is_said(page: Page) -> None:
    sent = b'event: found\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: still here\n\nid: 7\nevent: done\ndata: {}\n\nevent: late\n\n'
    page.route("**/whole", lambda route: route.fulfill(content_type="text/event-stream", body=sent))
    page.route("**/broken", lambda route: route.fulfill(content_type="text/event-stream", body=sent[:40]))
    whole, broken = (page.evaluate(EVENTS, path) for path in ("/whole", "/broken"))
    assert whole == [["found", None, {"a": 1}], ["done", "7", {}]]
    assert broken[0] == ["found", None, {"a": 1}]
    assert "connection was lost" in broken[1]

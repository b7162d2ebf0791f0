"""What the page's modules compute, in the browser that runs them and without a server."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route

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


def call(modules: Page, module: str, function: str, *given: Any) -> Any:
    return modules.evaluate(
        "async ([module, name, given]) => (await import(`/page/${module}.js`))[name](...given)", [module, function, given]
    )


def test_a_warning_of_the_book_stands_beside_those_of_its_lessons_and_none_twice(modules: Page) -> None:
    lessons = [{"source_file": "c.md", "warnings": [WARNING]}]
    job = {"report": {"warnings": [OF_THE_BOOK, WARNING]}}
    assert call(modules, "jobs", "bookWarnings", job, lessons) == [OF_THE_BOOK]
    assert call(modules, "jobs", "bookWarnings", {"report": None}, lessons) == []
    assert call(modules, "jobs", "bookWarnings", None, []) == []


def test_cards_notes_titles_and_addresses(modules: Page) -> None:
    known = call(modules, "repetition", "rated", CARD, True, 0)
    assert (known["box"], known["due"]) == (1, DAY)
    assert call(modules, "repetition", "rated", {**known, "box": 6}, True, 0)["due"] == 90 * DAY
    assert call(modules, "repetition", "rated", known, False, 5)["due"] == 5
    assert [
        one["due"] for one in call(modules, "repetition", "dueCards", {"x": {"due": 2}, "y": {"due": 1}, "z": {"due": 9}}, 2)
    ] == [1, 2]
    row = call(modules, "repetition", "toCsv", [CARD], "A Book").splitlines()[4]
    assert row == '"What is ""&lt;b>""?","<p>x</p><p>A &amp; B</p>","A_Book"'

    notes = [{"file": "a b.md", "text": "one\ntwo", "words": "mine"}, {"file": "gone.md", "text": "three", "words": ""}]
    assert call(modules, "notes", "toMarkdown", BOOK, notes).splitlines()[2:] == [
        "## Topics", "", "> one", "> two", "", "mine", "", "## gone.md", "", "> three",
    ]  # fmt: skip
    notes = [{"file": "a.md", "text": "# `__init__` is <b>\n2. [x]\n- y", "words": "*mine*"}]
    book = {
        **BOOK,
        "modules": [
            {
                "module": "",
                "chapters": [{"lessons": [{"source_file": "a.md", "title": "A", "source_url": "https://b.example/a#top"}]}],
            }
        ],
    }
    assert call(modules, "notes", "toMarkdown", book, notes).splitlines()[2:] == [
        "## [A](https://b.example/a)", "", "> \\# \\`\\_\\_init\\_\\_\\` is \\<b\\>", "> 2\\. \\[x\\]", "> \\- y", "", "*mine*",
    ]  # fmt: skip

    places = [{"title": "On topics"}, {"title": "Topics"}, {"title": "Nodes"}]
    assert call(modules, "palette", "found", places, "topics") == [{"title": "Topics"}, {"title": "On topics"}]
    assert call(modules, "palette", "found", places, "") == places
    assert [one["source_file"] for one in call(modules, "contents", "titlesWith", BOOK, "TOPICS")] == ["a b.md", "c.md"]
    place = {"source_file": "a b.md", "heading_path": ["Top", "Why?"]}
    assert call(modules, "addresses", "placeAddress", "b", place) == "#/books/b/lessons/a%20b.md?section=Why%3F"
    spans = [{"start": 1, "end": 9}, {"start": 12, "end": 15}]
    assert call(modules, "addresses", "lessonAddress", "b", "x/y.md", spans).endswith("x/y.md?at=1-9&at=12-15")


def test_gaps_are_gathered_by_chapter_and_what_is_near_to_none_is_named_so(modules: Page) -> None:
    near = {
        "module": "m",
        "chapter": 1,
        "source_url": "u",
        "page_title": "Topics",
        "section": "Why",
        "questions": [{"question": "q"}],
    }
    far = {"module": "", "chapter": 0, "source_url": "", "page_title": "", "section": "", "questions": [{"question": "r"}]}
    [[first, asked], [second, _]] = call(modules, "gaps", "byChapter", [near, far], BOOK)
    assert (first, asked[0]["near"]) == ("Chapter 1: First", "Topics › Why")
    assert second == "Off the subject"


def test_filters_are_what_the_reader_chose_and_are_widened_no_further_than_a_section_needs(modules: Page) -> None:
    profile = {"module": None, "chapterMin": 2, "chapterMax": 3, "tier": 1, "levels": ["B1"], "layer": None}
    chosen = {"chapter_min": 2, "chapter_max": 3, "hardware_tier": 1, "proficiency_levels": ["B1"]}
    assert call(modules, "profile", "filtersOf", profile) == chosen
    assert call(modules, "profile", "filtersOf", {}) == {}
    section = {"module": "m", "chapter": 5, "hardware_tier": 4, "proficiency_level": "A2", "layer": "L1"}
    wider = call(modules, "profile", "widened", profile, section)
    assert wider["profile"] == {**profile, "chapterMax": 5, "tier": None, "levels": ["A2", "B1"]}
    assert wider["words"] == "hardware tier 4, level A2, chapter 5"
    within = {**section, "chapter": 2, "hardware_tier": 1, "proficiency_level": "B1"}
    assert call(modules, "profile", "widened", profile, within) is None
    filters = {"modules": ["m"], "chapters": [0, 1], "hardware_tiers": [1, 2], "proficiency_levels": [], "layers": ["L1"]}
    told = call(modules, "profile", "differing", {**BOOK, "filters": filters})
    assert [name for name, differs in told.items() if differs] == ["tiers"]


def test_a_source_has_one_number_and_each_of_its_quotes_once(modules: Page) -> None:
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
    sources = call(modules, "answer", "sourcesOf", sentences)
    assert [one["label"] for one in sources] == [1, 2]
    quotes = [(one["chunk_id"], one["html"], one["code"]) for one in sources[0]["quotes"]]
    assert quotes == [("c5", "A <em>b</em> c.", False), ("c60", None, True)]  # rendered where the sentence is the quote
    assert call(modules, "words", "placeWords", "p. 42") == "p. 42"
    assert call(modules, "words", "placeWords", "cell 12, line 3") == "cell 12, line 3"
    assert call(modules, "words", "chapterWords", "Chapter 3: On: colons") == "Chapter 3: On: colons"


def test_a_lesson_counts_as_read_at_its_end_and_what_another_program_kept_is_no_place(modules: Page) -> None:
    place = {"file": "a.md", "title": "A", "block": 3, "share": 0.5}
    for file, share in (("a.md", 0.5), ("b.md", 0.95), ("b.md", 0.2), ("c.md", 1)):
        call(modules, "reading", "rememberPlace", "b", {**place, "file": file, "share": share})
    assert modules.evaluate("async () => [...(await import('/page/reading.js')).finishedLessons('b')]") == ["b.md", "c.md"]
    assert call(modules, "reading", "lastPlace", "b")["file"] == "c.md"
    modules.evaluate("localStorage.setItem('bythebook.reading.b', '{')")
    assert call(modules, "reading", "lastPlace", "b") is None
    assert call(modules, "book-changes", "versionOf", {"last_full_ingest": "1", "last_incremental_update": None}) == "1 null"
    address = "https://x.example/c#here"
    book = {"modules": [{"chapters": [{"lessons": [{"source_url": "https://x.example/c#top", "title": "C"}]}]}]}
    assert call(modules, "contents", "lessonAt", book, address)["title"] == "C"


def test_events_are_read_whatever_their_line_ends_and_an_answer_that_breaks_off_is_said(modules: Page) -> None:
    sent = b'event: found\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: still here\n\nid: 7\nevent: done\ndata: {}\n\nevent: late\n\n'
    modules.route("**/whole", lambda route: route.fulfill(content_type="text/event-stream", body=sent))
    modules.route("**/broken", lambda route: route.fulfill(content_type="text/event-stream", body=sent[:40]))
    whole, broken = (modules.evaluate(EVENTS, path) for path in ("/whole", "/broken"))
    assert whole == [["found", None, {"a": 1}], ["done", "7", {}]]
    assert broken[0] == ["found", None, {"a": 1}]
    assert "connection was lost" in broken[1]


def test_an_address_is_read_as_it_was_made_and_a_sign_that_was_never_encoded_stays(modules: Page) -> None:
    address = call(modules, "addresses", "lessonAddress", "a b", "x/50 %?.md", [{"start": 1, "end": 9}])
    assert address == "#/books/a%20b/lessons/x/50%20%25%3F.md?at=1-9"
    read = "async (hash) => { const { parts, query } = (await import('/page/addresses.js')).readAddress(hash);"
    read += " return [parts, [...query]]; }"
    assert modules.evaluate(read, address) == [["books", "a b", "lessons", "x", "50 %?.md"], [["at", "1-9"]]]
    assert modules.evaluate(read, "#/books/100%/quiz?chapter=2") == [["books", "100%", "quiz"], [["chapter", "2"]]]
    assert modules.evaluate(read, "") == [[""], []]
    views = {
        "": "ask",
        "books": "shelf",
        "books/b": "ask",
        "books/b/lessons/a.md": "read",
        "books/b/quiz": "read",
        "threads": "threads",
        "threads/1": "ask",
        "author/b": "author",
        "shared/x": "ask",
    }
    assert {path: call(modules, "addresses", "mainView", path.split("/")) for path in views} == views
    quiz = call(modules, "addresses", "quizAddress", {"book_id": "b"}, {"module": "m n", "chapter": "2"})
    assert quiz == "#/books/b/quiz?module=m+n&chapter=2"


def test_words_on_the_books_site_are_named_by_their_ends_if_they_are_many(modules: Page) -> None:
    def link(page: str, quote: str) -> str:
        return str(call(modules, "addresses", "quoteAddress", page, quote))

    assert link("https://x.example/a", "A **well-known** [node](n.md)") == "https://x.example/a#:~:text=A%20well%2Dknown%20node"
    long = "one two three four five six seven eight nine ten"
    assert link("https://x.example/a#s", long) == (
        "https://x.example/a#s:~:text=one%20two%20three%20four,seven%20eight%20nine%20ten"
    )
    assert link("https://x.example/a", "") == "https://x.example/a"


def test_words_are_in_the_language_that_was_asked_for_last_and_english_where_there_is_no_other(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { speak, word, say, direction, language, placeWords, chapterWords } = await import("/page/words.js");
        const { plural, ago } = await import("/page/dom.js");
        const read = () => [
            language(), direction(), word("Continue reading"), placeWords("line 3"), chapterWords("Chapter 2: {}"),
            plural(1200, "question"), ago(new Date(Date.now() - 20_000).toISOString()), word("constructor"),
            say`none ${"{}"} of it`,
        ];
        const first = read();
        await Promise.all([speak("ur-PK"), speak("de-AT")]); // the first may come last
        const second = read();
        await speak("tlh");
        const third = read();
        return [first, second, third, document.documentElement.lang];
    }""")
    own = ["constructor", "none {} of it"]
    english = ["en", "ltr", "Continue reading", "line 3", "Chapter 2: {}", "1,200 questions", "just now", *own]
    german = ["de", "ltr", "Weiterlesen", "Zeile 3", "Kapitel 2: {}", "1.200 Fragen", "gerade eben", *own]
    assert told == [english, german, english, "en"]


def test_moments_are_told_by_their_distance_until_a_month_has_gone(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { ago } = await import("/page/dom.js");
        const before = (minutes) => ago(new Date(Date.now() - minutes * 60_000).toISOString());
        return [before(5), before(60 * 3), before(60 * 24), before(60 * 24 * 12), before(60 * 24 * 40)];
    }""")
    assert told[:4] == ["5 minutes ago", "3 hours ago", "yesterday", "12 days ago"]
    assert re.fullmatch(r"\d{1,2}/\d{1,2}/\d{4}", told[4])


def test_a_request_is_sent_again_with_the_key_that_it_lacked_and_what_was_wrong_is_a_sentence(modules: Page) -> None:
    seen: list[tuple[str | None, str | None]] = []

    def answer(route: Route) -> None:
        headers = route.request.headers
        seen.append((headers.get("authorization"), headers.get("x-reader")))
        if headers.get("authorization") != "Bearer right":
            return route.fulfill(status=401, json={"detail": "A key, please."})
        return route.fulfill(json={"ok": True}, headers={"X-Reader": "me"})

    modules.route("**/books", answer)
    modules.route("**/busy", lambda route: route.fulfill(status=429, json={"detail": "Busy."}, headers={"Retry-After": "7"}))
    modules.route("**/between", lambda route: route.fulfill(status=502, body="<html>"))
    modules.route("**/gone", lambda route: route.abort())
    told = modules.evaluate("""async () => {
        const { Api } = await import("/page/api.js");
        const reached = [];
        let asked = 0;
        const askForKey = async () => (asked++, "right");
        const api = new Api("/", { key: "wrong", askForKey, onreach: (there) => reached.push(there) });
        const first = await api.get("/books");
        await api.get("/books");
        const problems = [];
        for (const path of ["/busy", "/between", "/gone"])
            await api.get(path).catch(({ status, message, wait }) => problems.push([status, message, wait]));
        const silent = new Api("", { askForKey: async () => null });
        const refused = await silent.get("/books").catch((problem) => problem.message);
        return [first, asked, problems, refused, reached];
    }""")
    assert seen == [("Bearer wrong", None), ("Bearer right", None), ("Bearer right", "me"), (None, None)]
    assert told[:2] == [{"ok": True}, 1]
    assert [(status, wait) for status, _, wait in told[2]] == [(429, 7), (502, 0), (0, 0)]
    assert all(part in said for part, (_, said, _) in zip(("7 seconds", "502", "does not answer"), told[2], strict=True))
    assert "needs a key" in told[3]
    assert told[4][-1] is False


def test_the_curve_is_told_in_words_and_drawn_within_its_frame(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { curve } = await import("/page/curve.js");
        const made = curve({ anchors: [[-2, 0.1], [0, 0.6], [2, 0.98]] });
        const points = made.querySelector(".line").getAttribute("points").split(" ").map((one) => one.split(",").map(Number));
        return [made.getAttribute("aria-label"), points];
    }""")
    words = "Calibration curve: score -2.0 is relevance 0.1, score 0.0 is relevance 0.6, score 2.0 is relevance 0.98"
    assert told[0] == words
    (left, low), (middle, _), (right, high) = told[1]
    assert 0 < left < middle < right < 640
    assert 0 < high < low < 260
    assert middle - left == pytest.approx(right - middle)

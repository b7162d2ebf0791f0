"""What the page's elements show of what they are given, in the browser and without a server."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bythebook.texts import page_words

LESSON = """<div class=passage data-file=a.md><h4>Valves</h4><p>A <b>valve</b> turns
water on (and off).</p><p>It is <math><mi>x</mi></math> wide.</p><pre>a = 1
b = 2</pre><p>A valve turns water on (and off).</p></div>"""
NOTES = """async ([html, notes]) => {
    document.querySelector("main").innerHTML = html;
    const { rangeOf } = await import("/page/notes.js");
    const root = document.querySelector(".passage");
    return notes.map((note) => {
        const range = rangeOf(root, note);
        const block = range && [...root.children].findIndex((one) => one.contains(range.startContainer));
        return range && [range.toString().replace(/\\s+/g, " "), block];
    });
}"""
SELECTED = """async ([html, from, to]) => {
    document.querySelector("main").innerHTML = html;
    const { selected, LONGEST_SELECTION } = await import("/page/selection.js");
    const [first, last] = [from, to].map((selector) => document.querySelector(selector));
    getSelection().setBaseAndExtent(first, 0, last, last.childNodes.length);
    return selected(document.querySelector("main"));
}"""
ANSWER: dict[str, Any] = {
    "book_id": "b",
    "answer": "A valve turns. [1]",
    "query": "Why is that so?",
    "question": "Why is that so? “A valve turns water on.”",
    "refused": False,
    "reason": None,
    "disclaimer": "Read them.",
    "nearest": [],
    "confidence": {"confidence_level": "low", "average_similarity": 0.61},
    "sentences": [
        {
            "text": "A valve <turns>.",
            "kind": "sentence",
            "citations": [
                {
                    "label": 1,
                    "chunk_id": "c",
                    "page_title": "Valves",
                    "chapter": "",
                    "section": "Taps",
                    "source_file": "a.md",
                    "source_url": "https://x.example/a",
                    "quote": "A valve turns.",
                    "span": {"start": 1, "end": 9},
                    "where": "line 2",
                    "place": None,
                }
            ],
        }
    ],
}
SHOW = """async ([answer, actions]) => {
    const { BookAnswer } = await import("/page/answer.js");
    window.done = [];
    const told = (name) => (...given) => void window.done.push([name, ...given.filter((one) => typeof one !== "object")]);
    const others = Object.fromEntries(actions.map((one) => [one, told(one)]));
    const turn = new BookAnswer().begin(answer.query, { onsource: told("source"), ...others });
    turn.finish(answer);
    document.querySelector("main").replaceChildren(turn);
}"""


def note(text: str, nth: int = 0) -> dict[str, Any]:
    return {"text": text, "nth": nth}


def test_a_note_is_found_by_its_letters_and_ends_with_the_signs_that_it_has(modules: Page) -> None:
    notes = [
        note("A valve turns water on (and off)."),
        note("a valve turns water on (and off)", 1),
        note("valve TURNS"),
        note("tap"),
    ]
    assert modules.evaluate(NOTES, [LESSON, notes]) == [
        ["A valve turns water on (and off).", 1],
        ["A valve turns water on (and off)", 4],
        ["valve turns", 1],
        None,
    ]


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (".passage p", ".passage p", "A valve turns water on (and off)."),
        (".passage p:nth-of-type(2)", ".passage p:nth-of-type(2)", "It is … wide."),
        (".passage pre", ".passage pre", "a = 1\nb = 2"),
        (".passage h4", ".passage p", "Valves\nA valve turns water on (and off)."),
    ],
)
def test_selected_words_are_those_of_the_lesson_without_its_line_ends(modules: Page, start: str, end: str, words: str) -> None:
    assert modules.evaluate(SELECTED, [LESSON, start, end]) == {"text": words, "source_file": "a.md"}


def test_what_cannot_be_asked_about_is_said_or_left_alone(modules: Page) -> None:
    other = LESSON.replace("a.md", "b.md").replace("class=passage", "class='passage other'")
    across = modules.evaluate(SELECTED, [LESSON + other, ".passage p", ".other p"])
    assert across == {"problem": "Select words of one lesson at a time."}
    long = f"<div class=passage data-file=a.md><p>{'word ' * 20_000}</p></div>"
    assert "99,999" in modules.evaluate(SELECTED, [long, ".passage p", ".passage p"])["problem"]
    assert modules.evaluate(SELECTED, ["<p>Not of a lesson.</p>", "p", "p"]) is None
    assert modules.evaluate(SELECTED, ["<div class=passage data-file=a.md><p>x</p></div>", "p", "p"]) is None


def test_a_stored_answer_shows_what_it_was_about_how_sure_it_is_and_its_marks(modules: Page) -> None:
    modules.evaluate(SHOW, [ANSWER, []])
    turn = modules.locator("book-answer")
    expect(turn.locator(".selection")).to_have_text("A valve turns water on.")
    expect(turn.locator(".answer")).to_contain_text("A valve <turns>.")
    expect(turn.locator(".confidence")).to_have_text("Low confidence")
    expect(turn.get_by_role("tooltip", include_hidden=True)).to_contain_text("Relevance 0.61 of 1.")
    expect(turn.locator(".disclaimer")).to_have_text("Read them.")
    turn.get_by_role("button", name="Source 1: Valves, Taps").click()
    assert modules.evaluate("window.done") == [["source", 1]]
    modules.evaluate(SHOW, [{**ANSWER, "query": "And it?", "question": "What of the valve?"}, []])
    expect(turn.locator(".status")).to_contain_text("read as “What of the valve?”")
    sure = {**ANSWER["confidence"], "average_similarity": 0.94}
    modules.evaluate(SHOW, [{**ANSWER, "confidence": sure}, []])
    expect(turn.get_by_role("tooltip", include_hidden=True)).to_have_text("Only a part of what you asked is answered here.")


@pytest.mark.parametrize(
    ("reason", "headline", "hint"),
    [
        ("nothing_found", "Nothing found in the book", False),
        ("off_topic", "This is not what the book is about", False),
        ("not_in_book", "The book does not say", True),
        ("unsupported", "The book does not say enough to answer this", True),
    ],
)
def test_a_refusal_says_its_reason_and_leads_on(modules: Page, reason: str, headline: str, hint: bool) -> None:
    section = {"page_title": "Taps", "heading_path": ["Big"], "source_url": "https://x.example/t", "module": "", "chapter": 2}
    refused = {**ANSWER, "refused": True, "reason": reason, "sentences": [], "nearest": [section]}
    refused["answer"] = "Not in it; it is written in German."
    modules.evaluate(SHOW, [refused, ["oncontents"]])
    turn = modules.locator("book-answer.refused")
    expect(turn.get_by_role("heading", name=headline, exact=True)).to_be_visible()
    expect(turn).to_contain_text("The book is written in German.")
    expect(turn.get_by_role("link", name="Taps › Big")).to_have_attribute("href", "https://x.example/t")
    expect(turn.locator(".nearest .where")).to_have_text("Chapter 2")
    expect(turn.get_by_text("Naming the thing you mean")).to_have_count(int(hint))
    turn.get_by_role("button", name="See what the book covers").click()
    assert modules.evaluate("window.done") == [["oncontents"]]


def test_a_lesson_loses_the_heading_that_repeats_its_title_and_keeps_the_order_of_the_others(modules: Page) -> None:
    html = "<h4>Valves</h4><h5>One</h5><p>x</p><h6>Two</h6><figure class=code><pre><code>y</code></pre></figure>"
    lesson = {"html": html, "page_title": "Valves", "source_file": "a.md", "chapter": "Chapter 3: Taps"}
    made = "async (lesson) => (await import('/page/lesson-text.js')).lessonArticle(lesson, null, 'b', { level: 1 }).outerHTML"
    text = modules.evaluate(made, lesson)
    assert '<h1 dir="auto" tabindex="-1">Valves</h1><p class="where" dir="auto">Chapter 3: Taps</p>' in text
    assert "<h2>One</h2><p>x</p><h3>Two</h3>" in text
    assert "Copy this code" in text
    assert modules.evaluate(made, {**lesson, "html": "<h4>Other</h4>", "chapter": ""}).endswith("<h2>Other</h2></div></article>")


def test_elements_never_read_text_as_html_and_translate_only_the_pages_words(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { element, toast, announce } = await import("/page/dom.js");
        const { speak } = await import("/page/words.js");
        await speak("de");
        const properties = { title: "Close", hidden: false, "data-n": 0, lang: null };
        const made = element("p", properties, "Threads", ["<b>", 3, null, [false, "x"]]);
        const book = element("p", { dir: "auto" }, "Threads");
        for (let at = 0; at < 20; at += 1) announce(`line ${at}`);
        const lasting = toast("Undo?", { seconds: null, act: () => (window.undone = true), label: "Undo" });
        lasting.querySelector("button").click();
        const lines = document.querySelectorAll("#announcer p").length;
        return [made.outerHTML, book.textContent, lines, lasting.isConnected, window.undone];
    }""")
    words = page_words("de")
    assert told[0] == f'<p title="{words["Close"]}" data-n="0">{words["Threads"]}&lt;b&gt;3x</p>'
    assert told[1:] == ["Threads", 12, False, True]


def test_what_is_typed_is_asked_by_enter_kept_until_then_and_never_overwritten(modules: Page) -> None:
    modules.evaluate("""async () => {
        const { Composer } = await import("/page/composer.js");
        sessionStorage.setItem("draft", "Half a quest");
        window.asked = [];
        const [onask, onstop] = [(text, given) => asked.push([text, given]), () => asked.push("stop")];
        window.box = new Composer({ onask, onstop, draft: "draft" });
        document.querySelector("main").replaceChildren(window.box.element);
    }""")
    box = modules.get_by_label("Your question")
    expect(box).to_have_value("Half a quest")
    modules.evaluate("box.giveBack('Another?')")
    expect(box).to_have_value("Half a quest")
    box.press("End")
    box.press_sequentially("ion?")
    box.press("Shift+Enter")
    expect(box).to_have_value("Half a question?\n")
    modules.evaluate("box.askAbout({ text: 'these words' })")
    box.press("Enter")
    box.press("Enter")  # nothing is typed
    modules.evaluate("box.giveBack('Again?')")
    modules.evaluate("box.takeBack('Something else?')")
    expect(box).to_have_value("Again?")
    modules.evaluate("(box.takeBack('Again?'), box.setBusy(true))")
    modules.get_by_role("button", name="Stop").click()
    box.fill("Next?")
    modules.get_by_role("button", name="Ask").click()
    asked = [["Half a question?", {"selection": {"text": "these words"}}], "stop", ["Next?", {}]]
    assert modules.evaluate("[asked, sessionStorage.getItem('draft')]") == [asked, ""]


@pytest.mark.parametrize(
    ("profile", "chips"),
    [
        ({"chapterMin": 2, "chapterMax": 2, "layer": "L1"}, ["Chapter 2", "Layer L1"]),
        ({"chapterMin": 2, "chapterMax": 3, "module": "m"}, ["m", "Chapters 2–3"]),
        ({"chapterMin": 2, "tier": 2}, ["From chapter 2", "Tier 2 and below"]),
        ({"chapterMax": 3, "levels": ["A1", "B1"]}, ["Up to chapter 3", "A1 B1"]),
    ],
)
def test_a_readers_filters_are_chips_and_one_is_taken_away_alone(
    modules: Page, profile: dict[str, Any], chips: list[str]
) -> None:
    modules.evaluate(
        """async (profile) => {
            const { writeProfile } = await import("/page/profile.js");
            writeProfile("b", profile);
            const made = document.createElement("reader-profile");
            made.book = { book_id: "b", filters: {} };
            document.querySelector("main").replaceChildren(made);
        }""",
        profile,
    )
    expect(modules.locator(".chip")).to_have_text(chips)
    modules.locator(".chip button").first.click()
    expect(modules.locator(".chip")).to_have_text(chips[1:])


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"status": "queued"}, "waiting for a worker"),
        ({"status": "running"}, "reading the folder"),
        ({"status": "running", "files_total": 4, "files_processed": 1}, "1 of 4 lessons"),
        (
            {"status": "running", "files_total": 4, "files_processed": 4, "progress": {"stage": "calibrating"}},
            "4 of 4 lessons, fitting relevance",
        ),
        ({"status": "failed", "error_message": "No such folder."}, "No such folder."),
        (
            {"status": "completed", "files_processed": 1, "chunks_created": 2},
            "1 lesson · 2 passages new, 0 gone · 3 s · just now",
        ),
    ],
)
def test_a_job_says_how_far_it_is_or_how_it_ended(modules: Page, job: dict[str, Any], words: str) -> None:
    whole = {
        "job_id": "j",
        "mode": "incremental",
        "files_total": 0,
        "files_processed": 0,
        "chunks_created": 0,
        "chunks_deleted": 0,
    }
    told = modules.evaluate(
        """async (job) => {
            const { jobRow } = await import("/page/jobs.js");
            const row = jobRow({ duration_seconds: 3, queued_at: new Date().toISOString(), ...job }, () => {});
            return [row.querySelector(".where").textContent, row.querySelectorAll("progress, button").length];
        }""",
        {**whole, **job},
    )
    assert told == [words, 2 if job["status"] in ("queued", "running") else 0]


def test_a_cover_stays_the_same_whatever_stands_beside_it_and_tells_how_far_the_reader_is(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { BookShelf } = await import("/page/shelf.js");
        const { rememberPlace } = await import("/page/reading.js");
        rememberPlace("b", { file: "a.md", title: "Valves", block: 1, share: 1 });
        const covers = (ids) => {
            const made = new BookShelf();
            made.open({ api: null, books: ids.map((id) => ({ book_id: id, title: id, lessons: 3 })), onanswer: null });
            return [...made.querySelectorAll("li")].map((one) => [one.querySelector(".cover").dataset.cover, one.textContent]);
        };
        const kinds = new Set(covers([..."abcdefghijklmnopq"]).map(([cover]) => cover));
        return [covers(["a", "b"]), covers(["b", "c", "a"]), kinds.size];
    }""")
    (first, second), (again, _, last), kinds = told
    assert (first, second) == (last, again)
    assert second[1] == "b3 lessons · 1 readContinue: Valves"
    assert first[1].endswith("Start reading")
    assert kinds == 6


def test_a_long_thread_offers_what_came_before_and_other_books_what_they_would_say(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { earlier } = await import("/page/earlier.js");
        const { booksAsked } = await import("/page/books-asked.js");
        const thread = (number) => ({ thread_id: "t", turns: number ? [{ number }] : [] });
        const words = (all) => all.map((one) => one.textContent);
        const books = [{ title: "One", answers: true }, { title: "Two", answers: true }, { title: "Three" }, { title: "Four" }];
        const offered = [0, 1, 26].map((number) => words(earlier(thread(number), null, null)));
        return [...offered, booksAsked(books, () => {}).innerText];
    }""")
    assert told[:3] == [[], [], ["Show earlier questions (25)"]]
    assert "Another book answers it too:" in told[3]
    assert "Ask “Two”" in told[3]
    assert "No answer in “Three” or “Four”." in told[3]


def test_only_an_address_of_the_web_leads_to_the_books_site(modules: Page) -> None:
    link = "async (address) => (await import('/page/source-list.js')).outLink(address).outerHTML ?? null"
    assert modules.evaluate(link, "tutorial/body.md") is None
    assert 'href="https://x.example/a" target="_blank"' in modules.evaluate(link, "https://x.example/a")


def test_quoted_code_stands_as_code_in_the_list_of_sources(modules: Page) -> None:
    told = modules.evaluate("""async () => {
        const { SourceList } = await import("/page/source-list.js");
        const quotes = [{ quote: "```py\\nx = 1\\n```", code: true, where: "line 2" }, { quote: "It is **x**.", where: "p. 3" }];
        const list = new SourceList().with({ api: null, fetchPassage: null, scroller: null, links: null });
        const card = list.draw({ label: 1, page_title: "Valves", section: "", chapter: "Chapter 2: Taps", quotes });
        return card.querySelector(".quotes").innerHTML;
    }""")
    assert told == (
        '<blockquote dir="ltr"><code>x = 1</code></blockquote><p class="place">line 2</p>'
        '<blockquote dir="auto">It is x.</blockquote><p class="place">p. 3</p>'
    )

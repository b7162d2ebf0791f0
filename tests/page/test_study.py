"""A reader studies: reads the book here, asks beside it, finds the way back, on a phone too."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import PHONE
from tests.support.hostile_book import BOOK_ID
from tests.support.page import ACTION, FOREIGN, FORMULA, NODE, ask, ended, violations
from tests.support.serving import BOOK, running

LESSON = f"/#/books/{BOOK}/lessons/module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md"
BETWEEN = """(both) => {
    const [upper, lower] = both.map((one) => document.querySelector(one).getBoundingClientRect());
    return lower.top - upper.bottom;
}"""
TARGETS = """() => [...document.querySelectorAll("a, button, input, select, summary")]
    .filter((one) => one.checkVisibility() && !one.closest(".unseen, .skip, p, li, .prose"))
    .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && (box.width < 24 || box.height < 24)).map(([html]) => html)"""

DUE = """() => {
    const name = "bythebook.quiz.physical-ai-robotics";
    const cards = JSON.parse(localStorage.getItem(name));
    for (const card of Object.values(cards)) Object.assign(card, { due: 0, answer_html: "<p>In other words.</p>" });
    localStorage.setItem(name, JSON.stringify(cards));
}"""
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
"""What came has been read and drawn."""
MARKED = "() => [...CSS.highlights.get('bythebook-notes')].map(String).join(' ')"
REWORDED = """() => {
    const name = "bythebook.notes.physical-ai-robotics";
    const notes = JSON.parse(localStorage.getItem(name));
    notes[0].text = "Words that stood there once";
    localStorage.setItem(name, JSON.stringify(notes));
}"""
FOLDERS = """(book) => import("/page/chapters.js").then(({ chaptersOf, entriesOf, chapterAround, chapterNamed }) => {
    const files = (lessons) => lessons.map((lesson) => lesson.source_file);
    return [
        ...chaptersOf(book.modules[0]).map((chapter) => [chapter.title, files(chapter.lessons)]),
        ["in order", entriesOf(book.modules[0]).map((one) => one.title)],
        ["around", chapterAround(book, "docs/linear_models/loss.md").title],
        ["named", chapterNamed(book, new URLSearchParams({ module: "", folder: "docs/how-to" })).title],
    ];
})"""
SNIPPETS = {
    r"A rate $\eta > 0$: $$\mathbf{x} \leftarrow \mathbf{x} - \eta \nabla f(\mathbf{x})$$": "A rate η > 0: x ← x - η ∇ f(x)",
    r"\_private\_, [a link](https://x.example), :cite:`A.1805` and **bold**": "_private_, a link, and bold",
    "It costs $5 and $6.": "It costs $5 and $6.",
    "| Policy | Choices |\n| :--- | --- |\n| Depth | a number |\n": "Policy · Choices; Depth · a number",
}
ACROSS = """(one) => {
    const other = one.cloneNode(true);
    other.dataset.file = "other.md";
    one.after(other);
    getSelection().setBaseAndExtent(one.querySelector("p"), 0, other.querySelector("p"), 1);
}"""
"""From one lesson into another, as sources of an answer can stand below each other."""
SCROLLED_TO = """(one) => new Promise((done) => {
    addEventListener("scrollend", () => done(), { once: true });
    scrollTo(0, one.getBoundingClientRect().top - 40);
})"""


def test_a_lesson_is_a_page_with_its_contents_its_neighbours_and_a_search(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")
    expect(page.get_by_role("link", name="Read", exact=True)).to_have_attribute("aria-current", "page")
    expect(page.locator(".contents [aria-current=page]")).to_have_text("Topics and messages")
    expect(page).to_have_title(re.compile("^Topics and messages"))
    page.get_by_role("link", name=re.compile("^Next")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Services and actions")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.get_by_role("link", name=re.compile("^Previous")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")
    page.get_by_label("Search in this book").fill("zero moment")
    page.locator(".hits a").first.wait_for()
    page.keyboard.press("Escape")
    expect(page.locator(".contents .found")).to_be_hidden()
    page.get_by_label("Search in this book").fill("zero moment")
    page.locator(".hits a").first.click()
    expect(page.get_by_role("heading", name="The zero moment point")).to_be_in_viewport()
    expect(page.locator(".reading .figure img").first).to_have_js_property("complete", True)
    assert violations(page) == []
    page.goto(f"/#/books/{BOOK}/lessons/no/such.md")
    expect(page.get_by_role("heading", name="Not here")).to_be_visible()


def test_a_lesson_with_one_question_keeps_no_room_for_more(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    page.route("**/questions?*", lambda route: route.fulfill(json={"questions": [{"question": "What is a topic?"}]}))
    page.goto(LESSON)
    page.locator(".practice .worth li").wait_for()
    assert 0 < page.evaluate(BETWEEN, [".practice li", ".practice .actions"]) < 40


def test_a_lesson_without_a_question_shows_what_its_neighbours_answer(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    found = [{"question": "What is a node?"}]
    page.route(
        "**/questions?*",
        lambda route: route.fulfill(json={"questions": found if route.request.url.count("lesson=") > 1 else []}),
    )
    page.goto(LESSON)
    expect(page.locator(".practice .worth h2")).to_have_text("Nearby lessons answer")
    expect(page.locator(".practice .worth li")).to_have_text(["What is a node?"])


def test_where_the_reader_stopped_is_kept(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    heading = page.get_by_role("heading", name="What a message is")
    heading.wait_for()
    heading.evaluate(SCROLLED_TO)
    page.goto("/#/")
    page.get_by_role("link", name=re.compile("Continue reading Topics and messages")).click()
    expect(page.get_by_role("heading", name="What a message is")).to_be_in_viewport()


def test_a_citation_beside_a_lesson_opens_as_a_place_in_the_book(open_page: Callable[..., Page]) -> None:
    held: list[Route] = []
    page = open_page("/")
    page.route("**/page/lessons/**", lambda route: held.append(route) if not held else route.continue_())
    with page.expect_request("**/page/lessons/**"):
        page.goto(LESSON)
    page.get_by_role("tab", name="Ask").click()
    page.get_by_label("Your question").fill(ACTION)
    held[0].continue_()
    page.get_by_role("heading", level=1, name="Topics and messages").wait_for()
    page.keyboard.press("Enter")  # the lesson that came meanwhile leaves the reader in the question box
    turn = ended(page, ACTION)
    top = page.evaluate("scrollY")
    turn.locator(".marker").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Services and actions")
    expect(page.locator(".reading mark").first).to_be_in_viewport()
    assert top == 0
    expect(turn).to_be_visible()  # the tutor stays beside the next lesson
    shared = page.url
    page.goto("about:blank")
    page.goto(shared)
    expect(page.locator(".reading mark").first).to_contain_text("An action is built from")


def test_selected_words_are_asked_about_beside_the_lesson(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    paragraph = page.locator(".reading .passage p", has_text="Neither side names the other")
    paragraph.click(click_count=3)
    page.get_by_role("button", name="Explain this").click()
    turn = ended(page, "Explain this.")
    expect(turn.locator("blockquote.selection")).to_contain_text("A topic is a named channel")
    expect(turn.locator(".marker").first).to_be_visible()
    expect(turn.get_by_role("heading", name="Explain this.")).to_be_in_viewport()
    paragraph.click(click_count=3)
    page.get_by_role("button", name="Ask …").click()
    expect(page.locator(".about")).to_contain_text("A topic is a named channel")
    expect(page.get_by_label("Your question")).to_be_focused()
    second = ask(page, "Who sends the messages?")
    expect(page.locator(".about")).to_be_hidden()
    below = "(one) => one.getBoundingClientRect().top - one.closest('.side-body').getBoundingClientRect().top"
    assert 0 <= second.locator("h2").evaluate(below) < 40, "a question stands at the top while its answer comes"
    page.locator(".reading .passage").evaluate("(one) => getSelection().selectAllChildren(one)")
    page.keyboard.press("Shift")
    page.get_by_role("button", name="Why?").click()
    expect(page.locator(".toast")).to_contain_text("Select at most 2,000 characters")
    page.locator(".reading .passage").evaluate(ACROSS)
    page.keyboard.press("Shift")
    page.get_by_role("button", name="Why?").click()
    expect(page.locator(".toast").last).to_have_text("Select words of one lesson at a time.")
    page.reload()  # the thread is there again, as after a quiz
    page.get_by_role("heading", level=1, name="Topics and messages").wait_for()
    page.get_by_role("tab", name="Ask").click()
    expect(page.locator("book-answer")).to_have_count(2)
    page.get_by_role("link", name="Open this thread by itself").click()
    expect(ended(page, "Explain this.").locator("blockquote.selection")).to_contain_text("A topic is a named channel")


def test_words_selected_on_a_phone_have_their_buttons_below_them_while_the_lesson_is_scrolled(
    open_page: Callable[..., Page],
) -> None:
    """A long press and a drag of the handles end without any event but that other words are selected."""
    page = open_page(LESSON, phone=True)
    paragraph = page.locator(".reading .passage p", has_text="Neither side names the other")
    paragraph.evaluate("(one) => (one.scrollIntoView({ block: 'center' }), getSelection().selectAllChildren(one))")
    bar = page.get_by_role("toolbar", name="About the selected words")
    expect(bar).to_be_visible()
    box = ".reading .passage p:nth-of-type(2)"
    assert page.evaluate(BETWEEN, [box, ".selection-bar"]) >= 24, "room for the handle"
    top = bar.evaluate("(one) => one.getBoundingClientRect().top")
    page.evaluate("() => new Promise((done) => (addEventListener('scroll', () => requestAnimationFrame(done)), scrollBy(0, 40)))")
    assert bar.evaluate("(one) => one.getBoundingClientRect().top") == top - 40
    assert violations(page) == []
    page.get_by_role("button", name="Highlight").tap()
    expect(bar).to_be_hidden()
    assert "Neither side names the other" in page.evaluate(MARKED)
    expect(page.locator(".beside")).not_to_be_in_viewport()  # the text stays in sight
    page.locator(".reading .passage p").first.evaluate("(one) => getSelection().selectAllChildren(one)")
    page.get_by_role("button", name="Highlight").tap()
    page.get_by_role("button", name="Write a note").last.tap()
    expect(page.locator(".note-row").last).to_contain_text("A joint encoder")
    expect(page.locator(".note-row").last.get_by_label("Your note")).to_be_focused()


def test_a_reader_says_what_is_wrong_and_shares_an_answer(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    page.locator(".contents").wait_for()
    turn = ask(page, ACTION)
    turn.get_by_role("button", name="This was wrong").click()
    page.get_by_label("What is wrong with it?").fill("It does not say how.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The author of the book will see it.")).to_be_visible()
    turn.get_by_role("button", name="Share this answer").click()
    expect(turn.get_by_role("button", name="Revoke the link")).to_be_visible()
    assert page.evaluate(BETWEEN, [".toast", ".composer .box"]) >= 0, "what is said covers the question box"
    link = page.evaluate("navigator.clipboard.readText()")
    page.reload()
    expect(page.get_by_role("button", name="This was wrong")).to_have_attribute("aria-pressed", "true")
    other = open_page(link)
    expect(other.locator("book-answer .answer")).to_contain_text("three services and two topics")
    expect(other.get_by_role("heading", level=1)).to_contain_text("Physical AI")
    other.locator(".marker").first.click()
    expect(other.locator(".source.open mark").first).to_be_visible()
    assert violations(other) == []
    page.get_by_role("button", name="Revoke the link").click()
    expect(page.get_by_role("button", name="Share this answer")).to_be_visible()
    other.reload()
    expect(other.get_by_text("its owner has revoked it")).to_be_visible()
    page.goto(f"/#/author/{BOOK}")
    expect(page.locator(".desk", has_text="What readers rated wrong")).to_contain_text("It does not say how.")


def test_a_lesson_that_comes_after_the_reader_has_left_is_not_shown(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    topics = page.get_by_role("heading", level=1, name="Topics and messages")
    expect(topics).to_be_visible()
    held: list[Route] = []
    page.route("**/page/lessons/*", lambda route: held.append(route))

    def come(place: int) -> None:
        with page.expect_response(held[place].request.url):
            held[place].continue_()
        page.evaluate(SETTLED)

    page.get_by_role("link", name=re.compile("^Next")).click()
    until_held(page, held, 1)
    page.go_back()
    until_held(page, held, 2)
    come(1)
    come(0)
    expect(topics).to_be_visible()
    assert page.title().startswith("Topics and messages")
    page.get_by_role("link", name=re.compile("^Next")).click()
    until_held(page, held, 3)
    page.get_by_role("link", name="Threads", exact=True).click()
    expect(page.locator("thread-list h1")).to_be_visible()
    title = page.title()
    come(2)
    assert page.title() == title, "another page is shown by now"


def test_a_lesson_that_cannot_be_had_leaves_what_is_read(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Topics and messages")
    page.route("**/page/lessons/*", lambda route: route.abort())
    page.get_by_role("link", name=re.compile("^Next")).click()
    expect(page.locator(".toast")).to_contain_text("“Services and actions” could not be opened.")
    expect(heading).to_have_text("Topics and messages")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(heading).to_have_text("Services and actions")
    expect(page.locator(".toast")).to_have_count(0)


def until_held(page: Page, held: list[Route], count: int) -> None:
    while len(held) < count:
        page.evaluate(SETTLED)


def test_questions_worth_asking_lead_to_answers(page: Page) -> None:
    chosen = page.locator(".worth button").first
    question = chosen.inner_text()
    chosen.click()
    expect(ended(page, question).locator(".answer .marker").first).to_be_visible()


def test_a_quiz_repeats_what_was_not_known_and_is_saved_for_anki(open_page: Callable[..., Page]) -> None:
    page = open_page(f"/#/books/{BOOK}/quiz?lesson={LESSON.partition('lessons/')[2]}")
    first = page.locator(".quiz-room h2").inner_text()
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".quiz-answer .passage")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Not yet").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save for Anki").click()
    lines = Path(saved.value.path()).read_text("utf-8").splitlines()
    assert lines[:3] == ["#separator:Comma", "#html:true", "#columns:Front,Back,Tags"]
    assert [first] == [row[0] for row in csv.reader(lines[4:5])]
    page.get_by_role("button", name="Show the answer").focus()
    for _ in range(len(lines) - 4):  # what was not known comes once more
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
    expect(page.get_by_text("1 of them asked again")).to_be_visible()
    page.evaluate(DUE)
    page.goto("/#/")
    page.get_by_role("link", name=re.compile("Due today")).click()
    page.get_by_role("button", name="Show the answer").click()
    expect(page.locator(".quiz-answer .quiz-said + .passage")).to_be_visible()  # a model's answer, and the quote it rests on
    page.goto(LESSON)
    page.get_by_role("link", name="Quiz me on this chapter").click()
    expect(page.locator("book-quiz > .where")).to_have_text("Chapter 1: How robots talk")
    expect(page.locator(".quiz-room h2")).to_be_visible()
    page.locator("book-quiz").evaluate("(quiz) => quiz.end()")
    page.get_by_role("link", name="Back to the book").click()  # where the reader came from
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")
    page.goto(f"/#/books/{BOOK}/quiz?module=ros2&chapter=99")
    expect(page.get_by_text("The book has no such chapter.")).to_be_visible()
    page.goto(f"/#/books/{BOOK_ID}/quiz?lesson=02-right-to-left.md")
    expect(page.get_by_text("There are no questions for these lessons")).to_be_visible()
    expect(page.get_by_role("button", name="Save for Anki")).to_be_hidden()


def test_folders_are_chapters_where_none_is_numbered_and_snippets_have_no_marks(page: Page) -> None:
    files = ["start.md", "linear_models/index.md", "linear_models/loss.md", "end.md", "how-to/a.md", "how-to/b.md"]
    files = [f"docs/{file}" for file in files]
    lessons = [{"source_file": file, "title": "Lines" if "index" in file else file} for file in files]
    book = {"modules": [{"module": "", "chapters": [{"chapter": 0, "title": "", "lessons": lessons}]}]}
    told = page.evaluate(FOLDERS, book)
    order = ["docs/start.md", "Lines", "docs/end.md", "How to"]
    assert told == [["Lines", files[1:3]], ["How to", files[4:]], ["in order", order], ["around", "Lines"], ["named", "How to"]]
    for markdown, words in SNIPPETS.items():
        assert page.evaluate("(text) => import('/page/plain-text.js').then(({ plain }) => plain(text))", markdown) == words


def test_what_is_known_waits_longer_each_time_and_a_full_browser_is_said(page: Page) -> None:
    boxes = """() => import("/page/repetition.js").then(({ rated, dueCards, DAYS }) => {
        let card = { id: "a" };
        const waits = [];
        for (const known of [true, true, true, false, true]) {
            card = rated(card, known, 0);
            waits.push(card.due / 86400000);
        }
        return [waits, dueCards({ a: card }, 86400000 - 1).length, dueCards({ a: card }, 86400000).length];
    })"""
    assert page.evaluate(boxes) == [[1, 3, 7, 0, 1], 0, 1]
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }")
    page.evaluate(f"location.hash = '#/books/{BOOK}/quiz?lesson={LESSON.partition('lessons/')[2]}'")
    page.get_by_role("button", name="Show the answer").click()
    page.get_by_role("button", name="I knew it").click()
    expect(page.locator(".toast")).to_contain_text("This browser’s storage is full")


def test_a_phone_without_keys_has_the_palette_too(open_page: Callable[..., Page]) -> None:
    page = open_page("/", phone=True)
    page.locator(".contents").wait_for()
    opener = page.get_by_role("button", name="Go to", exact=True)
    opener.tap()
    page.get_by_role("dialog").get_by_role("button", name="Close").tap()
    expect(page.get_by_role("dialog")).to_have_count(0)
    opener.tap()
    page.get_by_role("combobox").fill("topics and")
    page.get_by_role("option", name="Topics and messages").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")


def test_the_palette_goes_to_a_lesson_a_thread_a_book_or_asks(page: Page) -> None:
    ask(page, NODE)
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Go to a lesson")
    box.fill("balance walking")
    expect(page.locator(".palette li").first).to_contain_text("Balance and walking in simulation")
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Balance and walking in simulation")
    page.keyboard.press("Control+k")
    box.fill("levers")
    expect(page.get_by_role("option", name="Book Levers")).to_be_visible()
    box.fill(ACTION)
    page.get_by_role("option", name=f"Ask {ACTION}").click()
    expect(ended(page, ACTION).locator(".answer")).to_contain_text("three services")
    page.keyboard.press("Control+k")
    box.fill("what is a node")
    page.get_by_role("option", name=f"Thread {NODE}").first.click()
    expect(ended(page, NODE).locator(".answer")).to_contain_text("named participant")
    page.get_by_role("link", name="Threads").click()
    page.get_by_label("Search your threads").fill("zebra")
    expect(page.get_by_text("No thread has these words.")).to_be_visible()
    page.get_by_label("Search your threads").fill("services and topics")
    expect(page.get_by_text("No thread has these words.")).to_be_hidden()
    expect(page.locator(".threads li:visible").first).to_contain_text(ACTION)
    expect(page.locator(".threads li:visible").first).to_contain_text("Physical AI")


def test_notes_stand_with_their_words_survive_a_reload_and_an_edit_and_are_saved(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    page.locator(".reading .passage p", has_text="Neither side names the other").click(click_count=3)
    page.get_by_role("button", name="Highlight").click()
    page.get_by_label("Your note").fill("Like a notice board.")
    page.get_by_role("tab", name="Notes").click()
    page.reload()
    page.locator(".reading .passage").wait_for()
    page.get_by_role("tab", name="Notes").click()
    expect(page.get_by_label("Your note")).to_have_value("Like a notice board.")
    assert page.evaluate(MARKED).startswith("A topic is a named channel")
    assert violations(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as Markdown").click()
    text = Path(saved.value.path()).read_text("utf-8")
    assert "## [Topics and messages](https://physical-ai.example/docs/" in text
    assert "> A topic is a named channel" in text
    assert "Like a notice board." in text
    page.evaluate(REWORDED)
    page.reload()
    page.get_by_role("tab", name="Notes").click()
    expect(page.get_by_text("The lesson no longer has these words.")).to_be_visible()
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }")
    page.locator(".reading .passage p").first.click(click_count=3)
    page.get_by_role("button", name="Highlight").click()
    expect(page.locator(".toast")).to_contain_text("the note was not saved")


def test_what_is_being_written_is_saved_too_and_a_deleted_note_comes_back(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    page.locator(".reading .passage p", has_text="Neither side names the other").click(click_count=3)
    page.get_by_role("button", name="Highlight").click()
    note = page.get_by_label("Your note")
    expect(note).to_be_focused()
    page.keyboard.type("Like a notice board.")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as Markdown").click()
    assert Path(saved.value.path()).read_text("utf-8").endswith("\n\nLike a notice board.\n")
    note.press("End")
    page.keyboard.type(" Or two.")
    page.reload()  # without leaving the field
    page.get_by_role("tab", name="Notes").click()
    expect(note).to_have_value("Like a notice board. Or two.")
    page.get_by_role("button", name="Delete this note").press("Enter")
    expect(note).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(note).to_be_focused()
    expect(note).to_have_value("Like a notice board. Or two.")
    assert page.evaluate(MARKED).startswith("A topic is a named channel")


def test_a_book_that_is_edited_while_it_is_read(open_page: Callable[..., Page], folder: Path) -> None:
    """The page notices; what is shown moves when the reader wants it; notes stand where their words still do."""
    book = folder / "pumps"
    book.mkdir()
    (book / "book.toml").write_text('book_id = "pumps"\ntitle = "Pumps"\n', "utf-8")
    kept, gone = "A check valve lets water pass one way.", "A gate valve is opened by a wheel."
    (book / "01-valves.md").write_text(f"# Valves\n\n{kept}\n\n{gone}\n", "utf-8")
    (book / "02-seals.md").write_text("# Seals\n\nA seal keeps water in.\n", "utf-8")
    long = " + ".join(f"x_{{{number}}}" for number in range(40))
    (book / "03-flow.md").write_text(f"# Flow\n\nIt is\n**${long}$** in all.\n\n- Or ${long}$.\n", "utf-8")
    with running(folder / "data", source_roots=str(folder)) as service, service.client() as client:
        ingested(client, book)
        page = open_page("/#/books/pumps/lessons/01-valves.md", base=service.url)
        for words in (kept, gone):
            page.get_by_text(words).first.click(click_count=3)
            page.get_by_role("button", name="Highlight").click()
        (book / "01-valves.md").write_text(f"# Valves\n\nValves are taps that think.\n\nRead on: {kept}\n", "utf-8")
        (book / "02-seals.md").unlink()
        ingested(client, book)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the reader comes back to the page
        expect(page.locator(".toast")).to_contain_text("The book has changed since you opened it.")
        expect(page.get_by_text("Valves are taps that think.")).to_have_count(0)
        page.get_by_role("button", name="Show the new text").click()
        expect(page.get_by_text("Valves are taps that think.")).to_be_visible()
        expect(page.get_by_text("The lesson no longer has these words.")).to_have_count(1)
        assert page.evaluate(MARKED) == kept
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        page.get_by_role("link", name=re.compile("^Next")).click()
        page.locator(".reading math").first.wait_for()
        page.locator(".reading .passage").evaluate("(one) => getSelection().selectAllChildren(one)")
        page.keyboard.press("Shift")
        page.get_by_role("button", name="Highlight").click()
        page.get_by_role("button", name="Write a note").click()
        expect(page.locator(".note-row blockquote").first).to_have_text("It is … in all.\nOr ….")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], "a long formula widens the page"
        page.goto(f"{service.url}/#/books/pumps/lessons/02-seals.md")
        expect(page.get_by_role("heading", name="Not here")).to_be_visible()


def ingested(client: httpx.Client, book: Path) -> None:
    job = client.post(f"/books/{book.name}/jobs", json={"source": {"folder": str(book)}}).json()
    assert '"completed"' in client.get(f"/jobs/{job['job_id']}/events").text


def test_every_sheet_of_a_phone_closes_by_button_key_tap_and_back(open_page: Callable[..., Page]) -> None:
    page = open_page("/", phone=True)
    page.locator(".contents").wait_for()
    ask(page, FOREIGN)
    for how in ("button", "Esc", "outside", "Back"):
        close(page, how, "See what the book covers", "source-panel")
    page.goto(LESSON)
    for how in ("button", "Esc", "outside", "Back"):
        close(page, how, "Contents", ".beside")
    page.get_by_role("button", name="Contents").tap()
    page.locator(".contents a", has_text="Services and actions").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Services and actions")
    expect(page.locator(".beside")).not_to_be_in_viewport()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")
    assert not page.evaluate("history.state?.sheet"), "Back has led to the page, not to the sheet"
    page.locator(".lesson-bar").get_by_role("button", name="Ask").tap()
    expect(page.get_by_label("Your question")).to_be_in_viewport()
    turn = ask(page, ACTION)
    turn.locator(".marker").first.tap()
    expect(page.locator(".beside")).not_to_be_in_viewport()
    expect(page.locator(".reading mark").first).to_be_in_viewport()
    expect(page).to_have_url(re.compile(r"03-services-and-actions.mdx\?at="))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.evaluate(TARGETS) == []


def close(page: Page, how: str, opener: str, sheet: str) -> None:
    address = page.url
    page.get_by_role("button", name=opener).tap()
    expect(page.locator(sheet)).to_be_in_viewport()
    if how == "button":
        page.locator(sheet).get_by_role("button", name=re.compile("^Close")).tap()
    elif how == "Esc":
        page.keyboard.press("Escape")
    elif how == "outside":
        page.touchscreen.tap(200, 40)
    else:
        page.go_back()
    expect(page.locator(sheet)).not_to_be_in_viewport()
    assert page.url == address


def test_a_question_asked_while_an_answer_comes_waits_in_line(page: Page) -> None:
    held: list[Route] = []
    page.route("**/chat/stream", lambda route: held.append(route) if not held else route.continue_())
    box = page.get_by_label("Your question")
    box.fill(NODE)
    page.keyboard.press("Enter")
    box.fill(ACTION)
    page.keyboard.press("Enter")
    box.fill("And this one?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Waiting for the answer before it.")).to_have_count(2)
    page.get_by_role("button", name="Do not ask").last.click()
    held[0].continue_()
    expect(ended(page, NODE).locator(".answer")).to_contain_text("named participant")
    expect(ended(page, ACTION).locator(".answer")).to_contain_text("three services")
    expect(page.locator("book-answer")).to_have_count(2)


def test_too_many_questions_are_counted_down_and_asked_again(page: Page) -> None:
    refused: list[Route] = []

    def once(route: Route) -> None:
        if refused:
            return route.continue_()
        refused.append(route)
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": "No",
            "detail": "Too many.",
            "code": "rate_limit",
            "request_id": "1",
        }
        kind = "application/problem+json"
        return route.fulfill(status=429, content_type=kind, body=json.dumps(body), headers={"Retry-After": "1"})

    page.route("**/chat/stream", once)
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="asked again in")).to_be_visible()
    expect(ended(page, NODE).locator(".answer")).to_contain_text("named participant")
    expect(page.get_by_label("Your question")).to_have_value("")


def test_the_sources_belong_to_the_turn_being_read_and_a_marker_leaves_the_page_where_it_is(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("/", viewport={"width": 1280, "height": 600})
    page.locator(".contents").wait_for()
    first = ask(page, ACTION)
    second = ask(page, FORMULA)
    below = "(one) => one.getBoundingClientRect().top - document.querySelector('.top').offsetHeight"
    assert second.locator("h2").evaluate(below) > 20, "a question leaves its place while its answer comes"
    expect(page.locator(".source .title").first).to_have_text("Balance and walking in simulation")
    page.locator("body").evaluate("() => scrollTo(0, 0)")
    expect(page.locator(".source .title").first).to_have_text("Services and actions")
    before = page.evaluate("scrollY")
    first.locator(".marker").first.click()
    expect(page.locator(".source.open mark").first).to_be_in_viewport()
    assert page.evaluate("scrollY") == before
    page.get_by_role("button", name="Whole lesson").click()
    expect(page.locator("source-panel .lesson h3")).to_be_focused()
    expect(page.locator("source-panel .lesson mark").first).to_be_in_viewport()
    assert page.evaluate("scrollY") == before


def test_numbers_are_the_same_on_the_page_after_a_reload_and_in_what_is_copied(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    page.locator(".contents").wait_for()
    turn = ask(page, "What is a topic, and what is a node?")
    numbers = "(all) => all.map((one) => one.textContent)"
    shown = turn.locator(".marker").evaluate_all(numbers)
    sources = page.locator(".source .number").evaluate_all(numbers)
    assert list(dict.fromkeys(shown)) == [f"[{number}]" for number in sources]
    assert sources == [str(number) for number in range(1, len(sources) + 1)]
    turn.get_by_role("button", name="Copy the answer with its sources").click()
    expect(turn.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.findall(r"^\[(\d+)\] ", copied, re.MULTILINE) == sources
    page.reload()
    page.locator(".source").first.wait_for()
    assert page.locator(".marker").evaluate_all(numbers) == shown
    assert page.locator(".source .number").evaluate_all(numbers) == sources


def test_a_reader_far_zoomed_in_sees_the_text_and_print_leaves_out_the_controls(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON, viewport={"width": 320, "height": 256})
    heading = page.get_by_role("heading", level=1)
    heading.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.locator(".reading p").nth(2).scroll_into_view_if_needed()
    covered = "() => document.elementFromPoint(100, 20).closest('.reading, lesson-page') !== null"
    assert page.evaluate(covered), "something that stays covers the text"
    page.emulate_media(media="print", forced_colors="active")
    expect(page.locator(".top")).to_be_hidden()
    expect(page.locator(".lesson-bar")).to_be_hidden()
    expect(page.locator(".reading .prose")).to_be_visible()

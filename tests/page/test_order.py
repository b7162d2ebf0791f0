"""What the server sends may come late, and in another order than it was asked for. Nothing of it changes what a reader looks at
by then. Each test holds an answer back until the reader has gone on."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, Request, Route, expect

from tests.page.conftest import ForeignSite
from tests.support.hostile_book import BOOK_ID
from tests.support.page import ACTION, NODE, ask, ended
from tests.support.serving import BOOK, Service
from tests.support.serving import ask as ask_over_http

CHAPTER = "module-1-ros2/chapter-1-how-robots-talk"
LESSON = f"/#/books/{BOOK}/lessons/{CHAPTER}/02-topics-and-messages.md"
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
"""What came has been read and drawn."""
STOPPED_AT = f"() => JSON.parse(localStorage.getItem('bythebook.reading.{BOOK}'))"
CLOSED_AND_OPENED = """() => new Promise((gone) => {
    addEventListener("popstate", () => setTimeout(gone), { once: true });
    document.querySelector(".side-top .closer").click();
    document.querySelector(".lesson-bar button:nth-child(3)").click();
})"""
"""Until the browser has gone back, as it does for a sheet that is closed."""


class Held:
    """Requests to `pattern` wait until they are let go."""

    def __init__(self, page: Page, pattern: str | re.Pattern[str]) -> None:
        self._page, self._routes = page, list[Route]()
        page.route(pattern, lambda route: self._routes.append(route))

    def until(self, count: int) -> None:
        while len(self._routes) < count:
            self._page.evaluate(SETTLED)

    def stream(self) -> None:
        """The first of them, whose answer comes in parts: whoever lets it go waits for what it brings."""
        self.until(1)
        self._routes[0].continue_()

    def let_go(self, place: int = 0, act: Callable[[Route], None] = lambda route: route.continue_()) -> None:
        self.until(place + 1)
        route = self._routes[place]

        def is_it(request: Request) -> bool:
            return request == route.request

        with self._page.expect_event("requestfinished", is_it):
            act(route)
        self._page.evaluate(SETTLED)


def test_an_answer_that_comes_while_another_page_opens_leaves_its_address_alone(page: Page) -> None:
    answers, module = Held(page, "**/chat/stream"), Held(page, "**/page/lesson-page.js")
    page.get_by_label("Your question").fill(ACTION)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Read", exact=True).click()
    module.until(1)
    answers.stream()
    ended(page, ACTION)
    assert "/lessons/" in page.url
    module.let_go()
    expect(page.locator("lesson-page h1")).to_be_visible()
    assert "/lessons/" in page.url


def test_a_lesson_that_is_on_its_way_is_not_marked_as_read(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    page.get_by_role("heading", level=1, name="Topics and messages").wait_for()
    held = Held(page, "**/page/lessons/*")
    page.get_by_role("link", name=re.compile("^Next")).click()
    held.until(1)
    page.evaluate("() => (scrollTo(0, document.body.scrollHeight), dispatchEvent(new Event('scrollend')))")
    stopped = page.evaluate(STOPPED_AT)
    assert (stopped["file"], stopped["title"]) == (f"{CHAPTER}/02-topics-and-messages.md", "Topics and messages")
    held.let_go()
    expect(page.get_by_role("heading", level=1)).to_have_text("Services and actions")
    assert f"{CHAPTER}/02-topics-and-messages.md" in page.evaluate(STOPPED_AT)["finished"]


def test_a_lesson_in_the_panel_comes_only_while_it_is_wanted_and_stays_while_sentences_come(page: Page) -> None:
    turn = ask(page, ACTION)
    turn.locator(".marker").first.click()
    after = page.locator(".source.open").get_by_role("button", name="Show what comes after")
    passages = page.locator(".source.open .passage")
    expect(after).to_be_visible()
    count = passages.count()
    after.dblclick()
    expect(passages).to_have_count(count + 1)
    page.evaluate(SETTLED)
    expect(passages).to_have_count(count + 1)
    held, answers = Held(page, "**/page/lessons/*"), Held(page, "**/chat/stream")
    page.get_by_role("button", name="Whole lesson").click()
    held.until(1)
    page.keyboard.press("Escape")
    held.let_go(0)
    expect(page.locator("source-panel .lesson")).to_have_count(0)
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    turn.locator(".marker").first.click()
    page.get_by_role("button", name="Whole lesson").click()
    held.let_go(1)
    expect(page.locator("source-panel .lesson")).to_be_visible()
    answers.stream()
    expect(ended(page, NODE).locator(".answer")).to_be_visible()
    expect(page.locator("source-panel .lesson")).to_be_visible()


def test_the_book_that_was_chosen_last_is_the_one_that_is_open(open_page: Callable[..., Page]) -> None:
    page = open_page("/#/books")
    page.locator(".cover").first.wait_for()
    held = Held(page, f"**/books/{BOOK_ID}")
    page.locator(f".cover[href='#/books/{BOOK_ID}']").click()
    held.until(1)
    page.goto(f"/#/books/{BOOK}")
    page.locator(".contents").wait_for()
    held.let_go()
    expect(page.locator("#book-choice")).to_contain_text("Physical AI")
    assert page.evaluate("localStorage.getItem('bythebook.book')") == BOOK


def test_the_palette_keeps_what_was_chosen_when_the_threads_come(page: Page, service: Service) -> None:
    with service.client() as client:
        ask_over_http(client, NODE, book_id=BOOK, similarity_threshold=0)
    held = Held(page, "**/threads?limit=50")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("node")
    page.keyboard.press("ArrowDown")
    chosen = page.locator(".palette [aria-selected=true]")
    words = chosen.text_content() or ""
    held.let_go()
    page.get_by_role("option", name=f"Thread {NODE}").first.wait_for()
    expect(chosen).to_have_text(words)


def test_older_threads_come_once_however_fast_one_types(page: Page, service: Service) -> None:
    with service.client() as client:
        for _ in range(2):
            ask_over_http(client, NODE, book_id=BOOK, similarity_threshold=0)
    page.route("**/threads?limit=30*", lambda route: route.continue_(url=route.request.url.replace("limit=30", "limit=1")))
    page.goto("/#/threads")
    page.locator(".threads li").wait_for()
    box = page.get_by_label("Search your threads")
    box.press_sequentially("what")
    box.blur()
    page.get_by_role("button", name="Show older threads").wait_for(state="detached")
    addresses = page.locator(".threads a").evaluate_all("(all) => all.map((one) => one.href)")
    assert len(addresses) == len(set(addresses)) > 1


def test_a_change_of_the_book_is_not_told_to_who_has_left_it(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON)
    page.get_by_role("heading", level=1, name="Topics and messages").wait_for()
    held = Held(page, re.compile(r"/books$"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    held.until(1)
    page.get_by_role("link", name="Threads", exact=True).click()
    page.locator("thread-list h1").wait_for()

    def change(route: Route) -> None:
        answer = route.fetch()
        books = [{**one, "last_incremental_update": "2099-01-01T00:00:00Z"} for one in answer.json()["books"]]
        route.fulfill(response=answer, json={"books": books})

    held.let_go(0, change)
    expect(page.locator(".toast")).to_have_count(0)


def test_a_sheet_that_is_opened_while_another_closes_stays_open(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON, phone=True)
    page.get_by_role("heading", level=1, name="Topics and messages").wait_for()
    page.locator(".lesson-bar").get_by_role("button", name="Contents").tap()
    expect(page.locator(".beside.sheet-open")).to_be_visible()
    page.evaluate(CLOSED_AND_OPENED)
    expect(page.locator(".beside.sheet-open .notes")).to_be_visible()
    page.go_back()
    expect(page.locator(".beside.sheet-open")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics and messages")


def test_the_widget_is_built_once_and_a_new_thread_is_empty(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    foreign_site.text = "<main><p>A topic is a named channel.</p></main><nav>Next lesson</nav>"
    page = open_page("/lesson", base=foreign_site.url)
    foreign_site.text = ""
    module, answers = Held(page, "**/page/widget-panel.js"), Held(page, "**/chat/stream")
    page.get_by_role("button", name="Ask the book").click()
    module.until(1)
    page.get_by_text("A topic is a named channel").click(click_count=3)
    page.get_by_role("button", name="Ask about this").click()
    module.let_go()
    expect(page.locator(".about .selection")).to_contain_text("A topic is a named channel")
    expect(page.locator("bythebook-panel")).to_have_count(1)
    page.get_by_role("button", name="Do not ask about these words").click()
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    answers.until(1)
    page.get_by_role("button", name="New thread").click()
    page.evaluate(SETTLED)
    expect(page.get_by_label("Your question")).to_have_value("")
    expect(page.locator("book-answer")).to_have_count(0)


def test_the_book_that_was_open_is_asked_for_beside_the_list_of_books_and_both_once(open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank", fresh=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    books = Held(page, re.compile(r"/books$"))
    with page.expect_request(f"**/books/{BOOK}"):
        page.goto("/", wait_until="commit")
    books.let_go()
    expect(page.get_by_label("Your question")).to_be_focused()
    expect(page.locator(".contents a").first).to_be_attached()
    assert [one for one in asked if one in ("/books", f"/books/{BOOK}")] == ["/books", f"/books/{BOOK}"]

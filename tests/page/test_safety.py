"""What the page is made of, what it asks for, and what a hostile book can do to it: nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import PHONE, WIDE
from tests.support.hostile_book import ANSWER, BOOK_ID, LIVE, QUESTION
from tests.support.library import copy_data, fast_folder
from tests.support.page import ACTION, NODE, ask, violations
from tests.support.serving import BOOK, Service, running

LESSON = f"/#/books/{BOOK}/lessons/module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md"
FIRST_LOAD_BYTES = 80_000
SHIFTS = """
() => {
    const observer = new PerformanceObserver(() => {});
    observer.observe({ type: "layout-shift", buffered: true });
    return observer.takeRecords().map((entry) => [entry.value, entry.sources.map(({ node }) => node?.outerHTML.slice(0, 80))]);
}
"""
PRELOADED = "() => [...document.querySelectorAll('link[rel=modulepreload]')].map((link) => link.href.split('/').at(-1))"
LOADED = """
() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .map((entry) => [entry.name.split("/").at(-1), entry.encodedBodySize])
"""


def test_a_hostile_lesson_is_shown_as_text_and_no_inline_script_would_run(page: Page, service: Service) -> None:
    page.goto(f"/#/books/{BOOK_ID}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Levers & <b>brakes</b>")
    turn = ask(page, QUESTION)
    expect(turn.locator(".answer")).to_contain_text(ANSWER)
    turn.locator(".marker").first.click()
    passage = page.locator(".source.open .passage")
    expect(passage).to_contain_text("<script>window.owned = 3</script>")
    assert passage.locator(LIVE).count() == 0
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save this thread as Markdown").click()
    assert "<script>" not in Path(saved.value.path()).read_text("utf-8")
    page.get_by_role("button", name="Whole lesson").click()
    lesson = page.locator(".lesson .passage")
    expect(lesson).to_contain_text("<script>window.owned = 3</script>")
    expect(lesson).to_contain_text('<img src="x" onerror="window.owned = 4">')
    expect(lesson).to_contain_text("<script>window.owned = 11</script>")
    assert lesson.locator(LIVE).count() == 0
    with service.client() as client:
        policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=/nothing onerror=\"window.owned = 13\">')")
    expect(page.locator("body > img")).to_have_js_property("complete", True)
    assert page.evaluate("window.owned") is None


@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_the_first_load_is_small_and_packed_and_nothing_moves_in_it(
    open_page: Callable[..., Page], service: Service, viewport: dict[str, int]
) -> None:
    page = open_page("/", fresh=True, viewport=viewport)
    page.locator(".worth li").first.wait_for()
    assert page.evaluate(SHIFTS) == []
    loaded = dict(page.evaluate(LOADED))
    assert {"page.css", "app.js", "conversation.js"} <= loaded.keys()
    assert "author.js" not in loaded
    modules = {name for name in loaded if name.endswith(".js")} - {"app.js"}
    assert modules == set(page.evaluate(PRELOADED)), "each is named by the page itself: none waits for another"
    print(f"\nfirst load: {len(loaded)} requests, {sum(loaded.values()) / 1000:.1f} kB as sent")
    assert 0 < sum(loaded.values()) <= FIRST_LOAD_BYTES
    with service.client() as client:
        script = client.get("/page/app.js")
        assert script.headers["content-encoding"] == "gzip"
        assert client.get("/page/app.js", headers={"If-None-Match": script.headers["etag"]}).status_code == 304


def test_nothing_moves_while_a_lesson_comes_on_a_phone(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON, fresh=True, phone=True)
    page.locator(".worth li").first.wait_for()
    assert page.evaluate(SHIFTS) == []


def test_nothing_moves_while_sentences_come(page: Page) -> None:
    """Not even within half a second of a key, which browsers would forgive."""
    ask(page, NODE)
    page.evaluate(
        """() => {
            window.shifts = [];
            const note = (list) => window.shifts.push(...list.getEntries().map((entry) => [entry.startTime, entry.value]));
            new PerformanceObserver(note).observe({ type: "layout-shift" });
            document.addEventListener("sentence", () => (window.began ??= performance.now()));
        }"""
    )
    ask(page, "What are common mistakes with topics?")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.began") is not None
    assert page.evaluate("window.shifts.filter(([time]) => time >= window.began)") == []


@pytest.fixture(scope="module")
def locked(library: Path) -> Iterator[Service]:
    """As if it could be reached from elsewhere: keys are needed."""
    folder = fast_folder()
    with running(copy_data(library, folder / "data"), loopback=False) as there:
        yield there
    shutil.rmtree(folder)


def test_a_key_is_asked_for_once(open_page: Callable[..., Page], locked: Service) -> None:
    page = open_page("/", base=locked.url)
    page.get_by_label("Key", exact=True).fill("btb_wrong")
    assert violations(page) == []
    page.get_by_role("button", name="Open the book").click()
    expect(page.get_by_text("That key is not valid here.")).to_be_visible()
    page.get_by_label("Key", exact=True).fill(locked.key("chat"))
    page.get_by_role("button", name="Open the book").click()
    page.locator(".contents").wait_for()
    page.reload()
    expect(ask(page, ACTION).locator(".answer")).to_contain_text("three services")
    page.goto(f"{locked.url}/#/author")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

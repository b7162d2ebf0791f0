"""What the page is made of, what it asks for, and what a hostile book can do to it: nothing."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.library import fast_folder
from tests.page.asking import ACTION, NODE, ask
from tests.page.hostile_book import ANSWER, BOOK_ID, QUESTION
from tests.web.serving import Service, running

FIRST_LOAD_BYTES = 80_000


def test_a_hostile_lesson_is_shown_as_text(page: Page) -> None:
    page.get_by_label("Book", exact=True).select_option(BOOK_ID)
    expect(page.get_by_role("heading", level=1)).to_have_text("Levers & <b>brakes</b>")
    turn = ask(page, QUESTION)
    expect(turn.locator(".answer")).to_contain_text(ANSWER)
    turn.locator(".marker").first.click()
    page.get_by_role("button", name="Whole lesson").click()
    lesson = page.locator(".lesson .passage")
    expect(lesson).to_contain_text("<script>window.owned = 3</script>")
    expect(lesson).to_contain_text('<img src="x" onerror="window.owned = 4">')
    expect(lesson).to_contain_text("<script>window.owned = 11</script>")
    assert page.evaluate("window.owned") is None
    hostile = "script, img, svg:not(.copy svg), iframe, [onclick], [onerror], [style], a[href^=javascript]"
    assert lesson.locator(hostile).count() == 0


def test_the_first_load_is_small_and_packed(service: Service) -> None:
    with service.client() as client:
        index = client.get("/")
        names = ["page.css", "reading.css", "icon.svg", "app.js", "api.js", "dom.js"]
        names += ["profile.js", "conversation.js", "contents.js", "answer.js", "refusal.js", "sources.js"]
        bodies = [index.content, *(client.get(f"/page/{name}").content for name in names)]
        assert index.headers["content-encoding"] == "gzip"
        again = client.get("/page/app.js", headers={"If-None-Match": client.get("/page/app.js").headers["etag"]})
        assert again.status_code == 304
    assert sum(len(gzip.compress(body)) for body in bodies) <= FIRST_LOAD_BYTES


def test_the_first_load_asks_for_no_more_than_that(open_page: Callable[..., Page]) -> None:
    sizes: dict[str, int] = {}
    page = open_page("about:blank")
    page.on("requestfinished", lambda request: sizes.__setitem__(request.url, request.sizes()["responseBodySize"]))
    page.goto("/")
    page.locator(".contents").wait_for()
    page.wait_for_load_state("networkidle")
    loaded = {url.rpartition("/")[2]: size for url, size in sizes.items()}
    assert {"page.css", "app.js", "conversation.js"} <= loaded.keys()
    assert "author.js" not in loaded
    assert sum(loaded.values()) <= FIRST_LOAD_BYTES


def test_no_inline_script_or_style_would_run(page: Page, service: Service) -> None:
    with service.client() as client:
        policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=/nothing onerror=\"window.owned = 1\">')")
    page.wait_for_function("document.querySelector('body > img').complete")
    assert page.evaluate("window.owned") is None


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
    with running(Path(shutil.copytree(library, folder / "data")), loopback=False) as there:
        yield there
    shutil.rmtree(folder)


def test_a_key_is_asked_for_once(open_page: Callable[..., Page], locked: Service) -> None:
    page = open_page("/", base=locked.url)
    page.get_by_label("Key", exact=True).fill("btb_wrong")
    page.get_by_role("button", name="Open the book").click()
    expect(page.get_by_text("That key is not valid here.")).to_be_visible()
    page.get_by_label("Key", exact=True).fill(locked.key("chat"))
    page.get_by_role("button", name="Open the book").click()
    page.locator(".contents").wait_for()
    page.reload()
    expect(ask(page, ACTION).locator(".answer")).to_contain_text("three services")
    page.goto(f"{locked.url}/#/author")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

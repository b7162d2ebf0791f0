"""Some hundred ways in which text has come alive in a browser, on everything that shows what a book, a reader or a model wrote:
in a real browser, and without the page's content security policy, so that nothing but the rendering stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, Page

from bythebook.answering.answer import Sentence
from bythebook.answering.markdown import to_markdown as answer_to_markdown
from bythebook.evaluation.html.page import page as scorecard
from bythebook.evaluation.report import Report
from bythebook.threads.export import to_markdown
from bythebook.threads.model import StoredTurn
from bythebook.web.render.html import render_passage, render_sentence
from tests.evaluation.test_figures import MARKS
from tests.page.test_scorecard import FOUND, report
from tests.support.made_turns import NOON, answer, citation
from tests.support.xss_vectors import vectors
from tests.threads.test_export import THREAD

VECTORS = vectors()
AWAKE = """
async () => {
    for (const element of document.querySelectorAll("a, button, [tabindex], summary")) {
        element.removeAttribute("target");
        element.addEventListener("click", (event) => element.protocol?.startsWith("http") && event.preventDefault());
        for (const kind of ["focus", "mouseover"]) element.dispatchEvent(new Event(kind, { bubbles: true }));
        element.click();
    }
    await new Promise((done) => setTimeout(done, 100));
    return window.owned ?? null;
}
"""
ALIVE = "script, iframe, object, embed, base, meta[http-equiv], link, form, svg script, [onerror], [onload], [onfocus], [onclick]"


@pytest.fixture(scope="module")
def bare(browser: Browser) -> Iterator[Page]:
    """A page without any policy, which no request leaves."""
    context = browser.new_context(bypass_csp=True)
    context.route("**/*", lambda route: route.abort())
    page = context.new_page()
    yield page
    context.close()


def shown(page: Page, html: str) -> str | None:
    """What came alive of it: the first that set `window.owned`, or an element that could."""
    page.evaluate("() => { delete window.owned; }")
    page.set_content(f"<!doctype html><meta charset=utf-8><body>{html}</body>")
    found: object = page.evaluate(AWAKE)
    alive = page.locator(f"body :is({ALIVE})")
    return f"owned by {found}" if found else alive.first.evaluate("one => one.outerHTML") if alive.count() else None


def search(page: Page, parts: list[str]) -> list[str]:
    """Those of the parts that come alive: all at once, and where something does, halves of them."""
    if shown(page, "".join(f"<div>{part}</div>" for part in parts)) is None:
        return []
    if len(parts) == 1:
        return parts
    half = len(parts) // 2
    return search(page, parts[:half]) + search(page, parts[half:])


def test_there_are_some_hundred() -> None:
    assert len(set(VECTORS)) > 400


def test_the_traps_work(bare: Page) -> None:
    """What is shown as it is written does come alive."""
    assert shown(bare, "<img src=x onerror='window.owned=1'>") == "owned by 1"
    assert shown(bare, "<a href='javascript:window.owned=1'>x</a>") == "owned by 1"
    assert len(search(bare, ["<p>harmless</p>", "<svg onload=window.owned=1>", "<p>harmless</p>"])) == 1


def test_a_lesson_and_a_sentence(bare: Page) -> None:
    assert search(bare, [render_passage(one) for one in VECTORS]) == []
    assert search(bare, [render_sentence(Sentence(text=one, kind="prose", citations=())) for one in VECTORS]) == []


def test_a_thread_as_markdown_in_a_renderer_that_lets_html_through(bare: Page) -> None:
    lenient = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    exported, answered = [], []
    for one in VECTORS:
        cited = (replace(citation(title=one, section=one), quote=one),)
        said = answer(one[:900], citations=cited, sentences=(Sentence(text=one, kind="sentence", citations=cited),), answer=one)
        turn = StoredTurn(thread_id=THREAD.thread_id, number=1, answer=said, trace=None, created_at=NOON)
        exported.append(lenient.render(to_markdown(replace(THREAD, title=one), [turn])))
        answered.append(lenient.render(answer_to_markdown(said)))
    assert search(bare, exported) == []
    assert search(bare, answered) == []


def test_a_scorecard(bare: Page) -> None:
    """All as questions, and some as what stands in its head."""
    found = [replace(FOUND, source_file=one, page_title=one, heading_path=(one,), source_url=one) for one in VECTORS]
    marks = [
        replace(MARKS[0], id=one, question=one, searched=one, detail=one, text=one, failure=one, chapter=one, retrieved=(place,))
        for one, place in zip(VECTORS, found, strict=True)
    ]
    for whole in (report([*marks, *MARKS]), *(_headed(one) for one in VECTORS[::100])):
        bare.evaluate("() => { delete window.owned; }")
        bare.set_content(scorecard(whole))
        assert bare.evaluate(AWAKE) is None


def _headed(one: str) -> Report:
    return replace(report(MARKS), title=one, model=one, embedder=one, questions_file=one)

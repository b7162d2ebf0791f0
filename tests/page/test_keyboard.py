"""Each view by keyboard alone: everything that can be used is reached, what has the focus is seen, and no key loses it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.page.conftest import PHONE
from tests.support.page import ACTION, FOREIGN, NODE, ask, ended
from tests.support.serving import BOOK

CHAPTER = "module-1-ros2/chapter-1-how-robots-talk"
LESSON = f"/#/books/{BOOK}/lessons/{CHAPTER}/02-topics-and-messages.md"
QUIZ = f"/#/books/{BOOK}/quiz?lesson={CHAPTER}/02-topics-and-messages.md"
MOST_STOPS = 150
SETTLED_MS = 3000
FOCUSED = """() => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const box = one.getBoundingClientRect(), style = getComputedStyle(one), around = one.closest(".box") ?? one;
    const [x, y] = [box.left + box.width / 2, box.top + Math.min(box.height / 2, 10)];
    const there = document.elementFromPoint(x, y);
    const ringed = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const framed = around !== one && getComputedStyle(around).borderTopColor !== getComputedStyle(one.form).borderTopColor;
    return {
        name: `${one.tagName} ${(one.getAttribute("aria-label") ?? one.textContent).trim().slice(0, 60)}`,
        seen: (ringed || framed) && box.width > 0 && box.bottom > 0 && box.top < innerHeight,
        covered: !there || !(one.contains(there) || there.contains(one)),
    };
}"""
SETTLED = f"() => {{ const one = ({FOCUSED})(); return !one || (one.seen && !one.covered); }}"
SELECT = """() => {
    const words = document.createRange();
    words.selectNodeContents(document.querySelectorAll(".reading .passage p")[1]);
    getSelection().removeAllRanges();
    getSelection().addRange(words);
}"""


def stops(page: Page) -> list[str]:
    """What Tab leads to, until it leaves the page. Each must be seen."""
    names: list[str] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        with suppress(TimeoutError):  # the page may still be moving there
            page.wait_for_function(SETTLED, timeout=SETTLED_MS)
        focused = page.evaluate(FOCUSED)
        if focused is None:
            return names
        assert focused["seen"], f"{focused['name']} has the focus and does not show it, after {names[-3:]}"
        assert not focused["covered"], f"{focused['name']} is covered, after {names[-3:]}"
        names.append(focused["name"])
    raise AssertionError(f"Tab does not leave the page: {names[-5:]}")


@pytest.mark.parametrize(
    ("address", "ready", "reached"),
    [
        ("/", ".contents", "INPUT Search in this book"),
        (LESSON, ".reading h1", "A Quiz me on this lesson"),
        ("/#/threads", "thread-list h1", "INPUT Search your threads"),
        ("/#/author", ".curve", "BUTTON Read everything again"),
        ("/#/books", "h1", "TEXTAREA Your question"),
    ],
)
@pytest.mark.parametrize("phone", [False, True])
def test_tab_leads_through_the_view_and_shows_where_it_is(
    open_page: Callable[..., Page], address: str, ready: str, reached: str, phone: bool
) -> None:
    page = open_page(address, viewport=PHONE if phone else None)
    page.locator(ready).first.wait_for()
    page.evaluate("document.querySelector('.skip').focus()")
    names = stops(page)
    assert any(name.startswith(reached) for name in names), names


@pytest.mark.parametrize("question", [ACTION, FOREIGN])
def test_tab_leads_through_an_answer_and_a_refusal(page: Page, question: str) -> None:
    ask(page, question)
    page.evaluate("document.querySelector('.skip').focus()")
    assert any(name.startswith("BUTTON Share this answer") for name in stops(page))


def test_in_a_lesson_a_slash_leads_to_the_question_and_selected_words_to_what_may_be_done_with_them(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(LESSON)
    title = page.get_by_role("heading", level=1)
    expect(title).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.evaluate("document.querySelector('.reading h1').focus()")
    page.evaluate(SELECT)
    page.keyboard.press("Shift+ArrowRight")
    explain = page.get_by_role("button", name="Explain this")
    expect(explain).to_be_visible()
    page.keyboard.press("Tab")
    expect(explain).to_be_focused()
    page.keyboard.press("Escape")
    expect(title).to_be_focused()
    expect(explain).to_be_hidden()
    page.evaluate(SELECT)
    page.keyboard.press("Shift+ArrowRight")
    expect(explain).to_be_visible()
    page.keyboard.press("Tab")
    expect(explain).to_be_focused()
    page.keyboard.press("Enter")
    ended(page, "Explain this.")
    expect(page.get_by_label("Your question")).to_be_focused()


def test_what_is_done_with_an_answer_keeps_the_focus(page: Page) -> None:
    turn = ask(page, NODE)
    turn.get_by_role("button", name="Share this answer").press("Enter")
    expect(turn.get_by_role("button", name="Copy a new link")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(turn.get_by_role("button", name="Share this answer")).to_be_focused()
    expect(page.locator(".toast")).to_have_text(["The link no longer works."])
    wrong = turn.get_by_role("button", name="This was wrong")
    wrong.press("Enter")
    expect(turn.get_by_label("What is wrong with it?")).to_be_focused()
    page.keyboard.press("Escape")
    expect(wrong).to_be_focused()
    expect(turn.get_by_label("What is wrong with it?")).to_have_count(0)


def test_a_thread_is_deleted_and_taken_back_by_keyboard(page: Page) -> None:
    ask(page, NODE)
    page.goto("/#/threads")
    first = page.locator(".threads li").first
    first.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(first.locator("a")).to_be_focused()


def test_a_sheet_has_the_focus_until_it_is_closed(open_page: Callable[..., Page]) -> None:
    page = open_page(LESSON, viewport=PHONE)
    expect(page.locator("article h1")).to_be_focused()  # the lesson is there, and takes the focus from no button any more
    opener = page.locator(".lesson-bar").get_by_role("button", name="Contents")
    opener.press("Enter")
    expect(page.locator(".beside")).to_be_focused()
    names = stops(page)
    assert any(name.startswith("INPUT Search in this book") for name in names), names
    assert not any("Quiz me" in name or "Threads" in name for name in names), "what the sheet covers is reached"
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    page.get_by_role("link", name="Threads").focus()
    expect(page.get_by_role("link", name="Threads")).to_be_focused()

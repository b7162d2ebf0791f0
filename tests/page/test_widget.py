"""The widget on the book's own site, which is another origin with styles of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.conftest import ForeignSite
from tests.support.hostile_book import BOOK_ID, LIVE, QUESTION
from tests.support.page import ACTION, FOREIGN, FORMULA, REFUSED, violations
from tests.support.serving import BOOK, Service

CANONICAL = "document.head.innerHTML += '<link rel=canonical href=https://physical-ai.example/balance>'"
"""The address that the site gives the page, whatever it is served under."""


SITE_TEXT = (
    "<link rel='canonical' href='https://physical-ai.example/docs/module-1-ros2/chapter-1-how-robots-talk/topics-and-messages/'>"
    "<nav>Home</nav><main><p>A topic is a named channel that carries messages of one type from any number of <em>publishers</em> "
    f"to any number of subscribers.</p><p>Sponsored by a cheese.</p><p id='long'>{'All of it. ' * 9100}</p></main>"
)
"""A lesson as its site shows it, and what sites add."""


PRESSED_AT_ONCE = """(panel) => panel.getRootNode().addEventListener(
    "sentence", ({ target }) => target.querySelector(".marker").click(), { once: true })"""
"""The mark is pressed while the answer still comes."""


def test_the_widget_answers_on_a_foreign_page(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    page = open_page("/lesson?x=1#here", base=foreign_site.url)
    page.get_by_role("button", name="Ask the book").wait_for()
    assert widget_violations(page) == []
    page.get_by_role("button", name="Ask the book").click()
    box = page.get_by_label("Your question")
    expect(box).to_be_focused()
    box.fill(ACTION)
    page.locator(".panel").evaluate(PRESSED_AT_ONCE)
    with page.expect_request("**/chat/stream") as sent:
        page.keyboard.press("Enter")
    asked = sent.value.post_data_json or {}
    assert asked["page_url"] == f"{foreign_site.url}/lesson"
    assert asked["book_id"] == BOOK
    answer = page.locator("book-answer").first
    expect(answer.locator(".answer")).to_contain_text("three services and two topics")
    source = answer.locator(".sources .source.open")
    expect(source.locator("mark").first).to_contain_text("An action is built from")
    expect(source.get_by_role("link", name="Go to the place")).to_be_visible()
    assert widget_violations(page) == []
    assert page.locator(".panel .marker").first.evaluate("(element) => getComputedStyle(element).fontSize") != "77px"
    dark = page.locator(".panel").evaluate("(element) => getComputedStyle(element).backgroundColor")
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert page.locator(".panel").evaluate("(element) => getComputedStyle(element).backgroundColor") != dark
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_be_hidden()
    expect(page.get_by_role("button", name="Ask the book")).to_be_focused()


def test_only_this_page_and_then_the_whole_book(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" data-label="Tutor"></script>'
    page = open_page("/lesson", base=foreign_site.url)
    page.get_by_role("button", name="Tutor").click()
    page.get_by_label("Only this page").check()
    page.evaluate("history.pushState(null, '', '/balance/?x')")  # as sites do that load no page anew
    page.evaluate(CANONICAL)
    page.get_by_label("Your question").fill(ACTION)
    with page.expect_request("**/chat/stream") as sent:
        page.keyboard.press("Enter")
    asked = sent.value.post_data_json or {}
    assert asked["page_url"] == f"{foreign_site.url}/balance/"
    assert asked["filters"] == {"prefix": "https://physical-ai.example/balance"}
    page.get_by_role("button", name="Ask the whole book").click()
    expect(page.locator("book-answer").last.locator(".answer")).to_contain_text("three services and two topics")
    page.get_by_label("Your question").fill(FOREIGN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=REFUSED)).to_be_visible()


def test_panel_and_thread_stay_from_page_to_page_and_every_marker_opens_its_passage(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js?book={BOOK}&label=Tutor&dock" defer></script>'
    page = open_page("/lesson", base=foreign_site.url)
    page.get_by_role("button", name="Tutor").click()
    page.get_by_label("Your question").fill(FORMULA)
    page.keyboard.press("Enter")
    answer = page.locator("book-answer:not([aria-busy])")
    answer.locator(".source-head").wait_for()
    for marker in (answer.locator(".marker").first, answer.locator(".marker").nth(1)):
        marker.click()
        expect(answer.locator(".source.open .passage")).to_be_visible()
    answer.locator(".confidence").hover()
    expect(answer.get_by_role("tooltip")).to_be_in_viewport()
    place = answer.get_by_role("link", name="Go to the place")
    expect(place).to_have_attribute("href", re.compile(r"^https://physical-ai\.example/.*:~:text=The%20zero"))
    page.goto("/next-lesson")
    expect(page.locator(".panel")).to_be_visible()
    expect(page.locator("book-answer .answer")).to_contain_text("zero moment point")
    page.locator(".marker").first.click()
    expect(page.locator(".source.open mark").first).to_be_visible()
    page.get_by_role("button", name="New thread").click()
    expect(page.locator("book-answer")).to_have_count(0)
    room = "() => getComputedStyle(document.documentElement).paddingRight"
    assert page.evaluate(room) == "430px"  # the site stands beside the panel
    page.get_by_role("button", name="Close").click()
    assert page.evaluate(room) == "0px"
    page.reload()
    expect(page.get_by_role("button", name="Tutor")).to_be_visible()
    expect(page.locator(".panel")).to_have_count(0)


def test_words_selected_on_the_site_are_asked_about(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    foreign_site.text = SITE_TEXT
    page = open_page("/lesson", base=foreign_site.url)
    foreign_site.text = ""
    page.get_by_role("button", name="Ask the book").wait_for()
    offer = page.get_by_role("button", name="Ask about this")
    page.get_by_text("Home", exact=True).click(click_count=3)
    expect(offer).to_be_hidden()  # a menu is not the book
    page.get_by_text("A topic is a named channel").click(click_count=3)
    offer.click()
    expect(page.locator(".about .selection")).to_contain_text("A topic is a named channel")
    assert widget_violations(page) == []
    page.get_by_role("button", name="Explain this").click()
    turn = page.locator("book-answer").last
    expect(turn.locator(".source-head").first).to_contain_text("Topics and messages")
    expect(turn.locator(".selection")).to_contain_text("A topic is a named channel")
    page.get_by_text("Sponsored by a cheese").click(click_count=3)
    offer.click()
    page.get_by_label("Your question").fill("What is that?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The selected words do not stand in the lesson")
    page.locator("#long").evaluate("(one) => getSelection().selectAllChildren(one)")
    page.keyboard.press("Shift")
    offer.click()
    expect(page.locator(".about")).to_contain_text(re.compile(r"Select at most 2,000 characters; these are \d+,\d+\."))


def test_words_selected_on_the_site_are_asked_about_by_keyboard(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    foreign_site.text = SITE_TEXT
    page = open_page("/lesson", base=foreign_site.url)
    foreign_site.text = ""
    page.get_by_role("button", name="Ask the book").wait_for()
    offer = page.get_by_role("button", name="Ask about this")
    page.get_by_text("A topic is a named channel").evaluate("(one) => getSelection().selectAllChildren(one)")
    page.keyboard.press("Shift")
    expect(offer).to_be_visible()
    page.keyboard.press("Tab")
    expect(offer).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".about .selection")).to_contain_text("A topic is a named channel")
    expect(page.get_by_label("Your question")).to_be_focused()


def test_a_tutor_that_is_away_is_said(service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    page = open_page("/lesson", base=foreign_site.url)
    opener = page.get_by_role("button", name="Ask the book")
    opener.wait_for()
    page.context.set_offline(True)
    opener.click()
    expect(page.get_by_role("alert")).to_contain_text("The tutor does not answer just now.")
    page.context.set_offline(False)
    opener.click()
    expect(page.get_by_label("Your question")).to_be_focused()


def test_a_hostile_lesson_is_text_in_the_widget_too(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK_ID}" defer></script>'
    page = open_page("/lesson", base=foreign_site.url)
    page.get_by_role("button", name="Ask the book").click()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    answer = page.locator("book-answer")
    answer.locator(".source-head").first.click()
    expect(answer.locator(".source.open .passage")).to_contain_text("<script>window.owned = 3</script>")
    assert answer.locator(LIVE).count() == 0
    assert page.evaluate("window.owned") is None


def widget_violations(page: Page) -> list[Any]:
    """Where the site does not say light or dark, the widget is as the system has it."""
    page.evaluate("document.documentElement.removeAttribute('data-theme')")
    found = violations(page, within="bythebook-widget")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    return found

"""The widget on the book's own site, which is another origin with styles of its own."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.page.asking import ACTION, FOREIGN
from tests.page.conftest import ForeignSite
from tests.web.serving import BOOK, Service


def test_the_widget_answers_on_a_foreign_page(
    service: Service, foreign_site: ForeignSite, open_page: Callable[..., Page]
) -> None:
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    page = open_page("/lesson?x=1#here", base=foreign_site.url)
    page.get_by_role("button", name="Ask the book").click()
    box = page.get_by_label("Your question")
    expect(box).to_be_focused()
    box.fill(ACTION)
    with page.expect_request("**/chat/stream") as sent:
        page.keyboard.press("Enter")
    asked = sent.value.post_data_json or {}
    assert asked["page_url"] == f"{foreign_site.url}/lesson"
    assert asked["book_id"] == BOOK
    answer = page.locator("book-answer").first
    expect(answer.locator(".answer")).to_contain_text("three services and two topics")
    answer.locator(".marker").first.click()
    source = answer.locator(".sources details[open]")
    expect(source).to_contain_text("An action is built from")
    expect(source.get_by_role("link", name="Go to the place")).to_be_visible()
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
    page.get_by_label("Your question").fill(ACTION)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Ask the whole book").click()
    expect(page.locator("book-answer").last.locator(".answer")).to_contain_text("three services and two topics")
    page.get_by_label("Your question").fill(FOREIGN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="This is not what the book is about")).to_be_visible()

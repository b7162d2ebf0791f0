"""The page speaks the book's language, where it knows that."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from bythebook.texts import page_words
from tests.support.page import FOREIGN
from tests.support.serving import BOOK


def speak(page: Page, language: str) -> None:
    """As if the sample book were in this language: all else is what the server sends."""

    def change(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "language": language})

    page.route(f"**/books/{BOOK}", change)
    page.reload()
    page.locator(".contents").wait_for()


@pytest.mark.parametrize(("language", "direction"), [("de-AT", "ltr"), ("ur", "rtl")])
def test_the_pages_words_are_in_the_books_language_and_the_books_are_the_books(page: Page, language: str, direction: str) -> None:
    speak(page, language)
    words = page_words(language[:2])
    root = page.locator("html")
    expect(root).to_have_attribute("lang", language[:2])
    expect(root).to_have_attribute("dir", direction)
    expect(page.locator("nav [data-view=threads]")).to_have_text(words["Threads"])
    expect(page.locator("textarea")).to_have_attribute("placeholder", words["Ask the book …"])
    expect(page.locator("h1")).to_have_text("Physical AI & Humanoid Robotics")
    page.locator("textarea").fill(FOREIGN)
    page.locator("textarea").press("Enter")
    expect(page.get_by_role("heading", name=words["This is not what the book is about"])).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_language_that_the_page_does_not_know_is_told_in_english(page: Page) -> None:
    speak(page, "tlh")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("nav [data-view=threads]")).to_have_text("Threads")

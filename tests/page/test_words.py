"""The page speaks the book's language, where it knows that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from bythebook.texts import page_words
from tests.page.conftest import ForeignSite
from tests.support.page import FOREIGN
from tests.support.serving import BOOK


def speak(page: Page, language: str) -> None:
    """As if the sample book were in this language: all else is what the server sends."""

    def change(route: Route) -> None:
        response = route.fetch()
        sent = response.json()
        for book in sent.get("books", [sent]):
            book["language"] = language
        route.fulfill(response=response, json=sent)

    page.route(f"**/books/{BOOK}", change)
    page.route("**/books", change)
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
    page.goto("/#/threads")
    expect(page.get_by_role("heading", level=1)).to_have_text(words["Threads"])
    expect(page.locator(".threads .where").first).to_contain_text(words["{} question"].replace("{}", "1"))
    page.goto(f"/#/books/{BOOK}/quiz?lesson=module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md")
    expect(page.get_by_role("button", name=words["Show the answer"])).to_be_visible()
    expect(page.get_by_role("button", name=words["Save for Anki"])).to_be_visible()


@pytest.mark.parametrize(("language", "width"), [("fr", 390), ("de", 360)])
def test_the_buttons_at_the_top_are_there_whatever_the_length_of_the_words(page: Page, language: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    speak(page, language)
    for button in page.locator(".top nav button").all():
        box = button.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        seen = page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('button')?.id", [box["x"] + 8, box["y"] + 12])
        assert seen == button.get_attribute("id")


def test_the_widget_speaks_the_books_language_on_a_site_that_says_another(
    open_page: Callable[..., Page], foreign_site: ForeignSite
) -> None:
    foreign_site.tag = f'<script src="{foreign_site.tutor}/page/widget.js" data-book="{BOOK}" defer></script>'
    page, words = open_page("/", base=foreign_site.url), page_words("de")
    asked = []

    def change(route: Route) -> None:
        response = route.fetch()
        sent = response.json()
        asked.append([book.update(language="de-AT") for book in sent["books"]])
        route.fulfill(response=response, json=sent)

    page.route("**/books", change)
    page.get_by_role("button", name="Ask the book").click()  # until then, nothing is loaded
    panel = page.get_by_role("dialog", name=words["Ask the book"])
    expect(panel).to_contain_text(words["Only this page"])
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=words["Ask the book"])).to_be_focused()
    page.reload()
    page.get_by_role("button", name=words["Ask the book"]).click()
    expect(panel).to_be_visible()
    assert len(asked) == 1


def test_the_widget_speaks_the_language_of_its_tag(open_page: Callable[..., Page], foreign_site: ForeignSite) -> None:
    foreign_site.tag = f'<script src="{foreign_site.tutor}/page/widget.js?language=ur-PK" data-book="{BOOK}" defer></script>'
    words = page_words("ur")
    page = open_page("/", base=foreign_site.url)
    page.get_by_role("button", name=words["Ask the book"]).click()
    panel = page.get_by_role("dialog", name=words["Ask the book"])
    expect(panel).to_contain_text(words["Only this page"])
    expect(panel).to_have_css("direction", "rtl")
    expect(page.locator("html")).to_have_attribute("lang", "en")  # the site is not ours
    assert page.evaluate("document.documentElement.dir") == ""


def test_a_language_that_the_page_does_not_know_is_told_in_english(page: Page) -> None:
    speak(page, "tlh")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("nav [data-view=threads]")).to_have_text("Threads")

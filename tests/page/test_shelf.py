"""Several books: the shelf that a reader meets first, a question to all of them, and the way to the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.conftest import PHONE
from tests.support.hostile_book import ANSWER, QUESTION
from tests.support.page import NODE, ask, ended, violations

SAMPLE, LEVERS = "Physical AI & Humanoid Robotics", "Levers & <b>brakes</b>"


def test_a_first_visit_shows_the_shelf_and_the_next_the_book_that_was_chosen(open_page: Callable[..., Page]) -> None:
    page = open_page("/", first_visit=True, viewport=PHONE)
    covers = page.locator(".shelf .cover")
    expect(covers).to_have_text([SAMPLE, LEVERS])
    expect(page.locator(".shelf li").first).to_contain_text("37 lessons")
    assert violations(page) == []
    page.locator(".shelf li").first.get_by_role("link", name="Start reading").click()
    page.get_by_role("link", name=re.compile("^Next")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("ROS 2, the nervous system")
    expect(page.locator(".contents [aria-current=page]")).to_have_text("ROS 2, the nervous system")
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text(SAMPLE)
    page.get_by_role("link", name="All books").click()
    expect(page.locator(".shelf li").first.get_by_role("link", name=re.compile("^Continue: "))).to_be_visible()


def test_a_question_to_all_books_is_answered_by_one_and_another_is_asked_with_one_press(open_page: Callable[..., Page]) -> None:
    page = open_page("/#/books")
    turn = ask(page, QUESTION)
    expect(turn.locator(".answer")).to_contain_text(ANSWER)
    expect(turn.locator(".status")).to_contain_text(f"from “{LEVERS}”")
    expect(turn.locator(".books-asked")).to_contain_text(f"No answer in “{SAMPLE}”.")
    turn.locator(".marker").first.click()
    expect(page.locator(".source.open mark").first).to_be_visible()
    page.route("**/threads/*?render=true", lambda route: route.fulfill(json=all_answering(route.fetch().json())))
    page.reload()
    expect(ended(page, QUESTION).locator(".status")).to_contain_text(f"from “{LEVERS}”")
    page.get_by_role("button", name=f"Ask “{SAMPLE}”").click()
    expect(ended(page, QUESTION)).to_have_class(re.compile("refused"))
    expect(page.get_by_role("link", name="All books")).to_contain_text(SAMPLE)
    page.get_by_role("link", name="Threads").click()
    rows = page.locator(".threads li:visible")
    rows.first.wait_for()
    page.get_by_label("Search your threads").fill(LEVERS.upper())
    expect(rows.first).to_contain_text(QUESTION)
    assert all(LEVERS in text for text in rows.all_inner_texts())


def all_answering(thread: dict[str, Any]) -> dict[str, Any]:
    """As if each book answered: the two books of the tests share no subject."""
    for book in thread["turns"][0]["answer"]["books"]:
        book["answers"] = True
    return thread


def test_a_question_to_all_books_that_fails_comes_back(open_page: Callable[..., Page]) -> None:
    page = open_page("/#/books")
    page.locator(".cover").first.wait_for()
    page.context.set_offline(True)
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    expect(page.locator("book-shelf .failure")).to_contain_text("You are offline.")
    expect(page.get_by_label("Your question")).to_have_value(NODE)

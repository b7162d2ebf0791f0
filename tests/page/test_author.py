"""The author's side: bring the book in and watch, see what needs a look, and what readers ask that the book does not say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.page.conftest import PHONE
from tests.support.hostile_book import BOOK_ID
from tests.support.page import FOREIGN, ask, violations
from tests.support.serving import BOOK


def test_a_job_is_watched_to_its_end_or_failure_and_warnings_stand_with_their_lesson(
    open_page: Callable[..., Page], hostile_book: Path
) -> None:
    page = open_page(f"/#/author/{BOOK_ID}")
    page.locator(".warnings summary").first.click()
    expect(page.locator(".warnings details[open] li").first).to_contain_text("hardware_tier")
    lesson = hostile_book / "03-gears.md"
    lesson.write_text("# Gears\n\nThe wombat gear turns the drum once a minute.\n", "utf-8")
    page.get_by_role("button", name="Ingest changes").click()
    job = page.locator(".job").first
    expect(job).to_have_class(re.compile("completed"))
    expect(job).to_contain_text("1 lesson")
    settings = hostile_book / "book.toml"
    kept = settings.read_text("utf-8")
    settings.write_text("title = ", "utf-8")
    page.get_by_role("button", name="Ingest changes").click()
    expect(job).to_have_class(re.compile("failed"))
    expect(job).to_contain_text("book.toml")
    settings.write_text(kept, "utf-8")
    assert violations(page) == []
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.locator(".warnings li").first.evaluate("(one) => one.append('../folder'.repeat(20))")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], "a long path widens the page"
    page.goto(f"/#/books/{BOOK_ID}")
    turn = ask(page, "What does the wombat gear turn?")
    expect(turn.locator(".answer")).to_contain_text("drum once a minute")


def test_what_was_refused_is_listed_and_saved_and_the_curve_is_drawn_and_told(page: Page) -> None:
    ask(page, FOREIGN)
    page.goto(f"/#/author/{BOOK}")
    expect(page.get_by_role("img", name=re.compile("^Calibration curve: score .* is relevance 0.98"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"Fitted by \d+ questions the book answers"))).to_be_visible()
    expect(page.locator(".gap", has_text=FOREIGN)).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    assert FOREIGN in Path(saved.value.path()).read_text("utf-8")
    assert violations(page) == []

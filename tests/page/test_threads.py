"""Threads: find one again, read back in a long one, name it, save it, delete it, undo that."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from tests.support.long_thread import lengthen
from tests.support.page import ACTION, NODE, ask
from tests.support.serving import BOOK, Service
from tests.support.serving import ask as ask_over_http


def test_a_thread_is_found_named_saved_and_deleted(page: Page, service: Service) -> None:
    ask(page, ACTION)
    thread = page.evaluate("location.hash").rpartition("/")[2]
    page.get_by_role("link", name="Threads").click()
    row = page.locator(".threads li", has=page.locator(f'a[href="#/threads/{thread}"]'))
    expect(row).to_contain_text(ACTION)
    renaming: list[Route] = []
    page.route(f"**/threads/{thread}", lambda route: renaming.append(route))
    row.get_by_role("button", name=re.compile("^Rename")).click()
    page.get_by_label("Title of the thread").fill("Actions, briefly")
    page.keyboard.press("Enter")
    expect(row.locator("a")).to_have_text("Actions, briefly")
    with page.expect_download() as saved:
        row.get_by_role("button", name=re.compile("^Save")).click()
        renaming[0].continue_()
    page.unroute(f"**/threads/{thread}")
    text = Path(saved.value.path()).read_text("utf-8")
    assert "# Actions, briefly" in text
    assert "[1]" in text
    row.get_by_role("button", name=re.compile("^Delete")).click()
    expect(row).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name=re.compile("^Delete")).click()
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.get_by_role("link", name="Ask", exact=True).click()  # leaving does not wait for the undo
    with service.client() as client:
        assert client.get(f"/threads/{thread}").status_code == 404
    page.goto(f"/#/threads/{thread}")
    expect(page.get_by_role("heading", name="Not here")).to_be_visible()


def test_a_deep_link_opens_a_long_thread_at_its_end_and_reads_back_to_its_beginning(page: Page, service: Service) -> None:
    with service.client() as client:
        made = ask_over_http(client, NODE, book_id=BOOK, similarity_threshold=0)
    thread = made["session_id"]
    service.run(lengthen(service.state.threads, thread, turns=30))
    page.goto(f"/#/threads/{thread}")
    turns = page.locator("book-answer")
    expect(turns).to_have_count(25)
    expect(turns.last.locator(".answer")).to_contain_text("named participant")
    expect(turns.last.get_by_role("heading", name=f"{NODE} (30)")).to_be_in_viewport()
    older = page.get_by_role("button", name="Show earlier questions (5)")
    older.focus()
    page.keyboard.press("Enter")
    expect(turns).to_have_count(30)
    expect(page.get_by_role("heading", name=f"{NODE} (6)")).to_be_in_viewport()
    expect(page.get_by_text("The thread begins here.")).to_be_focused()
    expect(turns.first.get_by_role("heading", name=NODE, exact=True)).to_be_attached()

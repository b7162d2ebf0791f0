"""Threads: find one again, name it, save it, delete it, undo that."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.page.asking import ACTION, NODE, ask
from tests.web.serving import Service


def test_a_thread_is_found_named_saved_and_deleted(page: Page, service: Service) -> None:
    ask(page, ACTION)
    thread = page.url.rpartition("/")[2]
    page.get_by_role("link", name="Threads").click()
    row = page.locator(".threads li", has=page.locator(f'a[href="#/threads/{thread}"]'))
    expect(row).to_contain_text(ACTION)
    row.get_by_role("button", name=re.compile("^Rename")).click()
    page.get_by_label("Title of the thread").fill("Actions, briefly")
    page.keyboard.press("Enter")
    expect(row.locator("a")).to_have_text("Actions, briefly")
    with page.expect_download() as saved:
        row.get_by_role("button", name=re.compile("^Save")).click()
    text = Path(saved.value.path()).read_text("utf-8")
    assert "# Actions, briefly" in text
    assert "[1]" in text
    row.get_by_role("button", name=re.compile("^Delete")).click()
    expect(row).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name=re.compile("^Delete")).click()
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.get_by_role("link", name="Ask", exact=True).click()  # leaving does not wait for the undo
    page.locator(".contents").wait_for()
    with service.client() as client:
        assert client.get(f"/threads/{thread}").status_code == 404
    page.goto(f"/#/threads/{thread}")
    expect(page.get_by_role("heading", name="Not here")).to_be_visible()


def test_a_deep_link_opens_a_thread(page: Page, service: Service) -> None:
    with service.client() as client:
        made = client.post(
            "/chat/run", json={"message": NODE, "book_id": "physical-ai-robotics", "similarity_threshold": 0}
        ).json()
    page.goto(f"/#/threads/{made['session_id']}")
    expect(page.get_by_role("heading", name=NODE, level=2)).to_be_visible()
    expect(page.locator("book-answer .answer")).to_contain_text("named participant")

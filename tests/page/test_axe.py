"""Every view in every state, light and dark: axe objects to nothing. What needs its own story is looked at there: the author's
side in test_author.py, the key's dialog in test_safety.py, the widget in test_widget.py, a long thread in test_threads.py."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.support.page import FOREIGN, FORMULA, ask, ended, violations

PROBLEM = {"type": "about:blank", "title": "No", "code": "no", "request_id": "1"}


def test_what_a_reader_sees(page: Page) -> None:
    objections = {"welcome": violations(page)}
    page.get_by_role("button", name="Whole book, every level").click()
    objections["profile"] = violations(page)
    page.keyboard.press("Escape")
    turn = ask(page, FORMULA)
    turn.locator(".marker").first.click()
    page.locator(".source.open").locator("mark, .quoted").first.wait_for()
    objections["answer and source"] = violations(page)
    page.get_by_role("button", name="Whole lesson").click()
    page.locator(".lesson").wait_for()
    ask(page, FOREIGN)
    page.get_by_role("button", name="See what the book covers").click()
    objections["refusal and contents"] = violations(page)
    page.locator("source-panel .contents summary").first.click()
    page.locator("source-panel .contents details[open] a").first.click()
    page.locator(".lesson").wait_for()
    objections["whole lesson"] = violations(page)
    page.goto("/#/threads")
    page.locator(".threads li").first.get_by_role("button").last.click()
    page.get_by_role("button", name="Undo").wait_for()
    objections["threads, one of them deleted"] = violations(page)
    page.get_by_role("button", name="Undo").click()
    assert {view: found for view, found in objections.items() if found} == {}


def test_what_a_reader_sees_when_it_fails(page: Page) -> None:
    """Each failure stands with its question in one thread, so one look takes in all of them."""
    page.route("**/chat/stream", answering(429, {"detail": "Too many."}, {"Retry-After": "7"}))
    expect(failed(page, "One?")).to_contain_text(re.compile(r"asked again in \d+ second"))
    page.route("**/chat/stream", answering(503, {"detail": "The server is ending. Ask again in a moment."}))
    expect(failed(page, "Two?")).to_contain_text("The server is ending.")
    page.route("**/chat/stream", lambda route: route.fulfill(content_type="text/event-stream", body=BROKEN))
    expect(failed(page, "Three?")).to_contain_text("The connection was lost before the answer was complete.")
    page.route("**/chat/stream", lambda route: route.fulfill(content_type="text/event-stream", body=ERROR))
    expect(failed(page, "Four?")).to_contain_text("The model did not answer.")
    page.unroute_all()
    page.context.set_offline(True)
    expect(failed(page, "Five?")).to_contain_text("You are offline.")
    expect(page.locator("#offline")).to_be_visible()
    assert page.get_by_label("Your question").input_value() == "Five?"
    assert "#/threads" not in page.url, "a thread that is not kept has no address"
    assert violations(page) == []


def test_what_a_reader_sees_where_nothing_is_yet(open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    page.route("**/threads?*", answering(200, {"threads": [], "next": None}))
    page.route("**/books", answering(200, {"books": []}))
    objections = {}
    for address, words in (("/#/threads", "No threads yet."), ("/", "No book yet"), ("/#/author", "No book yet")):
        page.goto(address)
        page.get_by_text(words).wait_for()
        objections[address] = violations(page)
    page.goto("/#/threads/00000000-0000-4000-8000-000000000000")
    page.get_by_role("heading", name="Not here").wait_for()
    objections["a thread that is not there"] = violations(page)
    assert {view: found for view, found in objections.items() if found} == {}


BROKEN = 'event: opened\ndata: {"thread_id": "00000000-0000-4000-8000-000000000000", "turn": 1}\n\n'
ERROR = f"{BROKEN}event: error\ndata: {json.dumps({**PROBLEM, 'status': 502, 'detail': 'The model did not answer.'})}\n\n"


def answering(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> Callable[[Route], None]:
    """In the server's place: a failure cannot be ordered from it."""
    sent = body if status == 200 else {**PROBLEM, "status": status, **body}
    kind = "application/json" if status == 200 else "application/problem+json"
    return lambda route: route.fulfill(status=status, content_type=kind, body=json.dumps(sent), headers=headers or {})


def failed(page: Page, question: str) -> Any:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    return ended(page, question).get_by_role("alert")

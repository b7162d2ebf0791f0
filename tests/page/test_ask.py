"""A reader asks, checks a source, meets a refusal and finds the way on."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.support import hostile_book
from tests.support.page import ACTION, FOREIGN, FORMULA, NODE, REFUSED, ZERO_MOMENT, ask, ended
from tests.support.serving import Service


def test_a_question_is_answered_sentence_by_sentence_and_a_marker_opens_its_source(page: Page) -> None:
    events: list[str] = []
    page.expose_function("told", lambda text: events.append(text))
    page.evaluate("document.addEventListener('sentence', (event) => told(event.target.sentences.at(-1).text))")
    turn = ask(page, ACTION)
    assert "three services and two topics" in events[0]
    expect(turn.get_by_role("button", name=re.compile(r"^Source 1: Services and actions")).first).to_be_visible()
    expect(turn.locator(".confidence")).to_have_text("High confidence")
    turn.locator(".confidence").hover()
    expect(turn.get_by_role("tooltip")).to_contain_text("fit your question very well")
    expect(page.locator("#announcer")).to_contain_text("three services and two topics")
    expect(page).to_have_url(re.compile(r"#/threads/[0-9a-f-]{36}$"))
    turn.locator(".marker").first.click()
    source = page.locator(".source.open")
    expect(source.locator("mark").first).to_contain_text("An action is built from three services and two topics")
    expect(source.get_by_role("link", name="Open in the book")).to_have_attribute(
        "href", re.compile(r"services-and-actions#actions$")
    )
    paragraphs = source.locator(".passage").count()
    source.get_by_role("button", name="Show what comes after").click()
    expect(source.locator(".passage")).to_have_count(paragraphs + 1)
    source.get_by_role("button", name="Whole lesson").click()
    lesson = page.locator("source-panel .lesson")
    expect(lesson.get_by_role("heading", name="Services and actions").first).to_be_visible()
    expect(lesson.locator("mark").first).to_be_in_viewport()
    page.get_by_role("button", name="Back to the sources").click()
    expect(page.locator(".source")).to_have_count(1)


def test_a_refusal_says_why_and_leads_on(page: Page) -> None:
    turn = ask(page, FOREIGN)
    expect(turn.get_by_role("heading", name=REFUSED)).to_be_visible()
    turn.locator(".nearest button").first.click()
    expect(page.locator(".lesson").get_by_role("link", name="Open in the book")).to_have_attribute(
        "href", re.compile(r"^https://physical-ai\.example/docs/")
    )
    turn.get_by_role("button", name="See what the book covers").click()
    page.locator("source-panel .contents summary", has_text="How robots talk").click()
    page.get_by_role("link", name="Topics and messages", exact=True).click()
    expect(page.locator(".lesson").get_by_role("heading", name="Streams without addresses")).to_be_visible()


def test_filters_are_kept_shown_and_widened_by_one_click(page: Page) -> None:
    page.get_by_role("button", name="Whole book, every level").click()
    page.get_by_label("Hardware you have").select_option(label="Tier 1 and below")
    page.get_by_label("To", exact=True).select_option(label="Chapter 2")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator(".chip")).to_have_text(["Up to chapter 2", "Tier 1 and below"])
    page.reload()
    expect(page.locator(".chip")).to_have_text(["Up to chapter 2", "Tier 1 and below"])
    refused = ask(page, ZERO_MOMENT)
    expect(refused.get_by_role("heading", name="The book has this, beyond your filters")).to_be_visible()
    refused.get_by_role("button", name="Search within chapter 4").click()
    refused.locator(".found button").first.click()
    expect(page.locator(".source.open .passage")).to_contain_text("zero moment point")
    refused.get_by_role("button", name="Include hardware tier 2, chapter 4 and ask again").click()
    answered = ended(page, ZERO_MOMENT)
    expect(answered.locator(".answer")).to_contain_text("is the point on the ground")
    expect(page.locator(".chip")).to_have_text(["Up to chapter 4", "Tier 2 and below"])
    page.get_by_role("button", name="Remove the filter on hardware tier").click()
    expect(page.locator(".chip")).to_have_text(["Up to chapter 4"])


def test_a_follow_up_leans_on_the_thread_and_a_reload_resumes_it(page: Page) -> None:
    ask(page, ACTION)
    follow_up = ask(page, "What are they for?")
    assert page.locator("book-answer").count() == 2
    expect(follow_up.locator(".status, .refusal").first).to_be_visible()
    address = page.url
    page.reload()
    first = ended(page, ACTION)
    expect(page.locator("book-answer")).to_have_count(2)
    expect(page).to_have_url(address)
    expect(first.locator(".answer strong, .answer .sentence").first).to_be_visible()
    first.locator(".marker").first.click()
    expect(page.locator(".source.open mark").first).to_contain_text("three services and two topics")


def test_formulas_and_code_are_rendered_and_copied(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    page.locator(".contents").wait_for()
    turn = ask(page, FORMULA)
    expect(turn.locator(".answer math[display=block] mfrac").first).to_be_visible()
    turn.get_by_role("button", name="Copy the answer with its sources").click()
    expect(turn.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "zero moment point" in copied
    assert "[1] Balance and walking in simulation" in copied
    page.locator(".source-head").first.click()
    page.locator(".source.open").get_by_role("button", name="Whole lesson").click()
    code = page.locator(".lesson figure.code").first
    code.get_by_role("button", name="Copy this code").click()
    expect(code.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == code.locator("code").inner_text()


def test_a_server_that_is_away_keeps_the_question(page: Page) -> None:
    page.context.set_offline(True)
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    failed = ended(page, NODE)
    expect(failed.get_by_role("alert")).to_contain_text("You are offline. Try again when you are back.")
    expect(page.locator("#offline")).to_be_visible()
    expect(page.get_by_label("Your question")).to_have_value(NODE)
    page.context.set_offline(False)
    failed.get_by_role("button", name="Ask again").click()
    expect(ended(page, NODE).locator(".answer")).to_contain_text("named participant")
    expect(page.locator("#offline")).to_be_hidden()


def test_an_answer_that_comes_late_does_not_say_that_the_server_is_back(page: Page) -> None:
    """The questions worth asking, which a new page asks for, are held back until the server has gone away."""
    held: list[Route] = []
    page.route("**/books/*/questions?*", lambda route: held.append(route))
    with page.expect_request("**/books/*/questions?*"):
        page.reload()
    page.context.set_offline(True)
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    ended(page, NODE)
    expect(page.locator("#offline")).to_be_visible()
    with page.expect_event("requestfinished"):
        held[0].fulfill(json={"questions": []})
    page.evaluate("new Promise((done) => setTimeout(done))")
    expect(page.locator("#offline")).to_be_visible()


def test_stopping_keeps_nothing(page: Page) -> None:
    """The request is held back, so that there is time to press the button."""
    held: list[object] = []
    page.route("**/chat/stream", lambda route: held.append(route))
    page.get_by_label("Your question").fill(NODE)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped. This question was not stored.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    assert "#/threads" not in page.url


def test_a_link_of_another_program_opens_the_lesson_of_a_book_without_a_site(
    open_page: Callable[..., Page], service: Service
) -> None:
    question = {"role": "user", "content": hostile_book.QUESTION}
    with service.client() as client:
        told = client.post("/v1/chat/completions", json={"model": hostile_book.BOOK_ID, "messages": [question]}).json()
    message = told["choices"][0]["message"]
    link = message["annotations"][0]["url_citation"]["url"]
    assert f"]({link})" in message["content"]
    assert "<script" not in message["content"].partition("**Sources**")[2]
    page = open_page(link)
    expect(page.locator(".lesson")).to_contain_text(hostile_book.ANSWER)

"""For every reader: keyboard, screen reader, narrow screens, dark, right to left, reduced motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import PHONE
from tests.support.hostile_book import BOOK_ID, RIGHT_TO_LEFT
from tests.support.page import ACTION, FORMULA, ask, ended, violations

MOVING = "[...document.querySelectorAll('*')].filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"
SEVERAL_SOURCES = (
    FORMULA,
    "What is the difference between a service and an action?",
    "What is a topic, and what is a node?",
    "What is a safety supervisor, and what is a latency budget?",
)


def test_all_of_it_by_keyboard(page: Page) -> None:
    page.locator("body").click(position={"x": 5, "y": 500})
    page.keyboard.press("/")
    expect(page.get_by_label("Your question")).to_be_focused()
    turn = next((turn for turn in typed(page, SEVERAL_SOURCES) if page.locator(".source").count() > 1), None)
    assert turn is not None, "none of these questions was answered from two passages"
    for name in ("Share this answer", "This was wrong", "This was right", "Copy the answer with its sources"):
        page.keyboard.press("Shift+Tab")
        expect(turn.get_by_role("button", name=name)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    marker = turn.locator(".marker").last
    expect(marker).to_be_focused()
    page.keyboard.press("Enter")
    opened = page.locator(".source.open")
    expect(opened.locator("mark, .quoted").first).to_be_visible()
    expect(opened.locator(".source-head")).to_be_focused()
    heads = page.locator(".source-head")
    for key, at in (("ArrowUp", 0), ("ArrowUp", 0), ("ArrowDown", 1)):
        for _ in range(heads.count() if at == 0 else 1):
            page.keyboard.press(key)
        expect(heads.nth(at)).to_be_focused()
    page.keyboard.press("Escape")
    expect(marker).to_be_focused()
    expect(opened).to_have_count(0)


def typed(page: Page, questions: Iterable[str]) -> Iterator[Locator]:
    for question in questions:
        page.keyboard.insert_text(question)
        page.keyboard.press("Enter")
        yield ended(page, question)


def test_a_phone_shows_everything_without_scrolling_sideways(open_page: Callable[..., Page]) -> None:
    page = open_page("/", phone=True)
    page.locator(".contents").wait_for()
    widths = [page.evaluate("document.documentElement.scrollWidth")]
    turn = ask(page, ACTION)
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    turn.locator(".marker").first.tap()
    sheet = page.locator("source-panel.sheet-open")
    expect(sheet.locator("mark").first).to_be_in_viewport()
    assert violations(page) == []
    page.get_by_role("button", name="Close the sources").tap()
    expect(page.locator("source-panel")).not_to_be_in_viewport()
    for view in ("threads", "author"):
        page.goto(f"/#/{view}")
        page.get_by_role("heading", level=1).first.wait_for()
        widths.append(page.evaluate("document.documentElement.scrollWidth"))
    assert widths == [PHONE["width"]] * 4


def test_what_the_system_says_is_followed_and_light_or_dark_can_be_chosen(open_page: Callable[..., Page]) -> None:
    page = open_page("/", color_scheme="dark", reduced_motion="reduce")
    page.locator(".contents").wait_for()
    assert page.evaluate(MOVING) == 0
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Change between light and dark").click()
    light = page.evaluate(paper)
    assert dark != light
    page.reload()
    page.locator(".contents").wait_for()
    assert page.evaluate(paper) == light


def test_text_from_right_to_left_stands_on_its_side(page: Page) -> None:
    page.goto(f"/#/books/{BOOK_ID}")
    page.locator(".contents").get_by_role("link", name=RIGHT_TO_LEFT).click()
    assert page.locator(".lesson .passage").evaluate("(element) => getComputedStyle(element).direction") == "rtl"
    page.get_by_role("tab", name="Ask").click()
    page.get_by_label("Your question").fill(RIGHT_TO_LEFT)
    assert page.get_by_label("Your question").evaluate("(element) => getComputedStyle(element).direction") == "rtl"

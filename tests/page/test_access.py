"""For every reader: keyboard, screen reader, narrow screens, dark, right to left, reduced motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from playwright.sync_api import Page, expect

from tests.page.asking import ACTION, FOREIGN, ask, ended, violations
from tests.page.conftest import PHONE
from tests.page.hostile_book import BOOK_ID, RIGHT_TO_LEFT

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SEVERAL_SOURCES = (
    "What does the zero moment point formula look like?",
    "What is the difference between a service and an action?",
    "What is a topic, and what is a node?",
    "What is a safety supervisor, and what is a latency budget?",
)


def test_all_of_it_by_keyboard(page: Page) -> None:
    page.locator("body").click(position={"x": 5, "y": 500})
    page.keyboard.press("/")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type(ACTION)
    page.keyboard.press("Enter")
    turn = ended(page, ACTION)
    page.keyboard.press("Shift+Tab")
    expect(turn.get_by_role("button", name="Copy the answer with its sources")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    marker = turn.locator(".marker").last
    expect(marker).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".source.open mark").first).to_be_visible()
    expect(page.locator(".source-head").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(marker).to_be_focused()
    expect(page.locator(".source.open")).to_have_count(0)


def test_arrows_walk_through_the_sources(page: Page) -> None:
    turns = (ask(page, question) for question in SEVERAL_SOURCES)
    turn = next((turn for turn in turns if page.locator(".source").count() > 1), None)
    assert turn is not None, "none of these questions was answered from two passages"
    turn.locator(".marker").first.click()
    heads = page.locator(".source-head")
    expect(heads.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(heads.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(heads.nth(0)).to_be_focused()


def test_axe_objects_to_nothing_in_any_view_light_or_dark(page: Page) -> None:
    objections: dict[str, list[Any]] = {}

    def look(view: str) -> None:
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            objections[f"{view}, {scheme}"] = violations(page)

    look("welcome")
    page.get_by_role("button", name="Whole book, every level").click()
    look("profile")
    page.keyboard.press("Escape")
    turn = ask(page, "What does the zero moment point formula look like?")
    look("answer")
    turn.locator(".marker").first.click()
    page.locator(".source.open mark").first.wait_for()
    look("source")
    page.get_by_role("button", name="Whole lesson").click()
    page.locator(".lesson").wait_for()
    look("lesson")
    ask(page, FOREIGN)
    look("refusal")
    page.goto("/#/threads")
    page.locator(".threads li").first.wait_for()
    look("threads")
    page.goto("/#/author")
    page.locator(".curve").wait_for()
    look("author")
    assert {view: found for view, found in objections.items() if found} == {}


def test_a_phone_shows_everything_without_scrolling_sideways(open_page: Callable[..., Page]) -> None:
    page = open_page("/", viewport=PHONE, has_touch=True, is_mobile=True)
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


def test_light_and_dark_are_followed_and_can_be_chosen(open_page: Callable[..., Page]) -> None:
    page = open_page("/", color_scheme="dark")
    page.locator(".contents").wait_for()
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Change between light and dark").click()
    light = page.evaluate(paper)
    assert dark != light
    page.reload()
    page.locator(".contents").wait_for()
    assert page.evaluate(paper) == light


def test_text_from_right_to_left_stands_on_its_side(page: Page) -> None:
    page.get_by_label("Book", exact=True).select_option(BOOK_ID)
    page.locator(".contents").get_by_role("button", name=RIGHT_TO_LEFT).click()
    assert page.locator(".lesson .passage").evaluate("(element) => getComputedStyle(element).direction") == "rtl"
    page.get_by_label("Your question").fill(RIGHT_TO_LEFT)
    assert page.get_by_label("Your question").evaluate("(element) => getComputedStyle(element).direction") == "rtl"


def test_nothing_moves_for_who_wants_no_motion(open_page: Callable[..., Page]) -> None:
    page = open_page("/", reduced_motion="reduce")
    page.locator(".contents").wait_for()
    moving = (
        "[...document.querySelectorAll('*')].filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0).length"
    )
    assert page.evaluate(moving) == 0

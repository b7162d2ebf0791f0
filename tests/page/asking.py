"""What a reader does on the page, and what is waited for."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

NODE = "What is a node?"
ACTION = "How many services and topics is an action built from?"
FOREIGN = "How long should sourdough rise in the fridge?"
ZERO_MOMENT = "What is the zero moment point?"


def ask(page: Page, question: str) -> Locator:
    """Type it, send it, wait for the end of the turn."""
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    return ended(page, question)


def ended(page: Page, question: str) -> Locator:
    turn = page.locator("book-answer", has=page.get_by_role("heading", name=question, exact=True)).last
    turn.locator("xpath=self::*[not(@aria-busy)]").wait_for()
    return turn


def violations(page: Page) -> list[Any]:
    """What axe objects to, as briefly as it can be read."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"]]) for one in found]

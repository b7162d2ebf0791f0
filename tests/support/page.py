"""What a reader does on the page, and what is waited for."""

from __future__ import annotations

import re
from typing import Any, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Locator, Page

NODE = "What is a node?"
ACTION = "How many services and topics is an action built from?"
FOREIGN = "Which wine goes with grilled fish?"
REFUSED = re.compile("This is not what the book is about|The book does not say")
"""Which of the two is for the calibration to say; a reader is led on by either."""
ZERO_MOMENT = "What is the zero moment point?"
FORMULA = "What does the zero moment point formula look like?"

Scheme = Literal["light", "dark"]
SCHEMES: dict[Scheme, list[str]] = {"dark": ["color-contrast"], "light": []}
"""The rules that are applied in each; none named means all."""


def ask(page: Page, question: str) -> Locator:
    """Type it, send it, wait for the end of the turn."""
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    return ended(page, question)


def ended(page: Page, question: str) -> Locator:
    turn = page.locator("book-answer", has=page.get_by_role("heading", name=question, exact=True)).last
    turn.locator("xpath=self::*[not(@aria-busy)]").wait_for()
    return turn


def violations(page: Page, within: str = "html") -> list[Any]:
    """What axe objects to, as briefly as it can be read: all its rules in light, those about colours in dark as well."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE_SCRIPT)
    return [(scheme, *one) for scheme, rules in SCHEMES.items() for one in _objections(page, within, scheme, rules)]


def _objections(page: Page, within: str, scheme: Scheme, rules: list[str]) -> list[Any]:
    page.emulate_media(color_scheme=scheme)
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    run = "([within, options]) => axe.run(within === 'html' ? document : within, options).then((results) => results.violations)"
    found = page.evaluate(run, [within, options])
    return [(one["id"], one["help"], [node["html"][:200] for node in one["nodes"]]) for one in found]
